"""The Java core of Apache Paimon in this process, through JPype. Never beside a Spark session."""

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

VERSION = "1.4.2"
_REPOSITORY = Path.home() / ".m2/repository/org/apache/paimon"


def jar(artifact: str) -> Path:
    """Where Maven keeps one of Paimon's jars."""
    return _REPOSITORY / artifact / VERSION / f"{artifact}-{VERSION}.jar"


JAR = jar("paimon-bundle")


def start(max_heap: str = "4g", more: Sequence[str] = ()) -> Any:
    """Start the JVM. `more`: further jars. Returns the package `org.apache.paimon`."""
    import jpype
    import pyspark

    opens = [f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in ("java.lang", "java.util", "java.nio", "sun.nio.ch")]
    jars = os.path.join(os.path.dirname(pyspark.__file__), "jars", "*")
    jpype.startJVM(f"-Xmx{max_heap}", *opens, classpath=[str(JAR), *more, jars], convertStrings=True)
    return jpype.JPackage("org").apache.paimon


def get_table(paimon: Any, warehouse: Path, name: str) -> Any:
    return open_table(paimon, {"warehouse": str(warehouse)}, name)


def open_table(paimon: Any, given: Mapping[str, str], name: str) -> Any:
    """A table by the options of its catalog."""
    options = paimon.options.Options()
    for key, value in given.items():
        options.set(key, value)
    catalog = paimon.catalog.CatalogFactory.createCatalog(paimon.catalog.CatalogContext.create(options))
    database, table = name.split(".")
    return catalog.getTable(paimon.catalog.Identifier.create(database, table))


def compact_seconds(paimon: Any, table: Any, buckets: int, threads: int = 2, *, full: bool = True) -> float:
    """Compaction of all buckets, on `threads` threads as two executor cores would, one commit. Seconds.

    `full`: everything; else what the universal rules pick.
    """
    import jpype

    settings = jpype.java.util.HashMap()
    settings.put("write-only", "false")
    builder = table.copy(settings).newBatchWriteBuilder()
    started = time.perf_counter()

    def one(bucket: int) -> Any:
        adopt_thread()
        with tempfile.TemporaryDirectory() as spill:
            write = builder.newWrite()
            write.withIOManager(paimon.disk.IOManager.create(spill))
            write.compact(paimon.data.BinaryRow.EMPTY_ROW, bucket, full)
            messages = write.prepareCommit()
            write.close()
            return messages

    messages = jpype.java.util.ArrayList()
    with ThreadPoolExecutor(threads) as pool:
        for found in pool.map(one, range(buckets)):
            messages.addAll(found)
    builder.newCommit().commit(messages)
    return time.perf_counter() - started


def adopt_thread() -> None:
    """Give a thread of Python a class loader: it starts without, and Java's libraries look resources up through it."""
    import jpype

    thread = jpype.java.lang.Thread.currentThread()
    thread.setContextClassLoader(jpype.java.lang.ClassLoader.getSystemClassLoader())


def rows_in_memory(paimon: Any, warehouse: Path, name: str) -> Any:
    """All rows of a table as a Java list of `BinaryRow`."""
    import jpype

    table = get_table(paimon, warehouse, name)
    serializer = paimon.data.serializer.InternalRowSerializer(table.rowType())
    found = jpype.java.util.ArrayList()
    row_class, binary = (
        jpype.java.lang.Class.forName(f"org.apache.paimon.data.{c}") for c in ("InternalRow", "BinaryRow")
    )
    invoke = jpype.java.lang.invoke
    lookup = invoke.MethodHandles.publicLookup()
    to_binary = lookup.findVirtual(
        serializer.getClass(), "toBinaryRow", invoke.MethodType.methodType(binary, row_class)
    )
    copy = lookup.findVirtual(binary, "copy", invoke.MethodType.methodType(binary))
    signature = invoke.MethodType.methodType(jpype.java.lang.Boolean.TYPE, jpype.java.lang.Object.class_)
    add = lookup.findVirtual(found.getClass(), "add", signature).bindTo(found)
    copied = invoke.MethodHandles.filterReturnValue(to_binary.bindTo(serializer), copy)
    take = invoke.MethodHandles.filterReturnValue(copied, add.asType(add.type().changeParameterType(0, binary)))
    consumer = invoke.MethodHandleProxies.asInterfaceInstance(jpype.java.util.function.Consumer.class_, take)
    builder = table.newReadBuilder()
    builder.newRead().createReader(builder.newScan().plan().splits()).forEachRemaining(consumer)
    return found


def write_rows(paimon: Any, table: Any, parts: Sequence[Any], buckets: Sequence[int] | None = None) -> None:
    """Write lists of rows, each on a thread of its own with a writer of its own, as one commit.

    `parts`: the rows of a bucket all stand in one of them; `buckets`: of each part, None = as the table says.
    """
    import jpype

    invoke = jpype.java.lang.invoke
    write_class = jpype.java.lang.Class.forName("org.apache.paimon.table.sink.TableWrite")
    row_class = jpype.java.lang.Class.forName("org.apache.paimon.data.InternalRow")
    signature = invoke.MethodType.methodType(jpype.java.lang.Void.TYPE, row_class)
    if buckets is not None:
        signature = signature.appendParameterTypes(jpype.java.lang.Integer.TYPE)
    builder = table.newBatchWriteBuilder()

    def one(rows: Any, bucket: int | None) -> Any:
        adopt_thread()
        with tempfile.TemporaryDirectory() as spill:
            write = builder.newWrite()
            write.withIOManager(paimon.disk.IOManager.create(spill))
            # Rows are handed over without leaving the JVM.
            handle = invoke.MethodHandles.publicLookup().findVirtual(write_class, "write", signature).bindTo(write)
            if bucket is not None:
                handle = invoke.MethodHandles.insertArguments(handle, 1, jpype.java.lang.Integer(bucket))
            rows.forEach(
                invoke.MethodHandleProxies.asInterfaceInstance(jpype.java.util.function.Consumer.class_, handle)
            )
            messages = write.prepareCommit()
            write.close()
            return messages

    messages = jpype.java.util.ArrayList()
    with ThreadPoolExecutor(len(parts)) as pool:
        for found in pool.map(one, parts, [None] * len(parts) if buckets is None else buckets):
            messages.addAll(found)
    builder.newCommit().commit(messages)


def compact_append(paimon: Any, table: Any, threads: int = 2) -> None:
    """Compaction of a table without buckets as the coordinator plans it, on `threads` threads, one commit."""
    import jpype

    settings = jpype.java.util.HashMap()
    settings.put("write-only", "false")
    table = table.copy(settings)

    def one(task: Any) -> Any:
        adopt_thread()
        write = table.store().newWrite("bench")
        message = task.doCompact(table, write)
        write.close()
        return message

    messages = jpype.java.util.ArrayList()
    tasks = list(paimon.append.AppendCompactCoordinator(table, False).run())
    with ThreadPoolExecutor(threads) as pool:
        for message in pool.map(one, tasks):
            messages.add(message)
    table.newBatchWriteBuilder().newCommit().commit(messages)
