"""Changes of a schema as a caller may ask for them, and the statements that make them. No SQL comes from outside."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

import sqlalchemy as sa
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from servers.backends import migrations_schema as schema
from servers.backends.errors import NotFound, Refused
from servers.backends.migrations_schema import quote
from servers.backends.parameters import TEXT, UniqueItems

TYPES = {
    "text": "TEXT",
    "integer": "BIGINT",
    "number": "DOUBLE PRECISION",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
}
DEFAULTS: dict[str, type] = {"text": str, "integer": int, "boolean": bool}  # the others have none
MOST_NAMES = 20  # that an error message has


def _fits_postgresql(name: str) -> str:
    if len(name.encode()) > 63:
        raise ValueError("a name has at most 63 bytes in UTF-8")
    return name


# What is there may have any name; what is made here gets one that needs no thought. Both are described once, beside the
# list of changes, or they would be most of the tool's definition.
There: TypeAlias = Annotated[str, Field(pattern=r"^[^\x00-\x1f]+$", max_length=128)]
New: TypeAlias = Annotated[str, Field(pattern=r"^[^\W\d]\w*$", max_length=63), AfterValidator(_fits_postgresql)]


# Without docstrings, which would be published: the names say it.
class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid")

    table: There


class AddColumn(_Change):
    change: Literal["add_column"]
    column: New
    type: Annotated[
        Literal["text", "integer", "number", "boolean", "date", "timestamp"],
        Field(description="integer: 64 bits; number: a double."),
    ]
    nullable: Annotated[bool, Field(description="May have no value.")] = True
    default: Annotated[
        Annotated[str, Field(pattern=TEXT, max_length=200)]
        | Annotated[int, Field(ge=-(2**53) + 1, le=2**53 - 1)]
        | bool
        | None,
        Field(description="Of that type (text, integer or boolean), also for rows that are there."),
    ] = None

    @model_validator(mode="after")
    def _default_has_the_type(self) -> AddColumn:
        if self.default is not None and type(self.default) is not DEFAULTS.get(self.type):
            raise ValueError(f"default: this is no value for a column of type {self.type}")
        return self


class DropColumn(_Change):
    change: Literal["drop_column"]
    column: There


class RenameColumn(_Change):
    change: Literal["rename_column"]
    column: There
    new_name: New


class CreateIndex(_Change):
    change: Literal["create_index"]
    index: New
    columns: Annotated[list[There], Field(min_length=1, max_length=16), *UniqueItems]
    unique: Annotated[bool, Field(description="No two rows with equal values, now and later.")] = False


class DropIndex(_Change):
    change: Literal["drop_index"]
    index: There


Change: TypeAlias = Annotated[
    AddColumn | DropColumn | RenameColumn | CreateIndex | DropIndex, Field(discriminator="change")
]


@dataclass
class Table:
    """A table as it will be after the changes so far."""

    rows: int
    # By the name that a column will have: the name that it has in the database, None for one that isn't there yet.
    columns: dict[str, str | None]
    indexes: set[str]
    dependents: list[tuple[str, str]]
    lost: list[str] = field(default_factory=list)  # columns of the database whose values will be gone


class Draft:
    """The schema as it will be after the changes so far, and the statements that make them."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._names = schema.tables(connection)
        self._relations = schema.relations(connection)
        self.tables: dict[str, Table] = {}

    def statement(self, change: Change) -> str:
        """The statement for one change, which is checked against this schema and becomes part of it.

        Raises:
            NotFound: It speaks of something that isn't there.
            Refused: It is impossible.
        """
        table, name = self._table(change.table), quote(change.table)
        match change:
            case AddColumn():
                return f"ALTER TABLE {name} ADD COLUMN {_add_column(table, change)}"
            case DropColumn():
                _drop_column(table, change)
                return f"ALTER TABLE {name} DROP COLUMN {quote(change.column)}"
            case RenameColumn():
                _rename_column(table, change)
                return f"ALTER TABLE {name} RENAME COLUMN {quote(change.column)} TO {quote(change.new_name)}"
            case CreateIndex():
                self._create_index(table, change)
                kind = "UNIQUE INDEX" if change.unique else "INDEX"
                return f"CREATE {kind} {quote(change.index)} ON {name} ({', '.join(map(quote, change.columns))})"
            case DropIndex():
                require(f"index of {change.table}", change.index, table.indexes)
                table.indexes.remove(change.index)
                self._relations.remove(change.index)
                table.dependents = [each for each in table.dependents if each[1] != f"index {change.index}"]
                return f"DROP INDEX {quote(change.index)}"

    def _create_index(self, table: Table, change: CreateIndex) -> None:
        for column in change.columns:
            require(f"column in {change.table}", column, table.columns)
        _free(change.index, self._relations)
        there = [now for column in change.columns if (now := table.columns[column])]
        old = len(there) == len(change.columns)
        if change.unique and old and schema.has_duplicates(self._connection, change.table, there):
            raise Refused(
                f"Rows of {change.table} have the same {', '.join(change.columns)}: no unique index is possible. "
                "Plan one that isn't, or let a person change the rows first."
            )
        self._relations.append(change.index)
        table.indexes.add(change.index)
        table.dependents += [(column, f"index {change.index}") for column in change.columns]

    def _table(self, name: str) -> Table:
        if name not in self.tables:
            require("table", name, self._names)
            found = schema.describe(self._connection, name)
            self.tables[name] = Table(
                rows=found["rows"],
                columns={column["name"]: column["name"] for column in found["columns"]},
                indexes={index["name"] for index in found["indexes"]},
                dependents=schema.dependents(self._connection, name),
            )
        return self.tables[name]


def _add_column(table: Table, change: AddColumn) -> str:
    _free(change.column, table.columns)
    if table.rows and not change.nullable and change.default is None:
        raise Refused(
            f"{change.table} has rows, which would have no value in {change.column}: give a default, or let it be "
            "nullable."
        )
    table.columns[change.column] = None
    default = "" if change.default is None else f" DEFAULT {schema.literal(change.default)}"
    return f"{quote(change.column)} {TYPES[change.type]}{default}{'' if change.nullable else ' NOT NULL'}"


def _drop_column(table: Table, change: DropColumn) -> None:
    require(f"column in {change.table}", change.column, table.columns)
    needed = [what for column, what in table.dependents if column == change.column]
    if needed:
        raise Refused(
            f"{change.table}.{change.column} can't be dropped: {', '.join(needed)} would go too, or stop working. "
            "Drop an index first, with drop_index; with anything else a person must help."
        )
    stored = table.columns.pop(change.column)
    if stored:
        table.lost.append(stored)


def _rename_column(table: Table, change: RenameColumn) -> None:
    require(f"column in {change.table}", change.column, table.columns)
    old, new = change.column, change.new_name
    _free(new, [each for each in table.columns if each != old or each == new])  # another case is another name
    table.columns[new] = table.columns.pop(old)
    table.dependents = [(new if column == old else column, what) for column, what in table.dependents]


def require(what: str, name: str, there: Iterable[str]) -> None:
    """Raise NotFound, with what is there instead, unless `name` is."""
    known = sorted(there)
    if name not in known:
        shown = ", ".join(known[:MOST_NAMES]) + (", …" if len(known) > MOST_NAMES else "")
        close = difflib.get_close_matches(name, known)
        raise NotFound(f"There is no {what} called {name!r}. There are: {shown or 'none'}.", close)


def _free(name: str, taken: Iterable[str]) -> None:
    """Names that differ in case only are one name in SQLite, and a trap in PostgreSQL."""
    for each in taken:
        if each.casefold() == name.casefold():
            raise Refused(f"The name {name!r} is taken: {each!r} is there. Choose another one.")
