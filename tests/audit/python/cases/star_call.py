from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def save(path: str, text: str) -> None:
    Path(path).write_text(text)  # find AK102


def main() -> None:
    arguments = ("notes.md", ask("x"))
    save(*arguments)
