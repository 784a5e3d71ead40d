"""Tags: named snapshots that expiry leaves alone. Source: seed 000 (tags), Java `TagManager`."""

from dataclasses import dataclass

from maintenance.errors import NotFoundError
from maintenance.format.tag import Tag, parse_tag, serialize_tag
from maintenance.fs.file_io import FileIO
from maintenance.metadata.paths import TablePaths

_PREFIX = "tag-"


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
            known = ", ".join(self.names()) or "none"
            raise NotFoundError(f"tag '{name}' does not exist", self.paths.tag_folder(), f"There are: {known}.")
        return tag

    def all(self) -> dict[str, Tag]:
        """All tags by name; those deleted meanwhile are left out."""
        found = ((name, self.find(name)) for name in self.names())
        return {name: tag for name, tag in found if tag is not None}

    def publish(self, name: str, tag: Tag) -> bool:
        """Create a tag file; False if one of that name exists."""
        return self.file_io.publish(self.paths.tag(name), serialize_tag(tag))

    def remove(self, name: str) -> None:
        self.file_io.delete_quietly([self.paths.tag(name)])
