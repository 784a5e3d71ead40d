"""A format table becomes a table of Paimon and goes into the bin: what is killed, and what must hold afterwards."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from maintenance.catalog import CatalogTable
from maintenance.operations import fsck, migrate_database, remove_orphan_files
from maintenance.operations.bin.run import BinRun, list_runs, read_run, run_folder
from maintenance.table.format_table import FormatTable
from tests.models.reachable import unreachable_files
from tests.plain_tables import PlainCatalog, gone, plain_table
from tests.small_tables import Place, batch, put, rows, small_table

if TYPE_CHECKING:
    from tests.crash.scenarios import Reading

_NO_AGE = timedelta(0)
_ROWS = {1: "a", 2: "a", 3: "b", 4: "b"}


def _catalog(place: Path) -> PlainCatalog:
    return PlainCatalog.of(place)


def _place(table: CatalogTable) -> Path:
    return Path(table.location).parents[1]


def prepare(place: Place) -> None:
    """Beside the table of the scenarios `plain.t`, with two files in each of two partitions and one without rows."""
    assert isinstance(place, Path), "such a catalog is on the disk"
    put(small_table(place), {1: "a"})
    source = plain_table(_catalog(place), "plain.t")
    for number in (1, 2):
        source.write_arrow(batch({k: v for k, v in _ROWS.items() if k % 2 == number % 2}))
    empty = pa.table({"k": pa.array([], pa.int64())})
    pq.write_table(empty, f"{source.location}/v=b/z-without-rows.parquet")


def migrate_into_bin(table: CatalogTable) -> None:
    catalog = _catalog(_place(table))

    def into(source: FormatTable) -> BinRun:
        return BinRun.begin(source, catalog.warehouse, "migrate_table")

    report = migrate_database(catalog, "plain", delete_origin=True, into=into, parallelism=1)
    assert not report.errors, report.errors


def migrate_for_good(table: CatalogTable) -> None:
    report = migrate_database(_catalog(_place(table)), "plain", delete_origin=True, parallelism=1)
    assert not report.errors, report.errors


def check_between(before: "Reading", after: CatalogTable) -> None:
    """The rows are in the source, in the table that waits for its name, or in the new table: all of them."""
    assert rows(after) == before.rows
    catalog = _catalog(_place(after))
    expected = sorted(_ROWS.items())
    actual = [
        sorted((row["k"], row["v"]) for row in catalog.get_table(name).to_arrow().to_pylist())
        for name in ("plain.t", "plain.t_paimon_")
        if not gone(catalog, name)
    ]
    assert expected in actual, actual


def check_migrated(table: CatalogTable) -> None:
    catalog = _catalog(_place(table))
    assert catalog.list_tables("plain") == ["t"]
    actual = catalog.get_table("plain.t")
    assert isinstance(actual, CatalogTable)
    assert rows(actual) == sorted(_ROWS.items())
    assert fsck(actual.file_io, actual.location, deep=True).healthy


def check_migrated_once(_whole: CatalogTable, table: CatalogTable) -> None:
    check_migrated(table)
    actual = _catalog(_place(table)).get_table("plain.t")
    snapshot = actual.latest_snapshot()
    assert (snapshot.id, snapshot.total_record_count) == (1, len(_ROWS))
    # What a killed commit has written of its metadata is an orphan.
    remove_orphan_files(None, actual, minimum_age=_NO_AGE)
    assert unreachable_files(actual) == set()


def check_all_in_bin(whole: CatalogTable, table: CatalogTable) -> None:
    """All files of the source are in one run of the bin."""
    check_migrated_once(whole, table)
    place = str(_place(table))
    (run,) = [run for run in list_runs(table.file_io, place) if _files_in(table, place, run)]
    assert len(_files_in(table, place, run)) == 5


def _files_in(table: CatalogTable, place: str, run: str) -> list[str]:
    if not any(name.startswith("journal-") for name in table.file_io.list_names(run_folder(place, run))):
        return []
    _, files = read_run(table.file_io, place, run)
    return [file.path for file in files if table.file_io.exists(f"{run_folder(place, run)}/files/{file.path}")]
