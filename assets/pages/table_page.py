"""The first page of a table, from what has been read of it: health, disk, snapshots, last runs, links.

Dagster shows metadata in the order in which it is given, tables at once and Markdown of less than 1000 characters.
Cells of tables are plain text, so links are lines of their own.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import dagster as dg

from maintenance.amounts import number_of, part_of, size_text, time_text
from maintenance.commit.identity import APPLICATION_PROPERTY, RUN_PROPERTY
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.named_writers import job_of
from maintenance.monitor.score import HealthRecord, part_rows
from maintenance.monitor.triggers import NOTHING_DUE
from maintenance.operations.expiry.kept_snapshots import LISTED, HeldFiles, KeptSnapshots, kept_snapshots
from maintenance.project.config import TableConfig
from maintenance.table.shape import TableShape
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.expiring import retention_of
from paimon_maintenance.assets.pages.catalogue import actions
from paimon_maintenance.assets.pages.upcoming import Upcoming
from paimon_maintenance.assets.project.console_links import console_link
from paimon_maintenance.assets.units import files_text, millis_text

_RUNS_SHOWN = 10
_RUNS_LINKED = 5
_TAGS_SHOWN = 20
_LINKED_CHECKS = 6
# Markdown up to this length is shown at once; longer texts are a click away.
_INLINE = 990
_SHORT_ID = 8
_UNKNOWN = "not added up: there are too many"


@dataclass(frozen=True, slots=True)
class TableView:
    """What a page is made of.

    Attributes:
        now: when the table was read, with a time zone.
        shape, kept: None where they could not be read.
        past: rows of the history, newest first.
        location: the code location, for links; None: not known.
        freed: bytes that the next expiry frees; None where they are not added up.
        record: how well the table is kept; None where it could not be read.
        upcoming: what is next; None where that is not asked for, or cannot be planned.
    """

    config: TableConfig
    now: datetime
    shape: TableShape | None
    kept: KeptSnapshots | None
    judgements: Sequence[Judgement]
    past: Sequence[Mapping[str, Any]] = field(default=())
    location: str | None = None
    freed: int | None = None
    record: HealthRecord | None = None
    upcoming: Upcoming | None = None

    @property
    def identifier(self) -> str:
        return self.config.identifier

    @property
    def failed(self) -> list[Judgement]:
        return [judgement for judgement in self.judgements if not judgement.passed]

    @property
    def digest(self) -> str:
        """Changes when something on the page has, apart from ages: these change by themselves."""
        kept, kept_text = self.kept, ""
        if kept is not None:
            kept_text = f"{[k.snapshot.id for k in kept.listed]} {kept.count} {kept.due} {kept.tags} {kept.consumers}"
        failed = sorted(judgement.check for judgement in self.failed)
        last = [str(row["finished_at"]) for row in self.past[:1]]
        over = [] if self.record is None else [part.name for part in self.record.worst]
        return digest_of([_glance(self), kept_text, failed, last, over])


def digest_of(content: Any) -> str:
    """A short text that differs where what JSON can hold does."""
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()[:16]


def settings_digest(config: TableConfig) -> str:
    """A text that changes when the settings of a table do."""
    return digest_of(config.settings)


def what_is_kept(
    table: Table, config: TableConfig, now: datetime, zone: ZoneInfo, *, most: int = LISTED
) -> KeptSnapshots:
    """The snapshots of a table, by what tables.yaml says of its retention.

    Args: `zone`: used where that names none; `most`: snapshots that are listed.
    """
    return kept_snapshots(table, now, retention_of(config, now, zone), most=most)


def table_page(view: TableView) -> dict[str, Any]:
    """The page as metadata: what is urgent comes first."""
    page: dict[str, Any] = {
        "health": dg.MetadataValue.md(_verdict(view)),
        **console_link("tables", view.identifier),
    }
    if view.record is not None and view.record.parts:
        page["health score"] = view.record.score
    if view.upcoming is not None:
        page |= _what_is_next(view, view.upcoming)
    if glance := _glance(view):
        page["at a glance"] = text_table([{"measure": name, "now": value} for name, value in glance.items()])
    if view.kept is not None and view.kept.count:
        page["kept snapshots"] = text_table(_snapshot_rows(view.kept, view.config.writers))
    if view.past:
        page["last runs"] = text_table([_run_row(row) for row in view.past[:_RUNS_SHOWN]])
        page["open a run"] = dg.MetadataValue.md(_run_links(view.past))
    page["next steps"] = dg.MetadataValue.md(_next_steps(view))
    if view.kept is not None and view.kept.count:
        page["earlier states"] = dg.MetadataValue.md(_earlier_states(view, view.kept))
    if view.record is not None and view.record.parts:
        page["parts of the health"] = text_table(part_rows(view.record))
    if failed := view.failed:
        rows = [{"check": j.check, "what was found": j.summary, "next step": j.fix} for j in failed]
        page["open problems"] = text_table(rows)
    return page


def text_table(rows: Sequence[Mapping[str, str]]) -> dg.TableMetadataValue:
    """Rows, at least one, all with the same columns, as Dagster shows them."""
    schema = dg.TableSchema([dg.TableColumn(name) for name in rows[0]])
    return dg.MetadataValue.table([dg.TableRecord(dict(row)) for row in rows], schema)


def _verdict(view: TableView) -> str:
    """Whether all is well; else each check that fails, with what was found as far as there is room."""
    failed, read = view.failed, f"Read at {time_text(view.now)}."
    if not failed:
        due = due_of(view.judgements)
        verdict = f"**Every check passes;** {due}." if due else "**Healthy:** every check passes, and nothing is due."
        return f"{verdict} {read}"
    page = f"{keys.spot_of(view.config).path}?view=checks&checkDetail="
    lines = [
        f"**{part_of(len(failed), len(view.judgements), 'check', ('fails', 'fail'))}.** {read}",
        "",
    ]
    links = [f"- [{judgement.check}]({page}{judgement.check})" for judgement in failed[:_LINKED_CHECKS]]
    more = [f"- and {len(failed) - _LINKED_CHECKS} more"] if len(failed) > _LINKED_CHECKS else []
    room = (_INLINE - len("\n".join([*lines, *links, *more]))) // len(links)
    shown = [f"{link} {_cut(j.summary, room - 2)}" for link, j in zip(links, failed, strict=False)]
    return "\n".join([*lines, *shown, *more])


def _cut(text: str, length: int) -> str:
    text = text.replace("\n", " ")
    return text if len(text) <= length else f"{text[: length - 1]}…"


def due_of(judgements: Sequence[Judgement]) -> str:
    """What is due, as a sentence; empty where nothing is."""
    due = (j.summary for j in judgements if j.check == NOTHING_DUE and j.details.get("due"))
    return next(due, "")


def _glance(view: TableView) -> dict[str, str]:
    """The numbers in words; what is zero is left out."""
    shape, kept = view.shape, view.kept
    if shape is None:
        return {}
    entries: dict[str, str] = {"live data": files_text(shape.files, shape.bytes)}
    if kept is not None:
        entries["only old snapshots need"] = _held(kept.by_snapshots)
        entries["only tags need"] = _held(kept.by_tags)
        if kept.due:
            entries["next expiry deletes"] = f"{kept.due:,} of {number_of(kept.count, 'snapshot')}"
        if view.freed:
            entries["next expiry frees"] = size_text(view.freed)
    numbers = {
        "rows, before merging" if _unmerged(view.config, shape) else "rows": shape.rows,
        "rows deleted by vectors": shape.deleted_rows,
        "level-0 files": shape.level0_files,
        "sorted runs (most in a bucket)": shape.sorted_runs_max,
        "partitions": shape.partitions if view.config.partition_keys else 0,
        "buckets": shape.buckets,
        "snapshots": shape.snapshots,
        "tags": shape.tags,
        "consumers": kept.consumers if kept is not None else 0,
        "files with an index": shape.index_files,
        "newest snapshot": shape.snapshot_id or 0,
    }
    entries.update({name: f"{value:,}" for name, value in numbers.items() if value})
    return {name: value for name, value in entries.items() if value}


def _unmerged(config: TableConfig, shape: TableShape) -> bool:
    """Whether a key may have several records, so that the rows are not known without reading."""
    return bool(config.primary_keys) and (shape.level0_files > 0 or shape.sorted_runs_max > 1)


def _held(held: HeldFiles | None) -> str:
    if held is None:
        return _UNKNOWN
    return files_text(held.files, held.bytes) if held.files else ""


def _snapshot_rows(kept: KeptSnapshots, writers: Mapping[str, str]) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    between, tags = kept.count - len(kept.listed), len(kept.tagged) - _TAGS_SHOWN
    for number, one in enumerate(kept.listed):
        if between > 0 and number == len(kept.listed) // 2:
            rows.append({**dict.fromkeys(rows[0], ""), "id": "…", "kept by": f"{between:,} more between these"})
        rows.append(_snapshot_row(one.snapshot, one.kept_by, writers))
    for name, tag in kept.tagged[:_TAGS_SHOWN]:
        life = "until it is deleted" if tag.time_retained is None else f"for {tag.time_retained}"
        kept_by = f"tag {name}, {life}; the snapshot itself has expired"
        rows.append(_snapshot_row(tag.snapshot, kept_by, writers))
    if tags > 0:
        rows.append({**dict.fromkeys(rows[0], ""), "id": "…", "kept by": number_of(tags, "more tag")})
    return rows


def _snapshot_row(snapshot: Snapshot, kept_by: str, writers: Mapping[str, str]) -> dict[str, str]:
    changed = snapshot.delta_record_count
    return {
        "id": str(snapshot.id),
        "kept by": kept_by,
        "time (UTC)": millis_text(snapshot.time_millis).removesuffix(" UTC"),
        "kind": str(snapshot.commit_kind),
        "writer": writer_of(snapshot, writers),
        "rows": "" if snapshot.total_record_count is None else f"{snapshot.total_record_count:,}",
        "change": "" if changed is None else f"{changed:+,}",
    }


def writer_of(snapshot: Snapshot, writers: Mapping[str, str]) -> str:
    """Who committed a snapshot: a run of ours, or the commit user, with its job or application where it is known."""
    properties, user = snapshot.properties or {}, snapshot.commit_user
    if run := properties.get(RUN_PROPERTY):
        return f"run {run[:_SHORT_ID]}"
    if job := job_of(user, writers):
        return f"{user} ({job})"
    application = properties.get(APPLICATION_PROPERTY)
    return f"{user} (Spark application {application})" if application else user


def _run_row(row: Mapping[str, Any]) -> dict[str, str]:
    details: Mapping[str, Any] = json.loads(row["details"] or "{}")
    changed = [details.get(name) for name in ("rows", "deleted_rows", "updated_rows") if details.get(name)]
    failed = details.get("found") if row["outcome"] == "failed" else ""
    return {
        "when (UTC)": time_text(row["finished_at"]).removesuffix(" UTC"),
        "operation": row["operation"].replace("_", " "),
        "outcome": f"{row['outcome']}: {failed}" if failed else row["outcome"],
        "why": str(details.get("reason") or ""),
        "files": _before_after(row["files_before"], row["files_after"], "{:,}".format),
        "size": _before_after(row["bytes_before"], row["bytes_after"], size_text),
        "rows": f"{changed[0]:,}" if changed else "",
        "seconds": "" if row["seconds"] is None else f"{row['seconds']:,.1f}",
        "proof": str(details.get("proof") or ""),
        "run": (row["run_id"] or "")[:_SHORT_ID],
    }


def _before_after(before: int | None, after: int | None, text: Any) -> str:
    if before is None or after is None:
        return ""
    return str(text(after)) if before == after else f"{text(before)} → {text(after)}"


def _run_links(past: Sequence[Mapping[str, Any]]) -> str:
    runs = dict.fromkeys(row["run_id"] for row in past[:_RUNS_SHOWN] if row["run_id"])
    return ", ".join(f"[{run[:_SHORT_ID]}](/runs/{run})" for run in list(runs)[:_RUNS_LINKED])


def _what_is_next(view: TableView, upcoming: Upcoming) -> dict[str, Any]:
    """What is worth doing, why, what does it; and what the work of a week has cost."""
    rows, stored = upcoming.rows(), 0 if view.shape is None else view.shape.bytes
    if view.kept is not None:
        stored += sum(held.bytes for held in (view.kept.by_snapshots, view.kept.by_tags) if held is not None)

    def to(job: str, config: str) -> str:
        if job == keys.STATEMENT:
            return launchpad(view.location, job, config)
        return launchpad(view.location, keys.job_of(view.config, job), keys.job_config_of(view.config, config))

    links = upcoming.links(to, _INLINE)
    return {
        "what is next": text_table(rows) if rows else dg.MetadataValue.text("Nothing is worth doing."),
        **({"plan or apply it": dg.MetadataValue.md(links)} if links else {}),
        "costs": text_table([upcoming.costs(stored)]),
    }


def _next_steps(view: TableView) -> str:
    """Links to the table's jobs; of compaction and expiry also a dry run, which changes nothing and keeps a plan."""
    dry = {
        "what a compaction would merge": ("compact", "ops: {compact: {config: {dry_run: true}}}"),
        "what an expiry would delete": ("expire", "ops: {tag: {config: {dry_run: true}}}"),
    }
    plans = [
        f"[{text}]({launchpad(view.location, keys.job_of(view.config, job), keys.job_config_of(view.config, config))})"
        for text, (job, config) in dry.items()
    ]
    names = [keys.job_of(view.config, action) for action in actions(view.config)]
    jobs = [f"[{job}]({launchpad(view.location, job, keys.job_config_of(view.config))})" for job in names]
    return f"See {', '.join(plans)}. Run {', '.join(jobs)}."


def _earlier_states(view: TableView, kept: KeptSnapshots) -> str:
    """Links to the jobs that keep a state and go back to one, as dry runs; what to go back to is left to be chosen."""
    tag = f", tag: '{kept.tagged[-1][0]}'" if kept.tagged else ""
    jobs = {"create_tag": ("new_tag", ", name: '{date}'"), "rollback": ("earlier_state", tag)}
    if view.config.partition_keys:
        spec = ", ".join(f"{name}: ''" for name in view.config.partition_keys)
        jobs["restore_partitions"] = ("earlier_partitions", f", partitions: [{{{spec}}}]{tag}")
    config = "ops: {{{step}: {{config: {{table: {name}{more}, dry_run: true}}}}}}"
    links = {
        job: launchpad(view.location, job, config.format(step=step, name=view.identifier, more=more))
        for job, (step, more) in jobs.items()
    }
    return f"Dry runs: {', '.join(f'[{job}]({link})' for job, link in links.items())}."


def launchpad(location: str | None, job: str, config: str = "") -> str:
    """Where a job is launched, with its config filled in; Dagster finds the job's code location where none is named."""
    if location is None:
        return f"/guess/{job}"
    path = f"/locations/{quote(location, safe='')}/jobs/{job}/playground"
    return f"{path}/setup?config={quote(config)}" if config else path
