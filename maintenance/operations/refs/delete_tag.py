"""Delete tags by name, and what only they used: procedure `delete_tag`. Source: metadata section 10.2, `TagManager`.

As in Paimon, the procedure and Spark's statement take names of tags that are not there; Python's function does not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from maintenance.operations.bin.run import BinRun
from maintenance.operations.expiry.expire_tags import ExpireTagsReport, apply, plan_tags, said
from maintenance.operations.operation import Operation, Plan, Run
from maintenance.operations.parameters import Param
from maintenance.operations.planned_groups import committed
from maintenance.options import table as table_options
from maintenance.spark.sharing import SparkSource
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class DeleteTag:
    """Which tags go. `must_exist`: a name that no tag has is an error, instead of nothing to do."""

    names: Annotated[Sequence[str], Param("Names of the tags.", name="tag", others=("tag_name", "tags"))]
    must_exist: bool = False


def plan(run: Run, table: Table, request: DeleteTag) -> Plan[DeleteTag, ExpireTagsReport]:
    """The tags, and the files that only they use."""
    table_options.check_keepable(table.options, table.identifier)
    find = table.tags.get if request.must_exist else table.tags.find
    due = {name: tag for name in request.names if (tag := find(name)) is not None}

    def held(name: str) -> str:
        return f"of snapshot {due[name].snapshot.id}, {committed(due[name].snapshot)}"

    return plan_tags(run, table, request, due, held)


OPERATION = Operation(
    "delete_tag", "Delete tags.", DeleteTag, plan, apply, said=said, takes_bin=True, uses_spark=True, has_job=False
)


def delete_tag(
    table: Table,
    *names: str,
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
    into: BinRun | None = None,
    spark: SparkSource = None,
) -> ExpireTagsReport:
    """Delete tags of a table or branch, and the data files that only they need.

    Args: `into`: takes what is deleted, so that it can be restored; None = it is destroyed at once; `spark`: as of
        `expire_tags`.

    Raises: NotFoundError: a tag does not exist, nothing is deleted then; CorruptFileError, UnsupportedError: as
        `expire_tags`.
    """
    return OPERATION.run(Run.of(spark, progress, into), table, DeleteTag(names, must_exist=True), dry_run=dry_run)
