"""Toolworthy: look at MCP tools from outside, through the protocol.

In a notebook: `await audit(mcp)`, `await check("02.1", mcp)`, `hint("02.1")`, `progress()`, `reset("02.1")`, and
`async with connect(mcp) as subject` to talk to a server yourself, with `subject.tape` to see the JSON that crossed.
"""

import logging
import os
import sys
import warnings

if "ipykernel" in sys.modules:
    # Failing calls are what lessons are about. Without this each would put a log with local paths into the cell, and a
    # result of another type than annotated a page of warnings; what went wrong is in the result.
    os.environ.setdefault("FASTMCP_LOG_LEVEL", "CRITICAL")
    for _name in ("fastmcp", "mcp", "httpx", "httpx2"):
        logging.getLogger(_name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)

__version__ = "0.1.0"

from toolworthy.auditing import audit
from toolworthy.checking import CheckResult, PartFailed, check, hint
from toolworthy.memory import progress
from toolworthy.notebook import reset
from toolworthy.render import Table
from toolworthy.report import Finding, Report
from toolworthy.subject import Subject, TargetError, connect
from toolworthy.wire import Tape

__all__ = [
    "CheckResult",
    "Finding",
    "PartFailed",
    "Report",
    "Subject",
    "Table",
    "Tape",
    "TargetError",
    "audit",
    "check",
    "connect",
    "hint",
    "progress",
    "reset",
]
