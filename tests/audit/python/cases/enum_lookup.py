from enum import Enum
from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Verdict(Enum):
    YES = "yes"
    NO = "no"


def main() -> None:
    verdict = Verdict(ask("x").strip())
    Path("verdict.txt").write_text(verdict.value)
