"""Put what Python compiles of PySpark's archives into them: scripts/compile_spark_archives.py, in an environment.

Spark puts ``pyspark.zip`` before the installed packages of every process of Python that it starts, and several for each
stream. They hold sources alone, so each process would compile again what it imports, for most of a second. Python takes
a compiled module of an archive if it is of the same release and of the same time as the source.
"""

import importlib.util
import io
import marshal
import os
import struct
import time
import zipfile
from pathlib import Path

# No process that runs tasks, plans a data source or a stream imports these.
_ELSEWHERE = ("/tests/", "/testing/", "/ml/", "/mllib/", "/pipelines/", "/pandas/plot/")


def add_compiled(path: Path) -> None:
    """Add the compiled modules to an archive, unless they are there."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if any(name.endswith(".pyc") for name in names):
            return
        entries = [(archive.getinfo(name), archive.read(name)) for name in names]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as result:
        for info, source in entries:
            result.writestr(info, source)
            name = info.filename
            if name.endswith(".py") and not any(part in name for part in _ELSEWHERE):
                result.writestr(zipfile.ZipInfo(name + "c", info.date_time), _compiled(info, source, str(path / name)))
    # Never in place: the file may be one with that of other environments.
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(content.getvalue())
    unfinished.replace(path)


def _compiled(info: zipfile.ZipInfo, source: bytes, name: str) -> bytes:
    """A module as Python keeps it: its release, no flags, time and size of the source, the code."""
    changed = int(time.mktime((*info.date_time, -1, -1, -1)))
    code = compile(source, name, "exec", dont_inherit=True)
    head = struct.pack("<III", 0, changed & 0xFFFFFFFF, len(source) & 0xFFFFFFFF)
    return importlib.util.MAGIC_NUMBER + head + marshal.dumps(code)


if __name__ == "__main__":
    pyspark = importlib.util.find_spec("pyspark")
    for root in (pyspark.submodule_search_locations if pyspark else None) or ():
        for each in sorted(Path(root, "python", "lib").glob("*.zip")):
            add_compiled(each)
