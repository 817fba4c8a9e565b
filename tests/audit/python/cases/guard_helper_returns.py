from mklang.guards import Guard
from openai import OpenAI
import json

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


GUARD = Guard(name="n", schema={"type": "object"})


def clean(text: str):
    return GUARD.check(text).value


def main() -> None:
    with open("notes.json", "w") as file:
        json.dump(clean(ask("x")), file)
