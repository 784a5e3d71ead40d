"""The settings of a table whose effect is sure and that can be taken back, and which of them would do it good.

One option at a time, so that what is measured afterwards comes of it. A setting is good where a simulation finds that
it costs no more in writes, reads, files and bytes, and clearly less in one of them; and sure where the same simulation
under the table's own settings ends with the files that there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from maintenance.amounts import size_text
from maintenance.errors import OptionError, UnsupportedError
from maintenance.operations.ingestion.inline import compacts_inline
from maintenance.operations.tuning.simulate_settings import (
    SNAPSHOTS,
    SimulatedSettings,
    SimulationReport,
    simulate_settings,
)
from maintenance.options import table as table_options
from maintenance.options.option import Option
from maintenance.table.table import Table

_TRIGGER, _FULL = table_options.NUM_SORTED_RUN_COMPACTION_TRIGGER, table_options.FULL_COMPACTION_DELTA_COMMITS
_FEWEST_FILES, _TARGET = table_options.COMPACTION_MIN_FILE_NUM, table_options.TARGET_FILE_SIZE
_TIME, _MOST = table_options.SNAPSHOT_TIME_RETAINED, table_options.SNAPSHOT_NUM_RETAINED_MAX
_SURE: Mapping[str, tuple[Option[Any], Sequence[str]]] = {
    _TRIGGER.key: (_TRIGGER, ("3", "5", "8", "12")),
    _FULL.key: (_FULL, ("5", "10", "20", "50")),
    _FEWEST_FILES.key: (_FEWEST_FILES, ("3", "5", "10", "20")),
    _TARGET.key: (_TARGET, ("64 mb", "128 mb", "256 mb", "512 mb")),
    # What is kept is for people to bound.
    _TIME.key: (_TIME, ()),
    _MOST.key: (_MOST, ()),
}
SURE = tuple(_SURE)
RETENTION = (_TIME.key, _MOST.key)
_AS_GOOD, _BETTER = 1.02, 0.9
# Of the files that there are, how many more or less a replay may end with.
_TRUE = 0.1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of an option, as they are written: the least and the most that may be set."""

    least: str
    most: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A setting to apply; with no `key`: none, and `reason` says why."""

    reason: str
    key: str = ""
    value: str = ""


def bounds_of(given: Mapping[str, Sequence[Any]]) -> dict[str, Bounds]:
    """Bounds as they are written: ``{snapshot.time-retained: [1 h, 7 d]}``. Raises: ValueError: what is wrong."""
    found = {}
    for key, pair in given.items():
        if key not in SURE:
            raise ValueError(f"'{key}' is not set by tuning: there are {', '.join(SURE)}")
        if isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"the bounds of '{key}' are the least and the most, such as [1 h, 7 d]")
        bounds = Bounds(*(str(each).strip() for each in pair))
        if _read(key, bounds.least) > _read(key, bounds.most):
            raise ValueError(f"the least of '{key}' is more than the most: {bounds.least}, {bounds.most}")
        found[key] = bounds
    return found


def _read(key: str, value: str) -> Any:
    """Raises: ValueError: it is none."""
    try:
        return _SURE[key][0].of({key: value})
    except OptionError as error:
        raise ValueError(f"{error.found}. {error.fix}") from error


def values_to_try(table: Table, key: str, bounds: Bounds | None) -> list[str]:
    """Values of an option that may be set; none: it does nothing in this table, or nobody has bounded it."""
    keyed = table.is_primary_key_table
    if (key in (_TRIGGER.key, _FULL.key) and not keyed) or (key == _FEWEST_FILES.key and keyed):
        return []
    if key == _FULL.key and not compacts_inline(table):
        return []
    usual = list(_SURE[key][1])
    if bounds is None:
        return usual
    least, most = _read(key, bounds.least), _read(key, bounds.most)
    between = [value for value in usual if least < _read(key, value) < most]
    return list(dict.fromkeys([bounds.least, *between, bounds.most]))


def choose(
    table: Table,
    bounds: Mapping[str, Bounds],
    leave: Mapping[str, str],
    refused: Sequence[tuple[str, str]],
    snapshots: int = SNAPSHOTS,
) -> Choice:
    """The setting that brings most.

    Args: `leave`: options that are not set, and why; `refused`: options and values that were taken back.
    """
    found: list[tuple[float, SimulatedSettings, SimulatedSettings, str]] = []
    for key in SURE:
        tries = [value for value in values_to_try(table, key, bounds.get(key)) if (key, value) not in refused]
        if not tries or key in leave:
            continue
        try:
            report = simulate_settings(table, {key: ",".join(tries)}, snapshots=snapshots)
        except UnsupportedError as error:
            return Choice(error.found)
        doubt = _doubt(table, report)
        if doubt:
            return Choice(doubt)
        own, *others = report.settings
        found += [(_ratio(each, own), each, own, key) for each in others if _is_good(each, own)]
    if not found:
        left = "".join(f"; '{key}' is left alone: {why}" for key, why in leave.items())
        return Choice(f"no setting costs clearly less than those of the table, and no more in anything{left}")
    _, best, own, key = min(found, key=lambda each: each[0])
    set_now = table.options.get(key)
    as_it_is = f"'{key}' is unset" if set_now is None else f"'{key}' = '{set_now}'"
    reason = f"a simulation of the last snapshots says: {_costs(best)}; with {as_it_is}, as it is: {_costs(own)}"
    return Choice(reason, key, best.options[key])


def _costs(one: SimulatedSettings) -> str:
    return (
        f"written {one.write_amplification:.2f} times, {one.read_amplification:.2f} runs to read, "
        f"{one.mean_files:,.1f} files, {size_text(one.bytes + one.retained_bytes)}"
    )


def _doubt(table: Table, report: SimulationReport) -> str:
    """Why a simulation of the table is not to be relied on; empty: it is."""
    own, there = report.settings[0], report.files or 0
    if abs(own.files - there) > max(1, _TRUE * there):
        return f"the effect is not sure: the table's own settings, replayed, give {own.files:,} files of {there:,}"
    if table.is_primary_key_table and not own.compactions:
        return "the effect is not sure: the snapshots hold no compaction"
    return ""


def _is_good(one: SimulatedSettings, own: SimulatedSettings) -> bool:
    pairs = list(zip(one.costs, own.costs, strict=True))
    return all(new <= old * _AS_GOOD for new, old in pairs) and any(new < old * _BETTER for new, old in pairs)


def _ratio(one: SimulatedSettings, own: SimulatedSettings) -> float:
    """What it costs of what the own settings do, all costs together."""
    return prod(max(new, 1e-9) / max(old, 1e-9) for new, old in zip(one.costs, own.costs, strict=True))
