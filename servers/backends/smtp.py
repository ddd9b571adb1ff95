"""Hand a mail to a mail server by SMTP, once, and know afterwards whether it may have been sent."""

from __future__ import annotations

import os
import re
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from email.header import Header
from email.mime.text import MIMEText
from email.utils import format_datetime
from urllib.parse import SplitResult, unquote, urlsplit

from servers.backends.errors import BackendError, Refused, UpstreamDown, UpstreamTimeout
from servers.backends.upstream import time_limit

# More than any delivery has: connect, greeting, EHLO, STARTTLS, log in, …, the last dot; each has the time limit.
STEPS = 15


class MaybeSent(Exception):
    """The mail was handed over, and no answer came: it may have been sent, or not."""


def server() -> SplitResult | None:
    """TOOLWORTHY_MAIL as a URL, or None where it isn't set. Has a password in it: not to be shown.

    Raises:
        ValueError: It has another form.
    """
    text = os.environ.get("TOOLWORTHY_MAIL")
    if not text:
        return None
    with suppress(ValueError):  # whose own text may have the password in it
        url = urlsplit(text)
        whole = url.hostname and url.port and bool(url.username) == bool(url.password)
        if url.scheme in ("smtp", "smtps") and whole and url[2:] == ("", "", "") and unquote(text).isascii():
            return url
    raise ValueError(
        "TOOLWORTHY_MAIL must be smtp://host:port or smtps://host:port, with user:password@ before the host where a "
        "login is needed (in ASCII; %40 for @, %2F for / in them)."
    )


def compose(message_id: str, sender: str, to: str, subject: str, body: str, date: datetime) -> bytes:
    """The message as it goes over the wire: short lines of ASCII that end with CRLF, none of them with a dot first."""
    message = MIMEText(re.sub(r"\r\n|\r|\n", "\r\n", body), "plain", "utf-8")
    message["From"], message["To"] = sender, to
    # Always encoded. EmailMessage would decode "=?utf-8?q?=0ABcc:…?=" in a subject, and write a header line Bcc.
    message["Subject"] = Header(subject, "utf-8", maxlinelen=75, header_name="Subject").encode()
    message["Date"], message["Message-ID"] = format_datetime(date), message_id
    # No more folding: a long address would be put on a line of its own, away from its header's name.
    return message.as_bytes(policy=message.policy.clone(linesep="\r\n", max_line_length=None))


def deliver(url: SplitResult, sender: str, to: str, content: bytes) -> None:
    """Hand over one message (of `compose`) for one recipient.

    Raises:
        MaybeSent: It may have been sent.
        UpstreamTimeout, UpstreamDown: It certainly wasn't, and may be later.
        Refused: It certainly wasn't, and won't be.
    """
    with _session(url) as smtp:
        _expect(2, smtp.mail(sender), "takes no mail from this sender")
        _expect(2, smtp.rcpt(to), f"takes no mail for {to}")
        _expect(3, smtp.docmd("DATA"), "takes no mail")
        try:
            smtp.send(content + b".\r\n")
            reply = smtp.getreply()
        except OSError as error:
            raise MaybeSent from error
        if reply[0] // 100 not in (2, 4, 5):
            raise MaybeSent
        _expect(2, reply, "doesn't take this mail")


def check(url: SplitResult) -> None:
    """Whether the mail server is there and lets us in.

    Raises:
        ValueError: It isn't, or doesn't; the text shows no password.
    """
    try:
        with _session(url):
            pass
    except BackendError as error:
        said, cause = str(error).partition(";")[0], error.__cause__  # that nothing was sent isn't worth saying here
        why = ""
        if isinstance(cause, OSError) and not isinstance(cause, smtplib.SMTPException):
            why = f" ({cause.strerror or cause})"
        raise ValueError(
            f"{said}{why}: {url.hostname}, port {url.port}. Start it, or correct TOOLWORTHY_MAIL."
        ) from error


@contextmanager
def _session(url: SplitResult) -> Iterator[smtplib.SMTP]:
    """A session that is ready for a mail. What goes wrong in the block before a mail is one comes out as our errors."""
    try:
        smtp = _connect(url)
        try:
            yield smtp
        finally:
            with suppress(OSError):  # what was accepted is accepted
                smtp.putcmd("QUIT")
                smtp.close()
    except smtplib.SMTPResponseException as error:
        raise _failure(error.smtp_code, "doesn't let this server in") from error
    except (OSError, UnicodeError) as error:  # UnicodeError: no such name of a host is possible
        if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
            raise UpstreamTimeout(
                f"The mail server didn't answer within {time_limit():g} s; nothing was sent."
            ) from error
        if isinstance(error, smtplib.SMTPServerDisconnected):
            raise UpstreamDown("The mail server broke the connection off; nothing was sent.") from error
        if isinstance(error, smtplib.SMTPException):
            raise Refused(
                "The mail server offers no TLS, or no way to log in; nothing was sent. Tell a person."
            ) from error
        raise UpstreamDown("The mail server can't be reached; nothing was sent.") from error


def _connect(url: SplitResult) -> smtplib.SMTP:
    host, port, limit = url.hostname or "", url.port or 0, time_limit()
    # A name of our own would be looked up, for seconds where there is no network; this is what has no name.
    name = "[127.0.0.1]"
    if url.scheme == "smtps":
        smtp: smtplib.SMTP = smtplib.SMTP_SSL(host, port, name, timeout=limit, context=ssl.create_default_context())
    else:
        smtp = smtplib.SMTP(host, port, name, timeout=limit)
    try:
        smtp.ehlo_or_helo_if_needed()
        if url.username and url.password:
            if url.scheme == "smtp":  # a password goes over TLS only
                smtp.starttls(context=ssl.create_default_context())
            smtp.login(unquote(url.username), unquote(url.password))
    except BaseException:
        smtp.close()
        raise
    return smtp


def _expect(kind: int, reply: tuple[int, bytes], refusal: str) -> None:
    """Nothing when the reply is of this kind (its first digit); else raise what it means."""
    if reply[0] // 100 != kind:
        raise _failure(reply[0], refusal)


def _failure(code: int, refusal: str) -> BackendError:
    """What a reply other than the expected one means, as long as nothing was sent.

    Its text isn't passed on: it is written for operators, with names of hosts in it.
    """
    if code // 100 == 5:
        advice = "Check address and text; if they are right, tell a person."
        return Refused(f"The mail server {refusal} ({code}); nothing was sent. {advice}")
    if code // 100 == 4:
        return UpstreamDown(f"The mail server can't take mail now ({code}); nothing was sent.")
    return UpstreamDown("The mail server answered nonsense; nothing was sent.")
