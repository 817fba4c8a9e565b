from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def answers(prompts):
    for one in prompts:
        yield ask(one)


def main() -> None:
    for text in answers(["a"]):
        Path("notes.md").write_text(text)  # find AK102
