"""Calls made from schemas: valid ones reach the tool, mutants don't, and no schema hangs or crashes what makes them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from fastmcp import Client, FastMCP
from jsonschema import Draft202012Validator
from pydantic import AnyUrl, BaseModel, ConfigDict, EmailStr, Field, HttpUrl

from toolworthy.generating import CannotGenerate, Mutant, invalid_calls, valid_calls

LINE = r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$"


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Level(IntEnum):
    LOW = 1
    HIGH = 3


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Address(Closed):
    street: Annotated[str, Field(min_length=1, max_length=80)]
    postcode: Annotated[str, Field(pattern=r"^\d{5}$")]
    note: str | None = None


class Person(Closed):
    name: Annotated[str, Field(min_length=1, max_length=40, pattern=LINE)]
    addresses: Annotated[list[Address], Field(min_length=1, max_length=3)]


class Cat(Closed):
    kind: Literal["cat"]
    lives: Annotated[int, Field(ge=1, le=9)]


class Dog(Closed):
    kind: Literal["dog"]
    good: bool


class Node(Closed):
    label: Annotated[str, Field(pattern="^[a-z]+$", max_length=10)]
    children: list[Node] = []


class Open(BaseModel):
    a: int


mcp = FastMCP("Kinds of parameters", strict_input_validation=True)
reached: list[str] = []


@mcp.tool
def texts(
    bounded: Annotated[str, Field(min_length=2, max_length=7)],
    shaped: Annotated[str, Field(pattern=r"^[A-Z]{2,3}-\d{1,4}$")],
    free: str,
    optional: Annotated[str | None, Field(max_length=300)] = None,
    long: Annotated[str, Field(pattern=r"\S", max_length=100_000)] = "x",
    line: Annotated[str, Field(pattern=LINE, min_length=1, max_length=200)] = "x",
) -> None:
    reached.append("texts")


@mcp.tool
def numbers(
    closed: Annotated[int, Field(ge=1, le=100)],
    open: Annotated[float, Field(gt=0, lt=1)],
    free: int,
    real: float,
    fives: Annotated[int, Field(multiple_of=5, ge=-7, le=52)],
    quarters: Annotated[float, Field(multiple_of=0.25, ge=0, le=10)],
    flag: bool,
    narrow: Annotated[int, Field(gt=3, lt=6)] | None = None,
) -> None:
    reached.append("numbers")


@mcp.tool
def finite(
    letter: Literal["x", "y"],
    colour: Colour,
    level: Level,
    digit: Literal[1, 2, 3],
    one: Literal["one"],
    either: Literal["auto"] | Annotated[int, Field(ge=0, le=9)],
) -> None:
    reached.append("finite")


@mcp.tool
def times(
    day: date, moment: datetime, key: UUID, end: date | None = None, at: time = time(1), long: timedelta = timedelta(1)
) -> None:
    reached.append("times")


@mcp.tool
def addresses(mail: EmailStr, page: AnyUrl, site: HttpUrl | None = None) -> None:
    reached.append("addresses")


@mcp.tool
def nested(person: Person, pet: Annotated[Cat | Dog, Field(discriminator="kind")], other: Open) -> None:
    reached.append("nested")


@mcp.tool
def recursive(tree: Node) -> None:
    reached.append("recursive")


@mcp.tool
def many(
    numbers: list[int],
    slugs: Annotated[list[Annotated[str, Field(pattern="^[a-z]{1,8}$")]], Field(min_length=1, max_length=4)],
    numbers_once: set[int],
    colours_once: Annotated[set[Colour], Field(min_length=1)],
    pair: tuple[int, str],
    counts: dict[str, int],
    free: dict[str, Any],
    named: Annotated[dict[Annotated[str, Field(pattern="^[a-z]+$")], bool], Field(min_length=1, max_length=3)],
    by_colour: dict[Colour, int],
    texts_once: Annotated[list[str], Field(json_schema_extra={"uniqueItems": True}, max_length=3)],
) -> None:
    reached.append("many")


@mcp.tool
def nothing() -> None:
    reached.append("nothing")


@mcp.tool
def anything(value: Any, several: int | str | list[int] | None) -> None:
    reached.append("anything")


async def _list() -> dict[str, dict[str, Any]]:
    async with Client(mcp) as client:
        return {tool.name: tool.input_schema for tool in await client.list_tools()}


SCHEMAS = asyncio.run(_list())
# Where pydantic, strict as it is set here, accepts what the schema it publishes refuses.
LAXER = {
    "finite": {"level: true, no integer", "digit: true, no integer"},  # True == 1
    "many": {  # what is there twice is there once in a set; `json_schema_extra` is only text
        "numbers_once[1]: a duplicate",
        "colours_once[1]: a duplicate",
        "texts_once[1]: a duplicate",
    },
}


def call_all(tool: str, calls: list[dict[str, Any]]) -> list[bool]:
    """Of each call, whether it got to the tool's body (and whether the client heard the same)."""

    async def go() -> list[bool]:
        async with Client(mcp) as client:
            answers = []
            for arguments in calls:
                reached.clear()
                result = await client.call_tool_mcp(tool, arguments)
                assert result.is_error == (reached != [tool]), arguments
                answers.append(reached == [tool])
            return answers

    return asyncio.run(go())


@pytest.mark.parametrize("tool", SCHEMAS)
def test_all_valid_calls_reach_the_tool(tool: str) -> None:
    calls = valid_calls(SCHEMAS[tool], 200, seed=7)
    assert len(calls) == 200
    refused = [call for call, arrived in zip(calls, call_all(tool, calls), strict=True) if not arrived]
    assert refused == []


@pytest.mark.parametrize("tool", SCHEMAS)
def test_no_mutant_reaches_the_tool(tool: str) -> None:
    mutants = invalid_calls(SCHEMAS[tool])
    assert len(mutants) >= {"nothing": 1, "anything": 10}.get(tool, 40)
    arrived = call_all(tool, [mutant.arguments for mutant in mutants])
    accepted = {mutant.broken for mutant, yes in zip(mutants, arrived, strict=True) if yes}
    assert accepted == LAXER.get(tool, set())


@pytest.mark.parametrize("tool", sorted(set(SCHEMAS) - {"times", "addresses"}))
def test_jsonschema_as_it_comes_agrees(tool: str) -> None:
    """Its formats depend on what else is installed; and its `$` also matches before a last line break."""
    stock = Draft202012Validator(SCHEMAS[tool])
    assert all(stock.is_valid(call) for call in valid_calls(SCHEMAS[tool], 50, seed=3))
    allowed = [m.broken for m in invalid_calls(SCHEMAS[tool]) if stock.is_valid(m.arguments)]
    assert [broken for broken in allowed if not broken.endswith("a line break after it")] == []


ISSUE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 2, "maxLength": 256},
        "key": {"type": "string", "pattern": "^[a-z]{3}$"},
        "state": {"enum": ["open", "closed"]},
        "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        "count": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10},
        "half": {"type": "number", "multipleOf": 0.5, "maximum": 4},
        "labels": {
            "type": "array",
            "items": {"$ref": "#/$defs/label"},
            "minItems": 1,
            "maxItems": 3,
            "uniqueItems": True,
        },
        "urgent": {"type": "boolean"},
        "place": {"type": "object", "properties": {"city": {"const": "Oslo"}}, "required": ["city"]}
        | {"additionalProperties": False},
    },
    "required": ["title", "labels"],
    "additionalProperties": False,
    "$defs": {"label": {"type": "string", "maxLength": 5}},
}


def test_a_mutant_for_each_constraint_and_place() -> None:
    broken: dict[str, set[str]] = {}
    for mutant in invalid_calls(ISSUE):
        where, why = mutant.broken.split(": ", 1)
        broken.setdefault(where, set()).add(why)
    kinds = {"null", "true", "a number", "a text", "a list", "an object"}

    def types(kind: str, itself: str) -> set[str]:
        return {f"{other}, no {kind}" for other in kinds - {itself}} | {f"a list around the {kind}"}

    assert broken["(root)"] == {"unknown field"}
    assert broken["title"] == types("string", "a text") | {"missing", "shorter than 2", "longer than 256", "empty"}
    assert broken["key"] >= types("string", "a text") | {"empty", "a line break after it"}
    assert sum(why.endswith("doesn't match") for why in broken["key"]) >= 4
    assert broken["state"] >= {"wrong case", "a space after it", "not in the enum", "null, no value for it"}
    assert broken["due"] >= types("string", "a text") - {"null, no string"}
    assert broken["due"] >= {"no day of the calendar", "a date in another notation", "no date", "empty"}
    assert "null, no string" not in broken["due"]
    assert broken["count"] >= types("integer", "a number") | {
        "the integer as a text",
        "a fraction, no integer",
        "below minimum 1",
        "above exclusiveMaximum 10",
    }
    assert broken["half"] >= {"no multiple of 0.5", "above maximum 4", "the number as a text"}
    assert broken["labels"] == types("array", "a list") - {"a list around the array"} | {
        "missing",
        "the array as a text",
        "a list around the array",
        "fewer than 1 items",
        "more than 3 items",
    }
    assert broken["labels[1]"] == types("string", "a text") | {"a duplicate", "longer than 5"}
    assert broken["urgent"] == types("boolean", "true") | {"the boolean as a text"} | (
        broken["urgent"] & {"0, no boolean", "1, no boolean"}
    )
    assert broken["urgent"] & {"0, no boolean", "1, no boolean"}
    assert broken["place"] >= {"unknown field", "the object as a text"}
    assert broken["place.city"] >= {"missing", "wrong case", "not in the enum"}


def test_sizes_are_missed_by_one() -> None:
    made = {mutant.broken: mutant.arguments for mutant in invalid_calls(ISSUE)}
    assert len(made["title: shorter than 2"]["title"]) == 1 and len(made["title: longer than 256"]["title"]) == 257
    assert made["labels: fewer than 1 items"]["labels"] == [] and len(made["labels: more than 3 items"]["labels"]) == 4
    many = {m.broken: m.arguments for m in invalid_calls(field({"type": "array", "items": {}, "minItems": 5}))}
    assert len(many["x: fewer than 5 items"]["x"]) == 4


def changes(one: Any, two: Any, where: str = "") -> list[str]:
    """The places in which two values differ, as deep down as they have the same shape."""
    if isinstance(one, dict) and isinstance(two, dict):
        return [
            place
            for name in one | two
            for place in (changes(one[name], two[name], f"{where}.{name}") if name in one and name in two else [where])
        ]
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        return [p for i, (a, b) in enumerate(zip(one, two, strict=True)) for p in changes(a, b, f"{where}[{i}]")]
    return [] if json.dumps(one) == json.dumps(two) else [where]


def test_mutants_differ_from_the_given_call_in_one_place() -> None:
    valid = {"title": "From elsewhere", "key": "abc", "state": "open", "due": "2026-01-01", "count": 5, "half": 1.5}
    valid |= {"labels": ["a", "b"], "urgent": True, "place": {"city": "Oslo"}}
    before = json.dumps(valid)
    mutants = invalid_calls(ISSUE, valid)
    assert len(mutants) > 90
    assert [m for m in mutants if len(changes(valid, m.arguments)) != 1] == []
    assert json.dumps(valid) == before


def test_fields_that_the_given_call_leaves_out_are_broken_too() -> None:
    mutants = invalid_calls(ISSUE, {"title": "Short", "labels": ["a"]})
    assert {m.broken.split(":")[0] for m in mutants} >= {"key", "due", "count", "place.city", "labels[0]"}
    assert all(m.arguments["title"] == "Short" for m in mutants if not m.broken.startswith("title"))
    with pytest.raises(CannotGenerate, match="the call to start from doesn't satisfy the schema"):
        invalid_calls(ISSUE, {"title": "Short"})


def test_a_whole_float_is_no_mutant_of_an_integer_and_is_never_made_for_one() -> None:
    schema = {"properties": {"n": {"type": "integer", "minimum": 0.5, "multipleOf": 1.0}}, "required": ["n"]}
    assert {type(call["n"]) for call in valid_calls(schema, 100)} == {int}
    made = [m.arguments["n"] for m in invalid_calls(schema) if isinstance(m.arguments.get("n"), float)]
    assert made and not any(n.is_integer() for n in made)


# A schema of one field, and what has to be among its values in 200 calls.
COVERED: list[tuple[dict[str, Any], dict[str, Callable[[Any], bool]]]] = [
    (
        {"type": "string", "minLength": 3, "maxLength": 250},
        {
            "shortest": lambda v: len(v) == 3,
            "longest": lambda v: len(v) == 250,
            "between": lambda v: 3 < len(v) < 250,
            "accents": lambda v: "ë" in v,
            "CJK": lambda v: "東" in v,
            "emoji": lambda v: "🙂" in v,
            "right to left": lambda v: any(unicodedata.bidirectional(c) in ("R", "AL") for c in v),
            "combining": lambda v: any(unicodedata.combining(c) for c in v),
            "spaces inside": lambda v: " " in v.strip(),
        },
    ),
    ({"type": "string"}, {"empty": lambda v: v == "", "long": lambda v: len(v) >= 5000}),
    ({"type": "string", "maxLength": 100_000}, {"longest": lambda v: len(v) == 100_000}),
    (
        {"type": "string", "pattern": LINE, "minLength": 1, "maxLength": 200},
        {"shortest": lambda v: len(v) == 1, "longest": lambda v: len(v) == 200, "CJK": lambda v: "東" in v},
    ),
    (
        {"type": "string", "pattern": r"^[^\x00]*$", "maxLength": 100_000},
        {"empty": lambda v: v == "", "longest": lambda v: len(v) == 100_000},
    ),
    (
        {"type": "string", "pattern": "[0-9]{2}", "minLength": 6, "maxLength": 9},
        {"shortest": lambda v: len(v) == 6, "longest": lambda v: len(v) == 9, "begins": lambda v: v[:2].isdigit()},
    ),
    (
        {"type": "string", "pattern": "^(ab|c{2,4}-?)+(x|yz)$", "maxLength": 40},
        {"shortest": lambda v: len(v) == 3, "longest": lambda v: len(v) == 40},
    ),
    (
        {"type": "integer", "minimum": -3, "exclusiveMaximum": 12},
        {"low": lambda v: v == -3, "high": lambda v: v == 11, "zero": lambda v: v == 0, "more": lambda v: 1 < v < 11},
    ),
    (
        {"type": "integer"},
        {"int32": lambda v: v == 2**31 - 1, "beyond": lambda v: v == 2**31, "int64": lambda v: v == 2**63 - 1}
        | {"beyond it": lambda v: v == 2**63, "negative": lambda v: v < -(2**63)},
    ),
    (
        {"type": "number", "exclusiveMinimum": 0, "maximum": 2.5},
        {"low": lambda v: 0 < v < 1e-300, "high": lambda v: v == 2.5, "between": lambda v: 0.1 < v < 2.4},
    ),
    (
        {"type": "number", "multipleOf": 0.1, "minimum": 0.25, "maximum": 1.27},
        {"low": lambda v: v <= 0.4, "high": lambda v: v >= 1.1},
    ),
    (
        {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 5, "uniqueItems": True},
        {"fewest": lambda v: len(v) == 2, "most": lambda v: len(v) == 5},
    ),
    (
        {"type": "array", "items": {"type": "boolean"}, "maxItems": 300},
        {"most": lambda v: len(v) == 300, "none": lambda v: v == []},
    ),
    ({"enum": [f"v{i}" for i in range(70)]}, {f"v{i}": lambda v, i=i: v == f"v{i}" for i in range(70)}),
    (
        {"type": ["boolean", "null"]},
        {"true": lambda v: v is True, "false": lambda v: v is False, "null": lambda v: v is None},
    ),
    (
        {"anyOf": [{"type": "string", "maxLength": 1}, {"type": "array", "maxItems": 0}, {"const": 7}]},
        {"text": lambda v: isinstance(v, str), "list": lambda v: v == [], "const": lambda v: v == 7},
    ),
    (
        {"type": "string", "format": "date"},
        {"leap day": lambda v: v.endswith("-02-29"), "far": lambda v: v > "9000", "early": lambda v: v < "1900"}
        | {"usual": lambda v: "1970" < v < "2040"},
    ),
    (
        {"type": "string", "format": "date-time"},
        {"UTC": lambda v: v.endswith("Z"), "another zone": lambda v: v[-6] in "+-", "fraction": lambda v: "." in v},
    ),
    (
        {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 6},
        {"fewest": lambda v: len(v) == 1, "most": lambda v: len(v) == 6},
    ),
    ({"type": "object", "additionalProperties": True}, {"none": lambda v: v == {}, "some": lambda v: len(v) > 1}),
    (
        {"type": "string", "examples": ["cust-1", 3]},
        {"example": lambda v: v == "cust-1", "other": lambda v: v != "cust-1"},
    ),
    ({"type": "string", "pattern": r"^\p{Lu}\p{L}{1,8}$"}, {"longest": lambda v: len(v) == 9}),
    (
        {"type": "string", "pattern": r"^(?=.*[A-Z])(?!.*\s)(?=.*\d).{8,}$"},
        {"any": lambda v: not any(c.isspace() for c in v)},
    ),
]


@pytest.mark.parametrize(("schema", "wanted"), COVERED, ids=[json.dumps(s)[:60] for s, _ in COVERED])
def test_bounds_and_kinds_all_occur(schema: dict[str, Any], wanted: dict[str, Callable[[Any], bool]]) -> None:
    calls = valid_calls({"type": "object", "properties": {"x": schema}}, 200, seed=1)
    values = [call["x"] for call in calls if "x" in call]
    assert 50 < len(values) < 150, "an optional field is there about half of the time"
    assert [what for what, holds in wanted.items() if not any(map(holds, values))] == []
    json.dumps(values, allow_nan=False, ensure_ascii=False).encode()  # no NaN, no lone surrogate


def test_the_first_call_is_the_least_and_the_second_the_whole() -> None:
    least, whole = valid_calls(ISSUE, 2)
    assert set(least) == {"title", "labels"} and set(whole) == set(ISSUE["properties"])


def test_calls_share_nothing() -> None:
    schema = {
        "properties": {"x": {"const": {"list": []}}, "y": {"type": "array", "minItems": 1}},
        "required": ["x", "y"],
    }
    given = {"y": [[["real"]]]}
    before, calls = json.dumps([schema, given]), valid_calls(schema, 30, given=given)
    real = [call for call in calls if call["y"] == [["real"]]]
    assert len(real) > 5
    real[0]["x"]["list"].append(1)
    real[0]["y"][0].append("changed")
    assert json.dumps([schema, given]) == before
    assert all(call["x"] == {"list": []} and call["y"] == [["real"]] for call in real[1:])


def test_given_values_are_taken_half_of_the_time_where_they_fit() -> None:
    schema = {
        "properties": {
            "id": {"type": "string", "pattern": "^c-[0-9]$"},
            "to": {"type": "object", "properties": {"id": {"type": "string", "maxLength": 30}}, "required": ["id"]},
        },
        "required": ["id", "to"],
    }
    calls = valid_calls(schema, 200, given={"id": ["c-1", "c-2", 3, "a real, longer one", {"set"}], "other": ["x"]})
    assert {call["id"] for call in calls} <= {f"c-{i}" for i in range(10)}
    assert 100 < sum(call["id"] in ("c-1", "c-2") for call in calls) < 160  # a fifth of the others are among them
    assert 70 < sum(call["to"]["id"] in ("c-1", "c-2", "a real, longer one") for call in calls) < 130


DIGEST = """
import hashlib, json, sys
from toolworthy.generating import invalid_calls, valid_calls
schema = json.load(sys.stdin)
calls = [valid_calls(schema, 60, seed=5), [(m.arguments, m.broken) for m in invalid_calls(schema)]]
print(hashlib.sha256(json.dumps(calls).encode()).hexdigest())
"""


def test_the_same_in_every_process_and_nothing_is_written(tmp_path: Path) -> None:
    schema = {"properties": {**ISSUE["properties"], **SCHEMAS["many"]["properties"]}, "$defs": ISSUE["$defs"]}
    calls = [valid_calls(schema, 60, seed=5), [(m.arguments, m.broken) for m in invalid_calls(schema)]]
    run = subprocess.run(
        [sys.executable, "-c", DIGEST],
        input=json.dumps(schema), capture_output=True, text=True, cwd=tmp_path, timeout=60,
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert (run.stdout, run.stderr) == (hashlib.sha256(json.dumps(calls).encode()).hexdigest() + "\n", "")
    assert list(tmp_path.iterdir()) == []
    assert valid_calls(schema, 60, seed=6) != calls[0]


def test_the_same_in_every_version() -> None:
    """Changes with what is generated: then confirm the new value with another Python (3.11, 3.12 and 3.13 agree)."""
    calls = json.dumps(valid_calls(ISSUE, 100, seed=11)).encode()
    assert hashlib.sha256(calls).hexdigest()[:16] == "bf51a054b4f52770"


def field(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"], **more}


def ladder(rung: Callable[[dict[str, str]], dict[str, Any]], end: dict[str, Any]) -> dict[str, Any]:
    """A schema of thirty definitions, each using the next one twice: 2^30 things, unless somebody counts."""
    rungs = {f"d{i}": rung({"$ref": f"#/$defs/d{i + 1}"}) for i in range(30)}
    return field({"$ref": "#/$defs/d0"}, **{"$defs": {**rungs, "d30": end}})


def well(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    return schema


DRAFT_7 = "http://json-schema.org/draft-07/schema#"
LINEAR, STEPS, LEFT = "can't be matched in linear time", "too many steps", "x: no value is left for it."
# What a schema is about → the schema, and the reason that is given, or None where calls can be made.
HOSTILE: dict[str, tuple[Any, str | None]] = {
    "catastrophic": (field({"type": "string", "pattern": "^(a+)+$"}), None),
    "catastrophic, long": (field({"type": "string", "pattern": "^(a|aa)+$", "maxLength": 100_000}), None),
    "catastrophic, never": (field({"type": "string", "pattern": "^(x+x+)+y$", "not": {"pattern": "y$"}}), "nothing"),
    "hidden dialect": (
        field({"type": "string", "pattern": "^a{40}$", "not": {"$schema": DRAFT_7, "pattern": "^(a+)+!$"}}), None
    ),
    "catastrophic names": (
        field({"type": "object", "patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}), None
    ),
    "catastrophic names, declared": (
        field({"properties": {"a" * 40: {}}, "patternProperties": {"^(a+)+!$": {}}, "required": ["a" * 40]}), None
    ),
    "catastrophic names, not declared": (
        field({"patternProperties": {"^(a+)+!$": {}}, "required": ["a" * 40], "additionalProperties": {}}), None
    ),
    "back-reference": (field({"type": "string", "pattern": r"^(a+)\1$"}), LINEAR),
    "look-ahead": (field({"type": "string", "pattern": "^(?=(a+)+$)"}), LINEAR),
    "look-behind": (field({"type": "string", "pattern": "a(?<=a)b"}), LINEAR),
    "many states": (field({"type": "string", "pattern": "[^x]{0,5000}y"}), None),
    "too many states": (field({"type": "string", "pattern": "(a{1,1000}){1,1000}"}), LINEAR),
    "deep pattern": (field({"type": "string", "pattern": "(" * 2000 + ")" * 2000}), "nested too deep"),
    "no pattern": (field({"type": "string", "pattern": "(("}), LINEAR),
    "many patterns": (
        {"properties": {f"p{i}": {"type": "string", "pattern": rf"^\w{{1,{40 + i}}}{i}$"} for i in range(900)}}, STEPS
    ),
    "lengths": (field({"type": "string", "minLength": 5, "maxLength": 3}), "x: it needs at least 5 characters"),
    "bounds": (field({"type": "integer", "minimum": 5, "maximum": 3}), "x: its bounds leave no number."),
    "open bounds": (field({"type": "integer", "exclusiveMinimum": 5, "exclusiveMaximum": 6}), "x: its bounds leave"),
    "items": (field({"type": "array", "minItems": 3, "maxItems": 2}), "x: it needs at least 3 items"),
    "unique": (field({"items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3}), "x: there aren't 3"),
    "a billion items": (field({"type": "array", "minItems": 10**9}), "x: it needs at least 1000000000 items"),
    "a billion characters": (field({"type": "string", "minLength": 10**9}), "x: it needs at least 1000000000 char"),
    "empty enum": (field({"enum": []}), LEFT),
    "surrogate": (field({"enum": ["\ud800"]}), LEFT),
    "types": (field({"allOf": [{"type": "string"}, {"type": "integer"}]}), LEFT),
    "false": (field(False), LEFT),
    "nothing": (field({"not": {}}), "nothing that was tried satisfies"),
    "contradiction in an optional field": ({"properties": {"x": {"enum": []}}}, None),
    "no short address, optional": ({"properties": {"x": {"type": "string", "format": "uri", "maxLength": 2}}}, None),
    "no short address": (field({"type": "string", "format": "uri", "maxLength": 2}), "nothing that was tried"),
    "no object": ({"type": "string"}, "(root): no value is left for it."),
    "endless": (field({"$ref": "#"}), "nested without an end"),
    "endless tree": (field({"type": "array", "items": {"$ref": "#/properties/x"}, "minItems": 2}), "without an end"),
    "doubling": (ladder(lambda d: {"properties": {"a": d, "b": d}, "required": ["a", "b"]}, {}), STEPS),
    "doubling allOf": (ladder(lambda d: {"allOf": [d, d]}, {}), STEPS),
    "doubling anyOf": (ladder(lambda d: {"anyOf": [d, d]}, {"enum": []}), STEPS),
    "doubling anyOf that can be": (ladder(lambda d: {"anyOf": [d, d]}, {"type": "integer"}), None),
    "circle": (field({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"$ref": "#/$defs/a"}}}), "in a circle"),
    "circle of allOf": ({"allOf": [{"$ref": "#"}]}, "nested too deep"),
    "remote": (field({"$ref": "http://127.0.0.1:9/x.json"}), "leads outside the schema"),
    "remote in a branch": (field({"anyOf": [{"type": "null"}, {"$ref": "file:///etc/passwd"}]}), "leads outside"),
    "nowhere": (field({"$ref": "#/$defs/none"}), "leads outside the schema or nowhere"),
    "well": (well(25), None),
    "deep well": (well(300), "nested too deep"),
    "deepest well": (well(20_000), "nested too deep"),
    "long": (field({"enum": ["x" * 300_000]}), "longer than 200,000 characters"),
    "NaN": (field({"type": "number", "minimum": float("nan")}), "isn't JSON"),
    "no JSON": (field({"enum": {1}}), "isn't JSON"),
    "no schema": (field({"type": "text"}), "this is no JSON Schema"),
    "huge integer": (field({"type": "integer", "minimum": 10**400}), None),
    "huge number": (field({"type": "number", "minimum": 10**400}), "can't be evaluated"),
    "tiny step": (field({"type": "number", "multipleOf": 5e-324}), None),
    "large enum": (field({"enum": [f"v{i}" for i in range(15_000)]}), None),
    "large const": (field({"const": ["x" * 1000] * 150}), None),
    "tuple as before 2020": (field({"type": "array", "items": [{"const": 1}, {"const": 2}], "minItems": 2}), None),
    "no keyword": ({}, None),
}  # fmt: skip


def judge(name: str) -> str | None:
    """Why no calls can be made from a hostile schema; None where they were made, and are what they should be."""
    schema = HOSTILE[name][0]
    try:
        calls = valid_calls(schema, 20)
        assert len(calls) == 20 and all(isinstance(call, dict) for call in calls)
        why = None
    except CannotGenerate as error:
        why = str(error)
        assert why.endswith(".") and len(why) < 500, why
    try:
        assert all(isinstance(mutant, Mutant) for mutant in invalid_calls(schema))
    except CannotGenerate as error:
        assert why or name == "huge integer", error
    return why


EVERY = """
import json
from tests.core import test_generating as t
for name in t.HOSTILE:
    print(json.dumps([name, t.judge(name)]), flush=True)
"""


def test_no_schema_hangs_or_crashes() -> None:
    """In a process of its own, which can be ended."""
    process = subprocess.Popen([sys.executable, "-c", EVERY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(f"hung after {process.communicate()[0][-300:]}")
    assert err == ""
    got = dict(json.loads(line) for line in out.splitlines())
    expected = {name: why for name, (_, why) in HOSTILE.items()}
    assert list(got) == list(expected)
    wrong = {name: got[name] for name, why in expected.items() if (why or "made") not in (got[name] or "made")}
    assert wrong == {}
