"""Tables with every supported type, and rows that meet their edges."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.metastore.schema import FieldSpec
from maintenance.types.data_type import parse_type
from maintenance.types.values import Value, arrow_of_values, values_of_arrow
from tests.strategies import bits

Row = tuple[Value, ...]
Values = Mapping[str, tuple[Value, ...]]

_DAY = 86_400 * 10**9
_YEAR_1, _YEAR_9999 = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31 as days
_LONG = "a text longer than sixteen characters"

VALUES: Values = {
    "BOOLEAN": (True, False),
    "TINYINT": (-128, 127, 0),
    "SMALLINT": (-32_768, 32_767, -1),
    "INT": (-(2**31), 2**31 - 1, 7),
    "BIGINT": (-(2**63), 2**63 - 1, 2**53 + 1),
    "FLOAT": (float("nan"), -0.0, 0.0, float("inf"), float("-inf"), 1.5, -(2.0**-149), 3.4028234663852886e38),
    "DOUBLE": (float("nan"), -0.0, 0.0, float("inf"), float("-inf"), 0.1, -5e-324, 1.7976931348623157e308),
    "DECIMAL(5, 2)": (Decimal("-999.99"), Decimal("999.99"), Decimal("0.00"), Decimal("1.50")),
    "DECIMAL(18, 4)": (Decimal("-99999999999999.9999"), Decimal("99999999999999.9999"), Decimal("-0.0001")),
    "DECIMAL(38, 10)": (
        Decimal("-9999999999999999999999999999.9999999999"),
        Decimal("9999999999999999999999999999.9999999999"),
        Decimal("0.0000000001"),
    ),
    "CHAR(5)": ("", "ab", "中文字符号", "é"),
    "VARCHAR(20)": ("", "é", "z" * 20, "😀" * 20),
    "STRING": ("", _LONG, _LONG + "!", "\U0010ffff" * 20, "naïve 中文 😀 " * 9, "\x00"),
    "BINARY(4)": (b"", b"\x00\xff\x80\x7f", b"ab"),
    "VARBINARY(9)": (b"", b"\xff" * 9, b"\x00"),
    "BYTES": (b"", b"\xff" * 40, bytes(range(256))),
    "DATE": (0, -1, _YEAR_1, _YEAR_9999, 19_782),
    "TIME(0)": (0, 1000, 86_399_000),
    "TIME(3)": (0, 1, 86_399_999, 43_200_500),
    "TIMESTAMP(0)": (0, -(10**9), _YEAR_1 * _DAY, _YEAR_9999 * _DAY + _DAY - 10**9),
    "TIMESTAMP(3)": (0, -(10**6), _YEAR_1 * _DAY, _YEAR_9999 * _DAY + _DAY - 10**6, 1_709_164_800_123_000_000),
    "TIMESTAMP(6)": (
        *(0, -1000, -86_400_000_001_000, -5_000_400_000),
        *(_YEAR_1 * _DAY, _YEAR_9999 * _DAY + _DAY - 1000, 1_709_164_800_123_456_000),
    ),
    "TIMESTAMP(9)": (
        *(0, -1, -(2**63) + 1, 2**63 - 1, 1_709_164_800_123_456_789),
        *(_YEAR_1 * _DAY, _YEAR_1 * _DAY + 1, _YEAR_9999 * _DAY + _DAY - 1000, _YEAR_9999 * _DAY + _DAY - 1),
    ),
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": (0, -(10**6), _YEAR_9999 * _DAY, 1_709_164_800_123_000_000),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": (0, -1000, _YEAR_1 * _DAY, 1_709_164_800_123_456_000),
    "TIMESTAMP(9) WITH LOCAL TIME ZONE": (0, _YEAR_1 * _DAY + 1, 1_709_164_800_123_456_789),
}
TYPES = tuple(VALUES)


def columns_of(values: Values) -> tuple[tuple[str, str], ...]:
    """Two keys, and a column of each type. `values`: by the type's text."""
    return (("p", "STRING NOT NULL"), ("id", "BIGINT NOT NULL"), *((f"f{i}", text) for i, text in enumerate(values)))


COLUMNS = columns_of(VALUES)


@dataclass(frozen=True, slots=True)
class Sample:
    """A table of `COLUMNS` to create on either side."""

    primary_keys: tuple[str, ...]
    partition_keys: tuple[str, ...]
    options: Mapping[str, str]

    def create(self, warehouse: str, columns: Sequence[FieldSpec] = COLUMNS) -> CatalogTable:
        """Create `db.t` with this engine."""
        catalog = open_catalog({"warehouse": warehouse})
        catalog.create_database("db")
        catalog.create_table("db.t", Schema(columns, self.primary_keys, self.partition_keys, self.options))
        return table_of(warehouse)


SAMPLES = {
    "keyed": Sample(("id",), (), {"bucket": "2", "write-only": "true"}),
    "keyed and partitioned": Sample(("p", "id"), ("p",), {"bucket": "2", "write-only": "true"}),
    "append": Sample((), ("p",), {"bucket": "-1", "write-only": "true"}),
    "append in buckets": Sample((), (), {"bucket": "3", "bucket-key": "id", "write-only": "true"}),
}
KEYED = {name: sample for name, sample in SAMPLES.items() if sample.primary_keys}


def table_of(warehouse: str) -> CatalogTable:
    """`db.t` as it is now."""
    table = open_catalog({"warehouse": warehouse}).get_table("db.t")
    assert isinstance(table, CatalogTable)
    return table


def rows_of(ids: Iterable[int], version: int, values: Values = VALUES) -> list[Row]:
    """A row for each id: every value of each type, and null, in turn; another version has other values."""
    return [(f"part {i % 2}", i, *(_value(choices, i + version) for choices in values.values())) for i in ids]


def _value(values: Sequence[Value], number: int) -> Value:
    choices = (*values, None)
    return choices[number % len(choices)]


def arrow_of(rows: Sequence[Row], columns: Sequence[tuple[str, str]] = COLUMNS) -> pa.Table:
    """Rows as a table to write."""
    arrays = [arrow_of_values([row[i] for row in rows], parse_type(text)) for i, (_, text) in enumerate(columns)]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])


def rows_in(table: pa.Table) -> list[Row]:
    """Rows of a table that was read."""
    return list(zip(*(values_of_arrow(column) for column in table.columns), strict=True))


def comparable(rows: Iterable[Row]) -> list[str]:
    """Rows as a multiset: sorted texts, floats by their bits."""
    return sorted(repr(tuple(map(bits, row))) for row in rows)
