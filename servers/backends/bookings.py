"""Branches, free tables and bookings, as the chain's booking system outside has them."""

from __future__ import annotations

import datetime as dt
import os
import re
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from servers.backends.errors import UpstreamDown
from servers.backends.world import ask

Area: TypeAlias = Literal["hall", "terrace", "vip"]
T = TypeVar("T")


class BranchArea(BaseModel):
    """A part of a branch."""

    area: Area
    largest_table_seats: int
    bookable: bool = Field(description="false: this server's account may not book it; the hotline can.")


class Branch(BaseModel):
    """A branch. A booking begins between first_booking and last_booking, HH:MM on the branch's own clock."""

    branch: str
    name: str
    timezone: str = Field(description="IANA name, such as America/Lima.")
    hotline: str
    first_booking: str
    last_booking: str
    closed_on: str | None = Field(description="Day of the week, such as Monday; null: open every day.")
    areas: list[BranchArea]


class Table(BaseModel):
    """A free table."""

    table_id: str
    area: Area
    seats: int


class FreeTables(BaseModel):
    """The tables that are free from starts_at to ends_at, the smallest first."""

    starts_at: dt.datetime
    ends_at: dt.datetime
    tables: list[Table]
    nearest_free_times: list[str] = Field(description="Where no table is free: HH:MM of that day, the nearest first.")


class Booking(BaseModel):
    """A booking as it is now."""

    booking_id: str
    branch: str
    area: Area
    table_id: str
    seats: int
    starts_at: dt.datetime = Field(description="Local time of the branch, with its UTC offset.")
    ends_at: dt.datetime = Field(description="When the table is needed for others, likewise.")
    party_size: int
    guest_name: str
    state: Literal["booked", "cancelled"]


class Cancellation(Booking):
    """The booking, cancelled now or (already_cancelled) before this call."""

    already_cancelled: bool


def account() -> str:
    """As whom the booking system knows this server: TOOLWORTHY_BOOKING_ACCOUNT, or website.

    Raises:
        ValueError: No account has such a name.
    """
    name = os.environ.get("TOOLWORTHY_BOOKING_ACCOUNT") or "website"
    if not re.fullmatch(r"[a-z0-9_-]{1,40}", name):
        raise ValueError("TOOLWORTHY_BOOKING_ACCOUNT must be the name of an account, such as website or concierge.")
    return name


def branches() -> list[Branch]:
    """All branches."""
    return _ask("branches", list[Branch])


def free_tables(**asked: Any) -> FreeTables:
    """The free tables for: branch, date, time, party_size, area (None: any that this account may book).

    Raises what `book` raises, except where a table is taken.
    """
    return _ask("free_tables", FreeTables, **asked)


def book(reference: str, **asked: Any) -> Booking:
    """Book one table: branch, area, date, time, party_size, guest_name. The same reference again: the same booking.

    Raises:
        NotFound: There is no such branch or area.
        WrongRequest: That moment is over.
        Refused: The rules of the chain, or no table is free.
        Forbidden: This account may not book that area.
        UpstreamError: The booking system failed; after a timeout it may have booked.
    """
    return _ask("book", Booking, **asked, reference=reference)


def cancel(booking_id: str) -> Cancellation:
    """Cancel a booking, if it isn't cancelled already.

    Raises:
        NotFound: There is none with this id.
        Forbidden: Another account has made it.
        Refused: It has begun.
        UpstreamError: The booking system failed; after a timeout it may have cancelled.
    """
    return _ask("cancel", Cancellation, booking_id=booking_id)


def _ask(operation: str, kind: type[T], **asked: Any) -> T:
    answer = ask(f"bookings.{operation}", **asked, account=account())
    try:
        return TypeAdapter(kind).validate_python(answer)
    except ValidationError as error:
        raise UpstreamDown("The booking system answered nonsense.") from error
