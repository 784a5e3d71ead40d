"""Views whose rows are the table's, in another form or with further columns, read split by split as tables are."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from maintenance.format.variant.extension import shown
from maintenance.metadata.expired import again_if_expired
from maintenance.predicate.arrow import mask
from maintenance.predicate.sql import parse
from maintenance.predicate.tree import Predicate, columns_of
from maintenance.read.split_read import SplitRead
from maintenance.scan.plan import ScanPlan
from maintenance.scan.split import AnySplit
from maintenance.table.rows import WHOLE_TABLE_MEMORY, check_column, read_splits, splits_to_spark
from maintenance.table.system.handle import SystemTableHandle
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class ViewRead:
    """How to read the splits of a view; travels to Spark's tasks.

    Attributes:
        read: of the table, with all columns that the view's are made of.
        columns: wanted columns, in order.
        predicate: over the columns of the view; None = all rows.
        shape: makes rows of the view from rows of the table.
        whole: `shape` needs the rows of a split all at once.
    """

    read: SplitRead
    columns: tuple[DataField, ...]
    predicate: Predicate | None
    shape: Callable[[pa.Table], pa.Table]
    whole: bool = False

    def tables(self, split: AnySplit) -> Iterator[pa.Table]:
        """Rows of the split with the requested columns."""
        tables = self.read.tables(split)
        if self.whole:
            parts = list(tables)
            tables = iter([pa.concat_tables(parts)] if parts else [])
        for rows in tables:
            shaped = self.shape(rows)
            kept = shaped if self.predicate is None else shaped.filter(mask(self.predicate, shaped))
            if kept.num_rows:
                yield kept.select([column.name for column in self.columns])


class PlannedView(SystemTableHandle):
    """The handle of such a view, read like a table."""

    __slots__ = ()

    @abstractmethod
    def copy(self, options: Mapping[str, str]) -> Self:
        """The view with further options for reading."""

    @abstractmethod
    def plan(
        self, columns: Sequence[str] | None = None, predicate: Predicate | None = None
    ) -> tuple[ScanPlan, ViewRead]:
        """Splits of a read, and how to read them. Raises: PredicateError: a column does not exist."""

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """The rows; arguments as of `Table.to_arrow`. Arrays cannot be filtered."""
        return again_if_expired(lambda: _all_rows(self.copy(options or {}), columns, where))

    def to_spark(
        self,
        spark: "SparkSession",
        columns: Sequence[str] | None = None,
        where: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> "DataFrame":
        """The rows as a DataFrame, one task for each split. Arguments as of `to_arrow`."""
        view = self.copy(options or {})
        plan, read = view.plan(columns, _predicate_of(view, where))
        return splits_to_spark(spark, plan.splits, read)


def selected_columns(
    view: PlannedView, columns: Sequence[str] | None, predicate: Predicate | None
) -> tuple[tuple[DataField, ...], list[str]]:
    """The columns wanted, in order, and the names of all that are needed. Raises: PredicateError."""
    by_name = {column.name: column for column in view.fields}
    selected = list(by_name) if columns is None else list(columns)
    for name in selected:
        check_column(name, by_name, view.identifier)
    filtered = frozenset[str]() if predicate is None else columns_of(predicate)
    return tuple(by_name[name] for name in selected), [name for name in by_name if name in {*selected, *filtered}]


def _predicate_of(view: PlannedView, where: str | None) -> Predicate | None:
    """The filter of a SQL text over the columns that are not nested."""
    plain = [column for column in view.fields if not column.type.is_nested]
    return None if where is None else parse(where, plain)


def _all_rows(view: PlannedView, columns: Sequence[str] | None, where: str | None) -> pa.Table:
    """All rows of a view."""
    if columns is not None and not columns:
        # Arrow forgets the number of rows when it puts tables without columns together.
        return _all_rows(view, [view.fields[0].name], where).select([])
    plan, read = view.plan(columns, _predicate_of(view, where))
    tables = read_splits(plan.splits, replace(read, read=replace(read.read, memory=WHOLE_TABLE_MEMORY)))
    schema = pa.schema([(column.name, arrow_type(column.type, f"column {column.name}")) for column in read.columns])
    rows = (
        pa.concat_tables([schema.empty_table(), *tables], promote_options="permissive")
        if tables
        else schema.empty_table()
    )
    return shown(rows, read.columns)
