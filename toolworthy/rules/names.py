"""Point 1: the name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mcp_types import Tool

from toolworthy.rules.base import Rule, properties

# Verbs that tools are named with. A missing one is a false alarm: add it.
VERBS = frozenset(
    """
    abandon abort absorb accept accumulate acknowledge acquire activate adapt add adjust adopt aggregate allocate
    analyse analyze annotate anonymize append apply approve archive arrange ask assess assign attach authorise
    authorize backup balance ban bind block book bookmark borrow bring broadcast browse build bump calculate call
    cancel capture cast catch change charge chart check choose circulate claim classify clean clear clone close
    collect combine comment commit compact compare compile complete compose compress compute concatenate configure
    confirm connect consume contact convert copy correct count create crop cut deactivate debit debug decide decline
    decode decrease decrement decrypt deduct defer define delay delegate delete deliver demote deny deploy deposit
    describe detach detect diagnose diff disable discard disconnect discount discover dismiss dispatch display
    dispute distribute divide download draft draw drop dump duplicate edit elect eliminate email embed emit enable
    encode encrypt end enqueue enrich enrol enroll ensure enter enumerate escalate estimate evaluate examine
    exchange exclude execute expand expire explain explore export expose extend extract fail favor favour feed fetch
    file fill filter find finish fire fix flag flush fold follow forecast fork format formulate forward free freeze
    gather generate geocode get give grade grant grep group grow guess guide handoff heal help hide hint hire hold
    host identify ignore illustrate impersonate import improve include increase increment index infer inform inject
    inquire insert inspect install instantiate integrate interpret introduce invalidate investigate invite invoice
    issue join judge keep kill label land launch lay lead learn leave lend lift like limit link lint list load
    localize locate lock log login logout look lookup lower maintain make map mark mask match measure mention merge
    message migrate minimize mint mirror modify monitor mount move mute name navigate nominate normalize note notify
    number obfuscate observe obtain occupy offboard offer omit onboard open optimize order organize outline pack
    page paginate parse partition paste patch pause pay perform pick pin ping place plan pledge plot point poll pop
    populate post postpone predict prefetch prepare preserve prevent preview print prioritize probe process produce
    profile program promote prompt propose provision prune publish pull punch purchase purge push put qualify
    quarantine query queue quit quote raise rank rate reach react read reassign rebase reboot rebuild recalculate
    recap receive recite reclaim recommend reconcile record recover recycle redeem redirect redo reduce refine
    reflect reformat refresh refund register reindex reinforce reissue reject relate relay release reload relocate
    remember remind remove rename render renew reopen reorder reorganize repair repeat replace reply report
    represent request reschedule rescue resend reserve reset resize resolve restart restore restrict resubmit resume
    retag rethink retire retrieve retry return reuse reveal revert review revoke rewind rewrite ring roll rotate
    route run save say scaffold scale scan schedule score scrape scroll search secure seed segment select sell send
    sense sequence serve set settle setup share ship show shrink shut sign simulate sketch skip slice snooze solve
    sort source speak specify split spread stack stage stamp star start steer step stitch stop store stream stress
    strip study submit subscribe suggest summarise summarize supply support surface survey suspend swap switch sync
    synchronize synthesize tag take tally teach tell terminate test throw tidy time toggle tokenize top touch trace
    track trade train transcribe transfer transform translate transmit trash trigger trim truncate try turn type
    unarchive unassign unban unblock undelete undo unify uninstall unite unlink unlock unmute unpack unpin unpublish
    unregister unschedule unshare unsubscribe untag untie update upgrade upload upsert use vacuum validate verify
    vet view visit visualize void vote wait wake walk warn watch weigh wipe withdraw wrap write zip
    """.split()  # noqa: SIM905 - as a list this would be hundreds of lines
)
# `issue` and `file` are verbs too, but alone, or before another noun, they name a thing.
NOUNS_FIRST = frozenset(
    {"issue", "file", "order", "comment", "record", "note", "message", "report", "email", "log", "label", "tag"}
)
# What is issued, filed, reported … : `issue_refund` begins with a verb, `issue_close` doesn't.
OBJECTS = frozenset(
    {
        "refund",
        "report",
        "request",
        "claim",
        "invoice",
        "order",
        "complaint",
        "ticket",
        "book",
        "issue",
        "merge",
        "file",
        "project",
        "time",
        "in",
        "out",
    }
)
VAGUE = frozenset({"process", "handle", "manage", "do", "perform", "operate", "execute", "deal", "work", "use"})
# Short words that anybody outside the team reads without a glossary.
KNOWN_SHORT = frozenset(
    """
    dir info org a ad ai am an and api as at aws az be bic by cd ci cpu crm css csv db dns do eu faq for ftp geo gif git go gps
    gpt gpu he hi html http https iban id ids if imap in ip ips isbn iso it jpg json kpi lat llm lon mcp md me ml
    mp3 ms my no of off ok on or os our out own pdf per php png pr prs qr ram rest rfc rss sdk she sim sku sla sms
    smtp so sql ssh ssl sso svg tcp the tls to tv txt udp ui uk un up uri url urls us usd user utc uuid vat via vm
    vms vpn we wifi with xml yaml you your zip
    """.split()  # noqa: SIM905 - as a list this would be hundreds of lines
)
ABBREVIATIONS = frozenset(
    """
    acct addr adm amt appt args asgn attr auth bk bkg btn calc cfg chk cmd cnt cntr conf conn ctx cust dept desc
    dest dev dst dt dto emp env err exec fcst fmt frm func gen grp hdr impl inf init inv itm lang lib lst
    mgmt mgr misc mod mr mrs msg mtg mv nbr ngrp num obj op opp ops opt param params pct perf pkg pos prd pred
    prev proc prod prof proj pt qry qty rec ref reg rel req res resp rev rm rpt rsv rtn sched sec seq sess spec src
    srv stat std stmt str sub svc sym sys tbl temp tgt tkt tmp trk trx tsk txn upd upsrt usr util utils val var ver
    wo wrk xfer
    """.split()  # noqa: SIM905 - as a list this would be hundreds of lines
)
HOST_LIMIT = 64  # hosts put mcp__SERVER__ before the name, and the APIs behind them allow 64 characters in all
NAME_BUDGET = 40  # leaves 24 for the prefix, which fits a server name of 17 characters


def words(name: str) -> list[str]:
    """`name` in lower-case words: "createIssue", "create_issue" and "create-issue" are all ["create", "issue"]."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [w.lower() for w in re.split(r"[^A-Za-z0-9]+", spaced) if w]


def is_verb(word: str) -> bool:
    """Whether `word` is on the list of verbs, also with a prefix: overwrite, reassign, unarchive."""
    known = VERBS | VAGUE
    return word in known or any(
        word.startswith(p) and word[len(p) :] in known
        for p in ("re", "un", "over", "de", "dis", "out", "pre", "mis", "co", "up")
    )


def own_words(tool: Tool, tools: Sequence[Tool]) -> list[str]:
    """The words of a name without a prefix that all tools of the server share, as in github_create_issue."""
    parts = words(tool.name)
    firsts = {words(t.name)[0] for t in tools if words(t.name)}
    shared = len(tools) > 1 and len(firsts) == 1 and not is_verb(next(iter(firsts)))
    return parts[1:] if shared else parts


def _starts_with_verb(tool: Tool, tools: Sequence[Tool]) -> Iterator[str]:
    parts = own_words(tool, tools)
    if not parts:
        return
    first = parts[0]
    if first in NOUNS_FIRST and (len(parts) == 1 or (is_verb(parts[1]) and parts[1] not in OBJECTS)):
        yield f"the name begins with {first!r}, which names a thing, not what the tool does"
    elif not is_verb(first):
        yield f"the name begins with {first!r}, which isn't on our list of verbs"
    elif len(parts) == 1:
        yield f"the name is the bare verb {first!r}: what does it act on?"


def _not_vague(tool: Tool, tools: Sequence[Tool]) -> Iterator[str]:
    parts = own_words(tool, tools)
    if parts and parts[0] in VAGUE and parts[:2] != ["execute", "plan"]:  # that one is precise
        yield f"{parts[0]!r} could mean anything: name the one thing the tool does"


def _one_intent(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    joints = [w for w in words(tool.name) if w in ("or", "and")]
    if joints:
        yield f"the word {joints[0]!r} in the name announces two intents"


SWITCHES = frozenset(
    {"action", "operation", "op", "mode", "command", "cmd", "verb", "method", "what", "do", "task", "kind_of_action"}
)


def _no_switch(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    for name, schema in properties(tool).items():
        choices = schema.get("enum")
        verbs = (
            [c for c in choices if isinstance(c, str) and words(c) and is_verb(words(c)[0])]
            if isinstance(choices, list)
            else []
        )
        if words(name) and words(name)[-1] in SWITCHES and (not choices or len(verbs) > 1):
            yield f"the parameter {name!r} switches between several intents"


UNIVERSAL = frozenset(
    {"database", "query", "sql", "api", "shell", "bash", "code", "script", "command", "anything", "endpoint", "http"}
)


def _not_universal(tool: Tool, tools: Sequence[Tool]) -> Iterator[str]:
    parts = own_words(tool, tools)
    if (
        len(parts) > 1
        and parts[0] in {"execute", "run", "call", "do", "eval", "invoke", "exec", "query"}
        and UNIVERSAL & set(parts[1:])
    ):
        yield f"{tool.name!r} can do everything that the {parts[-1]} can: no host can tell a harmless call from a harmful one"


def _no_abbreviation(tool: Tool, _: Sequence[Tool]) -> Iterator[str]:
    for word in words(tool.name):
        if word in KNOWN_SHORT or is_verb(word):
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
    """ "snake_case", "camelCase", "PascalCase", "kebab-case", "one word", or "mixed"."""
    if re.fullmatch(r"[a-z0-9]+", name):
        return "one word"
    for label, pattern in (
        ("snake_case", r"[a-z0-9]+(_[a-z0-9]+)+"),
        ("kebab-case", r"[a-z0-9]+(-[a-z0-9]+)+"),
        ("camelCase", r"[a-z][a-z0-9]*([A-Z][a-z0-9]*)+"),
        ("PascalCase", r"([A-Z][a-z0-9]*){2,}"),
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
        yield "the names are in several styles: " + "; ".join(
            f"{s} ({', '.join(n[:3])})" for s, n in sorted(styles.items())
        )


RULES = [
    Rule("name-verb", 1, "A tool does something; a noun doesn't say what.", "Begin with a verb and name the object: create_issue.", "02", _starts_with_verb),
    Rule("name-vague", 1, "A vague verb gives the model nothing to choose by.", "Use the verb of the one effect: archive_project, not handle_project.", "02", _not_vague),
    Rule("name-one-intent", 1, "A tool with two intents is called for the wrong one.", "Split it, or name the one intent: upsert_user.", "02", _one_intent),
    Rule("name-no-switch", 1, "A switch hides several tools behind one name, one schema and one set of hints.", "Make a tool of each value of the switch.", "02", _no_switch),
    Rule("name-not-universal", 1, "A universal tool has no schema that means anything and no risk that can be judged.", "Offer a tool for each question people really ask.", "02", _not_universal),
    Rule("name-no-abbreviation", 1, "The model can only guess what a private abbreviation means.", "Write the word out, as in create_merge_request for create_mr.", "02", _no_abbreviation),
    Rule("name-portable", 1, "One name that a model API refuses can fail every request of the host.", "Use letters, digits, _ and -, a letter first.", "02", _portable),
    Rule("name-short", 1, "Hosts put the server's name in front and cut or refuse what is over 64 characters.", f"Keep names within {NAME_BUDGET} characters.", "02", _short),
    Rule("name-one-style", 1, "Mixed styles make names hard to guess and to remember.", "Choose snake_case or camelCase for the whole server.", "02", look_at_all=_one_style),
]  # fmt: skip
