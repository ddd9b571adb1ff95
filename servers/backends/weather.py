"""Weather for servers: current conditions and a daily forecast.

Where it comes from is configuration, read at each call:

- by default the world (`TOOLWORTHY_WORLD`, or one inside this process): sample data, always the same;
- with `TOOLWORTHY_WEATHER=open-meteo` the real Open-Meteo, which needs no key. `OPEN_METEO_URL` and
  `OPEN_METEO_GEOCODING_URL` point it somewhere else.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter

from servers.backends import cities
from servers.backends.cities import City
from servers.backends.errors import NotFound, UpstreamDown, WrongRequest
from servers.backends.upstream import send
from servers.backends.world import ask

Condition: TypeAlias = Literal["clear", "partly_cloudy", "cloudy", "fog", "drizzle", "rain", "snow", "thunderstorm"]
Source: TypeAlias = Literal["sample", "open-meteo"]

MAX_DAYS = 7


@dataclass(frozen=True)
class Conditions:
    """The weather in a city at one moment: °C, percent, km/h. `source` is "sample" when it is made up."""

    city: str
    country_code: str
    observed_at: dt.datetime
    temperature_c: float
    humidity_percent: int
    wind_kph: float
    condition: Condition
    source: Source


@dataclass(frozen=True)
class Day:
    """The forecast for one day, in the city's own calendar: °C and mm."""

    date: dt.date
    low_c: float
    high_c: float
    precipitation_mm: float
    condition: Condition
    source: Source


def current(city: City | str) -> Conditions:
    """The weather in a city now.

    Args:
        city: A city, or what somebody calls it (then as `find_city`).

    Raises:
        NotFound: There is no such city, or more than one.
        UpstreamError: The weather service failed; see `errors`.
    """
    place = city if isinstance(city, City) else find_city(city)
    if _is_real():
        return _open_meteo_current(place)
    answer = ask("weather.current", city=place.label)
    with _sense("The weather service"):
        return _conditions(place, answer)


def forecast(city: City | str, start: dt.date, days: int) -> list[Day]:
    """The weather of the days to come.

    Args:
        city: A city, or what somebody calls it (then as `find_city`).
        start: The first day; the last one may be up to 15 days from today.
        days: How many, 1 to 7.

    Raises:
        WrongRequest: `days` is out of range.
        NotFound: There is no such city, or more than one; or no forecast for those days.
        UpstreamError: The weather service failed; see `errors`.
    """
    if not 1 <= days <= MAX_DAYS:
        raise WrongRequest(f"A forecast is for 1 to {MAX_DAYS} days, not {days}.")
    place = city if isinstance(city, City) else find_city(city)
    if _is_real():
        return _open_meteo_forecast(place, start, days)
    answer = ask("weather.forecast", city=place.label, start=start, days=days)
    with _sense("The weather service"):
        return _DAYS.validate_python(answer)


def find_city(text: str) -> City:
    """Find a city by any common spelling, as `cities.find_city`; with Open-Meteo, all other places of the world too.

    Raises:
        NotFound: There is none, or more than one; `suggestions` has the closest.
        UpstreamError: The geocoding service failed; see `errors`.
    """
    if _is_real() and not cities.search(text):
        place = _open_meteo_place(text)
        if place:
            return place
    return cities.find_city(text)


_CONDITIONS = TypeAdapter(Conditions)
_DAYS = TypeAdapter(list[Day])
_CITY = TypeAdapter(City)


def _conditions(place: City, values: dict[str, Any]) -> Conditions:
    observed_at = dt.datetime.fromisoformat(values["observed_at"])
    where = {"city": place.name, "country_code": place.country_code}
    return _CONDITIONS.validate_python({**where, **values, "observed_at": observed_at})


@contextmanager
def _sense(service: str) -> Iterator[None]:
    """Around code that reads an answer: whatever doesn't fit is the service's fault, not ours."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise UpstreamDown(f"{service} answered nonsense.") from error


# Open-Meteo, as documented at https://open-meteo.com/en/docs and /en/docs/geocoding-api.

_OPEN_METEO = "Open-Meteo"
# WMO weather codes, as far as Open-Meteo uses them.
_WMO: dict[int, Condition] = {
    **dict.fromkeys((0, 1), "clear"),
    2: "partly_cloudy",
    3: "cloudy",
    **dict.fromkeys((45, 48), "fog"),
    **dict.fromkeys((51, 53, 55, 56, 57), "drizzle"),
    **dict.fromkeys((61, 63, 65, 66, 67, 80, 81, 82), "rain"),
    **dict.fromkeys((71, 73, 75, 77, 85, 86), "snow"),
    **dict.fromkeys((95, 96, 99), "thunderstorm"),
}


def _is_real() -> bool:
    choice = os.environ.get("TOOLWORTHY_WEATHER", "")
    if choice not in ("", "open-meteo"):
        raise ValueError(f"TOOLWORTHY_WEATHER must be open-meteo or not set, not {choice!r}.")
    return bool(choice)


def _open_meteo_current(place: City) -> Conditions:
    wanted = "temperature_2m,relative_humidity_2m,wind_speed_10m,weather_code"
    answer = _open_meteo_forecast_api(place, current=wanted)
    with _sense(_OPEN_METEO):
        now = answer["current"]
        values = {
            "observed_at": f"{now['time']}Z",  # in GMT, since no time zone was asked for
            "temperature_c": now["temperature_2m"],
            "humidity_percent": now["relative_humidity_2m"],
            "wind_kph": now["wind_speed_10m"],
            "condition": _WMO[now["weather_code"]],
            "source": "open-meteo",
        }
        return _conditions(place, values)


def _open_meteo_forecast(place: City, start: dt.date, days: int) -> list[Day]:
    columns = ("time", "temperature_2m_min", "temperature_2m_max", "precipitation_sum", "weather_code")
    try:
        last = start + dt.timedelta(days=days - 1)
    except OverflowError as error:
        raise NotFound(f"There is no forecast for {start}.") from error
    period = {"timezone": place.timezone, "start_date": str(start), "end_date": str(last)}
    answer = _open_meteo_forecast_api(place, daily=",".join(columns[1:]), **period)
    with _sense(_OPEN_METEO):
        rows = list(zip(*(answer["daily"][column] for column in columns), strict=True))
        if len(rows) != days:
            raise ValueError(f"{len(rows)} days instead of {days}")
        keys = ("date", "low_c", "high_c", "precipitation_mm")
        return _DAYS.validate_python(
            [dict(zip(keys, row, strict=False), condition=_WMO[row[-1]], source="open-meteo") for row in rows]
        )


def _open_meteo_place(text: str) -> City | None:
    text = text.strip()[: cities.MAX_LENGTH].encode(errors="ignore").decode()  # no half characters in a URL
    name, _, country = (part.strip() for part in text.rpartition(","))
    query = {"name": name, "countryCode": country.upper()} if name and len(country) == 2 else {"name": text}
    url = os.environ.get("OPEN_METEO_GEOCODING_URL") or "https://geocoding-api.open-meteo.com"
    answer = _open_meteo(url, "/v1/search", {**query, "count": 1, "language": "en", "format": "json"})
    with _sense(_OPEN_METEO):
        if not answer.get("results"):
            return None
        best = answer["results"][0]
        return _CITY.validate_python(
            {
                "name": best["name"],
                "country_code": best.get("country_code", ""),
                "country": best.get("country", ""),
                "latitude": best["latitude"],
                "longitude": best["longitude"],
                "timezone": best.get("timezone", "GMT"),
            }
        )


def _open_meteo_forecast_api(place: City, **query: str) -> Any:
    url = os.environ.get("OPEN_METEO_URL") or "https://api.open-meteo.com"
    return _open_meteo(url, "/v1/forecast", {"latitude": place.latitude, "longitude": place.longitude, **query})


def _open_meteo(url: str, path: str, query: Mapping[str, str | float]) -> Any:
    response = send(_OPEN_METEO, url, "GET", path, params=query)
    with _sense(_OPEN_METEO):
        answer = response.json()
        if response.status_code == 400:  # as for a day too far ahead
            raise NotFound(f"{_OPEN_METEO} says: {answer['reason']}")
    if response.is_client_error:
        raise UpstreamDown(f"{_OPEN_METEO} is out of order (status {response.status_code}).")
    return answer
