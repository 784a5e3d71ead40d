"""`t$tags`: one row for each tag."""

import datetime as dt

import pyarrow as pa

from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.branches import Branches
from maintenance.table.system.local_time import local_millis
from maintenance.table.system.system_table import LOCAL_TIMESTAMP, SystemTable, required
from maintenance.table.table import Table

_EPOCH = dt.datetime(1970, 1, 1)


def _rows(table: Table) -> list[tuple[object, ...]]:
    """`branches` are those made from a tag: each has a copy of it. Paimon had this column for a while before 1.0."""
    tags = table.tags.all()
    branches: dict[str, list[str]] = {name: [] for name in tags}
    for branch in Branches(table.file_io, table.paths).names():
        copies = table.on_branch(branch).tags.all() if branch != table.branch else {}
        for name in tags.keys() & copies.keys():
            if SnapshotIdentity.of(copies[name].snapshot) == SnapshotIdentity.of(tags[name].snapshot):
                branches[name].append(branch)
    return [
        (
            name,
            tag.snapshot.id,
            tag.snapshot.schema_id,
            local_millis(tag.snapshot.time_millis),
            tag.snapshot.total_record_count,
            None if tag.create_time is None else (tag.create_time - _EPOCH) // dt.timedelta(milliseconds=1),
            None if tag.time_retained is None else iso_duration(tag.time_retained),
            f"[{', '.join(branches[name])}]",
        )
        for name, tag in tags.items()
    ]


def iso_duration(duration: dt.timedelta) -> str:
    """A duration as Java prints it: ``PT24H``, ``PT1H30M``, ``PT0.5S``."""
    seconds = duration // dt.timedelta(seconds=1)
    micros = duration.microseconds
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    text = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if rest or fraction or not text:
        text += f"{rest}{fraction}S"
    return "PT" + text


TAGS = SystemTable(
    "tags",
    pa.schema(
        [
            required("tag_name", pa.string()),
            required("snapshot_id", pa.int64()),
            required("schema_id", pa.int64()),
            required("commit_time", LOCAL_TIMESTAMP),
            ("record_count", pa.int64()),
            ("create_time", LOCAL_TIMESTAMP),
            ("time_retained", pa.string()),
        ]
    ),
    _rows,
    (pa.field("branches", pa.string()),),
)
