from openai import OpenAI

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    history: list[str] = []
    while True:  # find AK201
        reply = ask("go on")
        history.append(reply)
        if reply.strip() == "FINISHED":
            break
