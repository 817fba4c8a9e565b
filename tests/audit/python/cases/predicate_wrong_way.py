from openai import OpenAI
import json
import jsonschema_rs

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main(validator: jsonschema_rs.Draft202012Validator) -> None:
    data = json.loads(ask("x"))
    if not validator.is_valid(data):
        with open("notes.json", "w") as file:
            json.dump(data, file)  # find AK104
