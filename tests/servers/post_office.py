"""A real SMTP server (aiosmtpd) whose every reply can be made to go wrong."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

STAGES = ("greeting", "EHLO", "MAIL", "RCPT", "DATA", "END")
USER, PASSWORD = "mailer@acme.example", "p@ss/w0rd"


class PostOffice:
    """`mails` is what was accepted. `script` says what happens once instead of the reply at a stage (of STAGES):
    "cut" closes the connection, "hang" never replies, anything else is the reply. END comes after the content."""

    def __init__(self) -> None:
        self.mails: list[Envelope] = []
        self.script: dict[str, str] = {}
        self.connections = 0
        self.reached = threading.Event()  # a stage in the script
        self.port = 0

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.script.get("END") not in (None, "cut", "hang"):
            return self.script.pop("END")
        self.mails.append(envelope)
        return "250 OK"


class _Scripted(SMTP):
    """Counts its replies to know the stage."""

    office: PostOffice
    replies = 0

    async def push(self, status: Any) -> None:
        action = None
        if isinstance(status, str) and not status.startswith("250-"):  # else only a part of a reply
            action = self.office.script.pop((*STAGES, "QUIT")[min(self.replies, len(STAGES))], None)
            self.replies += 1
        if action:
            self.office.reached.set()
        if action == "cut":
            assert self.transport is not None
            self.transport.abort()
        elif action == "hang":
            await asyncio.sleep(60)
        else:
            await super().push(action or status)


def _let_in(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
    known = isinstance(data, LoginPassword) and data == LoginPassword(USER.encode(), PASSWORD.encode())
    return AuthResult(success=known, handled=False)


@contextmanager
def post_office(tls: Literal["", "from the start", "starttls"] = "", certificate: Path | None = None) -> Iterator[Any]:
    """Serve on a free port of this machine, with a login if there is TLS."""
    office, loop = PostOffice(), asyncio.new_event_loop()
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)

    def connection() -> SMTP:
        office.connections += 1
        smtp = _Scripted(
            office,
            loop=loop,
            hostname="mx.example",
            tls_context=context if tls == "starttls" else None,
            auth_required=bool(tls),
            auth_require_tls=tls == "starttls",
            authenticator=_let_in,
        )
        smtp.office = office
        return smtp

    begun = loop.create_server(connection, "127.0.0.1", 0, ssl=context if tls == "from the start" else None)
    server = loop.run_until_complete(begun)
    office.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield office
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()


def certificate_for_this_machine(file: Path) -> Path:
    """A key and a certificate for localhost that it signed itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + made.public_bytes(Encoding.PEM))
    return file
