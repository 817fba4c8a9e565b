from openai import OpenAI
import sqlite3

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main(connection: sqlite3.Connection) -> None:
    connection.execute(f"DELETE FROM notes WHERE title = '{ask('x')}'")  # find AK103
