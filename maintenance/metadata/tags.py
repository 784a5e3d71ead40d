"""Tags: named snapshots that expiry leaves alone. Source: seed 000 (tags), Java `TagManager`.

A tag that is deleted is first *retired*: its content moves to a file that is not a tag for readers and names the files
that are still to be deleted.
"""

import uuid
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from maintenance.errors import NotFoundError
from maintenance.format.metadata.tag import Tag, parse_tag, serialize_tag
from maintenance.fs.file_io import FileIO, is_whole
from maintenance.fs.location import is_local
from maintenance.metadata.each_read import each_read
from maintenance.metadata.paths import RETIRED, TablePaths

_PREFIX = "tag-"
_SHOWN_BYTES = 100


class TagRead(NamedTuple):
    """A tag, and the version of the file that it was read from; None where that is not known."""

    version: Hashable | None
    tag: Tag


@dataclass(frozen=True, slots=True)
class Tags:
    """Reads, creates and removes the tag files of one branch."""

    file_io: FileIO
    paths: TablePaths

    def names(self) -> list[str]:
        listed = self.file_io.list_names(self.paths.tag_folder())
        return sorted(name.removeprefix(_PREFIX) for name in listed if name.startswith(_PREFIX))

    def find(self, name: str) -> Tag | None:
        path = self.paths.tag(name)
        try:
            return parse_tag(self.file_io.read_settled(path), path)
        except FileNotFoundError:
            return None

    def get(self, name: str) -> Tag:
        """The tag of that name. Raises: NotFoundError, with the names there are."""
        tag = self.find(name)
        if tag is None:
            names = ", ".join(self.names()) or "none"
            raise NotFoundError(f"tag '{name}' does not exist", self.paths.tag_folder(), f"There are: {names}.")
        return tag

    def all(self) -> dict[str, Tag]:
        """All tags by name; those deleted meanwhile are left out."""
        return {name: each.tag for name, each in self.read().items()}

    def read(self, before: "Mapping[str, TagRead]" = MappingProxyType({})) -> "dict[str, TagRead]":
        """As `all`. `before`: as they were read before; what is the same file is not read again."""
        names, folder = self.names(), self.paths.tag_folder()
        versions: dict[str, Hashable] = {}
        if before and not is_local(folder):
            versions = {status.path: status.version for status in self.file_io.list_files(folder)}

        def read(name: str) -> TagRead | None:
            known, version = before.get(name), versions.get(self.paths.tag(name))
            if known is not None and version is not None and version == known.version:
                return known
            return self._read(name, known)

        found = zip(names, each_read(read, names, folder), strict=True)
        return {name: each for name, each in found if each is not None}

    def _read(self, name: str, known: "TagRead | None") -> "TagRead | None":
        path = self.paths.tag(name)
        try:
            data, version = self.file_io.read_if_changed(path, None if known is None else known.version)
            if data is None:
                return known
            if not is_whole(data):
                data, version = self.file_io.read_settled(path), None
        except FileNotFoundError:
            return None
        return TagRead(version, parse_tag(data, path))

    def publish(self, name: str, tag: Tag) -> bool:
        """Create a tag file; False if one of that name exists."""
        return self.file_io.publish(self.paths.tag(name), serialize_tag(tag))

    def remove(self, name: str) -> None:
        self.file_io.delete_quietly([self.paths.tag(name)])

    def replace(self, name: str, tag: Tag) -> None:
        """Let a tag be another one; readers find the old or the new."""
        self.file_io.overwrite(self.paths.tag(name), serialize_tag(tag))

    def retire(self, name: str) -> str:
        """Take a tag away and keep what it held on record. Returns the path of the record. Raises: NotFoundError."""
        self.get(name)  # a record that cannot be read would be in the way of every expiry
        path = self._new_record(name)
        try:
            # On a local disk one step, which needs no room.
            self.file_io.move_file(self.paths.tag(name), path)
        except FileNotFoundError:
            self.get(name)
            raise
        return path

    def _new_record(self, name: str) -> str:
        # A name of its own: a new tag of the same name may be retired before this record is worked off.
        shown = name.encode(errors="replace")[:_SHOWN_BYTES].decode(errors="ignore")
        return f"{self.paths.tag_folder()}/{RETIRED}{uuid.uuid4()}-{shown}"

    def retired(self) -> dict[str, Tag]:
        """Retired tags whose files are not all deleted, by the path of their record."""
        listed = self.file_io.list_names(self.paths.tag_folder())
        paths = (f"{self.paths.tag_folder()}/{name}" for name in sorted(listed) if name.startswith(RETIRED))
        tags: dict[str, Tag] = {}
        for path in paths:
            # One whose removal ends meanwhile is left out.
            with suppress(FileNotFoundError):
                tags[path] = parse_tag(self.file_io.read_settled(path), path)
        return tags
