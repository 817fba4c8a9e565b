"""Which hook a name stands for, and what happens when one is called."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from mklang.engine.requests import Hook, HookValue
from mklang.errors import AnswerFailed, ConfigError, HookFailed, UnknownHook
from mklang.hooks.builtin import BUILTIN, HookFunction
from mklang.hooks.comparing import comparison
from mklang.hooks.hook import HostHook, as_hook
from mklang.lang.values import Json


class HookRegistry(Mapping[str, HookFunction]):
    """The hooks of one host, immutable. A name is looked up in the host's own, then the built-in ones, then as a
    comparison (L59); iteration lists those that have a name of their own."""

    __slots__ = ("_named", "given")

    def __init__(self, hooks: Mapping[str, HostHook | HookFunction] | Iterable[HostHook] | None = None) -> None:
        """``hooks`` are hooks, or functions ``(context, output)``, by name.

        Raises ``ConfigError`` for a name twice and for a judge given as a hook (S25).
        """
        self.given: Mapping[str, HostHook] = MappingProxyType(named_hooks(hooks or {}))
        self._named: Mapping[str, HookFunction] = MappingProxyType({**BUILTIN, **self.given})

    def __getitem__(self, name: str) -> HookFunction:
        """The hook of that name. Raises ``UnknownHook`` naming what exists (L58)."""
        found = self._named.get(name) or comparison(name)
        if found is None:
            raise UnknownHook(name, self._named)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._named or comparison(name) is not None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    async def answer(self, request: Hook) -> HookValue:
        """Ask the hook a request names.

        It is called on the event loop, with a copy of the blackboard that cannot be written to; an awaitable result is
        awaited. Raises ``UnknownHook``, or ``HookFailed`` with type and message when the hook raises: a predicate that
        cannot answer is not false (L58).
        """
        hook = self[request.name]
        context = MappingProxyType({key: _copied(value) for key, value in request.context.items()})
        try:
            result = hook(context, _copied(request.output))
            if inspect.isawaitable(result):
                result = await result
            return HookValue(bool(result))
        except AnswerFailed:
            raise
        except asyncio.CancelledError:
            if _being_cancelled():
                raise
            raise HookFailed(f"hook '{request.name}': CancelledError") from None
        except (Exception, SystemExit) as error:  # calling a plug-in: any fault of its is the state's
            raise HookFailed(f"hook '{request.name}': {_fault(error)}") from error


def named_hooks(hooks: Mapping[str, HostHook | HookFunction] | Iterable[HostHook]) -> dict[str, HostHook]:
    """Hooks by name. Raises ``ConfigError`` for two of one name."""
    if isinstance(hooks, Mapping):
        return {name: as_hook(name, given) for name, given in hooks.items()}
    found: dict[str, HostHook] = {}
    for hook in hooks:
        if not isinstance(hook, HostHook):
            raise ConfigError(f"{hook!r} is no hook; put @mklang.hook before the function, or give it a name in a map")
        if hook.name in found:
            raise ConfigError(f"there are two hooks called '{hook.name}'")
        found[hook.name] = hook
    return found


def _copied(value: Json) -> Json:
    """Containers are copied, so that a hook that writes into one changes nothing of the run."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _being_cancelled() -> bool:
    """Whether the cancellation comes from outside, and is not just something the hook raised."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _fault(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
