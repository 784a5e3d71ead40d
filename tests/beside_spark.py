"""A query's answer from Spark and from SQL without it, and both as values that compare."""

import datetime as dt
import math
import re
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from maintenance.errors import PaimonError
from maintenance.sql import Session

_FOREIGN = re.compile(
    r"DuckDB|explicit type cast|argument types|Binder|Conversion Error|Catalog Error|Parser Error|Not implemented"
    r"|Unimplemented|Scalar Function|sqlglot|syntax error at or near|Could not (convert|parse|cast)|Invalid Input"
)

IN_ORDER = "/*+ COALESCE(1) */"
"""Keeps the rows of a view together. Of several partitions Spark adds the sums of each: those of doubles that take each
other's digits depend then on how many processors there are.
"""


def asked_spark(spark: SparkSession, query: str) -> pa.Table | Exception:
    """The rows, or Spark's error; a ValueError is none of Spark's: PySpark makes no Arrow of the rows."""
    try:
        return spark.sql(query).toArrow()
    except (PySparkException, Py4JJavaError, ValueError) as error:
        return error


def asked(session: Session, query: str) -> pa.Table | Exception:
    """The rows, or any error: one that is not of the family is for the caller to judge."""
    try:
        return session.sql(query).to_arrow()
    except Exception as error:  # noqa: BLE001
        return error


def is_foreign(error: Exception) -> bool:
    """Whether an error is none of the family, or in the words of an engine underneath."""
    return not isinstance(error, PaimonError) or _FOREIGN.search(str(error)) is not None


def is_refused(answer: pa.Table | Exception) -> bool:
    """Whether a query is one that needs an engine, and says so."""
    return isinstance(answer, Exception) and "--engine spark" in str(answer)


def short(answer: pa.Table | Exception) -> str:
    """An answer as a failed test shows it. Python has no days after 9999."""
    return " ".join((answer["x"].to_string() if isinstance(answer, pa.Table) else str(answer)).split())[:240]


def values(column: pa.ChunkedArray) -> list[Any]:
    whole = column.cast(_counted(column.type))
    return [_plain(value, column.type) for value in whole.to_pylist()]


def _counted(kind: pa.DataType) -> pa.DataType:
    """Python has no days before the year 1 and after 9999: they are numbers. Extensions are what they are stored as."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        return pa.int64()
    return pa.list_(_counted(kind.value_type)) if pa.types.is_list(kind) else kind


def shown_type(kind: pa.DataType) -> str:
    """A type as both name it."""
    if isinstance(kind, pa.BaseExtensionType):
        return shown_type(kind.storage_type)
    if pa.types.is_null(kind):
        return "void"
    if pa.types.is_duration(kind) or pa.types.is_interval(kind):
        return "interval"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if pa.types.is_map(kind):
        return f"map<{shown_type(kind.key_type)}, {shown_type(kind.item_type)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"array<{shown_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{part.name}: {shown_type(part.type)}' for part in kind)}>"
    return str(kind).removeprefix("large_")


def free(value: Any) -> Any:
    """A value whose order is not told."""
    return sorted(value, key=repr) if isinstance(value, list) else value


def _plain(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value:.11g}"
    if isinstance(value, pa.MonthDayNano):
        return dt.timedelta(days=value.days, microseconds=value.nanoseconds // 1000)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    if value is not None and pa.types.is_map(kind):
        return sorted(((_plain(k, kind.key_type), _plain(v, kind.item_type)) for k, v in value), key=repr)
    if value is not None and pa.types.is_list(kind):
        return [_plain(each, kind.value_type) for each in value]
    return value
