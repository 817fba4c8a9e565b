from openai import OpenAI

client = OpenAI()


def ask(prompt: str) -> str:
    return client.responses.create(model="m", input=prompt).output_text
