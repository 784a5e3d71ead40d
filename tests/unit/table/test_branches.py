"""Reading and writing branches, and branches that stand in for one another."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, SetOption
from maintenance.errors import NotFoundError, OptionError, SchemaError, UnsupportedError
from maintenance.operations.refs.create_tag import create_tag
from maintenance.table.system.audit_log import AuditLogView
from tests.small_tables import branch_from_tag
from tests.tables import create_table, get_table, keyed, open_warehouse, state

PARTED = (("p", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING"))


def parted(rows: Mapping[tuple[str, int], str]) -> pa.Table:
    keys = list(rows)
    columns = {"p": [p for p, _ in keys], "id": pa.array([i for _, i in keys], pa.int32()), "v": list(rows.values())}
    return pa.table(columns)


def found(table: CatalogTable, **how: Any) -> dict[tuple[str, int], str]:
    rows = table.to_arrow(**how).to_pylist()
    assert len({(row["p"], row["id"]) for row in rows}) == len(rows)
    return {(row["p"], row["id"]): row["v"] for row in rows}


@pytest.fixture
def two(tmp_path: Path) -> CatalogTable:
    """`db.t` with the partition x, then the branch b, which adds y and changes x; then main adds z."""
    table = create_table(tmp_path, PARTED, ("p", "id"), partition_keys=("p",))
    table.write_arrow(parted({("x", 1): "main"}))
    create_tag(table, "one")
    branch = branch_from_tag(table, "b", "one")
    branch.write_arrow(parted({("x", 1): "branch", ("y", 2): "branch"}))
    branch.write_arrow(parted({("y", 3): "late", ("z", 4): "branch"}))
    table.write_arrow(parted({("z", 4): "main"}))
    return table


def test_a_branch_by_its_name_and_by_the_option(tmp_path: Path, two: CatalogTable) -> None:
    expected = {("x", 1): "branch", ("y", 2): "branch", ("y", 3): "late", ("z", 4): "branch"}
    named = get_table(tmp_path, "db.t$branch_b")
    assert found(named) == found(two, options={"branch": "b"}) == expected
    assert found(two) == {("x", 1): "main", ("z", 4): "main"}
    assert found(named, options={"branch": "main"}) == found(two)
    assert found(two, options={"branch": "b", "scan.snapshot-id": "2"}) == {("x", 1): "branch", ("y", 2): "branch"}
    assert two.copy({"branch": "b"}).identifier == named.identifier == "db.t$branch_b"
    snapshots = open_warehouse(tmp_path).get_table("db.t$branch_b$snapshots").to_arrow()
    assert snapshots["snapshot_id"].to_pylist() == [1, 2, 3]
    with pytest.raises(NotFoundError, match=r"branch 'c'.*There are: main, b"):
        found(two, options={"branch": "c"})


def test_writing_to_a_branch(two: CatalogTable) -> None:
    two.copy({"branch": "b"}).write_arrow(parted({("x", 9): "new"}))
    assert ("x", 9) in found(two, options={"branch": "b"})
    assert ("x", 9) not in found(two)


def test_a_fallback_branch_gives_missing_partitions(two: CatalogTable) -> None:
    fallback = {"scan.fallback-branch": "b"}
    expected = {("x", 1): "main", ("y", 2): "branch", ("y", 3): "late", ("z", 4): "main"}
    assert found(two, options=fallback) == expected
    # Not by rows: partition x is main's, though no row of it passes.
    assert found(two, options=fallback, where="v = 'branch'") == {("y", 2): "branch"}
    assert found(two, options=fallback, where="p <> 'z' and id > 2") == {("y", 3): "late"}
    assert two.to_arrow(columns=["id"], options=fallback)["id"].to_pylist() == [1, 4, 2, 3]
    log = AuditLogView(two).to_arrow(options=fallback)
    assert log.schema.names == ["rowkind", "p", "id", "v"]
    assert log.num_rows == 4


def test_a_primary_branch_comes_first(two: CatalogTable) -> None:
    primary = {"scan.primary-branch": "b"}
    assert found(two, options=primary) == found(two, options={"branch": "b"})
    two.write_arrow(parted({("w", 5): "main"}))
    assert found(two, options=primary) == found(two, options={"branch": "b"}) | {("w", 5): "main"}


def test_travelling_with_a_fallback_branch(two: CatalogTable) -> None:
    """The other branch travels to the same time: at the first snapshot it had nothing of its own."""
    options = {"scan.fallback-branch": "b", "scan.snapshot-id": "1"}
    assert found(two, options=options) == {("x", 1): "main"}
    with pytest.raises(UnsupportedError, match="fallback or primary branch"):
        found(two, options={"scan.fallback-branch": "b", "incremental-between": "1,2"})


def test_branches_that_do_not_fit(tmp_path: Path, two: CatalogTable) -> None:
    with pytest.raises(OptionError, match="both set"):
        found(two, options={"scan.fallback-branch": "b", "scan.primary-branch": "b"})
    assert found(two, options={"scan.fallback-branch": "gone"}) == found(two)
    other = create_table(tmp_path, name="db.u")
    other.write_arrow(keyed({1: "a"}))
    create_tag(other, "one")
    branch_from_tag(other, "b", "one")
    Path(other.location, "branch/branch-b/schema/schema-1").write_text(
        Path(other.location, "schema/schema-0")
        .read_text()
        .replace('"STRING"', '"BYTES"')
        .replace('"id" : 0,', '"id" : 1,', 1)
    )
    with pytest.raises(SchemaError, match="branch 'b' has other columns"):
        state(other, options={"scan.fallback-branch": "b"})


def test_the_option_of_a_table_names_a_branch_that_exists(tmp_path: Path, two: CatalogTable) -> None:
    catalog = open_warehouse(tmp_path)
    with pytest.raises(NotFoundError, match="branch 'gone'"):
        catalog.alter_table("db.t", [SetOption("scan.fallback-branch", "gone")])
    catalog.alter_table("db.t", [SetOption("scan.fallback-branch", "b")])
    assert len(found(get_table(tmp_path))) == 4
    with pytest.raises(OptionError, match="both set"):
        catalog.alter_table("db.t", [SetOption("scan.primary-branch", "b")])
