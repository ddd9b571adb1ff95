"""Types of parameters that several servers take, as narrow as they can be, and pages of results."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Hashable, Sequence
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, Field

from servers.backends.errors import WrongRequest

# One line: no line breaks, those of Unicode included, no other control characters, and something to see in it.
_NEVER = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
LINE = rf"^[^{_NEVER}]*[^\s{_NEVER}][^{_NEVER}]*$"
# Any text that a database can store: PostgreSQL takes no NUL.
TEXT = r"^[^\x00]*$"

IdempotencyKey: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_-]{8,64}$",
        description="Chosen by the caller for this one intention: 8 to 64 letters, digits, _ and -, such as a UUID. "
        "Use the same key again when you repeat this call after a timeout or a lost answer; make a new one only for "
        "something new.",
    ),
]

PageSize: TypeAlias = Annotated[int, Field(ge=1, le=100, description="The most entries in one page, 1 to 100.")]
Cursor: TypeAlias = Annotated[
    str | None,
    Field(
        pattern=r"^[A-Za-z0-9_-]{1,200}$",
        description="next_cursor of the page before; leave it out for the first page. The other arguments must stay "
        "as they were.",
    ),
]

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    """One page of a list. `next_cursor` is null on the last page."""

    items: list[T]
    next_cursor: str | None
    note: str = Field(description="In words: what this page has, and how to get what it has not.")


def page(items: Sequence[T], size: int, cursor_after: Any, what: str, **filters: Any) -> dict[str, Any]:
    """The fields of a Page.

    Args:
        items: One more than `size`, if there are so many.
        size: How many to show.
        cursor_after: Called with the last item shown: where the next page begins.
        what: The plural in the note, such as "issues".
        filters: What the list was asked for; a cursor is good for these only.
    """
    shown, more = list(items[:size]), len(items) > size
    asked = ", ".join(f"{name}={value}" for name, value in filters.items() if value is not None)
    where = f"{what} with {asked}" if asked else what
    if not shown:
        note = f"There are no {where}. That is the complete answer, not an error."
    elif more:
        note = f"{len(shown)} of the {where}; there are more: call again with this next_cursor."
    else:
        note = f"{len(shown)} of the {where}; there are no more after these."
    return {
        "items": shown,
        "next_cursor": write_cursor(cursor_after(shown[-1]), filters) if more else None,
        "note": note,
    }


def write_cursor(after: Any, filters: dict[str, Any]) -> str:
    """A cursor that leads on from `after` (JSON), for these filters only."""
    text = json.dumps([_digest(filters), after], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, kind: type[Any], **filters: Any) -> Any:
    """Where the page begins: what `write_cursor` got, or None for the first page.

    Raises:
        WrongRequest: It isn't a cursor of this list, or not with these filters.
    """
    if cursor is None:
        return None
    try:
        digest, after = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        digest, after = None, None
    if digest != _digest(filters) or type(after) is not kind:
        raise WrongRequest(
            "cursor: this is no next_cursor of this list with these arguments. "
            "Leave it out to begin with the first page."
        )
    return after


def _digest(filters: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(filters, sort_keys=True, default=str).encode()).hexdigest()[:8]


def _no_duplicates(values: list[Hashable] | None) -> list[Hashable] | None:
    if values is not None and len(set(values)) < len(values):
        raise ValueError("an entry occurs twice")
    return values


# Published and enforced: the keyword alone would only be published.
UniqueItems = (Field(json_schema_extra={"uniqueItems": True}), AfterValidator(_no_duplicates))
