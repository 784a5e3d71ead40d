"""The JVMs that tests start: with an archive of the classes that Spark loads, in a folder of the checkout.

``python -m tests.spark_archive`` makes it.
"""

import os
from pathlib import Path

from maintenance.spark.class_archive import archive_path
from maintenance.spark.make_class_archive import make_class_archive

FOLDER = Path(__file__).parent.parent / ".cache" / "spark"
_LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SILENT = "-Xlog:disable -Xlog:all=error:stderr"


def java_options() -> str:
    """Options of every JVM that tests start.

    Nearly all live for seconds: code that is compiled once, lightly, and a collector without threads take a third less
    of the processors. What a JVM says of an archive that does not fit would stand in the output of commands.
    """
    archive = archive_path(FOLDER)
    if archive is None or not archive.exists():
        return f"{_LIGHT} -Xshare:auto"  # what the user's cache has is not used
    return f"{_LIGHT} -XX:SharedArchiveFile={archive} {_SILENT}"


if __name__ == "__main__":
    os.environ["JAVA_TOOL_OPTIONS"] = f"{_LIGHT} {_SILENT}"
    make_class_archive(FOLDER)
