"""Columns that Paimon adds to data files, and the ids that set them apart from the user's columns.

Source: metadata sections 2.3 and 6, Java `SpecialFields`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from maintenance.types.data_type import MAX_LENGTH, DataField, DataType

SYSTEM_FIELD_ID_START = 2**30 - 1
KEY_FIELD_ID_START = SYSTEM_FIELD_ID_START
KEY_FIELD_PREFIX = "_KEY_"

SEQUENCE_NUMBER = DataField(2147483646, "_SEQUENCE_NUMBER", DataType("BIGINT", nullable=False))
VALUE_KIND = DataField(2147483645, "_VALUE_KIND", DataType("TINYINT", nullable=False))
LEVEL = DataField(2147483644, "_LEVEL", DataType("INT", nullable=False))
ROW_KIND = DataField(2147483643, "rowkind", DataType("VARCHAR", length=MAX_LENGTH))
ROW_ID = DataField(2147483642, "_ROW_ID", DataType("BIGINT", nullable=False))
# The sequence number in files of tables with row tracking: null for rows that the commit of the file changed.
WRITTEN_SEQUENCE = replace(SEQUENCE_NUMBER, type=DataType("BIGINT"))
# A row's number in its file: asked of a reader, and in no file.
POSITION = DataField(ROW_ID.id - 2, "_paimon_position", DataType("BIGINT", nullable=False))

SYSTEM_FIELDS = (SEQUENCE_NUMBER, VALUE_KIND, LEVEL, ROW_KIND, ROW_ID)
_SYSTEM_NAMES = frozenset(field.name for field in SYSTEM_FIELDS)

# Ids of the nested parts of a parquet column start here, and 1024 of them belong to each column.
_NESTED_FIELD_ID_START = 536870911
_NESTED_IDS_PER_FIELD = 1024


def is_system_field(name: str) -> bool:
    """Whether a column name is reserved: a table may not have a column of this name."""
    return name in _SYSTEM_NAMES or name.startswith(KEY_FIELD_PREFIX)


def is_system_id(field_id: int) -> bool:
    """Whether an id is one of the system's, which do not count for the highest field id of a table."""
    return field_id >= SYSTEM_FIELD_ID_START


def key_field(field: DataField) -> DataField:
    """The `_KEY_` column of a primary key column, as data files of primary key tables hold it."""
    return replace(field, id=KEY_FIELD_ID_START + field.id, name=KEY_FIELD_PREFIX + field.name)


def key_value_fields(key_fields: Sequence[DataField], value_fields: Iterable[DataField]) -> tuple[DataField, ...]:
    """Columns of a primary key table's data file, in file order.

    Args: `key_fields`: the trimmed primary key, empty with `data-file.thin-mode`; `value_fields`: the table's columns.
    """
    return (*map(key_field, key_fields), SEQUENCE_NUMBER, VALUE_KIND, *value_fields)


def element_field_id(field_id: int, depth: int) -> int:
    """Parquet id of the array element or map value of a column. `depth`: 1 for the outermost nesting."""
    return _NESTED_FIELD_ID_START + _NESTED_IDS_PER_FIELD * field_id + depth


def map_key_field_id(field_id: int, depth: int) -> int:
    """Parquet id of the map key of a column. `depth`: 1 for the outermost nesting."""
    return _NESTED_FIELD_ID_START - _NESTED_IDS_PER_FIELD * field_id - depth
