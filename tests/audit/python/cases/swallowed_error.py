from openai import OpenAI
import json
import jsonschema

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    data = json.loads(ask("x"))
    try:
        jsonschema.validate(data, {"type": "object"})
    except jsonschema.ValidationError:
        pass
    with open("notes.json", "w") as file:
        json.dump(data, file)  # find AK104
