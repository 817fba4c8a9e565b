from openai import OpenAI
from pathlib import Path
import copy
import json
import jsonschema

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    data = json.loads(ask("x"))
    jsonschema.validate(copy.deepcopy(data), {"type": "object"})
    Path("notes.json").write_text(json.dumps(data))  # find AK104
