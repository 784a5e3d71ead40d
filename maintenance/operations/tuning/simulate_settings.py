"""What other settings would cost: `simulate_settings`. Reads metadata alone and changes nothing.

The arrivals of the last snapshots, or of a workload that is written down, are compacted once more under each of the
settings, by the engine's own rules, on records of files. What that costs a writer, a reader and the store is reckoned,
and which settings no others beat in all of it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa

from maintenance.amounts import number_of, seconds_text, size_text
from maintenance.errors import OptionError
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER
from maintenance.operations.ingestion.inline import compacts_inline
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown, Spelling, as_asked
from maintenance.operations.parameters import Param, Value, text
from maintenance.operations.tuning.arrivals import Past, past_of
from maintenance.operations.tuning.buckets import rebucketed
from maintenance.operations.tuning.overlap import Overlap, overlap_of
from maintenance.operations.tuning.settings_plot import Spot, svg_of
from maintenance.operations.tuning.simulation import FileBytes, Point, Simulation
from maintenance.operations.tuning.workload import Workload
from maintenance.options import table as table_options
from maintenance.options.changes import fix_of_change
from maintenance.options.known import as_meant, check_set, is_set_to
from maintenance.table.table import Table

SNAPSHOTS = 1000
BYTES_PER_SECOND = 50 << 20
"""Read and written by a compaction, where nothing tells how fast this table's are."""
_MOST = 64
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 24


@dataclass(frozen=True, slots=True)
class SimulatedSettings:
    """What some settings would have cost.

    Attributes:
        options: that differ from the table's; empty: these are its own.
        write_amplification: bytes written for each byte that arrived, itself included.
        read_amplification: sorted runs of a bucket that a read merges, of an append table files of a bucket; the mean
            behind each commit.
        files, mean_files: of the table, in the end and behind each commit.
        bytes, retained_bytes: that are live in the end, and that only older snapshots still hold.
        bytes_per_row: that a read goes through for each row it gives.
        seconds: of compactions; `compactions`: how many.
        is_best: no others are as good in everything and better in something, and none before it, the table's own first,
            are the same in everything.
        to_set: the statement that sets them, or what to do instead; empty: they are set.
        points: the table as time goes on.
    """

    options: Mapping[str, str]
    write_amplification: float
    read_amplification: float
    files: int
    mean_files: float
    bytes: int
    retained_bytes: int
    bytes_per_row: float
    seconds: float
    compactions: int
    is_best: bool
    to_set: str
    points: tuple[Point, ...]

    @property
    def text(self) -> str:
        """The settings: ``bucket = 4``."""
        return ", ".join(f"{key} = {value}" for key, value in self.options.items()) or "as it is"

    @property
    def costs(self) -> tuple[float, ...]:
        """What is to be small: written, read, files and bytes."""
        return self.write_amplification, self.read_amplification, self.mean_files, self.bytes + self.retained_bytes


@dataclass(frozen=True, slots=True)
class SimulationReport(OperationReport):
    """All settings that were tried, the table's own first.

    Attributes:
        first_id, last_id: of the snapshots that were replayed; 0: a workload was.
        files: that the table really has; None: of a workload.
        commits, rows, bytes: that arrived.
        assumed: what is not measured, in sentences.
    """

    table: str
    settings: tuple[SimulatedSettings, ...]
    first_id: int = 0
    last_id: int = 0
    files: int | None = None
    commits: int = 0
    rows: int = 0
    bytes: int = 0
    assumed: tuple[str, ...] = ()

    @property
    def best(self) -> tuple[SimulatedSettings, ...]:
        """Those that no others beat in everything."""
        return tuple(each for each in self.settings if each.is_best)

    @property
    def svg(self) -> str:
        """A picture: what each of the settings writes against what it has reads merge."""
        spots = [Spot(s.text, s.write_amplification, s.read_amplification, s.is_best) for s in self.settings]
        return svg_of(self.table, spots)


def tries_of(value: Value) -> dict[str, str]:
    """``option=3,5,8;other=1``: values to try of each option; or a list of such texts, or a mapping."""
    if isinstance(value, Mapping):
        return {str(key): text(shown) if isinstance(shown, str) else str(shown) for key, shown in value.items()}
    parts = [part for each in (value if isinstance(value, list) else [value]) for part in text(each).split(";")]
    pairs = [part.partition("=") for part in parts if part.strip()]
    if any(not sign or not shown.strip() for _, sign, shown in pairs):
        raise ValueError("settings to try are written as option=3,5,8;other=1")
    return {key.strip(): shown.strip() for key, _, shown in pairs}


@dataclass(frozen=True, slots=True)
class SimulateSettings:
    """What to try, and on what."""

    tries: Annotated[
        Mapping[str, str] | None,
        Param(
            "Options and values to try, in all combinations: num-sorted-run.compaction-trigger=3,5,8;bucket=2,4; "
            "empty: common ones.",
            name="try",
            read=tries_of,
            repeats=True,
        ),
    ] = None
    snapshots: Annotated[int, Param("How many of the newest snapshots to replay.", least=1)] = SNAPSHOTS
    workload: Annotated[
        str | None, Param("A YAML or JSON file that describes what is written; it is used instead of the snapshots.")
    ] = None
    compact_every: Annotated[
        int | None,
        Param("Commits between two dedicated compactions; empty: as in the snapshots.", least=1),
    ] = None
    bytes_per_second: Annotated[
        int | None, Param("The speed of compactions; empty: as measured on this table.", least=1)
    ] = None
    plot: Annotated[
        str | None, Param("Write a chart to this SVG file: what each setting writes, and what reads have to merge.")
    ] = None


def apply(run: Run, table: Table, planned: Plan[SimulateSettings, None]) -> SimulationReport:
    """Try them."""
    asked = planned.request
    every, hourly, assumed = asked.compact_every, None, []
    load: Callable[[Table], Past] | None = None
    overlap: Overlap | None = None
    if asked.workload is None:
        past = past_of(table, asked.snapshots)
    else:
        written = Workload.read(asked.workload)
        load, overlap = partial(written.arrivals, now=run.moment), written.overlap
        past = load(table)
        hourly = max(1, round(written.commits_per_hour))
        if every is None:
            assumed.append(f"where writers do not compact, a compaction runs after every {number_of(hourly, 'commit')}")
    if not past.moments:
        raise OptionError("there is nothing to replay", table.identifier, "Write to the table, or give a workload.")
    tried = _combinations(table, past, asked.tries)
    if overlap is None:
        overlap = overlap_of(past.merged, vectors=table.model.has_deletion_vectors)
        if table.is_primary_key_table:
            assumed.append(overlap.text)
    speed, source = _speed(past, asked.bytes_per_second)
    assumed.append(source)
    bytes_of = FileBytes.of(past)
    trial = _Trial(table, past, load, overlap, bytes_of, (every, hourly), speed)
    found = []
    for number, options in enumerate(tried, 1):
        run.progress(f"{number} of {len(tried)} settings: {', '.join(f'{k}={v}' for k, v in options.items()) or 'own'}")
        found.append(trial.of(options))
    arrived = list(past.arrived)
    report = SimulationReport(
        table.identifier,
        _marked(found),
        past.first_id,
        past.last_id,
        None if past.end is None else len(past.end),
        sum(not moment.compacts for moment in past.moments),
        sum(entry.file.row_count for entry in arrived),
        sum(entry.file.file_size for entry in arrived),
        tuple(f"{each[0].upper()}{each[1:]}." for each in assumed),
    )
    if asked.plot is not None:
        try:
            Path(asked.plot).write_text(report.svg, encoding="utf-8")
        except OSError as error:
            raise OptionError(f"the picture cannot be written: {error}", asked.plot, "Name another file.") from error
    return report


@dataclass(frozen=True, slots=True)
class _Trial:
    """What all settings are tried on.

    Attributes:
        load: what comes of a workload, in place of the past.
        every: commits between compactions beside the writers', and where there are none of theirs.
        speed: bytes read and written in a second.
    """

    table: Table
    past: Past
    load: Callable[[Table], Past] | None
    overlap: Overlap
    bytes_of: FileBytes
    every: tuple[int | None, int | None]
    speed: float

    def of(self, options: Mapping[str, str]) -> SimulatedSettings:
        table = replace(self.table, dynamic_options={**self.table.dynamic_options, **options})
        buckets = table.model.bucket
        past = self.past if self.load is None else self.load(table)
        if self.load is None and buckets > 0 and buckets != self.table.model.bucket:
            past = rebucketed(past, buckets, self.bytes_of.whole)
        given, alone = self.every
        every = alone if given is None and not compacts_inline(table) else given
        ran = Simulation(table, past, self.overlap, self.bytes_of, every).run()
        last = ran.points[-1]
        return SimulatedSettings(
            dict(options),
            round((ran.arrived_bytes + ran.rewritten_bytes) / max(1, ran.arrived_bytes), 3),
            round(ran.mean_runs, 3),
            last.files,
            round(ran.mean_files, 1),
            last.bytes,
            last.retained_bytes,
            round(last.bytes / max(1.0, ran.rows), 1),
            round((ran.read_bytes + ran.rewritten_bytes) / self.speed, 1),
            ran.compactions,
            False,
            _to_set(self.table, options),
            tuple(ran.points),
        )


def _combinations(table: Table, past: Past, tries: Mapping[str, str] | None) -> list[dict[str, str]]:
    """The table's own settings, then all others. Raises: OptionError: one is none, or there are too many."""
    where = f"table {table.identifier}"
    if tries is None:
        asked = _usual(table, past)
    else:
        values = {k: [part.strip() for part in v.split(",")] for k, v in as_meant(dict(tries), where).items()}
        asked = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]
    found: list[dict[str, str]] = [{}]
    for settings in asked:
        check_set(settings, table.options, where)
        options = {key: value for key, value in settings.items() if not is_set_to(key, value, table.options)}
        if options.get("bucket", "1").startswith("-") or (not table.is_primary_key_table and "bucket" in options):
            fix = "Try a number of buckets from 1 on, of a table with a primary key."
            raise OptionError(f"'bucket' = {options['bucket']} cannot be simulated", where, fix)
        if options not in found:
            found.append(options)
    if len(found) > _MOST + 1:
        raise OptionError(f"{len(found) - 1} settings are to be tried", where, f"Try at most {_MOST} at a time.")
    return found


def _usual(table: Table, past: Past) -> list[dict[str, str]]:
    """What is worth a try where nothing is asked for."""
    if not table.is_primary_key_table:
        return [{table_options.COMPACTION_MIN_FILE_NUM.key: number} for number in ("3", "5", "10", "20")]
    trigger, ratio = table_options.NUM_SORTED_RUN_COMPACTION_TRIGGER.key, table_options.COMPACTION_SIZE_RATIO.key
    usual = [{trigger: number, ratio: percent} for number in ("3", "5", "8", "12") for percent in ("1", "20")]
    if compacts_inline(table) and any(moment.identifier != BATCH_IDENTIFIER for moment in past.moments):
        # A writer that does not number its commits would compact fully with each.
        full = table_options.FULL_COMPACTION_DELTA_COMMITS.key
        usual += [{trigger: number, full: "20"} for number in ("5", "8", "12")]
    return usual


def _speed(past: Past, given: int | None) -> tuple[float, str]:
    if given is not None:
        return float(given), f"a compaction goes through {size_text(given)} in a second, as was given"
    timed = [merged for merged in past.merged if merged.seconds > 0]
    done = sum(file.file_size for merged in timed for file in (*merged.before, *merged.after))
    seconds = sum(merged.seconds for merged in timed)
    if not done or not seconds:
        return float(BYTES_PER_SECOND), f"a compaction goes through {size_text(BYTES_PER_SECOND)} in a second, a guess"
    speed = max(1.0, done / seconds)
    return speed, f"a compaction goes through {size_text(int(speed))} in a second, as those of writers did"


def _to_set(table: Table, options: Mapping[str, str]) -> str:
    """How to get there."""
    if not options:
        return ""
    for key, value in options.items():
        fix = fix_of_change(key, value, table.options, has_snapshot=True)
        if fix is not None:
            return fix
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    statement = f"ALTER TABLE {table.identifier} SET ({pairs})"
    if "bucket" in options:
        statement += f"; CALL sys.rescale(table => '{table.identifier}', bucket_num => {options['bucket']})"
    return statement


def _marked(found: Sequence[SimulatedSettings]) -> tuple[SimulatedSettings, ...]:
    """With those marked that no others beat."""

    def beats(one: SimulatedSettings, other: SimulatedSettings) -> bool:
        pairs = list(zip(one.costs, other.costs, strict=True))
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

    first = {each.costs: each for each in reversed(found)}
    return tuple(
        replace(each, is_best=first[each.costs] is each and not any(beats(other, each) for other in found))
        for each in found
    )


def line_of(points: Sequence[Point], value: Callable[[Point], float]) -> str:
    """A line of characters, as high as the values are; the largest is a full block."""
    step = max(1, -(-len(points) // _WIDTH))
    values = [max(value(point) for point in points[at : at + step]) for at in range(0, len(points), step)]
    most = max(values, default=0) or 1
    return "".join(_BARS[min(len(_BARS) - 1, int(each / most * len(_BARS)))] for each in values)


def _shown(report: SimulationReport) -> Shown:
    found = report.settings
    kinds: Mapping[str, tuple[Any, Callable[[SimulatedSettings], Any]]] = {
        "settings": (pa.string(), lambda s: s.text),
        "best": (pa.bool_(), lambda s: s.is_best),
        "write_amplification": (pa.float64(), lambda s: s.write_amplification),
        "read_amplification": (pa.float64(), lambda s: s.read_amplification),
        "bytes_per_row": (pa.float64(), lambda s: s.bytes_per_row),
        "files": (pa.int64(), lambda s: s.files),
        "mean_files": (pa.float64(), lambda s: s.mean_files),
        "files_over_time": (pa.string(), lambda s: line_of(s.points, lambda point: point.files)),
        "bytes": (pa.int64(), lambda s: s.bytes),
        "retained_bytes": (pa.int64(), lambda s: s.retained_bytes),
        "compactions": (pa.int64(), lambda s: s.compactions),
        "seconds": (pa.float64(), lambda s: s.seconds),
        "to_set": (pa.string(), lambda s: s.to_set),
    }
    return Shown(pa.table({name: pa.array([of(s) for s in found], kind) for name, (kind, of) in kinds.items()}))


def _said(report: SimulationReport) -> Iterator[str]:
    came = f"{number_of(report.commits, 'commit')}, {number_of(report.rows, 'row')}, {size_text(report.bytes)}"
    of = f"snapshots {report.first_id} to {report.last_id}" if report.last_id else "the workload"
    own = report.settings[0]
    there = "" if report.files is None else f", and there are {report.files:,}"
    yield f"{of[0].upper()}{of[1:]}: {came}. As it is, {number_of(own.files, 'file')} come of it{there}."
    for each in report.best:
        yield (
            f"{each.text}: written {each.write_amplification:.2f} times, {each.read_amplification:.2f} runs to read, "
            f"{number_of(each.files, 'file')}, {size_text(each.bytes + each.retained_bytes)}, "
            f"{seconds_text(each.seconds)} of compactions. {each.to_set}"
        ).rstrip()
    yield from report.assumed


OPERATION = Operation(
    "simulate_settings",
    "Estimate what other settings of a table would cost its writers, its readers and the store.",
    SimulateSettings,
    as_asked,
    apply,
    _shown,
    looks_only=True,
    said=_said,
    spellings=(
        Spelling("simulate_settings"),
        Spelling(
            "simulate", "Estimate what other settings of a table would cost its writers, its readers and the store."
        ),
    ),
)


simulate_settings = OPERATION.function(
    """Estimate what other settings of a table would cost. Nothing is written, and no data is read.

    Args:
        tries: the values to try of each option, with commas between them, and all of their combinations; None = a usual
            choice.
        workload: the path of a file that says what is written in place of the snapshots.
        compact_every: commits between compactions other than the writers', None = when they ran.
        bytes_per_second: of a compaction, None = as those of the writers.
        plot: an SVG file to draw into.
    Raises: OptionError: no such setting, or nothing to replay; UnsupportedError: compactions of the table go by more
        than its metadata.

    >>> report = simulate_settings(table, {"num-sorted-run.compaction-trigger": "3,5,8"})
    >>> [settings.to_set for settings in report.best]
    """,
    takes=("now",),
    by_position=("tries",),
)
