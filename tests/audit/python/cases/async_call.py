from pathlib import Path

from openai import AsyncOpenAI

client = AsyncOpenAI()


async def ask(prompt: str) -> str:
    reply = await client.responses.create(model="m", input=prompt)
    return reply.output_text


async def main() -> None:
    text = await ask("x")
    Path("notes.md").write_text(text)  # find AK102
