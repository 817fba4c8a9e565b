from openai import OpenAI


def ask(prompt: str) -> str:
    return OpenAI().responses.create(model="m", input=prompt).output_text
