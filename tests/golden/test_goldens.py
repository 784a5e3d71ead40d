"""Every read of tables that real Paimon wrote gives the rows that Paimon itself reads."""

import json
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import UnsupportedError
from tests.golden.canonical import canonical_rows
from tests.golden.case import GoldenRead, extract, golden_reads
from tests.golden.condition import sql_of
from tests.golden.not_yet import NOT_YET
from tests.golden.type_text import parse_nested_type

# The order of what these aggregates collect is not defined; the elements are compared as multisets.
UNORDERED_ARRAYS = ("agg_collections", "agg_collections_new")


def reads_by_pattern() -> dict[str | None, list[GoldenRead]]:
    """All reads by the first pattern of `NOT_YET` that covers them, those to be supported under None."""
    actual: dict[str | None, list[GoldenRead]] = {pattern: [] for pattern in (None, *NOT_YET)}
    for read in golden_reads():
        actual[next((pattern for pattern in NOT_YET if fnmatchcase(read.id, pattern)), None)].append(read)
    return actual


READS = reads_by_pattern()


@pytest.fixture(scope="session")
def warehouse_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Extracts the warehouse of a case, once."""
    folder = tmp_path_factory.mktemp("golden")
    return cache(lambda case: extract(case, folder))


@pytest.mark.parametrize("read", READS[None], ids=lambda read: read.id)
def test_reads_what_paimon_wrote(read: GoldenRead, warehouse_of: Callable[[str], Path]) -> None:
    warehouse = warehouse_of(read.case)
    for condition in conditions(read):
        actual = perform(warehouse, read, condition)
        assert actual.column_names == read.columns
        types = [parse_nested_type(text) for text in read.types]
        assert comparable(canonical_rows(actual, types), read) == comparable(read.rows, read, str(warehouse))


def test_what_is_not_supported_yet_is_refused(warehouse_of: Callable[[str], Path]) -> None:
    for pattern in NOT_YET:
        reads = READS[pattern]
        assert reads, f"{pattern} covers no read"
        supported = [read.id for read in reads if not is_refused(warehouse_of(read.case), read)]
        assert supported == [], "take them off the list"


def is_refused(warehouse: Path, read: GoldenRead) -> bool:
    """Whether a read is refused as unsupported. Every other error is one of the test."""
    try:
        perform(warehouse, read, conditions(read)[0])
    except UnsupportedError:
        return True
    return False


def conditions(read: GoldenRead) -> list[str | None]:
    """The read's filter as SQL, and in Paimon's own words where the case has them."""
    predicate = read.how.get("predicate")
    if predicate is None:
        return [None]
    types = {column: parse_nested_type(text) for column, text in zip(read.columns, read.types, strict=True)}
    own = [read.how["sql"]] if "sql" in read.how else []
    return [sql_of(predicate, types), *own]


def perform(warehouse: Path, read: GoldenRead, condition: str | None) -> pa.Table:
    return perform_in({"warehouse": str(warehouse)}, read, condition)


def perform_in(options: Mapping[str, str], read: GoldenRead, condition: str | None) -> pa.Table:
    """Read through the public contract. `options`: of the catalog."""
    table = open_catalog(options).get_table(read.how["table"])
    return table.to_arrow(columns=read.how.get("projection"), where=condition, options=read.how["options"])


def comparable(rows: list[list[object]], read: GoldenRead, warehouse: str = "") -> list[str]:
    """Rows as sorted JSON texts: they tell 1 from true, and count duplicates."""
    if read.case in UNORDERED_ARRAYS:
        rows = [[sorted(v, key=json.dumps) if isinstance(v, list) else v for v in row] for row in rows]
    return sorted(json.dumps(row).replace("{warehouse}", warehouse) for row in rows)
