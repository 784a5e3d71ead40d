"""Writers of one table side by side: their commits on one axis of time, the buckets that both work on, what to set."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.paths import bucket_text
from maintenance.monitor.census import Census, Commit, take_census
from maintenance.monitor.health import COMMITS_LOOKED_AT, judge_conduct
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.named_writers import job_of, naming_jobs
from maintenance.table.acknowledged import OF_WRITERS
from paimon_maintenance.assets.checks.judging import acknowledged_of
from paimon_maintenance.console.lake import Known
from paimon_maintenance.console.pictures.timeline import COLOURS, SHAPES, Mark
from paimon_maintenance.console.words import millis

LEFT, WIDTH, LANE, TOP = 12.0, 900.0, 34.0, 16.0
_ATTEMPTS = 5
_WRITERS = 12


@dataclass(frozen=True, slots=True)
class Lane:
    """A writer. `job`: behind its commit user, where tables.yaml says it."""

    name: str
    job: str | None
    y: float
    colour: int
    commits: int


@dataclass(frozen=True, slots=True)
class Shared:
    """A bucket that several writers work on. `commits`: of each, in the order of the lanes; `last`: the newest."""

    place: str
    commits: Sequence[tuple[str, int]]
    last: datetime


@dataclass(frozen=True, slots=True)
class ConflictView:
    """The page.

    Attributes:
        failed: the checks over writers that fail. past: those whose conflict is over or was acknowledged.
        hidden: writers beyond those that are drawn.
    """

    table: str
    failed: Sequence[Judgement]
    past: Sequence[Judgement]
    lanes: Sequence[Lane]
    marks: Sequence[Mark]
    shared: Sequence[Shared]
    first: datetime | None
    last: datetime | None
    height: float
    hidden: int

    @property
    def width(self) -> float:
        return LEFT * 2 + WIDTH


def conflict_view(known: Known, identifier: str) -> ConflictView:
    """The writers of the newest snapshots. Raises: NotFoundError; as reading the table."""
    config = known.config(identifier)
    table = known.catalog.get_table(identifier)
    census = again_if_expired(lambda: take_census(table, limit=COMMITS_LOOKED_AT), _ATTEMPTS)
    judged = judge_conduct(table, config.rules, datetime.now(UTC), acknowledged_of(known.catalog, config), census)
    judgements = [naming_jobs(judgement, config.writers) for judgement in judged if judgement.check in OF_WRITERS]
    failed = [judgement for judgement in judgements if not judgement.passed]
    named = {number for judgement in failed for number in judgement.details.get("snapshots", ())}
    in_conflict = [judgement.details.get(role) for judgement in failed for role in ("first", "second")]
    ranked = sorted(census.writers, key=lambda name: (name not in in_conflict, name))[:_WRITERS]
    lanes = [
        Lane(name, job_of(name, config.writers), TOP + number * LANE + LANE / 2, number % COLOURS,
             len(census.writers[name].commits))
        for number, name in enumerate(ranked)
    ]  # fmt: skip
    commits = census.commits
    return ConflictView(
        identifier,
        failed,
        [judgement for judgement in judgements if judgement.passed and "first" in judgement.details],
        lanes,
        _marks(census, lanes, named),
        _shared(commits, ranked),
        millis(commits[0].time_millis) if commits else None,
        millis(commits[-1].time_millis) if commits else None,
        TOP * 2 + LANE * len(lanes),
        len(census.writers) - len(ranked),
    )


def _marks(census: Census, lanes: Sequence[Lane], named: set[int]) -> list[Mark]:
    if not census.commits:
        return []
    times = [commit.time_millis for commit in census.commits]
    first, span = min(times), max(1, max(times) - min(times))
    lane_of = {lane.name: lane for lane in lanes}
    marks = []
    for commit in census.commits:
        lane = lane_of.get(commit.writer)
        if lane is None:
            continue
        x = LEFT + WIDTH * (commit.time_millis - first) / span
        shape = SHAPES.get(commit.kind, "diamond")
        marks.append(Mark(round(x, 1), lane.y, shape, lane.colour, False, _text(commit), commit.snapshot_id in named))
    return marks


def _text(commit: Commit) -> str:
    places = ", ".join(bucket_text(partition, bucket) for partition, bucket in sorted(commit.places)[:3])
    more = f" and {len(commit.places) - 3} more" if len(commit.places) > 3 else ""
    when = millis(commit.time_millis).isoformat(timespec="seconds")
    return f"snapshot {commit.snapshot_id}, {commit.kind.value} by {commit.writer}, {when}, in {places}{more}"


def _shared(commits: Sequence[Commit], writers: Sequence[str]) -> list[Shared]:
    """The buckets that more than one of the writers has worked on, the most contested first."""
    counts: dict[tuple[str, int], dict[str, int]] = {}
    last: dict[tuple[str, int], int] = {}
    for commit in commits:
        for place in commit.places if commit.writer in writers else ():
            here = counts.setdefault(place, {})
            here[commit.writer] = here.get(commit.writer, 0) + 1
            last[place] = commit.time_millis
    contested = [place for place, here in counts.items() if len(here) > 1]
    contested.sort(key=lambda place: (-sum(counts[place].values()), place))
    return [
        Shared(
            bucket_text(*place),
            [(name, counts[place].get(name, 0)) for name in writers],
            millis(last[place]),
        )
        for place in contested[:100]
    ]
