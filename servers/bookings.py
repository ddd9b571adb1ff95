"""Tables at a hotpot chain: which are free, to book one, to cancel a booking.

Four things can go wrong when a table is booked, and the caller must do something else about each: the booking system
doesn't answer (transient: the same call again), the date isn't one (validation: repair it), the party is too large
(business: the hotline), the VIP area isn't for this account (permission: another area). No free table is none of them:
it is an answer.

The booking is made outside. First the key is written down, with a reference; then the booking system is asked, with
that reference, under which it books once. Wherever the answer is lost, the same call again finds the same reference.
"""

import datetime as dt
from typing import Annotated, TypeAlias

from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from servers.backends import bookings, keys
from servers.backends.bookings import Area, Booking, Branch, Cancellation, FreeTables
from servers.backends.errors import Refused
from servers.backends.parameters import LINE, IdempotencyKey
from servers.backends.production import DATABASE, production
from servers.backends.serve import Need, serve

mcp = production("bookings", "Tables at the Nine Kettles hotpot restaurants. It knows no menus, prices or deliveries.")

ACCOUNT = Need(
    "at will TOOLWORTHY_BOOKING_ACCOUNT, its account at the booking system (website, which may not book the VIP area; "
    "concierge may)",
    bookings.account,
)

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True)
# A booking is added and nobody else's changes. Repeating is safe because of the key.
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True)
# Somebody else may have the table a second later, so it can't be undone.
CANCELS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True)

BranchId: TypeAlias = Annotated[
    str, Field(pattern=r"^[a-z]{1,20}(-[a-z]{1,20}){0,3}$", description="As list_branches has it, such as hanoi-lake.")
]
BookingId: TypeAlias = Annotated[str, Field(pattern=r"^BKG-[0-9A-F]{8}$", description="Such as BKG-9E3779B1.")]
Day: TypeAlias = Annotated[dt.date, Field(description="YYYY-MM-DD on the branch's calendar, up to 60 days ahead.")]
Time: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^([01][0-9]|2[0-3]):(00|30)$",
        description="HH:MM on the branch's clock, on the hour or the half hour, such as 19:30. A table is for 2 hours.",
    ),
]
PartySize: TypeAlias = Annotated[
    int, Field(ge=1, le=500, description="Guests. Up to 20 can be booked online; for more you are told the hotline.")
]


class Branches(BaseModel):
    """All branches."""

    branches: list[Branch]


class Search(FreeTables):
    """What is free, and the same in words. No free table is an answer, not an error."""

    note: str


@mcp.tool(title="List the branches", annotations=READS)
def list_branches() -> Branches:
    """List all branches with hotline, opening days and hours, and their areas.

    Use it to get a branch's id, or to answer when and where one can eat. Not to find out whether a table is free: use
    find_tables.
    """
    return Branches(branches=bookings.branches())


@mcp.tool(title="Find free tables", annotations=READS)
def find_tables(
    branch: BranchId,
    date: Day,
    time: Time,
    party_size: PartySize,
    area: Annotated[Area | None, Field(description="Leave it out for any area that can be booked here.")] = None,
) -> Search:
    """Find the tables of one branch that are free for a party at a time.

    Use it before book_table, or to see what there is. It holds nothing: a table may be gone a minute later. Where none
    is free, the list is empty and nearest_free_times has times of the same day with one. Days on which the branch is
    closed and parties too large for a table are refused, as book_table refuses them.
    """
    found = bookings.free_tables(branch=branch, date=date, time=time, party_size=party_size, area=area)
    return Search(**dict(found), note=_in_words(found))


@mcp.tool(title="Book a table", annotations=ADDS)
def book_table(
    branch: BranchId,
    area: Annotated[Area, Field(description="vip needs a permission that this server may not have.")],
    date: Day,
    time: Time,
    party_size: PartySize,
    guest_name: Annotated[
        str, Field(pattern=LINE, max_length=100, description="In whose name: 1 to 100 characters, such as Trần Bình.")
    ],
    idempotency_key: IdempotencyKey,
) -> Booking:
    """Book the smallest table that is free in an area, once for each idempotency key.

    Use it when a guest has settled on branch, day and time. After a timeout or a lost answer send the very same call
    again, with the same key: there is one booking, and you get it. One more booking needs a new key. Not to see what is
    free: use find_tables. To move a booking, book the other time first, with a new key, and then use cancel_booking.
    """
    # No arguments and no result: the booking system compares and keeps them. It alone knows whether anything was booked
    # under this key, so that after a refusal it can be used again, and whether that has been cancelled since.
    claim = keys.claim("book_table", idempotency_key, {}, prefix="book_")
    booking = bookings.book(
        claim.reference,
        branch=branch,
        area=area,
        date=date,
        time=time,
        party_size=party_size,
        guest_name=guest_name,
    )
    if booking.state == "cancelled":
        raise Refused(
            f"{booking.booking_id} was booked with this key and has been cancelled since. Nothing was booked now; to "
            "book again, make this call with a new key."
        )
    return booking


@mcp.tool(title="Cancel a booking", annotations=CANCELS)
def cancel_booking(booking_id: BookingId) -> Cancellation:
    """Cancel a booking that was made here; its table is free for others at once, so it can't be taken back.

    Use it when the guest has said that this booking is to be cancelled. Cancelling again is safe: already_cancelled is
    true then. Not to find a booking: its id was in the answer of book_table.
    """
    return bookings.cancel(booking_id)


def _in_words(found: FreeTables) -> str:
    if found.tables:
        return f"{len(found.tables)} free at that time; book_table takes the smallest of the area."
    instead = "choose one of nearest_free_times" if found.nearest_free_times else "ask for another day, area or branch"
    return f"No table is free at that time. That is the complete answer, not an error: {instead}."


if __name__ == "__main__":
    serve(mcp, DATABASE, ACCOUNT)
