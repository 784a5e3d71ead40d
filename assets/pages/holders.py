"""The bytes of a table by who holds them, for its page and for plots: live data, older snapshots, each tag, branch and
consumer, the changelog, the bin, and orphans as the check `orphan_bytes` last counted them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Any

import dagster as dg

from maintenance.amounts import size_text, time_text
from maintenance.operations.bin.bytes_in_bin import BytesInBin, bytes_in_bin
from maintenance.operations.retention.held_bytes import (
    BRANCH,
    CHANGELOG,
    CONSUMER,
    LIVE,
    SNAPSHOTS,
    TAG,
    HeldBytes,
    Holdings,
    holdings,
)
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.closing import EXAMINED, latest_results, spots_with_results
from paimon_maintenance.assets.checks.orphan_check import ORPHAN_BYTES
from paimon_maintenance.assets.pages.table_page import text_table
from paimon_maintenance.assets.resources.catalog import PaimonCatalog

WHO_HOLDS = "who holds the bytes"
# Beyond these numbers they are not added up: every manifest of every state is read for it.
_STATES_READ = 300
_CONSUMERS_READ = 10
IN_RUNS, IN_PASSING = 32 << 20, 1 << 20
# Of more tags, branches and consumers, the largest ones have a row or a plot of their own.
_ROWS, _PLOTTED = 30, 10
KINDS = {
    LIVE: "live data",
    SNAPSHOTS: "older snapshots",
    TAG: "tags",
    BRANCH: "branches",
    CHANGELOG: "changelog",
}


@dataclass(frozen=True, slots=True)
class KnownOrphans:
    """What the check of orphans last found, and when."""

    files: int
    bytes: int
    counted: datetime


@dataclass(frozen=True, slots=True)
class Holders:
    """Who holds what. `bin`: None where its runs are too many; `orphans`: None where nobody has counted them."""

    holdings: Holdings
    bin: BytesInBin | None
    orphans: KnownOrphans | None

    def rows(self) -> Iterator[dict[str, str]]:
        """A row for each holder, the largest of each kind first."""
        shown = sorted(self.holdings.holders, key=lambda held: (_ORDER.index(held.kind), -held.bytes, held.name))
        for held in shown[:_ROWS]:
            yield _row(_name(held), held.files, size_text(held.bytes), size_text(held.only_bytes))
        if len(shown) > _ROWS:
            yield _row(f"and {len(shown) - _ROWS:,} more", None, "", "")
        if self.bin is None:
            yield _row("bin", None, "not added up: it has too many runs", "")
        elif self.bin.files:
            yield _row("bin", self.bin.files, size_text(self.bin.bytes), size_text(self.bin.bytes))
        if self.orphans is not None:
            name = f"nothing (orphans, counted {time_text(self.orphans.counted)})"
            size = size_text(self.orphans.bytes)
            yield _row(name, self.orphans.files, size, size)

    def numbers(self) -> dict[str, int]:
        """Plain numbers, since Dagster plots these. The kinds add up to the data files of the table."""
        numbers = {f"bytes of {KINDS[kind.kind]}": kind.bytes for kind in self.holdings.kinds}
        if self.bin is not None:
            numbers["bytes of the bin"] = self.bin.bytes
        if self.orphans is not None:
            numbers["bytes of orphans"] = self.orphans.bytes
        named = [held for held in self.holdings.holders if held.name]
        for held in sorted(named, key=lambda held: (-held.bytes, held.name))[:_PLOTTED]:
            numbers[f"bytes that {_name(held)} needs"] = held.bytes
        return numbers


_ORDER = (*KINDS, CONSUMER)


def _name(held: HeldBytes) -> str:
    return f"{held.kind} {held.name}" if held.name else KINDS[held.kind]


def _row(holder: str, files: int | None, needs: str, alone: str) -> dict[str, str]:
    return {"holder": holder, "files": "" if files is None else f"{files:,}", "needs": needs, "needs alone": alone}


def known_orphans(instance: dg.DagsterInstance, identifiers: Iterable[str]) -> dict[str, KnownOrphans]:
    """What was last counted, of those tables whose orphans anybody has counted."""
    # Whoever asks does not know whether the table is an asset or a partition of its database.
    names = {keys.spot(name, grouped=grouped): name for name in identifiers for grouped in (False, True)}
    results = latest_results(instance, list(names), [ORPHAN_BYTES])
    newest = sorted(results.items(), key=lambda result: float(result[1].create_timestamp))
    found = {names[spot]: _counted(record) for (spot, _), record in newest}
    return {name: orphans for name, orphans in found.items() if orphans is not None}


class OrphansOf:
    """What was last counted of tables. Of `tables`, of many of which nobody has counted, these are found out at once.

    It may be asked in threads.
    """

    def __init__(self, instance: dg.DagsterInstance, tables: Iterable[keys.Shown] = ()) -> None:
        self._instance = instance
        self._spots = {table.identifier: keys.spot_of(table) for table in tables}
        self._lock = Lock()
        self._with_results: set[keys.Spot] | None = None

    def of(self, identifier: str) -> KnownOrphans | None:
        """What was counted of a table; None: nobody has."""
        spot = self._spots.get(identifier)
        if spot is not None and not self._has_result(spot):
            return None
        return known_orphans(self._instance, [identifier]).get(identifier)

    def bytes_of(self, identifier: str) -> int | None:
        """The bytes of it alone."""
        orphans = self.of(identifier)
        return None if orphans is None else orphans.bytes

    def _has_result(self, spot: keys.Spot) -> bool:
        with self._lock:
            if self._with_results is None:
                spots = list(self._spots.values())
                self._with_results = spots_with_results(self._instance, spots, ORPHAN_BYTES)
        return spot in self._with_results


def who_holds(
    orphans: OrphansOf,
    catalog: PaimonCatalog,
    table: Table,
    most_metadata: int,
    warn: Callable[[str], None],
) -> Holders | None:
    """Who holds what of a table; None where there is too much to add up, or with a warning where it cannot be read.

    Args: `most_metadata`: bytes of manifests that may be read, `IN_RUNS` or `IN_PASSING`.
    """
    try:
        if not _is_small(table, most_metadata):
            return None
        in_bin = bytes_in_bin(table, catalog.root()) if catalog.has_root() else BytesInBin()
        return Holders(holdings(table), in_bin, orphans.of(table.identifier))
    except Exception as error:  # noqa: BLE001 - a page must not fail the run that it describes
        warn(f"Who holds the bytes of {table.identifier} could not be determined: {error}")
        return None


def _is_small(table: Table, most_metadata: int) -> bool:
    states = len(table.snapshots.list_ids()) + len(table.tags.names())
    if not 0 < states <= _STATES_READ or len(table.consumers.names()) > _CONSUMERS_READ:
        return False
    manifests = table.file_io.list_files(table.paths.manifest_folder())
    return sum(status.size for status in manifests) <= most_metadata


def holders_page(found: Holders | None) -> dict[str, Any]:
    """Who holds what, as metadata: a table, and numbers to plot."""
    return {} if found is None else {WHO_HOLDS: text_table(list(found.rows())), **found.numbers()}


def _counted(record: Any) -> KnownOrphans | None:
    """What a record of the check says; Dagster has no public name for its type."""
    event = record.event.dagster_event if record.event else None
    evaluated = event.asset_check_evaluation_data if event else None
    if evaluated is None:
        return None
    metadata: Mapping[str, Any] = evaluated.metadata
    if "bytes" not in metadata:
        return None  # they could not be counted
    # Runs repeat a result; it is as old as its first one.
    examined = metadata[EXAMINED].value if EXAMINED in metadata else record.create_timestamp
    counted = datetime.fromtimestamp(examined, UTC)
    return KnownOrphans(int(metadata["files"].value), int(metadata["bytes"].value), counted)
