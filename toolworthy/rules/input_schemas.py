"""Point 3: the input schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mcp_types import Tool

from toolworthy.rules.base import Rule, has_type, nested, properties

_STRING_BOUNDS = ("pattern", "enum", "const", "maxLength", "format")
_SAYS_TYPE = ("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref")


def _closed(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    for where, schema in nested(tool.input_schema):
        if (
            (has_type(schema, "object") or not where)
            and schema.get("properties")
            and schema.get("additionalProperties") is not False
        ):
            yield f"{where or 'the arguments'}: fields that are not declared are let in and dropped without a word"


def _no_free_objects(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    for where, schema in nested(tool.input_schema):
        if (
            where
            and has_type(schema, "object")
            and not schema.get("properties")
            and schema.get("additionalProperties") is not False
        ):
            yield f"{where}: any object at all is accepted"


def _typed(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    for name, schema in properties(tool).items():
        if not any(keyword in schema for keyword in _SAYS_TYPE):
            yield f"{name}: has no type, so anything is accepted"


def _bounded(tool: Tool, kind: str, bounds: tuple[str, ...], lacking: str) -> Iterator[str]:
    for where, schema in nested(tool.input_schema):
        if where and has_type(schema, kind) and not _has(schema, bounds):
            yield f"{where}: {lacking}"


def _has(schema: dict[str, Any], keywords: tuple[str, ...]) -> bool:
    return any(k in schema for k in keywords)


def _strings(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    yield from _bounded(tool, "string", _STRING_BOUNDS, "a text of any length and shape")


def _numbers(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    for where, schema in nested(tool.input_schema):
        if (
            where
            and (has_type(schema, "integer") or has_type(schema, "number"))
            and not _has(schema, ("enum", "const"))
        ):
            low = _has(schema, ("minimum", "exclusiveMinimum"))
            high = _has(schema, ("maximum", "exclusiveMaximum"))
            if not (low and high):
                yield f"{where}: no {'upper' if low else 'lower' if high else 'lower and upper'} bound"


def _arrays(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    yield from _bounded(tool, "array", ("maxItems",), "a list of any length")


RULES = [
    Rule("input-closed", 3, "A misspelt or invented field is dropped, and the call succeeds with an answer to another question.", "additionalProperties: false, in nested objects too.", "03", _closed),
    Rule("input-no-free-object", 3, "A free object leaves the model to invent the fields.", "Declare the fields, or make them parameters.", "03", _no_free_objects),
    Rule("input-typed", 3, "Without a type the model can send anything.", "Annotate the parameter.", "03", _typed),
    Rule("input-strings", 3, "What has a shape should say so before the call, not after it.", "A pattern or format for what has a shape, an enum for what is finite, maxLength for the rest.", "03", _strings),
    Rule("input-numbers", 3, "A number without bounds includes -1 and 10^30.", "Give both bounds.", "03", _numbers),
    Rule("input-arrays", 3, "A list without a limit is a way to overload what stands behind.", "Give maxItems.", "03", _arrays),
]  # fmt: skip
