"""Issues: created once for each key, listed page by page, and every hint true."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from fastmcp.client.transports import PythonStdioTransport

from servers.backends import audit, keys, storage
from servers.backends.world import World
from servers.issues import mcp, natural
from tests.servers.calling import Json, call, fail, listed, raw
from tests.servers.running import ERAS, SERVERS, Mode, environment, http_server

NEW = {"repo": "acme/web-shop", "title": "Login fails", "idempotency_key": "report-4711"}

pytestmark = pytest.mark.usefixtures("database")


def rows(table: str) -> list[Any]:
    """All rows of a table, for comparing before and after."""
    with storage.reading() as connection:
        found = connection.execute(sa.select(storage.metadata.tables[table]))
        return sorted(map(str, found))


def stored() -> dict[str, list[Any]]:
    return {name: rows(name) for name in ("issues", "issue_comments", "labels")}


@pytest.mark.parametrize("mode", ERAS)
def test_an_issue_comes_back_as_it_was_created(mode: Mode) -> None:
    fields = {
        "repo": "acme/web-shop", "title": "Đăng nhập lỗi 🙂", "body": "Line one\n\n| a | b |\n" + "x" * 60_000,
        "labels": ["bug", "good-first-issue"], "due_date": "2028-02-29",
    }  # fmt: skip
    made = call(mcp, "create_issue", fields | {"idempotency_key": "report-4711"}, mode)
    assert made["created"] is True
    read = call(mcp, "get_issue", {"issue_id": made["issue"]["issue_id"]}, mode)
    assert read == made["issue"]
    assert {name: read[name] for name in fields} == fields
    assert (read["state"], read["comments"]) == ("open", 0)


def test_the_same_call_again_gets_the_same_issue_and_says_so() -> None:
    first, second = call(mcp, "create_issue", NEW), call(mcp, "create_issue", NEW)
    assert (first["created"], second["created"]) == (True, False)
    assert first["issue"] == second["issue"] and len(rows("issues")) == 1


def test_labels_in_another_order_are_the_same_call() -> None:
    call(mcp, "create_issue", NEW | {"labels": ["a", "b"]})
    assert call(mcp, "create_issue", NEW | {"labels": ["b", "a"]})["created"] is False


@pytest.mark.parametrize("change", [{"title": "Logout fails"}, {"body": "More"}, {"labels": ["x"]}, {"repo": "acme/b"}])
def test_a_key_with_other_arguments_is_refused_and_creates_nothing(change: Json) -> None:
    call(mcp, "create_issue", NEW)
    before = stored()
    failure = fail(mcp, "create_issue", NEW | change)
    assert failure["errorCategory"] == "business" and "new key" in failure["message"]
    assert stored() == before


def test_a_key_belongs_to_one_tool() -> None:
    issue = call(mcp, "create_issue", NEW)["issue"]["issue_id"]
    comment = {"issue_id": issue, "body": "Me too", "idempotency_key": NEW["idempotency_key"]}
    assert call(mcp, "add_issue_comment", comment)["created"] is True
    assert call(mcp, "add_issue_comment", comment)["created"] is False
    assert call(mcp, "get_issue", {"issue_id": issue})["comments"] == 1


def test_a_key_is_forgotten_after_its_lifetime(served_world: World) -> None:
    call(mcp, "create_issue", NEW)
    served_world.clock.advance(keys.LIFETIME.total_seconds() - 1)
    assert call(mcp, "create_issue", NEW)["created"] is False
    served_world.clock.advance(1)
    assert call(mcp, "create_issue", NEW | {"title": "Another"})["created"] is True


def test_the_natural_key_holds_for_five_minutes_and_makes_two_issues_one(served_world: World) -> None:
    first = {"repo": "acme/web-shop", "title": "Crash", "body": "When I pay"}
    assert call(natural, "create_issue", first)["created"] is True
    other = call(natural, "create_issue", first | {"body": "When I log in"})
    assert other["created"] is False and other["issue"]["body"] == "When I pay"  # its danger
    assert call(natural, "create_issue", first | {"repo": "acme/billing"})["created"] is True
    served_world.clock.advance(299)
    assert call(natural, "create_issue", first)["created"] is False
    served_world.clock.advance(1)
    assert call(natural, "create_issue", first)["created"] is True
    assert len(rows("issues")) == 3


def test_pages_joined_are_the_whole_list_newest_first() -> None:
    made = [
        call(mcp, "create_issue", NEW | {"idempotency_key": f"report-{n:04}", "title": f"No {n}"}) for n in range(7)
    ]
    call(mcp, "create_issue", NEW | {"repo": "acme/other", "idempotency_key": "other-repo"})
    asked: Json = {"repo": "acme/web-shop", "limit": 3}
    seen, sizes = [], []
    while True:
        page = call(mcp, "list_issues", asked)
        seen += page["items"]
        sizes.append(len(page["items"]))
        if page["next_cursor"] is None:
            break
        asked["cursor"] = page["next_cursor"]
    assert sizes == [3, 3, 1]
    assert seen == [each["issue"] for each in reversed(made)]


def test_a_page_shows_the_beginning_of_long_bodies_and_says_where_the_rest_is() -> None:
    call(mcp, "create_issue", NEW | {"body": "y" * 1000})
    (shown,) = call(mcp, "list_issues", {"repo": "acme/web-shop"})["items"]
    assert shown["body"] == "y" * 200 + "… (cut; get_issue has all 1000 characters)"


def test_no_issues_is_an_answer() -> None:
    page = call(mcp, "list_issues", {"repo": "acme/nothing"})
    assert page["items"] == [] and page["next_cursor"] is None
    assert page["note"].startswith("There are no issues with repo=acme/nothing, state=open.")


def test_a_cursor_of_another_list_is_refused() -> None:
    for n in range(3):
        call(mcp, "create_issue", NEW | {"idempotency_key": f"report-{n:04}"})
    cursor = call(mcp, "list_issues", {"repo": "acme/web-shop", "limit": 1})["next_cursor"]
    right = {"repo": "acme/web-shop", "cursor": cursor}
    for change in ({"repo": "acme/x"}, {"state": "all"}, {"cursor": "bm9uZQ"}, {"cursor": cursor[:-2]}):
        failure = fail(mcp, "list_issues", right | change)
        assert failure["errorCategory"] == "validation" and "first page" in failure["message"]


def test_closing_takes_it_off_the_open_list_and_closing_again_changes_nothing() -> None:
    issue = call(mcp, "create_issue", NEW)["issue"]["issue_id"]
    closed = call(mcp, "close_issue", {"issue_id": issue})
    assert closed["state"] == "closed"
    after = stored()
    assert call(mcp, "close_issue", {"issue_id": issue}) == closed and stored() == after
    assert call(mcp, "list_issues", {"repo": "acme/web-shop"})["items"] == []
    assert len(call(mcp, "list_issues", {"repo": "acme/web-shop", "state": "closed"})["items"]) == 1


def test_a_label_is_made_or_overwritten() -> None:
    label = {"repo": "acme/web-shop", "name": "bug", "color": "#d73a4a", "description": "Something is broken"}
    call(mcp, "create_issue", NEW | {"labels": ["bug"]})
    assert "#ededed" in rows("labels")[0]
    assert call(mcp, "upsert_label", label) == label
    after = stored()
    assert call(mcp, "upsert_label", label) == label and stored() == after and len(rows("labels")) == 1


@pytest.mark.parametrize("tool", ["get_issue", "close_issue", "add_issue_comment"])
def test_an_issue_that_is_not_there_is_said_and_nothing_is_written(tool: str) -> None:
    extra = {"body": "x", "idempotency_key": "comment-1"} if tool == "add_issue_comment" else {}
    before = stored()
    failure = fail(mcp, tool, {"issue_id": "ISS-99", **extra})
    assert failure["errorCategory"] == "validation" and "list_issues" in failure["message"]
    assert stored() == before
    if extra:  # the key isn't used up: nothing was done under it
        assert fail(mcp, tool, {"issue_id": "ISS-98", **extra})["errorCategory"] == "validation"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": ""}, "title"), ({"title": "a\nb"}, "title"), ({"title": "x" * 257}, "title"),
        ({"title": " "}, "title"), ({"repo": "acme"}, "repo"), ({"repo": "acme/web-shop\n"}, "repo"),
        ({"body": "a\x00b"}, "body"), ({"body": "x" * 65_537}, "body"), ({"labels": ["a", "a"]}, "labels"),
        ({"labels": list("abcdefghijk")}, "labels"), ({"labels": ["Bug"]}, "labels.0"), ({"labels": "bug"}, "labels"),
        ({"due_date": "2026-02-30"}, "due_date"), ({"due_date": "31/12/2026"}, "due_date"),
        ({"due_date": 0}, "due_date"), ({"idempotency_key": "short"}, "idempotency_key"),
        ({"idempotency_key": None}, "idempotency_key"), ({"priority": "high"}, "priority"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_and_creates_nothing(change: Json, field: str) -> None:
    failure = fail(mcp, "create_issue", NEW | change)
    assert failure["errorCategory"] == "validation"
    assert [problem["field"] for problem in failure["problems"]] == [field]
    assert field in failure["message"] and "pydantic" not in failure["message"]
    assert rows("issues") == []


def test_hints_are_true() -> None:
    issue = call(mcp, "create_issue", NEW | {"labels": ["bug"]})["issue"]["issue_id"]
    call(mcp, "add_issue_comment", {"issue_id": issue, "body": "x", "idempotency_key": "comment-1"})
    arguments: dict[str, Json] = {
        "create_issue": NEW | {"idempotency_key": "another-1", "labels": ["new"]},
        "get_issue": {"issue_id": issue},
        "list_issues": {"repo": "acme/web-shop"},
        "add_issue_comment": {"issue_id": issue, "body": "y", "idempotency_key": "comment-2"},
        "close_issue": {"issue_id": issue},
        "upsert_label": {"repo": "acme/web-shop", "name": "bug", "color": "#ffffff"},
    }
    tools = {tool.name: tool for tool in listed(mcp)}
    assert tools.keys() == arguments.keys()
    for name, tool in tools.items():
        before = stored()
        call(mcp, name, arguments[name])
        after = stored()
        kept = all(set(map(str, before[table])) <= set(map(str, after[table])) for table in before)
        assert (before == after) is tool.annotations.read_only_hint, name
        assert kept is not tool.annotations.destructive_hint, name
        call(mcp, name, arguments[name])
        assert (stored() == after) is tool.annotations.idempotent_hint, name


def test_every_call_is_in_the_audit_log_and_no_secret_is() -> None:
    call(mcp, "create_issue", NEW | {"body": "It says Authorization: Bearer abcdef0123456789"})
    fail(mcp, "create_issue", NEW | {"title": "Other"})
    fail(mcp, "create_issue", NEW | {"password": "hunter2"})
    call(mcp, "list_issues", {"repo": "acme/web-shop"})
    lines = audit.lines()
    assert [(line["tool"], line["outcome"], line["error_category"]) for line in lines] == [
        ("create_issue", "begun", None), ("create_issue", "done", None),
        ("create_issue", "begun", None), ("create_issue", "refused", "business"),
        ("create_issue", "begun", None), ("create_issue", "refused", "validation"),
        ("list_issues", "done", None),
    ]  # fmt: skip
    assert lines[0]["trace_id"] == lines[1]["trace_id"] != lines[2]["trace_id"]
    assert lines[1]["arguments"]["title"] == "Login fails" and lines[1]["duration_ms"] > 0
    assert "hunter2" not in str(lines) and "abcdef0123456789" not in str(lines)


def test_over_stdio_a_restart_keeps_issues_and_keys(database: str) -> None:
    def server() -> PythonStdioTransport:
        env = environment(TOOLWORTHY_DATABASE=database)
        return PythonStdioTransport(SERVERS / "issues.py", env=env, keep_alive=False)

    first = call(server(), "create_issue", NEW)
    assert call(server(), "create_issue", NEW) == first | {"created": False}


@pytest.mark.parametrize("mode", ERAS)
def test_over_http(database: str, mode: Mode) -> None:
    with http_server(SERVERS / "issues.py", TOOLWORTHY_DATABASE=database) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        assert call(url, "create_issue", NEW, mode)["issue"]["title"] == "Login fails"
        assert raw(url, "get_issue", {"issue_id": "ISS-0"}, mode).is_error
