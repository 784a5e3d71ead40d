"""What manifests know of several files, as DuckDB's parquet reader takes it.

Of a single file DuckDB reads the statistics in the footer when it plans a query. Of several it knows nothing: it orders
joins badly, tests for nulls where there are none, and hashes what it could count. So it gets the bounds and null counts
that scans skip files by. Bounds of texts and floats stay away: the former may be cut, and NaN lies outside the latter.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal

from maintenance.format.metadata.column_stats import stats_values
from maintenance.format.metadata.data_file import DataFileMeta, written_fields
from maintenance.format.metadata.schema import TableSchema
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import Value, text_of_value

_BOUNDED = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "DATE"})
_FIRST_DAY = (dt.date.min - dt.date(1970, 1, 1)).days
_LAST_DAY = (dt.date.max - dt.date(1970, 1, 1)).days

_Known = tuple[Value, Value, int | None]
_UNKNOWN: _Known = (None, None, None)


def statistics_of_files(
    files: Sequence[DataFileMeta], schema: TableSchema, columns: Sequence[DataField]
) -> Mapping[str, Mapping[str, str]]:
    """What is known of all rows of the files: by column the texts of `min`, `max` and `null_count`.

    Args: `schema`: the one that all files were written with.
    Raises: CorruptFileError: statistics do not fit it.
    """
    known = [_known(file, schema) for file in files]
    joined = {
        column.name: _joined(column.type, [one.get(column.name, _UNKNOWN) for one in known], files)
        for column in columns
    }
    return {name: texts for name, texts in joined.items() if texts}


def columns_with_nulls(
    files: Sequence[DataFileMeta], schema: TableSchema, columns: Sequence[DataField]
) -> frozenset[str]:
    """Names of the columns of which the manifests do not say that no file has a null.

    Args: `schema`: the one that all files were written with.
    Raises: CorruptFileError: statistics do not fit it.
    """
    known = [_known(file, schema) for file in files]
    return frozenset(column.name for column in columns if any(one.get(column.name, _UNKNOWN)[2] != 0 for one in known))


def _known(file: DataFileMeta, schema: TableSchema) -> Mapping[str, _Known]:
    fields = written_fields(file, schema)
    if file.value_stats_cols is not None:
        by_name = {field.name: field for field in fields}
        if not by_name.keys() >= set(file.value_stats_cols):
            return {}
        fields = [by_name[name] for name in file.value_stats_cols]
    return {field.name: known for field, known in zip(fields, stats_values(file.value_stats, fields), strict=True)}


def _joined(data_type: DataType, known: Sequence[_Known], files: Sequence[DataFileMeta]) -> Mapping[str, str]:
    """The statistics of a column in all files, those that each of them has."""
    texts: dict[str, str] = {}
    nulls = [count for _, _, count in known if count is not None]
    if len(nulls) == len(known):
        texts["null_count"] = str(sum(nulls))
    if data_type.root not in _BOUNDED:
        return texts
    # A file with nothing but nulls has no bounds, and needs none.
    bounds = [part for part, file in zip(known, files, strict=True) if part[2] != file.row_count]
    lows = [low for low, _, _ in bounds if low is not None]
    highs = [high for _, high, _ in bounds if high is not None]
    if lows and len(lows) == len(highs) == len(bounds):
        # Decimals and whole numbers, days among them.
        low, high = min(map(Decimal, lows)), max(map(Decimal, highs))  # type: ignore[arg-type]
        texts |= _bounds(low, high, data_type)
    return texts


def _bounds(low: Decimal, high: Decimal, data_type: DataType) -> Mapping[str, str]:
    """The bounds as DuckDB casts them to the column's type: decimals without exponents, days of Python's years."""
    if data_type.root != "DATE":
        return {"min": format(low, "f"), "max": format(high, "f")}
    if low < _FIRST_DAY or high > _LAST_DAY:
        return {}
    return {"min": text_of_value(int(low), data_type), "max": text_of_value(int(high), data_type)}
