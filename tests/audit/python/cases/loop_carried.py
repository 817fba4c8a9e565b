from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    last = previous = ""
    for _ in range(3):
        Path("notes.md").write_text(last)  # find AK102
        last = previous
        previous = ask("x")
