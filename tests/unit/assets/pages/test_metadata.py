"""What a run of ingestion says of its batches."""

from pathlib import Path

from maintenance.operations.ingestion.ingest import ingest
from maintenance.operations.ingestion.ingest_landed import LandingReport
from paimon_maintenance.assets.pages.metadata import report_metadata
from tests.tables import create_table, keyed


def test_what_the_writer_compacted_is_shown(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"write-only": "false", "num-sorted-run.compaction-trigger": "2"})
    reports = [
        ingest(None, table, keyed({1: f"{i}", 2 + i: "x"}), commit_user="f", commit_identifier=i) for i in range(3)
    ]
    summary = LandingReport.of(table, 3, reports, 1.0)
    assert summary.snapshot_ids == (1, 2, 3, 4)
    assert summary.compacted_buckets == 1
    assert (summary.compaction_input_rows, summary.compaction_output_rows) == (4, 3)
    assert (summary.compacted_before_commit, summary.compaction_warnings) == (0, ())
    assert summary.compaction_seconds > 0
    shown = report_metadata(summary)
    assert shown["compacted buckets"] == 1
    assert shown["compaction warnings (count)"] == 0
