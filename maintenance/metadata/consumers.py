"""Progress files of streaming readers; snapshots from the smallest next id on must stay.

Source: Java `ConsumerManager`; `consumer/consumer-<id>` holds ``{"nextSnapshot": N}``.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from maintenance.errors import CorruptFileError, OptionError
from maintenance.fs.file_io import FileIO
from maintenance.metadata.paths import TablePaths
from maintenance.names import TEMPORARY_BYTES, check_new_name, new_name_fault

_PREFIX = "consumer-"


@dataclass(frozen=True, slots=True)
class Consumers:
    """Reads, moves and removes the consumers of one branch."""

    file_io: FileIO
    paths: TablePaths

    def names(self) -> list[str]:
        listed = self.file_io.list_names(self.paths.consumer_folder())
        return sorted(name.removeprefix(_PREFIX) for name in listed if name.startswith(_PREFIX))

    def find(self, consumer: str) -> int | None:
        """The snapshot that a consumer reads next, None if it does not exist. Raises: CorruptFileError."""
        path = self.paths.consumer(consumer)
        try:
            return int(json.loads(self.file_io.read_settled(path))["nextSnapshot"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptFileError(
                "a consumer file has no next snapshot", path, "Reset the consumer, or delete the file if it is unused."
            ) from error

    def next_snapshots(self) -> dict[str, int]:
        """Next snapshot id of each consumer. Raises: CorruptFileError: a file without one: expiry must not guess."""
        positions = ((name, self.find(name)) for name in self.names())
        return {name: following for name, following in positions if following is not None}

    def record(self, consumer: str, next_snapshot: int) -> None:
        """Note how far a consumer is. Raises: OptionError: no consumer can have that name, or be that far."""
        if not 0 < next_snapshot < 2**63:
            problem = f"snapshot {next_snapshot} for a consumer"
            raise OptionError(problem, self.paths.consumer_folder(), "Use the id of a snapshot, 1 or more.")
        path = self.paths.consumer(consumer)
        around = len(_PREFIX) + TEMPORARY_BYTES
        # Others may have named a consumer that is there already.
        if new_name_fault(consumer, around) is not None and not self.file_io.exists(path):
            check_new_name(consumer, "a consumer id", self.paths.consumer_folder(), around=around)
        # As Java writes it.
        self.file_io.overwrite(path, f'{{\n  "nextSnapshot" : {next_snapshot}\n}}'.encode())

    def remove(self, consumers: Iterable[str]) -> None:
        self.file_io.delete_quietly(self.paths.consumer(consumer) for consumer in consumers)

    def idle_since(self, moment: datetime) -> list[str]:
        """Consumers that made no progress since that moment, by the time of the last change of their files."""
        before = moment.timestamp() * 1000
        files = self.file_io.list_files(self.paths.consumer_folder())
        return sorted(
            file.name.removeprefix(_PREFIX)
            for file in files
            if file.name.startswith(_PREFIX) and file.mtime_ms < before
        )
