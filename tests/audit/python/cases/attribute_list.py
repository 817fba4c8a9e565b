from openai import OpenAI
import json

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Store:
    def __init__(self) -> None:
        self.items: list[str] = []

    def add(self, text: str) -> None:
        self.items.append(text)

    def save(self) -> None:
        with open("store.json", "w") as file:
            json.dump(self.items, file)  # find AK102


def main() -> None:
    store = Store()
    store.add(ask("x"))
    store.save()
