import asyncio
from pathlib import Path

from openai import AsyncOpenAI

client = AsyncOpenAI()


async def ask(prompt: str) -> str:
    reply = await client.responses.create(model="m", input=prompt)
    return reply.output_text


async def main() -> None:
    texts = await asyncio.gather(*(ask(one) for one in ("a", "b")))
    for number, text in enumerate(texts):
        Path(f"note{number}.md").write_text(text)  # find AK102
