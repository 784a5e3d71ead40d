"""Spark's statements about tags: SHOW TAGS, and ALTER TABLE … CREATE, REPLACE, RENAME and DELETE TAG."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from maintenance.errors import AlreadyExistsError
from maintenance.operations import create_tag, delete_tag, rename_tag, replace_tag
from maintenance.sql.cursor import Cursor
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse, Statement

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

_UNITS = {"DAYS": "days", "HOURS": "hours", "MINUTES": "minutes", "SECONDS": "seconds"}


@dataclass(frozen=True, slots=True)
class ShowTags:
    path: tuple[str, ...]

    def run(self, session: "SessionState") -> Result:
        return Result.of_texts(("tag",), [(name,) for name in sorted(session.changed(self.path).tags.names())])


@dataclass(frozen=True, slots=True)
class WriteTag:
    """`replaces`: the tag may be there already; `must_exist`: it has to be."""

    path: tuple[str, ...]
    name: str
    snapshot_id: int | None
    retained: timedelta | None
    if_not_exists: bool = False
    replaces: bool = False
    must_exist: bool = False

    def run(self, session: "SessionState") -> Result:
        table = session.changed(self.path)
        if not self.must_exist:
            try:
                create_tag(
                    table,
                    self.name,
                    snapshot_id=self.snapshot_id,
                    time_retained=self.retained,
                    ignore_if_exists=self.if_not_exists,
                )
                return Result()
            except AlreadyExistsError:
                if not self.replaces:
                    raise
        replace_tag(table, self.name, snapshot_id=self.snapshot_id, time_retained=self.retained)
        return Result()


@dataclass(frozen=True, slots=True)
class RenameTag:
    path: tuple[str, ...]
    name: str
    new: str

    def run(self, session: "SessionState") -> Result:
        rename_tag(session.changed(self.path), self.name, self.new)
        return Result()


@dataclass(frozen=True, slots=True)
class DeleteTag:
    """As in Paimon, a tag that is not there is nothing to do, with or without IF EXISTS."""

    path: tuple[str, ...]
    names: tuple[str, ...]

    def run(self, session: "SessionState") -> Result:
        table = session.changed(self.path)
        delete_tag(table, *(name for name in self.names if table.tags.find(name) is not None))
        return Result()


def read_tag_change(cursor: Cursor, path: tuple[str, ...]) -> Statement | None:
    """What follows the table's name, None if it is about no tag."""
    if cursor.take("CREATE", "OR", "REPLACE", "TAG"):
        return _write(cursor, path, replaces=True)
    if cursor.take("CREATE", "TAG"):
        return _write(cursor, path, if_not_exists=cursor.if_not_exists())
    if cursor.take("REPLACE", "TAG"):
        return _write(cursor, path, must_exist=True)
    if cursor.take("RENAME", "TAG"):
        old = _tag(cursor)
        cursor.expect("TO")
        return RenameTag(path, old, _tag(cursor))
    if cursor.take("DELETE", "TAG"):
        cursor.if_exists()
        written = [_tag(cursor)]
        while cursor.take(","):
            written.append(_tag(cursor))
        # Spark's grammar has one name, in which Paimon finds several.
        names = [name.strip() for each in written for name in each.split(",")]
        return DeleteTag(path, tuple(names))
    return None


def _tag(cursor: Cursor) -> str:
    """A tag's name, which may have dashes and dots, with or without quotes."""
    return cursor.option_key()


def _write(
    cursor: Cursor,
    path: tuple[str, ...],
    *,
    if_not_exists: bool = False,
    replaces: bool = False,
    must_exist: bool = False,
) -> WriteTag:
    name = _tag(cursor)
    snapshot, retained = None, None
    if cursor.take("AS", "OF", "VERSION"):
        snapshot = int(cursor.option_value())
    if cursor.take("RETAIN"):
        number = int(cursor.option_value())
        unit = cursor.take_one_of(*_UNITS)
        if unit is None:
            raise cursor.unexpected(*_UNITS)
        retained = timedelta(**{_UNITS[unit]: number})
    return WriteTag(path, name, snapshot, retained, if_not_exists, replaces, must_exist)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("SHOW", "TAGS"): lambda cursor: ShowTags(cursor.path("the name of a table")),
}
