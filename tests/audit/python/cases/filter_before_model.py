from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    log = Path("log.txt").read_text()
    Path("copy.txt").write_text(log)
    print(ask(log[:100]))
