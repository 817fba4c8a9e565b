from pathlib import Path

from openai import OpenAI


class Journal:
    def __init__(self) -> None:
        self.length = 0

    def write(self, text: str) -> None:
        self.length += len(text)


class Notebook:
    def write(self, text: str) -> None:
        Path("notes.md").write_text(text)  # find AK102


def journal() -> Journal:
    return Journal()


def notebook() -> Notebook:
    return Notebook()


def main() -> None:
    text = OpenAI().responses.create(model="m", input="x").output_text
    taken = journal()
    taken.write(text)
    kept = notebook()
    kept.write(text)
