"""Call a tool as a host does, and look at the whole answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from fastmcp import Client
from mcp_types import CallToolResult, Tool

from tests.servers.running import ERAS, Mode

Json = dict[str, Any]


def call(target: Any, tool: str, arguments: Mapping[str, Any], mode: Mode = "auto") -> Json:
    """The structured result of a call that must succeed; its text must say the same."""
    result = raw(target, tool, arguments, mode)
    assert not result.is_error, result.content
    return _both_forms(result)


def fail(target: Any, tool: str, arguments: Mapping[str, Any], mode: Mode = "auto") -> Json:
    """The structured failure of a call that must fail; its text must say the same."""
    result = raw(target, tool, arguments, mode)
    assert result.is_error, result.content
    failure = _both_forms(result)
    assert failure["isRetryable"] is (failure["errorCategory"] == "transient")
    assert failure["message"]
    return failure


def raw(target: Any, tool: str, arguments: Mapping[str, Any], mode: Mode = "auto") -> CallToolResult:
    """The result as it came, an error too."""

    async def run() -> CallToolResult:
        async with Client(target, mode=mode) as client:
            assert client.protocol_version == ERAS[mode]
            return await client.call_tool_mcp(tool, dict(arguments))

    return asyncio.run(run())


def _both_forms(result: CallToolResult) -> Json:
    (block,) = result.content
    assert json.loads(block.text) == result.structured_content, "text and structure differ"
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def listed(target: Any, mode: Mode = "auto") -> list[Tool]:
    """What `tools/list` says."""

    async def run() -> list[Tool]:
        async with Client(target, mode=mode) as client:
            return await client.list_tools()

    return asyncio.run(run())
