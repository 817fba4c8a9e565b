from pathlib import Path

from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI


def main() -> None:
    steps = ChatPromptTemplate.from_template("{x}") | ChatOpenAI() | StrOutputParser()
    Path("notes.md").write_text(steps.invoke({"x": "y"}))  # find AK102
