"""File indexes of tables with a primary key: used where files stand alone, not where newer versions may lie beside."""

from pathlib import Path

from maintenance.catalog import CatalogTable
from maintenance.operations.compaction.compact import compact
from tests.tables import create_table, keyed, state

OPTIONS = {"file-index.bloom-filter.columns": "v", "file-index.bloom-filter.v.items": "100"}


def skipped(table: CatalogTable, where: str) -> int:
    plan, _ = table.plan(None, table.predicate(where))
    return plan.skipped_by_index


def test_files_that_stand_alone_are_skipped(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=OPTIONS)
    table.write_arrow(keyed({1: "a", 2: "c"}))
    table.write_arrow(keyed({1: "b"}))
    compact(None, table, full=True)
    assert skipped(table, "v = 'bb'") == 1
    assert skipped(table, "v = 'b'") == 0
    assert state(table, where="v = 'bb'") == {}
    assert state(table, where="v = 'b'") == {1: "b"}


def test_an_index_does_not_bring_back_an_older_version(tmp_path: Path) -> None:
    """The newer file lacks the old value: skipping it would leave the older version alone."""
    table = create_table(tmp_path, options=OPTIONS)
    table.write_arrow(keyed({1: "b", 2: "a", 3: "c"}))
    table.write_arrow(keyed({1: "bb", 2: "a", 3: "c"}))
    assert skipped(table, "v = 'b'") == 0
    assert state(table, where="v = 'b'") == {}
    assert state(table, where="v = 'bb'") == {1: "bb"}
