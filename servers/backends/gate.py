"""The way to an upstream: past a breaker, which spares it when it fails, and the caller's quota for the day.

See `guards` for where these stand among the others, and why there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import sqlalchemy as sa
from opentelemetry import trace

from servers.backends import clock, guards, telemetry
from servers.backends.audit import caller
from servers.backends.errors import BackendError, DomainError, Refused, UpstreamError, UpstreamRateLimited
from servers.backends.guards import NotNow
from servers.backends.storage import insert_new, metadata, writing
from servers.backends.upstream import time_limit

_usage = sa.Table(
    "daily_usage",
    metadata,
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("caller", sa.String, primary_key=True),
    sa.Column("service", sa.String, primary_key=True),
    sa.Column("calls", sa.Integer, nullable=False),
)


class Breaker:
    """Keeps calls from an upstream that fails: closed (all pass), open (none), half-open (one at a time, to try).

    To fail is to be away, to answer too late, or to answer nonsense. To say no (`DomainError`) is an answer. A 429 is
    no failure but a request for a pause: the breaker is open for as long as it says.

    Args:
        failures: So many in a row open it …
        open_seconds: … for so long. A try that fails opens it again, one that is answered closes it.
    """

    LONGEST_PAUSE = 600  # seconds; a 429 may say any number

    def __init__(self, failures: int = 3, open_seconds: int = 30) -> None:
        self._failures, self._open_seconds = failures, open_seconds
        self._in_a_row, self._pause = 0, 0
        self._opened: datetime | None = None
        self._trying = False
        self._lock = threading.Lock()

    @property
    def state(self) -> str:
        """closed, open or half-open."""
        if self._opened is None:
            return "closed"
        return "open" if self._left(clock.now()) else "half-open"

    def admit(self, service: str) -> bool:
        """Let a call pass; whether it is the one that tries. `settle` or `release` must follow.

        Raises:
            NotNow: It is open, or another call is trying.
        """
        now = clock.now()
        with self._lock:
            if self._opened is None:
                return False
            left = self._left(now) or (time_limit() if self._trying else 0)
            if not left:
                self._trying = True
                return True
        raise NotNow(f"{service} fails or wants a pause, so nothing is asked of it for now.", left)

    def settle(self, trying: bool, error: BaseException | None = None) -> None:
        """What came of an admitted call: an answer, or this error. One of our own says nothing about the upstream."""
        with self._lock:
            if self._opened is not None and not trying:
                return  # it passed before the breaker opened: old news
            self._trying = False
            if error is None or isinstance(error, DomainError):
                self._in_a_row, self._opened = 0, None
            elif isinstance(error, UpstreamRateLimited):
                asked = error.retry_after_seconds
                self._pause = self._open_seconds if asked is None else min(asked, self.LONGEST_PAUSE)
                self._opened = clock.now()
            elif isinstance(error, UpstreamError):
                self._in_a_row += 1
                if trying or self._in_a_row >= self._failures:
                    self._pause = self._open_seconds
                    self._opened = clock.now()

    def release(self, trying: bool) -> None:
        """An admitted call wasn't made after all."""
        if trying:
            self._trying = False

    def _left(self, now: datetime) -> float:
        passed = (now - self._opened).total_seconds() if self._opened else -1
        return self._pause - passed if 0 <= passed < self._pause else 0


@dataclass(frozen=True)
class DailyQuota:
    """So many results a day (UTC) for each caller.

    A call is counted before it is made, or parallel ones would slip past, and taken back when nothing came of it: only
    results cost. Where the process dies in between, it stays counted.

    Args:
        calls: `guards.quota()` unless given.
        contact: Whom to ask for more.
    """

    calls: int | None = None
    contact: str = "the people who run this server"

    def take(self, who: str, service: str) -> tuple[date, int]:
        """Count a call. Returns the day that it counts for, and how many are left.

        Raises:
            Refused: None is left.
            UpstreamDown: The database failed.
        """
        calls, day = self.calls or guards.quota(), clock.now().date()
        with writing() as connection:
            insert_new(connection, _usage, {"day": day, "caller": who, "service": service, "calls": 0})
            mine = sa.and_(_is(day, who, service), _usage.c.calls < calls)
            one_more = _usage.update().where(mine).values(calls=_usage.c.calls + 1).returning(_usage.c.calls)
            used = connection.execute(one_more).scalar()
        if used is None:
            anew = datetime.combine(day + timedelta(days=1), time(), UTC)
            raise Refused(
                f"The quota of {calls} results a day from {service} is used up; it starts anew at {anew.isoformat()}. "
                f"Until then work with the results you have; for more, a person can ask {self.contact}."
            )
        return day, calls - used

    def give_back(self, day: date, who: str, service: str) -> None:
        """Take a call out of the count.

        Raises:
            UpstreamDown: The database failed.
        """
        with writing() as connection:
            connection.execute(_usage.update().where(_is(day, who, service)).values(calls=_usage.c.calls - 1))


def _is(day: date, who: str, service: str) -> sa.ColumnElement[bool]:
    return sa.and_(_usage.c.day == day, _usage.c.caller == who, _usage.c.service == service)


@dataclass(frozen=True)
class Gate:
    """The way to one upstream: past its breaker and the caller's quota, with a span around the asking.

        with gate.asking("flights.search"):
            found = ask("flights.search", …)        # and nothing else

    It waits for the database, so the tool is a plain function, which FastMCP runs in a thread, and not an async one.

    Args:
        service: What refusals call the upstream, and whose quota it is.
        breaker: For all callers.
        quota: For each.
        cost_units: What a result costs, for the trace.
    """

    service: str
    breaker: Breaker
    quota: DailyQuota
    cost_units: int = 1

    @contextmanager
    def asking(self, operation: str) -> Iterator[None]:
        """Around the asking.

        Raises:
            NotNow: The breaker is open.
            Refused: The quota is used up.
            UpstreamDown: The database failed.
        """
        who, span = caller(), trace.get_current_span()
        span.set_attribute("toolworthy.breaker.state", self.breaker.state)
        trying = self.breaker.admit(self.service)
        try:
            day, left = self.quota.take(who, self.service)
        except BaseException:
            self.breaker.release(trying)
            raise
        span.set_attribute("toolworthy.quota.left", left)
        try:
            with telemetry.asking(self.service, operation):
                yield
        except BaseException as error:
            with suppress(BackendError):  # the error tells more, and the day will end
                self.quota.give_back(day, who, self.service)
            self.breaker.settle(trying, error)
            raise
        self.breaker.settle(trying)
        span.set_attribute("toolworthy.cost.units", self.cost_units)
