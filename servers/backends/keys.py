"""Idempotency keys: a call that is repeated under its key has its effect once, and gets the first result again.

Two ways to use them. `once` is for an effect in this database: key, effect and result are one transaction. `claim` and
`settle` are for an effect somewhere else: the key is written down before it, the result after it, and between the two a
process may die. Then `claim` hands out the same `reference` again, for the other side to recognise.

A key belongs to one tool. It is remembered for LIFETIME after its first use; later the same key is a new call.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from pydantic_core import to_jsonable_python

from servers.backends import clock
from servers.backends.errors import InProgress, Refused
from servers.backends.storage import Instant, Row, insert_new, metadata, reading, writing

LIFETIME = timedelta(hours=24)

_keys = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("tool", sa.String, primary_key=True),
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("arguments_hash", sa.String, nullable=False),
    sa.Column("reference", sa.String, nullable=False),
    sa.Column("result", sa.JSON(none_as_null=True)),
    sa.Column("busy_until", Instant),
    sa.Column("expires_at", Instant, nullable=False),
)


@dataclass(frozen=True)
class Claim:
    """The right to have an effect under a key, or the result of having had it (`result`, else None).

    `reference` is the same each time the key is claimed. `interrupted`: somebody claimed it before and never said how
    it ended, so the effect may have been had.
    """

    tool: str
    key: str
    reference: str
    result: Row | None = None
    interrupted: bool = False


def once(
    tool: str, key: str, arguments: Mapping[str, Any], effect: Callable[[sa.Connection], Mapping[str, Any]]
) -> tuple[Row, bool]:
    """Have an effect in the database once.

    Args:
        tool: Its name.
        key: Chosen by the caller.
        arguments: What the effect depends on: other ones under the same key are refused.
        effect: Called in the transaction in which the key is written down; its result must be JSON.

    Returns:
        The result of the first call, and whether this call was that one.

    Raises:
        Refused: The key was used with other arguments.
        UpstreamDown: The database failed; nothing happened.
    """
    now = clock.now()
    with writing() as connection:
        stored = _find_or_insert(connection, tool, key, arguments, now)
        if stored and stored["result"] is not None:
            return stored["result"], False
        result = to_jsonable_python(effect(connection))
        connection.execute(_keys.update().where(_is(tool, key)).values(result=result, busy_until=None))
    return result, True


def claim(tool: str, key: str, arguments: Mapping[str, Any], prefix: str, busy: timedelta = timedelta(0)) -> Claim:
    """Write down that an effect is about to be had outside, or find out that it was.

    Args:
        tool, key, arguments: As for `once`.
        prefix: What the reference begins with.
        busy: How long nobody else may claim this key, unless it is settled or freed before: for an other side that
            doesn't recognise a reference. Zero: for one that does.

    Raises:
        Refused: The key was used with other arguments.
        InProgress: Somebody else has claimed it.
        UpstreamDown: The database failed; nothing happened.
    """
    now = clock.now()
    with writing() as connection:
        reference = f"{prefix}{secrets.token_hex(8)}"
        stored = _find_or_insert(connection, tool, key, arguments, now, reference=reference, busy_until=now + busy)
        if stored is None:
            return Claim(tool, key, reference)
        found = _read(stored, now)
        if found.result is None:
            connection.execute(_keys.update().where(_is(tool, key)).values(busy_until=now + busy))
    return found


def look(tool: str, key: str, arguments: Mapping[str, Any]) -> Claim | None:
    """For a preview: what `claim` would find or raise, without claiming anything; None for a new key."""
    now = clock.now()
    with reading() as connection:
        asked = sa.select(_keys).where(_is(tool, key), _keys.c.expires_at > now)
        stored = connection.execute(asked).mappings().first()
    if stored is None:
        return None
    _refuse_others(stored, _hash(arguments))
    return _read(stored, now)


def settle(claim: Claim, result: Mapping[str, Any]) -> Row:
    """Write down the result; whoever claims the key from now on gets it. Returns what is stored: the first result."""
    stored = to_jsonable_python(result)
    with writing() as connection:
        mine = _is(claim.tool, claim.key)
        open_ = connection.execute(_keys.update().where(mine, _keys.c.result.is_(None)).values(result=stored))
        if not open_.rowcount:
            stored = connection.execute(sa.select(_keys.c.result).where(mine)).scalar() or stored
    return stored


def free(claim: Claim) -> None:
    """Say that the effect certainly wasn't had: the key is as good as new, unless somebody else has settled it."""
    mine = sa.and_(_is(claim.tool, claim.key), _keys.c.reference == claim.reference)
    with writing() as connection:
        connection.execute(_keys.delete().where(mine, _keys.c.result.is_(None)))


def _find_or_insert(
    connection: sa.Connection, tool: str, key: str, arguments: Mapping[str, Any], now: datetime, **values: Any
) -> Row | None:
    """The row that was there, locked; None when this call inserted it."""
    arguments_hash = _hash(arguments)
    connection.execute(_keys.delete().where(_is(tool, key), _keys.c.expires_at <= now))
    row = {"reference": "", **values, "tool": tool, "key": key, "arguments_hash": arguments_hash}
    while not insert_new(connection, _keys, {**row, "expires_at": now + LIFETIME}):
        found = connection.execute(sa.select(_keys).where(_is(tool, key)).with_for_update()).mappings().first()
        if found:  # else somebody has just freed it
            _refuse_others(found, arguments_hash)
            return dict(found)
    return None


def _read(stored: Mapping[Any, Any], now: datetime) -> Claim:
    if stored["result"] is None and stored["busy_until"] and stored["busy_until"] > now:
        raise InProgress(f"A call of {stored['tool']} with this key is being worked on.")
    interrupted = stored["busy_until"] is not None
    return Claim(stored["tool"], stored["key"], stored["reference"], stored["result"], interrupted)


def _refuse_others(stored: Mapping[Any, Any], arguments_hash: str) -> None:
    if stored["arguments_hash"] != arguments_hash:
        raise Refused(
            f"This idempotency key belongs to a call of {stored['tool']} with other arguments. Nothing was done now. "
            "To repeat that call, send its arguments; for another one, make a new key."
        )


def _hash(arguments: Mapping[str, Any]) -> str:
    text = json.dumps(to_jsonable_python(dict(arguments)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _is(tool: str, key: str) -> sa.ColumnElement[bool]:
    return sa.and_(_keys.c.tool == tool, _keys.c.key == key)
