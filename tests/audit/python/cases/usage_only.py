from pathlib import Path

from openai import OpenAI

client = OpenAI()


def main() -> None:
    reply = client.chat.completions.create(model="m", messages=[])
    Path("usage.txt").write_text(str(reply.usage.total_tokens))
