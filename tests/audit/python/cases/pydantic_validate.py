from openai import OpenAI
from pathlib import Path
from pydantic import BaseModel

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Note(BaseModel):
    title: str


def main() -> None:
    note = Note.model_validate_json(ask("x"))
    Path("notes.json").write_text(note.model_dump_json())
