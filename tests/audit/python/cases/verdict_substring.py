from openai import OpenAI

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> bool:
    reply = ask("accept or reject?")
    return "accept" in reply.lower()  # find AK301
