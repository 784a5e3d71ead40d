"""The quarantine: where files go that failed verification, and what is recorded about them.

`<table>/_quarantine/<UTC time>-<id>/` holds the files in the folders they had below the table, and `proof.json`. Names
that begin with an underscore are neither partitions nor buckets, so nothing takes the folder for a part of the table.
"""

import datetime as dt
import json
import uuid
from collections.abc import Iterator, Sequence

from maintenance.compaction.proof.findings import Findings
from maintenance.errors import ProofError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.metadata.paths import bucket_text
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage

FOLDER = "_quarantine"
REPORT = "proof.json"
_FIX = (
    "Nothing was committed, and the table is unchanged. The files and what was compared are in {folder}: keep "
    "it to report this fault and delete it later. Compact again; if that fails again, do not switch the proof off"
)


def refuse(
    write: WriteContext,
    message: CommitMessage,
    findings: Findings,
    *,
    subject: str,
    snapshot_id: int | None,
    others: Sequence[CommitMessage] = (),
) -> ProofError:
    """Move what was written out of the way. Returns the error to raise.

    Args: `message`: of the bucket that is named; `others`: of other buckets, where they fall together.
    """
    now = dt.datetime.now(dt.UTC)
    folder = f"{write.paths.root}/{FOLDER}/{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"
    refused = (message, *others)
    moved: list[str] = []
    missing: list[str] = []
    for path in (path for each in refused for path in _paths(write, each)):
        inside = path.startswith(f"{write.paths.root}/")
        relative = path.removeprefix(f"{write.paths.root}/") if inside else path.rpartition("/")[2]
        try:
            write.file_io.move_file(path, f"{folder}/{relative}")
        except FileNotFoundError:
            # A message may name what is not there: that is a finding, and no reason to say nothing of the others.
            missing.append(relative)
        else:
            moved.append(relative)
    partition = str(write.paths.partition(message.partition))
    place = f"table {write.name}, snapshot {snapshot_id}, {bucket_text(partition, message.bucket)}"
    report = {
        "table": write.name,
        "rewrite": subject,
        "planned on snapshot": snapshot_id,
        "partition": partition,
        "bucket": message.bucket,
        "time": now.isoformat(),
        "wrong": list(findings.wrong),
        "expected": {"rows": findings.expected.rows, "digest": findings.expected.text},
        "given": {"rows": findings.given.rows, "digest": findings.given.text},
        "read": [_file_facts(file) for file in message.compact_before],
        "written": [_file_facts(file) for each in refused for file in each.written()],
        "files": moved,
        "missing": missing,
    }
    write.file_io.write_bytes(f"{folder}/{REPORT}", json.dumps(report, indent=2).encode())
    problem = (
        f"{subject} failed verification: expected {findings.expected}, "
        f"given {findings.given}: {'; '.join(findings.wrong)}"
    )
    return ProofError(problem, place, _FIX.format(folder=folder) + ".")


def _paths(write: WriteContext, message: CommitMessage) -> Iterator[str]:
    """What exists because of a message."""
    for file in message.written():
        yield from write.paths.all_files_of(message.partition, message.bucket, file)
    yield from map(write.paths.index_file, message.index_files)


def _file_facts(file: DataFileMeta) -> dict[str, object]:
    return {"name": file.file_name, "rows": file.row_count, "bytes": file.file_size, "level": file.level}
