"""The outside that servers act on: a ledger, scheduled faults and a clock, held by whoever observes.

The observer's side (a notebook, a test, a grader):

    world = World()
    world.schedule("weather.current", TimesOut(), times=2)
    with world.serve() as address:          # give it to the server as TOOLWORTHY_WORLD
        ...
    world.ledger                            # what was asked, and what it changed

The server's side: `ask("weather.current", city="Hanoi, VN")`. Without TOOLWORTHY_WORLD it acts on `local_world`, a
world inside its own process.
"""

from servers.backends.world.asking import ask, local_world
from servers.backends.world.core import (
    Clock,
    Down,
    Entry,
    Fault,
    Operation,
    RateLimited,
    Service,
    Slow,
    TimesOut,
    Unchanged,
    World,
)

__all__ = [
    "Clock",
    "Down",
    "Entry",
    "Fault",
    "Operation",
    "RateLimited",
    "Service",
    "Slow",
    "TimesOut",
    "Unchanged",
    "World",
    "ask",
    "local_world",
]
