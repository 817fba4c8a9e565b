from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def deepen(text: str, depth: int) -> str:
    return text if depth == 0 else deepen(text + ask(text), depth - 1)


def main() -> None:
    Path("notes.md").write_text(deepen("x", 3))  # find AK102
