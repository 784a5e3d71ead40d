"""Progress files of streaming readers; snapshots from the smallest next id on must stay.

Source: Java `ConsumerManager`; `consumer/consumer-<id>` holds ``{"nextSnapshot": N}``.
"""

import json
from dataclasses import dataclass

from maintenance.errors import CorruptFileError
from maintenance.fs.file_io import FileIO
from maintenance.metadata.paths import TablePaths

_PREFIX = "consumer-"


@dataclass(frozen=True, slots=True)
class Consumers:
    """Reads the consumers of one branch."""

    file_io: FileIO
    paths: TablePaths

    def next_snapshots(self) -> dict[str, int]:
        """Next snapshot id of each consumer. Raises: CorruptFileError: a file without one: expiry must not guess."""
        found = {}
        for name in self.file_io.list_names(self.paths.consumer_folder()):
            if not name.startswith(_PREFIX):
                continue
            path = f"{self.paths.consumer_folder()}/{name}"
            try:
                found[name.removeprefix(_PREFIX)] = int(json.loads(self.file_io.read_settled(path))["nextSnapshot"])
            except FileNotFoundError:
                continue
            except (ValueError, KeyError, TypeError) as error:
                raise CorruptFileError(
                    "a consumer file has no next snapshot",
                    path,
                    "Reset the consumer, or delete the file if it is unused.",
                ) from error
        return found
