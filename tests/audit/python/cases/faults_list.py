from openai import OpenAI
import json
import jsonschema

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def problems(value) -> list[str]:
    found = []
    try:
        jsonschema.validate(value, {"type": "object"})
    except jsonschema.ValidationError as error:
        found.append(str(error))
        return found
    return []


def main() -> None:
    data = json.loads(ask("x"))
    if problems(data):
        return
    with open("notes.json", "w") as file:
        json.dump(data, file)
