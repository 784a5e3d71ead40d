"""Whatever happens to a file: writes, compactions and expiries end with our own errors and delete nothing needed."""

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.errors import PaimonError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.rename_tag import rename_tag
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.types.arrow import arrow_type
from tests.damage.damages import Damage, damages, kind_of, one_of_each_kind
from tests.golden.case import extract

TABLES = {"tags": ("tags_rollback", "t"), "partitioned": ("partitioned", "p_int"), "branches": ("branches", "t")}
DAMAGES = ("gone", "empty", "cut to a third", "flipped bit 0", "noise")
MOMENTS = count(1000)


@pytest.fixture(scope="session")
def warehouse_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("originals")
    return cache(lambda case: extract(case, folder))


@pytest.fixture(params=TABLES)
def original(request: pytest.FixtureRequest, warehouse_of: Callable[[str], Path]) -> Path:
    """A table's root. Tests copy it."""
    case, table = TABLES[request.param]
    return warehouse_of(case) / "db.db" / table


def opened(root: Path) -> CatalogTable:
    table = open_catalog({"warehouse": str(root.parent.parent)}).get_table(f"db.{root.name}")
    assert isinstance(table, CatalogTable)
    return table


def rows_of(root: Path) -> list[str]:
    rows = opened(root).to_arrow()
    return sorted(map(repr, zip(*(column.to_pylist() for column in rows.columns), strict=True)))


def new_row(table: CatalogTable) -> pa.Table:
    """A row that no golden table has: 77 or x in every column."""
    columns = {}
    for field in table.schema.fields:
        wanted = arrow_type(field.type)
        value = pa.array(["x"]) if pa.types.is_string(wanted) else pa.array([77], pa.int32())
        columns[field.name] = value.cast(wanted)
    return pa.table(columns)


def write(table: CatalogTable) -> object:
    return table.write_arrow(new_row(table))


def full_compaction(table: CatalogTable) -> object:
    return compact(None, table, full=True)


def expire(table: CatalogTable) -> object:
    return expire_snapshots(table, retain_max=1, retain_min=1)


def expire_every_tag(table: CatalogTable) -> object:
    return expire_tags(table, older_than=datetime(2099, 1, 1))


def damaged_copies(original: Path, folder: Path) -> Iterator[tuple[Path, str, Damage]]:
    """A copy of the table for each damage of one of each kind of its files: its root, the damaged file, the damage."""
    for name in one_of_each_kind(original):
        for damage in damages((original / name).read_bytes()):
            if damage.name not in DAMAGES:
                continue
            root = folder / "db.db" / original.name
            shutil.rmtree(root, ignore_errors=True)
            shutil.copytree(original, root)
            if damage.content is None:
                (root / name).unlink()
            else:
                (root / name).write_bytes(damage.content)
                moment = next(MOMENTS)
                os.utime(root / name, (moment, moment))
            yield root, name, damage


def attempt(change: Callable[[CatalogTable], object], root: Path) -> PaimonError | None:
    """Why a change was refused. Any error but one of our own fails the test."""
    try:
        change(opened(root))
    except PaimonError as error:
        return error
    return None


def files_below(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("change", [write, full_compaction, expire, expire_every_tag], ids=lambda c: c.__name__)
def test_changes_of_a_damaged_table_are_refused_or_lose_no_row(
    original: Path, tmp_path: Path, change: Callable[[CatalogTable], object]
) -> None:
    before = rows_of(original)
    refused = 0
    for root, path, damage in damaged_copies(original, tmp_path):
        about = f"{path}: {damage.name}"
        there = files_below(root)
        error = attempt(change, root)
        if error is not None:
            refused += 1
            assert error.fix, about
            assert there <= files_below(root), f"{about}: refused, and files are gone"
        if path in files_below(root) or damage.content is None:
            content = (original / path).read_bytes()
            if kind_of(path) in ("snapshot", "schema", "hint", "branch"):
                # The change may have gone on from an older state, or have written a new file of this name.
                continue
            (root / path).write_bytes(content)
        after = rows_of(root)
        if change is write and after != before:
            assert set(before) < set(after) or len(after) == len(before), about
        else:
            assert after == before, about
    assert refused > 3


OTHERS: dict[str, Callable[[CatalogTable], object]] = {
    "create_tag": lambda table: create_tag(table, "new"),
    "delete_tag": lambda table: delete_tag(table, "r3"),
    "rename_tag": lambda table: rename_tag(table, "r3", "renamed"),
    "create_branch": lambda table: create_branch(table, "new", tag="r3"),
    "rollback_to": lambda table: rollback_to(table, snapshot_id=table.snapshots.earliest_id() or 1),
    "truncate": lambda table: table.truncate(),
    "overwrite": lambda table: table.overwrite_arrow(new_row(table)),
}


@pytest.mark.parametrize("change", OTHERS)
def test_a_refused_change_leaves_every_file(warehouse_of: Callable[[str], Path], tmp_path: Path, change: str) -> None:
    original = warehouse_of("tags_rollback") / "db.db" / "rb"
    OTHERS[change](opened(shutil.copytree(original, tmp_path / "db.db" / "rb")))
    for root, path, damage in damaged_copies(original, tmp_path):
        there = files_below(root)
        error = attempt(OTHERS[change], root)
        if error is not None:
            assert error.fix
            assert there <= files_below(root), f"{path}: {damage.name}"
