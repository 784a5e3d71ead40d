"""A workload that is written down, as the arrivals that it would bring."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from math import ceil, inf
from pathlib import Path
from typing import Any

from maintenance.errors import OptionError
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.operations.tuning.arrivals import Moment, Past, key_at
from maintenance.operations.tuning.overlap import Overlap
from maintenance.table.table import Table

_KEYS = ("uniform", "ascending", "recent")
# The part of the keys that is the newest ones.
_RECENT = 0.1


@dataclass(frozen=True, slots=True)
class Workload:
    """What is written.

    Attributes:
        rows_per_commit, commits_per_hour, hours: how much, how often, how long.
        row_bytes: that a row takes in a file.
        keys: of new rows: `uniform`, anywhere among those there are; `ascending`, behind them; `recent`: behind them,
            and updates are of the newest tenth.
        update_share, delete_share: of the rows, those that replace one, and those that delete one.
        existing_rows: that the table holds before, merged.
        partitions: that get rows with each commit, evenly.
    """

    rows_per_commit: int
    commits_per_hour: float = 12.0
    hours: float = 24.0
    row_bytes: float = 100.0
    keys: str = "uniform"
    update_share: float = 0.0
    delete_share: float = 0.0
    existing_rows: int = 0
    partitions: int = 1

    @classmethod
    def read(cls, path: str) -> "Workload":
        """Of a file of JSON or YAML. Raises: OptionError: it cannot be read, or does not fit."""
        content = _content(path)
        known = {each.name: each.type for each in fields(cls)}
        wrong = [name for name in content if name not in known]
        if wrong:
            raise OptionError(f"a workload has no '{wrong[0]}'", path, f"It has: {', '.join(known)}.")
        for name, value in content.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
            is_whole = known[name] is not int or isinstance(value, int)
            if name != "keys" and not (is_number and is_whole):
                whole = "a whole number" if known[name] is int else "a number"
                raise OptionError(f"'{name}' is {value!r}", path, f"Write {whole}, 0 or more.")
        workload = cls(**{"rows_per_commit": 0, **content})
        workload.check(path)
        return workload

    def check(self, where: str) -> None:
        """Raises: OptionError: nothing comes of it."""
        if self.keys not in _KEYS:
            raise OptionError(f"'keys' is {self.keys!r}", where, f"Write one of: {', '.join(_KEYS)}.")
        for name in ("rows_per_commit", "commits_per_hour", "hours", "partitions"):
            if not getattr(self, name):
                raise OptionError(f"'{name}' is missing or 0", where, "Write how much it is.")
        if self.update_share + self.delete_share > 1:
            problem = "'update_share' and 'delete_share' are more than 1 together"
            raise OptionError(problem, where, "Write which part of the rows they are.")

    @property
    def overlap(self) -> Overlap:
        """How many keys the rows are of: an update is of any key that is there."""
        share = self.update_share + self.delete_share
        return Overlap(per_row=1 / share if share else inf, compactions=1)

    def arrivals(self, table: Table, now: datetime) -> Past:
        """What would come until `now`."""
        end = int(now.timestamp() * 1000)
        commits = ceil(self.hours * self.commits_per_hour)
        step = 3_600_000 / self.commits_per_hour
        return Past(tuple(self._existing(table, end)), tuple(self._moments(table, end, commits, step)))

    def _moments(self, table: Table, end: int, commits: int, step: float) -> Iterator[Moment]:
        top = float(self.existing_rows)
        for number in range(commits):
            millis = int(end - (commits - 1 - number) * step)
            fresh = self.rows_per_commit * (1 - self.update_share - self.delete_share)
            low = top
            if self.keys == "uniform":
                low = 0.0
            elif fresh < self.rows_per_commit:
                low = 0.0 if self.keys == "ascending" else top * (1 - _RECENT)
            top += fresh
            made = _Made(table, f"arrived-{number}", 0, number, (low + 0.5, max(top, low + 1.0)), millis)
            yield Moment(millis, number, tuple(self._files(made, self.rows_per_commit, self.delete_share)))

    def _existing(self, table: Table, end: int) -> Iterator[ManifestEntry]:
        if self.existing_rows:
            top = table.model.num_levels - 1 if table.is_primary_key_table else 0
            made = _Made(table, "start", top, 0, (0.0, float(self.existing_rows)), end)
            yield from self._files(made, self.existing_rows, 0)

    def _files(self, made: "_Made", rows: int, deleted: float) -> Iterator[ManifestEntry]:
        buckets = _buckets(made.table, max(self.existing_rows, rows) // self.partitions)
        for partition in range(self.partitions):
            for bucket in range(max(1, buckets)):
                share = (rows + bucket + partition * max(1, buckets)) // (self.partitions * max(1, buckets))
                if share:
                    yield made.entry(partition, bucket, buckets, share, share * self.row_bytes, round(share * deleted))


def _buckets(table: Table, rows: int) -> int:
    """Of a partition; -1: none."""
    fixed = table.model.bucket
    if fixed > 0 or not table.is_primary_key_table:
        return fixed
    return max(1, ceil(rows / table.model.dynamic_bucket_target_row_num))


@dataclass(frozen=True, slots=True)
class _Made:
    """Where files come from. `places`: of their keys."""

    table: Table
    name: str
    level: int
    number: int
    places: tuple[float, float]
    millis: int

    def entry(self, partition: int, bucket: int, buckets: int, rows: int, size: float, deleted: int) -> ManifestEntry:
        """One file."""
        keyed = self.table.is_primary_key_table
        low, high = (key_at(place) for place in self.places) if keyed else (EMPTY_ROW, EMPTY_ROW)
        file = DataFileMeta(
            f"{self.name}-{partition}-{bucket}", max(1, round(size)), rows, low, high, EMPTY_STATS, EMPTY_STATS,
            self.number, self.number, self.table.schema.id, self.level, creation_time=self.millis,
            delete_row_count=deleted, file_source=FileSource.APPEND,
        )  # fmt: skip
        return ManifestEntry(FileKind.ADD, partition.to_bytes(4, "big"), bucket, buckets, file)


def _content(path: str) -> Mapping[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"the workload cannot be read: {error}", path, "Name another file.") from error
    try:
        content = json.loads(text) if text.lstrip().startswith("{") else _yaml(text, path)
    except ValueError as error:
        raise OptionError(f"this is not JSON: {error}", path, "Correct it.") from error
    if not isinstance(content, dict):
        raise OptionError("the workload is not a mapping", path, "Write NAME: VALUE in each line.")
    return content


def _yaml(text: str, path: str) -> Any:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise OptionError("PyYAML is not installed", path, "Write JSON, or install the extra 'cli'.") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise OptionError(f"this is not YAML: {error}", path, "Correct it.") from error
