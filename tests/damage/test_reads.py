"""Whatever happens to a file: a read gives the right rows or says which file is damaged, and what to do."""

import os
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import PaimonError
from tests.damage.damages import damages, kind_of, one_of_each_kind
from tests.golden.case import extract

TABLES = {
    "keyed": ("pk_dedup_compacted", "t"),
    "deletion vectors": ("dv_pk", "t"),
    "append with deletion vectors": ("dv_append", "p"),
    "orc": ("types_orc", "app"),
    "avro": ("types_avro", "app"),
    "index files": ("file_index_bloom", "bloom_filter_files"),
    "changelog": ("expiry_consumers", "t"),
    "tags": ("tags_rollback", "t"),
    "data evolution": ("data_evolution", "t"),
    "manifests in orc": ("mixed_formats", "manifest_orc"),
    "manifests in parquet": ("mixed_formats", "manifest_parquet"),
}
SOME = pytest.mark.parametrize("root", ["keyed", "append with deletion vectors", "index files"], indirect=True)
MOMENTS = count(1000)
SYSTEM_TABLES = ("snapshots", "files", "partitions", "tags", "consumers", "options")


@pytest.fixture(scope="session")
def warehouse_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Extracts the warehouse of a case, once; tests put back what they damage."""
    folder = tmp_path_factory.mktemp("damage")
    return cache(lambda case: extract(case, folder))


@pytest.fixture(params=TABLES)
def root(request: pytest.FixtureRequest, warehouse_of: Callable[[str], Path]) -> Path:
    case, table = TABLES[request.param]
    return warehouse_of(case) / "db.db" / table


def read(root: Path, suffix: str = "", where: str | None = None) -> pa.Table:
    return (
        open_catalog({"warehouse": str(root.parent.parent)}).get_table(f"db.{root.name}{suffix}").to_arrow(where=where)
    )


def rows_of(table: pa.Table) -> list[str]:
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def damaged(root: Path) -> Iterator[tuple[str, str, bool]]:
    """Damages one file of the table after the other: the file's path, what happened to it, whether bytes are lost."""
    for name in one_of_each_kind(root):
        path = root / name
        content = path.read_bytes()
        for damage in damages(content):
            if damage.content is None:
                path.unlink()
            else:
                path.write_bytes(damage.content)
                # Long ago: a file that has just been written might still be growing, and reads would wait for it. And
                # never twice the same: that would be the same file for a cache.
                moment = next(MOMENTS)
                os.utime(path, (moment, moment))
            try:
                yield name, damage.name, damage.lossy
            finally:
                path.write_bytes(content)


def attempt(root: Path, suffix: str = "", where: str | None = None) -> pa.Table | PaimonError:
    """What a read gives. Any error but one of our own fails the test."""
    try:
        return read(root, suffix, where)
    except PaimonError as error:
        return error


def test_a_read_gives_the_right_rows_or_names_the_damaged_file(root: Path) -> None:
    right = rows_of(read(root))
    failed = 0
    for path, damage, lossy in damaged(root):
        actual = attempt(root)
        about = f"{path}: {damage}"
        if isinstance(actual, PaimonError):
            failed += 1
            assert actual.fix, about
            named = f"{actual.found} {actual.where}"
            # Another byte may make a good file say something about others that is not so.
            assert not lossy or path.rsplit("/", 1)[-1] in named or path.split("/")[0] in named, f"{about}: {actual}"
        elif lossy and not (kind_of(path) == "snapshot" and damage == "gone"):
            # Without its newest snapshot a table is what it was before, as after a rollback.
            assert rows_of(actual) == right, about
    assert failed > 20
    assert rows_of(read(root)) == right


@SOME
def test_reads_with_a_filter(root: Path) -> None:
    column = open_catalog({"warehouse": str(root.parent.parent)}).get_table(f"db.{root.name}").schema.fields[0].name
    where = f"{column} is not null"
    right = rows_of(read(root, where=where))
    for path, damage, lossy in damaged(root):
        actual = attempt(root, where=where)
        if lossy and not isinstance(actual, PaimonError) and kind_of(path) != "snapshot":
            assert rows_of(actual) == right, f"{path}: {damage}"


@SOME
def test_system_tables_give_the_right_rows_or_an_error(root: Path) -> None:
    right = {name: rows_of(read(root, f"${name}")) for name in SYSTEM_TABLES}
    for path, damage, lossy in damaged(root):
        for name, rows in right.items():
            actual = attempt(root, f"${name}")
            if lossy and damage != "gone" and not isinstance(actual, PaimonError):
                assert rows_of(actual) == rows, f"${name}, {path}: {damage}"


@pytest.mark.parametrize("hint", ["LATEST", "EARLIEST"])
@pytest.mark.parametrize("text", ["", "0", "-1", "1", "99999", "nonsense", "1\n", "9" * 40])
def test_hints_that_lie_change_no_row_of_a_read(warehouse_of: Callable[[str], Path], hint: str, text: str) -> None:
    root = warehouse_of("pk_dedup_compacted") / "db.db" / "t"
    right = rows_of(read(root))
    path = root / "snapshot" / hint
    content = path.read_bytes() if path.exists() else None
    try:
        path.write_text(text)
        assert rows_of(read(root)) == right
    finally:
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
