"""The type of the tables that a catalog opens, imported when the first one is opened."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maintenance.table.table import Table

TableType = Callable[[], "Callable[..., Table]"]
"""Gives what makes a table of the arguments of `Table`."""


def plain_tables() -> "type[Table]":
    """Tables that can be read and maintained."""
    from maintenance.table.table import Table

    return Table
