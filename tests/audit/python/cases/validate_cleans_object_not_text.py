from openai import OpenAI
import json
import jsonschema

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    raw = ask("x")
    data = json.loads(raw)
    jsonschema.validate(data, {"type": "object"})
    with open("notes.json", "w") as file:
        file.write(raw)  # find AK104
