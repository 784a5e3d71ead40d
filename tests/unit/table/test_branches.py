"""Reading and writing branches, and branches that stand in for one another."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, SetOption
from maintenance.errors import NotFoundError, OptionError, SchemaError, UnsupportedError
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.ingestion.ingest import ingest
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.replace_tag import replace_tag
from maintenance.sql import Session
from maintenance.table.system.audit_log import AuditLogView
from tests.small_tables import branch_from_tag, set_commit_time
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


def test_partitions_of_a_fallback_branch_are_listed_like_those_of_the_table(tmp_path: Path, two: CatalogTable) -> None:
    catalog = open_warehouse(tmp_path)
    catalog.alter_table("db.t", [SetOption("scan.fallback-branch", "b")])
    session = Session({"warehouse": str(tmp_path)})
    shown = session.sql("SHOW PARTITIONS db.t").to_arrow()["partition"].to_pylist()
    listed = {partition.spec["p"]: partition.record_count for partition in catalog.list_partitions("db.t")}
    system = catalog.get_table("db.t$partitions").to_arrow()
    counts = dict(zip(system["partition"].to_pylist(), system["record_count"].to_pylist(), strict=True))

    assert shown == ["p=x", "p=y", "p=z"]
    assert (listed, counts) == ({"x": 1, "y": 2, "z": 1}, {"p=x": 1, "p=y": 2, "p=z": 1})
    session.sql("ALTER TABLE db.t DROP PARTITION (p = 'z')")
    session.sql("ALTER TABLE db.t$branch_b DROP PARTITION (p = 'z')")
    newest = session.sql("SELECT id FROM db.t WHERE p = sys.max_pt('db.t') ORDER BY id").to_arrow()["id"].to_pylist()
    assert newest == [2, 3]
    table = get_table(tmp_path)
    assert found(table, options={"scan.partitions": "max_pt()"}) == {("y", 2): "branch", ("y", 3): "late"}


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
    for option in ("scan.fallback-branch", "scan.primary-branch"):
        with pytest.raises(NotFoundError, match="branch 'gone'"):
            catalog.create_table("db.u", Schema([("a", "INT")], options={option: "gone"}))
    assert catalog.list_tables("db") == ["t"]
    catalog.alter_table("db.t", [SetOption("scan.fallback-branch", "b")])
    assert len(found(get_table(tmp_path))) == 4
    with pytest.raises(OptionError, match="both set"):
        catalog.alter_table("db.t", [SetOption("scan.primary-branch", "b")])


def marked(table: CatalogTable, rows: Mapping[tuple[str, int], str], watermark: int) -> None:
    ingest(None, table, parted(rows), commit_user="marked", watermark=watermark)


@pytest.fixture
def apart(tmp_path: Path) -> CatalogTable:
    """`db.t` in four snapshots of main, 1, 2, 5 and 6 by time, and the branch b in 3, 4 and 7."""
    table = create_table(tmp_path, PARTED, ("p", "id"), partition_keys=("p",))
    marked(table, {("x", 1): "main"}, 100)
    create_tag(table, "one")
    branch = branch_from_tag(table, "b", "one")
    marked(table, {("x", 1): "main2"}, 200)
    create_tag(table, "two")
    marked(branch, {("y", 1): "b3"}, 50)
    marked(branch, {("y", 1): "b4"}, 60)
    marked(table, {("x", 1): "main5"}, 300)
    create_tag(table, "five")
    create_tag(branch, "five", snapshot_id=1)
    marked(table, {("x", 1): "main6"}, 400)
    marked(branch, {("y", 1): "b7"}, 1000)
    order = ((table, 1), (table, 2), (branch, 2), (branch, 3), (table, 3), (table, 4), (branch, 4))
    for number, (side, snapshot_id) in enumerate(order, 1):
        set_commit_time(side, snapshot_id, number * 1000)
    for name, side, snapshot_id in (("one", table, 1), ("two", table, 2), ("five", table, 3)):
        replace_tag(side, name, snapshot_id=snapshot_id)
    set_commit_time(branch, 1, 1000)
    return table


@pytest.mark.parametrize(
    ("states", "y"),
    [
        ([{"scan.snapshot-id": "2"}, {"scan.version": "2"}, {"scan.tag-name": "two"}, {"scan.version": "two"},
          {"scan.watermark": "150"}, {"scan.version": "watermark-150"}, {"scan.timestamp-millis": "2000"}], None),
        ([{"scan.snapshot-id": "3"}, {"scan.version": "3"}, {"scan.tag-name": "five"}, {"scan.version": "five"},
          {"scan.watermark": "300"}, {"scan.version": "watermark-300"}, {"scan.timestamp-millis": "5000"}], "b4"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("option", ["scan.fallback-branch", "scan.primary-branch"])
def test_all_ways_to_name_a_state_of_the_table_find_the_branch_at_its_time(
    apart: CatalogTable, option: str, states: list[dict[str, str]], y: str | None
) -> None:
    """A branch has other snapshots of the same numbers, other tags of the same names, other watermarks."""
    x = {None: "main2", "b4": "main5"}[y] if option == "scan.fallback-branch" else "main"
    expected = {("x", 1): x} | ({} if y is None else {("y", 1): y})
    for how in states:
        assert found(apart, options={option: "b", **how}) == expected, how


def test_a_state_of_the_branch_that_only_its_tag_holds(apart: CatalogTable) -> None:
    branch = apart.on_branch("b")
    create_tag(branch, "kept", snapshot_id=3)
    expire_snapshots(branch, retain_max=1, retain_min=1)
    for how in ({"scan.version": "3"}, {"scan.tag-name": "five"}):
        assert found(apart, options={"scan.fallback-branch": "b", **how}) == {("x", 1): "main5", ("y", 1): "b4"}


def test_what_the_table_does_not_have_is_not_looked_for_in_the_branch(apart: CatalogTable) -> None:
    create_tag(apart.on_branch("b"), "only-there")
    with pytest.raises(NotFoundError, match="only-there"):
        found(apart, options={"scan.fallback-branch": "b", "scan.version": "only-there"})


def test_a_state_that_the_table_itself_names(tmp_path: Path, apart: CatalogTable) -> None:
    catalog = open_warehouse(tmp_path)
    catalog.alter_table("db.t", [SetOption("scan.fallback-branch", "b"), SetOption("scan.tag-name", "five")])
    assert found(get_table(tmp_path)) == {("x", 1): "main5", ("y", 1): "b4"}


def test_version_as_of_with_a_fallback_branch(tmp_path: Path, apart: CatalogTable) -> None:
    del apart
    session = Session({"warehouse": str(tmp_path)})
    session.sql("ALTER TABLE db.t SET TBLPROPERTIES ('scan.fallback-branch' = 'b')")
    for version, expected in (
        ("2", ["main2"]),
        ("'two'", ["main2"]),
        ("3", ["b4", "main5"]),
        ("'five'", ["b4", "main5"]),
    ):
        rows = session.sql(f"SELECT v FROM db.t VERSION AS OF {version} ORDER BY v").to_arrow()
        assert rows["v"].to_pylist() == expected, version
