"""What a merge must make of records: for each key the columns its row takes from which records, computed anew.

Nothing here uses the merge engines. Deduplicate and first-row take one record whole. In the others each column, or
sequence group, is a *unit* of its own: picked from a record (the newest value that is not null, the winner of a
sequence group, the largest value), or computed (sums). What is not listed in `unit_of_function` is proved for keys
with a single record, whose row it is. Keys that retractions took part in are proved by value in engines that take
one record whole, elsewhere they are only counted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.compaction.proof.records import Groups, Records, ranks
from maintenance.format.schema import TableSchema
from maintenance.options import table as table_options
from maintenance.types.data_type import DataType
from maintenance.types.row_hash import NULL, column_words, combined, integers, mixed, unscaled

_U64 = np.uint64
# Sums beyond may have left 64 bits on the way.
_SURE = 2.0**62
_STEPS = 64


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of one unit. Shapes (k,).

    Attributes:
        hashes: of the unit's values in each key's row.
        proved: whether they are known; None = all.
    """

    hashes: np.ndarray
    proved: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """Columns of a row that come from the same record.

    Attributes:
        names: the columns whose values are hashed together.
        columns: those whose values are needed as they are.
        expect: what merging several records gives; None = not known.
        by_value: keys with several records are proved.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...] = ()
    expect: "Callable[[Unit, Records, Groups], Expected] | None" = None

    @property
    def name(self) -> str:
        return ",".join(self.names)


def is_row_engine(options: Mapping[str, str]) -> bool:
    """Whether the merge engine takes one record whole."""
    return table_options.MERGE_ENGINE.of(options) in ("deduplicate", "first-row")


def picked_rows(options: Mapping[str, str], records: Records, groups: Groups) -> np.ndarray:
    """The record that is each key's row, for engines that take one whole. Record numbers, shape (k,)."""
    first = table_options.MERGE_ENGINE.of(options) == "first-row"
    otherwise = groups.oldest if first else groups.newest
    retract = records.retract
    if retract is None or not table_options.IGNORE_DELETE.of(options):
        return otherwise
    found = (groups.first if first else groups.last)(~retract)
    return np.where(found >= 0, found, otherwise)


def units_of(schema: TableSchema, options: Mapping[str, str]) -> tuple[Unit, ...]:
    """The units of a table whose engine does not take records whole: all columns but those of the system."""
    keys = set(schema.primary_keys)
    if table_options.MERGE_ENGINE.of(options) == "partial-update":
        return _partial_units(schema, options)
    sequence = set(table_options.SEQUENCE_FIELD.of(options))
    units = [Unit(tuple(name for name in schema.field_names if name in keys), (), _newest)]
    for field in schema.fields:
        if field.name in sequence:
            units.append(Unit((field.name,), (), _newest))
        elif field.name not in keys:
            units.append(unit_of_function(field.name, field.type, _function(field.name, options)))
    return tuple(units)


def unit_of_function(name: str, kind: DataType, function: str | None) -> Unit:
    """The unit of a column that aggregates."""
    match function:
        case None | "last_non_null_value":
            return Unit((name,), (), _newest_valid)
        case "last_value":
            return Unit((name,), (), _newest)
        case "first_value":
            return Unit((name,), (), _oldest)
        case "first_non_null_value" | "first_not_null_value":
            return Unit((name,), (), _oldest_valid)
        case "max" | "bool_or":
            return Unit((name,), (name,), _largest)
        case "min" | "bool_and":
            return Unit((name,), (name,), _smallest)
        case "sum" if kind.root in ("FLOAT", "DOUBLE"):
            return Unit((name,), (name,), _float_sum)
        case "sum" | "count" if kind.is_integer or (kind.root == "DECIMAL" and (kind.precision or 0) <= 18):
            return Unit((name,), (name,), _sum)
    return Unit((name,))


def _function(name: str, options: Mapping[str, str]) -> str | None:
    own = options.get(f"fields.{name}.aggregate-function")
    return options.get("fields.default-aggregate-function") if own is None else own


def _partial_units(schema: TableSchema, options: Mapping[str, str]) -> tuple[Unit, ...]:
    units: list[Unit] = []
    grouped: set[str] = set()
    for option, value in sorted(options.items()):
        if not (option.startswith("fields.") and option.endswith(".sequence-group")):
            continue
        order_by = tuple(option.removeprefix("fields.").removesuffix(".sequence-group").split(","))
        members = tuple(value.split(","))
        grouped |= {*order_by, *members}
        functions = {name: _function(name, options) for name in members}
        plain = tuple(name for name, function in functions.items() if function is None)
        wins = _Wins(order_by)
        units.append(Unit((*order_by, *plain), order_by, wins.winner))
        for name in members:
            if functions[name] is not None:
                units.append(_in_group(name, schema.field(name).type, functions[name], wins))
    units += [Unit((name,), (), _newest_valid) for name in schema.field_names if name not in grouped]
    return tuple(units)


def _in_group(name: str, kind: DataType, function: str | None, wins: "_Wins") -> Unit:
    """A column that aggregates what its sequence group brings, in any order."""
    unit = unit_of_function(name, kind, function)
    # What depends on the order of additions depends on which ones come too late.
    if unit.expect not in (_sum, _largest, _smallest):
        return Unit((name,))
    whole = unit.expect
    assert whole is not None

    def of_group(unit: Unit, records: Records, groups: Groups) -> Expected:
        _, present = wins.ranks(records)
        return whole(Unit(unit.names, unit.names), _Masked(records, name, present), groups)  # type: ignore[arg-type]

    return Unit((name,), (name, *wins.order_by), of_group)


@dataclass(frozen=True, slots=True)
class _Masked:
    """Records whose values of one column only count where they are present; null elsewhere."""

    records: Records
    name: str
    present: np.ndarray

    def column(self, name: str) -> pa.Array:
        column = self.records.column(name)
        return pa.compute.if_else(pa.array(self.present), column, pa.scalar(None, column.type))


@dataclass(frozen=True, slots=True)
class _Wins:
    """A sequence group: of the records with the largest sequence the newest one counts; all null is no sequence."""

    order_by: tuple[str, ...]

    def ranks(self, records: Records) -> tuple[list[np.ndarray], np.ndarray]:
        """Numbers that grow with the sequence, the first ones first; and whether there is a sequence."""
        found: list[np.ndarray] = []
        present = np.zeros(len(records), bool)
        for name in self.order_by:
            column = records.column(name)
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            found += [valid, np.where(valid, ranks(column), 0)]
            present |= valid
        return found, present

    def winner(self, unit: Unit, records: Records, groups: Groups) -> Expected:
        words, candidates = self.ranks(records)
        for word in words:
            # Of the candidates of each key those with the largest number stay.
            number = np.where(candidates, word.astype(np.int64), np.iinfo(np.int64).min)
            largest = np.maximum.reduceat(number[groups.order], groups.starts)
            of_key = np.empty(len(number), np.int64)
            of_key[groups.order] = np.repeat(largest, groups.counts)
            candidates = candidates & (number == of_key)
        return _picked(unit, records, groups.last(candidates))


def _picked(unit: Unit, records: Records, at: np.ndarray) -> Expected:
    """What stands in these records; null for -1."""
    hashes = records.hashes(unit.name)[at]
    missing = at < 0
    if missing.any():
        hashes[missing] = hash_of_nulls(len(unit.names))
    return Expected(hashes)


def hash_of_nulls(count: int) -> np.uint64:
    """The hash of a unit of so many nulls, see `unit_hashes`."""
    return np.uint64(unit_hashes([np.full(1, NULL)] * count)[0])


def unit_hashes(words: Sequence[np.ndarray]) -> np.ndarray:
    """The hash of a unit's values, by their words."""
    return words[0] if len(words) == 1 else mixed(combined(words, range(len(words))))


def _newest(unit: Unit, records: Records, groups: Groups) -> Expected:
    return _picked(unit, records, groups.newest)


def _oldest(unit: Unit, records: Records, groups: Groups) -> Expected:
    return _picked(unit, records, groups.oldest)


def _newest_valid(unit: Unit, records: Records, groups: Groups) -> Expected:
    return _picked(unit, records, groups.last(records.hashes(unit.name) != NULL))


def _oldest_valid(unit: Unit, records: Records, groups: Groups) -> Expected:
    return _picked(unit, records, groups.first(records.hashes(unit.name) != NULL))


def _largest(unit: Unit, records: Records, groups: Groups) -> Expected:
    column = records.column(unit.columns[0])
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return _extreme(column, np.where(valid, ranks(column), np.iinfo(np.int64).min), valid, groups, np.maximum)


def _smallest(unit: Unit, records: Records, groups: Groups) -> Expected:
    column = records.column(unit.columns[0])
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return _extreme(column, np.where(valid, ranks(column), np.iinfo(np.int64).max), valid, groups, np.minimum)


def _float_sum(unit: Unit, records: Records, groups: Groups) -> Expected:
    """One addition after the other, of all keys side by side; not of keys with very many records."""
    column = records.column(unit.columns[0])
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    numbers = column.fill_null(0.0).to_numpy(zero_copy_only=False)
    present = groups.only(valid)
    sums = numbers[present.oldest]
    counts = present.counts
    with np.errstate(all="ignore"):
        for step in range(1, min(_STEPS, int(counts.max(initial=0)))):
            further = np.flatnonzero(counts > step)
            sums[further] += numbers[present.order[present.starts[further] + step]]
    there = groups.any(valid)
    at = np.where(there, np.cumsum(there) - 1, 0)
    hashes = column_words(pa.array(sums, column.type))
    if not len(hashes):
        return Expected(np.full(len(groups.starts), NULL))
    return Expected(np.where(there, hashes[at], NULL), ~there | (counts[at] <= _STEPS))


def _extreme(column: pa.Array, numbers: np.ndarray, valid: np.ndarray, groups: Groups, which: np.ufunc) -> Expected:
    found = which.reduceat(numbers[groups.order], groups.starts)
    of_key = np.empty(len(numbers), np.int64)
    of_key[groups.order] = np.repeat(found, groups.counts)
    at = groups.first(valid & (numbers == of_key))
    hashes = column_words(column)[at]
    return Expected(np.where(at >= 0, hashes, NULL))


def _sum(unit: Unit, records: Records, groups: Groups) -> Expected:
    column = records.column(unit.columns[0])
    decimal = pa.types.is_decimal(column.type)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    given = np.where(valid, unscaled(column)[0] if decimal else integers(column), 0)[groups.order]
    sums = np.add.reduceat(given, groups.starts)
    there = np.logical_or.reduceat(valid[groups.order], groups.starts)
    size = np.add.reduceat(np.abs(given.astype(np.float64)), groups.starts)
    limit = min(_SURE, 10.0**column.type.precision * 0.999 if decimal else _SURE)
    return Expected(np.where(there, sums.view(_U64), NULL), size < limit)


def expect_unit(unit: Unit, records: Records, groups: Groups, lone_as_is: np.ndarray) -> Expected:
    """What a unit of each key's row holds. `lone_as_is`: keys whose only record is the row as it stands, shape (k,)."""
    own = records.hashes(unit.name)[groups.newest]
    if unit.expect is None or lone_as_is.all():
        return Expected(own, None if lone_as_is.all() else lone_as_is)
    found = unit.expect(unit, records, groups)
    proved = None if found.proved is None else found.proved | lone_as_is
    return Expected(np.where(lone_as_is, own, found.hashes), proved)
