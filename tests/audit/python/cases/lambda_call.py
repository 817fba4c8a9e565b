from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    fetch = lambda: ask("x")  # noqa: E731
    Path("notes.md").write_text(fetch())  # find AK102
