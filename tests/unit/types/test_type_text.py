"""Texts of nested types: what is written reads back, and what is none is refused."""

import pytest
from hypothesis import given

from maintenance.errors import SchemaError
from maintenance.types.data_type import DataType
from maintenance.types.type_text import parse_data_type
from tests.strategies import nested_types


@given(nested_types())
def test_a_type_reads_back_from_its_text(data_type: DataType) -> None:
    assert parse_data_type(str(data_type)) == data_type


def test_texts_of_rows_are_read_in_all_their_forms() -> None:
    expected = "ROW<`a b` INT NOT NULL, `c` ARRAY<STRING>, `d``` DECIMAL(4, 2)>"
    assert str(parse_data_type(" row < `a b` INT not  null, c:array<string>, `d``` dec(4,2) >")) == expected
    commented = parse_data_type("STRUCT<a INT COMMENT 'one, two', b MAP<INT, INT> 'it''s'>")
    assert [(field.id, field.description) for field in commented.fields] == [(0, "one, two"), (1, "it's")]


@pytest.mark.parametrize(
    "text", ["ARRAY<INT", "MAP<INT>", "ARRAY<INT, INT>", "ROW<a>", "ROW<`a INT>", "VECTOR<FLOAT, x>", "LIST<INT>"]
)
def test_what_is_no_type(text: str) -> None:
    with pytest.raises(SchemaError, match="is not a data type"):
        parse_data_type(text)


def test_a_type_that_is_nested_too_deeply() -> None:
    with pytest.raises(SchemaError, match="nested too deeply") as caught:
        parse_data_type("ARRAY<" * 3000 + "INT" + ">" * 3000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("TIMESTAMP(3) WITH TIME ZONE", r"Write TIMESTAMP\(3\) WITH LOCAL TIME ZONE for moments, or TIMESTAMP\(3\)"),
        ("timestamp with time zone not null", "Write TIMESTAMP WITH LOCAL TIME ZONE"),
        ("TIME WITH LOCAL TIME ZONE", "Write TIME, and keep the zone"),
        ("TIME(3) WITH TIME ZONE", r"Write TIME\(3\), and keep the zone"),
        ("ARRAY<TIMESTAMP(9) WITH TIME ZONE>", r"Write TIMESTAMP\(9\) WITH LOCAL TIME ZONE"),
    ],
)
def test_zones_that_paimon_does_not_keep(text: str, instead: str) -> None:
    with pytest.raises(SchemaError, match=instead):
        parse_data_type(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP(3)"),
        ("TIME(3) WITHOUT TIME ZONE", "TIME(3)"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
    ],
)
def test_spellings_of_zones_mean_the_same_type(text: str, same: str) -> None:
    assert parse_data_type(text) == parse_data_type(same)
