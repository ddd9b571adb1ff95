"""Point 4: the output schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_types import Tool

from toolworthy.rules.base import Rule, has_type


def _declared(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    if tool.output_schema is None:
        yield "no outputSchema: a program can't know what comes back"


def _has_shape(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    schema = tool.output_schema
    if schema is None:
        return
    fields = schema.get("properties")
    if not isinstance(fields, dict) or not fields:
        yield "the outputSchema names no field: any object will do"
    elif list(fields) == ["result"] and isinstance(fields["result"], dict) and has_type(fields["result"], "string"):
        yield "the result is one text: whoever needs a value from it must read prose"


RULES = [
    Rule("output-declared", 4, "A declared output is checked by the client, gives types to code and tells the model what to expect.", "Return a model; FastMCP publishes its schema.", "04", _declared),
    Rule("output-has-shape", 4, "Prose has to be understood; fields can be used.", "Return fields with units in their names.", "04", _has_shape),
]  # fmt: skip
