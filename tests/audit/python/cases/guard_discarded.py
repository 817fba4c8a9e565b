from mklang.guards import Guard
from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


GUARD = Guard(name="notes", schema={"type": "object"})


def main() -> None:
    reply = ask("summarise")
    GUARD.check(reply)
    Path("notes.json").write_text(reply)  # find AK104
