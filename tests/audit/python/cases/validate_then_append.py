from openai import OpenAI
import json
import jsonschema

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    items = json.loads(ask("x"))
    jsonschema.validate(items, {"type": "array"})
    items.append(ask("one more"))
    with open("notes.json", "w") as file:
        json.dump(items, file)  # find AK102
