"""A living writer of the Java core that compacts beside us brings deleted rows back; that is refused, and told of."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError, OptionError
from maintenance.monitor.vectors import deletion_vectors_intact
from maintenance.operations.compaction.compact import compact
from maintenance.operations.refs.rollback_to import rollback_to
from tests.java.process import JavaProcess
from tests.tables import create_table, state

OPTIONS = {"deletion-vectors.enabled": "true", "write-only": "false"}


class Job:
    """A streaming writer that lives on from commit to commit."""

    def __init__(self, java: JavaProcess, warehouse: Path) -> None:
        self._java, self._warehouse, self.commits = java, str(warehouse), 0

    def write(self, keys: range, value: str) -> None:
        self.commits += 1
        self._java.write_stream(self._warehouse, "db.t", "flink-job", self.commits, [(key, value) for key in keys])


@pytest.fixture
def job(java: JavaProcess, tmp_path: Path) -> Job:
    return Job(java, tmp_path)


def table_of_the_job(folder: Path, job: Job) -> CatalogTable:
    """4,000 keys, 800 of them written again: their older rows are deleted by a vector.

    Each commit is so much smaller than the one before that the job's compaction leaves the older files where they are.
    """
    table = create_table(folder, options=OPTIONS)
    job.write(range(4000), "a")
    job.write(range(800), "b")
    assert len(state(table)) == 4000
    return table


def test_ours_refuses_beside_it(tmp_path: Path, job: Job) -> None:
    table = table_of_the_job(tmp_path, job)
    before = table.snapshots.latest_id()
    with pytest.raises(OptionError, match="by commit user 'flink-job' is a compaction of its own"):
        compact(None, table, full=True)
    assert table.snapshots.latest_id() == before
    job.write(range(780, 830), "c")
    assert len(state(table)) == 4000
    assert deletion_vectors_intact(table).passed


def test_what_it_does_to_deletions_is_refused_and_told(tmp_path: Path, java: JavaProcess, job: Job) -> None:
    table = table_of_the_job(tmp_path, job)
    (ours,) = compact(None, table, full=True, beside_other_compactors=True).snapshot_ids
    assert len(state(table)) == 4000
    job.write(range(780, 830), "c")
    assert len(java.rows(str(tmp_path), "db.t")) > 4000, "Java's own readers return deleted rows"
    with pytest.raises(CorruptFileError, match="by commit user 'flink-job'"):
        state(table)
    actual = deletion_vectors_intact(table)
    assert not actual.passed
    assert "by 'flink-job'" in actual.summary
    with pytest.raises(CorruptFileError, match="is no longer part of the table"):
        compact(None, table, full=True, beside_other_compactors=True)
    rollback_to(table, snapshot_id=ours)
    assert len(state(table)) == 4000
    assert deletion_vectors_intact(table).passed
