from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


TABLE = {"a": "alpha", "b": "beta"}


def main() -> None:
    Path("word.txt").write_text(TABLE.get(ask("x"), "none"))
