"""What a compaction makes of the records of some keys: their results, and the changelog of what it changes.

Where compactions look up, a key that nothing above level 0 of the compacted files holds is looked up in the levels
above the output; what is found there is merged in as if it were compacted too, but stays where it is. Merge engine
first-row only asks whether there is anything. Source: Java `LookupChangelogMergeFunctionWrapper`,
`FirstRowMergeFunctionWrapper`, `FullChangelogMergeFunctionWrapper`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.compaction.lookup_levels import LookupLevels, OlderRecords
from maintenance.merge.changelog import before_full_compaction, before_lookup, changelog
from maintenance.merge.engine import MergeEngine
from maintenance.merge.ordered import RUN_COLUMN, KeyGroups, group_by_key
from maintenance.merge.sort_words import key_ranks
from maintenance.read.windows import Window


@dataclass(frozen=True, slots=True)
class MergedKeys:
    """What became of some keys.

    Attributes: `results`: one record for each key that has one, retractions included; `changelog`: None if there is
        none; `outdated`: older records that are deleted, row numbers by data file.
    """

    results: pa.Table
    changelog: pa.Table | None = None
    outdated: Mapping[str, BitMap] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Merging:
    """How a compaction merges.

    Attributes:
        top: the highest level.
        produces: changelog is wanted: with `looks_up` that of producer lookup, else that of full-compaction.
        compared: see `changelog`.
        first_row: the merge engine is first-row.
        above: the levels above the output.
        newest_wins: what is found there is deleted and of no other meaning: the newest record is the row.
    """

    engine: MergeEngine
    top: int
    produces: bool
    looks_up: bool
    compared: tuple[str, ...] | None
    first_row: bool
    above: LookupLevels = field(default_factory=lambda: LookupLevels((), ()))
    newest_wins: bool = False

    def merged(self, window: Window, run_levels: np.ndarray) -> MergedKeys:
        """Merge records, against the highest level if changelog is wanted. `run_levels`: the level of each run."""
        results = self.engine.merge(window.rows, window.groups, run_levels)
        if not self.produces or self.looks_up:
            return MergedKeys(results)
        at_top = run_levels[window.rows.column(RUN_COLUMN).to_numpy()] == self.top
        before = before_full_compaction(window.rows, window.groups, at_top)
        return MergedKeys(results, changelog(window.rows, results, before, same_is_no_change=self.compared))

    def looked_up(self, window: Window, run_levels: np.ndarray) -> MergedKeys:
        """Merge records with the levels above; changelog is of the keys with records of level 0."""
        levels = run_levels[window.rows.column(RUN_COLUMN).to_numpy()]
        high = np.logical_or.reduceat(levels[window.groups.order] > 0, window.groups.starts)
        older = self._older(window, ~high)
        if self.first_row:
            return self._first_rows(window, high, older)
        outdated: dict[str, BitMap] = {}
        for of_level in older:
            for name, places in of_level.places.items():
                outdated.setdefault(name, BitMap()).update(places)
        if self.newest_wins:
            return MergedKeys(self.engine.merge(window.rows, window.groups, run_levels, lone_too=True), None, outdated)
        rows, groups = _together(window, older, len(run_levels), self.engine)
        run_levels = np.append(run_levels, [of_level.level for of_level in older]).astype(np.int64)
        results = self.engine.merge(rows, groups, run_levels, lone_too=True)
        if not self.produces:
            return MergedKeys(results, None, outdated)
        before = before_lookup(rows, groups, run_levels[rows.column(RUN_COLUMN).to_numpy()])
        return MergedKeys(results, changelog(rows, results, before, same_is_no_change=self.compared), outdated)

    def _older(self, window: Window, chosen: np.ndarray) -> list[OlderRecords]:
        """Older records of those keys of a window for which `chosen` holds."""
        if not self.above.readers or not chosen.any():
            return []
        firsts = window.groups.order[window.groups.starts[chosen]]
        return self.above.find(window.rows.select(list(self.engine.order.key)).take(pa.array(firsts)))

    def _first_rows(self, window: Window, high: np.ndarray, older: list[OlderRecords]) -> MergedKeys:
        results = self.engine.merge(window.rows, window.groups, lone_too=True)
        new = ~high
        if older:
            columns = [
                pa.concat_arrays([part.column(name).combine_chunks() for part in (results, *(o.rows for o in older))])
                for name in self.engine.order.key
            ]
            ranks = key_ranks(columns)
            new &= ~np.isin(ranks[: results.num_rows], ranks[results.num_rows :])
        return MergedKeys(_only(results, high | new), _only(results, new) if self.produces else None)


def _only(rows: pa.Table, kept: np.ndarray) -> pa.Table:
    return rows if kept.all() else rows.filter(pa.array(kept))


def _together(
    window: Window, older: list[OlderRecords], first_run: int, engine: MergeEngine
) -> tuple[pa.Table, KeyGroups]:
    """The records of a window and older ones of its keys, whose runs are numbered from `first_run`."""
    if not older:
        return window.rows, window.groups
    # A window may hold rows of keys that are not complete yet.
    own = window.rows.take(pa.array(window.groups.order))
    parts = [own]
    for number, of_level in enumerate(older, first_run):
        run = pa.repeat(pa.scalar(number, pa.int32()), of_level.rows.num_rows)
        parts.append(of_level.rows.append_column(RUN_COLUMN, run))
    rows = pa.concat_tables(parts).combine_chunks()
    groups = group_by_key(rows, engine.order, RUN_COLUMN)
    # Rows that merely came along with those looked up are of no key of the window.
    has_own_row = np.logical_or.reduceat(groups.order < own.num_rows, groups.starts)
    if has_own_row.all():
        return rows, groups
    counts = np.diff(groups.starts, append=len(groups.order))
    return rows, KeyGroups(
        groups.order[np.repeat(has_own_row, counts)], np.append(0, np.cumsum(counts[has_own_row])[:-1])
    )
