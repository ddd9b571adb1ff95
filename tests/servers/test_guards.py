"""Guards: each alone under a clock that is moved, then on a server that asks a world which fails."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server.auth import StaticTokenVerifier
from fastmcp.utilities.tests import asgi_client
from mcp_types import ToolAnnotations
from sqlalchemy.exc import OperationalError

from servers.backends import gate as gates
from servers.backends import guards
from servers.backends.errors import NotFound, Refused, UpstreamDown, UpstreamRateLimited, UpstreamTimeout
from servers.backends.gate import Breaker, DailyQuota, Gate
from servers.backends.guards import LoopCap, NotNow, RateLimit
from servers.backends.production import production
from servers.backends.world import Down, RateLimited, Slow, TimesOut, World, ask
from tests.servers.calling import Json, call, fail, listed
from tests.servers.running import ERAS, Mode

FAILED = UpstreamDown("It is out of order.")


@pytest.fixture(autouse=True)
def world(served_world: World) -> World:
    """A world whose clock is also the guards'."""
    return served_world


def waits(function: Callable[..., Any], *arguments: Any) -> int:
    """How many seconds a refusal asks for."""
    with pytest.raises(NotNow) as refused:
        function(*arguments)
    assert isinstance(refused.value.retry_after_seconds, int)
    return refused.value.retry_after_seconds


# --- the rate --------------------------------------------------------------------------------------------------------


def test_a_burst_passes_and_then_one_call_for_each_token_that_comes_back(world: World) -> None:
    limit = RateLimit(per_minute=30, burst=3)
    for _ in range(3):
        limit.take("ana")
    assert waits(limit.take, "ana") == 2
    world.clock.advance(1)
    assert waits(limit.take, "ana") == 1
    world.clock.advance(1)
    limit.take("ana")
    assert waits(limit.take, "ana") == 2


def test_each_caller_has_a_bucket(world: World) -> None:
    limit = RateLimit(per_minute=1, burst=1)
    limit.take("ana")
    limit.take("binh")
    assert waits(limit.take, "ana") == waits(limit.take, "binh") == 60


def test_calls_that_were_refused_cost_nothing_and_a_bucket_never_overflows(world: World) -> None:
    limit = RateLimit(per_minute=60, burst=2)
    limit.take("ana")
    limit.take("ana")
    for _ in range(100):
        waits(limit.take, "ana")
    world.clock.advance(3_600)
    limit.take("ana")
    limit.take("ana")
    waits(limit.take, "ana")


def test_a_clock_that_is_set_back_locks_nobody_out_of_the_rate(world: World) -> None:
    limit = RateLimit(per_minute=60, burst=1)
    limit.take("ana")
    world.clock.now -= timedelta(hours=1)
    assert waits(limit.take, "ana") == 1
    world.clock.advance(1)
    limit.take("ana")


def test_parallel_calls_get_exactly_the_tokens_there_are(world: World) -> None:
    limit = RateLimit(per_minute=60, burst=7)

    def passes(_: int) -> bool:
        try:
            limit.take("ana")
        except NotNow:
            return False
        return True

    with ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(passes, range(200))) == 7


# --- the loop --------------------------------------------------------------------------------------------------------


def test_the_same_call_once_too_often_is_refused_until_the_window_has_passed(world: World) -> None:
    cap = LoopCap(calls=5, seconds=60)
    for _ in range(5):
        cap.count("ana", "search X")
        world.clock.advance(10)
    with pytest.raises(Refused, match=r"5 times within 60 s .* change the arguments"):
        cap.count("ana", "search X")
    cap.count("ana", "search Y")
    cap.count("binh", "search X")
    world.clock.advance(9)
    with pytest.raises(Refused):
        cap.count("ana", "search X")
    world.clock.advance(1)
    cap.count("ana", "search X")


def test_a_call_that_is_forgotten_is_not_counted(world: World) -> None:
    cap = LoopCap(calls=2)
    cap.count("ana", "search X")
    cap.forget("ana", cap.count("ana", "search X"))
    cap.count("ana", "search X")
    with pytest.raises(Refused):
        cap.count("ana", "search X")


def test_a_clock_that_is_set_back_does_not_prolong_the_cap(world: World) -> None:
    cap = LoopCap(calls=1)
    cap.count("ana", "search X")
    world.clock.now -= timedelta(hours=1)
    cap.count("ana", "search X")


# --- the breaker -----------------------------------------------------------------------------------------------------


def fails(breaker: Breaker, *errors: BaseException | None) -> None:
    for error in errors:
        breaker.settle(breaker.admit("It"), error)


def test_it_opens_after_failures_in_a_row_only(world: World) -> None:
    breaker = Breaker(failures=3, open_seconds=30)
    fails(
        breaker, FAILED, UpstreamTimeout("Too late."), None, FAILED, FAILED, NotFound("There is none."), FAILED, FAILED
    )
    assert breaker.state == "closed"
    fails(breaker, FAILED)
    assert breaker.state == "open"
    assert waits(breaker.admit, "It") == 30


def test_half_open_lets_one_through_and_its_answer_closes(world: World) -> None:
    breaker = Breaker(failures=1, open_seconds=30)
    fails(breaker, FAILED)
    world.clock.advance(29)
    assert (breaker.state, waits(breaker.admit, "It")) == ("open", 1)
    world.clock.advance(1)
    assert breaker.state == "half-open"
    assert breaker.admit("It") is True
    assert waits(breaker.admit, "It") == 5  # by then the one that tries has its answer, or the time limit
    breaker.settle(True)
    assert breaker.state == "closed" and breaker.admit("It") is False


def test_a_try_that_fails_opens_it_again_for_the_whole_time(world: World) -> None:
    breaker = Breaker(failures=3, open_seconds=30)
    fails(breaker, FAILED, FAILED, FAILED)
    world.clock.advance(30)
    fails(breaker, FAILED)
    assert waits(breaker.admit, "It") == 30


def test_an_error_of_our_own_says_nothing_and_another_call_may_try(world: World) -> None:
    breaker = Breaker(failures=1, open_seconds=30)
    fails(breaker, KeyError("a bug"))
    assert breaker.state == "closed"
    fails(breaker, FAILED)
    world.clock.advance(30)
    fails(breaker, KeyError("a bug"))
    assert breaker.state == "half-open"
    breaker.release(breaker.admit("It"))
    assert breaker.state == "half-open" and breaker.admit("It") is True


def test_calls_that_passed_before_it_opened_change_nothing_when_they_end(world: World) -> None:
    breaker = Breaker(failures=2, open_seconds=30)
    early = [breaker.admit("It") for _ in range(4)]
    breaker.settle(early[0], FAILED)
    breaker.settle(early[1], FAILED)
    world.clock.advance(20)
    breaker.settle(early[2], FAILED)
    breaker.settle(early[3])
    assert waits(breaker.admit, "It") == 10


@pytest.mark.parametrize(("said", "pause"), [(7, 7), (None, 30), (10**9, 600), (0, 0)])
def test_a_429_opens_it_at_once_for_as_long_as_it_says(world: World, said: int | None, pause: int) -> None:
    breaker = Breaker(failures=3, open_seconds=30)
    fails(breaker, UpstreamRateLimited("Too many.", said))
    if pause:
        assert waits(breaker.admit, "It") == pause
    world.clock.advance(pause)
    assert breaker.admit("It") is True


def test_a_try_after_a_429_that_fails_opens_it_like_any_other(world: World) -> None:
    breaker = Breaker(failures=3, open_seconds=30)
    fails(breaker, UpstreamRateLimited("Too many.", 7))
    world.clock.advance(7)
    fails(breaker, FAILED)
    assert waits(breaker.admit, "It") == 30


def test_a_clock_that_is_set_back_lets_one_try(world: World) -> None:
    breaker = Breaker(failures=1)
    fails(breaker, FAILED)
    world.clock.now -= timedelta(hours=1)
    assert breaker.admit("It") is True


# --- the quota -------------------------------------------------------------------------------------------------------


def left(quota: DailyQuota, who: str = "ana", service: str = "tides") -> int:
    return quota.take(who, service)[1]


def test_a_quota_is_for_a_caller_a_service_and_a_day(database: str, world: World) -> None:
    quota = DailyQuota(calls=2, contact="ops@example.org")
    assert [left(quota), left(quota)] == [1, 0]
    for _ in range(3):
        with pytest.raises(Refused, match=r"2 results a day .* 2026-12-01T00:00:00\+00:00\. .* ask ops@example\.org"):
            left(quota)
    assert left(quota, who="binh") == 1 and left(quota, service="winds") == 1
    world.clock.advance(12 * 3_600 - 1)
    with pytest.raises(Refused):
        left(quota)
    world.clock.advance(1)
    assert left(quota) == 1


def test_what_is_given_back_can_be_used_again_on_its_day(database: str, world: World) -> None:
    quota = DailyQuota(calls=1)
    day, _ = quota.take("ana", "tides")
    quota.give_back(day, "ana", "tides")
    assert left(quota) == 0
    world.clock.advance(86_400)
    assert left(quota) == 0
    quota.give_back(day, "ana", "tides")  # yesterday's: today's stays used up
    with pytest.raises(Refused):
        left(quota)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "x", "9" * 8, "९", " 5"])
@pytest.mark.parametrize("name", ["TOOLWORTHY_RATE", "TOOLWORTHY_QUOTA", "TOOLWORTHY_LOOP_CAP"])
def test_a_number_that_is_none_is_said(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(ValueError, match=f"^{name} must be a whole number from 1 to 9,999,999, not "):
        guards.check()


# --- on a server -----------------------------------------------------------------------------------------------------

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True)
CITIES = ("Oslo", "Hanoi", "Lima", "Suva", "Nuuk", "Cairo", "Lagos", "Tokyo", "Seoul", "Perth")


def server(per_minute: int = 6_000, calls: int = 1_000, quota: int = 1_000, failures: int = 3) -> FastMCP:
    """A server that asks for the weather: any number may be set low."""
    mcp = production("tides", "For tests.", RateLimit(per_minute, burst=per_minute), LoopCap(calls))
    gate = Gate("the weather service", Breaker(failures, open_seconds=30), DailyQuota(quota))

    @mcp.tool(annotations=READS)
    def get_weather(city: str) -> Json:
        with gate.asking("weather.current"):
            return ask("weather.current", city=city)

    return mcp


def asked(world: World) -> int:
    return sum(entry.operation == "weather.current" for entry in world.ledger)


def at_once(mcp: FastMCP, cities: Iterable[str]) -> Counter[str]:
    """Outcomes of calls that are made together: "done", or the error's category."""

    async def run() -> Counter[str]:
        async with Client(mcp) as client:
            results = await asyncio.gather(*(client.call_tool_mcp("get_weather", {"city": each}) for each in cities))
        return Counter((each.structured_content or {}).get("errorCategory", "done") for each in results)

    return asyncio.run(run())


both_databases = pytest.mark.usefixtures("database")


def one_database(test: Any) -> Any:
    """For what isn't about the quota, SQLite is enough."""
    return pytest.mark.usefixtures("database")(pytest.mark.parametrize("database", ["sqlite"], indirect=True)(test))


@one_database
@pytest.mark.parametrize("mode", ERAS)
def test_over_the_rate_the_caller_reads_when_to_come_back_and_nothing_was_asked(world: World, mode: Mode) -> None:
    mcp = server(per_minute=1)
    call(mcp, "get_weather", {"city": "Oslo"}, mode)
    failure = fail(mcp, "get_weather", {"city": "Lima"}, mode)
    assert (failure["errorCategory"], failure["retryAfterSeconds"]) == ("transient", 60)
    assert "in 60 s, unchanged" in failure["message"]
    assert asked(world) == 1
    world.clock.advance(60)
    call(mcp, "get_weather", {"city": "Lima"}, mode)


@one_database
def test_only_calls_count(world: World) -> None:
    mcp = server(per_minute=1, calls=1)
    for _ in range(20):
        listed(mcp)
    call(mcp, "get_weather", {"city": "Oslo"})


@one_database
@pytest.mark.parametrize("mode", ERAS)
def test_a_loop_is_told_that_the_answer_will_not_change(world: World, mode: Mode) -> None:
    mcp = server(calls=5)
    for _ in range(5):
        call(mcp, "get_weather", {"city": "Oslo"}, mode)
    failure = fail(mcp, "get_weather", {"city": "Oslo"}, mode)
    assert failure["errorCategory"] == "business" and "change the arguments" in failure["message"]
    assert asked(world) == 5
    call(mcp, "get_weather", {"city": "Lima"}, mode)


@one_database
def test_a_loop_of_refused_arguments_is_a_loop_too(world: World) -> None:
    mcp = server(calls=2)
    categories = [fail(mcp, "get_weather", {"town": "Oslo"})["errorCategory"] for _ in range(3)]
    assert categories == ["validation", "validation", "business"]


@one_database
def test_repeating_what_failed_outside_is_no_loop(world: World) -> None:
    mcp = server(calls=1, failures=100)
    world.schedule("weather.current", Down(), times=5)
    assert [fail(mcp, "get_weather", {"city": "Oslo"})["errorCategory"] for _ in range(5)] == ["transient"] * 5
    call(mcp, "get_weather", {"city": "Oslo"})
    assert fail(mcp, "get_weather", {"city": "Oslo"})["errorCategory"] == "business"


@one_database
def test_a_loop_in_parallel_is_a_loop(world: World) -> None:
    assert at_once(server(calls=5), ["Oslo"] * 30) == {"done": 5, "business": 25}
    assert asked(world) == 5


@one_database
@pytest.mark.parametrize("fault", [Down(), TimesOut(), TimesOut(after_effect=True), Slow(60)])
def test_failures_in_a_row_open_the_breaker_and_nothing_is_asked_until_one_tries(
    world: World, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.2")
    mcp = server()
    world.schedule("weather.current", fault, times=4)
    for _ in range(3):
        assert "retryAfterSeconds" not in fail(mcp, "get_weather", {"city": "Oslo"})
    failure = fail(mcp, "get_weather", {"city": "Oslo"})
    assert (failure["errorCategory"], failure["retryAfterSeconds"]) == ("transient", 30)
    assert asked(world) == 3

    world.clock.advance(30)
    fail(mcp, "get_weather", {"city": "Oslo"})  # tries, and fails
    assert fail(mcp, "get_weather", {"city": "Oslo"})["retryAfterSeconds"] == 30
    assert asked(world) == 4

    world.clock.advance(30)
    call(mcp, "get_weather", {"city": "Oslo"})
    call(mcp, "get_weather", {"city": "Oslo"})
    assert asked(world) == 6


@one_database
def test_of_many_calls_at_once_one_tries(world: World) -> None:
    mcp = server()
    world.schedule("weather.current", Down(), times=3)
    world.schedule("weather.current", Slow(0.5))
    for _ in range(3):
        fail(mcp, "get_weather", {"city": "Oslo"})
    world.clock.advance(30)
    assert at_once(mcp, CITIES) == {"done": 1, "transient": 9}
    assert asked(world) == 4
    assert at_once(mcp, CITIES) == {"done": 10}


@one_database
def test_a_429_is_passed_on_and_spares_the_upstream_for_all_callers(world: World) -> None:
    mcp = server()
    world.schedule("weather.current", RateLimited(17))
    assert fail(mcp, "get_weather", {"city": "Oslo"})["retryAfterSeconds"] == 17
    world.clock.advance(5)
    assert fail(mcp, "get_weather", {"city": "Lima"})["retryAfterSeconds"] == 12
    assert asked(world) == 1
    world.clock.advance(12)
    call(mcp, "get_weather", {"city": "Lima"})


@one_database
def test_a_no_from_the_upstream_opens_nothing_and_costs_nothing(world: World) -> None:
    mcp = server(quota=1)
    for _ in range(5):
        assert fail(mcp, "get_weather", {"city": "Atlantis"})["errorCategory"] == "validation"
    call(mcp, "get_weather", {"city": "Oslo"})


@both_databases
def test_only_results_use_up_the_quota(world: World) -> None:
    mcp = server(per_minute=9, calls=1, quota=2)
    world.schedule("weather.current", Down(), times=3)
    for _ in range(3):
        fail(mcp, "get_weather", {"city": "Oslo"})  # fails outside
    fail(mcp, "get_weather", {"city": "Oslo"})  # the breaker
    fail(mcp, "get_weather", {"city": 5})  # the schema
    world.clock.advance(30)
    call(mcp, "get_weather", {"city": "Oslo"})
    fail(mcp, "get_weather", {"city": "Oslo"})  # the loop
    call(mcp, "get_weather", {"city": "Lima"})
    failure = fail(mcp, "get_weather", {"city": "Suva"})
    assert failure["errorCategory"] == "business" and "starts anew at 2026-12-01" in failure["message"]
    assert [entry.outcome for entry in world.ledger] == ["down"] * 3 + ["answered"] * 2


@both_databases
def test_of_fifty_calls_at_once_as_many_are_asked_as_the_quota_has(world: World) -> None:
    assert at_once(server(quota=10), CITIES * 5) == {"done": 10, "business": 40}
    assert asked(world) == 10


@both_databases
def test_a_try_that_the_quota_refuses_leaves_the_breaker_to_the_next(world: World) -> None:
    gate = Gate("it", Breaker(failures=1, open_seconds=30), DailyQuota(1))
    with gate.asking("x"):
        pass
    fails(gate.breaker, FAILED)
    world.clock.advance(30)
    for _ in range(2):
        with pytest.raises(Refused), gate.asking("x"):
            raise AssertionError("asked")
    assert gate.breaker.state == "half-open"


@one_database
def test_without_its_database_nothing_is_asked_and_the_breaker_stays_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise OperationalError("insert", {}, Exception("disk full"))

    mcp = server(failures=1)
    with monkeypatch.context() as failing:
        failing.setattr(gates, "insert_new", broken)
        for _ in range(3):
            assert "database" in fail(mcp, "get_weather", {"city": "Oslo"})["message"]
    assert asked(world) == 0
    call(mcp, "get_weather", {"city": "Oslo"})


@one_database
def test_a_quota_that_can_not_be_given_back_does_not_hide_what_went_wrong(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise UpstreamDown("The database can't be reached.")

    gate = Gate("it", Breaker(failures=1), DailyQuota(5))
    monkeypatch.setattr(DailyQuota, "give_back", broken)
    with pytest.raises(UpstreamTimeout), gate.asking("x"):
        raise UpstreamTimeout("Too late.")
    assert gate.breaker.state == "open"


@one_database
def test_callers_with_a_login_have_allowances_of_their_own(world: World) -> None:
    mcp = server(quota=1)
    mcp.auth = StaticTokenVerifier({name: {"client_id": name, "scopes": []} for name in ("ana", "binh")})

    async def run(name: str) -> list[bool]:
        async with asgi_client(mcp, auth=name) as client:
            return [(await client.call_tool_mcp("get_weather", {"city": each})).is_error for each in ("Oslo", "Lima")]

    assert [asyncio.run(run(name)) for name in ("ana", "binh")] == [[False, True], [False, True]]
    assert asked(world) == 2
