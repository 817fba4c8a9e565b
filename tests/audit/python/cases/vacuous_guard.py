from mklang.guards import Guard
from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


EMPTY = Guard(name="nothing")


def main() -> None:
    checked = EMPTY.check(ask("x"))
    Path("notes.md").write_text(checked.value)  # find AK106
