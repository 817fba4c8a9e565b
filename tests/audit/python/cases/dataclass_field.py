from dataclasses import dataclass
from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


@dataclass
class Note:
    title: str
    body: str


def save(note: Note) -> None:
    Path("notes.md").write_text(note.body)  # find AK102


def main() -> None:
    save(Note(title="t", body=ask("x")))
