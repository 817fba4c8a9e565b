from openai import OpenAI

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> str:
    tries = 0
    while True:
        try:
            return ask("x")
        except OSError:
            tries += 1
            if tries > 3:
                raise
