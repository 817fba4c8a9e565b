from pathlib import Path

from openai import OpenAI


class Agent:
    def __init__(self, client: OpenAI) -> None:
        self._client = client

    def ask(self, prompt: str) -> str:
        reply = self._client.chat.completions.create(model="m", messages=[])
        return reply.choices[0].message.content


def main(agent: Agent) -> None:
    Path("notes.md").write_text(agent.ask("x"))  # find AK102
