"""All partitions from one to another, as a condition: in the order of the partition columns, both ends included."""

from collections.abc import Mapping, Sequence

from maintenance.errors import OptionError


def between(
    columns: Sequence[str], first: Mapping[str, str | None], last: Mapping[str, str | None], where: str | None = None
) -> str | None:
    """The condition, and `where` with it; `where` alone where neither end is given.

    Args: `columns`: those that the table is partitioned by; `first`, `last`: values of these columns, or of the first
        few of them; empty = from the first partition on, up to the last one. Raises: OptionError: they name others.
    """
    ends = [*_side(columns, first, "from", ">"), *_side(columns, last, "to", "<")]
    if not ends:
        return where
    return " AND ".join([*ends, *([] if where is None else [f"({where})"])])


def _side(columns: Sequence[str], end: Mapping[str, str | None], name: str, sign: str) -> Sequence[str]:
    if not end:
        return ()
    named = list(columns[: len(end)])
    if set(end) != set(named) or None in end.values():
        there = ", ".join(columns) or "none"
        fix = f"Give values of the first partition columns. They are: {there}."
        raise OptionError(f"'{name}' is about {', '.join(end)}", "a range of partitions", fix)
    return (_beyond([(column, str(end[column])) for column in named], sign),)


def _beyond(pairs: Sequence[tuple[str, str]], sign: str) -> str:
    (column, value), *others = pairs
    quoted, text = f"`{column.replace('`', '``')}`", "'" + value.replace("'", "''") + "'"
    if not others:
        return f"{quoted} {sign}= {text}"
    return f"({quoted} {sign} {text} OR ({quoted} = {text} AND {_beyond(others, sign)}))"
