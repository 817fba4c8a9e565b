from openai import OpenAI
from pathlib import Path

LAST = ""


def ask() -> None:
    global LAST, LATER
    LAST = OpenAI().responses.create(model="m", input="x").output_text
    LATER = LAST


def outer() -> None:
    def inner() -> None:
        global LAST
        LAST = "nothing of the model's"

    inner()


def save() -> None:
    Path("notes.md").write_text(LAST)  # find AK102
    Path("later.md").write_text(LATER)  # find AK102
