from openai import OpenAI
from pathlib import Path
import functools

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def timed(function):
    @functools.wraps(function)
    def inner(*arguments):
        return function(*arguments)

    return inner


@timed
def fetch(prompt: str) -> str:
    return ask(prompt)


def main() -> None:
    Path("notes.md").write_text(fetch("x"))  # find AK102
