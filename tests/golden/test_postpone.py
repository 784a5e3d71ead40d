"""Rows in the postpone bucket of a table that Paimon wrote: not read, and not compacted into something else."""

from pathlib import Path

import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import UnsupportedError
from maintenance.operations.compact import compact
from maintenance.table.table import Table
from tests.golden.case import extract
from tests.tables import live


def opened(folder: Path) -> Table:
    table = open_catalog({"warehouse": str(extract("postpone_bucket", folder))}).get_table("db.t")
    assert isinstance(table, Table)
    return table


def test_they_wait_for_paimon(tmp_path: Path) -> None:
    table = opened(tmp_path)
    waiting = [entry for entry in live(table) if entry.bucket == -2]
    assert waiting
    with pytest.raises(UnsupportedError, match="postpone bucket"):
        compact(None, table, full=True)
    assert [entry for entry in live(table) if entry.bucket == -2] == waiting
    with pytest.raises(UnsupportedError, match="'bucket' = '-2'"):
        table.write_arrow(table.to_arrow().slice(0, 1))
    with pytest.raises(UnsupportedError, match=r"postpone\.merge-on-read"):
        table.to_arrow(options={"postpone.merge-on-read": "true"})
