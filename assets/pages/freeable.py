"""What can be freed of tables, as all pages say it: what the next expiry frees, orphans as they were last counted, what
leaves the bin next, and what an expiry of partitions and a merge of all levels free at most."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from maintenance.operations.bin.bytes_in_bin import BytesInBin
from maintenance.operations.expiry.expire_partitions import DuePartitions
from maintenance.operations.retention.forecast import Forecast
from paimon_maintenance.assets.pages.holders import KnownOrphans, known_orphans


@dataclass(frozen=True, slots=True)
class Beside:
    """What lies beside a table's own files. None: nobody has counted it."""

    orphans: KnownOrphans | None = None
    in_bin: BytesInBin | None = None


NOTHING_KNOWN = Beside()
AskBeside = Callable[[Sequence[str]], Mapping[str, Beside]]
"""Gives what is known beside tables, by their names."""


def nothing_known(_: Sequence[str]) -> Mapping[str, Beside]:
    """Where neither orphans nor the bin are looked at."""
    return {}


def forecast_of(freed: int | None, partitions: DuePartitions | None, mergeable: int | None, beside: Beside) -> Forecast:
    """What can be freed of a table. `freed`: by the next expiry, `mergeable`: by a merge of all levels, in bytes;
    `partitions`: that are past their retention."""
    orphans = beside.orphans
    counted = None if orphans is None else (orphans.files, orphans.bytes)
    return Forecast.of(freed, partitions, counted, beside.in_bin, mergeable)


def beside_of(instance: dg.DagsterInstance, bins: Callable[[], Mapping[str, BytesInBin] | None]) -> AskBeside:
    """What is known beside tables. `bins`: as of `due_in_bin`, asked where it is needed."""

    def found(names: Sequence[str]) -> Mapping[str, Beside]:
        orphans, due = known_orphans(instance, names), bins()
        return {name: Beside(orphans.get(name), None if due is None else due.get(name, BytesInBin())) for name in names}

    return found
