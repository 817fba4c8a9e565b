"""Detached signatures of approvals, with ssh-keygen: what holds against a process of the same user.

What is signed names the proposal and the hash of the bytes. The key asks for its own passphrase or touch; an
allowed-signers file says whose keys count.
"""

from __future__ import annotations

import base64
import subprocess
import tempfile
from pathlib import Path

from mklang.errors import NotApproved

NAMESPACE = "mklang-akc"


def statement(proposal: str, new_sha: str) -> bytes:
    """What an approval signs."""
    return f"approve {proposal} {new_sha}\n".encode()


def sign(key: Path, proposal: str, new_sha: str) -> str:
    """A signature made with a key file, as text. Raises ``NotApproved``."""
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(key)]
    done = _run(command, statement(proposal, new_sha))
    return base64.b64encode(done).decode()


def verify(signers: Path, actor: str, signature: str, *, proposal: str, new_sha: str) -> None:
    """Raises ``NotApproved`` unless the signature is ``actor``'s, for these very bytes, by a key that counts."""
    with tempfile.NamedTemporaryFile(prefix="akc-sig-") as file:
        try:
            file.write(base64.b64decode(signature, validate=True))
        except ValueError as error:
            raise NotApproved(f"the signature is none: {error}") from error
        file.flush()
        command = ["ssh-keygen", "-Y", "verify", "-n", NAMESPACE, "-f", str(signers), "-I", actor, "-s", file.name]
        _run(command, statement(proposal, new_sha))


def _run(command: list[str], data: bytes) -> bytes:
    try:
        done = subprocess.run(command, input=data, capture_output=True, check=False)  # noqa: S603 - ssh-keygen, fixed words
    except OSError as error:
        raise NotApproved(f"{command[0]} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        raise NotApproved(f"the signature does not count: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
