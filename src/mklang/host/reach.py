"""What the built-in tools of a host reach, from its configuration: each knob with its source (L101, L105)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mklang.errors import ConfigError
from mklang.host.configuration import Configuration, Setting
from mklang.host.keys import beside
from mklang.host.knobs import FS, KB, MAIL, NOTHING, SEARCH
from mklang.lang.vocabulary import closest
from mklang.llm.addresses import check_url
from mklang.tools.envelope import ToolProblem
from mklang.tools.http import LOOKING, TIMEOUT, HttpRules
from mklang.tools.kb import DemoFacts, Fact, FolderBase, KnowledgeBase, NoFacts
from mklang.tools.mail import Delivery, FakeDelivery, Letter, NoDelivery, SmtpDelivery
from mklang.tools.search import TAVILY, FakeSearch, NoSearch, Question, SearchBackend, Tavily
from mklang.tools.standard import Reach
from mklang.tools.workspace import Workspace

GRANTS = frozenset({"1", "true", "yes", "on"})
"""The words of ``MKLANG_FS_WRITE`` that grant writing; every other word refuses it."""
SEARCH_KEY = "TAVILY_API_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the caller says about files, over everything else: the folder, and whether it may be written into."""

    workspace: str | None = None
    allow_write: bool | None = None


def knobs_of(configuration: Configuration, told: Told | None = None) -> dict[str, Setting]:
    """Every knob of the built-in tools with its value and source. Raises ``ConfigError`` for a back-end
    that is none."""
    told, stub = told or Told(), Setting("stub", "default")
    backends = {
        "search": (SEARCH, _usual_search(configuration)),
        "kb": (KB, stub),
        "mail": (MAIL, stub),
        "fs": (FS, Setting("local", "default")),
    }
    found = {
        f"{section}.backend": _backend(configuration, section, allowed, default)
        for section, (allowed, default) in backends.items()
    }
    found |= {
        "fs.workspace": _workspace(configuration, told),
        "fs.write": _grant(configuration, told),
    }
    for knob, default in _PLAIN.items():
        found[knob] = configuration.knob(knob, default=default)
    return found


_PLAIN = {"kb.folder": None, "http.hosts": (), "http.methods": tuple(sorted(LOOKING)), "http.timeout": TIMEOUT}


def reach_of(configuration: Configuration, told: Told | None = None) -> Reach:
    """What the tools reach. What is missing for a back-end is said when a machine uses it, not before.

    Raises ``ConfigError`` for what can never work: a back-end or host that is none.
    """
    knobs = knobs_of(configuration, told)
    return Reach(
        workspace=_space(knobs) if knobs["fs.backend"].value == "local" else None,
        search=_search(configuration, knobs),
        kb=_kb(configuration, knobs),
        mail=_mail(configuration, knobs),
        http=HttpRules.allowing(
            knobs["http.hosts"].value, knobs["http.methods"].value, timeout=knobs["http.timeout"].value
        ),
    )


def structured_of(configuration: Configuration) -> frozenset[str]:
    """The tools whose observations are read as JSON (L55)."""
    return frozenset(configuration.knob("structured", default=()).value)


def _backend(configuration: Configuration, section: str, allowed: Collection[str], default: Setting) -> Setting:
    found = configuration.knob(f"{section}.backend", f"MKLANG_{section.upper()}_BACKEND")
    if found.value is None:
        return default
    word = str(found.value).casefold()
    if word in NOTHING:
        return Setting("stub", found.source)
    if word not in allowed:
        meant = closest(word, allowed)
        hint = f"; did you mean '{meant}'?" if meant else f"; allowed are {', '.join(allowed)}"
        raise ConfigError(f"{found.source}: '{found.value}' is no back-end of {section}{hint}")
    return Setting(word, found.source)


def _usual_search(configuration: Configuration) -> Setting:
    """The real search where the person has its key; a key from a project's ``.env`` does not switch it on."""
    found = configuration.variables.find(SEARCH_KEY)
    if found is not None and found.source != str(configuration.project / ".env"):
        return Setting("tavily", f"{SEARCH_KEY} in {found.source}")
    return Setting("stub", "default")


def _workspace(configuration: Configuration, told: Told) -> Setting:
    if told.workspace is not None:
        return Setting(Path(told.workspace).expanduser(), "--workspace")
    found = configuration.knob("fs.workspace", "MKLANG_FS_ROOT")
    if found.value is None:
        return Setting(configuration.project, "default")
    if found.source.startswith("MKLANG_FS_ROOT"):
        return Setting(Path(found.value).expanduser(), found.source)
    return Setting(beside(configuration.folder_of("fs.workspace"), found.value), found.source)


def _grant(configuration: Configuration, told: Told) -> Setting:
    if told.allow_write is not None:
        return Setting(told.allow_write, "--allow-write")
    found = configuration.knob("fs.write", "MKLANG_FS_WRITE", default=False)
    if isinstance(found.value, str):
        return Setting(found.value.casefold() in GRANTS, found.source)
    return found


def _space(knobs: dict[str, Setting]) -> Workspace:
    return Workspace(knobs["fs.workspace"].value, writable=knobs["fs.write"].value)


def _search(configuration: Configuration, knobs: dict[str, Setting]) -> SearchBackend:
    match knobs["search.backend"].value:
        case "fake":
            return FakeSearch()
        case "tavily":
            variable = configuration.knob("search.api_key_env", default=SEARCH_KEY).value
            address = check_url(configuration.knob("search.base_url", default=TAVILY).value)
            key = configuration.variables.get(variable, "")
            return Tavily(api_key=key, base_url=address) if key else _NoKey(variable)
        case _:
            return NoSearch()


@dataclass(frozen=True, slots=True)
class _NoKey:
    """A search service without its key."""

    variable: str
    live: bool = True

    async def search(self, _question: Question) -> list[dict[str, str]]:
        """Never finds anything."""
        raise ToolProblem(f"the search service has no key: the variable {self.variable} is not set")


def _kb(configuration: Configuration, knobs: dict[str, Setting]) -> KnowledgeBase:
    folder, backend = knobs["kb.folder"].value, knobs["kb.backend"]
    if backend.value == "folder" and folder is None:
        return _NoFolder()
    if folder is not None and (backend.value == "folder" or backend.source == "default"):
        return FolderBase(beside(configuration.folder_of("kb.folder"), folder))
    return NoFacts() if backend.value == "fake" else DemoFacts()


@dataclass(frozen=True, slots=True)
class _NoFolder:
    """A knowledge base without its folder."""

    stub: bool = False

    def find(self, _query: str, _limit: int) -> list[Fact]:
        """Never finds anything."""
        raise ToolProblem("the back-end 'folder' has no folder: tools.kb.folder is not set")


def _mail(configuration: Configuration, knobs: dict[str, Setting]) -> Delivery:
    match knobs["mail.backend"].value:
        case "fake":
            return FakeDelivery()
        case "smtp":
            return _smtp(configuration)
        case _:
            return NoDelivery()


def _smtp(configuration: Configuration) -> Delivery:
    def said(name: str, default: Any = None) -> Any:
        return configuration.knob(f"mail.{name}", default=default).value

    if not said("host") or not said("from"):
        raise ConfigError("tools.mail: the back-end 'smtp' needs 'host' and 'from'")
    variable = said("password_env")
    password = configuration.variables.get(variable, "") if variable else ""
    if variable and not password:
        return _NoPassword(variable)
    return SmtpDelivery(
        host=said("host"),
        port=said("port", 587),
        security=said("security", "starttls"),
        sender=said("from"),
        recipients=frozenset(said("recipients", ())),
        username=said("username"),
        password=password or None,
    )


@dataclass(frozen=True, slots=True)
class _NoPassword:
    """A mail server without its password."""

    variable: str
    name: str = "smtp"
    stub: bool = False

    def send(self, _letter: Letter) -> bool:
        """Never sends anything."""
        raise ToolProblem(f"the mail server's password is missing: the variable {self.variable} is not set")
