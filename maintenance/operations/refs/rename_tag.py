"""Give a tag another name: procedure `rename_tag`. Source: Java `TagManager`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from maintenance.errors import AlreadyExistsError, NotFoundError
from maintenance.format.metadata.tag import Tag
from maintenance.operations.expiry.tag_reports import report_created, report_deleted
from maintenance.operations.operation import Operation, Plan, Run
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.planned_groups import tag_group
from maintenance.operations.refs.create_tag import check_tag_name
from maintenance.operations.refs.holding import let_go, take_back
from maintenance.options import table as table_options
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class RenameTag:
    """Which tag, and what it is called then."""

    tag: Annotated[str, Param("Name of the tag.", others=("tag_name", "tagName"))]
    target_tag: Annotated[str, Param("The new name.", others=("target_tag_name", "targetTagName"))]


def plan(_: Run, table: Table, request: RenameTag) -> Plan[RenameTag, None]:
    """Checks that the tag can get the name."""
    table_options.check_keepable(table.options, table.identifier)
    check_tag_name(request.target_tag, table.identifier)
    held = table.tags.get(request.tag)
    is_other = request.tag != request.target_tag
    if is_other and table.tags.find(request.target_tag) not in (None, held):
        raise _exists(table, request.target_tag)

    def groups() -> Iterator[PlannedGroup]:
        if is_other:
            yield tag_group(table, request.tag, f"; is named {request.target_tag} then", 1)

    return Plan(request, None, groups, held)


def apply(_: Run, table: Table, planned: Plan[RenameTag, None]) -> None:
    """Rename the tag, if it still is the planned one."""
    tag, target_tag, held = planned.request.tag, planned.request.target_tag, planned.work
    assert isinstance(held, Tag)
    if tag == target_tag:
        return
    if not table.tags.publish(target_tag, held) and table.tags.find(target_tag) != held:
        raise _exists(table, target_tag)
    if table.tags.find(tag) != held:
        # Whoever deletes a tag retires it, then looks at the tags once more: it may not have seen the new name.
        take_back(table, target_tag)
        fix = "Rename a tag that is there: query the system table $tags."
        raise NotFoundError(f"tag '{tag}' was deleted meanwhile", table.identifier, fix)
    report_created(table, target_tag)
    let_go(table, tag)
    report_deleted(table, tag)


OPERATION = Operation("rename_tag", "Rename a tag.", RenameTag, plan, apply, has_job=False)


rename_tag = OPERATION.function(
    """Rename a tag. For a moment both names exist. If the process dies then, repeat the call to finish.

    Args:
        dry_run: only check that it can be done.
    Raises: NotFoundError: no such tag; AlreadyExistsError: another tag has the new name; OptionError: the
        name cannot be used.
    """
)


def _exists(table: Table, tag: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"tag '{tag}' exists", table.identifier, "Choose another name.")
