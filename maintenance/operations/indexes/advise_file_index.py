"""Which file indexes would help a table's queries: candidates are built in memory over a sample and tried.

For each column of the filters and each kind of index that supports its type, the index of some data files is built and
tested with each filter. What counts is what an index excludes beyond statistics: whole files first, then rows. For each
column the best candidate is proposed, if it excludes anything; of equal ones the smaller. Nothing is written.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from maintenance.amounts import number_of, seconds_text, size_text
from maintenance.errors import DataError
from maintenance.format.file_index.kinds import KINDS, ColumnIndex
from maintenance.format.file_index.selection import FileIndexes, select
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.operations.indexes.probe_file_index import spread
from maintenance.predicate.tree import And, Compare, Constant, In, Not, Or, Predicate, columns_of, push_down_not
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.scan.plan import live_entries
from maintenance.scan.pruning import Pruning
from maintenance.table.table import Table
from maintenance.types.data_type import DataField

_BATCH_ROWS = 1 << 17
_WHERE = re.compile(
    r"\bWHERE\b(.*?)(?:\bGROUP\s+BY\b|\bHAVING\b|\bORDER\s+BY\b|\bLIMIT\b|\bUNION\b|;|$)", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class IndexCandidate:
    """One index of one column, tried on the sample.

    Attributes:
        options: those of the index, without the lists of columns.
        index_bytes: over the sampled files; `build_seconds`: for them, without reading.
        files: that statistics leave to read, summed over the filters; `files_pruned`: of those, what the index leaves
            out.
        rows: in those files; `rows_left`: that may match by the index.
        table_bytes, table_seconds: the same for the whole table, by its rows.
    """

    kind: str
    column: str
    options: Mapping[str, str]
    index_bytes: int
    build_seconds: float
    files: int
    files_pruned: int
    rows: int
    rows_left: int
    table_bytes: int
    table_seconds: float


@dataclass(frozen=True, slots=True)
class IndexAdvice:
    """What the trial found.

    Attributes:
        filters: that were asked; `sampled_files`, `sampled_rows`: what the candidates were built of.
        candidates: the most helpful ones first.
        options: to set on the table, empty if nothing helps.
        rewrite_files, rewrite_bytes: data files that `rewrite_file_index` would read then.
    """

    table: str
    filters: tuple[str, ...]
    sampled_files: int
    sampled_rows: int
    candidates: tuple[IndexCandidate, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    rewrite_files: int = 0
    rewrite_bytes: int = 0
    rewrite_seconds: float = 0.0

    def __str__(self) -> str:
        lines = [f"{self.table}: {number_of(len(self.filters), 'filter')} over {number_of(self.sampled_files, 'file')}"]
        for candidate in self.candidates:
            lines.append(
                f"{candidate.kind} of {candidate.column}: {candidate.files_pruned} of {candidate.files} files and "
                f"{candidate.rows - candidate.rows_left} of {number_of(candidate.rows, 'row')} left out, "
                f"{size_text(candidate.index_bytes)}, built in {seconds_text(candidate.build_seconds)}"
            )
        settings = ", ".join(f"'{key}' = '{value}'" for key, value in self.options.items())
        lines.append(f"ALTER TABLE {self.table} SET ({settings})" if settings else "no index helps these filters")
        if settings:
            lines.append(
                f"rewrite_file_index: {number_of(self.rewrite_files, 'file')}, {self.rewrite_bytes} bytes of indexes"
            )
        return "\n".join(lines)


def filters_of_log(log: str) -> tuple[str, ...]:
    """The filters of a log of queries: what follows WHERE in each statement; lines without one are left out."""
    return tuple(dict.fromkeys(text.strip() for text in _WHERE.findall(log) if text.strip()))


def advise_file_index(table: Table, filters: Sequence[str], *, sample_files: int = 8) -> IndexAdvice:
    """Try indexes for filters.

    Args: `filters`: in Spark's SQL dialect, see `filters_of_log` too; `sample_files`: data files to build them of.
    Raises: PredicateError.
    """
    predicates = [parsed for text in filters if (parsed := table.predicate(text)) is not None]
    snapshot = table.latest_snapshot()
    source = table.scan_source()
    entries = [] if snapshot is None else live_entries(source, snapshot, None)
    sample = spread(entries, sample_files)
    rows = sum(entry.file.row_count for entry in entries)
    trials = [_Trial(index) for index in _candidates(table, predicates, sample)]
    fields = tuple({trial.index.field.id: trial.index.field for trial in trials}.values())
    for entry in sample if fields else ():
        data = rows_of_file(table, entry, fields)
        kept = [p for p in predicates if _left_by_statistics(table, entry.file, p)]
        for trial in trials:
            trial.try_file(data, kept)
    sampled = sum(entry.file.row_count for entry in sample)
    candidates = sorted((trial.result(rows / max(1, sampled)) for trial in trials if trial.fits), key=_merit)
    chosen = _chosen(candidates)
    options = _options_of(chosen)
    return IndexAdvice(
        table.identifier, tuple(filters), len(sample), sampled, tuple(candidates), options,
        len(entries) if options else 0, sum(c.table_bytes for c in chosen), sum(c.table_seconds for c in chosen),
    )  # fmt: skip


def _candidates(
    table: Table, predicates: Sequence[Predicate], sample: Sequence[ManifestEntry]
) -> Iterator[ColumnIndex]:
    """Every kind of index of each column of the filters that could answer one of their conditions."""
    named = frozenset().union(*map(columns_of, predicates)) - set(table.schema.partition_keys)
    equal = frozenset().union(*(_equal_columns(push_down_not(p)) for p in predicates))
    items = max((entry.file.row_count for entry in sample), default=1)
    for column in table.schema.fields:
        if column.name not in named:
            continue
        for kind in KINDS.values():
            bloom = "items" in kind.options
            if kind.supports(column.type) and (not bloom or column.name in equal):
                yield ColumnIndex(kind, column, {"items": str(items)} if bloom else {})


def _equal_columns(pushed: Predicate) -> frozenset[str]:
    """Columns that are asked for single values."""
    match pushed:
        case And(children) | Or(children):
            return frozenset().union(*map(_equal_columns, children))
        case Compare("=", column, _) | In(column, _):
            return frozenset((column,))
        case Constant() | Not():
            return frozenset()
    return frozenset()


def rows_of_file(table: Table, entry: ManifestEntry, fields: Sequence[DataField]) -> pa.Table:
    """All rows of a data file."""
    schemas = {entry.file.schema_id: table.scan_source().load_schemas([entry.file.schema_id])[entry.file.schema_id]}
    context = ReadContext(table.file_io, {**schemas, table.schema.id: table.schema}, tuple(fields))
    path = table.paths.data_file(entry.partition, entry.bucket, entry.file)
    parts = list(DataFileReader(context, path, entry.file, {}).batches(_BATCH_ROWS))
    return pa.concat_tables(parts) if parts else context.arrow_schema.empty_table()


def _left_by_statistics(table: Table, file: DataFileMeta, predicate: Predicate) -> bool:
    schemas = table.scan_source().load_schemas([file.schema_id])
    return Pruning(table.schema, {**schemas, table.schema.id: table.schema}, predicate).keeps_values(file)


class _Trial:
    """A candidate and what it did so far. `fits`: whether it could hold all values."""

    def __init__(self, index: ColumnIndex) -> None:
        self.index = index
        self.fits = True
        self._result = IndexCandidate(index.kind.name, index.name, index.options, 0, 0.0, 0, 0, 0, 0, 0, 0.0)

    def try_file(self, data: pa.Table, predicates: Sequence[Predicate]) -> None:
        """Build the index of a file, and ask it."""
        started = time.perf_counter()
        builder = self.index.builder()
        builder.add(data.column(self.index.field.name))
        try:
            body = builder.finish()
        except DataError:
            self.fits = False
            return
        seconds = time.perf_counter() - started
        names, fields = {self.index.name: (self.index.kind.name,)}, {self.index.field.name: self.index.field}
        indexes = FileIndexes(names, lambda column, kind: body, fields, data.num_rows, "the sample")
        selected_rows = [selection.rows for selection in (select(p, indexes) for p in predicates)]
        rows_left = sum(data.num_rows if rows is None else len(rows) for rows in selected_rows)
        was = self._result
        self._result = replace(
            was,
            index_bytes=was.index_bytes + len(body or b""),
            build_seconds=was.build_seconds + seconds,
            files=was.files + len(selected_rows),
            files_pruned=was.files_pruned + sum(rows is not None and not rows for rows in selected_rows),
            rows=was.rows + data.num_rows * len(selected_rows),
            rows_left=was.rows_left + rows_left,
        )

    def result(self, scale: float) -> IndexCandidate:
        """What it did. `scale`: rows of the table for each of the sample."""
        result = self._result
        return replace(
            result, table_bytes=round(result.index_bytes * scale), table_seconds=result.build_seconds * scale
        )  # fmt: skip


def _merit(candidate: IndexCandidate) -> tuple[int, int, int]:
    """The most helpful sort first."""
    return -candidate.files_pruned, candidate.rows_left, candidate.index_bytes


def _chosen(ranked: Sequence[IndexCandidate]) -> list[IndexCandidate]:
    """The best of each column, if it leaves out anything."""
    best: dict[str, IndexCandidate] = {}
    for candidate in ranked:
        if candidate.files_pruned or candidate.rows_left < candidate.rows:
            best.setdefault(candidate.column, candidate)
    return list(best.values())


def _options_of(chosen: Sequence[IndexCandidate]) -> dict[str, str]:
    options: dict[str, str] = {}
    for candidate in chosen:
        key = f"file-index.{candidate.kind}.columns"
        options[key] = ",".join(filter(None, (options.get(key), candidate.column)))
    for candidate in chosen:
        for name, value in candidate.options.items():
            options[f"file-index.{candidate.kind}.{candidate.column}.{name}"] = value
    return options
