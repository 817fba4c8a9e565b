from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def retry(call):
    return call()


def load() -> str:
    return "constant"


def main() -> None:
    Path("notes.md").write_text(retry(load))
    print(len(retry(lambda: ask("x"))))
