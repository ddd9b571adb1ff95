"""A world over its socket and inside the process: operations, faults, ledger, and nothing left behind."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from servers.backends.errors import (
    BackendError,
    NotFound,
    Refused,
    UpstreamDown,
    UpstreamRateLimited,
    UpstreamTimeout,
    WrongRequest,
)
from servers.backends.world import (
    Clock,
    Down,
    Operation,
    RateLimited,
    Slow,
    TimesOut,
    Unchanged,
    World,
    ask,
    asking,
    local_world,
)

ROOT = Path(__file__).parents[1]


def till(clock: Clock) -> Mapping[str, Operation]:
    """A till, small enough to know by heart: it can be paid into, looked at and closed."""
    paid: list[int] = []
    closed: list[datetime] = []

    def pay(amount: int, note: Any = None) -> dict[str, Any]:
        if closed:
            raise Refused("The till is closed.", ["another till"])
        if note:
            note["seen"] = True  # what an operation does to its arguments is its own business
        number = len(paid) + 1
        time.sleep(0.001)  # long enough for another thread to come between
        paid.append(amount)
        return {"number": number, "total": sum(paid)}

    def total() -> int:
        return sum(paid)

    def receipt(number: int) -> dict[str, Any]:
        if not 1 <= number <= len(paid):
            raise NotFound(f"There is no receipt {number}.", [str(len(paid))])
        return {"number": number, "amount": paid[number - 1]}

    def close() -> Any:
        if closed:
            return Unchanged("closed before")
        closed.append(clock.now)
        return closed[0]

    return {
        "till.pay": Operation(pay, effect=True),
        "till.total": Operation(total),
        "till.receipt": Operation(receipt),
        "till.close": Operation(close, effect=True),
    }


@pytest.fixture
def world() -> World:
    return World(till)


@pytest.fixture
def served(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with world.serve() as address:
        monkeypatch.setenv("TOOLWORTHY_WORLD", address)
        yield world


@pytest.fixture(params=["local", "served"])
def asked(request: pytest.FixtureRequest, world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The world that `ask` acts on: once inside this process, once over its socket. Nobody can tell the difference."""
    monkeypatch.delenv("TOOLWORTHY_WORLD", raising=False)
    if request.param == "local":
        monkeypatch.setattr(asking, "local_world", world)
        yield world
    else:
        yield request.getfixturevalue("served")


def refusal(call: Callable[[], Any]) -> BackendError:
    with pytest.raises(BackendError) as caught:
        call()
    return caught.value


def post(address: str, path: str, content: Any) -> httpx2.Response:
    transport = httpx2.HTTPTransport(uds=address.removeprefix("unix:"))
    with httpx2.Client(transport=transport, base_url="http://localhost") as client:
        return client.post(path, content=content)


# --- asking ----------------------------------------------------------------------------------------------------------


def test_an_answer_arrives_and_the_ledger_has_it(asked: World) -> None:
    assert ask("till.pay", amount=5) == {"number": 1, "total": 5}
    assert ask("till.total") == 5

    pay, total = asked.ledger
    assert (pay.sequence, pay.operation, pay.arguments, pay.effect, pay.outcome) == (
        1,
        "till.pay",
        {"amount": 5},
        True,
        "answered",
    )
    assert pay.answer == {"number": 1, "total": 5}
    assert (total.sequence, total.effect, total.answer) == (2, False, 5)


def test_the_clock_stands_still_until_it_is_advanced(asked: World) -> None:
    ask("till.total")
    asked.clock.advance(90)
    assert ask("till.close") == "2026-11-30T12:01:30Z"

    assert [entry.time for entry in asked.ledger] == [
        datetime(2026, 11, 30, 12, 0, tzinfo=UTC),
        datetime(2026, 11, 30, 12, 1, 30, tzinfo=UTC),
    ]
    with pytest.raises(ValueError, match="back"):
        asked.clock.advance(-1)


def test_a_refusal_comes_out_as_its_own_error_and_changes_nothing(asked: World) -> None:
    error = refusal(lambda: ask("till.receipt", number=3))
    assert type(error) is NotFound
    assert (str(error), error.suggestions) == ("There is no receipt 3.", ("0",))

    ask("till.close")
    error = refusal(lambda: ask("till.pay", amount=5))
    assert type(error) is Refused
    assert (str(error), error.suggestions) == ("The till is closed.", ("another till",))
    assert [(entry.outcome, entry.effect) for entry in asked.ledger] == [
        ("refused", False),
        ("answered", True),
        ("refused", False),
    ]


def test_an_operation_can_say_that_it_changed_nothing(asked: World) -> None:
    ask("till.close")
    assert ask("till.close") == "closed before"
    assert [entry.effect for entry in asked.ledger] == [True, False]


@pytest.mark.parametrize(
    ("operation", "arguments", "words"),
    [
        ("till.pai", {}, "no operation 'till.pai'"),
        ("../ledger", {}, "no operation"),
        ("", {}, "no operation"),
        ("till.pay", {}, "till.pay: amount: Missing required argument"),
        ("till.pay", {"amount": "much"}, "till.pay: amount: Input should be a valid integer"),
        ("till.pay", {"amount": 1, "tip": 2}, "till.pay: tip: Unexpected keyword argument"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(
    asked: World, operation: str, arguments: dict[str, Any], words: str
) -> None:
    error = refusal(lambda: ask(operation, **arguments))
    assert type(error) is WrongRequest
    assert words in str(error)
    assert [(entry.outcome, entry.effect) for entry in asked.ledger] == [("wrong request", False)]


@pytest.mark.parametrize("value", [object(), "\ud800", "x" * 1_000_000], ids=["object", "surrogate", "long"])
def test_arguments_must_be_json(asked: World, value: Any) -> None:
    assert type(refusal(lambda: ask("till.pay", amount=value))) is WrongRequest
    assert asked.ledger == ()


def test_without_a_world_to_ask_there_is_a_local_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLWORTHY_WORLD", raising=False)
    before = len(local_world.ledger)
    assert ask("weather.current", city="Oslo")["source"] == "sample"
    assert [entry.operation for entry in local_world.ledger[before:]] == ["weather.current"]


def test_a_world_offers_all_services_unless_told_which() -> None:
    assert "weather.current" in World().operations
    assert set(World(till).operations) == {"clock.now", "till.pay", "till.total", "till.receipt", "till.close"}


def test_looking_at_the_clock_leaves_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    with world.serve() as address:
        monkeypatch.setenv("TOOLWORTHY_WORLD", address)
        before = ask("clock.now")
        world.clock.advance(90)
        assert datetime.fromisoformat(ask("clock.now")) - datetime.fromisoformat(before) == timedelta(seconds=90)
    assert world.ledger == ()


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "error", "outcome", "effect", "answer"),
    [
        (TimesOut(), UpstreamTimeout, "no answer", False, None),
        (TimesOut(after_effect=True), UpstreamTimeout, "answer lost", True, {"number": 1, "total": 5}),
        (RateLimited(7), UpstreamRateLimited, "rate limited", False, None),
        (Down(), UpstreamDown, "down", False, None),
        (Slow(60), UpstreamTimeout, "answered", True, {"number": 1, "total": 5}),
    ],
    ids=["before", "after", "429", "503", "slow"],
)
def test_a_fault_hits_one_call_and_only_one(
    asked: World,
    monkeypatch: pytest.MonkeyPatch,
    fault: Any,
    error: type[BackendError],
    outcome: str,
    effect: bool,
    answer: Any,
) -> None:
    asked.schedule("till.pay", fault)
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.2")
    assert type(refusal(lambda: ask("till.pay", amount=5))) is error
    (entry,) = asked.ledger
    assert (entry.outcome, entry.effect, entry.answer) == (outcome, effect, answer)

    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "5")
    assert ask("till.total") == (5 if effect else 0)
    assert ask("till.pay", amount=1)["total"] == (6 if effect else 1)


def test_errors_say_the_same_over_a_socket_and_inside(
    served: World, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.2")
    texts = []
    for place in ("served", "local"):
        if place == "local":
            monkeypatch.delenv("TOOLWORTHY_WORLD")
            monkeypatch.setattr(asking, "local_world", world)
        for fault in (TimesOut(), RateLimited(7), Down()):
            world.schedule("till.total", fault)
            error = refusal(lambda: ask("till.total"))
            texts.append((str(error), getattr(error, "retry_after_seconds", None)))
    assert texts[:3] == texts[3:]
    assert texts[0] == ("till.total didn't answer within 0.2 s.", None)
    assert texts[1][1] == 7


def test_a_slow_operation_answers_in_the_end(asked: World) -> None:
    asked.schedule("till.total", Slow(0.15))
    begun = time.monotonic()
    assert ask("till.total") == 0
    assert time.monotonic() - begun >= 0.15


def test_faults_come_in_the_order_they_were_scheduled_in(asked: World) -> None:
    asked.schedule("till.total", Down(), times=2)
    asked.schedule("till.total", RateLimited())
    asked.schedule("till.pay", Down())
    outcomes = [type(refusal(lambda: ask("till.total"))) for _ in range(3)]
    assert outcomes == [UpstreamDown, UpstreamDown, UpstreamRateLimited]
    assert ask("till.total") == 0


@pytest.mark.parametrize(("operation", "times"), [("till.pai", 1), ("till.pay", 0)])
def test_a_fault_that_could_never_happen_is_refused(world: World, operation: str, times: int) -> None:
    with pytest.raises(ValueError, match="Can't schedule"):
        world.schedule(operation, Down(), times)


# --- the ledger only grows -------------------------------------------------------------------------------------------


def test_the_ledger_can_not_be_changed_by_what_goes_in_or_comes_out(asked: World) -> None:
    note: dict[str, Any] = {"for": "rent"}
    answer = ask("till.pay", amount=5, note=note)
    answer["total"] = note["for"] = "nothing"
    (entry,) = asked.ledger
    assert entry.arguments == {"amount": 5, "note": {"for": "rent"}}
    assert entry.answer == {"number": 1, "total": 5}
    with pytest.raises(FrozenInstanceError):
        entry.effect = False  # type: ignore[misc]
    assert isinstance(asked.ledger, tuple)


def test_over_http_there_is_nothing_but_asking(served: World) -> None:
    ask("till.pay", amount=5)
    ledger = served.ledger
    transport = httpx2.HTTPTransport(uds=os.environ["TOOLWORTHY_WORLD"].removeprefix("unix:"))
    with httpx2.Client(transport=transport, base_url="http://localhost") as client:
        for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS"):
            for path in ("/", "/ledger", "/schedule", "/clock", "/till.pay"):
                assert client.request(method, path).status_code == 405, (method, path)
    assert served.ledger == ledger


@pytest.mark.parametrize(
    ("path", "content", "status", "entries"),
    [
        ("/till.pay", b'{"amount": 5}', 200, 1),
        ("/till.pay", b'{"amount": "five"}', 422, 1),
        ("/ledger", b"{}", 404, 1),
        ("/till.pay", b"[5]", 422, 0),
        ("/till.pay", b"", 422, 0),
        ("/till.pay", b'{"amount": NaN}', 422, 0),
        ("/till.pay", b"\xff", 422, 0),
        ("/till.pay", b"[" * 100_000, 422, 0),
        ("/till.pay", b'{"amount": ' + b"9" * 5_000 + b"}", 422, None),
        ("/till.pay", b" " * 2_000_000, 422, 0),
    ],
    ids=["good", "bad value", "unknown", "list", "empty", "nan", "no utf-8", "deep", "huge number", "too big"],
)
def test_what_comes_over_http_is_answered_with_a_status_and_a_sentence(
    served: World, path: str, content: bytes, status: int, entries: int | None
) -> None:
    response = post(os.environ["TOOLWORTHY_WORLD"], path, content)
    assert response.status_code == status
    if status != 200:
        assert response.json()["message"].endswith(".")
    assert entries is None or len(served.ledger) == entries
    assert ask("till.total") in (0, 5)


def test_whoever_sends_nonsense_is_not_heard_of(served: World, capfd: pytest.CaptureFixture[str]) -> None:
    path = os.environ["TOOLWORTHY_WORLD"].removeprefix("unix:")
    for sent in (b"\x16\x03\x01 no http", b"POST /till.pay HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n{", b""):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            connection.sendall(sent)
    assert ask("till.total") == 0
    assert len(served.ledger) == 1
    assert capfd.readouterr() == ("", "")


def test_an_error_of_a_service_s_own_kind_arrives_as_the_kind_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Empty(Refused):
        """The till has no money."""

    def pay_out() -> None:
        raise Empty("The till is empty.")

    with World(lambda clock: {"till.pay_out": Operation(pay_out, effect=True)}).serve() as address:
        monkeypatch.setenv("TOOLWORTHY_WORLD", address)
        error = refusal(lambda: ask("till.pay_out"))
    assert (type(error), str(error)) == (Refused, "The till is empty.")


def test_a_world_that_was_never_closed_does_not_keep_its_process(short_folder: Path) -> None:
    code = """if True:
        import os
        from servers.backends.world import World, ask
        serving = World().serve()
        os.environ["TOOLWORTHY_WORLD"] = serving.__enter__()
        print(ask("weather.current", city="Oslo")["source"])
    """
    environment = {**os.environ, "TMPDIR": str(short_folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=20, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "sample\n", "")
    assert list(short_folder.iterdir()) == []


def test_another_process_can_ask(served: World) -> None:
    code = "from servers.backends.world import ask; print(ask('till.pay', amount=5))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "{'number': 1, 'total': 5}\n", "")
    assert [entry.arguments for entry in served.ledger] == [{"amount": 5}]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_share_its_parents_connection(served: World) -> None:
    ask("till.total")
    code = """if True:
        import os
        from servers.backends.world import ask
        ask("till.total")
        child = os.fork()
        answers = [ask("till.receipt", number=1 + bool(child))["amount"] for _ in range(50)]
        right = set(answers) == {2 if child else 1}
        if child:
            assert os.waitpid(child, 0)[1] == 0
        os._exit(0 if right else 1)
    """
    ask("till.pay", amount=1)
    ask("till.pay", amount=2)
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=os.environ, timeout=30, check=True)
    assert len(served.ledger) == 104


def test_concurrent_asks_each_get_their_own_answer(asked: World) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask("till.pay", amount=1), range(100)))
    assert sorted(answer["number"] for answer in answers) == list(range(1, 101))
    assert [entry.sequence for entry in asked.ledger] == list(range(1, 101))
    assert [entry.answer["number"] for entry in asked.ledger] == list(range(1, 101))


# --- nothing stays ---------------------------------------------------------------------------------------------------


def _files() -> set[str]:
    links = Path("/proc/self/fd")
    return {os.readlink(link) for link in links.iterdir() if link.is_symlink()} if links.exists() else set()


@contextmanager
def nothing_left_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    threads, files = set(threading.enumerate()), _files()
    yield
    assert set(threading.enumerate()) <= threads
    assert {name for name in _files() - files if name.startswith("socket:")} == set()
    assert list(folder.iterdir()) == []


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """pytest's own temporary folders can be too deep for a Unix socket."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        yield Path(folder)


def test_a_served_world_leaves_nothing_behind(
    world: World, short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with nothing_left_behind(short_folder, monkeypatch):
        for _ in range(3):
            with world.serve() as address:
                assert (Path(address.removeprefix("unix:")).parent.stat().st_mode & 0o777) == 0o700
                monkeypatch.setenv("TOOLWORTHY_WORLD", address)
                ask("till.pay", amount=5)
        with pytest.raises(KeyError), world.serve():
            raise KeyError
    assert len(world.ledger) == 3


def test_closing_does_not_wait_for_answers_that_never_come(
    world: World, short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[BackendError] = []
    with nothing_left_behind(short_folder, monkeypatch):
        with world.serve() as address:
            monkeypatch.setenv("TOOLWORTHY_WORLD", address)
            monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "60")
            world.schedule("till.pay", TimesOut(after_effect=True))
            world.schedule("till.total", Slow(60))
            askers = [
                threading.Thread(target=lambda: errors.append(refusal(lambda: ask("till.pay", amount=5)))),
                threading.Thread(target=lambda: errors.append(refusal(lambda: ask("till.total")))),
            ]
            for asker in askers:
                asker.start()
            while len(world.ledger) < 2:
                time.sleep(0.005)
            begun = time.monotonic()
        for asker in askers:
            asker.join()
        assert time.monotonic() - begun < 2
    assert [type(error) for error in errors] == [UpstreamDown, UpstreamDown]


def test_a_world_can_live_in_a_folder_that_somebody_else_chose(
    world: World, short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world.serve(short_folder) as address, world.serve(short_folder) as second:
        assert {Path(each.removeprefix("unix:")).parent for each in (address, second)} == {short_folder}
        for each in (address, second):
            monkeypatch.setenv("TOOLWORTHY_WORLD", each)
            ask("till.pay", amount=5)
    assert list(short_folder.iterdir()) == []
    assert len(world.ledger) == 2


def test_where_no_unix_socket_fits_it_is_a_loopback_port_with_a_secret(
    world: World, short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = short_folder / ("d" * 120)
    deep.mkdir()
    with nothing_left_behind(deep, monkeypatch), world.serve() as address:
        assert address.startswith("http://127.0.0.1:")
        # A proxy is none of a loopback port's business.
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("TOOLWORTHY_WORLD", address)
        assert ask("till.pay", amount=5)["total"] == 5

        port = address.split("/")[2]
        for path in ("/till.pay", "/x/till.pay", "//till.pay"):
            with httpx2.Client(trust_env=False) as client:
                assert client.post(f"http://{port}{path}", content=b'{"amount": 5}').status_code == 404
    assert len(world.ledger) == 1


def test_a_world_that_is_gone_is_down(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with world.serve() as address:
        monkeypatch.setenv("TOOLWORTHY_WORLD", address)
        ask("till.total")
    error = refusal(lambda: ask("till.total"))
    assert type(error) is UpstreamDown
    assert str(error) == "till.total can't be reached."


@pytest.mark.parametrize("address", ["unix:", "/tmp/socket", "ftp://host", "http:"])
def test_an_address_of_another_form_is_named(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWORTHY_WORLD", address)
    with pytest.raises(ValueError, match="An address begins with"):
        ask("till.total")


@pytest.mark.parametrize("limit", ["soon", "0", "-1", "nan", "inf"])
def test_a_time_limit_must_be_a_number_of_seconds(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", limit)
    with pytest.raises(ValueError, match="TOOLWORTHY_TIME_LIMIT"):
        ask("weather.current", city="Oslo")


def test_answers_that_are_no_world_are_nonsense(monkeypatch: pytest.MonkeyPatch) -> None:
    def handle(connection: Any, reply: bytes) -> None:
        with connection:
            connection.recv(65536)
            connection.sendall(reply)

    for reply in (
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnope",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /\r\n\r\n",
        b"not http at all\r\n\r\n",
        b"",
    ):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            monkeypatch.setenv("TOOLWORTHY_WORLD", f"http://127.0.0.1:{listener.getsockname()[1]}")
            thread = threading.Thread(target=lambda server=listener, r=reply: handle(server.accept()[0], r))
            thread.start()
            assert type(refusal(lambda: ask("till.total"))) is UpstreamDown
            thread.join()


def test_entries_are_plain_enough_for_json(asked: World) -> None:
    ask("till.pay", amount=5)
    (entry,) = asked.ledger
    assert json.loads(json.dumps({**vars(entry), "time": entry.time.isoformat()}))["arguments"] == {"amount": 5}
