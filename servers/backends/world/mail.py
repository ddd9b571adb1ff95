"""A mail server as mail servers are: it takes whatever it is given, and takes it twice when it is given twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servers.backends.errors import Refused
from servers.backends.world.core import Clock, Operation


def mail(clock: Clock) -> Mapping[str, Operation]:
    """One mail server. The ledger is the mailbox; addresses that begin with `nobody@` have none."""

    def send(message_id: str, sender: str, to: str, subject: str, body: str) -> dict[str, Any]:
        if to.startswith("nobody@"):
            raise Refused(f"The mail server takes no mail for {to} (550); nothing was sent. Check the address.")
        return {"message_id": message_id, "accepted_at": clock.now}

    return {"mail.send": Operation(send, effect=True)}
