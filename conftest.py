"""One home for every notebook and test, and no skipped test where nothing may be skipped."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("FASTMCP_CHECK_FOR_UPDATES", "off")
_HOMES = tempfile.TemporaryDirectory(prefix="toolworthy-homes-")  # removed when the process ends


@pytest.fixture(autouse=True)
def own_home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of its own for what toolworthy keeps, so that no test sees a person's progress or another test's."""
    before = os.environ.get("TOOLWORTHY_HOME")
    home = tmp_path_factory.mktemp("home")
    os.environ["TOOLWORTHY_HOME"] = str(home)
    yield home
    if before is None:
        del os.environ["TOOLWORTHY_HOME"]
    else:
        os.environ["TOOLWORTHY_HOME"] = before


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The same for notebooks, which know no fixtures: their kernel starts right after this, with this environment."""
    if item.path.suffix == ".ipynb":
        os.environ["TOOLWORTHY_HOME"] = str(Path(_HOMES.name) / item.path.parent.name / item.path.stem)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """With TOOLWORTHY_NO_SKIP (set by .ci/run) a skipped test has failed: all that it needs is installed there."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if os.environ.get("TOOLWORTHY_NO_SKIP") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped where nothing may be: {report.longrepr}"
