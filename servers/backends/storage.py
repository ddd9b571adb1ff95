"""What a server stores: tables in a SQLite file, or in PostgreSQL by URL, through the same code.

`TOOLWORTHY_DATABASE` is an SQLAlchemy URL, such as `postgresql+psycopg://me@localhost/tools`. Without it: the file
`servers.db` in `TOOLWORTHY_HOME`, else in the user's data folder. It is read at each use. Tables are made when they are
first needed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import platformdirs
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, InterfaceError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from servers.backends.errors import UpstreamDown

Row = dict[str, Any]

metadata = sa.MetaData()
_first_rows: dict[sa.Table, Sequence[Row]] = {}
_engines: dict[tuple[int, str], sa.Engine] = {}
_ready: dict[sa.Engine, set[str]] = {}
_lock = threading.Lock()

# How long one server waits for another's writing before it says that the database is busy.
PATIENCE_SECONDS = 30
# Any number that nobody else uses: makes processes that start together create the tables one after the other.
_ADVISORY_LOCK = 7_031_988


class Instant(sa.TypeDecorator[datetime]):
    """A moment in UTC, the same on databases with and without time zones."""

    impl = sa.DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return value and value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return value and value.replace(tzinfo=UTC)


def home() -> Path:
    """The folder of the databases that nobody chose: TOOLWORTHY_HOME, else the user's data folder."""
    return Path(os.environ.get("TOOLWORTHY_HOME") or platformdirs.user_data_dir("toolworthy", appauthor=False))


def url() -> str:
    """The database's URL. May have a password in it: not to be shown."""
    return os.environ.get("TOOLWORTHY_DATABASE") or f"sqlite:///{home().absolute() / 'servers.db'}"


def engine(address: str | None = None) -> sa.Engine:
    """The connections to a database, made once for each address and process.

    Raises:
        ValueError: That is no URL of a database, or its driver isn't installed.
    """
    address = address or url()
    key = os.getpid(), address  # after a fork, two processes must not share a connection
    with _lock:
        if key not in _engines:
            try:
                made = sa.create_engine(address, pool_size=10, max_overflow=40, pool_timeout=PATIENCE_SECONDS)
            except (ArgumentError, NoSuchModuleError) as error:
                raise ValueError(
                    "The database's address must be a URL such as sqlite:////path/to/file.db or "
                    "postgresql+psycopg://user@host/name."
                ) from error
            except ModuleNotFoundError as error:
                raise ValueError(
                    f"The driver of that database isn't installed (module {error.name}); "
                    "for PostgreSQL: pip install 'psycopg[binary]'."
                ) from error
            if made.dialect.name == "sqlite":
                with suppress(OSError):  # then it can't be opened either, and that is said
                    Path(made.url.database or ".").parent.mkdir(parents=True, exist_ok=True)
                _set_up_sqlite(made)
            _engines[key] = made
        return _engines[key]


def _set_up_sqlite(made: sa.Engine) -> None:
    turn = threading.Lock()  # in one process writers queue here, which is fairer and faster than SQLite's own waiting

    @event.listens_for(made, "connect")
    def _connect(connection: Any, _: object) -> None:
        connection.isolation_level = None  # or Python would begin transactions by itself, too late
        connection.execute(f"pragma busy_timeout = {PATIENCE_SECONDS * 1000}")
        connection.execute("pragma journal_mode = wal")  # readers and a writer don't wait for each other
        connection.execute("pragma foreign_keys = on")

    @event.listens_for(made, "begin")
    def _begin(connection: sa.Connection) -> None:
        # "immediate" takes the right to write at once; taking it later fails when another has written meanwhile.
        connection.exec_driver_sql("begin immediate" if connection.get_execution_options().get("write") else "begin")

    made.update_execution_options(turn=turn)


@contextmanager
def reading() -> Iterator[sa.Connection]:
    """A transaction that only reads.

    Raises:
        UpstreamDown: The database can't be reached, or is busy for longer than PATIENCE_SECONDS.
    """
    with _transaction(engine(), write=False) as connection:
        yield connection


@contextmanager
def writing() -> Iterator[sa.Connection]:
    """A transaction that writes: all of it, or nothing when the block raises.

    Raises:
        UpstreamDown: The database can't be reached, or is busy for longer than PATIENCE_SECONDS.
    """
    with _transaction(engine(), write=True) as connection:
        yield connection


@contextmanager
def _transaction(made: sa.Engine, write: bool) -> Iterator[sa.Connection]:
    try:
        if not metadata.tables.keys() <= _ready.get(made, set()):
            _make_tables(made)
        with _turn(made, write), made.connect().execution_options(write=write) as connection, connection.begin():
            yield connection
    except (OperationalError, InterfaceError, PoolTimeout) as error:
        raise UpstreamDown("The database can't be reached or is too busy.") from error


def _turn(made: sa.Engine, write: bool) -> Any:
    return made.get_execution_options().get("turn", nullcontext()) if write else nullcontext()


def insert_new(connection: sa.Connection, table: sa.Table, row: Mapping[str, Any]) -> bool:
    """Insert a row unless one with the same key is there; waits for others that are inserting it. Whether it did."""
    dialect = {"sqlite": sqlite, "postgresql": postgresql}[connection.dialect.name]
    statement = dialect.insert(table).values(**row).on_conflict_do_nothing().returning(sa.literal(1))
    return connection.execute(statement).first() is not None


def starts_with(table: sa.Table, rows: Sequence[Row]) -> None:
    """Rows that a table has when it is made."""
    _first_rows[table] = rows


def _make_tables(made: sa.Engine) -> None:
    with _turn(made, True), made.connect().execution_options(write=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        there = set(sa.inspect(connection).get_table_names())
        missing = [table for table in metadata.sorted_tables if table.name not in there]
        metadata.create_all(connection, missing, checkfirst=False)
        for table in missing:
            if table in _first_rows:
                connection.execute(table.insert(), _first_rows[table])
    _ready[made] = set(metadata.tables)


def check() -> None:
    """Whether the database can be used.

    Raises:
        ValueError: It can't; the text says what to do and shows no password.
    """
    made = engine()
    try:
        _make_tables(made)
    except SQLAlchemyError as error:
        raise ValueError(
            f"The database {made.url.render_as_string(hide_password=True)} can't be used "
            f"({_reason(error)}): start it, or set TOOLWORTHY_DATABASE."
        ) from error


def _reason(error: SQLAlchemyError) -> str:
    lines = str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
