"""Partitions are dropped by name."""

from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError, NotFoundError
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.rows.drop_partitions import drop_partitions
from tests.tables import create_table, texts_of

FIELDS = (("y", "INT NOT NULL"), ("m", "INT NOT NULL"), ("id", "INT NOT NULL"))


def filled(tmp_path: Path) -> CatalogTable:
    table = create_table(tmp_path, FIELDS, ("y", "m", "id"), partition_keys=("y", "m"))
    months = [(2023, 1), (2023, 2), (2024, 1), (2024, 2)]
    columns = [[y for y, _ in months], [m for _, m in months], [1] * 4]
    rows = pa.table({name: pa.array(c, pa.int32()) for name, c in zip(("y", "m", "id"), columns, strict=True)})
    table.write_arrow(rows)
    return table


def months(table: CatalogTable) -> list[tuple[int, int]]:
    return sorted((row["y"], row["m"]) for row in table.to_arrow().to_pylist())


def test_whole_and_partial_specs(tmp_path: Path) -> None:
    table = filled(tmp_path)
    asked = [{"y": "2023"}, {"y": "2024", "m": "2"}]
    would = drop_partitions(table, asked, dry_run=True)
    assert table.snapshots.latest_id() == 1
    assert (would.snapshot_id, would.files, would.rows) == (None, 3, 3)
    report = drop_partitions(table, asked)
    assert report.dropped == would.dropped
    assert texts_of(report.dropped) == ({"y": "2023", "m": "1"}, {"y": "2023", "m": "2"}, {"y": "2024", "m": "2"})
    assert (report.snapshot_id, report.rows, report.bytes) == (2, 3, would.bytes)
    assert table.snapshots.get(2).commit_kind == CommitKind.OVERWRITE
    assert months(table) == [(2024, 1)]
    again = drop_partitions(table, asked, ignore_if_not_exists=True)
    assert (again.snapshot_id, again.dropped, list(texts_of(again.missing))) == (None, (), asked), (
        "nothing is left of them"
    )
    assert table.snapshots.latest_id() == 2


def test_a_partition_that_does_not_exist(tmp_path: Path) -> None:
    table = filled(tmp_path)
    asked = [{"y": "2023"}, {"y": "2042"}]
    for dry_run in (True, False):
        with pytest.raises(NotFoundError, match=r"partition y=2042 does not exist .*nearest one is y=202[34]\."):
            drop_partitions(table, asked, dry_run=dry_run)
    assert len(months(table)) == 4, "none is dropped"
    report = drop_partitions(table, asked, ignore_if_not_exists=True)
    assert (report.rows, texts_of(report.missing)) == (2, ({"y": "2042"},))
    assert months(table) == [(2024, 1), (2024, 2)]


def test_what_is_no_partition(tmp_path: Path) -> None:
    table = filled(tmp_path)
    several: list[list[dict[str, str]]] = [[], [{}], [{"id": "1"}], [{"y": "2023", "nope": "1"}]]
    for wrong in several:
        with pytest.raises(DataError):
            drop_partitions(table, wrong)
    assert len(months(table)) == 4


def test_the_table_does_it_too(tmp_path: Path) -> None:
    table = filled(tmp_path)
    assert table.drop_partitions([{"m": "1"}]) == (2,)
    assert months(table) == [(2023, 2), (2024, 2)]
    with pytest.raises(NotFoundError, match="partition m=9 does not exist"):
        table.drop_partitions([{"m": "9"}])
    assert table.drop_partitions([{"m": "9"}], ignore_if_not_exists=True) == ()
