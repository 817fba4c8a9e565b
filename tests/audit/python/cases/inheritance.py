from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Base:
    def produce(self) -> str:
        raise NotImplementedError

    def save(self) -> None:
        Path("notes.md").write_text(self.produce())  # find AK102


class Child(Base):
    def produce(self) -> str:
        return ask("x")
