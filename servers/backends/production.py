"""A server with the guards that the checklist asks for: the first line of every server that is meant to last."""

from __future__ import annotations

from collections.abc import Sequence

import fastmcp
from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware

from servers.backends import storage
from servers.backends.audit import Audit
from servers.backends.failures import StructuredErrors, keep_foreseen_out_of_the_log
from servers.backends.serve import Need
from servers.backends.telemetry import Traced

DATABASE = Need(
    "a database: a SQLite file by default, another by its URL in TOOLWORTHY_DATABASE "
    "(postgresql+psycopg://user@host/name)",
    storage.check,
)


def production(
    name: str,
    instructions: str,
    *guards: Middleware,
    answers: Sequence[Middleware] = (),
    audit: Audit | None = None,
) -> FastMCP:
    """A server whose defaults are those of the checklist.

    - Arguments are taken as the schema has them: no "5" for 5.
    - What goes wrong comes out structured (`failures`), and nothing internal with it.
    - Every call is in the audit log (`audit`), and no argument is in a trace.
    - Over HTTP, Host and Origin are checked, also under `fastmcp run`.

    Args:
        name: The server's name.
        instructions: What it is for, and what not.
        guards: See each call before its tool does; what they raise comes out structured too.
        answers: See each answer, a failure too, on its way out; the audit log has what they make of it.
        audit: The audit log, where it is to do more than usual.
    """
    keep_foreseen_out_of_the_log()
    fastmcp.settings.http_host_origin_protection = "auto"  # off by default: any web page here could call us
    return FastMCP(
        name,
        instructions=instructions,
        middleware=[audit or Audit(), *answers, StructuredErrors(), Traced(), *guards],
        mask_error_details=True,
        strict_input_validation=True,
        on_duplicate="error",
    )
