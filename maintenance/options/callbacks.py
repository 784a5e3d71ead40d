"""What the options `commit.callbacks` and `tag.callbacks` name: Paimon loads Java classes of that name, this engine the
Python entry points of that name.

A package offers them in the entry point groups below. What an entry point loads is called with the text of
`commit.callback.<name>.param` (`tag.callback.<name>.param`), None without, and returns the callback: a callable.
"""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from maintenance.errors import InfrastructureError, PaimonError, UnsupportedError
from maintenance.options import table as table_options
from maintenance.options.model import TableModel

COMMIT_GROUP = "paimon_maintenance.commit_callbacks"
TAG_GROUP = "paimon_maintenance.tag_callbacks"
_KINDS = ((COMMIT_GROUP, table_options.COMMIT_CALLBACKS, "commit"), (TAG_GROUP, table_options.TAG_CALLBACKS, "tag"))


def check_callbacks(options: TableModel, table: str) -> None:
    """Raises: UnsupportedError: a callback has no entry point here."""
    for group, option, _ in _KINDS:
        for name in option.of(options):
            _entry_point(group, name, option.key, table)


def call_back(group: str, options: TableModel, table: str, *arguments: Any) -> None:
    """Call the callbacks of a group, in the order of the option, with the table's name and what is to tell.

    Raises: InfrastructureError: one failed; the commit or tag that it was called for is there.
    """
    for kind, option, word in _KINDS:
        for name in option.of(options) if kind == group else ():
            try:
                load = _entry_point(group, name, option.key, table).load()
                callback: Callable[..., object] = load(options.get(f"{word}.callback.{name}.param"))
                callback(table, *arguments)
            except PaimonError:
                raise
            except Exception as error:
                raise InfrastructureError(
                    f"callback '{name}' of option '{option.key}' failed: {type(error).__name__}: {error}",
                    f"table {table}",
                    f"The {word} itself is done and stays. Correct the callback, and repeat by hand what it does.",
                ) from error


def _entry_point(group: str, name: str, key: str, table: str) -> EntryPoint:
    points = tuple(entry_points(group=group, name=name))
    if not points:
        raise UnsupportedError(
            f"option '{key}' names '{name}', which no installed package offers",
            f"table {table}",
            f"Install a package with the entry point '{name}' in the group '{group}', or unset the option.",
        )
    return points[0]
