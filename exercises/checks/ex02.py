"""Exercise 02: rescue a toolbox of six.

Names are the learner's own, so a tool is known by what it does: every tool is called once, and the ledger of the forge
says which job that was.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_types import CallToolResult, Tool
from pydantic_core import to_json

from exercises.checks.observing import observed_world
from servers.backends.world import Entry, World
from servers.backends.world.forge import PEOPLE, PROJECTS, ROLES, forge
from toolworthy.exercise import Attempt, Exercise, Part, Red
from toolworthy.ranking import rank
from toolworthy.render import shorten, visible
from toolworthy.rules import RULES
from toolworthy.rules.base import properties
from toolworthy.rules.descriptions import points_to, text, when_sentences
from toolworthy.rules.names import is_verb, own_words, words
from toolworthy.rules.size import size
from toolworthy.subject import Subject

HERE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Job:
    """Something people do with the forge: the operations that do it, its parameters, and how people ask for it."""

    name: str
    operations: tuple[str, ...]
    parameters: tuple[str, ...]
    requests: tuple[str, ...]


JOBS = (
    Job("rename a project", ("rename_project",), ("project", "new_name"), (
        "Rename the project {project} to {word}.",
        "{project} should be called {word} from today on: please change its name.",
        "We don't like the name {project} any more; rename it.",
    )),
    Job("archive a project", ("archive_project",), ("project",), (
        "Archive {project}, nobody works on it any more.",
        "The project {project} is finished: make it read-only.",
        "Put the project {project} into the archive.",
    )),
    Job("open an issue", ("open_issue",), ("project", "title", "body"), (
        "Open an issue in {project}: {thing}.",
        "Report a bug in {project}: {thing}.",
        "Please create a new issue that says {thing}.",
    )),
    Job("list the open issues of a project", ("list_open_issues",), ("project",), (
        "Which issues are open in {project}?",
        "List the open issues of the project {project}.",
        "Show me all open issues in {project}.",
    )),
    Job("close an issue", ("close_issue",), ("issue_id",), (
        "Close issue {issue}.",
        "{issue} is fixed, close it.",
        "The issue {issue} is done and can be closed.",
    )),
    Job("ask for a merge", ("create_merge_request",), ("project", "source_branch", "target_branch", "title"), (
        "Create a merge request from {word} into main.",
        "Ask for the branch {word} to be merged into main.",
        "Open a merge request in {project} for my branch {word}.",
    )),
    Job("read a file", ("read_file",), ("project", "path"), (
        "Read the file {file} of {project}.",
        "What is in the file {file}?",
        "Show me the content of {file} in {project}.",
    )),
    Job("write a file", ("write_file",), ("project", "path", "content"), (
        "Write this text into {file}.",
        "Save the following content as {file} in {project}.",
        "Overwrite the file {file} with a new text.",
    )),
    Job("register a person or change their data", ("put_user", "create_user", "update_user"), ("email", "name", "role"),
        (
        "Register {person} as a new user.",
        "Change the role of the user {person} to owner.",
        "Add a user account for {person} with the role reader.",
    )),
    Job("list the open issues assigned to a person", ("list_assigned_issues",), ("email",), (
        "Which issues are assigned to {person}?",
        "List everything that is assigned to {person}.",
        "What does {person} have to work on? Show the issues assigned to that person.",
    )),
)  # fmt: skip

PEOPLE_JOB = JOBS[8]  # one tool (put, upsert) or two (create, update): both are good answers

BUDGET = 9_000  # bytes of tools/list; the model solution needs about two thirds
RIGHT_SHARE = 0.6  # of the requests must find their tool first
WORDS = ("kestrel", "maple", "harbour", "lantern", "granite", "meadow", "falcon", "juniper")


class Draw:
    """Values for one run. Each project and issue is used once, so that no tool's effect disturbs another's call."""

    def __init__(self, attempt: Attempt) -> None:
        self.random = attempt.random
        self.projects = self.random.sample(PROJECTS, len(PROJECTS))
        self.issues = [f"I-{101 + PROJECTS.index(p)}" for p in self.random.sample(PROJECTS, len(PROJECTS))]

    def word(self) -> str:
        return f"{self.random.choice(WORDS)}-{self.random.randrange(1000, 9999)}"

    def value(self, parameter: str) -> Any:
        match parameter:
            case "project":
                return self.projects.pop()
            case "issue_id":
                return self.issues.pop()
            case "path":
                return "README.md"
            case "email":
                return self.random.choice(list(PEOPLE))
            case "role":
                return self.random.choice(ROLES)
            case "name" | "title":
                return " ".join(w.title() for w in self.random.sample(WORDS, 2))
            case _:
                return self.word()

    def request(self, pattern: str) -> str:
        # Made-up names only: a word that some description happens to contain would make the verdict a matter of luck.
        return pattern.format(
            project=self.word(),
            word=self.word(),
            thing=f"“{self.word()} {self.word()}”",
            issue=f"I-{self.random.randrange(200, 999)}",
            file=f"{self.word()}.xyz",
            person=f"{self.word()}@xyz.invalid",
        )


@dataclass(frozen=True)
class Toolbox:
    """The tools of a server and the job that each was seen doing."""

    tools: Sequence[Tool]
    instructions: str
    jobs: dict[str, Job]  # tool name → job
    draw: Draw

    def doing(self, job: Job) -> list[str]:
        return [name for name, j in self.jobs.items() if j is job]


PARAMETERS = {p for job in JOBS for p in job.parameters}


async def observe(attempt: Attempt) -> Toolbox:
    """Call every tool and see in the ledger what it did. Red unless each job has a tool that does it and no more."""
    draw = Draw(attempt)
    # Twice as many projects as jobs: more tools than that can't be told apart by calling, and nobody wants them.
    with observed_world(World(forge)) as world:
        async with attempt.connect() as subject:
            if not subject.tools:
                raise Red(
                    "Your server offers no tool yet.", expected=f"a tool for each of {len(JOBS)} jobs", seen="none"
                )
            if len(subject.tools) > 18:
                raise Red(
                    f"Your server offers {len(subject.tools)} tools.",
                    expected=f"about one for each of {len(JOBS)} jobs",
                    seen=", ".join(t.name for t in subject.tools),
                )
            jobs = {tool.name: await _job_of(tool, subject, world, draw) for tool in subject.tools}
            box = Toolbox(subject.tools, subject.client.instructions or "", jobs, draw)
            await _people(box.doing(PEOPLE_JOB), subject, world, draw)
    missing = [job.name for job in JOBS if not box.doing(job)]
    if missing:
        raise Red(
            f"No tool does this job: {missing[0]}.",
            expected=f"each of {len(JOBS)} jobs has a tool of its own",
            seen=f"missing: {'; '.join(missing)}",
        )
    for job in JOBS:
        doing = box.doing(job)
        if len(doing) > 1 and len(job.operations) == 1:
            raise Red(
                f"Two tools do the same job: {job.name}.",
                tool=", ".join(doing),
                expected="one tool for a job",
                seen="a model that can't tell which one to call",
            )
    return box


async def _job_of(tool: Tool, subject: Subject, world: World, draw: Draw) -> Job:
    schema = properties(tool)
    strange = [p for p in schema if p not in PARAMETERS]
    needed = tool.input_schema.get("required", [])
    if unknown := [p for p in strange if p in needed or p in ("action", "op", "operation", "data", "sql")]:
        raise Red(
            f"The parameter {unknown[0]!r} isn't one of the jobs' parameters.",
            tool=tool.name,
            expected="the parameter names of the table, and no switch between several jobs",
            seen=", ".join(schema),
        )
    arguments = {p: draw.value(p) for p in schema if p in PARAMETERS}
    if {"project", "path"} <= set(arguments):
        # A file of this run, so that nobody can know its name or content by heart.
        arguments["path"] = f"{draw.word()}.md"
        world.perform("forge.write_file", to_json({**_only(arguments, "project", "path"), "content": draw.word()}))
    before = len(world.ledger)
    result = await subject.call(tool.name, arguments)
    did = [e for e in world.ledger[before:] if e.operation.startswith("forge.")]
    call = f"{tool.name}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})"
    if not did:
        raise Red(
            "Nothing reached the forge when the tool was called.",
            tool=tool.name,
            expected=f"{call} asks the forge for something",
            seen=f"the answer {shorten(_text(result), 120)!r} and an unchanged forge",
        )
    # A tool that only registers people is rightly told that this one is registered; that comes up again in `_people`.
    registers = {_operation(e) for e in did} <= {"create_user", "update_user"}
    if result.is_error and not registers:
        raise Red("The call failed.", tool=tool.name, expected=f"{call} works", seen=shorten(_text(result), 200))
    return _known_job(tool, arguments, did, result, call)


def _known_job(tool: Tool, arguments: dict[str, Any], did: list[Entry], result: CallToolResult, call: str) -> Job:
    effects = [e for e in did if e.effect] or [e for e in did if _operation(e) in ("create_user", "update_user")]
    decisive = effects or _decisive_reads(did, arguments)
    jobs = {job.name: job for e in decisive for job in JOBS if _operation(e) in job.operations}
    if len(jobs) != 1:
        raise Red(
            f"One call did {'several jobs' if jobs else 'something that is none of the jobs'}.",
            tool=tool.name,
            expected="one job a tool",
            seen=", ".join(_operation(e) for e in did),
        )
    job = next(iter(jobs.values()))
    if absent := [p for p in job.parameters if p not in arguments]:
        raise Red(
            f"The tool does the job “{job.name}” and can't be told {' and '.join(absent)}.",
            tool=tool.name,
            expected=f"parameters {', '.join(job.parameters)}",
            seen=", ".join(arguments) or "none",
        )
    if len([e for e in did if e.effect]) > 1:
        raise Red(
            "One call changed the forge more than once.",
            tool=tool.name,
            expected=f"{call} has one effect",
            seen=", ".join(f"{_operation(e)} {json.dumps(e.arguments)}" for e in did if e.effect),
        )
    entry = decisive[-1]
    if wrong := [p for p in job.parameters if entry.arguments.get(p) != arguments[p]]:
        raise Red(
            f"The forge was told another {wrong[0]} than the tool.",
            tool=tool.name,
            expected=f"{wrong[0]}={arguments[wrong[0]]!r}",
            seen=f"{wrong[0]}={entry.arguments.get(wrong[0])!r}",
        )
    if entry.outcome == "answered" and not _passes_on(entry.answer, result):
        raise Red(
            "The tool keeps the forge's answer to itself: is there a `return`?",
            tool=tool.name,
            expected=f"{call} returns the forge's answer: {shorten(json.dumps(entry.answer, ensure_ascii=False), 120)}",
            seen=shorten(_text(result) or "nothing", 120),
        )
    return job


async def _people(doing: list[str], subject: Subject, world: World, draw: Draw) -> None:
    """Red unless somebody new can be registered and somebody known changed, by one tool or by two."""
    for wish in ("register somebody new", "change somebody"):
        able = []
        for tool in doing:
            email = f"{draw.word()}@forge.example" if "new" in wish else next(iter(PEOPLE))
            told = {"email": email, "name": draw.value("name"), "role": draw.random.choice(ROLES)}
            before = len(world.ledger)
            result = await subject.call(tool, told)
            effects = [e for e in world.ledger[before:] if e.effect]
            if any(e.arguments == told and not result.is_error and _passes_on(e.answer, result) for e in effects):
                able.append(tool)
        if len(able) > 1:
            raise Red(
                f"Two tools can {wish}.",
                tool=", ".join(able),
                expected="one tool that registers and changes, or one for each",
                seen="a model that can't tell which one to call",
            )
        if doing and not able:
            raise Red(
                f"No tool can {wish}.",
                tool=", ".join(doing),
                expected="people can be registered and changed: one tool that does both by promise, or one for each",
                seen="the forge refused, wasn't asked, was told something else, or its answer didn't arrive",
            )


def _decisive_reads(did: list[Entry], arguments: dict[str, Any]) -> list[Entry]:
    """Of several reads the one that needs most of what the tool was told; the others only look something up."""

    def told(entry: Entry) -> int:
        job = next((j for j in JOBS if _operation(entry) in j.operations), None)
        return len(job.parameters) if job and set(job.parameters) <= set(arguments) else 0

    return [max(did, key=told)] if any(told(e) for e in did) else did[-1:]


def _operation(entry: Entry) -> str:
    return entry.operation.removeprefix("forge.")


def _text(result: CallToolResult) -> str:
    return " ".join(getattr(block, "text", "") for block in result.content)


def _passes_on(answer: Any, result: CallToolResult) -> bool:
    """Whether the result, as text or as structure, holds the identifying values of the answer."""
    said = _text(result) + json.dumps(result.structured_content, ensure_ascii=False)
    rows = answer if isinstance(answer, list) else [answer]
    # What any constant might say by chance; and a list may be cut to a page.
    vague = ("state", "archived", "role", "assignee", "opened", "body")
    telling = [[str(v) for k, v in row.items() if k not in vague] for row in rows if isinstance(row, dict)]
    if any(row.get("content", "") not in said for row in rows if isinstance(row, dict)):
        return False
    return any(value in said for values in telling for value in values) if telling else True


def _only(arguments: dict[str, Any], *names_: str) -> dict[str, Any]:
    return {n: arguments[n] for n in names_}


async def split(attempt: Attempt) -> None:
    box = await observe(attempt)
    await _one_job_with_any_value(attempt, box)


async def _one_job_with_any_value(attempt: Attempt, box: Toolbox) -> None:
    """Red if a tool does another job when a parameter is empty or an optional one is given: a switch in disguise."""
    with observed_world(World(forge)) as world:
        async with attempt.connect() as subject:
            for tool, parameter, value in _trials(box):
                draw, job = Draw(attempt), box.jobs[tool.name]
                arguments = {p: draw.value(p) for p in properties(tool) if p in PARAMETERS}
                before = len(world.ledger)
                result = await subject.call(tool.name, _told(arguments, parameter, value))
                news = world.ledger[before:]
                did = {_operation(e) for e in news if e.effect}
                if not did and news and not result.is_error and not _reads(job):
                    did = {_operation(news[-1])} & {o for j in JOBS for o in j.operations}
                if other := did - set(job.operations):
                    how = {OMITTED: f"Without {parameter}", EMPTY_LIKE_THE_OTHERS: "With empty texts"}
                    told = how.get(value, "") if value.__hash__ else ""
                    raise Red(
                        f"{told or f'With {parameter}={value!r}'} the tool does another job.",
                        tool=tool.name,
                        expected=f"{job.name}, or a refusal, whatever it is told",
                        seen=", ".join(sorted(other)),
                    )


def _trials(box: Toolbox) -> Iterator[tuple[Tool, str, Any]]:
    # What takes projects out of use comes last, or other tools' calls would be refused for that.
    for tool in sorted(
        box.tools, key=lambda t: box.jobs[t.name].operations[0] in ("rename_project", "archive_project")
    ):
        for parameter, schema in properties(tool).items():
            omitted = [] if parameter in tool.input_schema.get("required", []) else [OMITTED]
            for value in ["", *omitted] if parameter in PARAMETERS else _trial_values(schema):
                yield tool, parameter, value
        for parameter in properties(tool):
            if parameter in PARAMETERS:
                yield tool, parameter, EMPTY_LIKE_THE_OTHERS
                break


OMITTED, EMPTY_LIKE_THE_OTHERS = object(), object()


def _told(arguments: dict[str, Any], parameter: str, value: Any) -> dict[str, Any]:
    if value is OMITTED:
        return {p: v for p, v in arguments.items() if p != parameter}
    if value is EMPTY_LIKE_THE_OTHERS:
        return {p: v if p in ("project", "issue_id", "email") else "" for p, v in arguments.items()}
    return arguments | {parameter: value}


def _trial_values(schema: dict[str, Any]) -> list[Any]:
    """Some values for a parameter that isn't in the table, by its type; wrong ones are refused and do no harm."""
    branches = [schema, *(b for b in schema.get("anyOf", []) if isinstance(b, dict))]
    if enums := [v for b in branches if isinstance(b.get("enum"), list) for v in b["enum"]]:
        return enums[:20]
    verbs = ["open", "close", "archive", "delete", "write", "update"]
    return [True, False, 1, *verbs, *({verb: True} for verb in verbs)]


async def toolbox(attempt: Attempt) -> Toolbox:
    """The toolbox for the parts that look at its texts; they make sense once every job has its tool."""
    try:
        return await observe(attempt)
    except Red as red:
        raise Red(
            f"First make 02.1 green. {red.message}", tool=red.tool, expected=red.expected, seen=red.seen
        ) from None


def refuse(wrong: dict[str, str], expected: str, seen: str = "") -> None:
    """Red if any tool is wrong (tool name → what is wrong): the first in words, and all by name."""
    if wrong:
        first, sentence = next(iter(wrong.items()))
        raise Red(
            _sentence(sentence), tool=", ".join(wrong), expected=expected, seen=f"{first}: {seen}" if seen else first
        )


def _sentence(text_: str) -> str:
    return f"{text_[0].upper()}{text_[1:]}."


def refuse_by_rule(box: Toolbox, rule_id: str) -> None:
    rule = RULES[rule_id]
    for sentence in rule.look_at_all(box.tools) if rule.look_at_all else ():
        raise Red(_sentence(sentence), expected=rule.advice, seen=", ".join(t.name for t in box.tools))
    if rule.look:
        wrong = {t.name: said[0] for t in box.tools if (said := list(rule.look(t, box.tools)))}
        if wrong:
            refuse(wrong, rule.advice, _quote(box, next(iter(wrong))) if rule.point == 2 else "")


def _quote(box: Toolbox, name: str) -> str:
    return shorten(next(text(t) for t in box.tools if t.name == name) or "no description", 400)


async def names(attempt: Attempt) -> None:
    box = await toolbox(attempt)
    for rule in RULES.values():
        if rule.point == 1:
            refuse_by_rule(box, rule.id)
    lies = {t.name: fault for t in box.tools if (fault := _name_fault(own_words(t, box.tools), box.jobs[t.name]))}
    refuse(lies, "a name that says what happens", next(iter(lies), ""))


READS = {"get", "read", "list", "show", "find", "search", "fetch", "view", "count", "look", "see", "query", "browse"}
WRITES = {
    "write", "create", "open", "close", "delete", "update", "set", "add", "rename", "archive", "put", "save", "make",
}  # fmt: skip
DELETES = {"delete", "remove", "destroy", "drop", "erase", "purge", "wipe"}
# Other words that people have for the things of a forge.
THINGS = {
    "bug", "ticket", "task", "repo", "repository", "document", "member", "account", "colleague", "people", "work",
    "assignment",
}  # fmt: skip


def _reads(job: Job) -> bool:
    return job.operations[0].startswith(("list", "read"))


def _name_fault(parts: list[str], job: Job) -> str:
    verb = parts[0]
    if not _reads(job) and verb in READS:
        return f"{verb!r} promises to read, and the tool changes the forge"
    # “Open a file” is how people say that they read it.
    if _reads(job) and verb in WRITES - {"open"}:
        return f"{verb!r} promises a change, and the tool only reads"
    if verb in DELETES:
        return f"{verb!r} promises that something will be gone, and nothing is"
    if other := next((j for j in JOBS if j is not job and "_".join(parts) in j.operations), None):
        return f"the name is that of another job, {other.name}"
    known = _stems(job.name, *job.requests, *job.operations, *THINGS)
    if not {_stem(w) for w in parts[1:]} & known:
        return "the name doesn't say what the tool acts on"
    return ""


ARTICLES = {"a", "an", "the", "of", "to", "in", "for", "s", "your", "this", "please", "now", "here", "one", "it", "up"}


async def titles(attempt: Attempt) -> None:
    box = await toolbox(attempt)
    shown = {t.name: (t.title or (t.annotations and t.annotations.title) or "").strip() for t in box.tools}
    faults = {name: fault for name, title in shown.items() if (fault := _title_fault(box, name, title))}
    if faults:
        first = next(iter(faults))
        alike = {n: f for n, f in faults.items() if f == faults[first]}
        refuse(
            alike, 'what a person would read on a button: @mcp.tool(title="Open an issue")', shown[first] or "no title"
        )
    taken: dict[tuple[str, ...], str] = {}
    for name, title in shown.items():
        key = tuple(w for w in words(title) if w not in ARTICLES) or (title,)
        if key in taken:
            both = f"{taken[key]}, {name}"
            raise Red("Two tools have the same title.", tool=both, expected="people can tell them apart", seen=title)
        taken[key] = name


def _title_fault(box: Toolbox, name: str, title: str) -> str:
    said = set(words(title))
    plain = re.sub(r"^\W+", "", title)  # a sign in front is fine
    sentence_case = " " in plain and plain == plain.capitalize() and plain[-1:].isalnum()
    if not title or ("".join(words(title)) == "".join(words(name)) and not sentence_case):
        return "the title is the one FastMCP makes out of the name, or there is none"
    if visible(title) != title or "\n" in title or "_" in title:
        return "the title has characters that nobody writes on a button"
    if len(title) > 60:
        return f"the title doesn't fit a menu: it has {len(title)} characters, and 60 is the limit"
    if len(said) < 2 and title.isascii():
        return "the title doesn't say what is done to what"
    if len(words(title)) > len(said) + 1 or any(w.isdigit() for w in said):
        return "the title has words or figures that say nothing"
    if said & {"tool", "function", "todo"}:
        return "the title speaks of the tool, not of what it does"
    if said & DELETES:
        return "the title promises that something will be gone, and nothing is"
    core = said - ARTICLES
    if other := next((t.name for t in box.tools if t.name != name and set(words(t.name)) == core), ""):
        return f"the title says what {other} does"
    job = box.jobs[name]
    known = _stems(name, job.name, *job.requests, *job.operations)
    if title.isascii() and not {_stem(w) for w in core} & known:
        return "nothing in the title says what the tool does"
    return ""


def _stems(*texts: str) -> set[str]:
    """The beginnings of all words in `texts`, without the places where a request's values go."""
    return {_stem(w) for text_ in texts for w in words(re.sub(r"\{\w+\}", " ", text_))}


def _stem(word: str) -> str:
    return word[:4]


async def check_descriptions(attempt: Attempt) -> None:
    await descriptions(attempt)


async def descriptions(attempt: Attempt) -> Toolbox:
    box = await toolbox(attempt)
    for rule_id in ("description-present", "description-says-more", "description-parameters", "description-not-cut"):
        refuse_by_rule(box, rule_id)
    thin = {
        t.name: f"the parameter {p} is described by {s['description']!r} only"
        for t in box.tools
        for p, s in properties(t).items()
        if len(words(str(s["description"]))) < 2 or words(str(s["description"])) == words(p)
    }
    refuse(thin, "what it means, or an example: Name of the project, such as web-shop.")
    texts: dict[str, set[str]] = {}
    for tool in box.tools:
        for p, s in properties(tool).items():
            texts.setdefault(_bare(str(s["description"]).casefold()), set()).add(p)
    if worn := next((ps for ps in texts.values() if len(ps) > 2), None):
        raise Red(
            "One text describes parameters that mean different things.",
            expected="for each parameter what it means",
            seen=f"the same words for {', '.join(sorted(worn))}",
        )
    known = {t.name for t in box.tools}
    for tool in box.tools:
        if wrong := _unknown_tool(text(tool), known):
            close = difflib.get_close_matches(wrong, known, 1)
            raise Red(
                f"The description sends the model to {wrong}, which isn't in the toolbox.",
                tool=tool.name,
                expected=f"did you mean {close[0]}?" if close else f"one of: {', '.join(sorted(known - {tool.name}))}",
                seen=_quote(box, tool.name),
            )
    said = {t.name: when_sentences(t) for t in box.tools}
    silent = {
        n: "the description doesn't say when to use the tool, in words that this check knows"
        for n, s in said.items()
        if not s
    }
    if silent:
        refuse(
            silent,
            "a sentence such as: Use it when … · Call it before … · For questions like …",
            _quote(box, next(iter(silent))),
        )
    common = Counter(w for sentences_ in said.values() for w in {w for x in sentences_ for w in words(x)})
    hollow = {
        n: "the sentence that says when has no words of its own"
        for n, s in said.items()
        if not any(len(_own(x, n, known, common)) > 1 for x in s)
    }
    refuse(hollow, "who asks for it, in which situation", said[next(iter(hollow), next(iter(said)))][0])
    repeated = Counter(_bare(s) for sentences_ in said.values() for s in {_bare(x): x for x in sentences_})
    hollow = {
        n: "the sentence that says when says the same of other tools"
        for n, s in said.items()
        if all(repeated[_bare(x)] > 1 for x in s)
    }
    refuse(hollow, "what only this tool is for", said[next(iter(hollow), next(iter(said)))][0])
    alone = {
        t.name: "the description doesn't say what the tool is not for, with the name of the tool to use then"
        for t in box.tools
        if not points_to(t, known - {t.name})
    }
    if alone:
        refuse(
            alone, "a sentence such as: Not for …; use (another tool of this toolbox).", _quote(box, next(iter(alone)))
        )
    refuse_by_rule(box, "description-no-twins")
    return box


def _own(sentence: str, name: str, known: set[str], common: Counter[str]) -> set[str]:
    """The words of a sentence that aren't in the tool's name, in another's, or in half of all such sentences."""
    for other in known - {name}:
        sentence = sentence.replace(other.lower(), " ")
    return {w for w in words(sentence) if w not in words(name) and common[w] * 2 <= len(known) and len(w) > 1}


def _bare(sentence: str) -> str:
    """A sentence without what makes copies look different: figures and signs."""
    return " ".join(re.findall(r"[^\W\d_]+", sentence))


def _unknown_tool(body: str, known: set[str]) -> str:
    """A word of `body` that looks like a tool's name and isn't one: in backticks, close to a name, or verb_noun."""
    allowed = known | PARAMETERS
    for quoted in re.findall(r"`([A-Za-z][\w-]*)`", body):
        if quoted not in allowed and len(words(quoted)) > 1 and is_verb(words(quoted)[0]) and quoted != "read_only":
            return str(quoted)
    for word in re.findall(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b", body):
        if word not in allowed and (is_verb(words(word)[0]) or difflib.get_close_matches(word, known, 1, 0.8)):
            return str(word)
    return ""


async def described(attempt: Attempt) -> Toolbox:
    """The toolbox for the parts that weigh its texts; they make sense once there are texts worth weighing."""
    try:
        return await descriptions(attempt)
    except Red as red:
        first = "" if red.message.startswith("First make") else "First make 02.4 green. "
        raise Red(f"{first}{red.message}", tool=red.tool, expected=red.expected, seen=red.seen) from None


async def ranking(attempt: Attempt) -> str:
    box = await described(attempt)
    # FastMCP's search takes createIssue for one word. Style is the learner's choice, so it must not decide here.
    tools = [t.model_copy(update={"description": f"{' '.join(words(t.name))} {text(t)}"}) for t in box.tools]
    right, total, confused = 0, 0, []
    for job in JOBS:
        for pattern in job.requests:
            request = box.draw.request(pattern)
            found = rank(tools, [(request, box.doing(job)[0])])[0]
            total += 1
            if found.first in box.doing(job):
                right += 1
            else:
                confused.append(f"{found.first} instead of {' or '.join(box.doing(job))} for “{request}”")
    if right < RIGHT_SHARE * total:
        raise Red(
            f"{right} of {total} requests found their tool first.",
            expected=f"at least {round(RIGHT_SHARE * total)}: texts in people's words, that keep neighbours apart",
            seen="; ".join(attempt.random.sample(confused, 3)),
        )
    return f"{right} of {total} requests found their tool first."


async def budget(attempt: Attempt) -> str:
    box = await described(attempt)
    # What a result looks like is lesson 04's matter: a declared output must not cost points here.
    tools = [t.model_copy(update={"output_schema": None}) for t in box.tools]
    bytes_ = size(tools) + len(box.instructions.encode())
    if bytes_ > BUDGET:
        longest = max(tools, key=lambda t: size([t]))
        raise Red(
            f"Names, texts, input schemas and the server's instructions take {bytes_:,} bytes.",
            tool=f"longest: {longest.name}, {size([longest]):,} bytes; instructions: {len(box.instructions):,}",
            expected=f"at most {BUDGET:,}",
            seen=f"about {bytes_ // 4:,} tokens in every conversation",
        )
    return f"{bytes_:,} bytes of {BUDGET:,}."


EXERCISE = Exercise(
    id="02",
    title="Rescue a toolbox",
    minutes=45,
    notebook=HERE / "ex02_rescue_a_toolbox.ipynb",
    solution="solutions/ex02_rescue_a_toolbox.ipynb",
    parts=(
        Part("02.1", "One job, one tool", 3, split, (
            "Write the list of jobs on paper first: every value of `action` and of `op` is a job of its own.",
            "A tool is a function with the parameters from the table and one line of body: "
            "`return forge.close_issue(issue_id)`.",
            "For people there are two good answers: one tool on `forge.put_user`, or one on `forge.create_user` and "
            "one on `forge.update_user`. For SQL there is one question that people really ask: see the last row.",
        )),
        Part("02.2", "Names", 2, names, (
            "Read each name aloud as an order: “close issue”. Does it say what will happen, and to what?",
            "Begin with a verb, name the object, write words out (`mr` is a merge request), no `or` and no `and`. "
            "Keep one style for all: snake_case or camelCase.",
            "`await audit(mcp)` shows under “1 Name” everything that this part looks at.",
        )),
        Part("02.3", "Titles", 1, titles, (
            "A title is for people: what would stand on a button? “Close an issue” rather than “Close Issue”.",
            "Where is it given? `@mcp.tool(title=\"…\")`. Without it FastMCP makes one out of the name.",
        )),
        Part("02.4", "Descriptions", 2, check_descriptions, (
            "Three sentences are enough: what it does and returns; when to use it; what it is not for, and which is.",
            "Name the neighbour exactly as it is called: “Not for reading: use read_file.” A name that isn't in the "
            "toolbox sends the model nowhere.",
            "Each parameter wants a text as well: `Args:` lines in the docstring, or `Annotated[str, \"…\"]`.",
        )),
        Part("02.5", "Told apart by a ranker", 1, ranking, (
            "Look at the pairs in the message: which word of the request stands in the wrong tool's text, "
            "and is missing in the right one?",
            "Use the words people use: a bug is “reported”, a name is “changed”, a file has “content”. BM25 compares "
            "whole words, so “issues” and “issue” are two words to it.",
            "Long “not for” sentences carry the neighbour's words. Keep them short: “Not to close: use close_issue.”",
        )),
        Part("02.6", "Within the budget", 1, budget, (
            "`(await audit(mcp)).bytes` says how large the list is. The message names the longest tool.",
            "Say it once: what stands in the description needn't stand in every parameter again.",
        )),
    ),
)  # fmt: skip
