"""A relation as an Arrow dataset: DuckDB asks it for the columns it needs and gives it the filters it has.

Splits are read a few at a time, ahead of the rows that are asked for, so that a LIMIT stops the read early.
"""

import os
from collections import deque
from collections.abc import Collection, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from maintenance.read.split_read import ReadsSplits
from maintenance.scan.plan import ScanPlan
from maintenance.scan.split import AnySplit, Split
from maintenance.sql.query.carried import carried, carried_schema
from maintenance.sql.query.case_names import marked_rows, plain
from maintenance.sql.query.relations import PlannedTable, Relation, fields_of_view, predicate_of
from maintenance.types.casts.text import filled_up

# Of a value in memory, where its type tells nothing.
_LEAST_BYTES = 4


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
        schema = self._needed(names)
        return ds.Scanner.from_batches(self._batches(schema), schema=schema, columns=names, filter=filter)

    def least_bytes(self) -> int:
        """That all rows take in memory, by the number of rows in the files; less where these are not known."""
        schema = self._needed(())
        plan, _ = self._planned([plain(name) for name in schema.names])
        files = (file for split in plan.splits if isinstance(split, Split) for file in split.files)
        return _LEAST_BYTES * len(schema) * sum(file.row_count for file in files)

    def table(self, most_bytes: int) -> pa.Table | None:
        """All rows, with the columns that the query names; None where they are larger. Raises: as reading does."""
        schema = self._needed(())
        batches: list[pa.RecordBatch] = []
        size = 0
        with closing(self._batches(schema)) as coming:
            for batch in coming:
                batches.append(batch)
                size += batch.nbytes
                if size > most_bytes:
                    return None
        return pa.Table.from_batches(batches, schema)

    def _needed(self, names: Collection[str]) -> pa.Schema:
        """The columns that the query names, and these."""
        needed = [
            name for name in self._schema.names if name in names or name.lower() in self._relation.mentioned
        ] or self._schema.names[:1]
        return pa.schema([self._schema.field(name) for name in needed])

    def _batches(self, schema: pa.Schema) -> Generator[pa.RecordBatch, None, None]:
        by_name = {field.name: field for field in fields_of_view(self._view)}
        own = [plain(name) for name in schema.names]
        try:
            for rows in self._tables(own):
                fields = [by_name[name] for name in own]
                known = filled_up(rows.select(own), fields) if self._relation.fills_chars else rows.select(own)
                ordered = carried(known, fields)
                yield from marked_rows(ordered, self._relation.same).cast(schema).to_batches()
        except BaseException as error:
            self.failure = error
            raise

    def _planned(self, columns: list[str]) -> tuple[ScanPlan, ReadsSplits]:
        return self._view.plan(columns, predicate_of(self._view, self._relation.condition))

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        plan, read = self._planned(columns)
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


def held(datasets: Sequence[RelationDataset], most_bytes: int) -> list[pa.Table] | None:
    """All rows of the relations; None where they are larger together.

    DuckDB knows how many rows a table has, of a dataset it takes that for one. Which side of a join is kept in memory,
    and which join comes first, goes by it: so either it knows this of all relations or of none.
    """
    if sum(dataset.least_bytes() for dataset in datasets) > most_bytes:
        return None
    tables: list[pa.Table] = []
    for dataset in datasets:
        table = dataset.table(most_bytes - sum(table.nbytes for table in tables))
        if table is None:
            return None
        tables.append(table)
    return tables


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
