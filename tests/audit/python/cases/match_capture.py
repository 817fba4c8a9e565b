from openai import OpenAI
from pathlib import Path
import json

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    match json.loads(ask("x")):
        case {"title": title}:
            Path("notes.md").write_text(title)  # find AK102
        case _:
            raise ValueError
