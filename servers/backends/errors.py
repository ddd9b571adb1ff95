"""What can go wrong between a server and the service behind it, in two families.

UpstreamError: the service failed; the same call may succeed later.
DomainError: the service works and said no; the same call will get the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable


class BackendError(Exception):
    """Whatever a backend raises. Its text is one sentence or two, fit to be shown."""


class UpstreamError(BackendError):
    """The service behind the server failed. `retry_after_seconds` is None where nobody knows."""

    retry_after_seconds: int | None = None


class UpstreamTimeout(UpstreamError):
    """No answer within the time limit. Whether the call had its effect is unknown."""


class UpstreamRateLimited(UpstreamError):
    """Too many calls (429); this one had no effect."""

    def __init__(self, message: str, retry_after_seconds: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class UpstreamDown(UpstreamError):
    """The service refused the connection, broke it off, answered 5xx, or answered nonsense."""


class InProgress(UpstreamError):
    """The same call is being worked on; its result will be there soon."""

    retry_after_seconds = 1


class DomainError(BackendError):
    """The service understood and said no. `suggestions` are values that would do better, the best first."""

    def __init__(self, message: str, suggestions: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.suggestions = tuple(suggestions)


class NotFound(DomainError):
    """What was asked for isn't there, or more than one thing goes by that name (then `suggestions` has them all)."""


class Refused(DomainError):
    """The rules of the service forbid it."""


class Forbidden(DomainError):
    """The account that asks may not do this; another one may."""


class WrongRequest(DomainError):
    """There is no such operation, or it doesn't take these arguments."""
