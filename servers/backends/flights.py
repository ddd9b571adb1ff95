"""Flights, as the flight search service outside has them."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from servers.backends.errors import UpstreamDown
from servers.backends.world import ask

Cabin: TypeAlias = Literal["economy", "premium_economy", "business", "first"]
Currency: TypeAlias = Literal["EUR", "GBP", "JPY", "USD", "VND"]


class Flight(BaseModel):
    """One flight, and what it costs for all passengers together."""

    flight_id: str
    airline: str
    origin: str
    destination: str
    departs_at: dt.datetime = Field(description="Local time at the origin, with its UTC offset.")
    arrives_at: dt.datetime = Field(description="Local time at the destination, with its UTC offset.")
    duration_minutes: int
    stops: int
    cabin: Cabin
    seats_left: int
    price_minor: int = Field(
        description="For all passengers, in the currency's minor unit: 12950 EUR are 129.50 euros."
    )
    currency: Currency


_FLIGHTS = TypeAdapter(list[Flight])


def search(**asked: Any) -> list[Flight]:
    """Flights of one day, the cheapest first.

    Args:
        asked: origin, destination, date, passengers, cabin, currency, max_price_minor, offset, limit.

    Raises:
        NotFound: There is no such airport, or no timetable for that day.
        WrongRequest: The destination is the origin.
        UpstreamError: The service failed; see `errors`.
    """
    answer = ask("flights.search", **asked)
    try:
        return _FLIGHTS.validate_python(answer)
    except ValidationError as error:
        raise UpstreamDown("The flight search answered nonsense.") from error
