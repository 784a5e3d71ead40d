"""Long-lived changelogs: what remains of an expired snapshot if changes are kept longer than states.

`changelog/changelog-<id>` is the snapshot's own file in another folder, with hints of its own. Source: data section
5.1, Java `ChangelogManager`.
"""

from dataclasses import dataclass

from maintenance.format.metadata.snapshot import Snapshot, parse_snapshot, serialize_snapshot
from maintenance.fs.file_io import FileIO
from maintenance.metadata import hints
from maintenance.metadata.each_read import each_read
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.metadata.identity import check_number
from maintenance.metadata.paths import TablePaths

_PREFIX = "changelog-"


@dataclass(frozen=True, slots=True)
class Changelogs:
    """Reads, creates and removes the long-lived changelogs of one branch."""

    file_io: FileIO
    paths: TablePaths

    def list_ids(self) -> list[int]:
        """Ids of all there are, ascending."""
        names = self.file_io.list_names(self.paths.changelog_folder())
        texts = (name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))
        return sorted(int(text) for text in texts if text.isdecimal())

    def find(self, snapshot_id: int) -> Snapshot | None:
        """The changelog of that id, or None. Raises: CorruptFileError: damaged, or the file holds another changelog."""
        path = self.paths.changelog(snapshot_id)
        try:
            changelog = parse_snapshot(self.file_io.read_settled(path), path)
        except FileNotFoundError:
            return None
        check_number("changelog", snapshot_id, changelog.id, path)
        return changelog

    def all(self) -> list[Snapshot]:
        """All there are, ascending; those deleted meanwhile are left out."""
        changelogs = each_read(self.find, self.list_ids(), self.paths.changelog_folder())
        return [changelog for changelog in changelogs if changelog is not None]

    def keep(self, snapshot: Snapshot) -> None:
        """Keep the changes of a snapshot that is to expire."""
        self.file_io.overwrite(self.paths.changelog(snapshot.id), serialize_snapshot(snapshot))
        self.write_hint(LATEST, snapshot.id, flushed=False)

    def write_hint(self, name: str, snapshot_id: int, *, flushed: bool = True) -> bool:
        """Never fails; False if readers may be misled: see `hints`."""
        return hints.write_hint(self.file_io, self.paths.changelog_folder(), name, snapshot_id, flushed=flushed)

    def delete_hints(self) -> None:
        self.file_io.delete_quietly(f"{self.paths.changelog_folder()}/{name}" for name in (EARLIEST, LATEST))
