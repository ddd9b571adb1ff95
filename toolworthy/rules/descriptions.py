"""Point 2: the description."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from mcp_types import Tool

from toolworthy.rules.base import Rule, properties
from toolworthy.rules.names import words

SHORTEST = 40  # characters; below that a text says no more than the name
CUT = 2048  # one host cuts there (facts with dates: lesson 02)
COMFORTABLE = 1024  # one provider refuses more


def text(tool: Tool) -> str:
    """The description, or "" where there is none."""
    return (tool.description or "").strip()


def mentions(name: str, body: str) -> bool:
    """Whether `body` names the tool `name` as a whole word."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", body) is not None


# People say it in many ways; a phrase missing here refuses a good text, so these are wide.
_USE = re.compile(
    r"\b(when|whenever|where|if|once|before|after|in case|as soon as|as long as|us(e|ed|eful)|made|meant|good|right|best"
    r"|help(s|ful)?|intended|suit(s|ed|able)|appropriate|need(s|ed)?|answers|questions?|asks?|asked|wants?|wanted|wish(es)?"
    r"|for (requests|whoever|anyone|anybody|people|those|\w+ (that|which|who)))|applies|typical(ly)?\b|^(call|run|pick|choose|take|reach|apply)\b",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(not|no|never|cannot|nothing|nobody|wrong|avoid|unlike|without|except|unless|rather|instead|otherwise|only"
    r"|other than|(un|ill-?)suit(ed|able)|\w+n['’]t)\b",
    re.IGNORECASE,
)
_ELSE = re.compile(
    r"\b(use|take|see|go|prefer|try|call|choose|pick|ask|for that|does that|is for|job of|belongs)\b", re.IGNORECASE
)


def sentences(body: str) -> list[str]:
    """`body` in sentences and half-sentences, lower case, white space folded."""
    return [
        " ".join(s.lower().split()) for s in re.split(r"(?<=[.;!?])\s+|\n\s*\n|\n\s*[-*]", body) if s.strip(" .;\n")
    ]


def when_sentences(tool: Tool) -> list[str]:
    """The sentences that say when to use the tool: a word of use, and no negation before it."""
    found = []
    for sentence in sentences(text(tool)):
        use, negation = _USE.search(sentence), _NOT.search(sentence)
        if use and not (negation and negation.start() < use.start()):
            found.append(sentence)
    return found


def says_when_not(tool: Tool) -> bool:
    """Whether the description says what the tool is not for."""
    return _NOT.search(text(tool)) is not None


def points_to(tool: Tool, others: Iterable[str]) -> list[str]:
    """The other tools that the description sends the model to: named, beside a negation or a word such as *use*."""
    parts = sentences(text(tool))
    found = []
    for name in others:
        for i, sentence in enumerate(parts):
            around = " ".join(parts[max(0, i - 1) : i + 2])
            if mentions(name.lower(), sentence) and (_NOT.search(around) or _ELSE.search(around)):
                found.append(name)
                break
    return found


def _present(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    if not text(tool):
        yield "there is no description: the model knows the name and nothing else"


def _says_more_than_name(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    body = text(tool)
    if not body:
        return
    new = (
        set(words(body))
        - set(words(tool.name))
        - {"a", "an", "the", "of", "to", "this", "tool", "it", "for", "and", "or", "s"}
    )
    if len(new) < 3:
        yield "the description only says the name again"
    elif len(body) < SHORTEST:
        yield f"the description has {len(body)} characters, too few to choose by; {SHORTEST} is the least"


def _when(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    if text(tool) and not when_sentences(tool):
        yield "the description doesn't say when to use the tool"


def _when_not(tool: Tool, tools: Sequence[Tool]) -> Iterator[str]:
    if text(tool) and len(tools) > 1 and not says_when_not(tool):
        yield "the description doesn't say when not to use the tool, nor what to use instead"


def _parameters(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    missing = [name for name, schema in properties(tool).items() if not str(schema.get("description") or "").strip()]
    if missing:
        yield f"no description for the parameter{'s' if len(missing) > 1 else ''} {', '.join(missing)}"


def _not_cut(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    if len(tool.description or "") > CUT:
        yield f"the description has {len(tool.description or '')} characters; one host shows the model the first {CUT} only"


def _comfortable(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    if COMFORTABLE < len(tool.description or "") <= CUT:
        yield f"the description has {len(tool.description or '')} characters; one model API refuses more than {COMFORTABLE}"


def _twins(tools: Sequence[Tool]) -> Iterator[str]:
    seen: dict[tuple[str, ...], str] = {}
    for tool in tools:
        key = tuple(w for w in words(text(tool)))
        if key and key in seen:
            yield f"{seen[key]} and {tool.name} have the same description: nothing tells them apart"
        seen.setdefault(key, tool.name)


RULES = [
    Rule("description-present", 2, "Without a description a model chooses by the name alone.", "Write what it does, when to use it, when not.", "02", _present),
    Rule("description-says-more", 2, "A text that repeats the name costs tokens and says nothing.", "Say what it does or returns, in which units, and what is special about it.", "02", _says_more_than_name),
    Rule("description-when", 2, "Choosing a tool is answering 'when?'.", "Add a sentence: Use it when …", "02", _when),
    Rule("description-when-not", 2, "Neighbours are told apart by what they are not for.", "Add a sentence: Not for …; use … instead.", "02", _when_not),
    Rule("description-parameters", 2, "A model guesses format and unit of what isn't described.", "Describe each parameter: meaning, unit, format, example.", "02", _parameters),
    Rule("description-not-cut", 2, "What a host cuts off, the model never sees.", f"Stay below {CUT} characters; put rules and limits first.", "02", _not_cut),
    Rule("description-comfortable", 2, "Long texts push each other out of the context.", f"Stay below {COMFORTABLE} characters.", "02", _comfortable, advisory=True),
    Rule("description-no-twins", 2, "Two tools with one text are one tool to the model.", "Say in each what only it does.", "02", look_at_all=_twins),
]  # fmt: skip
