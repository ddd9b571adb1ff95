"""E-mail: previewed without effect, sent at most once for each key, and never a guess about what became of it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from fastmcp import Client
from fastmcp.client.transports import PythonStdioTransport
from pydantic_core import to_json

from servers.backends import audit, keys, mail, smtp, storage
from servers.backends.world import Down, RateLimited, Slow, TimesOut, World
from servers.mailer import mcp
from tests.servers.calling import Json, call, fail, listed
from tests.servers.post_office import PASSWORD, STAGES, USER, PostOffice, certificate_for_this_machine, post_office
from tests.servers.running import ERAS, SERVERS, Mode, environment, http_server, run_server

FILE = SERVERS / "mailer.py"
MAIL: Json = {"to": "ana@example.org", "subject": "Order 4711", "body": "It left.", "idempotency_key": "order-4711"}
SEND = MAIL | {"dry_run": False}
SENDER = "shop@acme.example"

pytestmark = pytest.mark.usefixtures("database")
SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
BOTH_WAYS = pytest.mark.parametrize("dry_run", [True, False])


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOOLWORTHY_MAIL", "TOOLWORTHY_MAIL_FROM", "TOOLWORTHY_MAIL_DOMAINS", "TOOLWORTHY_WORLD"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def office(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostOffice]:
    with post_office() as office:
        monkeypatch.setenv("TOOLWORTHY_MAIL", f"smtp://127.0.0.1:{office.port}")
        monkeypatch.setenv("TOOLWORTHY_MAIL_FROM", SENDER)
        yield office


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.2")


def stored() -> dict[str, list[str]]:
    """What the server remembers, but for its audit log."""
    with storage.reading() as connection:
        tables = [storage.metadata.tables[name] for name in ("emails", "idempotency_keys")]
        return {table.name: sorted(map(str, connection.execute(sa.select(table)))) for table in tables}


def mailbox(world: World) -> list[str]:
    return [entry.arguments["to"] for entry in world.ledger if entry.effect]


def statuses() -> list[str]:
    return [each["status"] for each in call(mcp, "list_sent", {})["items"]]


NOTHING: dict[str, list[str]] = {"emails": [], "idempotency_keys": []}


# --- preview ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
def test_a_preview_has_the_fields_of_the_real_result_and_no_effect(served_world: World, mode: Mode) -> None:
    preview = call(mcp, "send_email", MAIL, mode)
    assert served_world.ledger == () and stored() == NOTHING
    real = call(mcp, "send_email", SEND, mode)
    assert list(preview) == list(real) and (preview["dry_run"], real["dry_run"]) == (True, False)
    new = {"dry_run": False, "message_id": real["message_id"], "sent_at": "2026-11-30T12:00:00Z"}
    assert real == preview | new and (preview["message_id"], preview["sent_at"]) == (None, None)
    assert mailbox(served_world) == ["ana@example.org"]


@SQLITE
def test_a_preview_of_a_long_mail_is_as_long_as_its_result(world: World) -> None:
    long = {"subject": "s" * 200, "body": "b" * 100_000}
    preview, real = call(mcp, "send_email", MAIL | long), call(mcp, "send_email", SEND | long)
    assert preview["body_start"] == real["body_start"] == "b" * 200
    assert preview["body_characters"] == real["body_characters"] == 100_000
    (entry,) = world.ledger
    assert entry.arguments["body"] == "b" * 100_000 and entry.arguments["message_id"] == real["message_id"]


@SQLITE
def test_a_preview_opens_no_connection(office: PostOffice) -> None:
    call(mcp, "send_email", MAIL)
    assert office.connections == 0


def test_a_preview_has_no_effect_on_a_mail_that_was_sent(world: World) -> None:
    call(mcp, "send_email", SEND)
    before = stored()
    assert call(mcp, "send_email", MAIL)["dry_run"] is True
    assert stored() == before and len(world.ledger) == 1


@SQLITE
@BOTH_WAYS
@pytest.mark.parametrize(
    ("domains", "to", "suggestions"),
    [
        ("", "ana@shop.invalid", None),
        ("", "ana@dev.LocalHost", None),
        ("acme.example, Acme.ORG", "ana@example.org", ["acme.example", "acme.org"]),
        ("acme.example", "ana@sub.acme.example", ["acme.example"]),
        ("acme.example", "ana@notacme.example", ["acme.example"]),
    ],
)
def test_a_forbidden_domain_is_refused_alike_in_preview_and_reality(
    world: World, monkeypatch: pytest.MonkeyPatch, dry_run: bool, domains: str, to: str, suggestions: list[str] | None
) -> None:
    monkeypatch.setenv("TOOLWORTHY_MAIL_DOMAINS", domains)
    failure = fail(mcp, "send_email", MAIL | {"to": to, "dry_run": dry_run})
    assert failure["errorCategory"] == "business" and "nothing was sent" in failure["message"]
    assert failure.get("suggestions") == suggestions
    assert world.ledger == () and stored() == NOTHING


@SQLITE
def test_an_allowed_domain_is_allowed_in_any_case(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWORTHY_MAIL_DOMAINS", "example.org")
    call(mcp, "send_email", SEND | {"to": "ana@Example.ORG"})
    assert mailbox(world) == ["ana@Example.ORG"]


@BOTH_WAYS
@pytest.mark.parametrize("change", [{"to": "binh@example.org"}, {"subject": "Order 12"}, {"body": "It came back."}])
def test_a_used_key_with_other_arguments_is_refused_alike(world: World, dry_run: bool, change: Json) -> None:
    call(mcp, "send_email", SEND)
    before = stored()
    failure = fail(mcp, "send_email", MAIL | change | {"dry_run": dry_run})
    assert failure["errorCategory"] == "business" and "new key" in failure["message"]
    assert stored() == before and mailbox(world) == ["ana@example.org"]


@SQLITE
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"to": "ana"}, "to"), ({"to": "ana@example"}, "to"), ({"to": "ana@example.org\n"}, "to"), ({"to": ""}, "to"),
        ({"to": "ana@example.org\r\nBcc: eve@evil.example"}, "to"), ({"to": "a@b.org,eve@evil.example"}, "to"),
        ({"to": "Ana <ana@example.org>"}, "to"), ({"to": "ana@[127.0.0.1]"}, "to"), ({"to": "ána@example.org"}, "to"),
        ({"to": "a@b.org> ORCPT=x"}, "to"), ({"to": f"a@{'b' * 60}.{'c' * 190}.org"}, "to"), ({"to": "a..b@c.d"}, "to"),
        ({"to": ["ana@example.org"]}, "to"), ({"subject": ""}, "subject"), ({"subject": "  "}, "subject"),
        ({"subject": "a\r\nBcc: eve@evil.example"}, "subject"), ({"subject": "a\nb"}, "subject"),
        ({"subject": "a\rb"}, "subject"), ({"subject": "a\x85b"}, "subject"), ({"subject": "a\u2028b"}, "subject"),
        ({"subject": "a\x00b"}, "subject"), ({"subject": "x" * 201}, "subject"),
        ({"body": ""}, "body"), ({"body": "x" * 100_001}, "body"), ({"body": "a\x00b"}, "body"),
        ({"dry_run": "false"}, "dry_run"), ({"dry_run": None}, "dry_run"), ({"dry_run": 0}, "dry_run"),
        ({"idempotency_key": "short"}, "idempotency_key"), ({"cc": "eve@evil.example"}, "cc"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_and_sends_nothing(world: World, change: Json, field: str) -> None:
    failure = fail(mcp, "send_email", SEND | change)
    assert failure["errorCategory"] == "validation"
    assert [problem["field"] for problem in failure["problems"]] == [field]
    assert world.ledger == () and stored() == NOTHING


# --- once ------------------------------------------------------------------------------------------------------------


def test_the_same_call_again_gets_the_same_result_and_sends_nothing(served_world: World) -> None:
    first = call(mcp, "send_email", SEND)
    served_world.clock.advance(60)
    assert call(mcp, "send_email", SEND) == first
    assert mailbox(served_world) == ["ana@example.org"] and statuses() == ["sent"]


def test_a_key_is_forgotten_after_its_lifetime(served_world: World) -> None:
    first = call(mcp, "send_email", SEND)
    served_world.clock.advance(keys.LIFETIME.total_seconds())
    assert call(mcp, "send_email", SEND)["message_id"] != first["message_id"]
    assert len(mailbox(served_world)) == 2


async def at_once(targets: list[Any], count: int) -> list[Any]:
    """The same call `count` times, 2 ms apart, spread over the targets."""
    clients = [Client(target) for target in targets]
    for client in clients:
        await client.__aenter__()

    async def send(number: int) -> Any:
        await asyncio.sleep(0.002 * number)
        return await clients[number % len(clients)].call_tool("send_email", SEND, raise_on_error=False)

    try:
        return await asyncio.gather(*(send(number) for number in range(count)))
    finally:
        for client in clients:
            await client.__aexit__(None, None, None)


def test_parallel_calls_send_one_mail_and_all_get_its_result(world: World) -> None:
    world.schedule("mail.send", Slow(0.3))
    results = asyncio.run(at_once([mcp], 8))
    assert {result.is_error for result in results} == {False}
    assert len({str(result.structured_content) for result in results}) == 1
    assert mailbox(world) == ["ana@example.org"]


def test_when_the_first_of_parallel_calls_fails_another_one_sends(world: World) -> None:
    world.schedule("mail.send", Down(), times=5)
    results = asyncio.run(at_once([mcp], 12))
    assert [result.is_error for result in results].count(True) == 5
    assert len({str(result.structured_content) for result in results if not result.is_error}) == 1
    assert mailbox(world) == ["ana@example.org"] and statuses() == ["sent"]


@SQLITE
def test_a_repetition_that_can_not_wait_any_longer_is_told_to_come_again(
    world: World, monkeypatch: pytest.MonkeyPatch, office: PostOffice
) -> None:
    office.script["END"] = "hang"
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "1")

    async def run() -> list[Any]:
        async with Client(mcp) as client:
            first = asyncio.create_task(client.call_tool("send_email", SEND, raise_on_error=False))
            await asyncio.to_thread(office.reached.wait, 10)
            monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.1")
            second = await client.call_tool("send_email", SEND, raise_on_error=False)
            with pytest.raises(Exception, match="being worked on"):  # and a preview says the same
                await client.call_tool("send_email", MAIL)
            return [(await first).structured_content["errorCategory"], second.structured_content["errorCategory"]]

    assert asyncio.run(run()) == ["business", "transient"]
    assert len(office.mails) == 1


@pytest.mark.parametrize("fault", [Down(), RateLimited(7)])
def test_a_mail_that_certainly_was_not_sent_is_sent_by_the_same_call_later(
    world: World, fault: Down | RateLimited
) -> None:
    world.schedule("mail.send", fault)
    failure = fail(mcp, "send_email", SEND)
    assert failure["errorCategory"] == "transient" and "unchanged" in failure["message"]
    assert failure.get("retryAfterSeconds") == (7 if isinstance(fault, RateLimited) else None)
    assert stored() == NOTHING and statuses() == []
    call(mcp, "send_email", SEND)
    assert mailbox(world) == ["ana@example.org"] and statuses() == ["sent"]


@SQLITE
def test_a_refusal_from_outside_leaves_the_key_free_for_a_corrected_call(world: World) -> None:
    failure = fail(mcp, "send_email", SEND | {"to": "nobody@example.org"})
    assert failure["errorCategory"] == "business" and "Check the address" in failure["message"]
    assert stored() == NOTHING
    call(mcp, "send_email", SEND)
    assert mailbox(world) == ["ana@example.org"]


@pytest.mark.parametrize(("fault", "arrived"), [(TimesOut(), 0), (TimesOut(after_effect=True), 1)])
def test_a_mail_of_unknown_fate_is_never_sent_again_under_its_key(
    world: World, impatient: None, fault: TimesOut, arrived: int
) -> None:
    world.schedule("mail.send", fault)
    for arguments in (SEND, SEND, MAIL):  # the call, its repetition, and a preview of it
        failure = fail(mcp, "send_email", arguments)
        assert failure["errorCategory"] == "business"
        for words in ("unknown", "list_sent", "Ask the recipient", "new key"):
            assert words in failure["message"]
    assert len(world.ledger) == 1 and len(mailbox(world)) == arrived
    (listed_one,) = call(mcp, "list_sent", {})["items"]
    assert listed_one["status"] == "unknown" and listed_one["message_id"] in failure["message"]

    call(mcp, "send_email", SEND | {"idempotency_key": "order-4711-again"})
    assert len(mailbox(world)) == arrived + 1 and statuses() == ["sent", "unknown"]


@SQLITE
def test_an_answer_that_breaks_off_leaves_the_fate_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    class Fragile(BaseHTTPRequestHandler):
        """A world that hangs up in the middle of the answer to mail.send."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = to_json(world.perform(self.path[1:], body).answer)
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer[:5] if self.path == "/mail.send" else answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Fragile) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("TOOLWORTHY_WORLD", f"http://127.0.0.1:{server.server_port}")
        for _ in range(2):
            assert "unknown" in fail(mcp, "send_email", SEND)["message"]
        assert statuses() == ["unknown"]
        server.shutdown()
    assert mailbox(world) == ["ana@example.org"]


@SQLITE
def test_a_slow_mail_server_is_waited_for(world: World) -> None:
    world.schedule("mail.send", Slow(0.2))
    assert call(mcp, "send_email", SEND)["dry_run"] is False


@SQLITE
def test_a_mail_that_was_sent_and_could_not_be_written_down_is_not_sent_again(
    served_world: World, impatient: None
) -> None:
    call(mcp, "list_sent", {})
    with storage.writing() as connection:
        connection.exec_driver_sql("create trigger full before update on emails begin select raise(abort, 'full'); end")
    fail(mcp, "send_email", SEND)
    with storage.writing() as connection:
        connection.exec_driver_sql("drop trigger full")
    assert fail(mcp, "send_email", SEND)["errorCategory"] == "transient"  # still taken for being worked on
    served_world.clock.advance(smtp.STEPS * 0.2)
    assert fail(mcp, "send_email", SEND)["errorCategory"] == "business"
    assert mailbox(served_world) == ["ana@example.org"] and statuses() == ["unknown"]


# --- list ------------------------------------------------------------------------------------------------------------


def test_pages_joined_are_all_mails_the_newest_first(world: World) -> None:
    empty = call(mcp, "list_sent", {})
    assert empty["items"] == [] and "There are no e-mails" in empty["note"]
    sent = [call(mcp, "send_email", SEND | {"idempotency_key": f"order-{n:04}", "body": "b" * n}) for n in range(1, 6)]
    seen, asked = [], {"limit": 2}
    while True:
        page = call(mcp, "list_sent", asked)
        seen += page["items"]
        if page["next_cursor"] is None:
            break
        asked = {"limit": 2, "cursor": page["next_cursor"]}
    expected = [{k: v for k, v in each.items() if k != "dry_run"} | {"status": "sent"} for each in reversed(sent)]
    assert seen == expected
    assert fail(mcp, "list_sent", {"cursor": "bm9uZQ"})["errorCategory"] == "validation"


def test_hints_are_true(world: World) -> None:
    call(mcp, "send_email", SEND)
    calls = {"send_email": SEND | {"idempotency_key": "another-1"}, "list_sent": {}}
    tools = {tool.name: tool.annotations for tool in listed(mcp)}
    assert tools.keys() == calls.keys()
    for name, hints in tools.items():
        before, mails = stored(), world.ledger
        call(mcp, name, calls[name])
        assert ((before, mails) == (stored(), world.ledger)) is hints.read_only_hint, name
        assert (world.ledger != mails) is hints.open_world_hint, name
        kept = world.ledger[: len(mails)] == mails and set(before["emails"]) <= set(stored()["emails"])
        assert kept is not hints.destructive_hint, name
        after, mails = stored(), world.ledger
        call(mcp, name, calls[name])
        assert ((stored(), world.ledger) == (after, mails)) is hints.idempotent_hint, name


@SQLITE
def test_dry_run_is_the_default_in_the_schema() -> None:
    (tool,) = [tool for tool in listed(mcp) if tool.name == "send_email"]
    assert tool.input_schema["properties"]["dry_run"]["default"] is True
    assert "dry_run" not in tool.input_schema["required"]


@SQLITE
def test_every_call_is_in_the_audit_log_previews_and_refusals_too_and_no_secret_is(
    world: World, impatient: None
) -> None:
    call(mcp, "send_email", MAIL | {"body": "It says Authorization: Bearer abcdef0123456789 " + "x" * 1000})
    call(mcp, "send_email", SEND)
    fail(mcp, "send_email", SEND | {"to": "ana@shop.invalid"})
    fail(mcp, "send_email", SEND | {"subject": "a\nb"})
    world.schedule("mail.send", Down())
    fail(mcp, "send_email", SEND | {"idempotency_key": "order-4712"})
    call(mcp, "list_sent", {})
    lines = audit.lines()
    ended = [(line["tool"], line["outcome"], line["error_category"]) for line in lines if line["outcome"] != "begun"]
    assert ended == [
        ("send_email", "preview", None), ("send_email", "done", None), ("send_email", "refused", "business"),
        ("send_email", "refused", "validation"), ("send_email", "failed", "transient"), ("list_sent", "done", None),
    ]  # fmt: skip
    assert len(lines) == len(ended) + 5  # what may write is there before it begins
    assert "abcdef0123456789" not in str(lines) and "x" * 600 not in str(lines)


# --- SMTP ------------------------------------------------------------------------------------------------------------

SUBJECTS = [
    "Order 4711", " a  b ", "Đơn hàng 4711 🙂", "日" * 200, "x" * 200, "é " * 99 + "é", "a" * 75 + " é " + "b" * 80,
    "=?utf-8?q?x=0ABcc:_eve@evil.example?=", "=?utf-8?b?QmNjOiBlQGUuZQ==?= =?utf-8?q?y?=", "a: b; c=\"d\" <e@f.org>",
]  # fmt: skip
BODIES = [
    "Line one\n\n.\n..\n.QUIT\nlast",
    "x" * 100_000,
    "Đã gửi 🙂\n" * 5_000,
    " ",
    "no\r\nmixed\rends\n",
    "\x07\x1f\x7f",
]


@SQLITE
@pytest.mark.parametrize("number", range(len(SUBJECTS)))
def test_by_smtp_a_mail_arrives_intact(office: PostOffice, number: int) -> None:
    subject, body = SUBJECTS[number], BODIES[number % len(BODIES)]
    result = call(mcp, "send_email", SEND | {"subject": subject, "body": body})
    (arrived,) = office.mails
    assert (arrived.mail_from, arrived.rcpt_tos) == (SENDER, ["ana@example.org"])
    content = arrived.content
    assert isinstance(content, bytes) and content.isascii() and max(map(len, content.split(b"\r\n"))) <= 998
    assert b"\n" not in content.replace(b"\r\n", b"") and b"\r" not in content.replace(b"\r\n", b"")

    message = message_from_bytes(content)
    assert sorted(message.keys()) == [
        "Content-Transfer-Encoding", "Content-Type", "Date", "From", "MIME-Version", "Message-ID", "Subject", "To",
    ]  # fmt: skip
    assert (message["From"], message["To"], message["Message-ID"]) == (SENDER, "ana@example.org", result["message_id"])
    assert str(make_header(decode_header(message["Subject"]))) == subject
    payload = message.get_payload(decode=True)
    assert isinstance(payload, bytes)
    assert payload.decode() == "\r\n".join(body.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert message_from_bytes(content, policy=policy.default)["Date"].datetime.tzinfo is not None


@SQLITE
def test_by_smtp_the_longest_address_arrives(office: PostOffice) -> None:
    to = f"{'a' * 64}@{'b' * 60}.{'c' * 60}.{'d' * 59}.example"
    call(mcp, "send_email", SEND | {"to": to})
    assert office.mails[0].rcpt_tos == [to]
    content = office.mails[0].content
    assert isinstance(content, bytes) and message_from_bytes(content)["To"] == to


@SQLITE
@pytest.mark.parametrize(
    ("stage", "action", "category"),
    [
        *((stage, action, "transient") for stage in STAGES[:-1] for action in ("cut", "hang", "451 Later")),
        *((stage, "550 5.1.1 No mx7.internal.example here", "business") for stage in STAGES[:-1]),
        *((stage, action, "transient") for stage in ("greeting", "DATA") for action in ("What?", "299 Aye")),
    ],
)
def test_what_goes_wrong_before_the_content_frees_the_key(
    office: PostOffice, impatient: None, stage: str, action: str, category: str
) -> None:
    office.script[stage] = action
    if stage == "EHLO" and action not in ("cut", "hang"):
        office.script["MAIL"] = action  # now this is the reply to HELO, which is tried next
    failure = fail(mcp, "send_email", SEND)
    assert failure["errorCategory"] == category and "nothing was sent" in failure["message"]
    assert "internal" not in failure["message"]
    assert office.mails == [] and stored() == NOTHING
    call(mcp, "send_email", SEND)
    assert len(office.mails) == 1 and statuses() == ["sent"]


@SQLITE
@pytest.mark.parametrize(("reply", "category"), [("451 Later", "transient"), ("554 5.7.1 Spam", "business")])
def test_content_that_is_refused_frees_the_key(office: PostOffice, reply: str, category: str) -> None:
    office.script["END"] = reply
    failure = fail(mcp, "send_email", SEND)
    assert failure["errorCategory"] == category and "nothing was sent" in failure["message"]
    assert stored() == NOTHING
    call(mcp, "send_email", SEND)
    assert len(office.mails) == 1


@SQLITE
@pytest.mark.parametrize("action", ["cut", "hang"])
def test_an_answer_that_is_lost_after_the_content_leaves_one_mail_and_a_warning(
    office: PostOffice, impatient: None, action: str
) -> None:
    office.script["END"] = action
    for _ in range(2):
        failure = fail(mcp, "send_email", SEND)
        assert failure["errorCategory"] == "business" and "unknown" in failure["message"]
    assert len(office.mails) == 1 and statuses() == ["unknown"]
    call(mcp, "send_email", SEND | {"idempotency_key": "order-4711-again"})
    assert len(office.mails) == 2


@SQLITE
def test_nonsense_after_the_content_is_no_proof_of_anything(office: PostOffice) -> None:
    office.script["END"] = "What?"
    assert "unknown" in fail(mcp, "send_email", SEND)["message"]
    assert fail(mcp, "send_email", SEND)["errorCategory"] == "business" and office.mails == []


@SQLITE
def test_a_mail_server_that_is_gone_is_transient(monkeypatch: pytest.MonkeyPatch) -> None:
    with post_office() as office:
        monkeypatch.setenv("TOOLWORTHY_MAIL", f"smtp://127.0.0.1:{office.port}")
        monkeypatch.setenv("TOOLWORTHY_MAIL_FROM", SENDER)
    failure = fail(mcp, "send_email", SEND)
    assert failure["errorCategory"] == "transient" and "can't be reached" in failure["message"]
    assert str(office.port) not in failure["message"] and stored() == NOTHING


LOGIN = f"{quote(USER, safe='')}:{quote(PASSWORD, safe='')}"


@SQLITE
@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")  # it has TLS from the start
@pytest.mark.parametrize(("tls", "scheme"), [("starttls", "smtp"), ("from the start", "smtps")])
def test_a_password_goes_over_tls_to_a_server_that_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tls: Any, scheme: str
) -> None:
    certificate = certificate_for_this_machine(tmp_path / "key.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("TOOLWORTHY_MAIL_FROM", SENDER)
    with post_office(tls, certificate) as office:
        monkeypatch.setenv("TOOLWORTHY_MAIL", f"{scheme}://{LOGIN}@localhost:{office.port}")
        call(mcp, "send_email", SEND)
        assert len(office.mails) == 1

        monkeypatch.setenv("TOOLWORTHY_MAIL", f"{scheme}://{LOGIN}x@localhost:{office.port}")
        failure = fail(mcp, "send_email", SEND | {"idempotency_key": "order-4712"})
        assert failure["errorCategory"] == "business" and "(535)" in failure["message"]

        monkeypatch.delenv("SSL_CERT_FILE")
        failure = fail(mcp, "send_email", SEND | {"idempotency_key": "order-4712"})
        assert failure["errorCategory"] == "transient"
        assert len(office.mails) == 1


@SQLITE
def test_no_password_goes_to_a_server_without_tls(office: PostOffice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWORTHY_MAIL", f"smtp://{LOGIN}@127.0.0.1:{office.port}")
    failure = fail(mcp, "send_email", SEND)
    assert failure["errorCategory"] == "business" and "no TLS" in failure["message"] and office.mails == []


# --- as a process ----------------------------------------------------------------------------------------------------


@SQLITE
@pytest.mark.parametrize(
    ("url", "sender", "words"),
    [
        ("smtps://me:s3cret@127.0.0.1:{gone}", SENDER, "reached (Connection refused): 127.0.0.1, port {gone}."),
        ("smtp://me:s3cret@{long}.example:25", SENDER, "can't be reached"),
        ("smtp://me:s3cret@127.0.0.1:{there}", SENDER, "offers no TLS, or no way to log in: 127.0.0.1, port {there}."),
        ("smtp://me:s3cret@127.0.0.1", SENDER, "must be smtp://host:port"),
        ("smtp://me:s3cret@127.0.0.1:s3cret", SENDER, "must be smtp://host:port"),
        ("smtp://me:s3/cret@127.0.0.1:25", SENDER, "must be smtp://host:port"),
        ("smtp://me:s3cr%C3%A9t@127.0.0.1:25", SENDER, "must be smtp://host:port"),
        ("smtp://me@127.0.0.1:25", SENDER, "must be smtp://host:port"),
        ("http://127.0.0.1:25", SENDER, "must be smtp://host:port"),
        ("smtp://127.0.0.1:{there}", "", "TOOLWORTHY_MAIL_FROM must be"),
        ("smtp://127.0.0.1:{there}", "Shop <shop@acme.example>", "TOOLWORTHY_MAIL_FROM must be"),
        ("smtp://127.0.0.1:{there}", SENDER + "\n", "TOOLWORTHY_MAIL_FROM must be"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_mail_server_is_said_without_the_password(
    office: PostOffice, monkeypatch: pytest.MonkeyPatch, url: str, sender: str, words: str
) -> None:
    with post_office() as gone:
        pass
    ports = {"gone": gone.port, "there": office.port, "long": "a" * 64}
    monkeypatch.setenv("TOOLWORTHY_MAIL", url.format(**ports))
    monkeypatch.setenv("TOOLWORTHY_MAIL_FROM", sender)
    with pytest.raises(ValueError) as caught:
        mail.check()
    said = str(caught.value)
    assert words.format(**ports) in said and "\n" not in said
    assert "s3" not in said and "cret" not in said


@SQLITE
def test_a_server_does_not_start_without_its_mail_server(database: str) -> None:
    with post_office() as gone:
        pass
    more = {"TOOLWORTHY_MAIL": f"smtp://me:s3cret@127.0.0.1:{gone.port}", "TOOLWORTHY_MAIL_FROM": SENDER}
    done = run_server(FILE, TOOLWORTHY_DATABASE=database, **more)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("The mail server can't be reached (") and "s3cret" not in done.stderr


@SQLITE
def test_at_the_start_a_mail_server_is_asked_and_gets_no_mail(office: PostOffice, database: str) -> None:
    more = {"TOOLWORTHY_MAIL": f"smtp://127.0.0.1:{office.port}", "TOOLWORTHY_MAIL_FROM": SENDER}
    done = run_server(FILE, TOOLWORTHY_DATABASE=database, **more)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert office.connections == 1 and office.mails == []


@contextmanager
def begun(**more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server over stdio that has been told to send the mail, by a host that can kill it."""
    process = subprocess.Popen(
        [sys.executable, str(FILE)], env=environment(**more), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    said: list[Json] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "send_email", "arguments": SEND}},
    ]
    try:
        assert process.stdin
        for each in said:
            process.stdin.write(json.dumps({"jsonrpc": "2.0"} | each).encode() + b"\n")
        process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("database", "stage", "arrived"),
    [("sqlite", "END", 1), ("postgresql", "END", 1), ("sqlite", "RCPT", 0)],
    indirect=["database"],
)
def test_a_server_killed_while_it_sends_never_sends_twice(
    office: PostOffice, served_world: World, monkeypatch: pytest.MonkeyPatch, stage: str, arrived: int
) -> None:
    more = {name: value for name, value in os.environ.items() if name.startswith("TOOLWORTHY_")}
    office.script[stage] = "hang"
    with begun(**more) as server:
        assert office.reached.wait(20)
        server.kill()
        server.wait()
    # What follows is another process with the same database, as after a restart.
    assert len(office.mails) == arrived and statuses() == ["unknown"]  # also if nobody ever asks again
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.2")
    assert fail(mcp, "send_email", SEND)["errorCategory"] == "transient"  # for all it knows, somebody is still at it
    served_world.clock.advance(smtp.STEPS * 5)
    failure = fail(mcp, "send_email", SEND)
    assert failure["errorCategory"] == "business" and "unknown" in failure["message"]
    assert len(office.mails) == arrived and statuses() == ["unknown"]
    call(mcp, "send_email", SEND | {"idempotency_key": "order-4711-again"})
    assert len(office.mails) == arrived + 1


@SQLITE
def test_over_stdio_a_restart_keeps_what_was_sent(served_world: World, database: str) -> None:
    first = call(mcp, "send_email", SEND)
    env = environment(TOOLWORTHY_DATABASE=database, TOOLWORTHY_WORLD=os.environ["TOOLWORTHY_WORLD"])
    assert call(PythonStdioTransport(FILE, env=env, keep_alive=False), "send_email", SEND) == first
    assert mailbox(served_world) == ["ana@example.org"]


def test_a_server_over_http_and_another_one_send_one_mail_for_calls_2_ms_apart(
    served_world: World, database: str
) -> None:
    served_world.schedule("mail.send", Slow(0.3))
    more = {"TOOLWORTHY_DATABASE": database, "TOOLWORTHY_WORLD": os.environ["TOOLWORTHY_WORLD"]}
    with http_server(FILE, **more) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        results = asyncio.run(at_once([mcp, url], 6))
        assert {result.is_error for result in results} == {False}
        assert len({str(result.structured_content) for result in results}) == 1
        for mode in ERAS:
            assert call(url, "send_email", SEND, mode) == results[0].structured_content
    assert mailbox(served_world) == ["ana@example.org"]
