import asyncio
from pathlib import Path

from anthropic import AsyncAnthropic

client = AsyncAnthropic()


async def ask(prompt: str) -> str:
    reply = await client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": prompt}])
    return reply.content[0].text


async def main() -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(ask("x"))
    Path("notes.md").write_text(task.result())  # find AK102
