"""Give a tag another name: procedure `rename_tag`. Source: Java `TagManager`."""

from maintenance.errors import AlreadyExistsError, NotFoundError
from maintenance.operations.expiry.tag_removal import take_back
from maintenance.operations.expiry.tag_reports import report_created, report_deleted
from maintenance.operations.refs.create_tag import check_tag_name
from maintenance.options import table as table_options
from maintenance.table.table import Table


def rename_tag(table: Table, tag: str, target_tag: str, *, dry_run: bool = False) -> None:
    """Rename a tag. For a moment, or if the process dies between, both names are there; the same call ends that.

    Args: `dry_run`: only check that it can be done.
    Raises: NotFoundError: no such tag; AlreadyExistsError: another tag has the new name; OptionError: none can have it.
    """
    table_options.check_keepable(table.options, table.identifier)
    check_tag_name(target_tag, table.identifier)
    held = table.tags.get(tag)
    if tag == target_tag:
        return
    if dry_run:
        if table.tags.find(target_tag) not in (None, held):
            raise _exists(table, target_tag)
        return
    if not table.tags.publish(target_tag, held) and table.tags.find(target_tag) != held:
        raise _exists(table, target_tag)
    if table.tags.find(tag) != held:
        # Whoever deletes a tag retires it, then looks at the tags once more: it may not have seen the new name.
        table.tags.remove(target_tag)
        take_back(table, target_tag, held)
        raise NotFoundError(f"tag '{tag}' was deleted meanwhile", table.identifier, "Use another tag.")
    report_created(table, target_tag)
    table.tags.remove(tag)
    report_deleted(table, tag)


def _exists(table: Table, tag: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"tag '{tag}' exists", table.identifier, "Choose another name.")
