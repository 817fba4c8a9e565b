from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    verdict = ask("x")
    match verdict:
        case "yes" | "no":
            Path("verdict.txt").write_text(verdict)
        case _:
            raise ValueError
