"""Payments: to charge a customer, look at a payment, and give money back.

The money is moved by a gateway outside, so three things can't be one transaction: the key, the effect, the record. The
order makes it safe all the same. First the key is written down, with a reference that we make; then the gateway is
asked, with that reference, which it honours once; then the result is written down. Wherever the process dies, the same
call again finds key and reference, and the gateway answers with the charge that it has made.
"""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from servers.backends import keys
from servers.backends.parameters import IdempotencyKey
from servers.backends.production import DATABASE, production
from servers.backends.serve import serve
from servers.backends.world import ask

mcp = production(
    "payments", "Payments by customers: charge, look up, refund. It knows no invoices and no card numbers."
)

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True)
# Money leaves an account, which is more than adding. Repeating is safe because of the key.
MOVES_MONEY = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True)

CustomerId: TypeAlias = Annotated[str, Field(pattern=r"^cus_[a-z0-9]{1,30}$", description="Such as cus_ana.")]
PaymentId: TypeAlias = Annotated[str, Field(pattern=r"^pay_[0-9]{1,18}$", description="Such as pay_1001.")]
Amount: TypeAlias = Annotated[
    int,
    Field(
        ge=1,
        le=100_000_000,
        description="In the currency's smallest unit, 1 to 100,000,000: 1999 is 19.99 EUR, and 1999 JPY is 1999 yen.",
    ),
]


class Payment(BaseModel):
    """A payment as it was when this was written; amounts in the currency's smallest unit."""

    payment_id: str
    customer_id: str
    amount_minor: int
    currency: str
    refunded_minor: int
    created_at: datetime


class Refund(BaseModel):
    """A refund; amounts in the currency's smallest unit. `left_minor` can still be refunded after it."""

    refund_id: str
    payment_id: str
    amount_minor: int
    currency: str
    left_minor: int
    created_at: datetime


@mcp.tool(title="Charge a customer", annotations=MOVES_MONEY)
def charge_payment(
    customer_id: CustomerId,
    amount_minor: Amount,
    currency: Annotated[Literal["EUR", "USD", "JPY", "VND", "NGN", "PEN"], Field(description="ISO 4217.")],
    idempotency_key: IdempotencyKey,
) -> Payment:
    """Charge a customer's stored means of payment, once for each idempotency key.

    Use it when a customer has agreed to pay this amount now. After a timeout or a lost answer send the very same call
    again, with the same key: it is charged once, and you get the payment. Not to give money back: use refund_payment;
    not to find out whether something was paid: use get_payment.
    """
    asked = {"customer_id": customer_id, "amount_minor": amount_minor, "currency": currency}
    return Payment.model_validate(_once("charge_payment", idempotency_key, "charge", asked))


@mcp.tool(title="Get one payment", annotations=READS)
def get_payment(payment_id: PaymentId) -> Payment:
    """Get one payment, and how much of it has been refunded so far.

    Use it when a payment's id is known. Not to find out what became of a charge without an answer: send that charge
    again with its key.
    """
    return Payment.model_validate(ask("payments.get", payment_id=payment_id))


@mcp.tool(title="Refund a payment", annotations=MOVES_MONEY)
def refund_payment(payment_id: PaymentId, amount_minor: Amount, idempotency_key: IdempotencyKey) -> Refund:
    """Give a customer money back, all of a payment or a part, once for each idempotency key.

    Use it when somebody who may decide it has decided it; several refunds of one payment together can't exceed it, and
    each needs its own key. Not to correct an amount before it is charged.
    """
    asked = {"payment_id": payment_id, "amount_minor": amount_minor}
    return Refund.model_validate(_once("refund_payment", idempotency_key, "refund", asked))


def _once(tool: str, key: str, operation: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Ask the gateway under a key. What it refuses stays undone, and may be tried again by the very same call."""
    claim = keys.claim(tool, key, asked, prefix=f"{operation}_")
    if claim.result is not None:
        return claim.result
    return keys.settle(claim, ask(f"payments.{operation}", **asked, reference=claim.reference))


if __name__ == "__main__":
    serve(mcp, DATABASE)
