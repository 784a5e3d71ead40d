"""A relation as an Arrow dataset: DuckDB asks it for the columns it needs and gives it the filters it has.

Splits are read a few at a time, ahead of the rows that are asked for, so that a LIMIT stops the read early.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from maintenance.read.split_read import ReadsSplits
from maintenance.scan.split import AnySplit
from maintenance.sql.query.carried import carried, carried_schema
from maintenance.sql.query.case_names import marked_rows, plain
from maintenance.sql.query.relations import PlannedTable, Relation, fields_of_view, predicate_of


class RelationDataset(ds.Dataset):  # type: ignore[misc]
    """The rows of a relation. `failure`: what went wrong while they were read."""

    def __init__(self, relation: Relation, view: PlannedTable) -> None:
        self._relation = relation
        self._view = view
        self._schema = carried_schema(relation.fields())
        self.failure: BaseException | None = None

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> ds.Scanner:  # noqa: A002
        """A scanner of these columns. `filter`: Arrow's expression over any columns that the query names."""
        names = self._schema.names if columns is None else list(columns)
        needed = [
            name for name in self._schema.names if name in names or name.lower() in self._relation.mentioned
        ] or self._schema.names[:1]
        schema = pa.schema([self._schema.field(name) for name in needed])
        return ds.Scanner.from_batches(self._batches(needed, schema), schema=schema, columns=names, filter=filter)

    def _batches(self, columns: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        by_name = {field.name: field for field in fields_of_view(self._view)}
        own = [plain(name) for name in columns]
        try:
            for rows in self._tables(own):
                ordered = carried(rows.select(own), [by_name[name] for name in own])
                yield from marked_rows(ordered, self._relation.same).cast(schema).to_batches()
        except BaseException as error:
            self.failure = error
            raise

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        plan, read = self._view.plan(columns, predicate_of(self._view, self._relation.condition))
        if self._relation.limit is None:
            yield from _ahead(plan.splits, read)
            return
        remaining = self._relation.limit
        for split in plan.splits:
            for rows in read.tables(split):
                if remaining <= 0:
                    return
                yield rows.slice(0, remaining)
                remaining -= rows.num_rows


def _ahead(splits: Sequence[AnySplit], read: ReadsSplits) -> Iterator[pa.Table]:
    """The rows of splits in their order, read by as many threads as there are cores."""
    if len(splits) <= 1:
        for split in splits:
            yield from read.tables(split)
        return
    width = min(len(splits), os.cpu_count() or 1)
    with ThreadPoolExecutor(width) as pool:
        coming = iter(splits)
        started: deque[Future[list[pa.Table]]] = deque()
        for split in coming:
            started.append(pool.submit(lambda one: list(read.tables(one)), split))
            if len(started) > width:
                yield from started.popleft().result()
        while started:
            yield from started.popleft().result()
