"""The database that is migrated: which it is, and a transaction on it.

`TOOLWORTHY_MIGRATE` is its SQLAlchemy URL: SQLite or PostgreSQL, since both can undo a change of the schema. Without
it: `sample_shop.db` beside the servers' own database, made on first use. It is read at each use.
`TOOLWORTHY_TIME_LIMIT` is how long to wait for a connection or a lock.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from servers.backends import storage
from servers.backends.errors import BackendError, Forbidden, UpstreamDown
from servers.backends.upstream import time_limit

# How a transaction begins. What only reads can't write, whatever it is asked; what writes doesn't wait for long.
_BEGIN = {
    ("sqlite", False): ["pragma query_only = on", "begin"],
    ("sqlite", True): ["begin immediate"],
    ("postgresql", False): [
        "set transaction isolation level repeatable read, read only",
        "set local statement_timeout = '30s'",
    ],
    ("postgresql", True): [
        "set local lock_timeout = {milliseconds}",
        "set local standard_conforming_strings = on",  # so that a backslash in a text is a backslash
        "select pg_advisory_xact_lock(7031989)",  # any number that nobody else uses: one migration at a time
    ],
}
# After these the same statement may succeed later: locked or out of resources; in PostgreSQL's classes: no connection,
# rolled back for another's sake, out of resources, in use, shut down.
_PASSING = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL}
_PASSING_CLASSES = {"08", "40", "53", "55", "57"}
_FORBIDDING = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, "42501", "25006"}


@contextmanager
def connected(write: bool = False) -> Iterator[sa.Connection]:
    """A transaction: one that can only read, or all or nothing of what is written.

    Raises:
        UpstreamDown: The database can't be reached or is too busy. Nothing happened, unless it was lost in the commit.
        Forbidden: The account may not, or it is the servers' own database. Nothing happened.
        DBAPIError: It refused a statement. Nothing happened.
        ValueError: TOOLWORTHY_MIGRATE names no such database.
    """
    made = _engine()
    try:
        with made.begin() as connection:
            for statement in _BEGIN[made.dialect.name, write]:
                connection.exec_driver_sql(statement.format(milliseconds=int(time_limit() * 1000)))
            if storage.metadata.tables.keys() <= set(sa.inspect(connection).get_table_names()):
                raise Forbidden("This database holds the server's own plans and audit log: a person must name another.")
            yield connection
    except DBAPIError as error:
        code = _code(error)
        if code in _FORBIDDING:
            raise Forbidden(
                "The server's account in the database may not do this. Nothing was changed; a person must grant it."
            ) from error
        if code in _PASSING or str(code)[:2] in _PASSING_CLASSES:
            raise UpstreamDown("The database to migrate can't be reached or is too busy.") from error
        raise


def _code(error: DBAPIError) -> int | str:
    if isinstance(error.orig, sqlite3.Error):
        return getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return getattr(error.orig, "sqlstate", None) or "08000"  # without a code there is no connection


def _engine() -> sa.Engine:
    url = _url()
    kind = url.get_backend_name()
    if kind == "sqlite" and not Path(url.database or "").is_file():  # SQLite would make it
        raise UpstreamDown("The file of the database to migrate isn't there.")
    arguments: dict[str, dict[str, Any]] = {
        "sqlite": {"timeout": time_limit(), "isolation_level": None},  # or Python would begin transactions, too late
        "postgresql": {"connect_timeout": max(2, int(time_limit()))},
    }
    try:
        return sa.create_engine(url, poolclass=sa.NullPool, connect_args=arguments[kind])
    except (KeyError, NoSuchModuleError) as error:
        raise ValueError("TOOLWORTHY_MIGRATE must name a SQLite or a PostgreSQL database.") from error
    except ModuleNotFoundError as error:
        raise ValueError(
            f"The driver of that database isn't installed (module {error.name}); "
            "for PostgreSQL: pip install 'psycopg[binary]'."
        ) from error


def _url() -> sa.URL:
    try:
        return sa.make_url(os.environ.get("TOOLWORTHY_MIGRATE") or _sample())
    except ArgumentError as error:
        raise ValueError(
            "TOOLWORTHY_MIGRATE must be a URL such as sqlite:////path/to/file.db or "
            "postgresql+psycopg://user@host/name."
        ) from error


def _sample() -> str:
    own = sa.make_url(storage.url())
    if own.get_backend_name() == "sqlite" and own.database:
        folder = Path(own.database).absolute().parent
    else:
        folder = storage.home()
    try:
        _make_sample(folder / "sample_shop.db")
    except (OSError, sqlite3.Error) as error:
        raise UpstreamDown("The sample database can't be made, or is busy.") from error
    return f"sqlite:///{folder / 'sample_shop.db'}"


def _make_sample(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    empty = "select not exists (select 1 from sqlite_master)"
    with closing(sqlite3.connect(file, isolation_level=None, timeout=time_limit())) as made:
        if made.execute(empty).fetchone()[0]:
            made.execute("begin immediate")
            if made.execute(empty).fetchone()[0]:  # nobody else was faster
                for statement in Path(__file__).with_name("sample_shop.sql").read_text("utf-8").split(";\n"):
                    made.execute(statement)
            made.execute("commit")


def check() -> None:
    """Whether the database can be used.

    Raises:
        ValueError: It can't; the text says what to do and shows no password.
    """
    try:
        with connected():
            pass
    except (BackendError, SQLAlchemyError, sqlite3.Error, OSError) as error:
        given = os.environ.get("TOOLWORTHY_MIGRATE")
        name = sa.make_url(given).set(query={}).render_as_string(hide_password=True) if given else "the sample shop"
        cause = getattr(error.__cause__, "orig", None) or error.__cause__ or error
        raise ValueError(
            f"The database to migrate, {name}, can't be used ({str(cause).strip().splitlines()[0].rstrip('.')}): "
            "start it, or set TOOLWORTHY_MIGRATE."
        ) from error
