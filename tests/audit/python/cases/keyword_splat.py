from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def save(title: str, body: str) -> None:
    Path("notes.md").write_text(body)  # find AK102


def main() -> None:
    fields = {"title": "t", "body": ask("x")}
    save(**fields)
