from openai import OpenAI
import os
import tempfile

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    handle = tempfile.NamedTemporaryFile("w", delete=False)
    handle.write(ask("x"))
    os.replace(handle.name, "AGENTS.md")  # find AK101
