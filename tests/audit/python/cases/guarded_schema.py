from mklang.guards import Guard
from openai import OpenAI
from pathlib import Path
import json

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


GUARD = Guard(name="notes", schema={"type": "object", "maxProperties": 9})


def main() -> None:
    checked = GUARD.check(ask("summarise"))
    Path("notes.json").write_text(json.dumps(checked.value))
