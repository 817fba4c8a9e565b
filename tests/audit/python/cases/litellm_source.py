from pathlib import Path

import litellm


def main() -> None:
    reply = litellm.completion(model="m", messages=[])
    Path("notes.md").write_text(reply.choices[0].message.content)  # find AK102
