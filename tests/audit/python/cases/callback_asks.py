from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def retry(call, times=3):
    for _ in range(times):
        try:
            return call()
        except OSError:
            continue
    raise OSError


def main() -> None:
    Path("notes.md").write_text(retry(lambda: ask("x")))  # find AK102
