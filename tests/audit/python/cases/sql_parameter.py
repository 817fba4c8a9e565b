from openai import OpenAI
import sqlite3

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    connection = sqlite3.connect("notes.db")
    connection.execute("INSERT INTO notes VALUES (?)", (ask("x"),))  # find AK102
