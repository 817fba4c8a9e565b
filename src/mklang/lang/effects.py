"""What the tools and hooks that the language knows by name touch: the one table of it (L59, L77).

Who asks: the run, to guard effectful tools; the analysis, to find the same facts before a run. What a host's own tools
and hooks touch is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mklang.lang.comparisons import Comparison, read_comparison

READ_TOOLS = frozenset({"calc", "search", "search_kb", "list_files", "read_file", "guard"})
"""Tools that only look (L77). Every other tool is taken to change the world until the host says otherwise."""

HOOK_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "always_true": (),
        "always_false": (),
        "amount_le_100": ("amount",),
        "has_receipt": ("has_receipt",),
        "auto_approve_ok": ("amount", "has_receipt"),
        "write_failed": (),
    }
)
"""The built-in hooks and the top-level context keys each looks at (L59)."""

OUTPUT_HOOKS = frozenset({"write_failed"})
"""Built-in hooks that look at the output of the state they stand on."""

GUARD = "guard:"
"""How a hook's name begins that asks a guard about the output of the state it stands on (L122)."""


def keys_read(hook: str, output: str) -> tuple[str, ...] | None:
    """The context keys a hook on a state with this ``output`` looks at; None for a host's own hook."""
    compared = read_comparison(hook)
    if isinstance(compared, Comparison):
        return compared.keys
    if hook.startswith(GUARD):
        return (output,)
    if hook not in HOOK_KEYS:
        return None
    return (*HOOK_KEYS[hook], output) if hook in OUTPUT_HOOKS else HOOK_KEYS[hook]
