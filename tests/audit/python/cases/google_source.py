from pathlib import Path

from google import genai

client = genai.Client()


def main() -> None:
    reply = client.models.generate_content(model="m", contents="x")
    Path("notes.md").write_text(reply.text)  # find AK102
