from openai import OpenAI
import json
import jsonschema

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def ensure(value, strict) -> None:
    if not strict:
        return
    jsonschema.validate(value, {"type": "object"})


def main(strict: bool) -> None:
    data = json.loads(ask("x"))
    ensure(data, strict)
    with open("notes.json", "w") as file:
        json.dump(data, file)  # find AK104
