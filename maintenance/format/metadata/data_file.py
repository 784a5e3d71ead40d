"""What a manifest says about one data file. Source: metadata sections 4.2 and 6, Java `DataFileMeta`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from operator import attrgetter
from typing import Any

from maintenance.errors import CorruptFileError
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.simple_stats import (
    STATS_FIELDS,
    SimpleStats,
    record_of_stats,
    stats_of_record,
)
from maintenance.format.rows.system_fields import ROW_ID, SEQUENCE_NUMBER
from maintenance.types.data_type import DataField


class FileSource(IntEnum):
    """What wrote a data file first; raising its level without a rewrite keeps the value."""

    APPEND = 0
    COMPACT = 1


@dataclass(frozen=True, slots=True)
class DataFileMeta:
    """A data file.

    Attributes:
        file_name: name in the bucket directory; `external_path` is the whole path of a file elsewhere.
        file_size: bytes.
        row_count: all physical rows, retractions included.
        min_key, max_key: serialized trimmed primary key of the first and the last row; no fields in append tables.
        key_stats: statistics of the trimmed primary key; never dense.
        value_stats: statistics of the columns in `value_stats_cols`, or of all columns when that is None.
        min_sequence_number, max_sequence_number: of the rows; -1 in postpone buckets.
        schema_id: schema the file was written with.
        level: 0 for new files, larger after compaction.
        extra_files: names of files that belong to this one, in the same directory.
        creation_time: the writer's local wall clock as if it were UTC, in milliseconds.
        delete_row_count: rows of kind -U and -D; None in files of old versions.
        embedded_index: a file index container that is small enough to stand here.
        file_source: a `FileSource`; None in files of old versions.
        value_stats_cols: columns that have value statistics; () = none, None = all.
        first_row_id: row id of the first row, with row tracking.
        write_cols: columns in the file, with data evolution; None = all.
    """

    file_name: str
    file_size: int
    row_count: int
    min_key: bytes
    max_key: bytes
    key_stats: SimpleStats
    value_stats: SimpleStats
    min_sequence_number: int
    max_sequence_number: int
    schema_id: int
    level: int
    extra_files: tuple[str, ...] = ()
    creation_time: int | None = None
    delete_row_count: int | None = None
    embedded_index: bytes | None = None
    file_source: int | None = None
    value_stats_cols: tuple[str, ...] | None = None
    external_path: str | None = None
    first_row_id: int | None = None
    write_cols: tuple[str, ...] | None = None

    def __reduce__(self) -> tuple[type["DataFileMeta"], tuple[Any, ...]]:
        """Many of them travel to tasks and back; what dataclasses do by themselves takes five times as long."""
        return DataFileMeta, _VALUES(self)


_VALUES = attrgetter(*(field.name for field in fields(DataFileMeta)))


def written_fields(file: DataFileMeta, schema: TableSchema) -> list[DataField]:
    """The columns that a data file holds, in file order: those it was written with, all of the schema's as a rule.

    Args: `schema`: the one the file was written with. Source: metadata section 6 (`_WRITE_COLS`).
    """
    if file.write_cols is None:
        return list(schema.fields)
    by_name = {field.name: field for field in (ROW_ID, SEQUENCE_NUMBER, *schema.fields)}
    unknown = [name for name in file.write_cols if name not in by_name]
    if unknown:
        raise CorruptFileError(
            f"the file has a column '{unknown[0]}' that its schema {schema.id} lacks",
            file.file_name,
            "Roll back to a snapshot without the file.",
        )
    return [by_name[name] for name in file.write_cols]


def is_of_blobs(file: DataFileMeta) -> bool:
    """Whether a file holds the blobs of one column. Source: Java `BlobFileFormat.isBlobFile`."""
    return file.file_name.endswith(".blob")


def is_apart_from_rows(file: DataFileMeta) -> bool:
    """Whether a file holds columns that are kept apart from the rows: blobs, or vectors in files of their own.

    It has some of the rows of a file of the other columns. Source: Java `BlobFileFormat`, `VectorType`.
    """
    return is_of_blobs(file) or ".vector." in file.file_name or file.file_name.endswith(".blobref")


def _nullable(avro_type: Any) -> list[Any]:
    return ["null", avro_type]


DATA_FILE_FIELDS: list[dict[str, Any]] = [
    {"name": "_FILE_NAME", "type": "string"},
    {"name": "_FILE_SIZE", "type": "long"},
    {"name": "_ROW_COUNT", "type": "long"},
    {"name": "_MIN_KEY", "type": "bytes"},
    {"name": "_MAX_KEY", "type": "bytes"},
    {"name": "_KEY_STATS", "type": {"type": "record", "name": "record__FILE__KEY_STATS", "fields": STATS_FIELDS}},
    {"name": "_VALUE_STATS", "type": {"type": "record", "name": "record__FILE__VALUE_STATS", "fields": STATS_FIELDS}},
    {"name": "_MIN_SEQUENCE_NUMBER", "type": "long"},
    {"name": "_MAX_SEQUENCE_NUMBER", "type": "long"},
    {"name": "_SCHEMA_ID", "type": "long"},
    {"name": "_LEVEL", "type": "int"},
    {"name": "_EXTRA_FILES", "type": {"type": "array", "items": "string"}},
    {
        "name": "_CREATION_TIME",
        "type": _nullable({"type": "long", "logicalType": "timestamp-millis"}),
        "default": None,
    },
    {"name": "_DELETE_ROW_COUNT", "type": _nullable("long"), "default": None},
    {"name": "_EMBEDDED_FILE_INDEX", "type": _nullable("bytes"), "default": None},
    {"name": "_FILE_SOURCE", "type": _nullable("int"), "default": None},
    {"name": "_VALUE_STATS_COLS", "type": _nullable({"type": "array", "items": "string"}), "default": None},
    {"name": "_EXTERNAL_PATH", "type": _nullable("string"), "default": None},
    {"name": "_FIRST_ROW_ID", "type": _nullable("long"), "default": None},
    {"name": "_WRITE_COLS", "type": _nullable({"type": "array", "items": "string"}), "default": None},
]


def file_of_record(record: Mapping[str, Any]) -> DataFileMeta:
    """The data file of a decoded Avro record; optional fields may be missing. Raises: KeyError: a required one is."""
    get = record.get
    stats_cols, write_cols = get("_VALUE_STATS_COLS"), get("_WRITE_COLS")
    return DataFileMeta(
        record["_FILE_NAME"],
        record["_FILE_SIZE"],
        record["_ROW_COUNT"],
        record["_MIN_KEY"],
        record["_MAX_KEY"],
        stats_of_record(record["_KEY_STATS"]),
        stats_of_record(record["_VALUE_STATS"]),
        record["_MIN_SEQUENCE_NUMBER"],
        record["_MAX_SEQUENCE_NUMBER"],
        record["_SCHEMA_ID"],
        record["_LEVEL"],
        tuple(get("_EXTRA_FILES") or ()),
        get("_CREATION_TIME"),
        get("_DELETE_ROW_COUNT"),
        get("_EMBEDDED_FILE_INDEX"),
        get("_FILE_SOURCE"),
        None if stats_cols is None else tuple(stats_cols),
        get("_EXTERNAL_PATH"),
        get("_FIRST_ROW_ID"),
        None if write_cols is None else tuple(write_cols),
    )


# Where each value of a decoded entry is, below `_FILE`, and whether every manifest has it.
FLAT_FILE_FIELDS: tuple[tuple[tuple[str, ...], bool], ...] = (
    (("_FILE_NAME",), True),
    (("_FILE_SIZE",), True),
    (("_ROW_COUNT",), True),
    (("_MIN_KEY",), True),
    (("_MAX_KEY",), True),
    (("_KEY_STATS", "_MIN_VALUES"), True),
    (("_KEY_STATS", "_MAX_VALUES"), True),
    (("_KEY_STATS", "_NULL_COUNTS"), False),
    (("_VALUE_STATS", "_MIN_VALUES"), True),
    (("_VALUE_STATS", "_MAX_VALUES"), True),
    (("_VALUE_STATS", "_NULL_COUNTS"), False),
    (("_MIN_SEQUENCE_NUMBER",), True),
    (("_MAX_SEQUENCE_NUMBER",), True),
    (("_SCHEMA_ID",), True),
    (("_LEVEL",), True),
    (("_EXTRA_FILES",), False),
    (("_CREATION_TIME",), False),
    (("_DELETE_ROW_COUNT",), False),
    (("_EMBEDDED_FILE_INDEX",), False),
    (("_FILE_SOURCE",), False),
    (("_VALUE_STATS_COLS",), False),
    (("_EXTERNAL_PATH",), False),
    (("_FIRST_ROW_ID",), False),
    (("_WRITE_COLS",), False),
)


def file_of_values(values: Sequence[Any]) -> DataFileMeta:
    """The data file of the values that `FLAT_FILE_FIELDS` names, in that order; lists stand for arrays."""
    key_nulls, value_nulls, stats_cols, write_cols = values[7], values[10], values[20], values[23]
    return DataFileMeta(
        values[0],
        values[1],
        values[2],
        values[3],
        values[4],
        SimpleStats(values[5], values[6], None if key_nulls is None else tuple(key_nulls)),
        SimpleStats(values[8], values[9], None if value_nulls is None else tuple(value_nulls)),
        values[11],
        values[12],
        values[13],
        values[14],
        tuple(values[15] or ()),
        values[16],
        values[17],
        values[18],
        values[19],
        None if stats_cols is None else tuple(stats_cols),
        values[21],
        values[22],
        None if write_cols is None else tuple(write_cols),
    )


def record_of_file(file: DataFileMeta) -> dict[str, Any]:
    """The Avro record of a data file."""
    return {
        "_FILE_NAME": file.file_name,
        "_FILE_SIZE": file.file_size,
        "_ROW_COUNT": file.row_count,
        "_MIN_KEY": file.min_key,
        "_MAX_KEY": file.max_key,
        "_KEY_STATS": record_of_stats(file.key_stats),
        "_VALUE_STATS": record_of_stats(file.value_stats),
        "_MIN_SEQUENCE_NUMBER": file.min_sequence_number,
        "_MAX_SEQUENCE_NUMBER": file.max_sequence_number,
        "_SCHEMA_ID": file.schema_id,
        "_LEVEL": file.level,
        "_EXTRA_FILES": list(file.extra_files),
        "_CREATION_TIME": file.creation_time,
        "_DELETE_ROW_COUNT": file.delete_row_count,
        "_EMBEDDED_FILE_INDEX": file.embedded_index,
        "_FILE_SOURCE": file.file_source,
        "_VALUE_STATS_COLS": None if file.value_stats_cols is None else list(file.value_stats_cols),
        "_EXTERNAL_PATH": file.external_path,
        "_FIRST_ROW_ID": file.first_row_id,
        "_WRITE_COLS": None if file.write_cols is None else list(file.write_cols),
    }
