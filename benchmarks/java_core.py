"""The Java core of Apache Paimon in this process, through JPype. Never beside a Spark session."""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

VERSION = "1.4.2"
JAR = Path.home() / f".m2/repository/org/apache/paimon/paimon-bundle/{VERSION}/paimon-bundle-{VERSION}.jar"


def start(max_heap: str = "4g") -> Any:
    """Start the JVM; returns the package `org.apache.paimon`."""
    import jpype
    import pyspark

    opens = [f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in ("java.lang", "java.util", "java.nio", "sun.nio.ch")]
    jars = os.path.join(os.path.dirname(pyspark.__file__), "jars", "*")
    jpype.startJVM(f"-Xmx{max_heap}", *opens, classpath=[str(JAR), jars], convertStrings=True)
    return jpype.JPackage("org").apache.paimon


def get_table(paimon: Any, warehouse: Path, name: str) -> Any:
    options = paimon.options.Options()
    options.set("warehouse", str(warehouse))
    catalog = paimon.catalog.CatalogFactory.createCatalog(paimon.catalog.CatalogContext.create(options))
    database, table = name.split(".")
    return catalog.getTable(paimon.catalog.Identifier.create(database, table))


def compact_seconds(paimon: Any, table: Any, buckets: int, threads: int = 2) -> float:
    """Full compaction of all buckets, on `threads` threads as two executor cores would, one commit. Seconds."""
    from concurrent.futures import ThreadPoolExecutor

    import jpype

    settings = jpype.java.util.HashMap()
    settings.put("write-only", "false")
    builder = table.copy(settings).newBatchWriteBuilder()
    started = time.perf_counter()

    def one(bucket: int) -> Any:
        # A thread of Python starts without a class loader, and Java's libraries look their resources up through it.
        thread = jpype.java.lang.Thread.currentThread()
        thread.setContextClassLoader(jpype.java.lang.ClassLoader.getSystemClassLoader())
        with tempfile.TemporaryDirectory() as spill:
            write = builder.newWrite()
            write.withIOManager(paimon.disk.IOManager.create(spill))
            write.compact(paimon.data.BinaryRow.EMPTY_ROW, bucket, True)
            messages = write.prepareCommit()
            write.close()
            return messages

    messages = jpype.java.util.ArrayList()
    with ThreadPoolExecutor(threads) as pool:
        for found in pool.map(one, range(buckets)):
            messages.addAll(found)
    builder.newCommit().commit(messages)
    return time.perf_counter() - started
