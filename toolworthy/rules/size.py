"""The size of `tools/list`: what every conversation pays before the first question."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from mcp_types import Tool

from toolworthy.rules.base import Rule

TOOL_BYTES = 4_000  # about 1,000 tokens for one tool
SERVER_BYTES = 40_000  # about 10,000 tokens, where deferring tools begins to pay (facts in lesson 02)


def size(tools: Sequence[Tool]) -> int:
    """Bytes of the tool definitions as JSON, as `tools/list` carries them (without the envelope)."""
    listed = [t.model_dump(by_alias=True, mode="json", exclude_none=True) for t in tools]
    return len(json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode())


def _tool_size(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    if (bytes_ := size([tool])) > TOOL_BYTES:
        yield f"its definition has {bytes_:,} bytes; {TOOL_BYTES:,} is the budget for one tool"


def _server_size(tools: Sequence[Tool]) -> Iterator[str]:
    if (bytes_ := size(tools)) > SERVER_BYTES:
        yield f"the list of {len(tools)} tools has {bytes_:,} bytes; {SERVER_BYTES:,} is the budget for one server"


RULES = [
    Rule("size-tool", 2, "Each definition is read in every conversation, used or not.", "Say it shorter; move detail into parameter descriptions.", "02", _tool_size),
    Rule("size-server", 2, "Six servers once took half of a context before the first question.", "Fewer tools, shorter texts.", "02", look_at_all=_server_size),
]  # fmt: skip
