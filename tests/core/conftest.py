from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.core.servers import FILES


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with all the server files."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    return tmp_path
