"""Format tables that become tables of Paimon: what is planned, what goes into the bin, and what comes back."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from maintenance.catalog import CatalogTable
from maintenance.errors import AlreadyExistsError, ConflictError, NotFoundError, OptionError, OutdatedPlanError
from maintenance.operations import fsck, migrate_database, migrate_table
from maintenance.operations.bin.run import BinRun, list_runs
from maintenance.operations.databases.migrate_database import apply_migrate_database, plan_migrate_database
from maintenance.operations.databases.migrate_table import apply_migrate_table, finish_migration, plan_migrate_table
from maintenance.operations.databases.migrated_origin import MIGRATE_TABLE, restore_origin
from maintenance.operations.plan_store import StoredPlan
from maintenance.sql import Session
from maintenance.table.format_table import FormatTable
from tests.plain_tables import PlainCatalog, gone, plain_table


@pytest.fixture
def catalog(tmp_path: Path) -> PlainCatalog:
    return PlainCatalog.of(tmp_path)


def put(table: FormatTable, *numbers: int) -> None:
    values = [None if n % 3 == 0 else f"p{n % 2}" for n in numbers]
    table.write_arrow(pa.table({"k": pa.array(numbers, pa.int64()), "v": pa.array(values, pa.string())}))


def keys(table: CatalogTable | FormatTable) -> list[int]:
    return sorted(table.to_arrow()["k"].to_pylist())


def begun(catalog: PlainCatalog, source: FormatTable) -> BinRun:
    return BinRun.begin(source, catalog.warehouse, MIGRATE_TABLE)


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_a_new_table_takes_the_name_of_its_source(catalog: PlainCatalog, kind: str) -> None:
    source = plain_table(catalog, "db.t", kind)
    put(source, *range(7))
    with pytest.raises(OptionError, match="the target is the source"):
        migrate_table(source, catalog)
    dry = migrate_table(source, catalog, delete_origin=True, dry_run=True)
    assert (dry.target, dry.files, dry.copied_files, dry.origin_deleted) == ("db.t", 3, 3, False)
    assert catalog.list_tables("db") == ["t"]
    report = migrate_table(source, catalog, delete_origin=True, into=begun(catalog, source))
    assert (report.target, report.rows, report.origin_deleted) == ("db.t", 7, True)
    assert catalog.list_tables("db") == ["t"]
    table = catalog.get_table("db.t")
    assert isinstance(table, CatalogTable)
    assert keys(table) == list(range(7))
    assert fsck(table.file_io, table.location, deep=True).healthy


def test_a_source_comes_back_from_the_bin(catalog: PlainCatalog) -> None:
    source = plain_table(catalog, "db.t")
    put(source, *range(7))
    report = migrate_table(source, catalog, delete_origin=True, into=begun(catalog, source))
    assert report.bin_run is not None
    assert list_runs(catalog.file_io, catalog.warehouse) == [report.bin_run]
    with pytest.raises(AlreadyExistsError, match="a table of Paimon has that name"):
        restore_origin(catalog, catalog.file_io, report.bin_run, "db.t")
    dry = restore_origin(catalog, catalog.file_io, report.bin_run, "db.old", dry_run=True)
    assert (len(dry.files), gone(catalog, "db.old")) == (3, True)
    back = restore_origin(catalog, catalog.file_io, report.bin_run, "db.old")
    assert (len(back.files), back.missing) == (3, ())
    assert keys(catalog.get_table("db.old")) == list(range(7))
    again = restore_origin(catalog, catalog.file_io, report.bin_run, "db.old")
    assert (again.files, len(again.already_there)) == ((), 3)


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_a_part_of_a_file_is_in_memory(catalog: PlainCatalog, kind: str) -> None:
    source = plain_table(catalog, "db.t", kind)
    path = Path(source.location) / "v=a" / f"big.{kind}"
    path.parent.mkdir(parents=True)
    words = np.random.default_rng(7).integers(0, 2**62, 1 << 21)  # 16 MB
    if kind == "parquet":
        pq.write_table(pa.table({"k": words}), path, row_group_size=1 << 17)
    else:
        orc.write_table(pa.table({"k": words}), str(path), stripe_size=1 << 20)
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        assert migrate_table(source, catalog, "db.new", parallelism=1).rows == 1 << 21
    finally:
        pa.set_memory_pool(before)
    assert 0 < pool.max_memory() < path.stat().st_size * 0.6


def test_a_plan_is_carried_out_or_refused(catalog: PlainCatalog) -> None:
    source = plain_table(catalog, "db.t")
    put(source, *range(5))
    plan = plan_migrate_table(source, catalog, "db.new", options={"target-file-size": "1 mb"}, delete_origin=True)
    assert gone(catalog, "db.new")
    assert sum(len(group.files) for group in plan.groups) == 6  # each file is copied, and goes
    assert plan.groups[-1].reason == "dropped once its files are committed"
    stored = StoredPlan.load(catalog.file_io, catalog.warehouse, plan.store(catalog.file_io, catalog.warehouse))
    put(source, 9)
    with pytest.raises(OutdatedPlanError, match="1 file new in it"):
        apply_migrate_table(source, catalog, stored)
    assert gone(catalog, "db.new")
    plan = plan_migrate_table(source, catalog, "db.new", delete_origin=True)
    path = Path(source.location) / source.data_files()[0][0]
    path.write_bytes(path.read_bytes())
    with pytest.raises(OutdatedPlanError, match="were written to"):
        apply_migrate_table(source, catalog, plan)
    plan = plan_migrate_table(source, catalog, "db.new", delete_origin=True)
    report = apply_migrate_table(source, catalog, plan, into=begun(catalog, source))
    assert (report.rows, report.origin_deleted, gone(catalog, "db.t")) == (6, True, True)
    with pytest.raises(OptionError, match="this plan is about migrate_table"):
        apply_migrate_table(plain_table(catalog, "db.other"), catalog, plan)


def test_a_database_is_migrated_table_by_table(catalog: PlainCatalog) -> None:
    for name in ("a", "b"):
        put(plain_table(catalog, f"db.{name}"), 1, 2)
    plain_table(catalog, "db.c", "csv")
    dry = migrate_database(catalog, "db", dry_run=True)
    assert {name: report.target for name, report in dry.reports.items()} == {
        "db.a": "db.a_paimon_",
        "db.b": "db.b_paimon_",
    }
    assert "files in format 'csv'" in str(dry.errors["db.c"])
    plan = plan_migrate_database(catalog, "db", excluded=["c"])
    assert {group.name.partition(" ")[0] for group in plan.groups} == {"db.a", "db.b"}
    done = apply_migrate_database(catalog, plan)
    assert (list(done.reports), dict(done.errors)) == (["db.a", "db.b"], {})
    assert catalog.list_tables("db") == ["a", "a_paimon_", "b", "b_paimon_", "c"]
    put(catalog.get_table("db.b"), 3)
    whole = migrate_database(catalog, "db", delete_origin=True, into=lambda source: begun(catalog, source))
    assert set(whole.skipped) == {"db.a_paimon_", "db.b_paimon_"}
    assert {name: report.rows for name, report in whole.reports.items()} == {"db.a": 2, "db.b": 3}
    assert list(whole.errors) == ["db.c"]
    assert catalog.list_tables("db") == ["a", "b", "c"]
    assert keys(catalog.get_table("db.b")) == [1, 2, 3]
    with pytest.raises(NotFoundError):
        migrate_database(catalog, "nowhere")


def test_a_table_that_waits_for_a_name_gets_it(catalog: PlainCatalog) -> None:
    source = plain_table(catalog, "db.t")
    put(source, 1, 2)
    migrate_table(source, catalog, "db.t_paimon_")
    assert finish_migration(catalog, "db.t") is None, "the source is there"
    path = Path(source.location)
    left = {file.relative_to(path): file.read_bytes() for file in path.rglob("data-*")}
    catalog.drop_table("db.t")
    for name, data in left.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    stranger = path / "v=p1" / "other"
    stranger.write_bytes(b"x")
    with pytest.raises(ConflictError, match="that the new table does not have"):
        finish_migration(catalog, "db.t")
    assert stranger.exists()
    stranger.unlink()
    plan = plan_migrate_database(catalog, "db")
    assert [group.reason for group in plan.groups] == ["is renamed to db.t"]
    report = apply_migrate_database(catalog, plan).reports["db.t"]
    assert (report.origin_deleted, catalog.list_tables("db")) == (True, ["t"])
    assert keys(catalog.get_table("db.t")) == [1, 2]


def test_procedures_migrate_databases_and_tables_and_restore_sources(catalog: PlainCatalog) -> None:
    for name in ("a", "b"):
        put(plain_table(catalog, f"db.{name}"), 1, 2)
    session = Session({"warehouse": catalog.warehouse}, dialect="spark")
    session.catalogs[session.current_catalog] = catalog
    call = "CALL sys.migrate_database(source_type => 'hive', database => 'db'"
    rows = session.sql(f"{call}, dry_run => true)").to_arrow().to_pylist()
    assert [(row["target"], row["snapshot_id"]) for row in rows] == [("db.a_paimon_", None), ("db.b_paimon_", None)]
    rows = session.sql(f"{call}, delete_origin => true, into_bin => true)").to_arrow().to_pylist()
    assert [(row["target"], row["origin_deleted"]) for row in rows] == [("db.a", True), ("db.b", True)]
    run = rows[0]["bin_run"]
    assert session.sql(f"CALL sys.restore('db.old', '{run}')").to_arrow().num_rows == 2
    assert keys(catalog.get_table("db.old")) == [1, 2]
    shown = session.sql("CALL sys.migrate_table('hive', 'db.old', 'bucket=-1', true)").to_arrow()
    assert shown.to_pylist() == [{"result": True}]
    assert keys(catalog.get_table("db.old")) == [1, 2]
    assert isinstance(catalog.get_table("db.old"), CatalogTable)


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_a_source_that_is_gone_by_halves_may_leave_files_without_rows(catalog: PlainCatalog, kind: str) -> None:
    source = plain_table(catalog, "db.t", kind)
    put(source, *range(7))
    write = pq.write_table if kind == "parquet" else orc.write_table
    write(pa.table({"k": pa.array([], pa.int64())}), f"{source.location}/v=p1/empty.{kind}")
    drop = catalog.file_io.delete_quietly

    def died(paths: Sequence[str]) -> None:
        (path,) = paths
        if path.endswith(f"empty.{kind}"):
            raise OSError("killed")
        drop([path])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(catalog.file_io), "delete_quietly", lambda _, paths: died(paths))
        with pytest.raises(OSError, match="killed"):
            migrate_table(source, catalog, delete_origin=True)
    assert Path(source.location, "v=p1", f"empty.{kind}").exists()
    Path(source.location, "v=p1", "notes").write_text("not ours")
    with pytest.raises(ConflictError, match="1 files are in the place of the source"):
        finish_migration(catalog, "db.t")
    Path(source.location, "v=p1", "notes").unlink()
    assert finish_migration(catalog, "db.t") is not None
    table = catalog.get_table("db.t")
    assert isinstance(table, CatalogTable)
    assert keys(table) == list(range(7))
