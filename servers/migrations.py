"""Changes of a real database's schema, in two steps: plan_migration says what would happen, execute_plan does it.

Between the two somebody can read the exact statements. The plan is what was read: it names one database in one state,
expires, works once, and can't be altered. There is no `confirm` flag, which a model would set itself, and there is no
SQL in any argument: names are looked up in the schema and quoted, values are written as literals.
"""

from datetime import datetime
from typing import Annotated, Literal

from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from servers.backends import migrations, migrations_database
from servers.backends.migrations_changes import Change, There
from servers.backends.parameters import UniqueItems
from servers.backends.production import DATABASE, production
from servers.backends.serve import Need, serve

MIGRATED = Need(
    "a SQLite or PostgreSQL database to migrate: a sample shop by default, another by its URL in TOOLWORTHY_MIGRATE",
    migrations_database.check,
)

mcp = production("migrations", "Changes columns and indexes of one database. It can't read rows or make tables.")

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
# A plan does nothing to the database, but it is stored here, and each call stores another: neither read-only nor
# idempotent.
PLANS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
EXECUTES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


class Column(BaseModel):
    """A column. `type` and `default` are in the database's own words."""

    name: str
    type: str
    nullable: bool
    default: str | None
    primary_key: bool


class Index(BaseModel):
    """An index that belongs to no constraint."""

    name: str
    columns: list[str]
    unique: bool


class ForeignKey(BaseModel):
    """Columns whose values are keys of another table."""

    columns: list[str]
    references_table: str


class Table(BaseModel):
    """A table, and how many rows it has now."""

    name: str
    rows: int
    columns: list[Column]
    indexes: list[Index]
    foreign_keys: list[ForeignKey]


class Schema(BaseModel):
    """All names (500 at most), and the tables that were asked for. The fingerprint follows the schema, not the rows."""

    database: Literal["sqlite", "postgresql"]
    schema_fingerprint: str
    table_count: int
    table_names: list[str]
    view_names: list[str]
    tables: list[Table]


class Touched(BaseModel):
    """A table, its rows as of now, and the columns whose values will be gone."""

    table: str
    rows: int
    lost_columns: list[str]


class Plan(BaseModel):
    """What execute_plan will run, all or none."""

    plan_id: str
    statements: list[str]
    touched: list[Touched]
    loses_data: bool
    expires_at: datetime
    schema_fingerprint: str


class Executed(BaseModel):
    """What was done, and whether an earlier call did it (then this one changed nothing)."""

    plan_id: str
    executed_before: bool
    statements: list[str]
    executed_at: datetime
    schema_fingerprint: str


@mcp.tool(title="Inspect the schema", annotations=READS)
def inspect_schema(
    tables: Annotated[
        Annotated[list[There], Field(min_length=1, max_length=20), *UniqueItems] | None,
        Field(description="Up to 20 names of tables to describe; the first 20 unless told."),
    ] = None,
) -> Schema:
    """Get the tables of the database: columns, indexes, foreign keys, how many rows; and the names of all views.

    Use it before plan_migration, and after execute_plan to see what came of it. It shows no rows. To change something
    use plan_migration.
    """
    return Schema.model_validate(migrations.inspect(tables))


@mcp.tool(title="Plan a migration", annotations=PLANS)
def plan_migration(
    changes: Annotated[
        list[Change],
        Field(
            min_length=1,
            max_length=20,
            description="1 to 20, in this order, all or none. Names of what is there as inspect_schema gives them; new "
            "names: letters, digits and _, no digit first, up to 63 bytes.",
        ),
    ],
) -> Plan:
    """Plan changes of the schema: the exact SQL, what it touches, whether data is lost. The database stays as it is.

    Use it to add, drop or rename columns and indexes; show the plan to whoever decides, then give its plan_id to
    execute_plan within 15 minutes. Not to look around: use inspect_schema.
    Example: [{"change": "add_column", "table": "orders", "column": "note", "type": "text"}].
    """
    return Plan.model_validate(migrations.plan(changes))


@mcp.tool(title="Execute a plan", annotations=EXECUTES)
def execute_plan(
    plan_id: Annotated[str, Field(pattern="^plan_[0-9a-f]{32}$", description="From the answer of plan_migration.")],
) -> Executed:
    """Change the database as planned: the plan's statements, in one transaction, all or none. There is no undo.

    Use it when somebody has agreed to the plan. It works once, within 15 minutes, and only if the schema is still the
    one that was planned against; calling it again for a plan that was executed changes nothing and gives the same
    answer. Not without a plan: call plan_migration first. A plan that was refused is used up.
    """
    return Executed.model_validate(migrations.execute(plan_id))


if __name__ == "__main__":
    serve(mcp, DATABASE, MIGRATED)
