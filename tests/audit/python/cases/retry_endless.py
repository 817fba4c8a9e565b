from openai import OpenAI

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> str:
    while True:  # find AK202
        try:
            return ask("x")
        except OSError:
            continue
