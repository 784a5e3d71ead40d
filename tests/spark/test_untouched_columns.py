"""What a statement does not name passes through Spark untouched, of every type that Spark has, bit for bit."""

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from maintenance.catalog import CatalogTable
from maintenance.sql import Session
from tests.tables import create_table, open_warehouse
from tests.unit.sql.test_untouched_columns import (
    CHANGES,
    EVOLVED,
    INSERTS,
    TABLES,
    VECTORS,
    bits,
    fields_of,
    read_by_spark,
    rows,
    sorted_rows,
)

KINDS = ("append with vectors", "tracked", "evolved with vectors", "keyed")


def columns_of(options: Mapping[str, str]) -> list[tuple[str, str]]:
    """Spark keeps microseconds, and refuses by name what has more digits."""
    return [(name, kind) for name, kind in fields_of(options) if not re.search(r"TIMESTAMP(_LTZ)?\([789]\)", kind)]


def names_of(options: Mapping[str, str]) -> list[str]:
    return [name for name, _ in columns_of(options)[2:]]


def filled(folder: Path, kind: str, name: str = "db.t", first: int = 0) -> CatalogTable:
    keys, options = TABLES[kind]
    columns = columns_of(options)
    table = create_table(folder, columns, keys, options, name=name)
    table.write_arrow(rows(options, first).select([column for column, _ in columns]))
    return table


# Only Spark evaluates such a condition.
ON_SPARK = "UPDATE db.t SET n = n + 1 WHERE rand() < 2 AND id >= 0"


@pytest.mark.slow
@pytest.mark.parametrize("statement", [*CHANGES, ON_SPARK])
@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_one_column_leaves_the_others(
    spark: SparkSession, tmp_path: Path, kind: str, statement: str
) -> None:
    names = names_of(filled(tmp_path, kind).options)
    before = bits(sorted_rows(tmp_path), names)
    Session(open_warehouse(tmp_path), spark).sql(statement)
    after = sorted_rows(tmp_path)
    assert set(after.column("n").to_pylist()) == {1}
    assert bits(after, names) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_deletion_leaves_the_other_rows(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    names = ["id", *names_of(filled(tmp_path, kind).options)]
    kept = sorted_rows(tmp_path).filter(pa.array([True, False, True]))
    Session(open_warehouse(tmp_path), spark).sql("DELETE FROM db.t WHERE rand() < 2 AND id = 1")
    assert bits(sorted_rows(tmp_path), names) == bits(kept, names)


@pytest.mark.parametrize("kind", ["append", "evolved with vectors", "keyed"])
def test_a_merge_takes_the_rows_of_its_source_as_they_are(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    options = filled(tmp_path, kind).options
    evolves = "data-evolution.enabled" in options
    filled(tmp_path, "evolved with vectors" if evolves else "append", "db.s", 2)
    Session(open_warehouse(tmp_path), spark).sql(
        "MERGE INTO db.t AS t USING db.s AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    names = names_of(options)
    given = {**EVOLVED, **VECTORS} if evolves else {}
    old, new = (bits(part, names) for part in (rows(given).slice(0, 2), read_by_spark(rows(given, 2))))
    found = bits(sorted_rows(tmp_path), names)
    assert found == {name: old[name] + new[name] if name != "types" else found[name] for name in found}


@pytest.mark.parametrize("statement", INSERTS)
@pytest.mark.parametrize("kind", ["append", "evolved with vectors"])
def test_what_is_selected_is_inserted_as_it_is(spark: SparkSession, tmp_path: Path, kind: str, statement: str) -> None:
    options = filled(tmp_path, kind).options
    create_table(tmp_path, columns_of(options), (), TABLES[kind][1], name="db.other")
    Session(open_warehouse(tmp_path), spark).sql(statement)
    names = ["id", "n", *names_of(options)]
    assert bits(sorted_rows(tmp_path, "db.other"), names) == bits(read_by_spark(sorted_rows(tmp_path)), names)
