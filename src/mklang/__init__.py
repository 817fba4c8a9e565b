"""mklang: a declarative language for LLM-driven state machines.

The names below are what programs use; each is imported when it is first asked for::

    import mklang

    outcome = mklang.run("triage.mkl", {"mail": "My parcel is late."})
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of typing
if TYPE_CHECKING:
    from mklang.diagnostics import Diagnostic
    from mklang.engine.options import Effect, Reaction, RunOptions
    from mklang.engine.outcome import Done, Halted, Outcome, Suspended, to_wire
    from mklang.errors import ConfigError, DocumentError, MklangError
    from mklang.hooks.hook import HostHook, hook
    from mklang.host.embedding import arun, check, load, run
    from mklang.host.runtime import Runtime, Stream
    from mklang.host.session import Loaded
    from mklang.tools.tool import HostTool, tool

__version__ = "0.1.0"

__all__ = [
    "ConfigError",
    "Diagnostic",
    "DocumentError",
    "Done",
    "Effect",
    "Halted",
    "HostHook",
    "HostTool",
    "Loaded",
    "MklangError",
    "Outcome",
    "Reaction",
    "RunOptions",
    "Runtime",
    "Stream",
    "Suspended",
    "__version__",
    "arun",
    "check",
    "hook",
    "load",
    "run",
    "to_wire",
    "tool",
]

_HOME = {
    "mklang.diagnostics": ("Diagnostic",),
    "mklang.engine.options": ("Effect", "Reaction", "RunOptions"),
    "mklang.engine.outcome": ("Done", "Halted", "Outcome", "Suspended", "to_wire"),
    "mklang.errors": ("ConfigError", "DocumentError", "MklangError"),
    "mklang.hooks.hook": ("HostHook", "hook"),
    "mklang.host.embedding": ("arun", "check", "load", "run"),
    "mklang.host.runtime": ("Runtime", "Stream"),
    "mklang.host.session": ("Loaded",),
    "mklang.tools.tool": ("HostTool", "tool"),
}


def __getattr__(name: str) -> object:
    """A public name, imported now: ``import mklang`` costs nothing by itself."""
    for module, names in _HOME.items():
        if name in names:
            value = globals()[name] = getattr(import_module(module), name)
            return value
    raise AttributeError(f"module 'mklang' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
