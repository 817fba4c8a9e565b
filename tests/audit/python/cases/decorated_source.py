from pathlib import Path

from mklang.audit.python.marks import model_call


@model_call
def oracle(prompt: str) -> str:
    return remote(prompt)


def main() -> None:
    Path("notes.md").write_text(oracle("x"))  # find AK102
