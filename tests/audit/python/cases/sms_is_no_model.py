from pathlib import Path


def main(client) -> None:
    sent = client.messages.create(body="hello", to="+1", from_="+2")
    Path("sent.txt").write_text(sent.sid)
