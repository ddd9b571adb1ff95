"""Point 8: the four hints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_types import Tool

from toolworthy.rules.base import Rule

_HINTS = {
    "readOnlyHint": ("read_only_hint", "may write"),
    "destructiveHint": ("destructive_hint", "may destroy"),
    "idempotentHint": ("idempotent_hint", "may not be safe to repeat"),
    "openWorldHint": ("open_world_hint", "reaches the outside world"),
}


def _explicit(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    missing = {name: means for name, (field, means) in _HINTS.items() if getattr(tool.annotations, field, None) is None}
    if missing:
        yield f"{', '.join(missing)} not given; by the defaults the tool {', '.join(missing.values())}"


def _consistent(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    hints = tool.annotations
    if hints and hints.read_only_hint and hints.destructive_hint:
        yield "readOnlyHint and destructiveHint are both true: what only reads destroys nothing"


RULES = [
    Rule("hints-explicit", 8, "The defaults assume the worst, so a host asks before every call and people switch asking off.", "Give all four hints.", "09", _explicit),
    Rule("hints-consistent", 8, "A contradiction is read as whichever half the host looks at.", "destructiveHint: false where readOnlyHint is true.", "09", _consistent),
]  # fmt: skip
