from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Box:
    def __init__(self, text: str) -> None:
        self.text = text

    def shout(self) -> str:
        return self.text.upper()


def main() -> None:
    Path("notes.md").write_text(Box(ask("x")).shout())  # find AK102
