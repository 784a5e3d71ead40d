"""Where files go that fail verification, and what is told of them."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyroaring import BitMap

from maintenance.catalog import CatalogTable
from maintenance.compaction.proof.findings import Findings
from maintenance.compaction.proof.quarantine import refuse
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.binary_row import serialize_row
from maintenance.types.data_type import parse_type
from maintenance.types.row_hash import Digest
from maintenance.write.deletion_vectors import BucketVectors
from maintenance.write.message import CommitMessage, VectorsChange
from tests.tables import create_table, live
from tests.unit.compaction.files import data_file

FINDINGS = Findings(["one thing", "another"], Digest(3, 4, 5), Digest(2, 6, 7))


def partitioned(folder: Path) -> tuple[CatalogTable, list[DataFileMeta]]:
    """A table with two files in the partition p = 1."""
    options = {"deletion-vectors.enabled": "true"}
    table = create_table(folder, [("p", "INT"), ("v", "STRING")], (), options, partition_keys=["p"])
    for text in "ab":
        table.write_arrow(pa.table({"p": pa.array([1], pa.int32()), "v": [text]}))
    return table, [entry.file for entry in live(table)]


def told(table: CatalogTable) -> tuple[Path, dict[str, Any]]:
    (path,) = Path(table.location).glob("_quarantine/*/proof.json")
    report: dict[str, Any] = json.loads(path.read_text())
    return path.parent, report


def test_what_is_put_away_and_what_is_told(tmp_path: Path) -> None:
    table, (file, other) = partitioned(tmp_path)
    context, partition = table.write_context(), serialize_row([1], [parse_type("INT")])
    old = data_file("old", level=2, size=77)
    vectors = BucketVectors(context, partition, 0, ()).change({"z": BitMap([1])})
    assert isinstance(vectors, VectorsChange)
    (index,) = vectors.added
    lost = dataclasses.replace(file, file_name="lost.parquet")
    message = CommitMessage(partition, 0, -1, compact_before=(old,), compact_after=(file, lost), vectors=vectors)
    second = CommitMessage(partition, 1, -1, new_files=(other,))
    # The files of another bucket are where that bucket's are.
    elsewhere = Path(table.location) / "p=1" / "bucket-1"
    elsewhere.mkdir()
    (Path(table.location) / "p=1" / "bucket-0" / other.file_name).rename(elsewhere / other.file_name)
    error = refuse(context, message, FINDINGS, subject="compaction", snapshot_id=9, others=[second])
    folder, report = told(table)
    moved = [f"p=1/bucket-0/{file.file_name}", f"index/{index.file_name}", f"p=1/bucket-1/{other.file_name}"]
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == sorted(
        [*moved, "proof.json"]
    )
    time = report.pop("time")
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", folder.name)
    assert folder.name[:8] == time[:10].replace("-", "")

    def facts(of: DataFileMeta) -> dict[str, object]:
        return {"name": of.file_name, "rows": of.row_count, "bytes": of.file_size, "level": of.level}

    assert report == {
        "table": context.name,
        "rewrite": "compaction",
        "planned on snapshot": 9,
        "partition": "p=1",
        "bucket": 0,
        "wrong": ["one thing", "another"],
        "expected": {"rows": 3, "digest": FINDINGS.expected.text},
        "given": {"rows": 2, "digest": FINDINGS.given.text},
        "read": [facts(old)],
        "written": [facts(file), facts(lost), facts(other)],
        "files": moved,
        "missing": ["p=1/bucket-0/lost.parquet"],
    }
    assert "one thing; another" in str(error)
    assert str(folder) in str(error)
    assert "snapshot 9, p=1 bucket 0" in str(error)
    assert f"expected {FINDINGS.expected}, given {FINDINGS.given}" in str(error)


def test_files_outside_of_the_table_keep_their_names_alone(tmp_path: Path) -> None:
    table, (file, _) = partitioned(tmp_path / "warehouse")
    context, partition = table.write_context(), serialize_row([1], [parse_type("INT")])
    beyond = tmp_path / "beyond"
    beyond.mkdir()
    (beyond / "far.parquet").write_bytes(b"x")
    far = dataclasses.replace(file, file_name="far.parquet", external_path=f"file:{beyond}/far.parquet")
    message = CommitMessage(partition, 0, -1, compact_after=(far,))
    refuse(context, message, FINDINGS, subject="compaction", snapshot_id=None)
    folder, report = told(table)
    assert (report["files"], report["missing"]) == (["far.parquet"], [])
    assert (folder / "far.parquet").read_bytes() == b"x"
    assert not (beyond / "far.parquet").exists()
