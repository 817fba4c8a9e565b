from mklang.audit.python.marks import guard
from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


@guard
def checked(text: str) -> str:
    if "x" in text:
        raise ValueError
    return text


def main() -> None:
    Path("notes.md").write_text(checked(ask("x")))
