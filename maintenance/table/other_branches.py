"""The branches whose partitions reads of a table see besides its own.

Source: metadata section 10.7, Java `FallbackReadFileStoreTable`, `ChainGroupReadTable`.
"""

from dataclasses import replace

from maintenance.errors import OptionError, SchemaError
from maintenance.metadata.branches import Branches
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.scan.startup import AtSnapshot, AtTag, AtVersion, AtWatermark, startup_of
from maintenance.scan.time_travel import named_snapshot
from maintenance.table.chain import Handle, chain_of
from maintenance.table.handle import TableHandle

_NAMES_OF_STATES = frozenset(
    option.key
    for option in (
        table_options.SCAN_SNAPSHOT_ID,
        table_options.SCAN_TAG_NAME,
        table_options.SCAN_VERSION,
        table_options.SCAN_WATERMARK,
    )
)


def seen_branches(table: Handle) -> tuple[Handle, ...]:
    """The branches that a read of the table sees: a partition is read from the first of them that has it.

    Raises: NotFoundError, OptionError, SchemaError.
    """
    chain = chain_of(table)
    if chain is not None:
        return table, chain.snapshot, chain.delta
    return branches_of(table) or (table,)


def branches_of(table: Handle) -> tuple[Handle, Handle] | None:
    """The table that comes first and the one that stands in, None if it reads no other branch. Raises: OptionError."""
    fallback, primary = _named(table.options, table.identifier)
    name = fallback or primary
    if not name or name not in Branches(table.file_io, table.paths).names():
        return None
    other = _travelling(table, table.on_branch(name))
    _check_same_columns(table, other)
    return (table, other) if fallback else (other, table)


def check_branches(table: TableHandle, options: TableModel) -> None:
    """Refuse options that name a branch which is not there. Raises: NotFoundError, OptionError."""
    name = other_branch(options, table.identifier)
    if name:
        table.on_branch(name)


def other_branch(options: TableModel, table: str) -> str:
    """The branch that reads of a table look at, too; blank: none. Raises: OptionError: two are named."""
    return "".join(_named(options, table))


def _named(options: TableModel, table: str) -> tuple[str, str]:
    """The fallback and the primary branch, one of them blank."""
    fallback = (options.scan_fallback_branch or "").strip()
    primary = (options.scan_primary_branch or "").strip()
    if fallback and primary:
        problem = "'scan.fallback-branch' and 'scan.primary-branch' are both set"
        raise OptionError(problem, table, "Unset 'scan.fallback-branch' or 'scan.primary-branch'.")
    return fallback, primary


def _travelling(table: Handle, other: Handle) -> Handle:
    """The other branch with the read's options. Its snapshots have ids, tags and watermarks of their own, so a state of
    the table that is named by one of these is found there by its time.

    Source: Java `FallbackReadFileStoreTable.rewriteFallbackOptions`, which does so for `scan.snapshot-id`.
    """
    startup = startup_of(table.options)
    if not isinstance(startup, AtSnapshot | AtTag | AtVersion | AtWatermark):
        return replace(other, dynamic_options=table.dynamic_options)
    moment = named_snapshot(table.history(), startup).time_millis
    stored, given = (
        {key: value for key, value in options.items() if key not in _NAMES_OF_STATES}
        for options in (other.schema.options, table.dynamic_options)
    )
    plain = replace(other, schema=replace(other.schema, options=stored), dynamic_options=given)
    return replace(plain, dynamic_options={**given, **_state_at(plain, moment)})


def _state_at(branch: TableHandle, moment: int) -> dict[str, str]:
    """The options that name a branch's state at a moment: its last snapshot until then, an expired one by a tag that
    holds it; the first one where it is younger, as in Java. None of a branch that nobody has written to.
    """
    snapshot = branch.history().at_or_before(moment)
    held = {name: tag.snapshot for name, tag in branch.tags.all().items() if tag.snapshot.time_millis <= moment}
    if snapshot is None and held:
        return {table_options.SCAN_TAG_NAME.key: max(held, key=lambda name: held[name].id)}
    if snapshot is None and branch.latest_snapshot() is None:
        return {}
    return {table_options.SCAN_SNAPSHOT_ID.key: str(1 if snapshot is None else snapshot.id)}


def _check_same_columns(table: TableHandle, other: TableHandle) -> None:
    """Raises: SchemaError: the branches have other columns. Java compares the types alone, in order."""
    columns, others = (
        [(field.name, field.type.as_nullable()) for field in side.schema.fields] for side in (table, other)
    )
    if columns != others:
        raise SchemaError(
            f"branch '{other.branch}' has other columns than branch '{table.branch}', which it complements",
            table.identifier,
            f"Give both the same columns. There: {', '.join(f'{name} {kind}' for name, kind in others)}.",
        )
