"""Does a table need compaction? Judged from the metadata of its latest snapshot."""

from dataclasses import dataclass

from maintenance.options import table as table_options
from maintenance.table.shape import TableShape, table_shape
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class CompactionNeed:
    """The judgement. `reason`: a sentence for people, also when nothing is due."""

    due: bool
    reason: str
    snapshot_id: int | None
    max_sorted_runs: int
    files: int


def compaction_need(table: Table) -> CompactionNeed:
    """Whether some bucket has reached its trigger: sorted runs with a primary key, else files."""
    return judge(table, table_shape(table))


def judge(table: Table, shape: TableShape, wanted: int | None = None) -> CompactionNeed:
    """The same from a shape that is known. `wanted`: a trigger in place of the table's."""
    if table.is_primary_key_table:
        trigger = wanted or table_options.NUM_SORTED_RUN_COMPACTION_TRIGGER.of(table.options)
        unit = "sorted runs"
    else:
        trigger = wanted or table_options.COMPACTION_MIN_FILE_NUM.of(table.options)
        unit = "files"
    most = shape.sorted_runs_max
    due = most >= trigger
    reason = f"a bucket has {most} {unit}, the trigger is {trigger}"
    return CompactionNeed(due, reason, shape.snapshot_id, most, shape.files)
