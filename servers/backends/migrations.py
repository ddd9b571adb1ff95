"""Plans of changes to a database's schema: made from what is in it, stored here, executed once.

Two databases take part. Plans are in the servers' own; what they change is another, so no transaction has both. An
execution is claimed under the plan's id before it begins and settled when it has ended (`keys`). Whoever finds a claim
that was never settled can't know whether its effect was had, and leaves it alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from servers.backends import clock, keys
from servers.backends import migrations_schema as schema
from servers.backends.errors import NotFound, Refused
from servers.backends.migrations_changes import Change, Draft, require
from servers.backends.migrations_database import connected
from servers.backends.storage import Instant, Row, metadata, reading, writing

LIFETIME = timedelta(minutes=15)
# An execution that is silent for so long is taken for dead. If it isn't, it still ends, and nobody begins another.
BUSY = timedelta(minutes=2)
MOST_TABLES = 20
MOST_NAMES = 500

STALE = "The schema has changed since this plan was made, and nothing was done. Call plan_migration again."
LOST = (
    "An execution of this plan began and never said how it ended: nobody knows whether it changed the database. It is "
    "not run again. Look with inspect_schema, then plan what is missing."
)

_plans = sa.Table(
    "migration_plans",
    metadata,
    sa.Column("plan_id", sa.String, primary_key=True),
    sa.Column("statements", sa.JSON, nullable=False),
    sa.Column("tables", sa.JSON, nullable=False),
    sa.Column("schema_fingerprint", sa.String, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
)


def inspect(wanted: Sequence[str] | None) -> Row:
    """The names of all tables and views, and these tables in detail; without names the first MOST_TABLES.

    Raises:
        NotFound: There is no such table.
    """
    with connected() as connection:
        tables, views = schema.tables(connection), schema.views(connection)
        for name in wanted or ():
            require("table", name, tables)
        return {
            "database": connection.dialect.name,
            "schema_fingerprint": schema.fingerprint(connection),
            "table_names": tables[:MOST_NAMES],
            "view_names": views[:MOST_NAMES],
            "table_count": len(tables),
            "tables": [schema.describe(connection, name) for name in wanted or tables[:MOST_TABLES]],
        }


def plan(changes: Sequence[Change]) -> Row:
    """Store the statements that make these changes, one after the other; nothing happens to the database.

    Raises:
        NotFound: A change speaks of something that isn't there.
        Refused: A change is impossible.
    """
    with connected() as connection:
        fingerprint = schema.fingerprint(connection)
        draft = Draft(connection)
        statements = [draft.statement(change) for change in changes]
        problem = schema.rehearse(connection, statements)
    if problem:
        raise Refused(f"SQLite can't do that: {problem}. Change what is in the way first, or plan something else.")
    plan_id, expires_at = f"plan_{secrets.token_hex(16)}", clock.now() + LIFETIME
    row = {"plan_id": plan_id, "statements": statements, "schema_fingerprint": fingerprint, "expires_at": expires_at}
    with writing() as connection:
        connection.execute(_plans.insert().values(**row, tables=sorted(draft.tables)))
    touched = [{"table": name, "rows": table.rows, "lost_columns": table.lost} for name, table in draft.tables.items()]
    return {**row, "touched": touched, "loses_data": any(table["lost_columns"] for table in touched)}


def execute(plan_id: str) -> Row:
    """Run a plan's statements, all or none, unless that was done before.

    Raises:
        NotFound: There is no such plan.
        Refused: It has expired, is stale, was tried before, or the database says no. Nothing happened, but where the
            text says that this isn't known.
        InProgress: It is being executed.
        UpstreamDown, Forbidden: As of `connected`. The plan can still be executed, unless the database was lost in the
            commit.
    """
    with reading() as connection:
        row = connection.execute(sa.select(_plans).where(_plans.c.plan_id == plan_id)).mappings().first()
    if row is None:
        raise NotFound("There is no plan with this id. Call plan_migration, and use the plan_id of its answer.")
    now = clock.now()
    claim = keys.claim("execute_plan", plan_id, {}, "", BUSY)
    before = claim.result
    if before is None and claim.interrupted:
        before = keys.settle(claim, {"refused": LOST})
    if before and "refused" in before:
        raise Refused(before["refused"])
    if before:
        return {**before, "executed_before": True}
    if now >= row["expires_at"]:
        keys.free(claim)
        raise Refused("This plan has expired, and nothing was done. Call plan_migration again.")
    result = _run(claim, row["tables"], row["statements"], row["schema_fingerprint"])
    keys.settle(claim, result)
    return {**result, "executed_before": False}


def _run(claim: keys.Claim, tables: Sequence[str], statements: Sequence[str], planned: str) -> Row:
    statement, committing = "", False
    try:
        with connected(write=True) as connection:
            schema.lock(connection, tables)
            if schema.fingerprint(connection) != planned:
                raise Refused(STALE)
            for statement in statements:
                schema.run(connection, statement)
            result = {"plan_id": claim.key, "statements": statements, "executed_at": clock.now().isoformat()}
            result["schema_fingerprint"] = schema.fingerprint(connection)
            committing = connection.dialect.name == "postgresql"  # SQLite says for sure whether it has committed
    except Refused as refusal:
        raise _use_up(claim, str(refusal)) from None
    except DBAPIError as error:
        if not statement:  # a table to lock is gone
            raise _use_up(claim, STALE) from error
        raise _use_up(
            claim,
            f"The database refused this statement, and all was undone: {statement} -- Rows may be in the way "
            "(duplicates, missing values), or something that depends on it. This plan is used up: call "
            "plan_migration again when the cause is gone.",
        ) from error
    except Exception:
        if not committing:  # else the connection may have been lost after the commit: the claim stays
            keys.free(claim)
        raise
    return result


def _use_up(claim: keys.Claim, sentence: str) -> Refused:
    keys.settle(claim, {"refused": sentence})
    return Refused(sentence)
