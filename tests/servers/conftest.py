"""What servers stand on, for real: a SQLite file or a PostgreSQL of this test run, and a world that is looked at."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from servers.backends.world import World, asking


def _postgres_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    onpath = shutil.which("pg_ctl")
    return found[-1] if found else Path(onpath).parent if onpath else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server of our own, without a database's name at its end."""
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL isn't installed (Debian: apt install postgresql)")
    # It refuses to run as root; Debian's package has made a user for it.
    user = ["runuser", "-u", "postgres", "--"] if os.name == "posix" and os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        if user:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"

        def run(*command: str) -> None:
            subprocess.run([*user, *command], check=True, cwd=folder, capture_output=True, timeout=60)

        run(str(programs / "initdb"), "-D", data, "-U", "me", "-A", "trust", "--no-sync", "-E", "UTF8")
        options = f"-k {folder} -c listen_addresses='' -c max_connections=300"
        run(str(programs / "pg_ctl"), "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql+psycopg://me@/{{}}?host={folder}"
        finally:
            run(str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "stop")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty database, of each kind; TOOLWORTHY_DATABASE names it."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'servers.db'}"
    else:
        url = new_database(request.getfixturevalue("postgres"))
    monkeypatch.setenv("TOOLWORTHY_DATABASE", url)
    return url


def new_database(postgres: str) -> str:
    """The URL of a new, empty database on that server."""
    import sqlalchemy as sa

    name = f"t{secrets.token_hex(6)}"
    made = sa.create_engine(postgres.format("postgres"), isolation_level="AUTOCOMMIT")
    with made.connect() as connection:
        connection.exec_driver_sql(f"create database {name}")
    made.dispose()
    return postgres.format(name)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world inside this process that servers of this process act on, and time that stands still in it."""
    monkeypatch.delenv("TOOLWORTHY_WORLD", raising=False)
    monkeypatch.delenv("TOOLWORTHY_WEATHER", raising=False)
    world = World()
    monkeypatch.setattr(asking, "local_world", world)
    return world


@pytest.fixture
def served_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world over its socket, as TOOLWORTHY_WORLD names it to this process: its clock is everybody's."""
    world = World()
    with world.serve() as address:
        monkeypatch.setenv("TOOLWORTHY_WORLD", address)
        yield world


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Whatever spans end from now on, of client and server alike."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    # The API lets a process set a provider once, and whoever has traced remembers it: later tests would be traced too.
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.setattr(trace.ProxyTracer, "_tracer", property(lambda _: provider.get_tracer("tests")))
    return exporter
