from openai import OpenAI
import json
import jsonschema

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main(old: bool) -> None:
    data = json.loads(ask("x"))
    if old:
        jsonschema.validate(data, {"type": "object"})
    else:
        jsonschema.validate(data, {"type": "array"})
    with open("notes.json", "w") as file:
        json.dump(data, file)
