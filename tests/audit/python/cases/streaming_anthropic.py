import anthropic

client = anthropic.Anthropic()


def main() -> None:
    text = ""
    with client.messages.stream(model="m", max_tokens=9, messages=[]) as stream:
        for piece in stream.text_stream:
            text += piece
    with open("notes.md", "a", encoding="utf-8") as file:
        file.write(text)  # find AK102
