"""What happened in a call, for those who run the server: a line of JSON, and a trace.

The line goes where `TOOLWORTHY_CALL_LOG` says: a file, or "stderr", which it is unless told otherwise; never stdout,
which belongs to the protocol. It has what the audit log has.

Traces use OpenTelemetry's API only, so they cost nothing until somebody sets up an SDK. FastMCP makes a span for every
request, and takes the caller's `traceparent` from `_meta`; this module completes it, and adds one for what is asked of
an upstream. The line's `trace_id` is the span's. To export them, no code is needed:

    pip install opentelemetry-distro opentelemetry-exporter-otlp
    OTEL_SERVICE_NAME=flights OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf \\
        OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 \\
        opentelemetry-instrument python servers/flights.py --http 8000
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.telemetry import suppress_fastmcp_telemetry
from fastmcp.tools import ToolResult
from mcp_types import CallToolRequestParams
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode
from pydantic_core import to_jsonable_python

from servers.backends.audit import Line
from servers.backends.errors import BackendError

STDERR = "stderr"


class Traced(Middleware):
    """Names FastMCP's span also where a guard refuses, and keeps FastMCP from writing errors into it.

    FastMCP would record an error with its whole text, and that of a refused argument has its value in it: a password in
    the wrong field would be in the trace. The audit log says what went wrong instead, there and in the span.
    """

    async def on_call_tool(
        self, context: MiddlewareContext[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, ToolResult]
    ) -> ToolResult:
        span, tool = trace.get_current_span(), context.message.name[:200]
        span.update_name(f"tools/call {tool}")
        span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool})
        with suppress_fastmcp_telemetry():
            return await call_next(context)


def report(line: Line) -> None:
    """Write the line of a call; for `Audit(also=report)`. Never raises."""
    text = json.dumps(to_jsonable_python(asdict(line))) + "\n"
    place = os.environ.get("TOOLWORTHY_CALL_LOG") or STDERR
    try:
        if place == STDERR:
            sys.stderr.write(text)
            sys.stderr.flush()
        else:
            with Path(place).open("a", encoding="utf-8") as file:
                file.write(text)
    except (OSError, ValueError):
        logging.getLogger(__name__).exception("The call log could not be written")


def check() -> None:
    """Whether the call log can be written.

    Raises:
        ValueError: It can't.
    """
    place = os.environ.get("TOOLWORTHY_CALL_LOG") or STDERR
    try:
        if place != STDERR:
            Path(place).open("a").close()
    except OSError as error:
        raise ValueError(f"TOOLWORTHY_CALL_LOG: can't write to {place!r} ({error.strerror}).") from error


@contextmanager
def asking(service: str, operation: str) -> Iterator[None]:
    """A span around one question to an upstream. Of an error it has the kind, not the text."""
    tracer = trace.get_tracer("toolworthy")
    with tracer.start_as_current_span(
        operation,
        kind=SpanKind.CLIENT,
        attributes={"service.peer.name": service},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        except Exception as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(StatusCode.ERROR, str(error) if isinstance(error, BackendError) else None)
            raise


def costs(lines: Iterable[Mapping[str, Any]], units: Mapping[str, int]) -> list[dict[str, Any]]:
    """What calls came to, for each caller and tool: {caller, tool, calls, results, ms, units}.

    Args:
        lines: As `audit.lines()` has them.
        units: What a result of each tool costs. Calls without one cost nothing.
    """
    table: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines:
        if line["outcome"] == "begun":
            continue
        key = line["caller"], line["tool"]
        row = table.setdefault(key, {"caller": key[0], "tool": key[1], "calls": 0, "results": 0, "ms": 0.0})
        row["calls"] += 1
        row["results"] += line["outcome"] == "done"
        row["ms"] += line["duration_ms"]
    return [row | {"units": row["results"] * units.get(row["tool"], 0)} for _, row in sorted(table.items())]
