"""What a merge must make of records: for each key the columns its row takes from which records, computed again.

Nothing here uses the merge engines. Deduplicate and first-row take one record whole. In the others each column, or
sequence group, is a *unit* of its own: picked from a record (the newest value that is not null, the winner of a
sequence group, the largest value), or computed (sums). What is not listed in `unit_of_function` is proved for keys
with a single record, whose row it is. Keys that retractions took part in are proved by value in engines that take
one record whole, elsewhere they are only counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from maintenance.compaction.proof.gathering import nested_in_group, unit_of_gathering
from maintenance.compaction.proof.records import Groups, ProofRecords, ranks
from maintenance.compaction.proof.unit import Expected, Unit, Values
from maintenance.format.metadata.schema import TableSchema
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField, DataType
from maintenance.types.row_hash import NULL, SHORT_DECIMAL, column_words, combined, integers, mixed, unscaled

_U64 = np.uint64
# Sums beyond may have left 64 bits on the way.
_SURE = 2.0**62
_STEPS = 64


def is_row_engine(options: TableModel) -> bool:
    """Whether the merge engine takes one record whole."""
    return options.merge_engine in ("deduplicate", "first-row")


def picked_rows(options: TableModel, records: ProofRecords, groups: Groups) -> np.ndarray:
    """The record that is each key's row, for engines that take one whole. Record numbers, shape (k,)."""
    first = options.merge_engine == "first-row"
    otherwise = groups.oldest if first else groups.newest
    retract = records.retract
    if retract is None or not options.ignores_deletes:
        return otherwise
    picked = (groups.first if first else groups.last)(~retract)
    return np.where(picked >= 0, picked, otherwise)


def units_of(schema: TableSchema, options: TableModel) -> tuple[Unit, ...]:
    """The units of a table whose engine does not take records whole: all columns but those of the system."""
    keys = set(schema.primary_keys)
    if options.merge_engine == "partial-update":
        return _partial_units(schema, options)
    sequence = set(options.sequence_field)
    units = [Unit(tuple(name for name in schema.field_names if name in keys), (), _newest)]
    for field in schema.fields:
        if field.name in sequence:
            units.append(Unit((field.name,), (), _newest))
        elif field.name not in keys:
            units.append(unit_of_function(field, _function(field.name, options), options))
    return tuple(units)


def unit_of_function(field: DataField, function: str | None, options: TableModel) -> Unit:
    """The unit of a column that aggregates."""
    name, kind = field.name, field.type
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
            return Unit((name,), (name,), _largest, any_order=True)
        case "min" | "bool_and":
            return Unit((name,), (name,), _smallest, any_order=True)
        case "sum" | "product" if kind.root in ("FLOAT", "DOUBLE"):
            return Unit((name,), (name,), _float_sum if function == "sum" else _float_product)
        case "sum" | "count" if kind.is_integer or _is_short(kind):
            return Unit((name,), (name,), _sum, any_order=True)
        case "product" if kind.is_integer or (_is_short(kind) and not kind.scale):
            return Unit((name,), (name,), _product, any_order=True)
    return unit_of_gathering(field, function, options)


def _is_short(kind: DataType) -> bool:
    return kind.root == "DECIMAL" and (kind.precision or 0) <= SHORT_DECIMAL


def _function(name: str, options: TableModel) -> str | None:
    own = options.get(f"fields.{name}.aggregate-function")
    return options.get("fields.default-aggregate-function") if own is None else own


def _partial_units(schema: TableSchema, options: TableModel) -> tuple[Unit, ...]:
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
                units.append(_in_group(schema.field(name), functions[name], options, wins))
    units += [Unit((name,), (), _newest_valid) for name in schema.field_names if name not in grouped]
    return tuple(units)


def _in_group(field: DataField, function: str | None, options: TableModel, wins: "_Wins") -> Unit:
    """A column that aggregates what its sequence group brings, in any order."""
    name = field.name
    unit = unit_of_function(field, function, options)
    if function == "nested_update":
        unit = nested_in_group(field, options)
    # What depends on the order of additions depends on which ones come too late.
    if not unit.any_order:
        return Unit((name,))
    whole = unit.expect
    assert whole is not None

    def of_group(unit: Unit, records: Values, groups: Groups) -> Expected:
        assert isinstance(records, ProofRecords)
        _, present = wins.ranks(records)
        return whole(unit, _Masked(records, present), groups)

    return replace(unit, columns=tuple(dict.fromkeys([*unit.columns, *wins.order_by])), expect=of_group)


@dataclass(frozen=True, slots=True)
class _Masked:
    """Records whose values only count where they are present; null elsewhere."""

    records: ProofRecords
    present: np.ndarray

    def column(self, name: str) -> pa.Array:
        column = self.records.column(name)
        return pa.compute.if_else(pa.array(self.present), column, pa.scalar(None, column.type))

    def hashes(self, name: str) -> np.ndarray:
        return np.where(self.present, self.records.hashes(name), NULL)


@dataclass(frozen=True, slots=True)
class _Wins:
    """A sequence group: of the records with the largest sequence the newest one counts; all null is not a sequence."""

    order_by: tuple[str, ...]

    def ranks(self, records: Values) -> tuple[list[np.ndarray], np.ndarray]:
        """Numbers that grow with the sequence, the first ones first; and whether there is a sequence."""
        by_column: list[np.ndarray] = []
        present: np.ndarray = np.zeros(0, bool)
        for name in self.order_by:
            column = records.column(name)
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            by_column += [valid, np.where(valid, ranks(column), 0)]
            present = present | valid if len(present) else valid
        return by_column, present

    def winner(self, unit: Unit, records: Values, groups: Groups) -> Expected:
        words, candidates = self.ranks(records)
        for word in words:
            # Of the candidates of each key those with the largest number stay.
            number = np.where(candidates, word.astype(np.int64), np.iinfo(np.int64).min)
            largest = np.maximum.reduceat(number[groups.order], groups.starts)
            of_key = np.empty(len(number), np.int64)
            of_key[groups.order] = np.repeat(largest, groups.counts)
            candidates = candidates & (number == of_key)
        return _picked(unit, records, groups.last(candidates))


def _picked(unit: Unit, records: Values, at: np.ndarray) -> Expected:
    """The value in these records; null for -1."""
    hashes = records.hashes(unit.name)[at]
    missing = at < 0
    if missing.any():
        hashes[missing] = hash_of_nulls(len(unit.names))
    return Expected(hashes)


def hash_of_nulls(count: int) -> np.uint64:
    """The hash of a unit of this many nulls, see `unit_hashes`."""
    return np.uint64(unit_hashes([np.full(1, NULL)] * count)[0])


def unit_hashes(words: Sequence[np.ndarray]) -> np.ndarray:
    """The hash of a unit's values, made from their words."""
    return words[0] if len(words) == 1 else mixed(combined(words, range(len(words))))


def _newest(unit: Unit, records: Values, groups: Groups) -> Expected:
    return _picked(unit, records, groups.newest)


def _oldest(unit: Unit, records: Values, groups: Groups) -> Expected:
    return _picked(unit, records, groups.oldest)


def _newest_valid(unit: Unit, records: Values, groups: Groups) -> Expected:
    return _picked(unit, records, groups.last(records.hashes(unit.name) != NULL))


def _oldest_valid(unit: Unit, records: Values, groups: Groups) -> Expected:
    return _picked(unit, records, groups.first(records.hashes(unit.name) != NULL))


def _largest(unit: Unit, records: Values, groups: Groups) -> Expected:
    column = records.column(unit.columns[0])
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return _extreme(column, np.where(valid, ranks(column), np.iinfo(np.int64).min), valid, groups, np.maximum)


def _smallest(unit: Unit, records: Values, groups: Groups) -> Expected:
    column = records.column(unit.columns[0])
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return _extreme(column, np.where(valid, ranks(column), np.iinfo(np.int64).max), valid, groups, np.minimum)


def _float_sum(unit: Unit, records: Values, groups: Groups) -> Expected:
    return _steps(np.add, unit, records, groups)


def _float_product(unit: Unit, records: Values, groups: Groups) -> Expected:
    return _steps(np.multiply, unit, records, groups)


def _steps(operation: np.ufunc, unit: Unit, records: Values, groups: Groups) -> Expected:
    """One step after the other, of all keys side by side; not of keys with very many records."""
    column = records.column(unit.columns[0])
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    numbers = column.fill_null(0.0).to_numpy(zero_copy_only=False)
    present = groups.only(valid)
    totals = numbers[present.oldest]
    counts = present.counts
    with np.errstate(all="ignore"):
        for step in range(1, min(_STEPS, int(counts.max(initial=0)))):
            further = np.flatnonzero(counts > step)
            totals[further] = operation(totals[further], numbers[present.order[present.starts[further] + step]])
    there = groups.any(valid)
    at = np.where(there, np.cumsum(there) - 1, 0)
    hashes = column_words(pa.array(totals, column.type))
    if not len(hashes):
        return Expected(np.full(len(groups.starts), NULL))
    return Expected(np.where(there, hashes[at], NULL), ~there | (counts[at] <= _STEPS))


def _extreme(column: pa.Array, numbers: np.ndarray, valid: np.ndarray, groups: Groups, which: np.ufunc) -> Expected:
    extremes = which.reduceat(numbers[groups.order], groups.starts)
    of_key = np.empty(len(numbers), np.int64)
    of_key[groups.order] = np.repeat(extremes, groups.counts)
    at = groups.first(valid & (numbers == of_key))
    hashes = column_words(column)[at]
    return Expected(np.where(at >= 0, hashes, NULL))


def _sum(unit: Unit, records: Values, groups: Groups) -> Expected:
    numbers, there, limit = _numbers(unit, records, groups, 0)
    size = np.add.reduceat(np.abs(numbers.astype(np.float64)), groups.starts)
    return Expected(np.where(there, np.add.reduceat(numbers, groups.starts).view(_U64), NULL), size < limit)


def _product(unit: Unit, records: Values, groups: Groups) -> Expected:
    numbers, there, limit = _numbers(unit, records, groups, 1)
    with np.errstate(over="ignore"):
        # No step on the way is larger, a zero or not.
        size = np.multiply.reduceat(np.maximum(np.abs(numbers.astype(np.float64)), 1), groups.starts)
        products = np.multiply.reduceat(numbers, groups.starts)
    return Expected(np.where(there, products.view(_U64), NULL), size < limit)


def _numbers(unit: Unit, records: Values, groups: Groups, null: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Integers by key; which keys have any; and below which size nothing has left 64 bits, or the type's digits."""
    column = records.column(unit.columns[0])
    decimal = pa.types.is_decimal(column.type)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    numbers = np.where(valid, unscaled(column)[0] if decimal else integers(column), null)[groups.order]
    limit = min(_SURE, 10.0**column.type.precision * 0.999 if decimal else _SURE)
    return numbers, np.logical_or.reduceat(valid[groups.order], groups.starts), limit


def expect_unit(unit: Unit, records: ProofRecords, groups: Groups, lone_as_is: np.ndarray) -> Expected:
    """What a unit of each key's row holds. `lone_as_is`: keys whose only record is the row as is, shape (k,)."""
    if lone_as_is.all():
        return Expected(unit.hashes_of(records, groups.newest))
    several = groups.of_keys(~lone_as_is)
    hashes, proved = np.full(len(lone_as_is), NULL), lone_as_is
    if lone_as_is.any():
        hashes[lone_as_is] = unit.hashes_of(records, groups.newest[lone_as_is])
    if unit.expect is not None:
        expected = unit.expect(unit, records, several)
        hashes[~lone_as_is] = expected.hashes
        if expected.proved is None:
            return Expected(hashes)
        proved = lone_as_is.copy()
        proved[~lone_as_is] = expected.proved
    return Expected(hashes, proved)
