from pathlib import Path

try:
    from openai import OpenAI

    def ask(prompt: str) -> str:
        return OpenAI().responses.create(model="m", input=prompt).output_text

except ImportError:

    def ask(prompt: str) -> str:
        return "no model here"


def main(short: bool) -> None:
    if short:

        def line(text: str) -> str:
            return text[:80]

    else:

        def line(text: str) -> str:
            return "nothing of it"

    Path("notes.md").write_text(line(ask("x")))  # find AK102
