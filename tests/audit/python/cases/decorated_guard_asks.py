from mklang.audit.python.marks import guard
from openai import OpenAI
from pathlib import Path

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


@guard
def checked(text: str) -> str:
    if ask("is this fine? " + text) == "yes":  # find AK105
        return text
    raise ValueError


def main() -> None:
    Path("notes.md").write_text(checked("constant"))
