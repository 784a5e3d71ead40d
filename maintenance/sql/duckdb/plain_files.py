"""Which tables DuckDB may read by itself: those whose files are the rows, as they stand.

That is so for parquet files on the local disk which need no merging, have no deleted rows, and were written with the
columns of the read. DuckDB then skips row groups, and knows how many rows there are and, by the manifests, within which
bounds. All other files are read by our own reader; and so are these, if anything goes wrong with them, so that errors
say the same.
"""

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import duckdb

from maintenance.errors import PaimonError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.fs.location import is_local, local_path
from maintenance.read.defaults import read_defaults
from maintenance.read.split_read import SplitRead
from maintenance.scan.split import AnySplit, Split
from maintenance.scan.target import FullState
from maintenance.sql.duckdb.duck_types import duck_type
from maintenance.sql.duckdb.file_statistics import columns_with_nulls, statistics_of_files
from maintenance.sql.query.relations import Relation, predicate_of
from maintenance.table.table import Table
from maintenance.types.data_type import DataField

_TYPES = frozenset(
    {
        "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "CHAR", "VARCHAR",
        "BINARY", "VARBINARY", "TIMESTAMP", "TIMESTAMP_LTZ",
    }
)  # fmt: skip
# More files are better read by threads of ours: DuckDB looks at the footer of each before it begins.
_MOST_FILES = 1000
# Data files never change, and their names are never used again.
_KNOWN_TYPES: dict[str, Mapping[str, str]] = {}
_KNOWN_FILES: dict[Hashable, "_Files | None"] = {}
_MOST_KNOWN = 200
# Statistics of columns; versions before refuse them.
_TAKES_STATISTICS = int(duckdb.__version__.partition(".")[0]) >= 2
# If all texts of a page are the same, DuckDB 2.0 takes its nulls for that text when it judges a condition, and returns
# the text's rows for IS NULL. It does so where a condition names the column alone: so it names this one as well, which
# is the number of the row in its file, never null.
_ROW = "file_row_number"
_MISJUDGED = frozenset({"VARCHAR", "BLOB"})
# What DuckDB takes for a pattern in a path.
_PATTERN = frozenset("*?[{")


class _File(NamedTuple):
    """Attributes: `size`: in bytes, as the manifest has it."""

    path: str
    size: int


class _Files(NamedTuple):
    """Attributes: `statistics`: what DuckDB cannot know of several files, see `statistics_of_files`; `with_nulls`:
    columns in which there may be nulls."""

    files: Sequence[_File]
    statistics: Mapping[str, Mapping[str, str]]
    with_nulls: frozenset[str]


def plain_query(connection: duckdb.DuckDBPyConnection, relation: Relation) -> str | None:
    """A query of DuckDB over the files of a relation; None if they are not plain."""
    view = relation.opened()
    if not isinstance(view, Table) or not is_local(view.location):
        return None
    columns = relation.needed()
    if not _are_plain(columns) or any(map(relation.is_filled, columns)):
        return None
    try:
        there = _files_of(view, [column.name for column in columns], relation.condition)
    except PaimonError:  # it comes again, when our own reader asks
        return None
    if there is None or not there.files or not all(_has_size(file) for file in there.files):
        return None
    paths = [file.path for file in there.files]
    names = [_name(column.name) for column in columns]
    types = _types(connection, paths[0])
    if _ROW in map(str.lower, types):
        return None
    outputs = []
    for name, column in zip(names, columns, strict=True):
        type_there = types.get(column.name, "")
        wanted = duck_type(column.type)
        if type_there != wanted and not (type_there.startswith("TIMESTAMP") and wanted.startswith("TIMESTAMP")):
            return None
        if type_there != wanted:
            outputs.append(f"CAST({name} AS {wanted}) AS {name}")
        elif type_there in _MISJUDGED and column.name in there.with_nulls:
            outputs.append(f"CASE WHEN {_ROW} >= 0 THEN {name} END AS {name}")
        else:
            outputs.append(name)
    return f"SELECT {', '.join(outputs)} FROM {_source(paths, _hints(there))}"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _source(files: Sequence[str], hints: str = "") -> str:
    listed = ", ".join(map(_text, files))
    return f"read_parquet([{listed}], hive_partitioning = false, binary_as_string = false{hints})"


def _hints(there: _Files) -> str:
    """What DuckDB may know of several files before it reads them, as an argument."""
    if not there.statistics or not _TAKES_STATISTICS:
        return ""
    columns = []
    for name, known in there.statistics.items():
        parts = ", ".join(f"{_text(part)}: {_text(value)}" for part, value in known.items())
        columns.append(f"{_text(_name(name))}: {{{parts}}}")
    return f", column_statistics = {{{', '.join(columns)}}}"


def _types(connection: duckdb.DuckDBPyConnection, path: str) -> Mapping[str, str]:
    """The types of a file's columns as DuckDB sees them; none if it cannot read the file."""
    known = _KNOWN_TYPES.get(path)
    if known is None:
        try:
            rows = connection.sql(f"SELECT * FROM {_source([path])}")
        except duckdb.Error:
            return {}
        known = dict(zip(rows.columns, map(str, rows.types), strict=True))
        if len(_KNOWN_TYPES) >= _MOST_KNOWN:
            _KNOWN_TYPES.clear()
        _KNOWN_TYPES[path] = known
    return known


def _are_plain(columns: Sequence[DataField]) -> bool:
    """Whether DuckDB finds these columns in a file, and reads the same values. It does not tell A from a."""
    if len({column.name.lower() for column in columns}) < len(columns):
        return False
    return all(
        column.type.root in _TYPES
        and not (column.type.root.startswith("TIMESTAMP") and (column.type.precision or 0) > 6)
        for column in columns
    )


def _files_of(table: Table, columns: Sequence[str], condition: str | None) -> _Files | None:
    """The files that hold the rows of a read; None if they are more than the rows, or less.

    They stay the same as long as the snapshot does. Raises: PaimonError.
    """
    key = _key(table, columns, condition)
    if key is not None and key in _KNOWN_FILES:
        return _KNOWN_FILES[key]
    plan, read = table.plan(columns, predicate_of(table, condition))
    files = _files(plan.splits, read) if isinstance(read, SplitRead) else None
    # Another snapshot may have come between.
    if key is not None and key == _key(table, columns, condition):
        if len(_KNOWN_FILES) >= _MOST_KNOWN:
            _KNOWN_FILES.clear()
        _KNOWN_FILES[key] = files
    return files


def _key(table: Table, columns: Sequence[str], condition: str | None) -> Hashable | None:
    """What the files of a read depend on; None if that is more than a snapshot. Raises: PaimonError."""
    seen, target = table.target()
    if not isinstance(target, FullState) or target.snapshot is None or target.files_since is not None:
        return None
    options = seen.options
    if options.scan_fallback_branch or options.scan_primary_branch:
        return None
    # The names of manifest lists are never used again, even if a table is created again.
    lists = target.snapshot.base_manifest_list, target.snapshot.delta_manifest_list
    place = seen.location, seen.branch, seen.read_optimized
    return *place, *lists, seen.schema.id, frozenset(options.items()), tuple(columns), condition


def _files(splits: Sequence[AnySplit], read: SplitRead) -> _Files | None:
    """The files of the splits; None if they are more than their rows, or less."""
    if read.keep_retractions or read_defaults(read.schema, read.model):
        return None
    if len({field.name.lower() for field in read.schema.fields}) < len(read.schema.fields):
        return None
    # What the manifest says of partitions holds, whatever the files say.
    if {column.name for column in read.columns} & set(read.schema.partition_keys):
        return None
    indexed = read.predicate is not None and read.model.file_index_read_enabled
    files: list[_File] = []
    metas: list[DataFileMeta] = []
    for split in splits:
        if not isinstance(split, Split) or not split.raw or split.changes or split.fallback or split.deletions:
            return None
        for file in split.files:
            path = read.paths.data_file(split.partition, split.bucket, file)
            # A schema that only has other options says the same of a file.
            if read.schemas[file.schema_id].fields != read.schema.fields:
                return None
            if file.write_cols is not None or not path.endswith(".parquet"):
                return None
            if indexed and (file.embedded_index is not None or file.extra_files):
                return None
            if not is_local(path) or _PATTERN & set(path):
                return None
            files.append(_File(local_path(path), file.file_size))
            metas.append(file)
        if len(files) > _MOST_FILES:
            return None
    statistics = statistics_of_files(metas, read.schema, read.columns) if len(files) > 1 else {}
    return _Files(files, statistics, columns_with_nulls(metas, read.schema, read.columns))


def _has_size(file: _File) -> bool:
    try:
        return os.stat(file.path).st_size == file.size
    except OSError:
        return False
