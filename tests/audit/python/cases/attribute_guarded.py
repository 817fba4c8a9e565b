from mklang.guards import Guard
from openai import OpenAI
import json

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Store:
    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.items: list[object] = []

    def add(self, text: str) -> None:
        self.items.append(self.guard.check(text).value)

    def save(self) -> None:
        with open("store.json", "w") as file:
            json.dump(self.items, file)


def main(guard: Guard) -> None:
    store = Store(guard)
    store.add(ask("x"))
    store.save()
