"""What time it is for a server: the world's time when it was given a world, else this machine's."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from servers.backends.world import ask
from servers.backends.world.asking import here


def now() -> datetime:
    """The time, in UTC. Under a world (TOOLWORTHY_WORLD) it stands still until the observer moves it.

    Raises:
        UpstreamError: There is no world where there should be one.
    """
    if here.get() or os.environ.get("TOOLWORTHY_WORLD"):
        return datetime.fromisoformat(ask("clock.now"))
    return datetime.now(UTC)
