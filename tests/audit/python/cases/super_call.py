from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Base:
    def save(self, text: str) -> None:
        Path("notes.md").write_text(text)  # find AK102


class Child(Base):
    def save(self, text: str) -> None:
        super().save(text.strip())


def main() -> None:
    Child().save(ask("x"))
