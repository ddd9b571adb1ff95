"""The audit log: who called what, with which arguments, and what came of it. It can be added to and nothing else.

Every call leaves a line when it has ended: done, preview, refused (arguments or rules) or failed. A call of a tool that
may write leaves one before it begins as well; where that can't be written, the call isn't made. So no effect is without
a line, even if the server dies in the middle. Secrets are taken out, long texts cut.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import anyio
import sqlalchemy as sa
from fastmcp.server.dependencies import get_access_token
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams
from opentelemetry import trace

from servers.backends import clock
from servers.backends.errors import BackendError
from servers.backends.failures import describe, failed, trace_id
from servers.backends.masking import without_secrets
from servers.backends.storage import Instant, Row, metadata, reading, writing

_log = sa.Table(
    "audit_log",
    metadata,
    sa.Column("line", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("at", Instant, nullable=False),
    sa.Column("trace_id", sa.String, nullable=False),
    sa.Column("caller", sa.String, nullable=False),
    sa.Column("server", sa.String, nullable=False),
    sa.Column("tool", sa.String, nullable=False),
    sa.Column("arguments", sa.JSON, nullable=False),
    sa.Column("outcome", sa.String, nullable=False),
    sa.Column("error_category", sa.String),
    sa.Column("summary", sa.JSON),
    sa.Column("duration_ms", sa.Float),
)

# The database itself refuses to change or delete a line, whoever asks (but for the owner who drops the trigger).
for _name in ("update", "delete"):
    sa.event.listen(
        _log,
        "after_create",
        sa.DDL(  # type: ignore[no-untyped-call]
            f"create trigger audit_log_no_{_name} before {_name} on audit_log "
            "begin select raise(abort, 'the audit log is append-only'); end"
        ).execute_if(dialect="sqlite"),
    )
_REFUSE = """
create or replace function audit_log_is_append_only() returns trigger language plpgsql as
$$ begin raise exception 'the audit log is append-only'; end $$;
create trigger audit_log_append_only before update or delete or truncate on audit_log
for each statement execute function audit_log_is_append_only();
"""
sa.event.listen(_log, "after_create", sa.DDL(_REFUSE).execute_if(dialect="postgresql"))  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Line:
    """One line. `outcome`: begun, done, preview, refused or failed; `summary` is the result without long texts."""

    at: datetime
    trace_id: str
    caller: str
    server: str
    tool: str
    arguments: dict[str, Any]
    outcome: str
    error_category: str | None = None
    summary: Any = None
    duration_ms: float | None = None


def append(line: Line) -> None:
    """Add one line.

    Raises:
        UpstreamDown: The database failed.
    """
    with writing() as connection:
        connection.execute(_log.insert().values(asdict(line)))


def lines(tool: str | None = None) -> list[Row]:
    """The lines so far, the oldest first; for whoever operates the server, not a tool."""
    asked = sa.select(_log).order_by(_log.c.line)
    with reading() as connection:
        found = connection.execute(asked.where(_log.c.tool == tool) if tool else asked)
        return [dict(row) for row in found.mappings()]


class Audit(Middleware):
    """Writes the log; the outermost middleware, so that it sees what the caller gets.

    Args:
        also: Given every line that ends a call as well, such as a function that prints it.
    """

    def __init__(self, also: Callable[[Line], None] | None = None) -> None:
        self.also = also

    async def on_call_tool(
        self, context: MiddlewareContext[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, ToolResult]
    ) -> ToolResult:
        began, server = time.perf_counter(), context.fastmcp_context
        tool = await server.fastmcp.get_tool(context.message.name) if server else None
        common = {
            "trace_id": _trace_id(),
            "caller": caller(),
            "server": server.fastmcp.name if server else "",
            "tool": context.message.name[:200],
            "arguments": without_secrets(context.message.arguments or {}),
        }
        trace_id.set(common["trace_id"])
        if tool and not (tool.annotations and tool.annotations.read_only_hint):
            try:
                await anyio.to_thread.run_sync(lambda: append(Line(at=clock.now(), outcome="begun", **common)))
            except BackendError as error:
                return failed(describe(error))
        result: ToolResult | None = None
        problem: BaseException | None = None
        try:
            result = await call_next(context)
            return result
        except BaseException as error:
            problem = error
            raise
        finally:
            fields = _outcome(result, problem)
            milliseconds = round((time.perf_counter() - began) * 1000, 1)
            with anyio.CancelScope(shield=True):  # a call that was given up may have had its effect all the same
                await anyio.to_thread.run_sync(lambda: self._end(common, fields, milliseconds))

    def _end(self, common: Row, fields: Row, milliseconds: float) -> None:
        try:
            line = Line(at=clock.now(), **common, **fields, duration_ms=milliseconds)
            _mark_span(line)
            if self.also:
                self.also(line)
            append(line)
        except BackendError:
            # What was done is done, and the caller's answer is worth more. Of a tool that may write, "begun" is there.
            logging.getLogger(__name__).exception("The audit log could not be written")


def _outcome(result: ToolResult | None, problem: BaseException | None) -> Row:
    content = result.structured_content if result else None
    if result is None:  # the protocol's own error, as for an unknown tool; or nobody foresaw it
        refused = isinstance(problem, MCPError)
        return {"outcome": "refused" if refused else "failed", "summary": type(problem).__name__}
    if result.is_error:
        category = (content or {}).get("errorCategory", "internal")
        outcome = "failed" if category in ("transient", "internal") else "refused"
        return {"outcome": outcome, "error_category": category, "summary": without_secrets(content)}
    preview = bool(content and content.get("dry_run"))
    return {"outcome": "preview" if preview else "done", "summary": _short(content)}


def _short(content: Any) -> Any:
    """What a result was about: lists as their length, texts without what is secret."""
    if isinstance(content, dict):
        return {
            key: f"{len(each)} entries" if isinstance(each, list) else without_secrets(each, key)
            for key, each in content.items()
        }
    return without_secrets(content)


def _mark_span(line: Line) -> None:
    """The outcome for those who look at traces, without a word of the arguments."""
    span = trace.get_current_span()
    span.set_attributes({"toolworthy.caller": line.caller, "toolworthy.outcome": line.outcome})
    if line.outcome in ("refused", "failed"):
        category = line.error_category or "internal"
        span.set_attributes({"error.type": "tool_error", "toolworthy.error.category": category})
        span.set_status(trace.StatusCode.ERROR, category)


def _trace_id() -> str:
    """The trace that this call belongs to, where there is one."""
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else uuid.uuid4().hex


def caller() -> str:
    """Who makes this call: the client that the access token names; "local" where there is no login, as on stdio."""
    token = get_access_token()
    return token.client_id if token else "local"
