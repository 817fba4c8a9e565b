from pathlib import Path

from openai import OpenAI


class Draft:
    @property
    def text(self) -> str:
        return OpenAI().responses.create(model="m", input="x").output_text

    @text.setter
    def text(self, value: str) -> None:
        print(value)


def main(draft: Draft) -> None:
    Path("notes.md").write_text(draft.text)  # find AK102
