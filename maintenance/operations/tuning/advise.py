"""What a table would be better off with: `advise`. Reads metadata alone, and a few files where filters are given.

Buckets and partitions are judged by the bytes that they hold, options by what they do beside the others, the settings
of the compaction by a simulation, and file indexes by the conditions that were really asked for. Each piece of advice
says what was found, what is gained, and what does it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import median
from typing import Annotated

from maintenance.amounts import number_of, size_text
from maintenance.errors import OptionError, PredicateError, UnsupportedError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.operations.indexes.advise_file_index import advise_file_index, filters_of_log
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown, as_asked
from maintenance.operations.parameters import Param
from maintenance.operations.tuning.file_trials import FileTrial, file_trials
from maintenance.operations.tuning.measured import FEWEST_COMMITS
from maintenance.operations.tuning.simulate_settings import SNAPSHOTS, SimulatedSettings, simulate_settings
from maintenance.operations.tuning.spark_event_logs import logged_filters
from maintenance.options import table as table_options
from maintenance.options.changes import fix_of_change
from maintenance.options.known import is_set_to
from maintenance.table.table import Table

SMALL_BUCKET, GOOD_BUCKET, LARGE_BUCKET = 64 << 20, 512 << 20, 2 << 30
"""Bytes: below the first a bucket is as costly to open as to read; above the last one task is busy with it for long."""
SMALL_PARTITION, LARGE_PARTITION = 16 << 20, 100 << 30
_FEW_PARTITIONS = 20
# Of a trial of one file, what counts as smaller or faster, and as about the same; times vary.
_SMALLER, _FASTER, _AS_SMALL, _AS_FAST = 0.9, 0.7, 1.02, 1.2
# Snapshots without a compaction after which nobody seems to compact.
_LONG = 20
# Filters of logs that are tried, the most frequent.
_MOST_FILTERS = 100


# What details of the history call the advice of an `advise`: each piece as its fields.
PROPOSALS = "proposals"


@dataclass(frozen=True, slots=True)
class Advice:
    """One piece of advice. `about`: buckets, partitions, options, settings, files or indexes."""

    about: str
    found: str
    gain: str
    to_do: str


@dataclass(frozen=True, slots=True)
class AdviceReport(OperationReport):
    """All of it; none: the table is well as it is."""

    table: str
    advice: tuple[Advice, ...]


@dataclass(frozen=True, slots=True)
class Advise:
    """What to go by."""

    queries: Annotated[
        str | None, Param("A file of SQL statements, one per line. Indexes are tried for their WHERE conditions.")
    ] = None
    event_logs: Annotated[
        str | None,
        Param("A Spark event log, or a folder of them. Indexes are tried for the filters of the queries in it."),
    ] = None
    snapshots: Annotated[int, Param("How many of the newest snapshots to try settings on.", least=1)] = SNAPSHOTS
    files: Annotated[bool, Param("Also try other formats and compressions, on the rows of one data file.")] = False


def apply(run: Run, table: Table, planned: Plan[Advise, None]) -> AdviceReport:
    """Look at the table."""
    asked = planned.request
    snapshot = table.latest_snapshot()
    entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
    advice = [*_buckets(table, entries), *_partitions(table, entries), *_options(table)]
    if entries:
        run.progress("settings are tried")
        advice += _settings(table, asked.snapshots)
    if asked.files:
        run.progress("formats are tried")
        advice += _files(table, file_trials(table))
    filters = _filters(table, asked)
    if filters:
        run.progress("indexes are tried")
        advice += _indexes(table, filters)
    return AdviceReport(table.identifier, tuple(advice))


def _buckets(table: Table, entries: list[ManifestEntry]) -> Iterator[Advice]:
    number = table.model.bucket
    sizes: dict[tuple[bytes, int], int] = {}
    for entry in entries:
        group = entry.partition, entry.bucket
        sizes[group] = sizes.get(group, 0) + entry.file.file_size
    if number < 1 or not sizes:
        return
    partitions: dict[bytes, int] = {}
    for (partition, _), size in sizes.items():
        partitions[partition] = partitions.get(partition, 0) + size
    largest, usual = max(sizes.values()), median(sizes.values())
    wanted = max(1, ceil(max(partitions.values()) / GOOD_BUCKET))
    set_it = (
        f"ALTER TABLE {table.identifier} SET ('bucket' = '{wanted}'); "
        f"CALL sys.rescale(table => '{table.identifier}', bucket_num => {wanted})"
    )
    if largest > LARGE_BUCKET and wanted > number:
        found = f"{number_of(number, 'bucket')}, the largest with {size_text(largest)}: one task reads and merges it"
        yield Advice("buckets", found, f"{wanted / number:.1f} times as many tasks share a partition", set_it)
    elif usual < SMALL_BUCKET and wanted < number:
        found = f"{number_of(number, 'bucket')} in a partition, half of them below {size_text(int(usual))}"
        files = number_of(wanted, "file")
        gain = f"a commit to a whole partition writes {files} in place of {number}, and reads open as many fewer"
        yield Advice("buckets", found, gain, set_it)


def _partitions(table: Table, entries: list[ManifestEntry]) -> Iterator[Advice]:
    sizes: dict[bytes, int] = {}
    for entry in entries:
        sizes[entry.partition] = sizes.get(entry.partition, 0) + entry.file.file_size
    if not table.schema.partition_keys or not sizes:
        return
    columns = ", ".join(table.schema.partition_keys)
    usual, largest = median(sizes.values()), max(sizes.values())
    if len(sizes) > _FEW_PARTITIONS and usual < SMALL_PARTITION:
        found = f"{len(sizes):,} partitions by {columns}, half of them below {size_text(int(usual))}"
        wanted = max(1, ceil(sum(sizes.values()) / (8 * SMALL_PARTITION)))
        gain = f"about {number_of(wanted, 'partition')} of {size_text(8 * SMALL_PARTITION)} would hold all rows"
        fix = "Create a table with coarser partitions, such as months, not days, and INSERT INTO it what is here."
        yield Advice("partitions", found, gain, fix)
    elif largest > LARGE_PARTITION:
        found = f"a partition by {columns} has {size_text(largest)}"
        gain = "what deletes, replaces or rescales a partition has less to do at once"
        fix = "Create a table with finer partitions, and INSERT INTO it what is here."
        yield Advice("partitions", found, gain, fix)


def _options(table: Table) -> Iterator[Advice]:
    for key, why in _without_effect(table).items():
        if key in table.schema.options:
            reset = f"ALTER TABLE {table.identifier} RESET ('{key}')"
            yield Advice("options", f"'{key}' has no effect: {why}", "nobody takes it for what the table does", reset)
    yield from _clashes(table)


def _without_effect(table: Table) -> Mapping[str, str]:
    """Options that do nothing in this table, and why."""
    options, keyed, fixed = table.options, table.is_primary_key_table, table.model.bucket > 0
    runs = ("num-sorted-run.compaction-trigger", "num-sorted-run.stop-trigger", "compaction.size-ratio",
            "compaction.max-size-amplification-percent", "compaction.optimization-interval", "merge-engine",
            "sequence.field", "changelog-producer", "lookup-compact", "ignore-delete")  # fmt: skip
    found: dict[str, str] = {}
    if keyed:
        found |= dict.fromkeys(
            ("compaction.min.file-num", "compaction.delete-ratio-threshold"), "it is of append tables"
        )
        if not options.looks_up:
            found |= dict.fromkeys(("lookup-compact", "lookup-compact.max-interval"), "no compaction looks up rows")
    elif not options.clustering_columns:
        found |= dict.fromkeys(runs, "it is of tables with a primary key")
    if fixed or not keyed:
        dynamic = ("dynamic-bucket.target-row-num", "dynamic-bucket.initial-buckets", "dynamic-bucket.max-buckets")
        found |= dict.fromkeys(dynamic, "the table has no dynamic buckets")
    if options.write_only:
        why = "with 'write-only' = 'true' no writer compacts"
        found |= dict.fromkeys(("full-compaction.delta-commits", "num-sorted-run.stop-trigger"), why)
    return found


def _clashes(table: Table) -> Iterator[Advice]:
    options, name = table.options, table.identifier
    trigger = options.num_sorted_run_compaction_trigger
    stop = table_options.NUM_SORTED_RUN_STOP_TRIGGER.of(options)
    if table.is_primary_key_table and stop is not None and stop < trigger:
        found = f"'num-sorted-run.stop-trigger' = {stop} is less than 'num-sorted-run.compaction-trigger' = {trigger}"
        fix = f"ALTER TABLE {name} SET ('num-sorted-run.stop-trigger' = '{trigger + 3}')"
        yield Advice("options", found, "none: the larger one counts for both. Writers stop later once it is set", fix)
    if not (table.is_primary_key_table and options.write_only):
        return
    last = list(_last_kinds(table))
    if len(last) == _LONG and "COMPACT" not in last:
        found = f"writers do not compact ('write-only'), and none of the last {_LONG} snapshots is a compaction"
        yield Advice("options", found, "reads merge fewer sorted runs", f"CALL sys.compact(table => '{name}')")


def _last_kinds(table: Table) -> Iterator[str]:
    for number, snapshot in enumerate(table.snapshots.newest_first()):
        if number == _LONG:
            return
        yield snapshot.commit_kind.value


def _settings(table: Table, snapshots: int) -> Iterator[Advice]:
    """Those that are better in everything than what is set."""
    try:
        report = simulate_settings(table, snapshots=snapshots)
    except UnsupportedError:
        return
    own, *others = report.settings
    better = [each for each in others if each.is_best and _is_no_worse(each, own)]
    if report.commits < FEWEST_COMMITS or own.is_best or not better:
        return
    best = min(better, key=lambda each: each.costs)
    found = f"with {best.text} everything would have cost less, or as much"
    gain = (
        f"written {best.write_amplification:.2f} times, not {own.write_amplification:.2f}; "
        f"{best.read_amplification:.2f} runs to read, not {own.read_amplification:.2f}; "
        f"{best.mean_files:,.0f} files, not {own.mean_files:,.0f}"
    )
    yield Advice("settings", found, gain, best.to_set)


def _files(table: Table, trials: Sequence[FileTrial]) -> Iterator[Advice]:
    """The smallest that is read about as fast, or the fastest that is about as small."""
    if not trials:
        return
    own, *others = trials
    allowed = {each: fix_of_change("file.format", each.format, table.options, has_snapshot=True) for each in others}
    smaller = [t for t in others if t.bytes < _SMALLER * own.bytes and t.seconds <= _AS_FAST * own.seconds]
    faster = [t for t in others if t.seconds < _FASTER * own.seconds and t.bytes <= _AS_SMALL * own.bytes]
    best = min(smaller, key=lambda t: t.bytes, default=None) or min(faster, key=lambda t: t.seconds, default=None)
    if best is None or allowed[best] is not None:
        return
    changed = {k: v for k, v in best.options.items() if not is_set_to(k, v, table.options)}
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in changed.items())
    yield Advice(
        "files",
        f"a data file as {best.text} has {size_text(best.bytes)}, as {own.text} {size_text(own.bytes)}",
        f"{1 - best.bytes / own.bytes:.0%} fewer bytes, decoded in {best.seconds / own.seconds:.2f} times the time",
        f"ALTER TABLE {table.identifier} SET ({pairs}); CALL sys.compact(table => '{table.identifier}', "
        "compact_strategy => 'full')",
    )


def _is_no_worse(one: SimulatedSettings, other: SimulatedSettings) -> bool:
    return all(a <= b for a, b in zip(one.costs, other.costs, strict=True))


def _is_of(table: Table, where: str) -> bool:
    """Whether a condition can be asked of a table; a log may have those of others."""
    try:
        return table.predicate(where) is not None
    except PredicateError:
        return False


def _filters(table: Table, asked: Advise) -> list[str]:
    """The conditions that were really asked for."""
    found: list[str] = []
    if asked.queries is not None:
        found += _of_queries(table, asked.queries)
    if asked.event_logs is not None:
        logged = logged_filters(table, asked.event_logs, _MOST_FILTERS)
        of_table = [text for text in logged.filters if _is_of(table, text)]
        if not of_table:
            problem = (
                f"{number_of(logged.queries, 'query', 'queries')} of {table.identifier} in them, none with a filter"
            )
            fix = "Name logs of applications that filter this table."
            raise OptionError(f"the event logs have {problem}", asked.event_logs, fix)
        found += of_table
    return list(dict.fromkeys(found))


def _of_queries(table: Table, path: str) -> list[str]:
    try:
        log = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"the queries cannot be read: {error}", path, "Name another file.") from error
    written = dict.fromkeys(text for line in log.splitlines() for text in filters_of_log(line))
    filters = [text for text in written if _is_of(table, text)]
    if not filters:
        problem = f"{number_of(len(written), 'condition')} behind WHERE in the queries, and none is of this table"
        raise OptionError(problem, path, "Name a file of SELECT statements, one in each line.")
    return filters


def _indexes(table: Table, filters: Sequence[str]) -> Iterator[Advice]:
    tried = advise_file_index(table, filters)
    if not tried.options:
        return
    helping = [each for each in tried.candidates if each.rows_left < each.rows]
    pruned = max(helping, key=lambda each: each.rows - each.rows_left)
    settings = ", ".join(f"'{key}' = '{value}'" for key, value in tried.options.items())
    yield Advice(
        "indexes",
        f"{number_of(len(filters), 'condition')} of the queries would skip rows by an index",
        f"by {pruned.kind} of {pruned.column} {pruned.rows - pruned.rows_left:,} of {number_of(pruned.rows, 'row')} "
        f"of a sample are left out; all indexes take {size_text(tried.rewrite_bytes)}",
        f"ALTER TABLE {table.identifier} SET ({settings}); CALL sys.rewrite_file_index(table => '{table.identifier}')",
    )


def _shown(report: AdviceReport) -> Shown:
    rows = [(each.about, each.found, each.gain, each.to_do) for each in report.advice]
    return Shown.texts(("about", "found", "gain", "to_do"), rows)


def _said(report: AdviceReport) -> Iterator[str]:
    for each in report.advice:
        yield f"{each.found[0].upper()}{each.found[1:]}. Gain: {each.gain}. {each.to_do}"
    if not report.advice:
        yield "Nothing was found that would be better otherwise."


OPERATION = Operation(
    "advise",
    "Suggest better buckets, partitions, options, settings and indexes for a table.",
    Advise,
    as_asked,
    apply,
    _shown,
    looks_only=True,
    said=_said,
)


advise = OPERATION.function(
    """Suggest better settings for a table. Nothing is written.

    Args:
        queries: the path of a file of SQL statements, for whose conditions file indexes are tried on a sample.
        event_logs: an event log of Spark, or a folder of them, whose filters on this table are tried, too.
        files: also try other formats and compressions, on the rows of one data file.
    Raises: OptionError: there are no queries or logs, or none of them filters this table.
    """
)
