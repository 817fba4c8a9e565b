from openai import OpenAI
import json

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Memory:
    def remember(self, text: str) -> None:
        with open("memory.json", "w") as file:
            json.dump([text], file)  # find AK102


def main(memory) -> None:
    memory.remember(ask("x"))
