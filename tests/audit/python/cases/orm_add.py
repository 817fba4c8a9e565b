from openai import OpenAI

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


class Note:
    def __init__(self, text: str) -> None:
        self.text = text


def main(session) -> None:
    session.add(Note(ask("x")))  # find AK102
