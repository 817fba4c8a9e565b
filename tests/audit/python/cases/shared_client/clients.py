from openai import OpenAI


class Model:
    def __init__(self) -> None:
        self.client = OpenAI()

    def complete(self, prompt: str) -> str:
        return self.client.responses.create(model="m", input=prompt).output_text


model = Model()
