from openai import OpenAI
import io

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> str:
    buffer = io.StringIO()
    buffer.write(ask("x"))
    return buffer.getvalue()
