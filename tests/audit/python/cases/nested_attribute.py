from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Result:
    text: str = ""


class Run:
    def __init__(self) -> None:
        self.result = Result()


def main() -> None:
    run = Run()
    run.result.text = ask("x")
    Path("notes.md").write_text(run.result.text)  # find AK102
