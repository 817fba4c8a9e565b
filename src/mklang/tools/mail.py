"""The tool ``send_reply``: a mail through SMTP to those the host allows, or an honest stub (L105)."""

from __future__ import annotations

import smtplib
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from typing import Literal, Protocol

from mklang.engine.options import Effect
from mklang.lang.values import Json
from mklang.tools.envelope import Payload, ToolProblem, reporting
from mklang.tools.tool import HostTool

PREVIEW_CHARS = 120
MAX_CHARS = 262_144
TIMEOUT = 30.0

Security = Literal["starttls", "tls", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """What is to be sent."""

    to: str
    subject: str
    body: str


class Delivery(Protocol):
    """Somebody who delivers. ``name`` stands in the report; ``stub`` means that nothing real happens."""

    @property
    def name(self) -> str:
        """How it delivers."""
        ...

    @property
    def stub(self) -> bool:
        """Whether nothing leaves this process."""
        ...

    def send(self, letter: Letter) -> bool:
        """Whether it was sent. Raises ``ToolProblem``."""
        ...


@dataclass(frozen=True, slots=True)
class NoDelivery:
    """Nothing is sent, and it says so."""

    name: str = "stub"
    stub: bool = True

    def send(self, _letter: Letter) -> bool:
        """No."""
        return False


@dataclass(frozen=True, slots=True)
class FakeDelivery:
    """Letters pile up in ``outbox``, of this object only."""

    outbox: list[Letter] = field(default_factory=list)
    name: str = "fake"
    stub: bool = True

    def send(self, letter: Letter) -> bool:
        """Put it on the pile."""
        self.outbox.append(letter)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpDelivery:
    """A mail server. ``recipients`` are addresses, or domains as ``@example.com``; nobody else is written to."""

    host: str
    sender: str
    recipients: frozenset[str]
    port: int = 587
    security: Security = "starttls"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    name: str = "smtp"
    stub: bool = False

    def send(self, letter: Letter) -> bool:
        """Hand it to the server, once. Raises ``ToolProblem`` for a recipient who is not allowed, and for a refusal."""
        self._check(letter.to)
        message = self._message(letter)
        try:
            with self._connected() as server:
                if self.security == "starttls":
                    server.starttls(context=ssl.create_default_context())
                if self.username and self.password:
                    server.login(self.username, self.password)
                server.send_message(message)
        except smtplib.SMTPException as error:
            code = f" with {error.smtp_code}" if isinstance(error, smtplib.SMTPResponseException) else ""
            raise ToolProblem(f"the mail server refused{code} ({type(error).__name__})") from None
        except OSError as error:
            raise ToolProblem(f"the mail server at {self.host}:{self.port} cannot be reached: {error}") from None
        return True

    def _check(self, to: str) -> None:
        address = to.casefold()
        local, at, domain = address.rpartition("@")
        allowed = {one.casefold() for one in self.recipients}
        if not at or not local or set(to) & set(' ,;<>\r\n"') or not {address, f"@{domain}"} & allowed:
            listed = ", ".join(sorted(self.recipients)) or "nobody"
            raise ToolProblem(f"'{to[:100]}' may not be written to; allowed is {listed} (tools.mail.recipients)")

    def _message(self, letter: Letter) -> EmailMessage:
        message = EmailMessage(policy=SMTP_POLICY)
        try:
            message["From"], message["To"], message["Subject"] = self.sender, letter.to, letter.subject
            message.set_content(letter.body)
        except (ValueError, MessageError) as error:
            raise ToolProblem(f"the letter cannot be written: {error}") from None
        return message

    def _connected(self) -> smtplib.SMTP:
        if self.security == "tls":
            return smtplib.SMTP_SSL(self.host, self.port, timeout=TIMEOUT, context=ssl.create_default_context())
        return smtplib.SMTP(self.host, self.port, timeout=TIMEOUT)


def mail_tool(delivery: Delivery) -> HostTool:
    """``send_reply`` through a delivery."""
    notes: Mapping[str, str] = {
        "stub": "nothing was sent: no delivery is bound (tools.mail.backend)",
        "fake": "kept in memory, sent to nobody",
    }
    turn = threading.Lock()

    def send_reply(body: str = "", draft: str = "", to: str = "customer", subject: str = "Re: your message") -> Payload:
        text = body or draft
        if not text.strip():
            raise ToolProblem("'body' is empty")
        if len(text) > MAX_CHARS:
            raise ToolProblem(f"{len(text)} characters are more than the {MAX_CHARS} that are sent")
        told: dict[str, Json] = {"to": to, "chars": len(text), "preview": text[:PREVIEW_CHARS]}
        try:
            with turn:
                sent = delivery.send(Letter(to=to, subject=subject, body=text))
        except ToolProblem as problem:
            raise ToolProblem(
                str(problem), **told, sent=False, recorded=False, delivery=delivery.name, note=""
            ) from None
        note = notes.get(delivery.name, "")
        return {**told, "sent": sent, "recorded": sent, "delivery": delivery.name, "note": note}

    return reporting(
        send_reply,
        name="send_reply",
        description="Send a reply to somebody the host allows.",
        effect=Effect.EFFECT,
        stub=delivery.stub,
        timeout=2 * TIMEOUT,
    )
