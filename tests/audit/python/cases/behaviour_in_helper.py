from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def write(path: str, text: str) -> None:
    Path(path).write_text(text)  # find AK101


def main() -> None:
    write(".claude/rules/new.md", ask("x"))
    write("logs/today.log", ask("y"))
