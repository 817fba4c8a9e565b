from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


LABELS = ("bug", "feature")


def main() -> None:
    labels = [label for label in ask("x").split() if label in LABELS]
    Path("labels.txt").write_text("\n".join(labels))
