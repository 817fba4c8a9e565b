from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


STATE: dict[str, str] = {}


def fetch() -> None:
    STATE["text"] = ask("x")


def save() -> None:
    Path("notes.md").write_text(STATE["text"])  # find AK102
