"""Start a branch: procedure `create_branch`. Source: metadata section 10.7, Java `FileSystemBranchManager`.

A branch is a folder of its own for schemas, snapshots and tags; manifests and data stay where they are and are shared.
On a local disk it is created under another name and then renamed. A store renames file by file; there the branch is
hidden until all its files are there. So it exists completely or not at all. What an interrupted creation has left on a
store goes when the name is used again.
"""

import uuid
from dataclasses import dataclass
from typing import Annotated

from maintenance.errors import AlreadyExistsError, NotFoundError, OptionError
from maintenance.format.metadata.schema import serialize_schema
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.format.metadata.tag import Tag, serialize_tag
from maintenance.fs.location import is_local
from maintenance.metadata.branch_root import MAIN_BRANCH, branch_root
from maintenance.metadata.branches import Branches
from maintenance.names import check_new_name
from maintenance.operations.operation import Operation, Plan, Run, as_asked
from maintenance.operations.parameters import Param
from maintenance.operations.refs.create_tag import snapshot_to_tag
from maintenance.operations.refs.delete_branch import remove_branch
from maintenance.operations.refs.expired_changes import without_expired_changes
from maintenance.operations.refs.holding import expired_meanwhile, holding
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class BranchReport:
    """The branch. `created`: False if it was there before; `snapshot_id`: what it starts with, None = nothing."""

    table: str
    branch: str
    snapshot_id: int | None
    created: bool


@dataclass(frozen=True, slots=True)
class CreateBranch:
    """A branch, and what it starts with; without a tag or snapshot: the schemas alone, no rows."""

    branch: Annotated[str, Param("Name of the branch.", others=("branch_name",))]
    tag: Annotated[str | None, Param("Start from the snapshot of this tag, and copy the tag.")] = None
    snapshot_id: Annotated[int | None, Param("Start from this snapshot.", others=("snapshot",))] = None
    ignore_if_exists: Annotated[bool, Param("Leave a branch of that name as it is.", others=("ignoreIfExists",))] = (
        False
    )


def apply(_: Run, table: Table, planned: Plan[CreateBranch, None]) -> BranchReport:
    """Create the branch."""
    branch, tag, snapshot_id = planned.request.branch, planned.request.tag, planned.request.snapshot_id
    if branch != MAIN_BRANCH and branch in Branches(table.file_io, table.paths).names():
        if planned.request.ignore_if_exists:
            return BranchReport(
                table.identifier, branch, table.on_branch(branch).snapshots.earliest_id(), created=False
            )
        raise AlreadyExistsError(f"branch '{branch}' exists", table.identifier, "Choose another name.")
    check_branch_name(branch, table.identifier)
    if snapshot_id is not None:
        if tag is not None:
            raise OptionError("a branch starts once", table.identifier, "Name a tag or a snapshot, not both.")
        return _from_snapshot(table, branch, snapshot_id)
    held = None if tag is None else table.tags.get(tag)
    snapshot_id = None if held is None else held.snapshot.id
    if table.record.create_branch(branch, tag):
        return BranchReport(table.identifier, branch, snapshot_id, created=True)
    _publish(table, branch, tag, held)
    if tag is not None and held is not None and table.tags.find(tag) != held:
        remove_branch(table, branch)
        fix = "Start the branch with another tag, or with a snapshot."
        raise NotFoundError(f"tag '{tag}' was deleted meanwhile", table.identifier, fix)
    return BranchReport(table.identifier, branch, snapshot_id, created=True)


OPERATION = Operation(
    "create_branch",
    "Create a branch of a table.",
    CreateBranch,
    as_asked,
    apply,
    has_dry_run=False,
    has_job=False,
)


def _from_snapshot(table: Table, branch: str, snapshot_id: int) -> BranchReport:
    """Create a branch while a tag holds its snapshot: otherwise an expiry may take its files meanwhile."""
    snapshot = snapshot_to_tag(table, snapshot_id)
    with holding(table, snapshot, "branching") as guard:
        if not table.record.create_branch(branch, guard):
            _publish(table, branch, None, Tag(snapshot))
            if table.tags.find(guard) is None:
                # Somebody let all tags expire, whatever their time: what the branch held goes with a new one.
                table.tags.publish(guard, Tag(snapshot))
                remove_branch(table, branch)
                raise expired_meanwhile(table, snapshot)
    return BranchReport(table.identifier, branch, snapshot_id, created=True)


def _publish(table: Table, branch: str, name: str | None, tag: Tag | None) -> None:
    """Write a branch so that nobody sees half of it."""
    root = branch_root(table.location, branch)
    if is_local(root):
        folder = f"{table.location}/branch/.{uuid.uuid4()}.tmp"
        written = _fill(table, folder, name, tag)
        table.file_io.rename_folder(folder, root)
    else:
        written = _fill_hidden(table, branch, name, tag)
    if tag is None:
        return
    # Only now does an expiry see that the branch needs the changelog; it may have gone before.
    first = serialize_snapshot(without_expired_changes(table, tag.snapshot))
    if first != written[_snapshot_file(tag)]:
        table.file_io.overwrite(f"{root}/{_snapshot_file(tag)}", first)


def _fill_hidden(table: Table, branch: str, name: str | None, tag: Tag | None) -> dict[str, bytes]:
    """As `_fill`, in the branch's own folder. Raises: AlreadyExistsError: somebody else has created it meanwhile."""
    root, branches = branch_root(table.location, branch), Branches(table.file_io, table.paths)
    if table.file_io.folder_exists(root):
        if branch not in branches.hidden():
            raise AlreadyExistsError(f"branch '{branch}' exists", table.identifier, "Choose another name.")
        table.file_io.delete_folder(root)
        branches.show(branch)  # so that what hides it is new, too
    branches.hide(branch)
    branches.forget_renaming(branch)
    written = _fill(table, root, name, tag)
    branches.show(branch)
    return written


def check_branch_name(branch: str, table: str) -> None:
    """Raises: OptionError: a branch cannot have that name."""
    check_new_name(branch, "a branch", table, around=len("branch-"))
    if branch == MAIN_BRANCH or branch.isdecimal() or "$" in branch:
        raise OptionError(
            f"'{branch}' cannot be a branch", table, "Choose a name with a letter and without '$', not main."
        )


def _snapshot_file(tag: Tag) -> str:
    return f"snapshot/snapshot-{tag.snapshot.id}"


def _fill(table: Table, folder: str, name: str | None, tag: Tag | None) -> dict[str, bytes]:
    """Write the files of a branch, and return them by path. On an error nothing of them stays."""
    try:
        contents = _contents(table, name, tag)
        for path, data in contents.items():
            table.file_io.write_bytes(f"{folder}/{path}", data)
        table.file_io.flush([f"{folder}/{path}" for path in contents], folder)
        return contents
    except BaseException:
        if table.file_io.folder_exists(folder):
            table.file_io.delete_folder(folder)
        raise


def _contents(table: Table, name: str | None, tag: Tag | None) -> dict[str, bytes]:
    """The files of a branch by their path in its folder."""
    last = table.schemas.list_ids()[-1] if tag is None else tag.snapshot.schema_id
    ids = [schema_id for schema_id in table.schemas.list_ids() if schema_id <= last]
    files = {f"schema/schema-{schema_id}": serialize_schema(table.schemas.get(schema_id)) for schema_id in ids}
    if tag is not None:
        if name is not None:
            files[f"tag/tag-{name}"] = serialize_tag(tag)
        files[_snapshot_file(tag)] = serialize_snapshot(without_expired_changes(table, tag.snapshot))
        records = table.commit_records.known_at(tag.snapshot.id)
        files |= {f"commit-records/{record.name}": record.serialize() for record in records}
    return files


create_branch = OPERATION.function(
    """Create a branch of a table, or of a branch if the handle is on one.

    Args:
        tag: start from the snapshot of this tag, and copy the tag; None = schemas only, no rows.
        snapshot_id: start from this snapshot instead.
        ignore_if_exists: leave an existing branch of that name alone instead of raising.
    Raises: OptionError: the name cannot be used, or a tag and a snapshot are given; AlreadyExistsError; NotFoundError:
        no such tag or snapshot.
    """
)
