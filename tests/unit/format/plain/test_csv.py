"""CSV files of format tables, as Paimon writes and reads them."""

from decimal import Decimal

import pyarrow as pa
import pytest

from maintenance.errors import DataError, OptionError
from maintenance.format.plain.csv import CsvLayout, parse_csv, serialize_csv
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type


def fields(**types: str) -> list[DataField]:
    return [DataField(i, name, parse_data_type(text)) for i, (name, text) in enumerate(types.items())]


COLUMNS = fields(a="INT", b="STRING", c="DECIMAL(10, 2)", d="DATE", e="BOOLEAN", f="DOUBLE", g="TIMESTAMP(6)")
LINES = b'1,"quo\\"te",42.08,2012-09-17,false,-0.013,2024-04-11 10:20:33.433000\n2,,-37.65,,,,\n3,"a,b",,,true,1.5,\n'


def test_rows_are_written_as_paimon_writes_them() -> None:
    table = parse_csv(LINES, COLUMNS, CsvLayout.of({}), "f.csv")
    assert table["b"].to_pylist() == ['quo"te', None, "a,b"]
    assert table["c"].to_pylist() == [Decimal("42.08"), Decimal("-37.65"), None]
    assert serialize_csv(table, COLUMNS, CsvLayout.of({})) == LINES


def test_the_layout_of_the_options_is_written_and_read() -> None:
    given = {
        "csv.field-delimiter": ";", "csv.include-header": "true", "csv.null-literal": "NULL",
        "csv.quote-character": "'",
    }  # fmt: skip
    columns = fields(a="INT", b="STRING")
    table = pa.table({"a": pa.array([1, None], pa.int32()), "b": ['semi;colon"', None]})
    data = serialize_csv(table, columns, CsvLayout.of(given))
    assert data == b"a;b\n1;'semi;colon\"'\nNULL;NULL\n"
    assert parse_csv(data, columns, CsvLayout.of(given), "f.csv").to_pylist() == table.to_pylist()


def test_a_row_ends_at_its_first_value_that_is_not_one() -> None:
    columns = fields(a="INT", b="STRING", c="INT")
    data = b"1,x,2\nnot,y,3\n4,z,bad\n"
    assert parse_csv(data, columns, CsvLayout.of({}), "f.csv").to_pylist() == [
        {"a": 1, "b": "x", "c": 2},
        {"a": None, "b": None, "c": None},
        {"a": 4, "b": "z", "c": None},
    ]
    dropped = parse_csv(data, columns, CsvLayout.of({"csv.mode": "DROPMALFORMED"}), "f.csv")
    assert dropped["a"].to_pylist() == [1]
    with pytest.raises(DataError, match="row 2"):
        parse_csv(data, columns, CsvLayout.of({"csv.mode": "failfast"}), "f.csv")


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(DataError, match=r"2 columns.*f\.csv"):
        parse_csv(b"1,2,3\n", fields(a="INT", b="INT"), CsvLayout.of({}), "f.csv")
    with pytest.raises(OptionError, match=r"csv\.mode"):
        CsvLayout.of({"csv.mode": "lenient"})


def test_an_empty_file_has_no_rows() -> None:
    assert parse_csv(b"", COLUMNS, CsvLayout.of({}), "f.csv").num_rows == 0
