"""Arrow types of Paimon's types and back; what has none is named with its path."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from maintenance.errors import UnsupportedError
from maintenance.format.variant.extension import plain_schema
from maintenance.types.arrow import arrow_schema, data_type_of_arrow
from maintenance.types.data_type import DataField, DataType
from maintenance.types.type_text import parse_data_type
from tests.strategies import nested_types

PLAIN = {"CHAR": "STRING", "VARCHAR": "STRING", "BINARY": "BYTES", "VARBINARY": "BYTES"}
_PRECISIONS = {"TIMESTAMP": (3, 6, 9), "TIMESTAMP_LTZ": (3, 6, 9), "TIME": (3,)}


def as_arrow_keeps_it(data_type: DataType) -> DataType:
    """The type without what Arrow has no place for: lengths, precisions between its units, that a map is a MULTISET."""
    nullable = data_type.nullable
    match data_type.root:
        case "ARRAY":
            return DataType("ARRAY", nullable, element=as_arrow_keeps_it(part(data_type.element)))
        case "MULTISET":
            key = as_arrow_keeps_it(part(data_type.element)).as_nullable(False)
            return DataType("MAP", nullable, key=key, value=DataType("INT", nullable=False))
        case "MAP":
            key = as_arrow_keeps_it(part(data_type.key)).as_nullable(False)
            return DataType("MAP", nullable, key=key, value=as_arrow_keeps_it(part(data_type.value)))
        case "ROW":
            fields = (DataField(n, f.name, as_arrow_keeps_it(f.type)) for n, f in enumerate(data_type.fields))
            return DataType("ROW", nullable, fields=tuple(fields))
        case root if root in _PRECISIONS:
            precision = next(p for p in _PRECISIONS[root] if p >= (data_type.precision or 0))
            return DataType(root, nullable, precision=precision)
    return parse_data_type(PLAIN.get(data_type.root, str(data_type.as_nullable()))).as_nullable(nullable)


def part(data_type: DataType | None) -> DataType:
    assert data_type is not None
    return data_type


@given(nested_types())
def test_types_go_to_arrow_and_come_back(data_type: DataType) -> None:
    arrow = plain_schema([DataField(0, "c", data_type)]).field(0).type
    assert data_type_of_arrow(arrow, data_type.nullable) == as_arrow_keeps_it(data_type)


@pytest.mark.parametrize(
    ("arrow", "text"),
    [
        (pa.large_list(pa.int8()), "ARRAY<TINYINT>"),
        (pa.list_view(pa.string_view()), "ARRAY<STRING>"),
        (pa.list_(pa.field("x", pa.bool_(), nullable=False), 3), "VECTOR<BOOLEAN NOT NULL, 3>"),
        (pa.list_(pa.string(), 3), "ARRAY<STRING>"),
        (pa.map_(pa.large_string(), pa.binary(3)), "MAP<STRING NOT NULL, BINARY(3)>"),
        (pa.time32("s"), "TIME(0)"),
        (pa.time64("ns"), "TIME(9)"),
        (pa.dictionary(pa.int8(), pa.list_(pa.date32())), "ARRAY<DATE>"),
        (pa.struct([("a", pa.time32("s")), pa.field("b", pa.int8(), False)]), "ROW<a TIME(0), b TINYINT NOT NULL>"),
    ],
)  # fmt: skip
def test_other_forms_of_arrow(arrow: pa.DataType, text: str) -> None:
    assert data_type_of_arrow(arrow) == parse_data_type(text)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("ARRAY<ROW<>>", "column c.element"),
        ("MAP<INT, ARRAY<BLOB>>", "column c.value"),
        ("ROW<a INT, b ARRAY<ROW<d BLOB>>>", "column c.b.element.d"),
    ],
)
def test_what_arrow_types_are_refused_for(text: str, path: str) -> None:
    with pytest.raises(UnsupportedError) as error:
        arrow_schema([DataField(0, "c", parse_data_type(text))])
    assert error.value.where == path


@pytest.mark.parametrize("arrow", [pa.uint8(), pa.struct([]), pa.month_day_nano_interval(), pa.decimal256(50, 2)])
def test_arrow_types_without_a_form(arrow: Any) -> None:
    with pytest.raises(UnsupportedError, match="no supported Paimon type") as error:
        data_type_of_arrow(pa.map_(pa.int8(), pa.list_(arrow)))
    assert error.value.where == "data.value.element"
