from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    Path("a.md").write_text("%s!" % ask("x"))  # find AK102
    Path("b.md").write_text("{}".format(ask("x")))  # find AK102
