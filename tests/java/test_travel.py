"""Time travel, incremental reads and the logs of tables that both engines wrote: the same rows on both sides."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, SetOption, open_catalog
from maintenance.errors import PaimonError
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.fast_forward import fast_forward
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.operations.refs.rollback_to_as_latest import rollback_to_as_latest
from tests.java.process import JavaProcess
from tests.java.samples import Row, arrow_of, comparable, rows_in, table_of
from tests.tables import live

COLUMNS = (("p", "STRING NOT NULL"), ("id", "BIGINT NOT NULL"), ("v", "STRING"), ("n", "DOUBLE"))
START = 1_700_000_000_000
LAZY = {"write-only": "true"}
Options = Mapping[str, str]
SLOW = {"keyed, partitioned", "input", "lookup", "deletion vectors"}


@dataclass(frozen=True)
class Kind:
    """A kind of table. `both`: both engines write it, else Java alone."""

    keys: tuple[list[str], list[str]]
    options: Options
    both: bool = True


KINDS = {
    "keyed": Kind((["id"], []), {"bucket": "2", **LAZY}),
    "keyed, partitioned": Kind((["p", "id"], ["p"]), {"bucket": "1", **LAZY}),
    "full compaction": Kind((["id"], []), {"bucket": "1", "changelog-producer": "full-compaction", **LAZY}),
    "input": Kind((["id"], []), {"bucket": "1", "changelog-producer": "input", **LAZY}, both=False),
    "lookup": Kind((["id"], []), {"bucket": "1", "changelog-producer": "lookup"}, both=False),
    "deletion vectors": Kind((["id"], []), {"bucket": "1", "deletion-vectors.enabled": "true"}, both=False),
    "append": Kind(([], ["p"]), {"bucket": "-1", **LAZY}),
}


def write(java: JavaProcess, warehouse: str, kind: Kind, dice: random.Random) -> None:
    count = dice.randint(1, 6)
    rows: list[Row] = [
        (dice.choice("xy"), dice.randint(0, 7), dice.choice(("a", "b", None)), dice.choice((0.0, -0.0, 1.5, None)))
        for _ in range(count)
    ]
    kinds = [dice.choice(["+I", "+I", "+U", "-D"]) for _ in rows] if kind.keys[0] else ["+I"] * count
    if kind.both and dice.random() < 0.5:
        table_of(warehouse).write_arrow(arrow_of(rows, COLUMNS), kinds)
    else:
        java.write(warehouse, "db.t", rows, kinds)


def history(java: JavaProcess, warehouse: str, kind: Kind, dice: random.Random) -> CatalogTable:
    """A table with a history: writes of both, compactions of Java; tags; times a second apart, watermarks."""
    java.create_table(warehouse, "db.t", COLUMNS, kind.keys, kind.options)
    for step in range(7):
        write(java, warehouse, kind, dice)
        if kind.keys[0] and "write-only" in kind.options and step in (2, 4):
            java.compact(warehouse, "db.t")
    table = table_of(warehouse)
    ids = table.snapshots.list_ids()
    for snapshot_id in ids:
        # Java 1.4 takes a wrong snapshot where some have no watermark.
        millis, watermark = START + 1000 * snapshot_id, 100 * snapshot_id
        snapshot = replace(table.snapshots.get(snapshot_id), time_millis=millis, watermark=watermark)
        table.file_io.overwrite(table.paths.snapshot(snapshot_id), serialize_snapshot(snapshot))
    for name, snapshot_id in (("a", ids[1]), ("2024-05-13", ids[2]), ("2024-05-14", ids[-2]), ("77", ids[-1])):
        # Not by `create_tag`: some of these tables cannot be written here.
        assert table.tags.publish(name, Tag(table.snapshots.get(snapshot_id)))
    return table


def reads(table: CatalogTable, dice: random.Random) -> Iterator[Options]:
    """Options of every scan mode."""
    last = table.snapshots.latest_id() or 0
    number = dice.randint(1, last)
    yield {}
    yield {"scan.snapshot-id": str(number)}
    yield {"scan.mode": "from-snapshot-full", "scan.snapshot-id": str(number)}
    for version in (str(number), "a", "77", f"watermark-{100 * number}"):
        yield {"scan.version": version}
    yield {"scan.tag-name": "2024-05-13"}
    yield {"scan.timestamp-millis": str(START + 1000 * number + dice.choice((-1, 0, 1)) + (number == 1))}
    yield {"scan.watermark": str(100 * number - dice.choice((0, 50)))}
    yield {"scan.mode": "latest"}
    yield {"scan.mode": "compacted-full"}
    if table.is_primary_key_table:
        yield {"scan.mode": "compacted-full", "full-compaction.delta-commits": "2"}
    yield {"scan.creation-time-millis": str(START + 1000 * number + dice.choice((-1, 0, 1)))}
    times = [entry.file.creation_time or 0 for entry in table.manifests.live_entries(table.snapshots.get(last))]
    yield {"scan.file-creation-time-millis": str(sorted(times)[len(times) // 2])}
    for mode in ("auto", "delta", "changelog", "diff"):
        for _ in range(2):
            low, high = sorted((dice.randint(1, last), dice.randint(1, last)))
            yield {"incremental-between": f"{low},{high}", "incremental-between-scan-mode": mode}
        times = [START + 1000 * dice.randint(0, last + 1) + dice.choice((-1, 0, 1)) for _ in range(2)]
        between = ",".join(map(str, sorted(times)))
        yield {"incremental-between-timestamp": between, "incremental-between-scan-mode": mode}
    yield {"incremental-between": "a,2024-05-14"}
    yield {"incremental-between": "a,77", "incremental-between-tag-to-snapshot": "true"}
    yield {"incremental-to-auto-tag": "2024-05-14"}
    yield {"incremental-to-auto-tag": "2024-05-13"}


def is_diff(options: Options) -> bool:
    tags = "a,2024-05-14" in options.values() or "incremental-to-auto-tag" in options
    return tags or options.get("incremental-between-scan-mode") == "diff"


def ours(warehouse: str, identifier: str, options: Options) -> list[Row]:
    table = open_catalog({"warehouse": warehouse}).get_table(identifier)
    return rows_in(table.to_arrow(options=options))


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in KINDS])
def test_every_scan_mode_reads_the_same_rows(java: JavaProcess, tmp_path: Path, name: str) -> None:
    dice = random.Random(name)
    table = history(java, str(tmp_path), KINDS[name], dice)
    different = set()
    for options in reads(table, dice):
        if name == "append" and is_diff(options):
            continue  # Java 1.4 reads no difference of append tables
        changes = any(key.startswith("incremental") for key in options)
        if name == "deletion vectors" and changes:
            continue  # Java 1.4 leaves out level 0 here, which 2.0 reads
        for identifier in ("db.t", "db.t$audit_log") if changes else ("db.t", "db.t$audit_log", "db.t$ro"):
            wanted = comparable(java.rows(str(tmp_path), identifier, options))
            assert comparable(ours(str(tmp_path), identifier, options)) == wanted, (identifier, options)
            different.add(tuple(wanted))
    assert len(different) > 6


@pytest.mark.parametrize("name", ["full compaction", "lookup", "keyed"])
def test_the_binlog_has_the_same_rows(java: JavaProcess, tmp_path: Path, name: str) -> None:
    dice = random.Random(name)
    table = history(java, str(tmp_path), KINDS[name], dice)
    last = table.snapshots.latest_id()
    for options in ({}, {"incremental-between": f"1,{last}"}, {"scan.snapshot-id": "3"}):
        wanted = comparable(java.rows(str(tmp_path), "db.t$binlog", options))
        assert comparable(ours(str(tmp_path), "db.t$binlog", options)) == wanted, options


@pytest.mark.parametrize(
    "options",
    [
        {"scan.snapshot-id": "99"},
        {"scan.tag-name": "none"},
        {"scan.version": "none"},
        {"scan.timestamp-millis": "5"},
        {"scan.watermark": "99999"},
        {"scan.mode": "from-timestamp"},
        {"scan.mode": "latest", "scan.snapshot-id": "1"},
        {"scan.mode": "from-timestamp", "scan.snapshot-id": "1"},
        {"scan.snapshot-id": "1", "scan.tag-name": "a"},
        {"scan.snapshot-id": "1", "incremental-between": "1,2"},
        {"incremental-between": "1"},
        {"incremental-between": "2,1"},
        {"incremental-between": "a,nothing"},
        {"incremental-between": "77,a"},
        {"incremental-between": "1,99"},
        {"incremental-between-timestamp": "9,3"},
        {"incremental-to-auto-tag": "a"},
    ],
    ids=str,
)
def test_what_java_refuses_is_refused(
    java: JavaProcess, tmp_path_factory: pytest.TempPathFactory, options: Options
) -> None:
    warehouse = _refusing(java, tmp_path_factory)
    with pytest.raises(Exception, match=r".+"):
        java.rows(warehouse, "db.t", options)
    with pytest.raises(PaimonError):
        ours(warehouse, "db.t", options)


_WAREHOUSES: list[str] = []


def _refusing(java: JavaProcess, factory: pytest.TempPathFactory) -> str:
    if not _WAREHOUSES:
        _WAREHOUSES.append(str(factory.mktemp("refusing")))
        history(java, _WAREHOUSES[0], KINDS["keyed"], random.Random(1))
    return _WAREHOUSES[0]


def test_branches_and_rollbacks_of_ours(java: JavaProcess, tmp_path: Path) -> None:
    """Java reads, writes and expires on what our operations leave."""
    warehouse = str(tmp_path)
    dice = random.Random(5)
    table = history(java, warehouse, KINDS["keyed"], dice)

    def check(*identifiers: str) -> None:
        for identifier in identifiers:
            assert comparable(ours(warehouse, identifier, {})) == comparable(java.rows(warehouse, identifier))

    create_branch(table, "b", tag="a")
    check("db.t", "db.t$branch_b")
    java.write(warehouse, "db.t$branch_b", [("x", 50, "java", 1.0)])
    table.on_branch("b").write_arrow(arrow_of([("x", 51, "ours", 1.0)], COLUMNS))
    check("db.t", "db.t$branch_b", "db.t$branch_b$audit_log")
    rollback_to(table, tag="2024-05-14")
    java.write(warehouse, "db.t", [("x", 60, "java", 1.0)])
    check("db.t")
    fast_forward(table, "b")
    java.write(warehouse, "db.t", [("x", 61, "java", 1.0)])
    check("db.t", "db.t$branch_b")
    java.compact(warehouse, "db.t")
    check("db.t")
    expire_snapshots(table_of(warehouse), retain_max=1, retain_min=1)
    rollback_to(table, tag="a")
    check("db.t")
    java.write(warehouse, "db.t", [("x", 62, "java", 1.0)])
    check("db.t", "db.t$branch_b")


def test_a_fallback_branch_gives_the_same_rows(java: JavaProcess, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    kind = KINDS["keyed, partitioned"]
    java.create_table(warehouse, "db.t", COLUMNS, kind.keys, {**kind.options, "scan.fallback-branch": ""})
    table = table_of(warehouse)
    table.write_arrow(arrow_of([("x", 1, "main", 1.0)], COLUMNS))
    create_tag(table, "one")
    create_branch(table, "b", tag="one")
    java.write(warehouse, "db.t$branch_b", [("x", 1, "b", 1.0), ("y", 2, "b", 1.0)])
    table.write_arrow(arrow_of([("z", 3, "main", 1.0)], COLUMNS))
    open_catalog({"warehouse": warehouse}).alter_table("db.t", [SetOption("scan.fallback-branch", "b")])
    for options in ({}, {"scan.snapshot-id": "1"}):
        wanted = comparable(java.rows(warehouse, "db.t", options))
        assert comparable(ours(warehouse, "db.t", options)) == wanted
    assert len(java.rows(warehouse, "db.t")) == 3


@pytest.mark.parametrize("option", ["scan.fallback-branch", "scan.primary-branch"])
def test_files_are_listed_where_a_read_finds_them(java: JavaProcess, tmp_path: Path, option: str) -> None:
    """Those of the other branch, too; partitions that only it has are left out.

    With a moment, recent files alone decide which branch has a partition.
    """
    warehouse, catalog, kind = str(tmp_path), open_catalog({"warehouse": str(tmp_path)}), KINDS["keyed, partitioned"]
    java.create_table(warehouse, "db.t", COLUMNS, kind.keys, kind.options)
    table = table_of(warehouse)
    table.write_arrow(arrow_of([("x", 1, "main", 1.0), ("y", 2, "main", 1.0)], COLUMNS))
    create_tag(table, "one")
    create_branch(table, "b")
    catalog.alter_table("db.t", [SetOption(option, "b")])
    assert ours(warehouse, "db.t", {"scan.tag-name": "one"}) == java.rows(warehouse, "db.t", {"scan.tag-name": "one"})
    for partition, identifier in (("x", "db.t$branch_b"), ("z", "db.t$branch_b"), ("w", "db.t")):
        java.write(warehouse, identifier, [(partition, 3, "later", 1.0)])
    first = min(entry.file.creation_time or 0 for entry in live(table))
    since = {"scan.file-creation-time-millis": str(first + 1)}
    for options in ({}, since):
        wanted = comparable(java.rows(warehouse, "db.t", options))
        assert comparable(ours(warehouse, "db.t", options)) == wanted, options
    for identifier in ("db.t$files", "db.t$file_key_ranges"):
        listed = sorted(row[:8] for row in ours(warehouse, identifier, {}))
        assert [row[0] for row in listed] == ["{w}", "{x}", "{y}"]
        assert listed == sorted(row[:8] for row in java.rows(warehouse, identifier))


def test_java_reads_and_expires_what_was_rolled_back_by_a_commit(java: JavaProcess, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    java.create_table(warehouse, "db.t", [("k", "INT NOT NULL"), ("v", "STRING")], (["k"], []), {"bucket": "1"})
    for number in range(4):
        java.write(warehouse, "db.t", [(number, "a")])
    java.compact(warehouse, "db.t")
    table = table_of(warehouse)
    rollback_to_as_latest(table, snapshot_id=2)
    assert sorted(java.rows(warehouse, "db.t")) == [(0, "a"), (1, "a")]
    assert java.expire(warehouse, "db.t", 1)
    java.write(warehouse, "db.t", [(7, "b")])
    assert sorted(java.rows(warehouse, "db.t")) == [(0, "a"), (1, "a"), (7, "b")]
    assert fsck(table.file_io, table.location).healthy
    assert java.orphans(warehouse, "db.t") == []
