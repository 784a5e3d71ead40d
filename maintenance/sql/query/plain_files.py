"""Which tables DuckDB may read by itself: those whose files are the rows, as they stand.

That is so for parquet files on the local disk which need no merging, have no deleted rows, and were written under the
schema of the read. DuckDB then knows how many rows there are, and skips row groups. All other files are read by our own
reader; and so are these, if anything goes wrong with them, so that errors say the same.
"""

import os
from collections.abc import Mapping, Sequence

import duckdb

from maintenance.errors import PaimonError
from maintenance.fs.location import is_local, local_path
from maintenance.options.file_index import FILE_INDEX_READ_ENABLED
from maintenance.read.defaults import read_defaults
from maintenance.read.split_read import SplitRead
from maintenance.scan.split import AnySplit, Split
from maintenance.sql.query.duck_types import duck_type
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
_MOST_KNOWN = 1000
# What DuckDB takes for a pattern in a path.
_PATTERN = frozenset("*?[{")


def plain_query(connection: duckdb.DuckDBPyConnection, relation: Relation) -> str | None:
    """A query of DuckDB over the files of a relation; None if they are not plain."""
    view = relation.opened()
    if not isinstance(view, Table) or not is_local(view.location):
        return None
    columns = relation.needed()
    if not _are_plain(columns):
        return None
    try:
        plan, read = view.plan([column.name for column in columns], predicate_of(view, relation.condition))
    except PaimonError:  # it comes again, when our own reader asks
        return None
    files = _files(plan.splits, read) if isinstance(read, SplitRead) else None
    if not files:
        return None
    names = [_name(column.name) for column in columns]
    types = _types(connection, files[0])
    outputs = []
    for name, column in zip(names, columns, strict=True):
        type_there = types.get(column.name, "")
        wanted = duck_type(column.type)
        if type_there != wanted and not (type_there.startswith("TIMESTAMP") and wanted.startswith("TIMESTAMP")):
            return None
        outputs.append(name if type_there == wanted else f"CAST({name} AS {wanted}) AS {name}")
    return f"SELECT {', '.join(outputs)} FROM {_source(files)}"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _source(files: Sequence[str]) -> str:
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in files)
    return f"read_parquet([{listed}], hive_partitioning = false, binary_as_string = false)"


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


def _files(splits: Sequence[AnySplit], read: SplitRead) -> list[str] | None:
    """The paths of the files; None if they are more than their rows, or less."""
    if read.keep_retractions or read_defaults(read.schema, read.options):
        return None
    if len({field.name.lower() for field in read.schema.fields}) < len(read.schema.fields):
        return None
    # What the manifest says of partitions holds, whatever the files say.
    if {column.name for column in read.columns} & set(read.schema.partition_keys):
        return None
    indexed = read.predicate is not None and FILE_INDEX_READ_ENABLED.of(read.options)
    paths: list[str] = []
    for split in splits:
        if not isinstance(split, Split) or not split.raw or split.changes or split.fallback or split.deletions:
            return None
        for file in split.files:
            path = read.paths.data_file(split.partition, split.bucket, file)
            if file.schema_id != read.schema.id or file.write_cols is not None or not path.endswith(".parquet"):
                return None
            if indexed and (file.embedded_index is not None or file.extra_files):
                return None
            if not is_local(path) or _PATTERN & set(path) or not _has_size(local_path(path), file.file_size):
                return None
            paths.append(local_path(path))
        if len(paths) > _MOST_FILES:
            return None
    return paths


def _has_size(path: str, size: int) -> bool:
    try:
        return os.stat(path).st_size == size
    except OSError:
        return False
