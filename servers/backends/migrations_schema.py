"""What is in a database, SQLite or PostgreSQL: its tables, what hangs on a column, and a fingerprint of it all."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect

from servers.backends.storage import Row

# Names and values in the standard's own way of writing, which both databases read alike.
STANDARD = DefaultDialect(supports_native_boolean=True)

_MINE = "pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()"
_COLUMNS = {
    "sqlite": """select name, type, dflt_value as "default", pk > 0 as primary_key,
            "notnull" = 0 and (pk = 0 or upper(type) <> 'INTEGER') as nullable
        from pragma_table_xinfo(:table) where hidden <> 1 order by cid""",
    "postgresql": f"""select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
        not a.attnotnull as nullable, pg_get_expr(d.adbin, d.adrelid) as "default", exists (select from pg_constraint k
            where k.conrelid = c.oid and k.contype = 'p' and a.attnum = any (k.conkey)) as primary_key
        from {_MINE} join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
        where c.relname = :table order by a.attnum""",
}
# Those that were made for themselves; others belong to a constraint.
_INDEXES = {
    "sqlite": """select l.name, l."unique", i.name as "column" from pragma_index_list(:table) l
        join pragma_index_info(l.name) i where l.origin = 'c' order by l.name, i.seqno""",
    "postgresql": f"""select i.relname as name, x.indisunique as "unique", a.attname as "column"
        from {_MINE} join pg_index x on x.indrelid = c.oid join pg_class i on i.oid = x.indexrelid
        cross join unnest(x.indkey) with ordinality k (attnum, place)
        left join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
        where c.relname = :table and k.place <= x.indnkeyatts and not exists
            (select from pg_constraint o where o.conindid = i.oid and o.contype in ('p', 'u', 'x'))
        order by i.relname, k.place""",
}
_RELATIONS = {"sqlite": "select name from sqlite_master", "postgresql": f"select c.relname from {_MINE}"}
# Everything that a schema is made of. Numbers that the database gives show that something was dropped and made again.
_DEFINITIONS = {
    "sqlite": "select name, sql from sqlite_master union all select '', schema_version from pragma_schema_version",
    "postgresql": f"""select c.relname, concat_ws(' ', c.oid, a.attnum, a.attname, a.attidentity, a.attgenerated,
            format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
        from {_MINE} join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
        left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
        union all select c.relname, pg_get_indexdef(c.oid) from {_MINE} where c.relkind in ('i', 'I')
        union all select c.relname, pg_get_viewdef(c.oid) from {_MINE} where c.relkind in ('v', 'm')
        union all select c.relname, concat_ws(' ', k.conname, pg_get_constraintdef(k.oid))
        from {_MINE} join pg_constraint k on k.conrelid = c.oid
        union all select c.relname, pg_get_triggerdef(t.oid)
        from {_MINE} join pg_trigger t on t.tgrelid = c.oid and not t.tgisinternal""",
}
# PostgreSQL drops some of these with the column, without a word. The column's own default and sequence may go with it.
_DEPENDENTS = f"""select distinct a.attname, coalesce('index ' || i.relname,
        regexp_replace(pg_describe_object(d.classid, d.objid, d.objsubid), '^rule .+ on ', ''))
    from {_MINE} join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid
    join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid
    left join pg_class i on d.classid = 'pg_class'::regclass and i.oid = d.objid
    where c.relname = :table and d.deptype in ('n', 'a') and d.classid <> 'pg_attrdef'::regclass
        and i.relkind is distinct from 'S' order by 1, 2"""


def tables(connection: sa.Connection) -> list[str]:
    """The names of all tables, sorted."""
    return sorted(sa.inspect(connection).get_table_names())


def views(connection: sa.Connection) -> list[str]:
    """The names of all views, sorted."""
    return sorted(sa.inspect(connection).get_view_names())


def relations(connection: sa.Connection) -> list[str]:
    """All names that a new index can't have: those of tables, views, indexes."""
    return list(connection.exec_driver_sql(_RELATIONS[connection.dialect.name]).scalars())


def describe(connection: sa.Connection, table: str) -> Row:
    """A table that is there: name, rows, columns, indexes, foreign_keys."""
    kind, name = connection.dialect.name, {"table": table}
    indexes: dict[str, Row] = {}
    for row in connection.execute(sa.text(_INDEXES[kind]), name).mappings():
        index = indexes.setdefault(row["name"], {"name": row["name"], "columns": [], "unique": row["unique"]})
        index["columns"].append(row["column"] or "(expression)")
    return {
        "name": table,
        "rows": connection.scalar(sa.select(sa.func.count()).select_from(of(table))),
        "columns": [dict(row) for row in connection.execute(sa.text(_COLUMNS[kind]), name).mappings()],
        "indexes": list(indexes.values()),
        "foreign_keys": [
            {"columns": key["constrained_columns"], "references_table": key["referred_table"]}
            for key in sorted(
                sa.inspect(connection).get_foreign_keys(table), key=lambda key: key["constrained_columns"]
            )
        ],
    }


def fingerprint(connection: sa.Connection) -> str:
    """32 hexadecimal digits for this database, its tables, indexes, constraints, views and triggers; not for rows."""
    rows = connection.exec_driver_sql(_DEFINITIONS[connection.dialect.name])
    parts = [str(connection.engine.url.set(password=None)), *sorted(json.dumps(list(row)) for row in rows)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def has_duplicates(connection: sa.Connection, table: str, columns: Sequence[str]) -> bool:
    """Whether two rows have the same values in these columns; NULL is never the same."""
    these: list[sa.ColumnClause[Any]] = [sa.column(sa.quoted_name(column, True)) for column in columns]
    found = sa.select(sa.literal(1)).select_from(of(table)).where(*(column.is_not(None) for column in these))
    return connection.execute(found.group_by(*these).having(sa.func.count() > 1).limit(1)).first() is not None


def dependents(connection: sa.Connection, table: str) -> list[tuple[str, str]]:
    """Pairs of a column and what would go, or be in the way, if it were dropped. For SQLite `rehearse` finds that."""
    if connection.dialect.name == "sqlite":
        return []
    return [(column, what) for column, what in connection.execute(sa.text(_DEPENDENTS), {"table": table})]


def rehearse(connection: sa.Connection, statements: Sequence[str]) -> str | None:
    """What SQLite says against statements, run on an empty copy of the schema in memory; None if nothing.

    PostgreSQL has no such copies. One that can't be made, as with extensions that aren't here, finds nothing either.
    """
    if connection.dialect.name == "postgresql":
        return None
    made = "select sql from sqlite_master where sql is not null order by type <> 'table', rowid"
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        try:
            for definition in connection.exec_driver_sql(made).scalars():
                copy.execute(definition)
        except sqlite3.Error:
            return None
        try:
            for statement in statements:
                copy.execute(statement)
        except sqlite3.Error as error:
            return str(error)
    return None


def lock(connection: sa.Connection, tables: Sequence[str]) -> None:
    """Let nobody else write to these tables, or alter them, until the transaction ends; in SQLite nobody can anyway."""
    if connection.dialect.name == "postgresql":
        run(connection, f"LOCK TABLE {', '.join(quote(table) for table in tables)} IN SHARE ROW EXCLUSIVE MODE")


def run(connection: sa.Connection, statement: str) -> None:
    """Hand a statement to the database as it is: a % or a : in it means nothing on the way."""
    connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


def of(table: str) -> sa.TableClause:
    """A table to select from, quoted whatever its name is."""
    return sa.table(sa.quoted_name(table, True))


def quote(name: str) -> str:
    """A name as it stands in a statement."""
    return STANDARD.identifier_preparer.quote_identifier(name)


def literal(value: str | int | float | bool) -> str:
    """A value as it stands in a statement."""
    return str(sa.literal(value).compile(dialect=STANDARD, compile_kwargs={"literal_binds": True}))
