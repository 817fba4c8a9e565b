from mklang.audit.python.marks import sink
from openai import OpenAI

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


@sink("behaviour")
def publish(text: str) -> None:
    channel.send(text)


def main() -> None:
    publish(ask("x"))  # find AK101
