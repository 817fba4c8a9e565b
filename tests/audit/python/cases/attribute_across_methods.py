from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Writer:
    def __init__(self) -> None:
        self.text = ""

    def fetch(self) -> None:
        self.text = ask("x")

    def save(self) -> None:
        Path("notes.md").write_text(self.text)  # find AK102
