from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def inner():
    yield ask("x")


def outer():
    yield from inner()


def main() -> None:
    Path("notes.md").write_text("".join(outer()))  # find AK102
