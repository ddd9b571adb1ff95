"""Mail: to send an e-mail, after a look at it, and to see what was sent.

A mail server takes the same mail twice without noticing, so no key can promise "exactly once". The promise is "at most
once", and never a guess. First the mail is written down as `unknown`; then it is handed over; then it is marked `sent`.
Where it certainly wasn't sent, key and mail are taken back, and the same call may try again. Where the answer or this
process was lost in between, it stays `unknown` and isn't sent again: the caller is told, and a person decides.
"""

import time
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from servers.backends import keys, mail
from servers.backends.errors import InProgress
from servers.backends.parameters import LINE, TEXT, Cursor, IdempotencyKey, Page, PageSize
from servers.backends.production import DATABASE, production
from servers.backends.serve import Need, serve
from servers.backends.smtp import MaybeSent
from servers.backends.upstream import time_limit

mcp = production("mailer", "Sends e-mail, plain text to one recipient. It reads no mailbox.")

MAIL = Need(
    "no mail server, unless TOOLWORTHY_MAIL=smtp://[user:password@]host:port (or smtps://…) names one, and "
    "TOOLWORTHY_MAIL_FROM the sender's address: without, mail stays in a mailbox for practice",
    mail.check,
)

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
# A mail can't be called back, but it takes nothing away either: it is added. Repeating is safe because of the key.
SENDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True)

Address: TypeAlias = Annotated[
    str, Field(pattern=mail.ADDRESS, max_length=254, description="One address without a name, such as ana@example.org.")
]


class Email(BaseModel):
    """An e-mail. In a preview it has no message_id and no sent_at yet."""

    message_id: str | None
    sender: str
    to: str
    subject: str
    body_start: str = Field(description="Its first 200 characters.")
    body_characters: int
    sent_at: datetime | None


class Sending(Email):
    """The e-mail that was sent; with dry_run true, the one that would be: nothing was sent."""

    dry_run: bool


class Sent(Email):
    """sent: the mail server has accepted it. unknown: it may have been sent, or is being sent just now."""

    status: Literal["sent", "unknown"]


@mcp.tool(title="Send an e-mail", annotations=SENDS)
def send_email(
    to: Address,
    subject: Annotated[str, Field(pattern=LINE, max_length=200, description="One line, 1 to 200 characters.")],
    body: Annotated[
        str, Field(pattern=TEXT, min_length=1, max_length=100_000, description="Plain text, 1 to 100,000 characters.")
    ],
    idempotency_key: IdempotencyKey,
    dry_run: Annotated[
        bool, Field(description="true, as by default: a preview, nothing is sent. false: send it.")
    ] = True,
) -> Sending:
    """Send a plain-text e-mail to one recipient, at most once for each idempotency key. First a preview, then for real.

    Use it when somebody wants this mail to go out. Call it without dry_run: nothing is sent, you get the mail as it
    would go, or the refusal. When the user agrees, make the same call with dry_run=false, and the same key: a preview
    doesn't use it up. After a lost answer repeat that call unchanged. Not to find out what was sent: use list_sent.
    Several recipients need several calls, each with its own key.
    """
    draft = mail.draft(to, subject, body)
    asked = {"to": to, "subject": subject, "body": body}
    if not dry_run:
        return Sending(dry_run=False, **_send_once(idempotency_key, asked, draft))
    earlier = keys.look("send_email", idempotency_key, asked)
    if earlier:
        mail.sent(earlier.reference)  # refuses what the call itself would be refused
    return Sending(dry_run=True, **draft)


@mcp.tool(title="List sent e-mails", annotations=READS)
def list_sent(limit: PageSize = 20, cursor: Cursor = None) -> Page[Sent]:
    """List the e-mails that were sent from here, the newest first, page by page; of each body the first 200 characters.

    Use it to find out whether a mail was sent: status unknown means that it was handed over and nobody knows what
    became of it. Not for mail that came in, and not to preview one: send_email does that by default.
    """
    return Page[Sent].model_validate(mail.page(limit, cursor))


def _send_once(key: str, asked: dict[str, str], draft: dict[str, Any]) -> dict[str, Any]:
    claim = _claim(key, asked)
    email = mail.begin(claim.reference, draft)
    if email:
        try:
            mail.deliver(email, asked["body"])
        except MaybeSent:
            pass  # it stays unknown
        except BaseException:
            mail.undo(claim.reference)
            keys.free(claim)
            raise
        else:
            mail.mark_sent(claim.reference)
    keys.settle(claim, {"reference": claim.reference})
    found = mail.sent(claim.reference)
    if found is None:  # the call that had begun has just taken it back
        raise InProgress("The same mail is being worked on.")
    return found


def _claim(key: str, asked: dict[str, str]) -> keys.Claim:
    """The key, once no other call is busy with it; a repetition waits for the result of the first for a while."""
    deadline = time.monotonic() + time_limit()
    while True:
        try:
            return keys.claim("send_email", key, asked, "mail-", mail.longest_delivery())
        except InProgress:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


if __name__ == "__main__":
    serve(mcp, DATABASE, MAIL)
