"""Failures as an agent can act on them: one shape for all servers, made in one place.

A tool raises what happened (`errors`); the caller gets a result with `isError`, these fields, and the same as JSON
text:

| field | |
| --- | --- |
| errorCategory | transient, validation, business or permission; internal for a fault of the server itself |
| isRetryable | the same call, unchanged, may succeed later: true for transient only |
| message | one or two sentences: what happened, and what to do |
| problems | with validation: [{field, problem}] |
| suggestions | values that would do better, the best first |
| retryAfterSeconds | with transient, where it is known |
| traceId | with internal: what the logs call this call |
"""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from fastmcp.exceptions import NotFoundError, ToolError, ValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams
from pydantic import ValidationError as PydanticValidationError

from servers.backends.errors import BackendError, DomainError, Forbidden, NotFound, Refused, UpstreamError, WrongRequest

Json = dict[str, Any]

# What the logs call the call that is being worked on.
trace_id: ContextVar[str] = ContextVar("trace_id", default="")

_CATEGORIES: dict[type[BackendError], str] = {
    UpstreamError: "transient",
    NotFound: "validation",
    WrongRequest: "validation",
    Refused: "business",
    Forbidden: "permission",
}


class StructuredErrors(Middleware):
    """Turns what a tool raises into a result; an unknown tool into the protocol's own error, as the spec has it."""

    async def on_call_tool(
        self, context: MiddlewareContext[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, ToolResult]
    ) -> ToolResult:
        if _has_half_characters(context.message.arguments):  # FastMCP would stumble over it
            problem = {"field": "(any)", "problem": "a text has half a surrogate pair, which is no character"}
            return failed(_validation([problem]))
        try:
            return await call_next(context)
        except NotFoundError:
            server = context.fastmcp_context
            names = [tool.name for tool in await server.fastmcp.list_tools()] if server else []
            raise MCPError(INVALID_PARAMS, _unknown_tool(context.message.name, names)) from None
        except ValidationError as error:
            if not isinstance(error.__cause__, PydanticValidationError):
                raise
            accepted = await _parameters(context)
            return failed(_bad_arguments(error.__cause__, accepted))
        except BackendError as error:  # from a guard: FastMCP wraps only what a tool raises
            return failed(describe(error))
        except ToolError as error:
            if error.__cause__ is None:
                raise
            return failed(describe(error.__cause__))


def describe(error: BaseException) -> Json:
    """The fields for an exception. Of one that isn't a BackendError nothing is told: it may have anything in it."""
    category = next((word for kind, word in _CATEGORIES.items() if isinstance(error, kind)), "internal")
    if category == "internal":
        message = (
            "The server has a fault of its own and could not finish this call. It is not the arguments, and the same "
            "call will fail again: tell a person, with the trace id."
        )
        return {"errorCategory": category, "isRetryable": False, "message": message, "traceId": trace_id.get()}
    fields: Json = {"errorCategory": category, "isRetryable": category == "transient", "message": _advice(error)}
    if isinstance(error, UpstreamError) and error.retry_after_seconds is not None:
        fields["retryAfterSeconds"] = error.retry_after_seconds
    if isinstance(error, DomainError) and error.suggestions:
        fields["suggestions"] = list(error.suggestions)
    return fields


def failed(fields: Json) -> ToolResult:
    """The result that carries these fields, as structure and as text."""
    return ToolResult(content=json.dumps(fields, ensure_ascii=False), structured_content=fields, is_error=True)


def _advice(error: BaseException) -> str:
    text = str(error)
    if not isinstance(error, UpstreamError):
        return text
    seconds = error.retry_after_seconds
    when = f"in {seconds} s" if seconds is not None else "in a few seconds"
    return f"{text} Send the same call again {when}, unchanged; after three tries, tell a person."


def _unknown_tool(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name[:100], names, n=1)
    return (
        f"Unknown tool: {name[:100]!r}. {f'Did you mean {close[0]}?' if close else 'tools/list says which there are.'}"
    )


async def _parameters(context: MiddlewareContext[CallToolRequestParams]) -> list[str]:
    server = context.fastmcp_context
    tool = await server.fastmcp.get_tool(context.message.name) if server else None
    return list(tool.parameters.get("properties", {})) if tool else []


def _bad_arguments(error: PydanticValidationError, accepted: list[str]) -> Json:
    # Without the input: a model knows what it sent, and it may be a secret.
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return _validation([_problem(each["loc"], each["type"], each["msg"], accepted) for each in found])


def _validation(problems: list[Json]) -> Json:
    text = "; ".join(f"{each['field']}: {each['problem']}" for each in problems)
    message = f"Nothing was done. Repair the arguments and make a new call: {text}."
    return {"errorCategory": "validation", "isRetryable": False, "message": message, "problems": problems}


def _has_half_characters(arguments: Json | None) -> bool:
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _problem(place: Iterable[int | str], kind: str, message: str, accepted: list[str]) -> Json:
    field = ".".join(str(part)[:100] for part in place)
    if kind == "missing_argument":
        return {"field": field, "problem": "is required"}
    if kind == "unexpected_keyword_argument":
        close = difflib.get_close_matches(field, accepted, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(accepted) or 'none'}"
        return {"field": field, "problem": f"there is no such argument; {hint}"}
    return {"field": field, "problem": message.removeprefix("Value error, ")}


class _Foreseen(logging.Filter):
    """Refusals and outages are answers, and in the audit log; FastMCP would log each with its traceback as an error."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], BackendError))


def keep_foreseen_out_of_the_log() -> None:
    """From now on only what nobody foresaw gets a traceback on stderr."""
    log = logging.getLogger("fastmcp.server.server")
    if not any(isinstance(each, _Foreseen) for each in log.filters):
        log.addFilter(_Foreseen())
