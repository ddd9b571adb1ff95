"""A payment gateway. A charge or refund that carries a reference is made once, however often it is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from servers.backends.errors import NotFound, Refused
from servers.backends.world.core import Clock, Operation, Unchanged

# Customer → the most that their bank lets through at once, in minor units.
CUSTOMERS = {"cus_ana": 500_000, "cus_binh": 2_000_000, "cus_chidi": 100_000, "cus_dana": 0}

Row = dict[str, Any]
Amount = Annotated[int, Field(ge=1)]


def payments(clock: Clock) -> Mapping[str, Operation]:
    """One gateway, without a charge yet."""
    numbers = itertools.count(1001)
    charges: dict[str, Row] = {}
    done: dict[str, tuple[Row, Row]] = {}  # reference → what was asked, what was answered

    def again(reference: str | None, asked: Row) -> Unchanged | None:
        if reference is None or reference not in done:
            return None
        if done[reference][0] != asked:
            raise Refused(f"The reference {reference!r} was used for something else.")
        return Unchanged(done[reference][1])

    def charge(customer_id: str, amount_minor: Amount, currency: str, reference: str | None = None) -> Any:
        asked = {"charge": customer_id, "amount_minor": amount_minor, "currency": currency}
        if before := again(reference, asked):
            return before
        if customer_id not in CUSTOMERS:
            raise NotFound(f"There is no customer {customer_id!r}.")
        if amount_minor > CUSTOMERS[customer_id]:
            raise Refused(f"The bank of {customer_id} declined {amount_minor} {currency}: not enough money.")
        row: Row = {"payment_id": f"pay_{next(numbers)}", "customer_id": customer_id, "amount_minor": amount_minor}
        row |= {"currency": currency, "refunded_minor": 0, "created_at": clock.now.isoformat()}
        charges[row["payment_id"]] = row
        if reference:
            done[reference] = asked, dict(row)
        return dict(row)

    def get(payment_id: str) -> Row:
        if payment_id not in charges:
            raise NotFound(f"There is no payment {payment_id!r}.")
        return dict(charges[payment_id])

    def refund(payment_id: str, amount_minor: Amount, reference: str | None = None) -> Any:
        asked = {"refund": payment_id, "amount_minor": amount_minor}
        if before := again(reference, asked):
            return before
        left = get(payment_id)["amount_minor"] - charges[payment_id]["refunded_minor"]
        if amount_minor > left:
            raise Refused(f"Of {payment_id} only {left} can still be refunded, not {amount_minor}.")
        charges[payment_id]["refunded_minor"] += amount_minor
        row = {"refund_id": f"ref_{next(numbers)}", "payment_id": payment_id, "amount_minor": amount_minor}
        row |= {"currency": charges[payment_id]["currency"], "left_minor": left - amount_minor}
        row |= {"created_at": clock.now.isoformat()}
        if reference:
            done[reference] = asked, dict(row)
        return dict(row)

    return {
        "payments.charge": Operation(charge, effect=True),
        "payments.get": Operation(get),
        "payments.refund": Operation(refund, effect=True),
    }
