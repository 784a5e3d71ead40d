"""MERGE INTO on Spark: join the table and the source, and decide for each joined row what to do."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maintenance.errors import DataError
from maintenance.format.rows.system_fields import POSITION, ROW_ID
from maintenance.operations.rows.merge_clauses import SOURCE, TARGET, Clause, quoted
from maintenance.operations.rows.record_changes import DELETED, INSERTED, KIND, UPDATED
from maintenance.operations.rows.row_changes import Positions, positions_of_frame
from maintenance.read.positioned import FILE
from maintenance.spark.cancellation import ended_with_caller
from maintenance.spark.types import spark_type
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_IN_TARGET, _IN_SOURCE, _CLAUSE = "_paimon_in_target", "_paimon_in_source", "_paimon_clause"
BEFORE = "_paimon_before"
_KINDS = {"update": UPDATED, "delete": DELETED, "insert": INSERTED}


@dataclass(frozen=True, slots=True)
class MergedFrame:
    """Rows that change, with their new values.

    Attributes: `frame`: `KIND`, the table's columns, and the locations of the old rows; `counts`: rows by action.
    """

    frame: "DataFrame"
    columns: tuple[str, ...]
    counts: dict[str, int]

    def updates(self) -> "DataFrame":
        """The updated rows, with what they were in `BEFORE`."""
        return self.frame.where(f"{KIND} = '{UPDATED}'")

    def positions(self) -> Positions:
        """Locations of the deleted and updated rows."""
        return positions_of_frame(self.frame.where(f"{KIND} <> '{INSERTED}'"))

    def written(self) -> "DataFrame":
        """New rows and new versions of rows."""
        return self.frame.where(f"{KIND} <> '{DELETED}'").select(*map(quoted, self.columns))

    def records(self) -> "DataFrame":
        """All changes as records."""
        return self.frame.select(*map(quoted, self.columns), KIND)


@contextmanager
def merge(
    table: Table,
    target: "DataFrame",
    source: "DataFrame",
    on: str,
    clauses: Sequence[Clause],
    before: Collection[str] = (),
) -> Iterator[MergedFrame]:
    """The changes. `target`: rows of the table, without a primary key with their locations; `before`: columns whose old
    values are wanted, too.

    Raises: DataError: several rows of the source change one row of the table.
    """
    from pyspark.sql import functions

    joined = _joined(target, source, on, clauses)
    clause = _clause_of(clauses)
    evolved = table.model.evolves
    keys = table.schema.primary_keys or ((ROW_ID.name,) if evolved else (FILE.name, POSITION.name))
    old = [functions.col(f"{TARGET}.{quoted(name)}").alias(f"_paimon_key_{n}") for n, name in enumerate(keys)]
    places = [] if table.schema.primary_keys or evolved else [FILE.name, POSITION.name]
    chosen = joined.select("*", clause.alias(_CLAUSE)).where(f"{_CLAUSE} IS NOT NULL")
    kind = _of_clause([functions.lit(_KINDS[clause.action]) for clause in clauses])
    columns = [_new_value(table, name, clauses).alias(name) for name in table.schema.field_names]
    tracked = []
    if table.model.tracks_rows:
        tracked = [functions.col(f"{TARGET}.{ROW_ID.name}").alias(ROW_ID.name)]
    was = [functions.struct(*(functions.col(f"{TARGET}.{quoted(name)}") for name in before)).alias(BEFORE)]
    frame = chosen.select(kind.alias(KIND), *columns, *tracked, *places, *old, *(was if before else ())).persist()
    try:
        with ended_with_caller(frame.sparkSession):
            # Deleting a row twice is not a contradiction.
            if [c.action for c in clauses if c.when == "matched"] != ["delete"]:
                _check_once(table, frame, [f"_paimon_key_{n}" for n in range(len(keys))])
            by_kind = {row[0]: row[1] for row in frame.groupBy(KIND).count().collect()}
            counts = {"update": by_kind.get(UPDATED, 0), "insert": by_kind.get(INSERTED, 0)}
            deleted = frame.where(f"{KIND} = '{DELETED}'").select(*(f"_paimon_key_{n}" for n in range(len(keys))))
            counts["delete"] = deleted.distinct().count() if by_kind.get(DELETED) else 0
        yield MergedFrame(frame, (*table.schema.field_names, *(ROW_ID.name for _ in tracked)), counts)
    finally:
        frame.unpersist()


def any_match(target: "DataFrame", source: "DataFrame", on: str) -> bool:
    """Whether a row of the source matches one of these. `target`: rows of the table."""
    joined = _joined(target, source, on, [Clause("matched", "delete")])
    with ended_with_caller(target.sparkSession):
        return bool(joined.limit(1).count())


def _joined(target: "DataFrame", source: "DataFrame", on: str, clauses: Sequence[Clause]) -> "DataFrame":
    from pyspark.sql import functions

    cases = {clause.when for clause in clauses}
    how = "full_outer"
    if "not_matched_by_source" not in cases:
        how = "right_outer" if "not_matched" in cases else "inner"
    elif "not_matched" not in cases:
        how = "left_outer"
    one, other = (
        frame.withColumn(name, functions.lit(True)).alias(alias)
        for frame, name, alias in ((target, _IN_TARGET, TARGET), (source, _IN_SOURCE, SOURCE))
    )
    return one.join(other, functions.expr(on), how)


def _clause_of(clauses: Sequence[Clause]) -> "Column":
    """The number of the first clause that fits, null if none does."""
    from pyspark.sql import functions

    there = functions.col(_IN_TARGET).isNotNull()
    in_source = functions.col(_IN_SOURCE).isNotNull()
    conditions = {
        "matched": there & in_source,
        "not_matched": ~there & in_source,
        "not_matched_by_source": there & ~in_source,
    }
    chosen: Any = None
    for number, clause in enumerate(clauses):
        fits = conditions[clause.when]
        if clause.condition is not None:
            fits = fits & functions.expr(clause.condition)
        chosen = (functions if chosen is None else chosen).when(fits, functions.lit(number))
    column: Column = chosen
    return column


def _of_clause(values: "Sequence[Column]") -> "Column":
    from pyspark.sql import functions

    chosen: Any = functions
    for number, value in enumerate(values):
        chosen = chosen.when(functions.col(_CLAUSE) == number, value)
    column: Column = chosen
    return column


def _new_value(table: Table, name: str, clauses: Sequence[Clause]) -> "Column":
    """The value of a column after the clause of the row; of a deleted row the old one."""
    from pyspark.sql import functions

    field = table.schema.field(name)
    data_type = spark_type(field.type, f"column {name}")
    old = functions.col(f"{TARGET}.{quoted(name)}")
    values = []
    for clause in clauses:
        value_text = (clause.values or {}).get(name)
        absent = functions.lit(None) if clause.action == "insert" else old
        values.append((absent if value_text is None else functions.expr(value_text)).cast(data_type))
    return _of_clause(values)


def _check_once(table: Table, frame: "DataFrame", keys: Sequence[str]) -> None:
    twice = frame.where(f"{KIND} <> '{INSERTED}'").groupBy(*keys).count().where("count > 1").limit(1).collect()
    if twice:
        row = table.schema.primary_keys and dict(zip(table.schema.primary_keys, twice[0], strict=False))
        raise DataError(
            f"several rows of the source match one row of the table{f': {row}' if row else ''}",
            f"table {table.identifier}",
            "Make the source have one row for each that matches.",
        )
