from openai import OpenAI
from pathlib import Path
from pydantic import BaseModel

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Base(BaseModel):
    title: str


class Note(Base):
    body: str


def main() -> None:
    note = Note(title="t", body=ask("x"))
    Path("notes.json").write_text(note.body)
