from openai import OpenAI
import logging

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


log = logging.getLogger(__name__)


def main() -> None:
    text = ask("x")
    log.info("reply %s", text)
    print(text)
    with open("logs/run.jsonl", "a") as file:
        file.write(text + "\n")
