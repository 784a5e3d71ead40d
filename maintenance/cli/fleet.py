"""What `paimonctl tables --long` and `paimonctl health` tell of many tables: a line for each, from metadata alone."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from maintenance.amounts import size_text
from maintenance.catalog import Catalog, CatalogTable
from maintenance.cli.judged import Judge
from maintenance.errors import NotFoundError, PaimonError, UnsupportedError
from maintenance.monitor.score import HealthRecord, part_rows
from maintenance.table.shape import table_shape

_TABLES_AT_ONCE = 8
Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Figures:
    """A table as its newest snapshot has it. None: such a table has no such figure, or it cannot be read.

    Attributes:
        kind: ``primary key``, ``append``, or ``other``: a view, or a table of plain files or objects.
        rows: physical ones, retractions included; `bytes`: of live data files; `level0_files`: not compacted yet.
        sorted_runs: in the bucket that has most. `changed`: when the newest snapshot was committed.
        problem: why there are no figures.
    """

    database: str
    table: str
    kind: str = "other"
    rows: int | None = None
    bytes: int | None = None
    files: int | None = None
    level0_files: int | None = None
    sorted_runs: int | None = None
    snapshots: int | None = None
    changed: datetime | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a table is healthy: every check passes. `wrong`: names of those that do not, with commas between them.

    `found`, `fix`: of the first of them. `score`: of its health, from 0 to 100.
    """

    database: str
    table: str
    healthy: bool
    wrong: str = ""
    found: str = ""
    fix: str = ""
    bytes: int | None = None
    level0_files: int | None = None
    snapshots: int | None = None
    score: int | None = None


def figures(catalog: Catalog, names: Iterable[Name]) -> list[Figures]:
    """The figures of tables, in their order. `names`: database and table. A table that cannot be read says why."""
    return for_each(lambda name: _figures(catalog, *name), names)


def health(judge: Judge, catalog: Catalog, names: Iterable[Name]) -> list[Health]:
    """Judgements of tables; those that have no snapshots of their own are left out."""
    found = for_each(lambda name: _health(judge, catalog, *name), names)
    return [each for each in found if each is not None]


def judgements_of(judge: Judge, name: str) -> list[dict[str, Any]]:
    """A row for each of them. Raises: UnsupportedError: the table has no snapshots. NotFoundError: there is none."""
    found = judge(name)
    if not found:
        raise UnsupportedError("there is nothing to judge in such a table", f"table {name}", "Name the table itself.")
    return [
        {"check": each.check, "healthy": "yes" if each.passed else "no", "found": each.summary, "fix": each.fix}
        for each in found
    ]


def as_part_rows(record: HealthRecord, *, for_people: bool) -> list[dict[str, Any]]:
    """A row for each part of a table's health. `for_people`: values with their units."""
    if for_people:
        return [dict(row) for row in part_rows(record)]
    return [
        {
            "part": part.name,
            "value": part.value,
            "unit": part.measure.unit,
            "target": part.target,
            "state": part.state,
            "points": round(part.points, 1),
            "weight": part.measure.weight,
            "what": part.measure.text,
        }
        for part in record.parts
    ]


def as_rows(lines: Sequence[Figures] | Sequence[Health], *, for_people: bool) -> list[dict[str, Any]]:
    """A row for each line. `for_people`: sizes in units, times to the second, yes and no."""
    rows = [asdict(line) for line in lines]
    if for_people:
        return [{_HEADS.get(name, name): _shown(name, value) for name, value in row.items()} for row in rows]
    return [
        {**row, "changed": row["changed"] and row["changed"].isoformat()} if "changed" in row else row for row in rows
    ]


_HEADS = {"bytes": "size", "level0_files": "level 0", "sorted_runs": "runs"}


def _shown(name: str, value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return size_text(value) if name == "bytes" else f"{value:,}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
    return str(value)


def for_each(line: Callable[[Name], Any], names: Iterable[Name]) -> list[Any]:
    """Some tables at once, in their order."""
    with ThreadPoolExecutor(_TABLES_AT_ONCE) as pool:
        return list(pool.map(line, names))


def _figures(catalog: Catalog, database: str, name: str) -> Figures:
    try:
        table = catalog.get_table(f"{database}.{name}")
        if not isinstance(table, CatalogTable):
            return Figures(database, name)
        shape, snapshot = table_shape(table), table.latest_snapshot()
    except PaimonError as error:
        return Figures(database, name, problem=error.found)
    return Figures(
        database,
        name,
        kind="primary key" if table.is_primary_key_table else "append",
        rows=shape.rows,
        bytes=shape.bytes,
        files=shape.files,
        level0_files=shape.level0_files if table.is_primary_key_table else None,
        sorted_runs=shape.sorted_runs_max if table.is_primary_key_table else None,
        snapshots=shape.snapshots,
        changed=None if snapshot is None else snapshot.committed_at,
    )


def _health(judge: Judge, catalog: Catalog, database: str, name: str) -> Health | None:
    try:
        found = judge(f"{database}.{name}")
    except NotFoundError:
        return None  # it was dropped since
    if not found:
        return None
    wrong = [judgement for judgement in found if not judgement.passed]
    told = Health(
        database,
        name,
        healthy=not wrong,
        wrong=", ".join(judgement.check for judgement in wrong),
        found=wrong[0].summary if wrong else "",
        fix=wrong[0].fix if wrong else "",
    )
    figures = _figures(catalog, database, name)
    score = judge.score(f"{database}.{name}", found)
    level0, snapshots = figures.level0_files, figures.snapshots
    return replace(told, bytes=figures.bytes, level0_files=level0, snapshots=snapshots, score=score)
