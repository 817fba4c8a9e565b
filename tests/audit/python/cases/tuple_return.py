from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def both() -> tuple[str, int]:
    text = ask("x")
    return text, 7


def main() -> None:
    text, number = both()
    Path("number.txt").write_text(str(number))
    Path("notes.md").write_text(text)  # find AK102
