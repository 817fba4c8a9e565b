from openai import OpenAI
import subprocess

client = OpenAI()


def ask(prompt: str) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def main() -> None:
    subprocess.run(ask("command"), shell=True, check=True)  # find AK103
