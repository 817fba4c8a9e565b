from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    note = {"title": "constant", "body": ask("x")}
    Path("title.txt").write_text(note["title"])
    Path("body.txt").write_text(note["body"])  # find AK102
