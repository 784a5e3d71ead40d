"""Types of Paimon as Hive writes them."""

import pytest

from maintenance.errors import UnsupportedError
from maintenance.metastore.hive.types import hive_type, type_of_hive
from maintenance.types.type_text import parse_data_type


@pytest.mark.parametrize(
    ("paimon", "hive"),
    [
        ("INT NOT NULL", "int"),
        ("DECIMAL(20, 5)", "decimal(20,5)"),
        ("CHAR(255)", "char(255)"),
        ("CHAR(256)", "string"),
        ("VARCHAR(65535)", "varchar(65535)"),
        ("VARCHAR(65536)", "string"),
        ("STRING", "string"),
        ("TIME(3)", "string"),
        ("TIMESTAMP(9)", "timestamp"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "timestamp"),
        ("BINARY(4)", "binary"),
        ("ARRAY<INT>", "array<int>"),
        ("MAP<STRING, DECIMAL(3, 1)>", "map<string,decimal(3,1)>"),
        ("MULTISET<STRING>", "map<string,int>"),
        ("ROW<`X` INT, `y` ARRAY<STRING>>", "struct<X:int,y:array<string>>"),
    ],
)
def test_types_of_paimon_become_types_of_hive(paimon: str, hive: str) -> None:
    assert hive_type(parse_data_type(paimon)) == hive


@pytest.mark.parametrize(
    ("hive", "paimon"),
    [
        ("int", "INT"),
        ("decimal(20,5)", "DECIMAL(20, 5)"),
        ("varchar(7)", "VARCHAR(7)"),
        ("timestamp", "TIMESTAMP(6)"),
        ("binary", "BYTES"),
        ("map<string,array<decimal(3,1)>>", "MAP<STRING, ARRAY<DECIMAL(3, 1)>>"),
        ("struct<X:int,y:map<string,int>>", "ROW<`X` INT, `y` MAP<STRING, INT>>"),
    ],
)
def test_types_of_hive_become_types_of_paimon(hive: str, paimon: str) -> None:
    assert type_of_hive(hive) == parse_data_type(paimon)


def test_a_type_that_only_hive_has() -> None:
    with pytest.raises(UnsupportedError, match="interval"):
        type_of_hive("interval_day_time")
