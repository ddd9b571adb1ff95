"""The booking system of Nine Kettles, a hotpot chain. Branches, people and numbers are made up.

It keeps the chain's rules, and says with each refusal what to do instead. A booking that carries a reference is made
once, however often it is asked for; a reference under which nothing was booked is as good as new.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import Field

from servers.backends.errors import Forbidden, NotFound, Refused, WrongRequest
from servers.backends.world.core import Clock, Operation, Unchanged

STAY = dt.timedelta(hours=2)
DAYS_AHEAD = 60
MAX_ONLINE = 20
# Account → the areas that it may book.
ACCOUNTS = {"website": ("hall", "terrace"), "concierge": ("hall", "terrace", "vip")}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Row: TypeAlias = dict[str, Any]
Time: TypeAlias = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):(00|30)$")]
PartySize: TypeAlias = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class Branch:
    """A branch: the first and last time of day at which a booking may begin, and the seats of each table by area."""

    branch: str
    name: str
    timezone: str
    hotline: str
    first_booking: str
    last_booking: str
    closed_on: str | None
    tables: dict[str, tuple[int, ...]]


BRANCHES = {
    each.branch: each
    for each in (
        Branch(
            "hanoi-lake", "Hanoi, Lake Side", "Asia/Ho_Chi_Minh", "+84 24 555 0110", "11:00", "20:30", None,
            {"hall": (2, 4, 4, 6, 8, 20), "terrace": (2, 4), "vip": (12,)},
        ),
        Branch(
            "hanoi-station", "Hanoi, Old Station", "Asia/Ho_Chi_Minh", "+84 24 555 0120", "11:00", "21:00", "Monday",
            {"hall": (2, 4, 4, 6)},
        ),
        Branch(
            "lima-port", "Lima, Port", "America/Lima", "+51 1 555 0130", "12:00", "21:00", "Tuesday",
            {"hall": (4, 4, 8, 12), "terrace": (4, 6), "vip": (10,)},
        ),
        Branch(
            "lagos-island", "Lagos, Island", "Africa/Lagos", "+234 1 555 0140", "12:00", "20:00", None,
            {"hall": (2, 4, 6, 20), "terrace": (4, 8)},
        ),
    )
}  # fmt: skip
# The terrace at the lake is taken on this evening, by telephone, before the world begins.
BOOKED = [("hanoi-lake", "terrace", dt.date(2026, 12, 5), "19:00", *guest) for guest in ((2, "Linh"), (4, "Minh"))]


def bookings(clock: Clock) -> Mapping[str, Operation]:
    """The service, as `World` takes it."""
    system = BookingSystem(clock)
    return {
        "bookings.branches": Operation(system.branches),
        "bookings.free_tables": Operation(system.free_tables),
        "bookings.book": Operation(system.book, effect=True),
        "bookings.cancel": Operation(system.cancel, effect=True),
    }


class BookingSystem:
    """Dates and times go in as the branch's clock shows them; moments come out with their UTC offset."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = itertools.count(1)
        self._bookings: dict[str, Row] = {}
        self._accounts: dict[str, str] = {}  # booking → who made it
        self._taken: dict[tuple[str, str], set[dt.datetime]] = defaultdict(set)  # (branch, table) → beginnings
        self._asked: dict[str, tuple[Row, str]] = {}  # reference → what was asked, the booking
        for branch, area, date, time, party_size, guest_name in BOOKED:
            start = _moment(branch, date, time)
            table = self._free(branch, [area], start, party_size)[0]
            self._add("hotline", branch, table, start, party_size, guest_name)

    def branches(self, account: str = "website") -> list[Row]:
        """All branches; `bookable`: whether this account may book the area."""
        allowed = _areas_of(account)
        return [
            vars(place)
            | {
                "areas": [
                    {"area": area, "largest_table_seats": max(seats), "bookable": area in allowed}
                    for area, seats in place.tables.items()
                ]
            }
            for place in BRANCHES.values()
        ]

    def free_tables(
        self, branch: str, date: dt.date, time: Time, party_size: PartySize,
        area: str | None = None, account: str = "website",
    ) -> Row:  # fmt: skip
        """The free tables for a party, the smallest first; none is an answer, with the nearest times that have some.

        Raises what `book` raises, except where a table is taken.
        """
        start, areas = self._check(branch, date, time, party_size, area, account)
        tables = self._free(branch, areas, start, party_size)
        nearest = [] if tables else self._nearest_times(branch, areas, start, party_size)
        return {"starts_at": start, "ends_at": start + STAY, "tables": tables, "nearest_free_times": nearest}

    def book(
        self, branch: str, area: str, date: dt.date, time: Time, party_size: PartySize, guest_name: str,
        reference: str | None = None, account: str = "website",
    ) -> Any:  # fmt: skip
        """Book the smallest free table of an area. A reference that was used before gives its booking as it is now.

        Raises:
            NotFound: There is no such branch, or it has no such area.
            WrongRequest: That moment is over.
            Refused: The party is too large, the branch is closed then, that day can't be booked yet, no table is free,
                or the reference was used for something else.
            Forbidden: The account may not book this area.
        """
        _areas_of(account)
        asked = {"branch": branch, "area": area, "date": date, "time": time, "party_size": party_size}
        asked["guest_name"] = guest_name
        if reference in self._asked:
            before, booking_id = self._asked[reference]
            if before != asked:
                raise Refused(
                    f"This key has made another booking already, {booking_id}, with other arguments. Nothing was "
                    "booked now. For one more booking use a new key; to change that one, book anew and cancel it."
                )
            return Unchanged(dict(self._bookings[booking_id]))
        start, areas = self._check(branch, date, time, party_size, area, account)
        tables = self._free(branch, areas, start, party_size)
        if not tables:
            nearest = self._nearest_times(branch, areas, start, party_size)
            instead = f"Free that day: {', '.join(nearest)}." if nearest else "Choose another day, area or branch."
            raise Refused(
                f"No table for {party_size} is free in the {area} of {BRANCHES[branch].name} on {date} at {time}. "
                f"Nothing was booked. {instead}",
                nearest,
            )
        booking_id = self._add(account, branch, tables[0], start, party_size, guest_name)
        if reference is not None:
            self._asked[reference] = asked, booking_id
        return dict(self._bookings[booking_id])

    def cancel(self, booking_id: str, account: str = "website") -> Any:
        """Cancel a booking of this account; its table is free again. `already_cancelled`: it was before this call.

        Raises:
            NotFound: There is no such booking.
            Forbidden: It was made through another account.
            Refused: It has begun.
        """
        _areas_of(account)
        row = self._bookings.get(booking_id)
        if row is None:
            raise NotFound(f"There is no booking {booking_id}; nothing was cancelled. Ask the guest for the right id.")
        call = f"Nothing was cancelled. The guest can call the branch: {BRANCHES[row['branch']].hotline}."
        if self._accounts[booking_id] != account:
            raise Forbidden(f"{booking_id} wasn't made through this account, so it can't cancel it. {call}")
        if row["state"] == "cancelled":
            return Unchanged(row | {"already_cancelled": True})
        if row["starts_at"] <= self._clock.now:
            raise Refused(f"{booking_id} has begun already. {call}")
        row["state"] = "cancelled"
        self._taken[row["branch"], row["table_id"]].remove(row["starts_at"])
        return row | {"already_cancelled": False}

    def _check(
        self, branch: str, date: dt.date, time: str, party_size: int, area: str | None, account: str
    ) -> tuple[dt.datetime, list[str]]:
        """When the booking would begin and in which areas it could be, if the rules allow it."""
        allowed = _areas_of(account)
        place = BRANCHES.get(branch)
        if place is None:
            raise NotFound(f"branch: there is no {branch!r}. There are: {', '.join(BRANCHES)}.", BRANCHES)
        areas = [each for each in place.tables if each in allowed]
        if area is not None and area not in place.tables:
            raise NotFound(f"area: {place.name} has no {area}. It has: {', '.join(place.tables)}.", areas)
        if party_size > MAX_ONLINE:
            raise Refused(
                f"Online bookings are for up to {MAX_ONLINE} guests, and this party has {party_size}. Call the branch, "
                f"which arranges a private room: {place.hotline}."
            )
        if area is not None and area not in allowed:
            raise Forbidden(
                f"This account may not book the {area} area of {place.name}. Offer another area, or have the guest "
                f"call the branch, which may: {place.hotline}.",
                areas,
            )
        chosen = areas if area is None else [area]
        largest = max(max(place.tables[each]) for each in chosen)
        if party_size > largest:
            raise Refused(
                f"The largest table in the {' or '.join(chosen)} of {place.name} has {largest} seats. Choose another "
                f"area or branch, or have the guest call {place.hotline}.",
                [each for each in areas if max(place.tables[each]) >= party_size],
            )
        self._check_time(place, date, time)
        return _moment(branch, date, time), chosen

    def _check_time(self, place: Branch, date: dt.date, time: str) -> None:
        now = self._clock.now.astimezone(ZoneInfo(place.timezone))
        last = now.date() + dt.timedelta(days=DAYS_AHEAD)
        if (date, time) <= (now.date(), f"{now:%H:%M}"):
            raise WrongRequest(
                f"date, time: {date} {time} is over at {place.name}, where it is {now:%Y-%m-%d %H:%M}. Choose a later "
                "time."
            )
        if date > last:
            raise Refused(
                f"{place.name} can be booked {DAYS_AHEAD} days ahead, now until {last}. Choose an earlier day, or ask "
                "again later.",
                [str(last)],
            )
        if WEEKDAYS[date.weekday()] == place.closed_on:
            raise Refused(
                f"{place.name} is closed on {place.closed_on}s, and {date} is one. Choose another day or branch.",
                [str(date + dt.timedelta(days=1))],
            )
        if not place.first_booking <= time <= place.last_booking:
            raise Refused(
                f"At {place.name} a booking begins between {place.first_booking} and {place.last_booking}. Choose such "
                "a time.",
                [place.first_booking if time < place.first_booking else place.last_booking],
            )

    def _free(self, branch: str, areas: list[str], start: dt.datetime, party_size: int) -> list[Row]:
        tables = [
            {"table_id": f"{area}-{number}", "area": area, "seats": seats}
            for area in areas
            for number, seats in enumerate(BRANCHES[branch].tables[area], 1)
            if seats >= party_size and self._is_free((branch, f"{area}-{number}"), start)
        ]
        return sorted(tables, key=lambda table: table["seats"])

    def _is_free(self, table: tuple[str, str], start: dt.datetime) -> bool:
        return all(abs(start - other) >= STAY for other in self._taken[table])

    def _nearest_times(self, branch: str, areas: list[str], start: dt.datetime, party_size: int) -> list[str]:
        """Up to three times of that day."""
        place = BRANCHES[branch]
        first, last = (_moment(branch, start.date(), at) for at in (place.first_booking, place.last_booking))
        steps = [first + dt.timedelta(minutes=30 * n) for n in range(48)]
        free = [
            each for each in steps
            if self._clock.now < each <= last and self._free(branch, areas, each, party_size)
        ]  # fmt: skip
        return [f"{each:%H:%M}" for each in sorted(free, key=lambda each: abs(each - start))[:3]]

    def _add(self, account: str, branch: str, table: Row, start: dt.datetime, party_size: int, guest_name: str) -> str:
        # Looks random and is never the same twice: a slip of the pen doesn't hit somebody else's booking.
        booking_id = f"BKG-{next(self._numbers) * 2_654_435_761 % 2**32:08X}"
        row = {"booking_id": booking_id, "branch": branch, **table, "starts_at": start, "ends_at": start + STAY}
        self._bookings[booking_id] = row | {"party_size": party_size, "guest_name": guest_name, "state": "booked"}
        self._accounts[booking_id] = account
        self._taken[branch, table["table_id"]].add(start)
        return booking_id


def _areas_of(account: str) -> tuple[str, ...]:
    if account not in ACCOUNTS:
        raise Forbidden("The booking system doesn't know this account. Tell whoever runs this service.")
    return ACCOUNTS[account]


def _moment(branch: str, date: dt.date, time: str) -> dt.datetime:
    return dt.datetime.combine(date, dt.time.fromisoformat(time), ZoneInfo(BRANCHES[branch].timezone))
