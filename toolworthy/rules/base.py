"""What a rule is, and the ten points the rules are grouped under."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import Tool

POINTS = {
    1: "Name",
    2: "Description",
    3: "Input schema",
    4: "Output schema",
    5: "Errors",
    6: "Idempotency",
    7: "Side effects",
    8: "Annotations",
    9: "Log",
    10: "Tested by calling",
}

Look = Callable[[Tool, Sequence[Tool]], Iterable[str]]
LookAtAll = Callable[[Sequence[Tool]], Iterable[str]]


@dataclass(frozen=True)
class Rule:
    """One thing of the checklist, decided from what `tools/list` says.

    `look(tool, all_tools)` yields a sentence for each thing that is wrong with that tool; `look_at_all(tools)` for each
    thing wrong with the server. A rule has one of the two. An advisory is shown and never counts as a violation.
    """

    id: str
    point: int
    reason: str
    advice: str
    lesson: str
    look: Look | None = None
    look_at_all: LookAtAll | None = None
    advisory: bool = False


def properties(tool: Tool) -> dict[str, dict[str, Any]]:
    """The tool's parameters: name → JSON Schema (an empty schema where the server sent something else)."""
    found = tool.input_schema.get("properties")
    if not isinstance(found, dict):
        return {}
    return {str(name): schema if isinstance(schema, dict) else {} for name, schema in found.items()}


def nested(schema: dict[str, Any], where: str = "", depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema inside `schema`, itself first, with the path to it ("" for the root, "filter.dates[]" for items)."""
    if depth > 20:  # a schema may be as deep as its author likes; nobody can fill in one this deep
        return
    yield where, schema
    inner = schema.get("properties")
    for name, child in (inner if isinstance(inner, dict) else {}).items():
        if isinstance(child, dict):
            yield from nested(child, f"{where}.{name}".lstrip("."), depth + 1)
    if isinstance(items := schema.get("items"), dict):
        yield from nested(items, f"{where}[]", depth + 1)
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(keyword)
        for child in branches if isinstance(branches, list) else []:
            if isinstance(child, dict):
                yield from nested(child, where, depth + 1)


def has_type(schema: dict[str, Any], name: str) -> bool:
    """Whether `schema` admits the JSON type `name` by its `type` keyword."""
    kind = schema.get("type")
    return kind == name or (isinstance(kind, list) and name in kind)
