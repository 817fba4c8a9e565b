from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def save(*, title: str, **fields: str) -> None:
    Path("notes.md").write_text(title + fields["body"])  # find AK102


def main() -> None:
    save(title="t", body=ask("x"))
