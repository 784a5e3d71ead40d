"""Which partitions and bucket a read is confined to: options `scan.partitions` and `scan.bucket`.

They count where a read names them (a hint, an option of the reader). Stored with a table they are left to Flink, whose
lookup joins they are most often meant for, so that no row hides from whoever changes or maintains the table.
Source: Java `PartitionLoader`, `FlinkTableSource`; `SnapshotReaderImpl.withBucket`.
"""

from collections.abc import Sequence
from dataclasses import replace

from maintenance.errors import DataError, OptionError
from maintenance.options import table as table_options
from maintenance.predicate.tree import FALSE, Compare, IsNull, Predicate, conjunction, disjunction
from maintenance.read.split_read import partition_values
from maintenance.scan.plan import ScanPlan
from maintenance.scan.split import AnySplit, DiffSplit
from maintenance.table.handle import TableHandle
from maintenance.table.partitions import named_partitions, readable_partitions
from maintenance.types.values import Value

_MAX_PT, _MAX_TWO_PT = "max_pt()", "max_two_pt()"
_FORM = "Write key=value,key=value;… with the partition columns, or max_pt() or max_two_pt()."

Row = tuple[Value, ...]


def chosen_partitions(table: TableHandle) -> Predicate | None:
    """What `scan.partitions` lets through, None without it. Raises: OptionError."""
    text = table_options.SCAN_PARTITIONS.of(table.dynamic_options)
    if text is None:
        return None
    keys = table.schema.partition_keys
    if not keys:
        problem = f"'{table_options.SCAN_PARTITIONS.key}' is set, and the table has no partitions"
        raise OptionError(problem, table.identifier, f"Leave '{table_options.SCAN_PARTITIONS.key}' out.")
    number = {_MAX_PT: 1, _MAX_TWO_PT: 2}.get(text.strip().lower())
    if number is not None:
        rows: Sequence[Row] = _largest_first(table)[:number]
    elif _MAX_PT in text.lower():
        rows = _largest_of_level(table, text)
    else:
        rows = [_row(table, each) for each in text.split(";") if each.strip()]
    return disjunction(_is(keys, row) for row in rows) if rows else FALSE


def _is(keys: Sequence[str], row: Row) -> Predicate:
    return conjunction(
        IsNull(key) if value is None else Compare("=", key, value) for key, value in zip(keys, row, strict=True)
    )


def _spec(table: TableHandle, text: str) -> dict[str, str]:
    """One partition's columns and texts. Raises: OptionError."""
    spec: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not equals or key.strip() not in table.schema.partition_keys:
            raise OptionError(
                f"'{table_options.SCAN_PARTITIONS.key}' has '{pair.strip()}'",
                table.identifier,
                f"{_FORM} They are {', '.join(table.schema.partition_keys)}.",
            )
        spec[key.strip()] = value.strip()
    return spec


def _row(table: TableHandle, text: str) -> Row:
    """The values of a partition; a column that is not named is null. Raises: OptionError."""
    spec = _spec(table, text)
    try:
        (partition,) = named_partitions(table, [{key: spec.get(key) for key in table.schema.partition_keys}])
    except DataError as error:
        problem = f"'{table_options.SCAN_PARTITIONS.key}' has {error.found}"
        raise OptionError(problem, table.identifier, _FORM) from error
    return tuple(partition.values_by_name.values())


def _largest_first(table: TableHandle) -> list[Row]:
    """The partitions of the newest state, in descending order; null is the smallest value."""
    rows = {tuple(partition_values(table.schema, partition).values()) for partition in readable_partitions(table)}
    return sorted(rows, key=lambda row: tuple((value is not None, value) for value in row), reverse=True)


def _largest_of_level(table: TableHandle, text: str) -> list[Row]:
    """``a=max_pt(),b=max_pt()``: all partitions that have the largest values of these first columns."""
    spec, keys = _spec(table, text), table.schema.partition_keys
    named = list(keys[: len(spec)])
    if set(spec) != set(named) or any(value.lower() != _MAX_PT for value in spec.values()):
        raise OptionError(
            f"'{table_options.SCAN_PARTITIONS.key}' = '{text}' does not begin with the first partition columns, or has "
            "other values beside max_pt()",
            table.identifier,
            f"Give {keys[0]}=max_pt(), and the next columns likewise.",
        )
    rows = _largest_first(table)
    return [row for row in rows if row[: len(named)] == rows[0][: len(named)]]


def of_bucket(table: TableHandle, plan: ScanPlan) -> ScanPlan:
    """The plan with the splits of `scan.bucket` alone, where a read names it. Raises: OptionError."""
    bucket = table_options.SCAN_BUCKET.of(table.dynamic_options)
    if bucket is None:
        return plan
    key, total = table_options.SCAN_BUCKET.key, table.model.bucket
    if not table.schema.primary_keys or total <= 0 or not 0 <= bucket < total:
        raise OptionError(
            f"'{key}' = '{bucket}', and the table has {total if total > 0 else 'no fixed number of'} buckets",
            table.identifier,
            "Name a bucket, from 0, of a table with a primary key and a fixed number of buckets.",
        )
    return replace(plan, splits=tuple(split for split in plan.splits if _bucket_of(split) == bucket))


def _bucket_of(split: AnySplit) -> int:
    return split.after.bucket if isinstance(split, DiffSplit) else split.bucket
