"""Flights of one day from here to there, asked of a search service outside that is slow, sometimes down, and paid for.

So the server guards itself, whatever the host does: at the door the rate and the loops of each caller; at the upstream
a breaker, a time limit and a daily quota. Each refusal says what to do. Every call leaves a line of JSON and a trace.
"""

import datetime as dt
from typing import Annotated, TypeAlias

from mcp_types import ToolAnnotations
from pydantic import Field

from servers.backends import flights, gate, guards, parameters, telemetry
from servers.backends.audit import Audit
from servers.backends.flights import Cabin, Currency, Flight
from servers.backends.parameters import Cursor, Page, PageSize
from servers.backends.production import DATABASE, production
from servers.backends.serve import Need, serve

LIMITS = Need(
    "whole numbers, where you want others than these: TOOLWORTHY_RATE (60 calls a minute for each caller), "
    "TOOLWORTHY_QUOTA (500 results a day for each caller), TOOLWORTHY_LOOP_CAP (the same call 5 times a minute)",
    guards.check,
)
CALL_LOG = Need("a place for a line of JSON a call: stderr, or the file TOOLWORTHY_CALL_LOG", telemetry.check)
COST_UNITS = {"search_flights": 1}

mcp = production(
    "flights",
    "Flights to choose from. It can't book, hold or cancel, and knows no trains, hotels or fare rules.",
    guards.RateLimit(),
    guards.LoopCap(),
    audit=Audit(also=telemetry.report),
)
upstream = gate.Gate(
    "the flight search",
    gate.Breaker(),
    gate.DailyQuota(contact="flights@toolworthy.example"),
    COST_UNITS["search_flights"],
)

# Counting calls is no effect in the tool's world, so reading is all it does. That world is somebody else's.
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True)

Airport: TypeAlias = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="IATA code, such as HAN.")]


@mcp.tool(title="Search flights", annotations=READS)
def search_flights(
    origin: Airport,
    destination: Airport,
    date: Annotated[dt.date, Field(description="Day of departure in the origin's local time, YYYY-MM-DD.")],
    passengers: Annotated[int, Field(ge=1, le=9, description="How many travel together, 1 to 9.")] = 1,
    cabin: Annotated[Cabin, Field(description="Economy unless told.")] = "economy",
    currency: Annotated[Currency, Field(description="Of all prices; EUR unless told.")] = "EUR",
    max_price_minor: Annotated[
        int | None,
        Field(
            ge=1,
            le=10_000_000_000,
            description="The most that all passengers together may cost, in the currency's minor unit: 20000 EUR are "
            "200.00 euros. JPY and VND have no smaller unit: 20000 JPY are 20,000 yen. Leave it out for any price.",
        ),
    ] = None,
    limit: PageSize = 20,
    cursor: Cursor = None,
) -> Page[Flight]:
    """Search the flights of one day between two airports, the cheapest first, page by page.

    Use it when origin, destination and day are known. One direction only: for the way back call it again. Not to book,
    and not to watch a price: the same call has the same answer for a while, so keep the answer.

    Times are local, with their UTC offset; prices are for all passengers together. A day without flights gives an empty
    list, which is no error. Each result counts against a daily quota.
    """
    asked = {
        "origin": origin, "destination": destination, "date": date, "passengers": passengers, "cabin": cabin,
        "currency": currency, "max_price_minor": max_price_minor,
    }  # fmt: skip
    start = parameters.read_cursor(cursor, int, **asked) or 0
    with upstream.asking("flights.search"):
        found = flights.search(**asked, offset=start, limit=limit + 1)
    return Page[Flight].model_validate(parameters.page(found, limit, lambda _: start + limit, "flights", **asked))


if __name__ == "__main__":
    serve(mcp, DATABASE, CALL_LOG, LIMITS)
