"""Toolworthy: look at MCP tools from outside, through the protocol.

In a notebook: `await audit(mcp)`, `await check("02.1", mcp)`, `hint("02.1")`, `progress()`, `reset("02.1")`, and
`async with connect(mcp) as subject` to talk to a server yourself, with `subject.tape` to see the JSON that crossed.
"""

import logging
import os
import sys

# What a server does wrong is in the result; the client library would log a traceback besides.
logging.getLogger("mcp").setLevel(logging.CRITICAL)
if "ipykernel" in sys.modules:
    # Failing calls are what lessons are about; without this each would log a traceback with local paths into the cell.
    os.environ.setdefault("FASTMCP_LOG_LEVEL", "CRITICAL")
    logging.getLogger("fastmcp").setLevel(logging.CRITICAL)

__version__ = "0.1.0"

from toolworthy.auditing import audit
from toolworthy.checking import CheckResult, PartFailed, check, hint
from toolworthy.notebook import reset
from toolworthy.progress import progress
from toolworthy.report import Finding, Report
from toolworthy.subject import Subject, TargetError, connect
from toolworthy.wire import Tape

__all__ = [
    "CheckResult",
    "Finding",
    "PartFailed",
    "Report",
    "Subject",
    "Tape",
    "TargetError",
    "audit",
    "check",
    "connect",
    "hint",
    "progress",
    "reset",
]
