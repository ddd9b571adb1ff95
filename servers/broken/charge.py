"""Bad on purpose: a charge that a retry makes twice.

- No key: two calls are two charges, also when the second is the first one again, because its answer got lost.
- The gateway's reference, which would tell repetitions apart, is left out.
- The amount is a decimal number: 19.99 has no exact value, and times 100 it is 1998.9999999999998, cut to 1998.
- Nothing in the texts says any of this, so a model that gets no answer will do what clients do: send it again.

It charges invented customers at the world's gateway.
"""

from fastmcp import FastMCP

from servers.backends.serve import serve
from servers.backends.world import ask

mcp = FastMCP("naive-payments")


@mcp.tool
def charge_payment(customer_id: str, amount: float, currency: str) -> str:
    """Charge a customer."""
    payment = ask("payments.charge", customer_id=customer_id, amount_minor=int(amount * 100), currency=currency)
    return f"Charged {amount} {currency}: {payment['payment_id']}"


if __name__ == "__main__":
    serve(mcp)
