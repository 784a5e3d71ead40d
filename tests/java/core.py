"""Start the Java core of Apache Paimon inside this process, through JPype.

A process can have one JVM, once; `tests/java/process.py` gives it a process of its own.
"""

import importlib.util
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

VERSION = "1.4.2"
JAR = Path.home() / f".m2/repository/org/apache/paimon/paimon-bundle/{VERSION}/paimon-bundle-{VERSION}.jar"
_OPENED = ("java.lang", "java.util", "java.nio", "sun.nio.ch")


def missing() -> str | None:
    """What keeps the Java core from starting here, None if nothing does."""
    if not JAR.exists():
        return f"there is no {JAR}: run scripts/fetch-paimon-core"
    if shutil.which("java") is None:
        return "there is no java on PATH"
    return None


def start(max_heap: str = "1g", more: Sequence[str] = ()) -> Any:
    """Start the JVM. `more`: further jars. Returns the package `org.apache.paimon`."""
    import jpype

    spark = importlib.util.find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    hadoop = str(Path(spark.origin).parent / "jars" / "*")  # Paimon's own jar leaves Hadoop to its host
    opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    quick = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # small tables, short lives
    jpype.startJVM(f"-Xmx{max_heap}", *quick, *opens, classpath=[str(JAR), *more, hadoop], convertStrings=True)
    return jpype.JPackage("org").apache.paimon
