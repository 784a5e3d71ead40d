"""Reading splits: what is said of files that are not where the table's options put them."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import MissingFileError
from tests.tables import create_table

DAY = dt.date(2026, 8, 1)
NUMBER = (DAY - dt.date(1970, 1, 1)).days


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = create_table(tmp_path, (("day", "DATE"), ("id", "INT")), (), partition_keys=["day"])
    table.write_arrow(pa.table({"day": [DAY], "id": pa.array([1], pa.int32())}))
    return table


def test_a_folder_named_by_the_other_rule_is_said_with_the_option(table: CatalogTable) -> None:
    folder = Path(table.location) / f"day={NUMBER}"
    folder.rename(folder.with_name(f"day={DAY}"))
    with pytest.raises(
        MissingFileError, match=rf"'partition.legacy-name' = 'true' expects it, but at .*day={DAY}"
    ) as raised:
        table.to_arrow()
    assert "'partition.legacy-name' = 'false'" in raised.value.fix


def test_a_file_that_is_gone_is_missing(table: CatalogTable) -> None:
    folder = Path(table.location) / f"day={NUMBER}"
    for file in folder.rglob("data-*"):
        file.unlink()
    with pytest.raises(MissingFileError, match="a file that the metadata names is missing"):
        table.to_arrow()
