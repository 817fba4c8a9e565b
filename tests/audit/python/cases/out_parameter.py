from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def fill(target: list[str]) -> None:
    target.append(ask("x"))


def main() -> None:
    texts: list[str] = []
    fill(texts)
    Path("notes.md").write_text("\n".join(texts))  # find AK102
