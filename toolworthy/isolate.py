"""Run work on somebody's server in a thread with an event loop of its own.

A tool that blocks, never ends or calls `sys.exit` then costs one check, not the notebook.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class Hung(Exception):
    """The work didn't end within its limit."""


class Exited(Exception):
    """The code under test ended the program: `sys.exit`, `exit()`, or a KeyboardInterrupt of its own."""


async def isolated(work: Callable[[], Awaitable[T]], limit: float) -> T:
    """The result of `work()`, run in another thread.

    Raises Hung after `limit` seconds (threads started meanwhile are told to stop: a Python loop ends, a blocking
    system call runs on unseen) and Exited when the work tried to end the program. Other exceptions pass through.
    """
    here = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = here.create_future()
    outcome.add_done_callback(lambda f: f.cancelled() or f.exception())  # nobody may be left to ask for it
    before = set(threading.enumerate())

    def settle(result: T | None, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is None:
            outcome.set_result(result)  # type: ignore[arg-type]
        elif isinstance(error, Exception):
            outcome.set_exception(error)
        else:
            code = getattr(error, "code", None)
            outcome.set_exception(Exited(f"{type(error).__name__}({'' if code is None else code!r})"))

    def body() -> None:
        async def main() -> T:
            return await work()

        try:
            with asyncio.Runner() as runner:
                # What goes wrong in there is in the outcome; asyncio would print it besides, with tracebacks.
                runner.get_loop().set_exception_handler(lambda loop, context: None)
                result, error = runner.run(main()), None
        except BaseException as caught:
            result, error = None, caught
        # The notebook's loop may be gone by now (kernel shut down while a hung check ran on).
        if not here.is_closed():
            here.call_soon_threadsafe(settle, result, error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(body,), name="toolworthy-check", daemon=True).start()
    try:
        deadline = here.time() + limit
        while not outcome.done() and here.time() < deadline:
            # In slices: a kernel notices that its user pressed stop only when its loop wakes.
            await asyncio.wait({outcome}, timeout=0.2)
        if outcome.done():
            return outcome.result()
        raise Hung()
    finally:
        if not outcome.done():
            _stop(set(threading.enumerate()) - before)


def _stop(threads: set[threading.Thread]) -> None:
    for thread in threads:
        if thread.ident is not None and thread.name.startswith(("toolworthy-check", "AnyIO worker")):
            # SystemExit itself: it is what a thread ends on without a word.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
