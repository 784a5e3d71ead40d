"""Start a branch: procedure `create_branch`. Source: metadata section 10.7, Java `FileSystemBranchManager`.

A branch is a folder of its own for schemas, snapshots and tags; manifests and data stay where they are and are shared.
It is made beside its place and then renamed, so that on a local disk it is there whole or not at all. An object store
renames file by file: what a creation that died has left there is to be deleted as a branch.
"""

import uuid
from dataclasses import dataclass

from maintenance.errors import AlreadyExistsError, NotFoundError, OptionError
from maintenance.format.metadata.schema import serialize_schema
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.format.metadata.tag import Tag, serialize_tag
from maintenance.metadata.branches import Branches
from maintenance.metadata.paths import MAIN_BRANCH, branch_root
from maintenance.names import check_new_name
from maintenance.operations.refs.delete_branch import remove_branch
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class BranchReport:
    """The branch. `created`: False if it was there before; `snapshot_id`: what it starts with, None = nothing."""

    table: str
    branch: str
    snapshot_id: int | None
    created: bool


def create_branch(table: Table, branch: str, *, tag: str | None = None, ignore_if_exists: bool = False) -> BranchReport:
    """Create a branch of a table, or of the branch that the handle is of.

    Args:
        tag: start with the snapshot that this tag holds, and with the tag; None = with the schemas alone, no rows.
        ignore_if_exists: leave a branch of that name as it is instead of raising.
    Raises: OptionError: the name cannot be used; AlreadyExistsError; NotFoundError: no such tag.
    """
    if branch != MAIN_BRANCH and branch in Branches(table.file_io, table.paths).names():
        if ignore_if_exists:
            return BranchReport(
                table.identifier, branch, table.on_branch(branch).snapshots.earliest_id(), created=False
            )
        raise AlreadyExistsError(f"branch '{branch}' exists", table.identifier, "Choose another name.")
    check_branch_name(branch, table.identifier)
    held = None if tag is None else table.tags.get(tag)
    folder = f"{table.location}/branch/.{uuid.uuid4()}.tmp"
    _fill(table, folder, tag, held)
    table.file_io.rename_folder(folder, branch_root(table.location, branch))
    if tag is not None and held is not None and table.tags.find(tag) != held:
        remove_branch(table, branch)
        raise NotFoundError(f"tag '{tag}' was deleted meanwhile", table.identifier, "Use another tag.")
    return BranchReport(table.identifier, branch, None if held is None else held.snapshot.id, created=True)


def check_branch_name(branch: str, table: str) -> None:
    """Raises: OptionError: a branch cannot have that name."""
    check_new_name(branch, "a branch", table, around=len("branch-"))
    if branch == MAIN_BRANCH or branch.isdecimal() or "$" in branch:
        raise OptionError(
            f"'{branch}' cannot be a branch", table, "Choose a name with a letter and without '$', not main."
        )


def _fill(table: Table, folder: str, name: str | None, tag: Tag | None) -> None:
    """Write the files of a branch. On an error nothing of them stays."""
    try:
        contents = _contents(table, name, tag)
        for path, data in contents.items():
            table.file_io.write_bytes(f"{folder}/{path}", data)
        table.file_io.flush([f"{folder}/{path}" for path in contents], folder)
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
        files[f"tag/tag-{name}"] = serialize_tag(tag)
        files[f"snapshot/snapshot-{tag.snapshot.id}"] = serialize_snapshot(tag.snapshot)
        known = table.commit_records.known_at(tag.snapshot.id)
        files |= {f"commit-records/{record.name}": record.serialize() for record in known}
    return files
