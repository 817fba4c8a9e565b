from openai import OpenAI

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    rounds = 0
    while True:
        reply = ask("go on")
        rounds += 1
        if reply.strip() == "FINISHED" or rounds > 9:
            break
