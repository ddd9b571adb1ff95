"""Payments: charged once for each key whatever happens to the answer; the careless twin charges twice."""

from __future__ import annotations

from collections import Counter

import pytest
from fastmcp.client.transports import PythonStdioTransport

from servers.backends import audit, keys
from servers.backends.world import Down, RateLimited, TimesOut, World
from servers.broken import charge
from servers.payments import mcp
from tests.servers.calling import Json, call, fail, listed, raw
from tests.servers.running import ERAS, SERVERS, Mode, environment

CHARGE = {"customer_id": "cus_ana", "amount_minor": 1999, "currency": "EUR", "idempotency_key": "order-4711"}
NAIVE = {"customer_id": "cus_ana", "amount": 19.99, "currency": "EUR"}

pytestmark = pytest.mark.usefixtures("database")


def effects(world: World) -> list[str]:
    return [entry.operation for entry in world.ledger if entry.effect]


@pytest.mark.parametrize("mode", ERAS)
def test_a_charge_moves_the_amount_once_and_can_be_looked_up(world: World, mode: Mode) -> None:
    paid = call(mcp, "charge_payment", CHARGE, mode)
    assert paid | {"payment_id": "", "created_at": ""} == {
        "payment_id": "", "customer_id": "cus_ana", "amount_minor": 1999, "currency": "EUR", "refunded_minor": 0,
        "created_at": "",
    }  # fmt: skip
    assert call(mcp, "get_payment", {"payment_id": paid["payment_id"]}, mode) == paid
    assert effects(world) == ["payments.charge"]


def test_the_same_call_again_gets_the_stored_payment_without_asking_the_gateway(world: World) -> None:
    first = call(mcp, "charge_payment", CHARGE)
    asked = len(world.ledger)
    assert call(mcp, "charge_payment", CHARGE) == first
    assert len(world.ledger) == asked


@pytest.mark.parametrize("change", [{"amount_minor": 2000}, {"currency": "USD"}, {"customer_id": "cus_binh"}])
def test_a_key_with_other_arguments_is_refused_and_charges_nothing(world: World, change: Json) -> None:
    call(mcp, "charge_payment", CHARGE)
    assert fail(mcp, "charge_payment", CHARGE | change)["errorCategory"] == "business"
    assert effects(world) == ["payments.charge"]


@pytest.mark.parametrize("fault", [TimesOut(after_effect=True), TimesOut(), Down(), RateLimited(7)])
def test_after_any_failure_the_same_call_charges_once(
    world: World, monkeypatch: pytest.MonkeyPatch, fault: TimesOut | Down | RateLimited
) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.1")
    world.schedule("payments.charge", fault)
    failure = fail(mcp, "charge_payment", CHARGE)
    assert failure["errorCategory"] == "transient" and "unchanged" in failure["message"]
    assert failure.get("retryAfterSeconds") == (7 if isinstance(fault, RateLimited) else None)
    paid = call(mcp, "charge_payment", CHARGE)
    assert call(mcp, "charge_payment", CHARGE) == paid
    assert effects(world) == ["payments.charge"]


def test_the_careless_twin_charges_twice_after_a_lost_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.1")
    world.schedule("payments.charge", TimesOut(after_effect=True))
    assert raw(charge.mcp, "charge_payment", NAIVE).is_error
    assert not raw(charge.mcp, "charge_payment", NAIVE).is_error
    assert Counter(effects(world)) == {"payments.charge": 2}
    assert {entry.arguments["amount_minor"] for entry in world.ledger} == {1998}  # and a cent is missing


def test_a_declined_charge_is_a_business_refusal_and_leaves_the_key_usable(world: World) -> None:
    poor = CHARGE | {"customer_id": "cus_dana"}
    for _ in range(2):
        assert fail(mcp, "charge_payment", poor)["errorCategory"] == "business"
    assert effects(world) == []
    assert (
        fail(mcp, "charge_payment", CHARGE | {"customer_id": "cus_nobody", "idempotency_key": "order-4712"})[
            "errorCategory"
        ]
        == "validation"
    )


def test_a_key_that_has_expired_is_a_new_payment(served_world: World) -> None:
    first = call(mcp, "charge_payment", CHARGE)
    served_world.clock.advance(keys.LIFETIME.total_seconds())
    assert call(mcp, "charge_payment", CHARGE)["payment_id"] != first["payment_id"]
    assert effects(served_world) == ["payments.charge"] * 2


def test_refunds_never_exceed_the_payment_and_each_is_made_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWORTHY_TIME_LIMIT", "0.1")
    paid = call(mcp, "charge_payment", CHARGE)
    back = {"payment_id": paid["payment_id"], "amount_minor": 999, "idempotency_key": "return-001"}
    world.schedule("payments.refund", TimesOut(after_effect=True))
    assert fail(mcp, "refund_payment", back)["errorCategory"] == "transient"
    assert call(mcp, "refund_payment", back)["left_minor"] == 1000
    assert call(mcp, "get_payment", {"payment_id": paid["payment_id"]})["refunded_minor"] == 999
    more = back | {"amount_minor": 1001, "idempotency_key": "return-002"}
    failure = fail(mcp, "refund_payment", more)
    assert failure["errorCategory"] == "business" and "1000" in failure["message"]
    assert fail(mcp, "refund_payment", back | {"payment_id": "pay_999"})["errorCategory"] == "business"  # the key
    assert Counter(effects(world)) == {"payments.charge": 1, "payments.refund": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"amount_minor": 0}, {"amount_minor": -1}, {"amount_minor": 100_000_001}, {"amount_minor": 19.99},
        {"amount_minor": "1999"}, {"amount_minor": True}, {"currency": "eur"}, {"currency": "BTC"},
        {"customer_id": "ana"}, {"customer_id": "cus_ana\n"}, {"idempotency_key": "a b c d e"}, {"amount": 5},
    ],
)  # fmt: skip
def test_a_wrong_argument_charges_nothing(world: World, change: Json) -> None:
    assert fail(mcp, "charge_payment", CHARGE | change)["errorCategory"] == "validation"
    assert world.ledger == ()


def test_hints_say_that_money_moves_outside() -> None:
    hints = {tool.name: tool.annotations for tool in listed(mcp)}
    for name in ("charge_payment", "refund_payment"):
        assert hints[name].open_world_hint and hints[name].destructive_hint and hints[name].idempotent_hint
    assert hints["get_payment"].read_only_hint


def test_the_audit_log_has_charges_refusals_and_failures(world: World) -> None:
    world.schedule("payments.charge", Down())
    fail(mcp, "charge_payment", CHARGE)
    call(mcp, "charge_payment", CHARGE)
    fail(mcp, "charge_payment", CHARGE | {"amount_minor": 1})
    assert [(line["outcome"], line["error_category"]) for line in audit.lines("charge_payment")] == [
        ("begun", None), ("failed", "transient"), ("begun", None), ("done", None), ("begun", None),
        ("refused", "business"),
    ]  # fmt: skip


def test_over_stdio_a_restart_finds_the_key_again(database: str, served_world: World) -> None:
    def server() -> PythonStdioTransport:
        env = environment(TOOLWORTHY_DATABASE=database, TOOLWORTHY_WORLD=address, TOOLWORTHY_TIME_LIMIT="0.3")
        return PythonStdioTransport(SERVERS / "payments.py", env=env, keep_alive=False)

    with served_world.serve() as address:
        served_world.schedule("payments.charge", TimesOut(after_effect=True))
        assert fail(server(), "charge_payment", CHARGE)["errorCategory"] == "transient"
        assert call(server(), "charge_payment", CHARGE)["amount_minor"] == 1999
    assert effects(served_world) == ["payments.charge"]
