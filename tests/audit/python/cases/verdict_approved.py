from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main(candidate: str) -> None:
    verdict = ask(f"is this good? {candidate}")
    if verdict == "accept" and input("write it? ") == "yes":
        Path(".claude/rules/new.md").write_text(candidate)
