from openai import OpenAI
from pathlib import Path
import json

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    try:
        data = json.loads(ask("x"))
    except ValueError:
        data = {}
    else:
        data["seen"] = True
    Path("notes.json").write_text(json.dumps(data))  # find AK102
