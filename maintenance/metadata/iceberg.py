"""The folder of a table's Iceberg metadata: versions of it, a hint to the newest, manifests and their lists.

Source: Java `IcebergPathFactory`; the hint is that of Iceberg's Hadoop catalog.
"""

from dataclasses import dataclass

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.iceberg.manifest import IcebergEntry, parse_manifest
from maintenance.format.iceberg.manifest_list import IcebergManifest, parse_list
from maintenance.format.iceberg.table_metadata import TableMetadata, parse_metadata
from maintenance.fs.file_io import FileIO
from maintenance.options import iceberg as iceberg_options
from maintenance.options.model import TableModel

FOLDER = "metadata"
"""The folder below that of the table."""

_HINT = "version-hint.text"
_SUFFIX = ".metadata.json"
_DATABASE_SUFFIX = ".db"


def iceberg_folder(root: str, options: TableModel) -> str:
    """Where the metadata of a table is. `root`: of the table. Raises: UnsupportedError: `root` is in no warehouse."""
    if options.has_iceberg_in_its_folder:
        return f"{root}/{FOLDER}"
    database, _, table = root.rpartition("/")
    warehouse, _, name = database.rpartition("/")
    if not name.endswith(_DATABASE_SUFFIX):
        raise UnsupportedError(
            f"the folder '{name}' of the database does not end with '{_DATABASE_SUFFIX}', so there is no place for an "
            "Iceberg catalog beside it",
            root,
            f"Set '{iceberg_options.STORAGE_LOCATION.key}' = 'table-location'.",
        )
    return f"{warehouse}/iceberg/{name.removesuffix(_DATABASE_SUFFIX)}/{table}/{FOLDER}"


@dataclass(frozen=True, slots=True)
class IcebergFolder:
    """Reads the Iceberg metadata of one table."""

    file_io: FileIO
    folder: str

    def path(self, version: int) -> str:
        return f"{self.folder}/v{version}{_SUFFIX}"

    def place(self, path: str) -> str:
        """Where a manifest or list is that has that path in a file: its name counts, as in Java."""
        return f"{self.folder}/{path.rsplit('/', 1)[-1]}"

    def versions(self) -> list[int]:
        """The versions there are, ascending."""
        names = [name for name in self.file_io.list_names(self.folder) if name.endswith(_SUFFIX)]
        texts = (name.removesuffix(_SUFFIX) for name in names)
        return sorted(int(text[1:]) for text in texts if text[:1] == "v" and text[1:].isdecimal())

    def find(self, version: int) -> TableMetadata | None:
        """A version; None if it is missing or cannot be read, since it can be made again."""
        path = self.path(version)
        try:
            return parse_metadata(self.file_io.read_settled(path), path)
        except (FileNotFoundError, CorruptFileError):
            return None

    def hint(self) -> int | None:
        """The version that the hint names, None if there is none."""
        try:
            text = self.file_io.read_bytes(f"{self.folder}/{_HINT}").decode("ascii", "replace").strip()
        except FileNotFoundError:
            return None
        return int(text) if text.isdecimal() else None

    def write_hint(self, version: int) -> None:
        self.file_io.overwrite(f"{self.folder}/{_HINT}", str(version).encode())

    def read_list(self, path: str) -> list[IcebergManifest]:
        """The manifests of a list. Raises: FileNotFoundError, CorruptFileError."""
        place = self.place(path)
        return parse_list(self.file_io.read_bytes(place), place)

    def read_manifest(self, manifest: IcebergManifest) -> list[IcebergEntry]:
        """The entries of a manifest. Raises: FileNotFoundError, CorruptFileError."""
        place = self.place(manifest.path)
        return parse_manifest(
            self.file_io.read_bytes(place),
            place,
            snapshot_id=manifest.added_snapshot_id,
            sequence_number=manifest.sequence_number,
        )
