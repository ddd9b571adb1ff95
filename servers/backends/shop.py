"""Where the shop's customers and orders are stored, and what its database says about slow queries.

Rows go out as they are: what may be shown of them is decided in `masking`, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from servers.backends import clock, parameters, shop_rows
from servers.backends.errors import NotFound, Refused
from servers.backends.storage import Instant, Row, metadata, reading, starts_with, writing

_customers = sa.Table(
    "customers",
    metadata,
    sa.Column("customer_id", sa.String, primary_key=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("email", sa.String),
    sa.Column("phone", sa.String),
    sa.Column("city", sa.String, nullable=False),
    sa.Column("delivery_note", sa.String, nullable=False),
)
_orders = sa.Table(
    "orders",
    metadata,
    sa.Column("order_id", sa.String, primary_key=True),
    sa.Column("customer_id", sa.ForeignKey("customers.customer_id"), nullable=False, index=True),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("currency", sa.String, nullable=False),
    sa.Column("placed_at", Instant, nullable=False),
    sa.Column("shipped_at", Instant),
    sa.Column("delivered_at", Instant),
    sa.Column("cancelled_at", Instant),
    sa.Column("cancel_reason", sa.String),
    sa.Column("note", sa.String, nullable=False),
)
_lines = sa.Table(
    "order_lines",
    metadata,
    sa.Column("order_id", sa.ForeignKey("orders.order_id"), primary_key=True),
    sa.Column("line", sa.Integer, primary_key=True),
    sa.Column("sku", sa.String, nullable=False),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("quantity", sa.Integer, nullable=False),
    sa.Column("unit_price_minor", sa.BigInteger, nullable=False),
)
_queries = sa.Table(
    "query_log",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("statement", sa.String, nullable=False),
    sa.Column("calls", sa.Integer, nullable=False),
    sa.Column("mean_ms", sa.Float, nullable=False),
    sa.Column("max_ms", sa.Float, nullable=False),
    sa.Column("last_seen", Instant, nullable=False),
)
starts_with(_customers, shop_rows.customers())
starts_with(_orders, shop_rows.orders())
starts_with(_lines, shop_rows.lines())
starts_with(_queries, shop_rows.queries())

_CANCELLABLE = ("pending", "paid")
_STATEMENT_CHARACTERS = 1_000


def customer(customer_id: str) -> Row:
    """One customer and the number of orders, `orders`.

    Raises:
        NotFound: There is none with this id.
    """
    with reading() as connection:
        found = _customer(connection, customer_id)
        asked = sa.select(sa.func.count()).where(_orders.c.customer_id == customer_id)
        return {**found, "orders": connection.execute(asked).scalar_one()}


def orders(customer_id: str, status: str, limit: int, cursor: str | None) -> dict[str, Any]:
    """One page of a customer's orders, the newest first: the fields of a Page.

    Raises:
        NotFound: There is no such customer.
        WrongRequest: The cursor is of another list.
    """
    filters = {"customer_id": customer_id, "status": status}
    before = parameters.read_cursor(cursor, str, **filters)
    asked = sa.select(_with_total).where(_with_total.c.customer_id == customer_id)
    asked = asked.order_by(_with_total.c.order_id.desc()).limit(limit + 1)  # numbers are given in the order of time
    if status != "all":
        asked = asked.where(_with_total.c.status == status)
    if before is not None:
        asked = asked.where(_with_total.c.order_id < before)
    with reading() as connection:
        _customer(connection, customer_id)
        rows = [dict(row) for row in connection.execute(asked).mappings()]
    return parameters.page(rows, limit, lambda row: row["order_id"], "orders", **filters)


def order(order_id: str) -> Row:
    """One order with its `lines`.

    Raises:
        NotFound: There is none with this id.
    """
    with reading() as connection:
        return _order(connection, order_id)


def cancel(order_id: str, reason: str) -> tuple[Row, bool]:
    """Cancel an order that isn't shipped; the order as it is now, and whether this call changed it.

    Raises:
        NotFound: There is none with this id.
        Refused: It has left already.
    """
    now = clock.now()
    # Looking and changing in one statement: whoever ships or cancels it at the same time comes before or after.
    open_ = sa.and_(_orders.c.order_id == order_id, _orders.c.status.in_(_CANCELLABLE))
    with writing() as connection:
        change = _orders.update().where(open_).values(status="cancelled", cancelled_at=now, cancel_reason=reason)
        changed = connection.execute(change).rowcount > 0
        found = _order(connection, order_id)
    if found["status"] == "returned":
        raise Refused(f"{order_id} has come back already; there is nothing left to cancel. get_order shows its state.")
    if found["status"] != "cancelled":
        raise Refused(
            f"{order_id} is {found['status']}; only orders that haven't left can be cancelled. Instead, the customer "
            "can return it within 30 days of delivery: tell them so."
        )
    return found, changed


def slow_queries(min_duration_ms: int, limit: int) -> tuple[list[Row], int]:
    """Statements whose mean is at least so long, the slowest first, and how many of them there are in all."""
    slow = _queries.c.mean_ms >= min_duration_ms
    asked = sa.select(_queries).where(slow).order_by(_queries.c.mean_ms.desc(), _queries.c.number).limit(limit)
    with reading() as connection:
        found = [dict(row) for row in connection.execute(asked).mappings()]
        matching = connection.execute(sa.select(sa.func.count()).where(slow)).scalar_one()
    return [{**row, "statement": row["statement"][:_STATEMENT_CHARACTERS]} for row in found], matching


_of_line = _lines.c.quantity * _lines.c.unit_price_minor
_of_order = sa.func.coalesce(sa.cast(sa.func.sum(_of_line), sa.BigInteger), 0)  # PostgreSQL sums to a decimal
_with_total = sa.select(
    _orders,
    sa.select(_of_order).where(_lines.c.order_id == _orders.c.order_id).scalar_subquery().label("total_minor"),
).subquery()


def _customer(connection: sa.Connection, customer_id: str) -> Mapping[Any, Any]:
    asked = sa.select(_customers).where(_customers.c.customer_id == customer_id)
    row = connection.execute(asked).mappings().first()
    if row is None:
        raise NotFound(
            f"There is no customer {customer_id}. get_order tells whose an order is; else ask for the number."
        )
    return row


def _order(connection: sa.Connection, order_id: str) -> Row:
    row = connection.execute(sa.select(_with_total).where(_with_total.c.order_id == order_id)).mappings().first()
    if row is None:
        raise NotFound(f"There is no order {order_id}. list_orders shows a customer's orders; else ask for the number.")
    asked = sa.select(_lines, _of_line.label("total_minor"))
    asked = asked.where(_lines.c.order_id == order_id).order_by(_lines.c.line)
    return {**row, "lines": [dict(line) for line in connection.execute(asked).mappings()]}
