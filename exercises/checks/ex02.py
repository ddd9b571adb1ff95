"""Exercise 02: rescue a toolbox of six.

Names are the learner's own, so a tool is known by what it does: every tool is called once, and the ledger of the forge
says which job that was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_types import CallToolResult, Tool

from exercises.checks.observing import observed_world
from servers.backends.world import Entry, World
from servers.backends.world.forge import PEOPLE, PROJECTS, ROLES, forge
from toolworthy.exercise import Attempt, Exercise, Part, Red
from toolworthy.ranking import rank
from toolworthy.render import shorten
from toolworthy.rules import RULES
from toolworthy.rules.base import properties
from toolworthy.rules.descriptions import mentions, says_when, says_when_not, text
from toolworthy.rules.names import words
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
    Job("register a person or change their data", ("put_user", "create_user", "update_user"), ("email", "name", "role"), (
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
THINGS = ("the basket forgets its items", "search is slow", "the logo is blurred", "a link is dead", "the total is wrong")
WORDS = ("kestrel", "maple", "harbour", "lantern", "granite", "meadow", "falcon", "juniper")


class Draw:
    """Values for one run. Each project and issue is used once, so that one tool's effect can't disturb another's call."""

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
            case _:
                return self.word()

    def request(self, pattern: str) -> str:
        return pattern.format(
            project=self.random.choice(PROJECTS),
            word=self.word(),
            thing=self.random.choice(THINGS),
            issue=f"I-{self.random.randrange(200, 999)}",
            file=self.random.choice(("README.md", "setup.cfg", "notes.txt", "index.html")),
            person=self.random.choice(list(PEOPLE.values())),
        )


@dataclass(frozen=True)
class Toolbox:
    """The tools of a server and the job that each was seen doing."""

    tools: Sequence[Tool]
    jobs: dict[str, Job]  # tool name → job
    draw: Draw

    def doing(self, job: Job) -> list[str]:
        return [name for name, j in self.jobs.items() if j is job]


PARAMETERS = {p for job in JOBS for p in job.parameters}


async def observe(attempt: Attempt) -> Toolbox:
    """Call every tool once and see in the ledger what it did. Red unless each job has a tool that does it and no more."""
    draw = Draw(attempt)
    # Twice as many projects as jobs: more tools than that can't be told apart by calling, and nobody wants them.
    with observed_world(World(forge)) as world:
        async with attempt.connect() as subject:
            if not subject.tools:
                raise Red("Your server offers no tool yet.", expected=f"a tool for each of {len(JOBS)} jobs", seen="none")
            if len(subject.tools) > 18:
                raise Red(
                    f"Your server offers {len(subject.tools)} tools.",
                    expected=f"about one for each of {len(JOBS)} jobs",
                    seen=", ".join(t.name for t in subject.tools),
                )
            jobs = {tool.name: await _job_of(tool, subject, world, draw) for tool in subject.tools}
            box = Toolbox(subject.tools, jobs, draw)
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
    decisive = effects or did[-1:]
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
            "The tool keeps the forge's answer to itself.",
            tool=tool.name,
            expected=f"{call} returns what the forge answered: {shorten(json.dumps(entry.answer, ensure_ascii=False), 120)}",
            seen=shorten(_text(result) or "nothing", 120),
        )
    return job


async def _people(doing: list[str], subject: Subject, world: World, draw: Draw) -> None:
    """Red unless somebody new can be registered and somebody known changed, by one tool or by two."""
    for email, wish in ((f"{draw.word()}@forge.example", "register somebody new"), (next(iter(PEOPLE)), "change somebody")):
        before = len(world.ledger)
        for tool in doing:
            await subject.call(tool, {"email": email, "name": draw.word(), "role": draw.random.choice(ROLES)})
        if doing and not any(e.effect and e.arguments.get("email") == email for e in world.ledger[before:]):
            raise Red(
                f"No tool can {wish}.",
                tool=", ".join(doing),
                expected="people can be registered and changed: one tool that does both by promise, or one for each",
                seen="the forge refused, or wasn't asked",
            )


def _operation(entry: Entry) -> str:
    return entry.operation.removeprefix("forge.")


def _text(result: CallToolResult) -> str:
    return " ".join(getattr(block, "text", "") for block in result.content)


def _passes_on(answer: Any, result: CallToolResult) -> bool:
    """Whether the result, as text or as structure, holds the identifying values of the answer."""
    said = _text(result) + json.dumps(result.structured_content, ensure_ascii=False)
    rows = answer if isinstance(answer, list) else [answer]
    keys = ("issue_id", "merge_request_id", "content", "renamed_from", "email", "path", "project")
    telling = [next(str(row[k]) for k in keys if k in row) for row in rows if isinstance(row, dict)]
    return all(value in said for value in telling)


async def split(attempt: Attempt) -> None:
    await observe(attempt)


async def names(attempt: Attempt) -> None:
    box = await observe(attempt)
    for rule in RULES.values():
        if rule.point != 1:
            continue
        for sentence in rule.look_at_all(box.tools) if rule.look_at_all else ():
            raise Red(f"{sentence[0].upper()}{sentence[1:]}.", expected=rule.advice, seen=_names(box))
        for tool in box.tools:
            for sentence in rule.look(tool, box.tools) if rule.look else ():
                raise Red(f"{sentence[0].upper()}{sentence[1:]}.", tool=tool.name, expected=rule.advice, seen=tool.name)


def _names(box: Toolbox) -> str:
    return ", ".join(t.name for t in box.tools)


def _from_sdk(name: str) -> str:
    return name.replace("_", " ").title()


async def titles(attempt: Attempt) -> None:
    box = await observe(attempt)
    seen: dict[str, str] = {}
    for tool in box.tools:
        title = (tool.title or (tool.annotations and tool.annotations.title) or "").strip()
        plain = words(title.replace("_", " "))
        if not title or title == _from_sdk(tool.name):
            raise Red(
                "The title is the one the SDK makes out of the name, or there is none.",
                tool=tool.name,
                expected="a title in a person's words, given by you",
                seen=title or "no title",
            )
        if "_" in title or plain == words(tool.name) and title == title.title():
            raise Red(
                "The title is the name in other letters.",
                tool=tool.name,
                expected="what a person would read on a button or in a menu",
                seen=title,
            )
        if len(title) > 60 or len(plain) < 2:
            raise Red(
                "The title doesn't fit a menu." if len(title) > 60 else "The title is one word.",
                tool=tool.name,
                expected="two words or more, at most 60 characters",
                seen=title,
            )
        if title.casefold() in seen:
            raise Red(
                "Two tools have the same title.",
                tool=f"{seen[title.casefold()]}, {tool.name}",
                expected="a person can tell them apart",
                seen=title,
            )
        seen[title.casefold()] = tool.name


async def descriptions(attempt: Attempt) -> None:
    box = await observe(attempt)
    known = {t.name for t in box.tools}
    for rule_id in ("description-present", "description-says-more", "description-parameters", "description-not-cut"):
        rule = RULES[rule_id]
        for tool in box.tools:
            for sentence in rule.look(tool, box.tools) if rule.look else ():
                raise Red(f"{sentence[0].upper()}{sentence[1:]}.", tool=tool.name, expected=rule.advice, seen=_quote(tool))
    for tool in box.tools:
        body = text(tool)
        if not says_when(tool):
            raise Red(
                "The description doesn't say when to use the tool.",
                tool=tool.name,
                expected="a sentence such as: Use it when …",
                seen=_quote(tool),
            )
        others = [n for n in known if n != tool.name and mentions(n, body)]
        invented = [w for w in re.findall(r"`([a-z]+(?:_[a-z]+)+|[a-z]+[A-Z]\w+)`", body) if w not in known | PARAMETERS]
        if invented:
            raise Red(
                f"The description sends the model to {invented[0]}, which isn't in the toolbox.",
                tool=tool.name,
                expected=f"one of: {', '.join(sorted(known - {tool.name}))}",
                seen=_quote(tool),
            )
        if not others or not says_when_not(tool):
            raise Red(
                "The description doesn't say when not to use the tool, and which one to use then.",
                tool=tool.name,
                expected="a sentence such as: Not for …; use (another tool of this toolbox) instead.",
                seen=_quote(tool),
            )
    for sentence in RULES["description-no-twins"].look_at_all(box.tools):  # type: ignore[misc]
        raise Red(f"{sentence[0].upper()}{sentence[1:]}.", expected="each text says what only its tool does", seen=sentence)


def _quote(tool: Tool) -> str:
    return shorten(text(tool) or "no description", 160)


async def ranking(attempt: Attempt) -> None:
    box = await observe(attempt)
    requests = [(box.draw.request(r), job) for job in JOBS for r in job.requests]
    right, confused = 0, {}
    for request, job in requests:
        doing = box.doing(job)
        found = rank(box.tools, [(request, doing[0])])[0]
        if found.first in doing:
            right += 1
        else:
            confused.setdefault(f"{found.first} instead of {' or '.join(doing)}", request)
    if right < RIGHT_SHARE * len(requests):
        examples = "; ".join(f"{pair} for “{request}”" for pair, request in list(confused.items())[:3])
        raise Red(
            f"{right} of {len(requests)} requests found their tool first.",
            expected=f"at least {round(RIGHT_SHARE * 100)} %: texts that use the words people use, and keep neighbours apart",
            seen=examples,
        )


async def budget(attempt: Attempt) -> None:
    box = await observe(attempt)
    if thin := [t.name for t in box.tools if len(text(t)) < 40]:
        raise Red(
            "A short list is no merit while the descriptions are missing.",
            tool=thin[0],
            expected="first part 02.4",
            seen=f"{len(thin)} tools with less than 40 characters of description",
        )
    if (bytes_ := size(box.tools)) > BUDGET:
        longest = max(box.tools, key=lambda t: size([t]))
        raise Red(
            f"The list of tools has {bytes_:,} bytes.",
            tool=f"the longest is {longest.name}, {size([longest]):,} bytes",
            expected=f"at most {BUDGET:,}",
            seen=f"about {bytes_ // 4:,} tokens in every conversation",
        )


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
            "For people there are two good answers: one tool on `forge.put_user`, or one on `forge.create_user` and one "
            "on `forge.update_user`. For SQL there is one question that people really ask: see the last row of the table.",
        )),
        Part("02.2", "Names", 2, names, (
            "Read each name aloud as an order: “close issue”. Does it say what will happen, and to what?",
            "Begin with a verb, name the object, write words out (`mr` is a merge request), no `or` and no `and`. "
            "Keep one style for all: snake_case or camelCase.",
            "`await audit(mcp)` shows under “1 Name” everything that this part looks at.",
        )),
        Part("02.3", "Titles", 1, titles, (
            "A title is for people: what would stand on a button? “Close an issue” rather than “Close Issue”.",
            "Where is it given? `@mcp.tool(title=\"…\")`. Without it the SDK makes one out of the name.",
        )),
        Part("02.4", "Descriptions", 2, descriptions, (
            "Three sentences are enough: what it does and returns; when to use it; what it is not for and which tool is.",
            "Name the neighbour exactly as it is called: “Not for reading: use read_file.” A name that isn't in the "
            "toolbox sends the model nowhere.",
            "Each parameter wants a text as well: `Args:` lines in the docstring, or `Annotated[str, \"…\"]`.",
        )),
        Part("02.5", "Told apart by a ranker", 1, ranking, (
            "Look at the pairs in the message: which word of the request stands in the wrong tool's text, "
            "and is missing in the right one?",
            "Use the words people use: a bug is “reported”, a name is “changed”, a file has “content”. BM25 compares whole "
            "words, so “issues” and “issue” are two words to it.",
            "Long “not for” sentences carry the neighbour's words. Keep them short: “Not for closed ones: use close_issue.”",
        )),
        Part("02.6", "Within the budget", 1, budget, (
            "`(await audit(mcp)).bytes` says how large the list is. The message names the longest tool.",
            "Say it once: what stands in the description needn't stand in every parameter again.",
        )),
    ),
)  # fmt: skip
