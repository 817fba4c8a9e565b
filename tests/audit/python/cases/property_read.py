from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Page:
    @property
    def body(self) -> str:
        return ask("x")


def main() -> None:
    page = Page()
    Path("notes.md").write_text(page.body)  # find AK102
