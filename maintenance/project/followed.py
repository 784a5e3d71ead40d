"""The settings of tables as tables.yaml says them now: a changed file counts at the next look, without a reload.

Runs load the file anew, so what is said of a table would otherwise go by other settings than what is done to it. What
needs a reload all the same is which tables there are: their assets and jobs are made when a code location is loaded.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from maintenance.errors import PaimonError
from maintenance.project.config import Project, TableConfig, parse_project


class FollowedTables:
    """Tables whose settings follow the file that `project` was read from, if it was read from one.

    A file with a mistake changes nothing; the check of the configuration tells of it.
    """

    def __init__(self, project: Project, tables: Sequence[TableConfig]) -> None:
        self._path = project.path
        self._found = {table.identifier: table for table in tables}
        self._stamp = self._stamp_now()
        self._tables: Sequence[TableConfig] = tables

    def now(self) -> Sequence[TableConfig]:
        """The tables, with their settings as they are said now."""
        stamp = self._stamp_now()
        if self._path is not None and stamp != self._stamp:
            with suppress(PaimonError):
                self._tables = self._read(parse_project(self._path))
            self._stamp = stamp
        return self._tables

    def _read(self, project: Project) -> Sequence[TableConfig]:
        said = {table.identifier: table for table in project.with_patterns(list(self._found)).tables}
        return [table.with_settings_of(said[name]) if name in said else table for name, table in self._found.items()]

    def _stamp_now(self) -> tuple[int, int] | None:
        if self._path is None:
            return None
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size
