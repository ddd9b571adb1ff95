"""Mail: who may get it, what is remembered of it, and where it goes.

Where it goes is configuration, read at each call:

- by default to the world (`TOOLWORTHY_WORLD`, or one inside this process), whose ledger is the mailbox;
- with `TOOLWORTHY_MAIL=smtp://[user:password@]host:port` to that mail server, from the address in
  `TOOLWORTHY_MAIL_FROM`. A password goes over TLS only; `smtps://` is TLS from the first byte.

`TOOLWORTHY_MAIL_DOMAINS=acme.example,acme.org` lets mail go to addresses in these domains only.
"""

from __future__ import annotations

import os
import re
from datetime import timedelta
from typing import Any

import httpx2
import sqlalchemy as sa

from servers.backends import clock, parameters, smtp
from servers.backends.errors import Refused, UpstreamDown, UpstreamTimeout
from servers.backends.smtp import MaybeSent
from servers.backends.storage import Instant, Row, insert_new, metadata, reading, writing
from servers.backends.upstream import time_limit
from servers.backends.world import ask

# One plain address: no name, no quotes, no comments, and nothing that could end a header or an SMTP command.
ADDRESS = (
    r"^[A-Za-z0-9_+'%&=-]+(\.[A-Za-z0-9_+'%&=-]+)*@"
    r"([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]$"
)
# Nobody lives there (RFC 6761): a sign that an address was made up.
_NOWHERE = (".invalid", ".localhost")
_SHOWN_CHARACTERS = 200

_emails = sa.Table(
    "emails",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("reference", sa.String, nullable=False, unique=True),
    sa.Column("message_id", sa.String, nullable=False),
    sa.Column("sender", sa.String, nullable=False),
    sa.Column("to", sa.String, nullable=False),
    sa.Column("subject", sa.String, nullable=False),
    sa.Column("body_start", sa.String, nullable=False),
    sa.Column("body_characters", sa.Integer, nullable=False),
    sa.Column("sent_at", Instant, nullable=False),
    sa.Column("status", sa.String, nullable=False),
)


def draft(to: str, subject: str, body: str) -> Row:
    """A mail as it would be sent: {message_id, sender, to, subject, body_start, body_characters, sent_at}.

    Raises:
        Refused: The rules don't let mail go to that address.
    """
    domain = to.rpartition("@")[2].lower()
    named = os.environ.get("TOOLWORTHY_MAIL_DOMAINS", "").lower()
    allowed = [each.strip() for each in named.split(",") if each.strip()]
    if allowed and domain not in allowed:
        raise Refused(
            f"Mail from here goes to certain domains only, and {domain} is none of them; nothing was sent. Use an "
            "address in one of the suggested domains, or ask a person to send it.",
            allowed,
        )
    if not allowed and domain.endswith(_NOWHERE):
        raise Refused(f"Mail to {domain} can't arrive; nothing was sent. Ask for the real address.")
    return {
        "message_id": None,
        "sender": _sender(),
        "to": to,
        "subject": subject,
        "body_start": body[:_SHOWN_CHARACTERS],
        "body_characters": len(body),
        "sent_at": None,
    }


def begin(reference: str, draft: Row) -> Row | None:
    """Write down that this mail will be handed over next. None when that is written already: then it must not be."""
    domain = draft["sender"].rpartition("@")[2]
    row = draft | {"message_id": f"<{reference}@{domain}>", "sent_at": clock.now(), "status": "unknown"}
    with writing() as connection:
        return row if insert_new(connection, _emails, row | {"reference": reference}) else None


def deliver(email: Row, body: str) -> None:
    """Hand a mail (of `begin`) over.

    Raises:
        MaybeSent: It may have been sent.
        UpstreamError: It certainly wasn't, and may be later.
        Refused: It certainly wasn't, and won't be.
    """
    fields = {name: email[name] for name in ("message_id", "sender", "to", "subject")} | {"body": body}
    if url := smtp.server():
        return smtp.deliver(url, email["sender"], email["to"], smtp.compose(**fields, date=email["sent_at"]))
    try:
        ask("mail.send", **fields)
    except UpstreamTimeout as error:
        raise MaybeSent from error
    except UpstreamDown as error:
        # Without a cause it is an honest 5xx. What broke after the connection was made may have had its effect.
        if error.__cause__ and not isinstance(error.__cause__, httpx2.ConnectError):
            raise MaybeSent from error
        raise


def mark_sent(reference: str) -> None:
    """Write down that the mail was accepted."""
    with writing() as connection:
        connection.execute(_emails.update().where(_emails.c.reference == reference).values(status="sent"))


def undo(reference: str) -> None:
    """Take back `begin`: the mail certainly wasn't sent."""
    with writing() as connection:
        connection.execute(_emails.delete().where(_emails.c.reference == reference))


def sent(reference: str) -> Row | None:
    """The mail with this reference; None when there is none.

    Raises:
        Refused: Nobody knows whether it was sent.
    """
    with reading() as connection:
        row = connection.execute(sa.select(_emails).where(_emails.c.reference == reference)).mappings().first()
    if row and row["status"] == "unknown":
        raise Refused(
            "It is unknown whether this mail was sent: it was handed over and no answer came. It isn't sent again "
            f"under this key. list_sent has it, with message_id {row['message_id']}. Ask the recipient; if it didn't "
            "arrive, send it with a new key."
        )
    return dict(row) if row else None


def page(limit: int, cursor: str | None) -> dict[str, Any]:
    """One page of the mails that were or may have been sent, the newest first: the fields of a Page."""
    before = parameters.read_cursor(cursor, int)
    asked = sa.select(_emails).order_by(_emails.c.number.desc()).limit(limit + 1)
    if before is not None:
        asked = asked.where(_emails.c.number < before)
    with reading() as connection:
        rows = [dict(row) for row in connection.execute(asked).mappings()]
    return parameters.page(rows, limit, lambda row: row["number"], "e-mails")


def longest_delivery() -> timedelta:
    """More than any delivery takes."""
    return timedelta(seconds=smtp.STEPS * time_limit())


def check() -> None:
    """Whether mail can be handed over; sends none.

    Raises:
        ValueError: It can't; the text says what to do and shows no password.
    """
    _sender()
    if url := smtp.server():
        smtp.check(url)


def _sender() -> str:
    address = os.environ.get("TOOLWORTHY_MAIL_FROM") or ("" if smtp.server() else "mailer@toolworthy.example")
    if not re.fullmatch(ADDRESS, address):
        raise ValueError("TOOLWORTHY_MAIL_FROM must be the address that mail comes from, such as mailer@acme.example.")
    return address
