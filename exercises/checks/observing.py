"""What checks of several exercises need: a world of their own behind the learner's server."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from servers.backends.world import World
from servers.backends.world.asking import here

_VARIABLE = "TOOLWORTHY_WORLD"
_lock = threading.Lock()
_observed: list[str] = []  # addresses of the worlds in place, the newest last; a check that hung may stay here a while
_outside: str | None = None  # what the variable was before any of them


@contextmanager
def observed_world(world: World) -> Iterator[World]:
    """Put `world` behind every server that is asked meanwhile, in this process or started from it."""
    global _outside
    with world.serve() as address:
        with _lock:
            if not _observed:
                _outside = os.environ.get(_VARIABLE)
            _observed.append(address)
            os.environ[_VARIABLE] = address
        # The context reaches the tools of a server in this process, and no other check's; the environment reaches
        # started processes, and threads that a tool starts itself.
        token = here.set(address)
        try:
            yield world
        finally:
            here.reset(token)
            with _lock:
                _observed.remove(address)
                before = _observed[-1] if _observed else _outside
                # Not if another check has put its own in place since: this one may be late, having hung.
                if os.environ.get(_VARIABLE) == address:
                    os.environ.pop(_VARIABLE)
                    if before is not None:
                        os.environ[_VARIABLE] = before
