"""Where the new files of a bucket go: into its folder, or to one of the table's external paths.

Source: Java `DataFilePathFactory.newPathFromName`.
"""

from typing import NamedTuple

from maintenance.metadata.paths import TablePaths


class Placed(NamedTuple):
    """The path of a new file. `external`: the same where metadata must say it, None in the bucket's own folder."""

    path: str
    external: str | None = None


class FilePlacement:
    """Places the new files of one bucket, one after the other."""

    def __init__(self, paths: TablePaths, partition: bytes, bucket: int) -> None:
        self._paths, self._partition, self._bucket = paths, partition, bucket
        self._folder = paths.bucket_folder(partition, bucket)
        self._roots = None if paths.external is None else paths.external.choices()

    def place(self, file_name: str) -> Placed:
        """Where the next file goes."""
        if self._roots is None or self._paths.external is None:
            return Placed(f"{self._folder}/{file_name}")
        folder = self._paths.external_bucket_folder(next(self._roots), self._partition, self._bucket)
        path = f"{folder}/{self._paths.external.below_bucket(file_name)}"
        return Placed(path, path)

    def place_index(self, file_name: str) -> str | None:
        """The path of a new index file, if that is an external one: where index files are beside the data."""
        return self.place(file_name).external if self._paths.index_with_data else None
