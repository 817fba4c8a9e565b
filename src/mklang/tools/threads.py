"""Calling what blocks from what must not: one call on one thread, which nobody waits for once it is given up.

A thread cannot be stopped. The threads of ``asyncio.to_thread`` hold the program up at its end until they are done;
these are daemons, so a tool that hangs costs its state, not the program.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable


async def on_thread(call: Callable[[], object]) -> object:
    """What ``call`` returns. Raises what it raises; an exception that no future can carry becomes ``RuntimeError``."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()
    context = contextvars.copy_context()

    def tell(result: object, raised: BaseException | None) -> None:
        if not done.done():
            done.set_exception(raised) if raised is not None else done.set_result(result)

    def work() -> None:
        result, raised = None, None
        try:
            result = context.run(call)
        except BaseException as error:  # noqa: BLE001 - calling a plug-in on a thread: raised again by the caller
            raised = _carried(error)
        try:
            loop.call_soon_threadsafe(tell, result, raised)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    threading.Thread(target=work, name="mklang-tool", daemon=True).start()
    return await done


def _carried(error: BaseException) -> BaseException:
    """A future refuses StopIteration, and treats what ends a program or a task as meant for itself."""
    if isinstance(error, StopIteration):
        return RuntimeError("the tool raised StopIteration")
    if isinstance(error, Exception | SystemExit | asyncio.CancelledError):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
