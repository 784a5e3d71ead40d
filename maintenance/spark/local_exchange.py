"""The exchange of rows within this process, for where there is no session.

Threads send, then threads receive. Rows in transit stay in memory up to a limit; the rest goes to one unnamed file, as
compressed Arrow, so that nothing remains of it however the process ends. A receiver gets tables in the order of the
senders, and those of one sender in the order in which they were sent.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar

import pyarrow as pa

from maintenance.spark.exchange import Sender, deserialized, serialized
from maintenance.spark.tasks import TaskError, portable
from maintenance.threads import map_in_threads

P = TypeVar("P")
Q = TypeVar("Q")
R = TypeVar("R")

HELD_BYTES = 512 << 20
"""Of rows that are on their way in memory."""
# Number of the sender, and of what it sent.
_Place = tuple[int, int]


class _Spilled:
    """Rows in the file. `start`, `size`: where, in bytes."""

    def __init__(self, start: int, size: int) -> None:
        self.start, self.size = start, size


class _Underway:
    """Rows between senders and receivers. Threads may share it."""

    def __init__(self, receivers: int, held_bytes: int) -> None:
        self._free = held_bytes
        self._end = 0
        self._lock = Lock()
        self._parts: list[dict[_Place, pa.Table | _Spilled]] = [{} for _ in range(receivers)]
        self._errors: list[dict[int, Exception]] = [{} for _ in range(receivers)]
        self._file = tempfile.TemporaryFile(prefix="paimon-exchange-")  # noqa: SIM115 - closed by `__exit__`

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, receiver: int, place: _Place, rows: pa.Table) -> None:
        size = rows.nbytes
        with self._lock:
            held = size <= self._free
            if held:
                self._free -= size
                self._parts[receiver][place] = rows
        if not held:
            content = serialized(rows)
            with self._lock:
                start = self._end
                self._end += len(content)
            _write(self._file.fileno(), content, start)
            with self._lock:
                self._parts[receiver][place] = _Spilled(start, len(content))

    def fail(self, receiver: int, sender: int, error: Exception) -> None:
        with self._lock:
            self._errors[receiver][sender] = error

    def tables(self, receiver: int) -> Iterator[pa.Table]:
        """Forgets them. Raises: the error of the first sender that failed."""
        errors, parts = self._errors[receiver], self._parts[receiver]
        if errors:
            raise errors[min(errors)]
        for place in sorted(parts):
            part = parts.pop(place)
            if isinstance(part, _Spilled):
                part = deserialized(os.pread(self._file.fileno(), part.size, part.start))
            yield part


def _write(file: int, content: bytes, start: int) -> None:
    remaining = memoryview(content)
    while remaining:
        written = os.pwrite(file, remaining, start)
        remaining, start = remaining[written:], start + written


def exchange_here(
    send: Callable[[P], Iterator[tuple[int, pa.Table]]],
    senders: Sequence[Sender[P]],
    receive: Callable[[Q, Iterator[pa.Table]], R],
    receivers: Sequence[Q],
    *,
    held_bytes: int = HELD_BYTES,
) -> "list[R | TaskError]":
    """What the receivers made of the rows, in their order. Args: as of `run_exchange`; `held_bytes`: in memory."""
    with _Underway(len(receivers), held_bytes) as underway:

        def sent(number: int) -> None:
            sender = senders[number]
            try:
                for place, (receiver, rows) in enumerate(send(sender.payload)):
                    underway.add(receiver, (number, place), rows)
            except Exception as error:  # noqa: BLE001 - the edge of a task: the caller decides what an error means
                for receiver in sender.receivers:
                    underway.fail(receiver, number, portable(error))

        def received(number: int) -> "R | TaskError":
            try:
                return receive(receivers[number], underway.tables(number))
            except Exception as error:  # noqa: BLE001 - the edge of a task
                return TaskError(portable(error))

        threads = os.cpu_count() or 1
        map_in_threads(sent, range(len(senders)), threads)
        return map_in_threads(received, range(len(receivers)), threads)
