"""The examination of tables: whole ones have no fault, and of damaged ones it names the damaged file."""

import os
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from maintenance.fs.file_io import FileIO
from maintenance.operations.checks.fsck import FsckReport, fsck
from tests.damage.damages import damages, kind_of, one_of_each_kind
from tests.golden.case import case_names, extract

TABLES = {
    "keyed": ("pk_dedup_compacted", "t"),
    "deletion vectors": ("dv_append", "p"),
    "index files": ("file_index_bloom", "bloom_filter_files"),
    "changelog": ("expiry_consumers", "t"),
    "tags": ("tags_rollback", "t"),
    "branches": ("branches", "t"),
    "dynamic buckets": ("dynamic_bucket", None),
}
MOMENTS = count(1000)


@pytest.fixture(scope="module")
def warehouse_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("fsck")
    return cache(lambda case: extract(case, folder))


def examined(root: Path, *, deep: bool = True) -> FsckReport:
    return fsck(FileIO(), str(root), deep=deep)


@pytest.mark.parametrize("case", case_names())
def test_tables_of_paimon_are_whole(warehouse_of: Callable[[str], Path], case: str) -> None:
    for schema in sorted(warehouse_of(case).glob("*.db/*/schema")):
        report = examined(schema.parent)
        assert [fault for fault in report.faults if fault.kind != "unsupported"] == []
        assert report.states > 0 or not any((schema.parent / "snapshot").glob("snapshot-*"))
        assert report.read_files <= report.data_files
        if report.healthy:
            assert report.read_files == report.data_files


@pytest.fixture(params=TABLES)
def root(request: pytest.FixtureRequest, warehouse_of: Callable[[str], Path]) -> Path:
    case, table = TABLES[request.param]
    tables = sorted(warehouse_of(case).glob("db.db/*/schema"))
    return tables[0].parent if table is None else warehouse_of(case) / "db.db" / table


def test_it_names_what_is_damaged(root: Path) -> None:
    """Every kind of file; bytes that only changed may mean something else, and need not show."""
    for name in one_of_each_kind(root):
        path = root / name
        content = path.read_bytes()
        for damage in damages(content):
            if damage.content is None:
                path.unlink()
            else:
                path.write_bytes(damage.content)
                moment = next(MOMENTS)
                os.utime(path, (moment, moment))
            report = examined(root)
            path.write_bytes(content)
            unseen = kind_of(name) == "hint" and damage.name == "gone"
            # Nothing else knows of these, and of an older one there may be no more need.
            unknown = ("snapshot", "tag", "changelog", "consumer", "schema", "branch")
            ends = damage.name == "gone" and kind_of(name) in unknown
            if damage.lossy and not unseen and not ends:
                actual = (*report.faults, *report.notes)
                named = [fault for fault in actual if path.name in fault.object or path.name in fault.detail]
                assert named, f"{name}: {damage.name}: {actual}"
                assert all(fault.fix for fault in actual)
    assert all(fault.kind == "unsupported" for fault in examined(root).faults)
