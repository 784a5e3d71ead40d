"""A table copied into another database of its warehouse: what is killed, and what must hold afterwards."""

from datetime import timedelta
from typing import TYPE_CHECKING

from maintenance.catalog import CatalogTable
from maintenance.errors import NotFoundError
from maintenance.metastore.filesystem import FilesystemCatalog
from maintenance.operations import clone, compact, fsck, remove_orphan_files
from tests.models.reachable import unreachable_files
from tests.small_tables import Place, put, rows, small_table, table_in

if TYPE_CHECKING:
    from tests.crash.scenarios import Reading


def prepare(folder: Place) -> None:
    table = small_table(folder)
    for number in range(3):
        put(table, {number: "a"})


def prepare_older(folder: Place) -> None:
    """A copy of a state that is not the newest any more."""
    prepare(folder)
    table = table_in(folder)
    copy(table)
    put(table, {1: "b", 9: "c"})
    compact(None, table, full=True)


def copy(table: CatalogTable) -> None:
    clone(table, _catalog(table), "copy.t", parallelism=1)


def _catalog(table: CatalogTable) -> FilesystemCatalog:
    """Of the table's own warehouse, which may be in a store."""
    warehouse = table.location.rsplit("/", 2)[0]
    return FilesystemCatalog(warehouse, table.file_io, {"warehouse": warehouse}, lambda: CatalogTable)


def copied(table: CatalogTable) -> CatalogTable | None:
    """The copy; None where there is none yet."""
    try:
        actual = _catalog(table).get_table("copy.t")
    except NotFoundError:
        return None
    assert isinstance(actual, CatalogTable)
    return actual


def check_copied(table: CatalogTable) -> None:
    actual = copied(table)
    assert actual is not None
    assert rows(actual) == rows(table)
    assert fsck(actual.file_io, actual.location).healthy


def check_nothing_or_all(before: "Reading", after: CatalogTable) -> None:
    assert rows(after) == before.rows
    actual = copied(after)
    assert actual is None or rows(actual) in ([], before.rows)


def check_old_or_new(before: "Reading", after: CatalogTable) -> None:
    actual = copied(after)
    assert actual is not None
    assert rows(actual) in ([(0, "a"), (1, "a"), (2, "a")], before.rows)
    assert fsck(actual.file_io, actual.location).healthy


def check_copied_once(_whole: CatalogTable, table: CatalogTable) -> None:
    check_copied(table)
    actual = copied(table)
    assert actual is not None
    # What a killed commit has written of its metadata is an orphan.
    remove_orphan_files(None, actual, minimum_age=timedelta(0))
    check_copied(table)
    assert unreachable_files(actual) == set()
