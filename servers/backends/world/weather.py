"""The world's weather service. Its weather is made up: plausible samples, the same on every run."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from math import cos, pi
from typing import Annotated, Any

from pydantic import Field

from servers.backends.cities import City, find_city
from servers.backends.errors import NotFound
from servers.backends.world.core import Clock, Operation

DAYS_AHEAD = 15


def weather(clock: Clock) -> Mapping[str, Operation]:
    """The service, as `World` takes it."""
    station = Station(clock)
    return {"weather.current": Operation(station.current), "weather.forecast": Operation(station.forecast)}


class Station:
    """Answers have `source: "sample"`; temperatures are in °C, wind in km/h, precipitation in mm, humidity in %."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def current(self, city: str) -> dict[str, Any]:
        """The conditions in a city at the world's time.

        Raises:
            NotFound: There is no such city, or more than one.
        """
        place, now = find_city(city), self.clock.now
        # The sun's time, not the zone's: close enough, and no time zone data needed.
        local = now + dt.timedelta(hours=place.longitude / 15)
        today, chance = _day(place, local.date()), random.Random(f"{place.label} {now:%Y-%m-%dT%H}")
        low, high, wet = today["low_c"], today["high_c"], today["precipitation_mm"] > 0
        warmth = cos(2 * pi * (local.hour + local.minute / 60 - 15) / 24)  # 1 at three in the afternoon, -1 at night
        return {
            "observed_at": now,
            "temperature_c": round((high + low) / 2 + warmth * (high - low) / 2, 1),
            "humidity_percent": round((80 if wet else 60) - 12 * warmth + chance.uniform(-6, 6)),
            "wind_kph": round(chance.uniform(3, 28), 1),
            "condition": today["condition"],
            "source": "sample",
        }

    def forecast(self, city: str, start: dt.date, days: Annotated[int, Field(ge=1, le=7)]) -> list[dict[str, Any]]:
        """One entry a day, beginning with `start`.

        Raises:
            NotFound: There is no such city, or more than one; or a day is over or too far ahead.
        """
        place, first = find_city(city), self.clock.now.date()
        last = first + dt.timedelta(days=DAYS_AHEAD)
        if not first <= start <= last - dt.timedelta(days=days - 1):
            raise NotFound(f"There is a forecast for the days from {first} to {last} only.", [str(first)])
        return [_day(place, start + dt.timedelta(days=number)) for number in range(days)]


def _day(city: City, date: dt.date) -> dict[str, Any]:
    chance = random.Random(f"{city.label} {date}")
    mean = _usual(city, date) + chance.uniform(-3, 3)
    swing = chance.uniform(2.5, 5.5)
    wet = chance.uniform(0, 100) < city.wet_percent
    amount = round(0.2 + 20 * chance.random() ** 2, 1) if wet else 0.0
    return {
        "date": date,
        "low_c": round(mean - swing, 1),
        "high_c": round(mean + swing, 1),
        "precipitation_mm": amount,
        "condition": _wet_condition(mean, amount) if wet else _dry_condition(chance),
        "source": "sample",
    }


def _usual(city: City, date: dt.date) -> float:
    """The usual mean in °C: colder far from the equator, and in winter, which is in July where latitude is negative."""
    season = cos(2 * pi * (date.timetuple().tm_yday - 200) / 365)  # 1 in the north's summer
    return 27 - 0.0067 * city.latitude**2 + 0.22 * city.latitude * season + city.warmer_c


def _wet_condition(mean_c: float, amount_mm: float) -> str:
    if mean_c < 1:
        return "snow"
    if amount_mm < 1:
        return "drizzle"
    return "thunderstorm" if mean_c > 22 and amount_mm > 8 else "rain"


def _dry_condition(chance: random.Random) -> str:
    return chance.choices(["clear", "partly_cloudy", "cloudy", "fog"], weights=[8, 7, 6, 1])[0]
