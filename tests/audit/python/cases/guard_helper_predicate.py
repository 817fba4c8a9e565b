from openai import OpenAI
import json
import jsonschema

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def is_valid(value) -> bool:
    try:
        jsonschema.validate(value, {"type": "object"})
    except jsonschema.ValidationError:
        return False
    return True


def main() -> None:
    data = json.loads(ask("x"))
    if not is_valid(data):
        raise ValueError("no")
    with open("notes.json", "w") as file:
        json.dump(data, file)
