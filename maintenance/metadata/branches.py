"""The branches of a table. Each has its own snapshots, tags, schemas and consumers; manifests and data are shared.

Source: metadata section 10.7, Java `BranchManager`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from maintenance.errors import MissingFileError
from maintenance.fs.file_io import FileIO
from maintenance.metadata.changelogs import Changelogs
from maintenance.metadata.paths import MAIN_BRANCH, TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.metadata.snapshots import Snapshots
from maintenance.metadata.tags import Tags

_PREFIX = "branch-"


@dataclass(frozen=True, slots=True)
class Branches:
    """Lists the branches of one table. `paths`: of any of its branches."""

    file_io: FileIO
    paths: TablePaths

    def names(self) -> list[str]:
        """``main``, then the others by name."""
        folders = self.file_io.list_folders(f"{self.paths.root}/branch")
        others = sorted(name.removeprefix(_PREFIX) for name in folders if name.startswith(_PREFIX))
        return [MAIN_BRANCH, *others]

    def changed(self) -> dict[str, int]:
        """Time of the last change of each branch's folder but main's, milliseconds since 1970-01-01 UTC, by name."""
        folders = self.file_io.folder_times(f"{self.paths.root}/branch")
        by_name = {name.removeprefix(_PREFIX): millis for name, millis in folders.items() if name.startswith(_PREFIX)}
        return dict(sorted(by_name.items()))

    def snapshots(self, branch: str) -> Snapshots:
        return Snapshots(self.file_io, replace(self.paths, branch=branch))

    def tags(self, branch: str) -> Tags:
        return Tags(self.file_io, replace(self.paths, branch=branch))

    def changelogs(self, branch: str) -> Changelogs:
        return Changelogs(self.file_io, replace(self.paths, branch=branch))

    def options(self, branch: str) -> Mapping[str, str]:
        """Table options of a branch, of its newest schema; none if it was deleted meanwhile."""
        schemas = Schemas(self.file_io, replace(self.paths, branch=branch).schema_folder())
        try:
            latest = schemas.latest()
        except MissingFileError:
            if branch in self.names():
                raise
            return {}
        return {} if latest is None else latest.options
