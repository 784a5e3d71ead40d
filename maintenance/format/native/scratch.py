"""A file on the local disk for libraries that know no other."""

import shutil
import tempfile
from pathlib import Path
from types import TracebackType

import pyarrow as pa

_COPIED = 8 << 20


class Scratch:
    """A path in a folder of its own, which is deleted at the end. `name`: of the file."""

    def __init__(self, name: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="paimon-")) / name

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.delete()

    def delete(self) -> None:
        shutil.rmtree(self.path.parent, ignore_errors=True)

    @staticmethod
    def copy(path: Path, sink: pa.NativeFile) -> None:
        """Copy the file to an output."""
        with path.open("rb") as source:
            while content := source.read(_COPIED):
                sink.write(content)

    def fill(self, source: pa.NativeFile) -> None:
        """Make the file a copy of another."""
        source.seek(0)
        with self.path.open("wb") as target:
            while content := source.read(_COPIED):
                target.write(content)
