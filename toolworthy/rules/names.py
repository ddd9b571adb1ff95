"""Point 1: the name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mcp_types import Tool

from toolworthy.rules.base import Rule, properties

# Verbs that tools are named with. A missing one is a false alarm: add it.
VERBS = frozenset(
    """
    abort accept acknowledge activate add adjust aggregate allocate analyze analyse annotate append apply approve archive
    arrange ask assess assign attach authorize authorise backup ban block book bookmark browse build calculate call cancel
    capture cast change charge check choose classify clean clear clone close collect combine comment commit compare
    compile complete compose compress compute configure confirm connect convert copy correct count create crop debug
    deactivate decline decode decrease decrypt deduct define delete deliver deny deploy deposit describe detach detect
    diagnose diff disable disconnect dispatch dispute download draft draw drop duplicate edit email embed enable encode
    encrypt end enqueue enroll enrol ensure enter enumerate estimate evaluate examine exchange execute expand expire
    explain explore export extend extract fetch file fill filter find finish fix flag flush follow forecast fork format
    forward freeze generate geocode get give grant grep group grow guess hide hold identify import improve include
    increase increment index infer insert inspect install interpret invalidate invite invoice issue join judge keep kill
    label launch leave lend like limit link list load localize locate lock log login logout look lookup make map mark
    mask match measure merge message migrate minimize modify monitor mount move mute name navigate normalize note notify
    observe obtain offer open optimize order organize outline pack paginate parse partition patch pause pay perform pick
    pin ping place plan plot poll post postpone predict prepare preview print prioritize process produce promote propose
    provision publish pull purchase purge push put qualify query queue quote rank rate read reassign rebase rebuild
    receive recommend reconcile record recover redeem redirect reduce refresh refund register reindex reject relate
    release reload remind remove rename render renew reopen reorder reorganize repair repeat replace reply report
    request reschedule reserve reset resize resolve restart restore restrict resume retire retrieve retry return reveal
    revert review revoke rewrite ring roll rotate route run save say scale scan schedule score scrape search seed select
    sell send sequence serve set settle share ship show shrink shut sign simulate skip snooze sort split stage stamp
    star start stop store stream submit subscribe suggest summarize summarise suspend swap switch sync synchronize tag
    take tell terminate test toggle tokenize top trace track train transcribe transfer transform translate transmit
    trash trigger trim truncate try unarchive unassign unban unblock undelete undo uninstall unlink unlock unmute unpin
    unpublish unregister unschedule unshare unsubscribe untag update upgrade upload upsert use vacuum validate verify
    view visit void vote wait wake walk warn watch weigh withdraw wrap write zip
    """.split()
)
# `issue` and `file` are verbs too, but alone, or before another noun, they name a thing.
NOUNS_FIRST = frozenset({"issue", "file", "order", "comment", "record", "note", "message", "report", "email", "log", "label", "tag"})
VAGUE = frozenset({"process", "handle", "manage", "do", "perform", "operate", "execute", "deal", "work", "use"})
# Short words that anybody outside the team reads without a glossary.
KNOWN_SHORT = frozenset(
    """
    a ai an api as at aws az bic by cd ci cpu crm css csv db dns eu faq ftp geo gif git gps gpu gpt html http https iban
    id ids if imap in ip ips iso isbn it jpg json kpi lat llm lon md mcp ml mp3 ms no of off on or os out pdf per php png
    pr prs qr ram rest rfc rss sdk sim sku sla sms smtp sql ssh ssl sso svg tcp tls to tv txt udp ui uk un up uri url
    urls us usd user utc uuid vat via vm vms vpn wifi with xml yaml zip by for and the
    """.split()
)
ABBREVIATIONS = frozenset(
    """
    acct addr adm amt appt args asgn attr auth bk bkg btn calc cfg chk cmd cnt cntr conf conn ctx cust dept desc dest
    dev dir dst dt dto emp env err exec fcst fmt frm func gen grp hdr impl inf info init inv itm lang lib lst mgmt mgr
    misc mod mr mrs msg mtg mv nbr ngrp num obj op opp ops opt org param params pct perf pkg pos prd pred prev proc prod
    prof proj pt qry qty rec ref reg rel req res resp rev rm rpt rsv rtn sched sec seq sess spec src srv stat std stmt str
    sub svc sym sys tbl temp tgt tkt tmp trk trx tsk txn upd upsrt usr util utils val var ver wo wrk xfer
    """.split()
)
HOST_LIMIT = 64  # hosts put mcp__SERVER__ before the name, and the APIs behind them allow 64 characters in all
NAME_BUDGET = 40  # leaves 24 for the prefix, which fits a server name of 17 characters


def words(name: str) -> list[str]:
    """`name` in lower-case words: "createIssue", "create_issue" and "create-issue" are all ["create", "issue"]."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [w.lower() for w in re.split(r"[^A-Za-z0-9]+", spaced) if w]


def _starts_with_verb(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    parts = words(tool.name)
    if not parts:
        return
    first = parts[0]
    if first not in VERBS | VAGUE or (first in NOUNS_FIRST and len(parts) == 1):
        yield f"the name begins with {first!r}, which names a thing, not what the tool does"
    elif len(parts) == 1:
        yield f"the name is the bare verb {first!r}: what does it act on?"


def _not_vague(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    parts = words(tool.name)
    if parts and parts[0] in VAGUE:
        yield f"{parts[0]!r} could mean anything: name the one thing the tool does"


def _one_intent(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    joints = [w for w in words(tool.name) if w in ("or", "and")]
    if joints:
        yield f"the word {joints[0]!r} in the name announces two intents"


SWITCHES = frozenset({"action", "operation", "op", "mode", "command", "cmd", "verb", "method", "what", "do", "task", "kind_of_action"})


def _no_switch(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    for name, schema in properties(tool).items():
        choices = schema.get("enum")
        verbs = [c for c in choices if isinstance(c, str) and words(c) and words(c)[0] in VERBS] if isinstance(choices, list) else []
        if words(name) and words(name)[-1] in SWITCHES and (not choices or len(verbs) > 1):
            yield f"the parameter {name!r} switches between several intents"


UNIVERSAL = frozenset({"sql", "api", "shell", "bash", "code", "script", "command", "anything", "endpoint", "http"})


def _not_universal(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    parts = words(tool.name)
    if len(parts) > 1 and parts[0] in {"execute", "run", "call", "do", "eval", "invoke", "exec", "query"} and UNIVERSAL & set(parts[1:]):
        yield f"{tool.name!r} can do everything that the {parts[-1]} can: no host can tell a harmless call from a harmful one"


def _no_abbreviation(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    for word in words(tool.name):
        if word in KNOWN_SHORT or word in VERBS or word in VAGUE:
            continue
        if re.fullmatch(r"v?\d+", word):
            yield f"{word!r} is a version: callers can't know which one to choose"
        elif word in ABBREVIATIONS or len(word) <= 2 or not re.search(r"[aeiouy0-9]", word):
            yield f"{word!r} is an abbreviation that only insiders know: write the word"


def _portable(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", tool.name):
        yield "some hosts refuse the name: only letters A-Z, digits, _ and - are safe, a letter first"


def _short(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    if len(tool.name) > NAME_BUDGET:
        yield (
            f"the name has {len(tool.name)} characters; {NAME_BUDGET} leave room for the host's prefix "
            f"within {HOST_LIMIT}"
        )


def style(name: str) -> str:
    """ "snake_case", "camelCase", "kebab-case", "one word", or "mixed"."""
    if re.fullmatch(r"[a-z0-9]+", name):
        return "one word"
    for label, pattern in (
        ("snake_case", r"[a-z0-9]+(_[a-z0-9]+)+"),
        ("kebab-case", r"[a-z0-9]+(-[a-z0-9]+)+"),
        ("camelCase", r"[a-z][a-z0-9]*([A-Z][a-z0-9]*)+"),
    ):
        if re.fullmatch(pattern, name):
            return label
    return "mixed"


def _one_style(tools: Sequence[Tool]) -> Iterator[str]:
    styles: dict[str, list[str]] = {}
    for tool in tools:
        styles.setdefault(style(tool.name), []).append(tool.name)
    styles.pop("one word", None)
    if len(styles) > 1 or "mixed" in styles:
        yield "the names are in several styles: " + "; ".join(f"{s} ({', '.join(n[:3])})" for s, n in sorted(styles.items()))


RULES = [
    Rule("name-verb", 1, "A tool does something; a noun doesn't say what.", "Begin with a verb and name the object: create_issue.", "02", _starts_with_verb),
    Rule("name-vague", 1, "A vague verb gives the model nothing to choose by.", "Use the verb of the one effect: archive_project, not handle_project.", "02", _not_vague),
    Rule("name-one-intent", 1, "A tool with two intents is called for the wrong one.", "Split it, or name the one intent: upsert_user.", "02", _one_intent),
    Rule("name-no-switch", 1, "A switch hides several tools behind one name, one schema and one set of hints.", "Make a tool of each value of the switch.", "02", _no_switch),
    Rule("name-not-universal", 1, "A universal tool has no schema that means anything and no risk that can be judged.", "Offer a tool for each question people really ask.", "02", _not_universal),
    Rule("name-no-abbreviation", 1, "The model can only guess what a private abbreviation means.", "Write the word: create_merge_request.", "02", _no_abbreviation),
    Rule("name-portable", 1, "One name that a model API refuses can fail every request of the host.", "Use letters, digits, _ and -, a letter first.", "02", _portable),
    Rule("name-short", 1, "Hosts put the server's name in front and cut or refuse what is over 64 characters.", f"Keep names within {NAME_BUDGET} characters.", "02", _short),
    Rule("name-one-style", 1, "Mixed styles make names hard to guess and to remember.", "Choose snake_case or camelCase for the whole server.", "02", look_at_all=_one_style),
]  # fmt: skip
