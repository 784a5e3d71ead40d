"""Hold back the end of a file while it is written, to change what its library writes there."""

import io
from collections.abc import Callable

import pyarrow as pa


class HeldSink(io.RawIOBase):
    """Passes on what is written to `sink`; from `hold` to `release` it gathers it. Positions count from its opening."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._start = int(sink.tell())
        self._held: list[bytes] | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        if self._held is None:
            self._sink.write(data)
        else:
            self._held.append(bytes(data))
        return len(data)

    def tell(self) -> int:
        return int(self._sink.tell()) - self._start + sum(map(len, self._held or ()))

    def hold(self) -> None:
        """Gather from here on."""
        self._held = []

    def release(self, change: Callable[[bytes], bytes]) -> None:
        """Write what was gathered, changed."""
        held, self._held = b"".join(self._held or ()), None
        self._sink.write(change(held))
