"""Judging a table whatever state it is in: what is damaged is named, and what can still be judged is judged."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.readable import READABLE
from maintenance.operations.refs.create_tag import create_tag
from maintenance.project.config import TableConfig
from paimon_maintenance.assets.checks.due import Automation
from paimon_maintenance.assets.checks.judgements import DESCRIPTIONS
from paimon_maintenance.assets.checks.judging import look_at
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.tables import create_table, keyed


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Two commits and a tag."""
    table = create_table(tmp_path)
    for number in range(2):
        table.write_arrow(keyed({number: "a"}), commit_user="till", commit_identifier=number)
    create_tag(table, "kept")
    return table


def looked_at(folder: Path) -> dict[str, Judgement]:
    actual = look_at(
        PaimonCatalog(warehouse=str(folder)), TableConfig(identifier="db.t"), datetime.now(UTC), automation=Automation()
    )
    return {judgement.check: judgement for judgement in actual}


def cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:30])
    return path


def gone(path: Path) -> Path:
    path.unlink()
    return path


def data_file(table: CatalogTable) -> Path:
    return min((Path(table.location) / "bucket-0").iterdir())


def manifest(table: CatalogTable) -> Path:
    return Path(table.paths.manifest(table.manifests.data_manifests(table.snapshots.get(2))[0].file_name))


def manifest_list(table: CatalogTable) -> Path:
    return Path(table.paths.manifest(table.snapshots.get(2).base_manifest_list))


def consumer(table: CatalogTable) -> Path:
    path = Path(table.location) / "consumer" / "consumer-job"
    path.parent.mkdir()
    path.write_text("{}")
    return path


# What is damaged, and the checks that can be judged all the same.
_ALL = DESCRIPTIONS.keys()
DAMAGES: dict[str, tuple[Callable[[CatalogTable], Path], set[str]]] = {
    "newest snapshot": (lambda table: cut(Path(table.paths.snapshot(2))), {READABLE}),
    "schema": (lambda table: cut(Path(table.paths.schema(0))), {READABLE}),
    "manifest": (lambda table: gone(manifest(table)), {READABLE}),
    "manifest list": (lambda table: cut(manifest_list(table)), {READABLE}),
    "tag": (lambda table: cut(Path(table.paths.tag("kept"))), _ALL - {"retention_blockers", "expiry_due"}),
    "consumer": (consumer, _ALL - {"retention_blockers", "expiry_due"}),
    "data file": (lambda table: cut(data_file(table)), set(_ALL)),
    "missing data file": (lambda table: gone(data_file(table)), set(_ALL)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_named_and_the_rest_is_judged(damage: str, tmp_path: Path, table: CatalogTable) -> None:
    before = looked_at(tmp_path)
    assert before.keys() == _ALL
    assert all(judgement.passed for judgement in before.values())
    broken, judged = DAMAGES[damage]
    path = broken(table)
    actual = looked_at(tmp_path)
    assert [name for name, judgement in actual.items() if not judgement.passed] == [READABLE]
    assert path.name in actual[READABLE].summary
    assert actual[READABLE].fix
    assert actual.keys() == judged


def test_the_next_step_names_the_state_to_go_back_to(tmp_path: Path, table: CatalogTable) -> None:
    cut(Path(table.paths.snapshot(2)))
    actual = looked_at(tmp_path)[READABLE]
    assert "Snapshot 1 (" in actual.fix
    assert "the job rollback, with snapshot_id: 1," in actual.fix


def test_an_older_snapshot_that_is_broken_hides_what_needs_it(tmp_path: Path, table: CatalogTable) -> None:
    path = cut(Path(table.paths.snapshot(1)))
    actual = looked_at(tmp_path)
    assert [name for name, judgement in actual.items() if not judgement.passed] == [READABLE]
    assert path.name in actual[READABLE].summary
    assert "snapshot_chain_intact" not in actual, "it must not go on saying that snapshots follow one another"
    assert actual["freshness"].passed
