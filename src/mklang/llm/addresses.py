"""Which addresses prompts and keys may be sent to."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from mklang.errors import ConfigError

_PRIVATE_SUFFIXES = (".local", ".internal", ".lan", ".home.arpa")


def check_url(base_url: str) -> str:
    """The address without a trailing slash, if it may be used; else ``ConfigError``.

    ``https`` goes anywhere. ``http`` carries prompts and keys in the clear, so it goes to this machine and to private
    hosts only: private addresses, names without a dot, and names under ``.local``, ``.internal``, ``.lan`` and
    ``.home.arpa``. Whoever writes such an address has named that host.
    """
    try:
        url = urlsplit(base_url.strip())
        host = url.hostname or ""
        _ = url.port  # parsed only when asked for
    except ValueError:
        raise ConfigError(f"base_url '{_shown(base_url)}' is not an address") from None
    problem = _url_problem(url, host)
    if problem:
        raise ConfigError(f"base_url '{_shown(base_url)}' {problem}")
    return base_url.strip().rstrip("/")


def check_closed_url(base_url: str) -> str:
    """The same for what nobody on the way may read: ``https``, or this machine."""
    base = check_url(base_url)
    if is_open(base):
        raise ConfigError(f"base_url '{base}' uses http for another machine: use https")
    return base


def is_loopback(base_url: str) -> bool:
    """Whether the address is on this machine."""
    return _is_loopback(urlsplit(base_url).hostname or "")


def is_open(base_url: str) -> bool:
    """Whether what is sent there can be read on the way: http to another machine, or no address at all."""
    try:
        return urlsplit(base_url).scheme == "http" and not is_loopback(base_url)
    except ValueError:
        return True


def _url_problem(url: SplitResult, host: str) -> str:
    if url.scheme not in {"http", "https"} or not host:
        return "must begin with https:// (or http:// for a server on this machine or network) and name a host"
    if url.username is not None or url.password is not None:
        return "must not hold a user name or a password: give the key as api_key_env or api_key_file"
    if url.query or url.fragment:
        return "must not have a '?' or '#' part"
    if url.scheme == "http" and not (_is_loopback(host) or _is_private(host)):
        return "uses http for a public host, where everybody on the way can read it: use https"
    return ""


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return address.is_loopback if address else host == "localhost" or host.endswith(".localhost")


def _is_private(host: str) -> bool:
    address = _address(host)
    if address:
        return address.is_private and not (address.is_link_local or address.is_unspecified)
    return "." not in host or host.endswith(_PRIVATE_SUFFIXES)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _shown(base_url: str) -> str:
    """The address as messages show it: a password in it is no business of theirs."""
    scheme, separator, rest = base_url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}" if separator else rest or scheme.rpartition("@")[2]
