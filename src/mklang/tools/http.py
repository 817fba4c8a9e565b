"""The tool ``http``: requests to the hosts that are allowed, without credentials and within bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal
from urllib.parse import SplitResult, urljoin, urlsplit

from msgspec import Meta

from mklang.engine.options import Effect
from mklang.errors import ConfigError, MissingExtra
from mklang.lang.values import Json
from mklang.tools.envelope import Payload, ToolProblem, reporting
from mklang.tools.tool import HostTool
from mklang.tools.workspace import MAX_BYTES

READ_BYTES = 65_536
MAX_REDIRECTS = 5
TIMEOUT = 30.0
LOOKING = frozenset({"GET", "HEAD"})
METHODS = LOOKING | {"POST", "PUT", "PATCH", "DELETE"}

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request may go: scheme, host in lower case, port."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> Origin:
        """``api.example.com``, ``api.example.com:8443`` or ``http://localhost:8080``; https unless it is said.

        Raises ``ConfigError``.
        """
        parts = urlsplit(text if "://" in text else f"https://{text}")
        origin = _origin(parts)
        if origin is None or parts.path not in {"", "/"} or parts.query or parts.username is not None:
            raise ConfigError(f"'{text}' is no host; write api.example.com, with a port or http:// where it needs one")
        return origin


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRules:
    """Which hosts may be asked, and how. Anything but looking makes the tool one that acts (L77)."""

    origins: frozenset[Origin] = field(default_factory=frozenset)
    methods: frozenset[str] = LOOKING
    timeout: float = TIMEOUT

    @classmethod
    def allowing(cls, hosts: Iterable[str], methods: Iterable[str] = LOOKING, timeout: float = TIMEOUT) -> HttpRules:
        """Rules from hosts as text. Raises ``ConfigError`` for what is no host or method."""
        wanted = frozenset(method.upper() for method in methods)
        if wanted - METHODS:
            raise ConfigError(f"'{min(wanted - METHODS)}' is none of the methods {', '.join(sorted(METHODS))}")
        return cls(origins=frozenset(map(Origin.of, hosts)), methods=wanted, timeout=timeout)


def http_tool(rules: HttpRules) -> HostTool:
    """``http`` within rules. A redirect is followed only to a host that is allowed too."""

    async def http(
        url: str, method: Method = "GET", body: str = "", max_bytes: Annotated[int, Meta(ge=1)] = READ_BYTES
    ) -> Payload:
        if method not in rules.methods:
            raise ToolProblem(f"{method} is not allowed, only {', '.join(sorted(rules.methods))} (tools.http.methods)")
        return await _request(rules, method, url, body=body, limit=min(max_bytes, MAX_BYTES))

    return reporting(
        http,
        name="http",
        description="Ask a web address of an allowed host; the answer's body is text.",
        effect=Effect.EGRESS if rules.methods <= LOOKING else Effect.EFFECT,
        idempotent=rules.methods <= LOOKING,
        timeout=rules.timeout * 2,
    )


async def _request(rules: HttpRules, method: str, url: str, *, body: str, limit: int) -> Payload:
    try:
        import httpx2  # an extra
    except ImportError:
        raise MissingExtra("the tool 'http'", "tools") from None
    try:
        async with httpx2.AsyncClient(timeout=rules.timeout, follow_redirects=False) as client:
            for _ in range(MAX_REDIRECTS + 1):
                _check(rules, url)
                async with client.stream(method, url, content=body.encode() or None) as response:
                    if response.is_redirect and method in LOOKING:
                        url = urljoin(url, response.headers.get("location", ""))
                        continue
                    data = bytearray()
                    async for piece in response.aiter_bytes():
                        data += piece
                        if len(data) > limit:
                            break
                    told: dict[str, Json] = {
                        "url": url,
                        "http_status": response.status_code,
                        "content_type": response.headers.get("content-type", ""),
                        "body": bytes(data[:limit]).decode("utf-8", "replace"),
                        "bytes": min(len(data), limit),
                        "truncated": len(data) > limit,
                    }
                    if response.is_error:
                        raise ToolProblem(f"the host answered with status {response.status_code}", **told)
                    return told
    except httpx2.HTTPError as error:
        raise ToolProblem(f"no answer ({type(error).__name__})", url=url) from None
    except httpx2.InvalidURL:
        raise ToolProblem("this is no address", url=url) from None
    raise ToolProblem(f"redirected more than {MAX_REDIRECTS} times", url=url)


def _check(rules: HttpRules, url: str) -> None:
    parts = urlsplit(url)
    origin = _origin(parts)
    if origin is None:
        raise ToolProblem(f"'{url[:200]}' is no web address", url=url)
    if parts.username is not None or parts.password is not None:
        raise ToolProblem("an address with a name and password in it is not asked", url=url)
    if origin not in rules.origins:
        allowed = ", ".join(sorted(_shown(one) for one in rules.origins)) or "none"
        raise ToolProblem(f"{_shown(origin)} is not allowed; allowed is {allowed} (tools.http.hosts)", url=url)


def _origin(parts: SplitResult) -> Origin | None:
    ports = {"https": 443, "http": 80}
    try:
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ports or not parts.hostname:
        return None
    return Origin(parts.scheme, parts.hostname, ports[parts.scheme] if port is None else port)


def _shown(origin: Origin) -> str:
    default = {"https": 443, "http": 80}[origin.scheme] == origin.port
    return f"{'' if origin.scheme == 'https' else 'http://'}{origin.host}{'' if default else f':{origin.port}'}"
