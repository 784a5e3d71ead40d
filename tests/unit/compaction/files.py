"""Descriptions of files that do not exist, for rules that look at descriptions alone."""

from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.format.rows.binary_row import serialize_row
from maintenance.format.rows.key import key_reader
from maintenance.types.data_type import parse_type

TYPES = [parse_type("INT")]
KEY_OF = key_reader(TYPES)


def data_file(
    name: str,
    level: int = 0,
    size: int = 100,
    keys: tuple[int, int] = (0, 9),
    *,
    sequence: int = 0,
    deletes: int | None = 0,
    created: int = 0,
) -> DataFileMeta:
    low, high = (serialize_row([key], TYPES) for key in keys)
    return DataFileMeta(
        file_name=name,
        file_size=size,
        row_count=10,
        min_key=low,
        max_key=high,
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        min_sequence_number=sequence,
        max_sequence_number=sequence,
        schema_id=0,
        level=level,
        creation_time=created,
        delete_row_count=deletes,
        file_source=FileSource.APPEND,
    )
