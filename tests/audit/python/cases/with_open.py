from openai import OpenAI

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    with open("notes.md", mode="w", encoding="utf-8") as file:
        print(ask("x"), file=file)  # find AK102
