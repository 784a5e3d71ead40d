"""The branches of a table. Each has its own snapshots, tags, schemas and consumers; manifests and data are shared.

Source: metadata section 10.7, Java `BranchManager`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from maintenance.errors import MissingFileError
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.changelogs import Changelogs
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.metadata.snapshots import Snapshots
from maintenance.metadata.tags import Tags
from maintenance.options.model import TableModel

_PREFIX = "branch-"
_HIDDEN = ".hidden-"
_RENAMING = ".renaming-"
# Folders that local disks have for a moment, before a branch gets its name and after it has lost it.
_TEMPORARY = (".tmp", ".deleted")


@dataclass(frozen=True, slots=True)
class Branches:
    """Lists the branches of one table. `paths`: of any of its branches."""

    file_io: FileIO
    paths: TablePaths

    def folders(self) -> Mapping[str, int]:
        """All folders where branches are, with the time of their last change: what the methods below take."""
        return self.file_io.folder_times(f"{self.paths.root}/branch")

    def names(self, folders: Mapping[str, int] | None = None) -> list[str]:
        """``main``, then the others by name."""
        return [MAIN_BRANCH, *self.changed(folders)]

    def changed(self, folders: Mapping[str, int] | None = None) -> dict[str, int]:
        """Time of the last change of each branch's folder but main's, milliseconds since 1970-01-01 UTC, by name."""
        folders = self.folders() if folders is None else folders
        by_name = {name.removeprefix(_PREFIX): millis for name, millis in folders.items() if name.startswith(_PREFIX)}
        return {name: millis for name, millis in sorted(by_name.items()) if f"{_HIDDEN}{name}" not in folders}

    def hide(self, branch: str) -> None:
        """Take a branch off the list until `show`: a store creates and deletes its files one after the other.

        The folder that hides it is seen by the request that lists branches. Paimon passes over it.
        """
        self.file_io.make_folder(self._hiding(branch))

    def show(self, branch: str) -> None:
        """End what `hide` began."""
        self.file_io.delete_folder(self._hiding(branch))

    def note_renaming(self, branch: str, target: str) -> None:
        """Keep on record that a branch is being renamed, for a store copies its files one after the other."""
        self.file_io.overwrite(self._renaming(branch), target.encode())

    def renamed_to(self, branch: str) -> str | None:
        """The new name of a branch whose renaming goes on or was interrupted."""
        try:
            return self.file_io.read_bytes(self._renaming(branch)).decode()
        except FileNotFoundError:
            return None

    def forget_renaming(self, branch: str) -> None:
        self.file_io.delete_quietly([self._renaming(branch)])

    def _renaming(self, branch: str) -> str:
        return f"{self.paths.root}/branch/{_RENAMING}{branch}"

    def hidden(self) -> list[str]:
        """Branches whose creation or deletion goes on, or was interrupted."""
        folders = self.file_io.list_folders(f"{self.paths.root}/branch")
        return sorted(name.removeprefix(_HIDDEN) for name in folders if name.startswith(_HIDDEN))

    def unfinished(self, before: int, folders: Mapping[str, int] | None = None) -> dict[str, str]:
        """Folders of branches that a process which died has left, with what marks them: a folder, empty if none does.

        Args: `before`: milliseconds since 1970 UTC; what is marked later may still be worked on.
        """
        root = f"{self.paths.root}/branch"
        found = {}
        for name, millis in (self.folders() if folders is None else folders).items():
            if name.startswith(_HIDDEN):
                marked = millis or max((f.mtime_ms for f in self.file_io.list_tree(f"{root}/{name}")), default=before)
                if marked < before:
                    found[f"{root}/{_PREFIX}{name.removeprefix(_HIDDEN)}"] = f"{root}/{name}"
            elif name.startswith(".") and name.endswith(_TEMPORARY) and millis < before:
                found[f"{root}/{name}"] = ""
        return found

    def _hiding(self, branch: str) -> str:
        return f"{self.paths.root}/branch/{_HIDDEN}{branch}"

    def snapshots(self, branch: str) -> Snapshots:
        return Snapshots(self.file_io, replace(self.paths, branch=branch))

    def tags(self, branch: str) -> Tags:
        return Tags(self.file_io, replace(self.paths, branch=branch))

    def changelogs(self, branch: str) -> Changelogs:
        return Changelogs(self.file_io, replace(self.paths, branch=branch))

    def options(self, branch: str) -> TableModel:
        """Table options of a branch, of its newest schema; none if it was deleted meanwhile."""
        schemas = Schemas(self.file_io, replace(self.paths, branch=branch).schema_folder())
        try:
            latest = schemas.latest()
        except MissingFileError:
            if branch in self.names():
                raise
            return TableModel()
        return TableModel() if latest is None else latest.model
