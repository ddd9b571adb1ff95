"""What checks of several exercises need: a world of their own behind the learner's server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from servers.backends.world import World


@contextmanager
def observed_world(world: World) -> Iterator[World]:
    """Put `world` behind every server that is asked meanwhile, in this process or started from it."""
    with world.serve() as address:
        before = os.environ.get("TOOLWORTHY_WORLD")
        os.environ["TOOLWORTHY_WORLD"] = address
        try:
            yield world
        finally:
            if before is None:
                del os.environ["TOOLWORTHY_WORLD"]
            else:
                os.environ["TOOLWORTHY_WORLD"] = before
