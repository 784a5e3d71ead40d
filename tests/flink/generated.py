"""Expressions of Flink's dialect here and in a real Flink, over the same table: how each of them fares."""

import datetime as dt
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import PaimonError
from maintenance.sql import Session
from maintenance.types.arrow import arrow_schema, arrow_type
from maintenance.types.data_type import DataType
from maintenance.types.nanos import NANOS
from maintenance.types.type_text import parse_data_type
from tests.flink.answers import Answer
from tests.models.flink_expressions import COLUMNS, ROWS
from tests.models.spark_expressions import Expression
from tests.tables import create_table

Verdict = Literal["equal", "refused", "wrong", "wrong type", "foreign", "laxer", "both refuse"]
FOREIGN = re.compile(
    r"DuckDB|explicit type cast|argument types|Binder|Conversion Error|Catalog Error|Parser Error|Not implemented"
    r"|Unimplemented|Scalar Function|sqlglot|syntax error at or near|Could not (convert|parse|cast)|Invalid Input"
)
# Flink takes a value for NOT NULL, makes it NULL, and fails when it gives the row out.
_OF_FLINK_ITSELF = "is NOT NULL, however, a null value"
# Where a zero has been added to -0.0 depends on how Flink plans to gather the rows.
_SUMS, _ANY_ZERO = re.compile(r"\b(SUM|AVG)\("), re.compile(r"-0(?=[^.0-9])|-?0[.]0(?![0-9])")
_UNORDERED = ("COLLECT", "ARRAY_AGG", "MAP_KEYS", "MAP_VALUES")


def made_session(warehouse: Path) -> Session:
    """A session of a warehouse with the table."""
    fields = [("id", "INT"), *((name, kind) for name, (kind, _) in COLUMNS.items())]
    table = create_table(warehouse, fields, (), name="db.samples")
    schema = pa.schema(
        part.with_type(pa.timestamp("ns")) if part.type == NANOS else part for part in arrow_schema(table.schema.fields)
    )
    rows = [{"id": row, **{name: values[row] for name, (_, values) in COLUMNS.items()}} for row in ROWS]
    table.write_arrow(pa.Table.from_pylist(rows, schema))
    session = Session({"warehouse": str(warehouse)}, dialect="flink")
    session.sql("SET 'table.local-time-zone' = 'UTC'")
    session.sql("USE db")
    return session


def template(found: Expression) -> str:
    """The query of an expression for Flink, with ``{x}`` in its place."""
    query = found.query.replace("{", "{{").replace("}", "}}").removesuffix(" ORDER BY id").removesuffix(" ORDER BY 1")
    return query.replace(f"{found.asked} AS x", "{x}").replace("samples", "db.samples")


def asked(session: Session, query: str) -> pa.Table | Exception:
    try:
        return session.sql(query).to_arrow()
    except Exception as error:  # noqa: BLE001 (what is not of the family is a verdict)
        return error


def verdict(theirs: Answer, ours: pa.Table | Exception, found: Expression) -> tuple[Verdict, str]:
    """How an expression fares, and what is seen of it."""
    said = theirs.error or f"{theirs.values} {theirs.kind}"
    if isinstance(ours, Exception):
        shown = f"Flink: {said}; here: {' '.join(str(ours).split())[:300]}"
        if not isinstance(ours, PaimonError) or FOREIGN.search(str(ours)):
            return "foreign", shown
        if theirs.error:
            return "both refuse", ""
        return ("refused", shown) if _is_refused(ours) else ("wrong", f"rows fail; {shown}")
    values = [_plain(value) for value in _values(ours.column("x"))]
    shown = f"Flink: {said}; here: {values} {ours.column('x').type}"
    if theirs.error and _OF_FLINK_ITSELF in theirs.error:
        return "both refuse", ""
    if theirs.error:
        return "laxer", f"{'rows fail; ' if theirs.kind else ''}{shown}"
    kind = _kind(theirs.kind)
    if kind is not None and _shown(kind) != _without_names(ours.column("x").type, _shown(kind)):
        return "wrong type", shown
    wanted = [_of_kind(value, ours.column("x").type) for value in theirs.values]
    if any(name in found.text for name in _UNORDERED):
        wanted, values = ([_sorted(value) for value in each] for each in (wanted, values))
    if found.area in ("aggregate", "query"):
        wanted, values = sorted(wanted, key=repr), sorted(values, key=repr)
    both = [repr(wanted), repr(values)]
    if found.area == "aggregate" and _SUMS.search(found.text):
        both = [_ANY_ZERO.sub("0", each) for each in both]
    return ("equal", "") if both[0] == both[1] else ("wrong", shown)


def _is_refused(answer: Exception) -> bool:
    return type(answer).__name__ != "SqlError" or re.search(
        r"not supported|does not take|no type in common| is no |takes \d", str(answer)) is not None  # fmt: skip


def _kind(text: str) -> DataType | None:
    """Flink's type; None: Paimon has none of this name."""
    text = text.removesuffix(" NOT NULL").replace("VARCHAR(2147483647)", "STRING")
    text = re.sub(r"RAW\(.*", "", text)
    try:
        return parse_data_type(text).as_nullable()
    except Exception:  # noqa: BLE001
        return None


def _shown(kind: DataType) -> pa.DataType:
    """The type of what a query gives."""
    made = arrow_type(kind)
    return pa.timestamp("ns", "UTC" if kind.root == "TIMESTAMP_LTZ" else None) if made == NANOS else made


def _without_names(ours: pa.DataType, theirs: pa.DataType) -> pa.DataType:
    """Ours, if what is inside is the same but for names and whether it may be NULL."""
    if pa.types.is_timestamp(ours) and pa.types.is_timestamp(theirs):
        return theirs if ours.unit == theirs.unit and bool(ours.tz) == bool(theirs.tz) else ours
    if pa.types.is_list(ours) and pa.types.is_list(theirs):
        return theirs if _without_names(ours.value_type, theirs.value_type) == theirs.value_type else ours
    if pa.types.is_map(ours) and pa.types.is_map(theirs):
        pairs = ((ours.key_type, theirs.key_type), (ours.item_type, theirs.item_type))
        return theirs if all(_without_names(one, other) == other for one, other in pairs) else ours
    if pa.types.is_struct(ours) and pa.types.is_struct(theirs) and ours.num_fields == theirs.num_fields:
        parts = [(one.type, other.type) for one, other in zip(ours, theirs, strict=True)]
        return theirs if all(_without_names(one, other) == other for one, other in parts) else ours
    if pa.types.is_time(ours) and pa.types.is_time(theirs):
        return theirs  # any number of digits
    return theirs if pa.types.is_large_string(ours) and pa.types.is_string(theirs) else ours


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def _values(column: pa.ChunkedArray) -> Sequence[Any]:
    """Values as `answers.plain` gives them."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        whole = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
        return [None if each is None else each * _UNITS[kind.unit] for each in whole]
    if pa.types.is_date(kind):
        return column.cast(pa.int32()).to_pylist()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [None if each is None else each.hex() for each in column.to_pylist()]
    if pa.types.is_float32(kind):
        return [None if each is None else _short(each) for each in column.to_pylist()]
    if pa.types.is_map(kind):
        return [
            None
            if each is None
            else sorted(
                ([_of_kind(_plain(k), kind.key_type), _of_kind(_plain(v), kind.item_type)] for k, v in each), key=repr
            )
            for each in column.to_pylist()
        ]
    if pa.types.is_list(kind):
        inner = iter(_values(column.combine_chunks().flatten()) if column.num_chunks else ())
        return [
            None if size is None else [next(inner) for _ in range(size)]
            for size in pc.list_value_length(column).to_pylist()
        ]
    if pa.types.is_nested(kind):
        return [_of_kind(_plain(each), kind) for each in column.to_pylist()]
    return column.to_pylist()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _long(value)
    if isinstance(value, dict):
        return [_plain(each) for each in value.values()]
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dt.datetime):
        return round((value.replace(tzinfo=dt.UTC) - _EPOCH) / dt.timedelta(microseconds=1)) * 1000
    if isinstance(value, dt.date):
        return (value - _EPOCH.date()).days
    if isinstance(value, dt.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 10**9 + value.microsecond * 1000
    return format(value, "f") if type(value).__name__ == "Decimal" else value


def _short(value: float) -> str:
    return str(np.float32(value))


def _long(value: float) -> str:
    return f"{value:.12g}"


def _of_kind(value: Any, kind: pa.DataType) -> Any:
    """A value of Flink's, whose floats are texts."""
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [_of_kind(each, kind.value_type) for each in value]
    if pa.types.is_struct(kind):
        return [_of_kind(each, part.type) for each, part in zip(value, kind, strict=True)]
    if pa.types.is_map(kind):
        return [[_of_kind(key, kind.key_type), _of_kind(each, kind.item_type)] for key, each in value]
    if pa.types.is_floating(kind) and isinstance(value, str):
        number = float(value.replace("Infinity", "inf"))
        return _short(number) if pa.types.is_float32(kind) else _long(number)
    return value


def _sorted(value: Any) -> Any:
    return sorted(value, key=repr) if isinstance(value, list) else value
