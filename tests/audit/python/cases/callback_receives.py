from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def save(text: str) -> None:
    Path("notes.md").write_text(text)  # find AK102


def with_reply(then) -> None:
    then(ask("x"))


def main() -> None:
    with_reply(save)
