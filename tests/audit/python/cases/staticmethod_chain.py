from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Tools:
    @staticmethod
    def tidy(text: str) -> str:
        return text.strip()

    @classmethod
    def save(cls, text: str) -> None:
        Path("notes.md").write_text(cls.tidy(text))  # find AK102


def main() -> None:
    Tools.save(ask("x"))
