"""Calls made from a tool's input schema: those that satisfy it, and those that break it in exactly one thing.

A schema is anybody's, so nothing in it is trusted: work is counted in steps and ends when they are used up, references
stay inside the schema, and patterns run in pydantic's engine, which takes linear time; `re` can be hung by a pattern.
What that engine doesn't know (back-references, look-around other than look-aheads right after `^`) is refused.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import date, time
from fractions import Fraction
from itertools import islice, product
from random import Random
from re import _compiler, _parser  # type: ignore[attr-defined]
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft202012Validator, validators  # type: ignore[import-untyped]
from jsonschema.exceptions import SchemaError, ValidationError  # type: ignore[import-untyped]
from pydantic_core import SchemaError as PatternError
from pydantic_core import SchemaValidator, core_schema
from referencing import Registry
from referencing.exceptions import Unresolvable

from toolworthy.render import shorten

STEPS = 300_000  # what one schema may cost besides 2,000 a call: some seconds; a usual tool takes 100 to 500 a call
LARGEST = 200_000  # characters of a schema, as JSON
LONGEST = 100_000  # characters of a text, where more are allowed
MOST = 500  # items of a list, where more are allowed
DEEPEST, SHALLOW = 40, 6  # levels of nesting at all, and with what may be left out
TRIES = 20

Schema = dict[str, Any]
Part = Schema | bool
Broken = Iterator[tuple[Any, str, str]]  # a value, the place in it, what is wrong there
Keyword = Callable[..., Iterator[Any] | None]


class CannotGenerate(Exception):
    """No call can be made from the schema. The message is one sentence: the place, and why."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{shorten(where, 80) or '(root)'}: {why}.")


class _UsedUp(CannotGenerate):
    pass


@dataclass(frozen=True)
class Mutant:
    """Arguments that break the schema in one thing; `broken` says where and what: "title: longer than 256"."""

    arguments: dict[str, Any]
    broken: str


def valid_calls(
    schema: Mapping[str, Any], count: int, seed: int = 0, given: Mapping[str, Sequence[Any]] | None = None
) -> list[dict[str, Any]]:
    """`count` objects that satisfy `schema`: first one with required fields only, then one with all, then mixed.

    given: values known from elsewhere, by a field's name (ids that exist); half of the time one of those that satisfy
    the field's schema is taken. The same schema, count, seed and values give the same calls on every machine.

    Raises CannotGenerate when the schema contradicts itself, asks for too much or isn't understood.
    """
    with _in_one_sentence():
        maker = _Maker(schema, seed, given or {})
        maker.steps += 2000 * count
        return [maker.call(full={0: False, 1: True}.get(i)) for i in range(count)]


def invalid_calls(schema: Mapping[str, Any], valid: Mapping[str, Any] | None = None) -> list[Mutant]:
    """Calls that break `schema`, one thing each, made from `valid` (by default from a call with every field).

    Each was checked: what the schema allows isn't among them. In a huge schema it ends early, with what was found.
    Raises CannotGenerate when there is no valid call to start from.
    """
    found: dict[str, Mutant] = {}
    with _in_one_sentence():
        maker = _Maker(schema)
        start = maker.call(full=True) if valid is None else deepcopy(dict(valid))
        if not maker.accepts(start):
            raise CannotGenerate("", "the call to start from doesn't satisfy the schema")
        maker.full = True
        try:
            for arguments, where, why in maker.broken(maker.root, start, "", 0):
                key = json.dumps(arguments, sort_keys=True)
                if isinstance(arguments, dict) and key not in found and not maker.accepts(arguments):
                    found[key] = Mutant(arguments, f"{where or '(root)'}: {why}")
        except _UsedUp:
            pass
    return list(found.values())


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise CannotGenerate("", "it is nested too deep") from None
    except Unresolvable as error:
        raise CannotGenerate("", f"a reference leads outside the schema or nowhere ({str(error)[:100]})") from None
    except (ArithmeticError, ValueError, re.error) as error:
        raise CannotGenerate("", f"it can't be evaluated ({str(error)[:100]})") from None


# Checking: jsonschema's keywords, counted; `format_checker`, which it hands down, is the _Checker.


class _Checker:
    """Tells whether values satisfy one schema, and counts what that costs."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.steps, self.patterns = STEPS, dict[str, _Pattern | None]()
        try:
            text = json.dumps(schema, allow_nan=False)
        except (TypeError, ValueError):
            raise CannotGenerate("", "the schema isn't JSON") from None
        if len(text) > LARGEST:
            raise CannotGenerate("", f"the schema is longer than {LARGEST:,} characters")
        self.root: Schema = json.loads(text, object_hook=_sober)
        try:
            Draft202012Validator.check_schema(self.root, format_checker=None)
        except SchemaError as error:
            raise CannotGenerate(error.json_path, f"this is no JSON Schema: {error.message[:200]}") from None
        self.validator = _Validator(self.root, registry=Registry(), format_checker=self)

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise _UsedUp("", "making calls from this schema takes too many steps")

    def accepts(self, value: object, schema: Part | None = None) -> bool:
        """Whether `value` satisfies the whole schema, or a part of it, and can be sent as JSON."""
        try:
            self.spend(len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode()) // 100)
        except (TypeError, ValueError):  # a set, a lone surrogate, NaN
            return False
        return self.validator.evolve(schema=self.root if schema is None else schema).is_valid(value)

    def pattern(self, source: str, where: str = "") -> _Pattern:
        if source not in self.patterns:
            self.patterns[source] = None
            with suppress(PatternError, UnicodeEncodeError, re.error, OverflowError):
                self.patterns[source] = _Pattern(source, self.spend)
        if (pattern := self.patterns[source]) is None:
            raise CannotGenerate(
                where, f"the pattern {source[:100]!r} can't be read, or can't be matched in linear time"
            )
        return pattern


def _sober(schema: Schema) -> Schema:
    """Without `$schema` and `$id`, which lead to other dialects and addresses."""
    if isinstance(schema.get("items"), list):  # how tuples were written before 2020
        schema = schema | {"prefixItems": schema["items"], "items": schema.get("additionalItems", True)}
    return {k: v for k, v in schema.items() if k not in ("$schema", "$id") or not isinstance(v, str)}


def _counted(check: Keyword) -> Keyword:
    def counted(validator: Any, value: Any, instance: Any, schema: Schema) -> Iterator[Any] | None:
        size = len(value) // 10 if isinstance(value, list | dict) else 10 if value is schema.get("$ref") else 0
        validator.format_checker.spend(1 + size)
        return check(validator, value, instance, schema)

    return counted


def _check_pattern(validator: Any, value: str, instance: Any, schema: Schema) -> Iterator[Any]:
    if isinstance(instance, str) and not validator.format_checker.pattern(value).matches(instance):
        yield ValidationError(f"{instance[:100]!r} does not match {value!r}")


def _check_format(validator: Any, value: str, instance: Any, schema: Schema) -> Iterator[Any]:
    if isinstance(instance, str) and value in _FORMATS and not _FORMATS[value].matches(instance):
        yield ValidationError(f"{instance[:100]!r} is no {value}")


def _check_named(validator: Any, value: Schema, instance: Any, schema: Schema) -> Iterator[Any]:
    for name, inner in instance.items() if isinstance(instance, dict) else ():
        for source in value:
            if validator.format_checker.pattern(source).matches(name):
                yield from validator.descend(inner, value[source], path=name, schema_path=source)


def _check_others(validator: Any, value: Part, instance: Any, schema: Schema) -> Iterator[Any] | None:
    if isinstance(instance, dict) and (named := schema.get("patternProperties")):
        patterns = [validator.format_checker.pattern(source) for source in named]
        instance = {k: v for k, v in instance.items() if not any(p.matches(k) for p in patterns)}
        schema = {k: v for k, v in schema.items() if k != "patternProperties"}
    check: Keyword = Draft202012Validator.VALIDATORS["additionalProperties"]
    return check(validator, value, instance, schema)


_OWN: dict[str, Keyword] = {
    "pattern": _check_pattern,
    "format": _check_format,
    "patternProperties": _check_named,
    "additionalProperties": _check_others,
    "unevaluatedProperties": lambda *_: None,  # no field is added unasked
    "unevaluatedItems": lambda *_: None,
}
_KEYWORDS = {key: _counted(_OWN.get(key, check)) for key, check in Draft202012Validator.VALIDATORS.items()}
_Validator = validators.extend(Draft202012Validator, _KEYWORDS)


# Texts: formats, patterns, words.


@dataclass(frozen=True)
class _Format:
    """A `format`: its shape, samples, what it is not, and what reads it (a ValueError: impossible)."""

    shape: str
    samples: str
    wrong: dict[str, str]
    read: Callable[[str], object] = str

    def matches(self, text: str) -> bool:
        try:
            return bool(re.fullmatch(self.shape, text, re.ASCII)) and self.read(text.upper()) is not None
        except ValueError:
            return False


def _read_clock(text: str) -> time:
    return time.fromisoformat(re.sub(r"\.\d+", "", text).replace("Z", "+00:00"))


_DAY, _CLOCK = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)"
_FORMATS = {
    "date": _Format(
        _DAY,
        "2024-02-29 9999-12-31 2000-02-29 1969-12-31 0001-01-01",
        {"2026-02-30": "no day of the calendar", "01/02/2026": "a date in another notation", "soon": "no date"},
        date.fromisoformat,
    ),
    "date-time": _Format(
        f"{_DAY}[Tt]{_CLOCK}",
        "2024-02-29T23:59:59Z 2026-03-29T02:30:00+05:45 9999-12-31T00:00:00Z 1969-12-31T23:59:59.123456-11:00",
        {"2026-02-30T10:00:00Z": "no day of the calendar", "2026-02-01T25:00:00Z": "no time of a day"}
        | {"01/02/2026 10:00": "a time in another notation", "soon": "no time"},
        lambda text: (date.fromisoformat(text[:10]), _read_clock(text[11:])),
    ),
    "time": _Format(_CLOCK, "00:00:00Z 23:59:59.5+14:00", {"25:00:00Z": "no time of a day"}, _read_clock),
    "duration": _Format(r"P[0-9A-Z.]+", "PT0S P1DT2H30M P400D", {"two days": "no duration"}),
    "uuid": _Format(
        r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
        "00000000-0000-4000-8000-000000000000 FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF",
        {"00000000-0000-4000-8000-00000000000": "a digit short", "g0000000-0000-4000-8000-000000000000": "no digit: g"},
    ),
    "email": _Format(
        r"[^\s@<>]+@[^\s@<>.]+(\.[^\s@<>.]+)+",
        f"a@example.com Ana.Maria+tag@mail.example.org {'x' * 64}@example.com",
        {"ana.example.com": "no @", "ana@": "no domain", "@example.com": "nobody", "a b@example.com": "a space in it"},
    ),
    "uri": _Format(
        r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+",
        "https://example.com/ http://example.org:8080/a/b%20c?q=1&r=%C3%A9#top",
        {"no uri": "no URI", "/only/a/path": "a URI without scheme"},
    ),
    "ipv4": _Format(r"\d{1,3}(\.\d{1,3}){3}", "192.0.2.1 255.255.255.255", {"192.0.2": "no IPv4 address"}),
    "ipv6": _Format(r"[0-9A-Fa-f:.]+", "::1 2001:db8::ff00:42:8329", {"::g": "no IPv6 address"}),
}
_FORMATS["uuid4"] = _FORMATS["uuid"]
_TEXT = "plan Zoë 東京 O'Brien 🙂 مرحبا cafe\u0301 B-52 नमस्ते Straße 50% שלום “so” <b> 👩‍👩‍👧 Łódź two\tparts \\n {x}"
_WORDS = _TEXT.split(" ")
_ASCII = "".join(map(chr, range(32, 127)))
_LETTERS = _ASCII + "éüñßøłžİ東京語مرשנहι🙂🚀\u0301\t\n"


class _Pattern:
    """A `pattern`: `matches` in linear time; `text` makes one that probably does, of a wanted length where it can.

    Of `\\d`, `\\w`, `\\s` only ASCII is made: every dialect agrees on that. `$` is the end, not before a line break.
    """

    def __init__(self, source: str, spend: Callable[[int], None]) -> None:
        if len(source) > 5000:
            raise OverflowError
        plain = r"\(\?([=!])((?:[^()\\[]|\\.|\[(?:[^\]\\]|\\.)*\])*)\)"  # a look-ahead without groups in it
        ahead = re.match(rf"\^(?:{plain})+(?=[^|]*$)", source)
        rest = "^" + source[ahead.end() :] if ahead else source
        python = re.sub(r"\(\?<(?![=!])", "(?P<", rest).replace(r"\z", r"\Z")
        python = re.sub(r"\[(?:[^\]\\]|\\.)*\]|\\p(?:\w|\{\w+\})", _without_properties, python)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `re` has opinions on style
            self.tree = _read(_parser.parse(python))
        self.ends = rest.startswith("^"), rest.endswith(("$", r"\z"))
        self.weight = min(self.tree.weight, 10**6)
        self.low, self.high = self.tree.low, self.tree.high if all(self.ends) else LONGEST
        self.spend = spend
        spend(500 + min(15 * self.weight, 50_000))
        self.engines = [(_engine(rest), True)]
        for sign, part in re.findall(plain, ahead[0]) if ahead else ():
            self.engines.append((_engine(f"^(?:{part})"), sign == "="))

    def matches(self, text: str) -> bool:
        self.spend(1 + len(text) * self.weight // 500)
        return all(engine(text) is wanted for engine, wanted in self.engines)

    def text(self, length: int, below: Callable[[int], int]) -> str:
        made = self.tree.text(length, below)
        spare = max(0, length - len(made))
        before = 0 if self.ends[0] else spare if self.ends[1] else below(spare + 1)
        return "x" * before + made + "x" * (0 if self.ends[1] else spare - before)


def _without_properties(piece: re.Match[str]) -> str:
    """A class of characters, or one property such as `\\p{Lu}`, with a few letters or digits for each property."""
    few = {"Lu": "A-ZÉŁ", "Ll": "a-zéł", "N": "0-9", "Nd": "0-9"}
    plain = re.sub(r"\\p\{?(\w+)\}?", lambda name: few.get(name[1], "A-Za-zÉé東"), piece[0])
    return plain if piece[0][0] == "[" else f"[{plain}]"


def _engine(pattern: str) -> Callable[[str], bool]:
    return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python


@dataclass(frozen=True)
class _Node:
    """A piece of a pattern, as texts are made from it; `weight`: how many states it has, about."""

    kind: str  # letter, sequence, choice, repeat
    low: int  # the fewest characters, and the most
    high: int
    weight: int
    inner: Sequence[_Node] = ()
    letters: str = ""
    times: tuple[int, int] = (1, 1)

    def text(self, length: int, below: Callable[[int], int]) -> str:
        """A text of `length` characters if that can be."""
        if self.kind == "letter":
            return self.letters[below(len(self.letters))] if self.letters else ""
        if self.kind == "choice":
            fitting = [node for node in self.inner if node.low <= length <= node.high] or self.inner
            return fitting[below(len(fitting))].text(length, below)
        if self.kind == "repeat":
            return self._repeated(self.inner[0], length, below)
        shares, spare = [node.low for node in self.inner], length - self.low
        for some in (lambda most: below(most + 1), lambda most: most):  # first at random, then what is left
            for i, node in enumerate(self.inner):
                more = some(max(0, min(spare, node.high - shares[i])))
                shares[i], spare = shares[i] + more, spare - more
        return "".join(node.text(share, below) for node, share in zip(self.inner, shares, strict=True))

    def _repeated(self, node: _Node, length: int, below: Callable[[int], int]) -> str:
        fewest = max(self.times[0], -(-length // node.high) if node.high else 0)
        most = length // node.low if node.low else fewest + 2
        times, made = min(self.times[1], fewest + below(max(0, most - fewest) + 1)), ""
        if times > 60:  # some again and again, then others
            made = "".join(node.text(length // times, below) for _ in range(20)) * (times // 20 - 1)
            times = times % 20 + 20
        for left in range(times, 0, -1):
            made += node.text(max(0, length - len(made)) // left, below)
        return made


def _read(tree: Any) -> _Node:
    found = []
    for op, arguments in tree:
        parts = [_read(t) for t in _trees(arguments)]
        if str(op).endswith("REPEAT"):
            few, most, body = int(arguments[0]), int(arguments[1]), parts[0]
            weight = body.weight * max(1, most if arguments[1] is not _parser.MAXREPEAT else few)
            found.append(_Node("repeat", few * body.low, most * body.high, weight, parts, times=(few, most)))
        elif parts:
            low, high = min(p.low for p in parts), max(p.high for p in parts)
            found.append(_Node("choice", low, high, sum(p.weight for p in parts), parts))
        elif str(op) in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            own = [a for name, a in arguments if str(name) in ("LITERAL", "RANGE")] if str(op) == "IN" else [arguments]
            codes = [
                code for a in own if a is not None for code in ((*a, sum(a) // 2) if isinstance(a, tuple) else (a,))
            ]
            one = _compiler.compile(_parser.SubPattern(tree.state, [(op, arguments)]))
            pool = (_ASCII if "CATEGORY" in str(arguments) else _LETTERS) + "".join(map(chr, codes))
            weight = 10 if "CATEGORY" in str(arguments) else 1  # a class of Unicode has many states
            found.append(_Node("letter", 1, 1, weight, letters="".join(filter(one.fullmatch, dict.fromkeys(pool)))))
    return _Node(
        "sequence", sum(n.low for n in found), sum(n.high for n in found), 1 + sum(n.weight for n in found), found
    )


def _trees(arguments: Any) -> list[Any]:
    """The parsed patterns within an operation's arguments."""
    if isinstance(arguments, _parser.SubPattern):
        return [arguments]
    return [tree for a in arguments for tree in _trees(a)] if isinstance(arguments, tuple | list) else []


# Values.


class _Maker(_Checker):
    """Makes values for the parts of a schema. At each place the bounds take turns with values in between."""

    def __init__(
        self, schema: Mapping[str, Any], seed: int = 0, given: Mapping[str, Sequence[Any]] | None = None
    ) -> None:
        super().__init__(schema)
        self.given, self.random = given or {}, Random(seed).random
        self.bags: dict[tuple[str, int], list[int]] = {}
        self.full: bool | None = None  # which optional fields are there: all, none, or some

    def below(self, n: int) -> int:
        return int(self.random() * n)  # of `Random`, only `random` is promised to stay the same in every Python

    def turns(self, values: Sequence[Any], where: str) -> Sequence[Any]:
        """`values`, beginning with another one each time: in a random order, each before any comes again."""
        bag = self.bags.setdefault((where, len(values)), [])
        if not bag:
            self.spend(len(values))
            bag.extend(range(len(values)))
            for i in range(len(bag)):
                j = self.below(len(bag))
                bag[i], bag[j] = bag[j], bag[i]
        first = bag.pop() if bag else 0
        return [*values[first:], *values[:first]]

    def call(self, full: bool | None) -> dict[str, Any]:
        """Arguments that satisfy the schema, checked."""
        root = _merge(self.root, {"type": "object"})
        for attempt in range(TRIES):
            self.full = full if attempt < TRIES // 2 else False  # an optional field may have no value at all
            made: dict[str, Any] = self.value(root, "", 0)
            if self.accepts(made):
                return made
        error = next(self.validator.iter_errors(made), None)
        place, why = (error.json_path[2:], f" ({error.message[:100]})") if error else ("", "")
        raise CannotGenerate(place, f"nothing that was tried satisfies the schema{why}")

    def flat(self, schema: Part, where: str) -> Schema:
        """`schema` with its references followed and `allOf` merged."""
        for _ in range(DEEPEST):
            self.spend(10)
            if isinstance(schema, bool):
                return {} if schema else {"enum": []}
            if "$dynamicRef" in schema:
                raise CannotGenerate(where, "$dynamicRef isn't understood")
            rest = {k: v for k, v in schema.items() if k not in ("$ref", "allOf")}
            for part in schema.get("allOf", ()):
                rest = _merge(rest, self.flat(part, where))
            if "$ref" not in schema:
                return rest
            schema = _merge(rest, self.target(schema["$ref"], where))
        raise CannotGenerate(where, "its references lead in a circle")

    def target(self, reference: str, where: str) -> Part:
        found: Any = self.root if reference.startswith("#") else None
        for key in unquote(reference).split("/")[1:]:
            key = key.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list):
                found = dict(enumerate(found)).get(int(key) if key.isdecimal() else -1)
            else:
                found = found.get(key) if isinstance(found, dict) else None
        if not isinstance(found, dict | bool):
            raise CannotGenerate(where, f"the reference {reference[:100]!r} leads outside the schema or nowhere")
        return found

    def branches(self, schema: Schema, where: str) -> list[Schema]:
        """What a value may be one of, by `anyOf`, `oneOf` or several types, each whole; none where it is one thing."""
        for key in ("anyOf", "oneOf", "type"):
            if isinstance(parts := schema.get(key), list):
                rest = {k: v for k, v in schema.items() if k != key}
                parts = [{"type": kind} for kind in parts] if key == "type" else parts
                return [_merge(rest, self.flat(part, where)) for part in parts] or [{"enum": []}]
        return []

    def value(self, schema: Part, where: str, depth: int) -> Any:
        """A value for a part of the schema. Keywords that aren't looked at here (`not`, `if`) may still refuse it."""
        schema = self.flat(schema, where)
        if depth > DEEPEST:
            raise CannotGenerate(where, "it is nested without an end")
        known = [*schema.get("examples", ()), *([schema["default"]] if "default" in schema else [])]
        if known and self.full is None and self.below(4) == 0:
            some = self.turns(known, f"{where} known")[0]
            if self.accepts(some, schema):
                return deepcopy(some)
        if branches := self.branches(schema, where):
            order = self.turns(branches, f"{where} branch")
            if depth > SHALLOW:
                order = sorted(order, key=lambda b: any(k in b for k in ("properties", "items", "anyOf", "oneOf")))
            return self.first(order, where, depth)
        if key := "const" if "const" in schema else "enum" if "enum" in schema else "":
            rest = {k: v for k, v in schema.items() if k != key}
            for some in self.turns([schema[key]] if key == "const" else schema[key], where):
                if self.accepts(some, rest):
                    return deepcopy(some)
            raise CannotGenerate(where, "no value is left for it")
        kind = schema.get("type") or self.turns(_implied(schema, depth), f"{where} type")[0]
        makers: dict[str, Callable[[Schema, str, int], Any]] = {
            "object": self.an_object,
            "array": self.a_list,
            "string": self.a_text,
            "integer": self.a_number,
            "number": self.a_number,
            "boolean": lambda *_: self.turns((False, True), where)[0],
            "null": lambda *_: None,
        }
        return makers[kind]({**schema, "type": kind}, where, depth)

    def first(self, branches: Sequence[Schema], where: str, depth: int) -> Any:
        """A value for the first of the branches for which there is one."""
        for i, branch in enumerate(branches):
            try:
                return self.value(branch, where, depth + 1)
            except CannotGenerate:
                if i == len(branches) - 1:
                    raise

    def part(self, schema: Schema, name: str) -> Part:
        """The schema of an object's field."""
        if name in schema.get("properties", {}):
            return schema["properties"][name]
        named = schema.get("patternProperties", {}).items()
        found = (part for source, part in named if self.pattern(source).matches(name))
        return next(found, schema.get("additionalProperties", True))

    def an_object(self, schema: Schema, where: str, depth: int) -> dict[str, Any]:
        known, required = schema.get("properties", {}), dict.fromkeys(schema.get("required", ()))
        often = 0 if self.full is False else 1 if depth > SHALLOW else 10 if self.full else 5
        made: dict[str, Any] = {}
        for name in known | required:
            if name in required or self.below(10) < often:
                try:
                    made[name] = self.field(schema, name, where, depth)
                except CannotGenerate:
                    if name in required:
                        raise
        names: list[Schema] = [{"pattern": source} for source in schema.get("patternProperties", {})]
        # Where the schema names fields and says nothing of others, none are added.
        if schema.get("additionalProperties", not (known or names or where == "")) is not False:
            names.append({"minLength": 1, "maxLength": 20})
        fewest, most = schema.get("minProperties", 0), schema.get("maxProperties", MOST)
        some = len(made) + self.below(4) if self.full is None else len(made) + 2
        wanted = self.turns((fewest, most if most < MOST else some, some, some), f"{where} size")[0]
        wanted = fewest if often < 2 else max(fewest, min(some if self.full else wanted, most))
        for _ in range(TRIES + 2 * min(wanted, MOST) if names else 0):
            if len(made) >= wanted:
                break
            shape = _merge(names[self.below(len(names))] | {"type": "string"}, schema.get("propertyNames", True))
            name = self.value(shape, f"{where}.*", depth + 1)
            if name not in known | made:
                made[name] = self.field(schema, name, where, depth)
        return made

    def field(self, schema: Schema, name: str, where: str, depth: int) -> Any:
        part = self.part(schema, name)
        if self.given.get(name) and self.below(2):
            values = [v for v in self.given[name] if self.accepts(v, part)]
            if values:
                return deepcopy(self.turns(values, f"{where}.{name} given")[0])
        return self.value(part, _in(where, name), depth + 1)

    def a_list(self, schema: Schema, where: str, depth: int) -> list[Any]:
        first, rest, unique = schema.get("prefixItems", []), schema.get("items", True), schema.get("uniqueItems", False)
        low, high = (
            schema.get("minItems", 0),
            min(schema.get("maxItems", math.inf), len(first) if rest is False else math.inf),
        )
        if low > min(high, MOST):
            raise CannotGenerate(where, f"it needs at least {low} items and may have {min(high, MOST)}")
        few = int(min(high, max(low, len(first)) + 4))
        lengths = [low, int(high) if high <= MOST else low, *[-1] * (6 if high <= 50 else 40)]  # long ones not often
        wanted = self.turns(lengths, where)[0]
        if self.full is not None or depth > SHALLOW:
            wanted = max(low, min(few, 2 + len(first))) if self.full else low
        elif wanted < 0:
            wanted = low + self.below(few - low + 1)
        made: dict[str, Any] = {}
        for _ in range(wanted + TRIES * unique):
            i = len(made)
            if i == wanted:
                break
            try:
                part, place = (first[i], f"{where}[{i}]") if i < len(first) else (rest, f"{where}[]")
                item = self.value(part, place, depth + 1)
            except CannotGenerate:
                if i >= low:
                    break
                raise
            made[json.dumps(item, sort_keys=True) if unique else str(i)] = item
        if len(made) < low:
            raise CannotGenerate(where, f"there aren't {low} different items for it")
        return list(made.values())

    def a_number(self, schema: Schema, where: str, depth: int) -> int | float:
        whole, step = schema["type"] == "integer", Fraction(str(schema.get("multipleOf", 0)))
        if whole:
            step = Fraction(step.numerator or 1)  # the whole multiples of 2.5 are those of 5
        lows = [(Fraction(str(schema[k])), k != "minimum") for k in ("minimum", "exclusiveMinimum") if k in schema]
        highs = [(-Fraction(str(schema[k])), k != "maximum") for k in ("maximum", "exclusiveMaximum") if k in schema]
        low, high = _above(*max(lows), step) if lows else None, -_above(*max(highs), step) if highs else None
        start = low if low is not None else min(high or Fraction(0), Fraction(0)) - 1000 * (step or 1)
        end = high if high is not None else max(start, Fraction(0)) + 1000 * (step or 1)
        if start > end:
            raise CannotGenerate(where, "its bounds leave no number")
        far = [-_above(-Fraction(x), False, step) for x in (_FAR if whole else [*_FAR, *_FAR_FRACTIONS])]
        ends = [b for b in (low, high) if b is not None]
        ends += [b for b in far if (low is None or low <= b) and (high is None or b <= high)]
        turn = self.turns([*ends, *[None] * (len(ends) + 1)], where)[0] if self.full is None else None
        for _ in range(TRIES):
            made = start + (end - start) * Fraction(self.random()) if turn is None else turn
            if step:
                made = -_above(-made, False, step)
            elif turn is None and start <= round(made, 2) <= end:
                made = Fraction(round(made, 2))
            number = int(made) if whole or (made.denominator == 1 and abs(made) < 2**53) else float(made)
            if whole or not step or self.accepts(number, {"multipleOf": schema["multipleOf"]}):
                return number
            turn = None  # what is a multiple in decimals may be none in floats
        raise CannotGenerate(where, "no multiple was found within its bounds")

    def a_text(self, schema: Schema, where: str, depth: int) -> str:
        low, high = schema.get("minLength", 0), min(schema.get("maxLength", math.inf), LONGEST)
        if low > high:
            raise CannotGenerate(where, f"it needs at least {low} characters and may have {high}")
        if known := _FORMATS.get(schema.get("format", "")):
            for some in self.turns([*known.samples.split(), *self.invented(schema["format"])], f"{where} samples"):
                if self.accepts(some, schema):
                    return some
        pattern = self.pattern(schema["pattern"], where) if "pattern" in schema else None
        if pattern:
            low, high = max(low, pattern.low), min(high, pattern.high, 5_000_000 // pattern.weight)
        long = int(high if "maxLength" in schema else max(low, min(high, 5000)))
        turn = self.turns((low, long, *[-1] * 6), where)[0] if self.full is None else -1
        for attempt in range(TRIES if low <= high else 0):
            wanted = turn if turn >= 0 and attempt < TRIES // 2 else low + self.below(min(long - low, 40) + 1)
            text = pattern.text(wanted, self.below) if pattern else self.prose(wanted)
            if low <= len(text) <= high and (not pattern or pattern.matches(text)):
                return text
        raise CannotGenerate(where, f"no text of its length was found for its pattern {schema['pattern'][:100]!r}")

    def prose(self, length: int) -> str:
        text = ""
        while len(text) < min(length, 500):
            text += _WORDS[self.below(len(_WORDS))] + " "
        text = (text * (length // 500 + 1))[:length]
        return text[:-1] + "x" if text[-1:].isspace() else text

    def invented(self, name: str) -> list[str]:
        """A value of a format that isn't among its samples."""
        if name.startswith("uuid"):
            a, b, c = self.below(16**12), self.below(16**6), self.below(16**12)
            return [f"{a >> 16:08x}-{a & 0xFFFF:04x}-4{b >> 12:03x}-a{b & 0xFFF:03x}-{c:012x}"]
        day = date.fromordinal(719_163 + self.below(25_000)).isoformat()  # from 1970 on
        clock = f"{self.below(24):02}:{self.below(60):02}:{self.below(60):02}Z"
        return {"date": [day], "date-time": [f"{day}T{clock}"], "time": [clock]}.get(name, [])

    def another(self, schema: Part, where: str, depth: int) -> Any:
        """A value where the call at hand has none; None where there is none, or the schema goes too deep."""
        try:
            return self.value(schema, where, depth + 1) if depth <= SHALLOW else None
        except _UsedUp:
            raise
        except CannotGenerate:
            return None

    def broken(self, schema: Part, value: Any, where: str, depth: int) -> Broken:
        """`value` broken in one thing, at each place in it. Some that the schema still allows are among them."""
        schema = self.flat(schema, where)
        if branches := self.branches(schema, where):
            for branch in branches[:TRIES]:
                start = value if self.accepts(value, branch) else self.another(branch, where, depth)
                if start is not None:
                    yield from self.broken(branch, start, where, depth + 1)
            return
        if where:
            yield from ((wrong, where, why) for wrong, why in _wrong_values(schema, value))
        if isinstance(value, str | list | dict):
            yield from ((wrong, where, why) for wrong, why in self.broken_sizes(schema, value, where))
        if isinstance(value, dict):
            yield from self.broken_fields(schema, value, where, depth)
        elif isinstance(value, list):
            yield from self.broken_items(schema, value, where, depth)

    def broken_sizes(self, schema: Schema, value: Any, where: str) -> Iterator[tuple[Any, str]]:
        low, high, less, more = _SIZES[type(value)]
        if fewest := schema.get(low):
            yield self.another({**schema, low: fewest - 1, high: fewest - 1}, where, 0), less.format(fewest)
        if (most := schema.get(high, math.inf)) <= LONGEST:
            wrong = self.another({**schema, low: most + 1, high: most + 1}, where, 0)
            yield value.ljust(most + 1, "x") if wrong is None and isinstance(value, str) else wrong, more.format(most)

    def broken_fields(self, schema: Schema, value: dict[str, Any], where: str, depth: int) -> Broken:
        for name in schema.get("required", ()):
            yield {k: v for k, v in value.items() if k != name}, _in(where, name), "missing"
        yield {**value, "unknown_field": 1}, where, "unknown field"
        for name in schema.get("properties", {}) | value:
            part = self.part(schema, name)
            start = value[name] if name in value else self.another(part, _in(where, name), depth)
            if name in value or self.accepts({**value, name: start}, schema):
                for wrong, place, why in self.broken(part, start, _in(where, name), depth + 1):
                    yield {**value, name: wrong}, place, why
            if name not in schema.get("properties", {}) and "propertyNames" in schema:
                for wrong, _, why in self.broken(schema["propertyNames"], name, "", depth + 1):
                    if isinstance(wrong, str):
                        yield {k: v for k, v in value.items() if k != name} | {wrong: start}, where, f"a name: {why}"

    def broken_items(self, schema: Schema, value: list[Any], where: str, depth: int) -> Broken:
        first, rest = schema.get("prefixItems", []), schema.get("items", True)
        if not value and (item := self.another(first[0] if first else rest, f"{where}[0]", depth)) is not None:
            value = [item]
        if value and schema.get("uniqueItems"):
            yield [value[0], value[0], *value[2:]], f"{where}[1]", "a duplicate"
        for i in [*range(min(len(first), len(value))), *range(max(len(first), len(value) - 1), len(value))]:
            part = first[i] if i < len(first) else rest  # of which the last item stands for all
            for wrong, place, why in self.broken(part, value[i], f"{where}[{i}]", depth + 1):
                yield [*value[:i], wrong, *value[i + 1 :]], place, why


_SIZES: dict[type, tuple[str, str, str, str]] = {
    str: ("minLength", "maxLength", "shorter than {}", "longer than {}"),
    list: ("minItems", "maxItems", "fewer than {} items", "more than {} items"),
    dict: ("minProperties", "maxProperties", "fewer than {} fields", "more than {} fields"),
}
_FAR = [0, 1, -1, *(x for n in (31, 53, 63) for x in (2**n - 1, 2**n, -(2**n) - 1))]
_FAR_FRACTIONS = ["0.1", "-0.5", "1e-9", "1e300"]


def _in(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _above(bound: Fraction, is_open: bool, step: Fraction) -> Fraction:
    """The least number from `bound` on (beyond it, where it is open) that is a multiple of `step`, unless that is 0."""
    if step:
        times = math.ceil(bound / step)
        return (times + (is_open and times * step == bound)) * step
    return Fraction(str(math.nextafter(float(bound), math.inf))) if is_open else bound


def _kind(value: Any) -> type:
    return float if type(value) is int else type(value)


_OTHERS: dict[str, Any] = {"null": None, "true": True, "a number": 7, "a text": "text", "a list": [], "an object": {}}


def _wrong_values(schema: Schema, value: Any) -> Iterator[tuple[Any, str]]:
    """Values in place of one, and what is wrong with each: its type, its enum, its text, its number."""
    kind = schema.get("type", "value for it")
    yield from ((other, f"{what}, no {kind}") for what, other in _OTHERS.items() if _kind(other) is not _kind(value))
    yield [value], f"a list around the {kind}"
    if not isinstance(value, str):
        yield json.dumps(value, ensure_ascii=False), f"the {kind} as a text"
    if isinstance(value, bool):
        yield int(value), f"{int(value)}, no {kind}"
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    if values and isinstance(value, str):
        yield from {
            value.swapcase(): "wrong case",
            f"{value} ": "a space after it",
            "none_of_these": "not in the enum",
        }.items()
    elif values:
        yield max((v for v in values if isinstance(v, int | float)), default=0) + 1, "not in the enum"
    if isinstance(value, str):
        yield "", "empty"
        yield from _FORMATS[schema["format"]].wrong.items() if schema.get("format") in _FORMATS else ()
        start = value[: int(min(schema.get("maxLength", LONGEST), LONGEST) - 1)]
        if "pattern" in schema or "format" in schema:
            yield f"{start}\n", "a line break after it"
            for wrong in (f"{start}!", f"!{start}", f"{start}\0", " " * len(value), value.swapcase(), "!"):
                yield wrong, f"{wrong[:40]!r} doesn't match"
    elif _kind(value) is float:
        yield value + (-0.5 if value == schema.get("maximum") else 0.5), f"a fraction, no {kind}"
        step = schema.get("multipleOf", 1)
        for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if key in schema:
                beyond = {"minimum": -step, "maximum": step}.get(key, 0)
                yield schema[key] + beyond, f"{'below' if 'min' in key.lower() else 'above'} {key} {schema[key]}"
        half = float(Fraction(str(value)) + Fraction(str(step)) / 2)
        yield value + 1 if schema.get("type") == "integer" else half, f"no multiple of {step}"


def _merge(one: Schema, two: Part) -> Schema:
    """A schema for what both allow, as far as that can be said; the check refuses the rest."""
    if isinstance(two, bool):
        return one if two else {**one, "enum": []}
    merged = {**one, **two}
    for key in (k for k in two if k in one and one[k] != two[k]):
        old, new = one[key], two[key]
        if key.startswith(("min", "max", "exclusive")):
            merged[key] = max(old, new) if "min" in key.lower() else min(old, new)
        elif key == "required":
            merged[key] = [*old, *new]
        elif key in ("properties", "patternProperties"):
            merged[key] = {**old, **{n: {"allOf": [old[n], part]} if n in old else part for n, part in new.items()}}
        elif key in ("items", "additionalProperties", "propertyNames"):
            merged[key] = {"allOf": [old, new]}
        elif key in ("anyOf", "oneOf"):
            merged[key] = [{"allOf": [a, b]} for a, b in islice(product(old, new), 100)]
        elif key == "enum":
            merged[key] = [v for v in old if v in new]
        elif key == "type":
            olds, news = ([k] if isinstance(k, str) else k for k in (old, new))
            both = [k for k in olds if k in news or (k == "integer" and "number" in news)]
            both += [k for k in news if k == "integer" and "number" in olds and k not in both]
            merged[key] = both[0] if len(both) == 1 else both
    return merged


def _implied(schema: Schema, depth: int) -> list[str]:
    """The types a schema without `type` is about; all of them where nothing says which."""
    hints = {
        "object": "properties required additionalProperties patternProperties minProperties",
        "array": "items prefixItems minItems maxItems uniqueItems",
        "string": "pattern format minLength maxLength",
        "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
    }
    found = [kind for kind, words in hints.items() if any(word in schema for word in words.split())]
    everything = ["string", "integer", "number", "boolean", "null", *(["array", "object"] if depth <= SHALLOW else [])]
    return found or everything
