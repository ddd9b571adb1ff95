"""The world's flight search. Its flights are made up: plausible, the same on every run; no such airline exists."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from math import asin, cos, radians, sin, sqrt
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field

from servers.backends.cities import City, find_city
from servers.backends.errors import NotFound, WrongRequest
from servers.backends.world.core import Clock, Operation

DAYS_AHEAD = 330
AIRPORTS = {
    "AKL": "Auckland", "BKK": "Bangkok", "BOG": "Bogotá", "BOM": "Mumbai", "CAI": "Cairo", "CDG": "Paris",
    "CGK": "Jakarta", "CMN": "Casablanca", "CPT": "Cape Town", "DSS": "Dakar", "EZE": "Buenos Aires",
    "GRU": "São Paulo", "HAN": "Hanoi", "HAV": "Havana", "HND": "Tokyo", "HNL": "Honolulu", "ICN": "Seoul",
    "IST": "Istanbul", "JFK": "New York City", "KEF": "Reykjavík", "LHR": "London", "LIM": "Lima", "LOS": "Lagos",
    "MAD": "Madrid", "MEX": "Mexico City", "MUC": "Munich", "NBO": "Nairobi", "NRT": "Tokyo", "OSL": "Oslo",
    "PEK": "Beijing", "PER": "Perth", "SCL": "Santiago", "SGN": "Ho Chi Minh City", "SIN": "Singapore",
    "SUV": "Suva", "SYD": "Sydney", "YYZ": "Toronto",
}  # fmt: skip
AIRLINES = {"HRN": "Heron Air", "NMB": "Nimbus Airways", "MRD": "Meridian Lines", "OWL": "Owl Express"}
CABINS = {"economy": 1.0, "premium_economy": 1.7, "business": 3.4, "first": 6.0}
# Minor units for one euro cent, invented once and for all. Dong and yen have no smaller unit: theirs is 1 dong, 1 yen.
CURRENCIES = {"EUR": 1.0, "GBP": 0.85, "JPY": 1.6, "USD": 1.1, "VND": 280.0}

Code = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


def flights(clock: Clock) -> Mapping[str, Operation]:
    """The service, as `World` takes it."""

    def search(
        origin: Code,
        destination: Code,
        date: dt.date,
        passengers: Annotated[int, Field(ge=1, le=9)],
        cabin: Literal["economy", "premium_economy", "business", "first"],
        currency: Literal["EUR", "GBP", "JPY", "USD", "VND"],
        offset: Annotated[int, Field(ge=0)],
        limit: Annotated[int, Field(ge=1, le=101)],
        max_price_minor: int | None = None,
    ) -> list[dict[str, Any]]:
        """Flights with enough seats that haven't left yet, the cheapest first, from `offset` on; maybe none.

        Raises:
            NotFound: There is no such airport, or no timetable for that day.
            WrongRequest: The destination is the origin.
        """
        start, end = _airport("origin", origin), _airport("destination", destination)
        if origin == destination:
            raise WrongRequest("destination: must be another airport than origin.")
        today = clock.now.astimezone(ZoneInfo(start.timezone)).date()
        last = today + dt.timedelta(days=DAYS_AHEAD)
        if not today <= date <= last:
            raise NotFound(f"date: the timetable has the days from {today} to {last} only.", [str(today)])
        scale = CABINS[cabin] * CURRENCIES[currency]
        found = [
            {**flight, "cabin": cabin, "price_minor": round(seat * scale) * passengers, "currency": currency}
            for flight, seat in _timetable(origin, start, destination, end, date, cabin)
            if flight["seats_left"] >= passengers and flight["departs_at"] > clock.now
        ]
        if max_price_minor is not None:
            found = [each for each in found if each["price_minor"] <= max_price_minor]
        found.sort(key=lambda each: (each["price_minor"], each["departs_at"], each["flight_id"]))
        return found[offset : offset + limit]

    return {"flights.search": Operation(search)}


def _airport(field: str, code: str) -> City:
    if code not in AIRPORTS:
        close = sorted(AIRPORTS, key=lambda each: (-sum(a == b for a, b in zip(each, code, strict=True)), each))[:3]
        raise NotFound(f"{field}: there is no airport {code!r} here. Did you mean {' or '.join(close)}?", close)
    return find_city(AIRPORTS[code])


def _timetable(
    origin: str, start: City, destination: str, end: City, date: dt.date, cabin: str
) -> list[tuple[dict[str, Any], int]]:
    """The flights of one day with the price of a seat in economy, in euro cents. Some routes have none at all."""
    if random.Random(f"{origin} {destination}").random() < 0.1:
        return []
    chance = random.Random(f"{origin} {destination} {date}")
    km = _distance(start, end)
    rows = []
    for number in random.Random(f"{destination} {origin}").sample(range(100, 1000), chance.randint(3, 30)):
        airline = chance.choice(list(AIRLINES))
        stops = chance.choices([0, 1, 2], weights=[6, 3, 1] if km < 9_000 else [1, 6, 3])[0]
        minutes = round(35 + km / 14 + sum(chance.uniform(70, 200) for _ in range(stops)))
        wall = dt.datetime.combine(date, dt.time(chance.randint(5, 22), chance.randrange(0, 60, 5)))
        departs_at = wall.replace(tzinfo=ZoneInfo(start.timezone)).astimezone(dt.UTC)
        cents = round((4_000 + km * chance.uniform(4, 11)) * (1 - 0.12 * stops))
        seats_left = {each: chance.randint(0, 9) for each in CABINS}[cabin]
        flight = {
            "flight_id": f"{airline}{number}-{date:%Y%m%d}",
            "airline": AIRLINES[airline],
            "origin": origin,
            "destination": destination,
            "departs_at": departs_at.astimezone(ZoneInfo(start.timezone)),
            "arrives_at": (departs_at + dt.timedelta(minutes=minutes)).astimezone(ZoneInfo(end.timezone)),
            "duration_minutes": minutes,
            "stops": stops,
            "seats_left": seats_left,
        }
        rows.append((flight, cents))
    return rows


def _distance(start: City, end: City) -> float:
    """Kilometres on a great circle."""
    a, b = radians(start.latitude), radians(end.latitude)
    half = sin((b - a) / 2) ** 2 + cos(a) * cos(b) * sin(radians(end.longitude - start.longitude) / 2) ** 2
    return 12_742 * asin(sqrt(half))
