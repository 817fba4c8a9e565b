from openai import OpenAI
import json

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    table = {one: ask(one) for one in ("a", "b")}
    with open("table.json", "w") as file:
        json.dump(table, file)  # find AK102
