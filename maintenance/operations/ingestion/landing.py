"""The micro-batches in a table's landing folder, and which of them are still to be committed.

The table itself says what has been ingested: the newest snapshot of the feed's commit user, or its commit record once
that has expired. Nothing else is stored, so a run that died in the middle needs no repair.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from maintenance.commit.replays import last_committed
from maintenance.errors import DataError, NotFoundError
from maintenance.fs.file_io import FileIO
from maintenance.operations.ingestion.cdc.forms import NAMES
from maintenance.operations.parameters import Param, one_of
from maintenance.table.table import Table

PARQUET, SET_ASIDE = "parquet", "set_aside"
_FILE_NAME = re.compile(r"(\d+)-batch-(\d+)\.(.+)")
_ENDS = {PARQUET: ("parquet",)}
_ENDS_OF_MESSAGES = ("json", "json.gz")


@dataclass(frozen=True, slots=True)
class LandingFolder:
    """A folder into which a feed delivers micro-batches, one file named ``<delivery>-batch-<number>`` each.

    Source of the forms of change messages: `cdc.forms`.
    """

    path: Annotated[str, Param("The folder, with files such as 00007-batch-00012.parquet.", others=("folder",))]
    commit_user: Annotated[str, Param("Stable name of the feed: with the batch number it identifies a commit.")]
    row_kind_column: Annotated[str | None, Param("Column with +I, -U, +U or -D; empty: all rows are +I.")] = None
    format: Annotated[
        str,
        Param(
            "The format of the files: parquet, or change messages such as debezium-json.", read=one_of(PARQUET, *NAMES)
        ),
    ] = PARQUET
    format_options: Annotated[Mapping[str, str], Param("Options of the messages, as k1=v1,k2=v2.")] = field(
        default_factory=dict
    )
    bad_lines: Annotated[
        str,
        Param(
            "What to do with unreadable lines. fail: stop. set_aside: write them to a file, and commit the others.",
            read=one_of("fail", SET_ASIDE),
        ),
    ] = "fail"

    @property
    def ends(self) -> tuple[str, ...]:
        """What the names of its files end in."""
        return _ENDS.get(self.format, _ENDS_OF_MESSAGES)


@dataclass(frozen=True, slots=True, order=True)
class LandedBatch:
    """One delivered file. Deliveries are taken in order; `identifier` is the batch's commit identifier."""

    delivery: int
    identifier: int
    path: str


def landed_batches(file_io: FileIO, landing: LandingFolder) -> list[LandedBatch]:
    """All files in the landing folder, by delivery; none if the folder is not there yet. Files of other names are an
    error, since leaving one out would lose data."""
    batches, folder = [], landing.path
    for name in file_io.list_names(folder):
        if name.startswith((".", "_")):  # being written, or a marker such as _SUCCESS
            continue
        match = _FILE_NAME.fullmatch(name)
        if match is None or match[3] not in landing.ends:
            fix = f"Name it <delivery>-batch-<number>.{landing.ends[0]}, or move it away."
            problem = f"the file name '{name}' is not that of a batch of format '{landing.format}'"
            raise DataError(problem, folder, fix)
        batches.append(LandedBatch(int(match[1]), int(match[2]), f"{folder.rstrip('/')}/{name}"))
    return sorted(batches)


def still_to_commit(batches: Sequence[LandedBatch], committed: int | None) -> list[LandedBatch]:
    """The batches from the first on that is newer than `committed`, the newest identifier of this feed in the table.

    Repeated deliveries among them stay in: the commit itself recognises them.
    """
    if committed is None:
        return list(batches)
    new = [place for place, batch in enumerate(batches) if batch.identifier > committed]
    return list(batches[new[0] :]) if new else []


def waiting_batches(
    file_io: FileIO,
    table: Table | None,
    landing: LandingFolder,
    *,
    limit: int | None = None,
    committed: int | None = None,
) -> tuple[Sequence[LandedBatch], Sequence[LandedBatch]]:
    """All batches that landed, and those that are to be committed, by delivery.

    Args:
        table: None if it does not exist yet.
        limit: at most this many are to be committed; None = all.
        committed: number of the last batch in the table; None = the table is asked.
    Raises: DataError; NotFoundError: as `committed_identifier`.
    """
    landed = landed_batches(file_io, landing)
    if committed is None and table is not None:
        committed = committed_identifier(table, landing.commit_user)
    return landed, still_to_commit(landed, committed)[:limit]


def committed_identifier(table: Table, commit_user: str) -> int | None:
    """The newest commit identifier of `commit_user` in the table; None if it never committed.

    Raises: NotFoundError: that cannot be known any more, because older snapshots have expired and nothing else knows.
    """
    last = last_committed(table.commit_target(), commit_user)
    if last is not None:
        return last
    tagged = [tag.snapshot for tag in table.tags.all().values() if tag.snapshot.commit_user == commit_user]
    if tagged:
        return max(int(snapshot.commit_identifier) for snapshot in tagged)
    if table.snapshots.earliest_id() in (None, 1):
        return None
    raise NotFoundError(
        f"there is no snapshot and no commit record of '{commit_user}', so it is unknown which batches the table has",
        table.identifier,
        "Set `committed` to the number of the last batch that is in the table.",
    )
