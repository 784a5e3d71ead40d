"""INSERT INTO a table with `upsert-key`, in Spark's dialect: rows whose key is there replace those of the table.

Such a table has no primary key; Paimon's Spark commands make a MERGE of each append, all its other writers append. Of
several new rows of a key the one with the largest `sequence.field` counts, and it replaces only rows that are not
newer.
Source: Java `RewriteUpsertTable` of release 2.0.0.
"""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from sqlglot import exp

from maintenance.sql.cursor import Source
from maintenance.sql.duckdb.row_changes import RowChange, RowClause, change_rows
from maintenance.sql.query.carried import carried
from maintenance.table.table import Table

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

_OLD, _NEW, _PLACE = "paimon_old", "paimon_inserted", "paimon_place"


def has_upserts(session: "SessionState", table: Table) -> bool:
    """Whether an INSERT INTO the table is a MERGE."""
    is_keyed = table.model.upsert_key and not table.is_primary_key_table
    return bool(is_keyed) and session.dialect == "spark"


def upsert(session: "SessionState", table: Table, rows: pa.Table, source: Source) -> None:
    """Merge rows. Raises: DataError: without `sequence.field`, several of them replace one row of the table."""
    keys = table.model.upsert_key
    sequence = table.model.sequence_field
    same = (exp.NullSafeEQ(this=_column(name, _OLD), expression=_column(name, _NEW)) for name in keys)
    newer = [exp.LTE(this=_column(name, _OLD), expression=_column(name, _NEW)) for name in sequence]
    values = {name: _column(name, _NEW) for name in table.schema.field_names}
    clauses = [
        RowClause("matched", "update", values, exp.and_(*newer) if newer else None),
        RowClause("not_matched", "insert", values),
    ]
    using = exp.to_table(_NEW)
    by_name = {field.name: field for field in table.schema.fields}
    newest = _newest(rows, keys, sequence) if sequence else rows
    bound = {_NEW: carried(newest, [by_name[name] for name in newest.column_names])}
    change_rows(session, table, RowChange("merge", _OLD, clauses, source, using, exp.and_(*same), bound))


def _newest(rows: pa.Table, keys: tuple[str, ...], sequence: tuple[str, ...]) -> pa.Table:
    """The row of each key with the largest sequence, nulls counting as the smallest."""
    order = [(name, "descending") for name in sequence]
    ordered = rows.sort_by(order).append_column(_PLACE, pa.array(np.arange(rows.num_rows)))
    first = ordered.group_by(list(keys), use_threads=False).aggregate([(_PLACE, "min")]).column(f"{_PLACE}_min")
    return ordered.take(first).drop_columns([_PLACE])


def _column(name: str, table: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(table, quoted=True))
