import sys
from pathlib import Path

from openai import OpenAI

match sys.platform:
    case "linux":

        def ask(prompt: str) -> str:
            return OpenAI().responses.create(model="m", input=prompt).output_text

    case _:

        def ask(prompt: str) -> str:
            return "nothing"


def main() -> None:
    text = "nothing"
    try:
        text = ask("x")
    except* OSError:
        pass
    Path("notes.md").write_text(text)  # find AK102
