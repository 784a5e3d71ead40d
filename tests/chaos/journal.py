"""Journals: what a process was about to do and what became of it, one JSON object per line, on disk before it goes on.

A process appends to its journal before and after each step and flushes the line to disk, so that the journal of a
killed process still says what it had begun. A last line that was cut off counts as never written.
"""

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of one process. Every incarnation of a process appends to the same file."""

    path: Path
    descriptor: int
    incarnation: int

    @classmethod
    def open(cls, path: Path, incarnation: int) -> "Journal":
        """Open for appending; a line that a killed process left unfinished is ended first."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            os.write(descriptor, b"\n")
        return cls(path, descriptor, incarnation)

    def note(self, what: str, *, durable: bool = True, **facts: Any) -> None:
        """Append an entry and flush it to disk. Times: `wall` in nanoseconds since 1970, `clock` is monotonic."""
        entry = {"what": what, "incarnation": self.incarnation, **facts}
        entry |= {"wall": time.time_ns(), "clock": time.monotonic_ns()}
        os.write(self.descriptor, json.dumps(entry).encode() + b"\n")
        if durable:
            os.fdatasync(self.descriptor)


@dataclass(slots=True)
class JournalReader:
    """Reads what was appended to a journal since the last look."""

    path: Path
    offset: int = 0
    entries: list[Entry] = field(default_factory=list)

    def poll(self) -> list[Entry]:
        """The new entries, which are also kept in `entries`."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        new = [entry for line in whole.splitlines() if (entry := _parsed(line)) is not None]
        self.entries += new
        return new


def _parsed(line: bytes) -> Entry | None:
    try:
        entry: Entry = json.loads(line)
    except ValueError:  # the process was killed while it wrote this line
        return None
    return entry


def read_journal(path: Path) -> list[Entry]:
    """All entries of a journal; none if there is no such file."""
    return JournalReader(path).poll()
