from openai import OpenAI

client = OpenAI()


def main() -> None:
    parts = []
    for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
        parts.append(chunk.choices[0].delta.content or "")
    with open("notes.md", "w") as file:
        file.write("".join(parts))  # find AK102
