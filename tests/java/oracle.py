"""What the tests ask of the Java core, in plain Python values.

A table is named by the path of its warehouse and its identifier; rows are tuples of internal values in the order of the
columns. The code follows the public API as a user of Java would: write builders, read builders, predicates.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jpype

from maintenance.metastore.schema_change import SchemaChange
from maintenance.types.data_type import DataType
from maintenance.types.type_text import parse_data_type
from maintenance.types.values import Value
from tests.java.java_casts import JavaCasts
from tests.java.java_changes import JavaChanges
from tests.java.java_partitions import JavaPartitions
from tests.java.java_picks import JavaPicks
from tests.java.java_values import Getter, getter, to_java
from tests.java.java_vectors import JavaVectors

Row = tuple[Value, ...]
Condition = tuple[Any, ...]
Group = list[tuple[str, Any]]  # names of fields and their values; a group again is a list


class Oracle:
    """The Java core. `paimon`: its package, the JVM running."""

    def __init__(self, paimon: Any) -> None:
        self._paimon = paimon
        self._prepared: dict[int, Callable[[], None]] = {}
        self._streams: dict[tuple[str, str, str], tuple[Any, Any]] = {}

    # Variants

    def variant(self, text: str) -> tuple[tuple[bytes, bytes], str, bytes]:
        """The value and metadata of a JSON text, the text of these, and they in a serialized row behind a 7."""
        variant = self._paimon.data.variant.GenericVariant.fromJson(text)
        types = self._paimon.types.DataTypes
        both = jpype.JArray(self._paimon.types.DataType)([types.INT(), types.VARIANT()])
        row = self._paimon.data.GenericRow(2)
        row.setField(0, jpype.java.lang.Integer(7))
        row.setField(1, variant)
        serialized = self._paimon.data.serializer.InternalRowSerializer(both).toBinaryRow(row).toBytes()
        return (bytes(variant.value()), bytes(variant.metadata())), str(variant.toJson()), bytes(serialized)

    def variant_text(self, value: bytes, metadata: bytes) -> str:
        """The JSON text of a value and its metadata."""
        array = jpype.JArray(jpype.JByte)
        return str(self._paimon.data.variant.GenericVariant(array(value), array(metadata)).toJson())

    # Tables

    def _catalog(self, warehouse: str) -> Any:
        options = self._paimon.options.Options()
        options.set("warehouse", warehouse)
        options.set("cache-enabled", "false")
        return self._paimon.catalog.CatalogFactory.createCatalog(self._paimon.catalog.CatalogContext.create(options))

    def _table(self, warehouse: str, identifier: str, options: Mapping[str, str] | None = None) -> Any:
        table = self._catalog(warehouse).getTable(self._paimon.catalog.Identifier.fromString(identifier))
        return table.copy(jpype.java.util.HashMap(dict(options))) if options else table

    def create_table(
        self,
        warehouse: str,
        identifier: str,
        columns: Sequence[tuple[str, str]],
        keys: tuple[Sequence[str], Sequence[str]],
        options: Mapping[str, str],
    ) -> None:
        """Create a table, and its database. `columns`: names and type texts; `keys`: primary keys, partition keys."""
        builder = self._paimon.schema.Schema.newBuilder()
        for name, text in columns:
            builder.column(name, JavaCasts(self._paimon).data_type(parse_data_type(text)))
        for key, value in options.items():
            builder.option(key, value)
        builder.primaryKey(list(keys[0])).partitionKeys(list(keys[1]))
        name = self._paimon.catalog.Identifier.fromString(identifier)
        catalog = self._catalog(warehouse)
        catalog.createDatabase(name.getDatabaseName(), True)
        catalog.createTable(name, builder.build(), False)

    # Reading

    def rows(self, warehouse: str, identifier: str, options: Mapping[str, str] | None = None) -> list[Row]:
        """All rows of a table."""
        table = self._table(warehouse, identifier, options)
        getters = [getter(data_type) for data_type in table.rowType().getFieldTypes()]
        collected: list[Row] = []

        def take(row: Any) -> None:
            collected.append(tuple(read(row, i) for i, read in enumerate(getters)))

        self._each_row(table.newReadBuilder(), take)
        return collected

    def tested(
        self, warehouse: str, identifier: str, column: str, conditions: Sequence[Condition]
    ) -> list[list[Value]]:
        """For each condition the values of `column` in the rows that satisfy it, every row read and tested.

        A condition is ``(method of PredicateBuilder, column, value…)``.
        """
        table = self._table(warehouse, identifier)
        index = table.rowType().getFieldIndex(column)
        read = getter(table.rowType().getTypeAt(index))
        predicates = [self._predicate(table.rowType(), condition) for condition in conditions]
        actual: list[list[Value]] = [[] for _ in conditions]

        def test(row: Any) -> None:
            for predicate, values in zip(predicates, actual, strict=True):
                if predicate.test(row):
                    values.append(read(row, index))

        self._each_row(table.newReadBuilder(), test)
        return actual

    def pushed(
        self, warehouse: str, identifier: str, column: str, conditions: Sequence[Condition]
    ) -> list[list[Value]]:
        """The same by a reader that leaves out files, row groups and pages by each condition."""
        table = self._table(warehouse, identifier)
        row_type = table.rowType()
        read = getter(row_type.getTypeAt(row_type.getFieldIndex(column)))
        collected: list[list[Value]] = []
        for condition in conditions:
            values: list[Value] = []
            columns = [row_type.getFieldIndex(name) for name in dict.fromkeys((column, condition[1]))]
            reader = table.newReadBuilder().withFilter(self._predicate(row_type, condition)).withProjection(columns)
            self._each_row(reader, partial(_gather, values, read))
            collected.append(values)
        return collected

    def stream(
        self, warehouse: str, identifier: str, options: Mapping[str, str], next_snapshot: int | None = None
    ) -> tuple[list[Row], int | None]:
        """Rows that a stream brings until it waits, and the snapshot it waits for.

        `next_snapshot`: where it goes on, None = where the options let it start.
        """
        table = self._table(warehouse, identifier, options)
        getters = [getter(data_type) for data_type in table.rowType().getFieldTypes()]
        collected: list[Row] = []

        def take(row: Any) -> None:
            collected.append(tuple(read(row, i) for i, read in enumerate(getters)))

        builder = table.newReadBuilder()
        scan, read = builder.newStreamScan(), builder.newRead()
        if next_snapshot is not None:
            scan.restore(jpype.JLong(next_snapshot))
        consumer = jpype.JProxy("java.util.function.Consumer", dict={"accept": take})
        waited = 0
        while waited < 3:
            splits = scan.plan().splits()
            waited = 0 if len(splits) else waited + 1
            for split in splits:
                read.createReader(split).forEachRemaining(consumer)
        checkpoint = scan.checkpoint()
        return collected, None if checkpoint is None else int(checkpoint)

    def _each_row(self, reader: Any, take: Callable[[Any], None]) -> None:
        """Hand over the rows, of which a reader may use one object for all."""
        read = reader.newRead().executeFilter()
        consumer = jpype.JProxy("java.util.function.Consumer", dict={"accept": take})
        for split in reader.newScan().plan().splits():
            read.createReader(split).forEachRemaining(consumer)

    def _predicate(self, row_type: Any, condition: Condition) -> Any:
        method, column, *values = condition
        builder = self._paimon.predicate.PredicateBuilder(row_type)
        index = builder.indexOf(column)
        data_type = row_type.getTypeAt(index)
        if method == "in_":
            values = [to_java(self._paimon, value, data_type) for value in values[0]]
            return builder.in_(index, jpype.java.util.ArrayList(values))
        return getattr(builder, method)(index, *(to_java(self._paimon, value, data_type) for value in values))

    # Writing

    def write(
        self,
        warehouse: str,
        identifier: str,
        rows: Sequence[Row],
        kinds: Sequence[str] | None = None,
        overwrite: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Write rows as one commit.

        `kinds`: ``+I``, ``-D``… of each row, all inserts if None; `overwrite`: the partition replaced, {} = the
        partitions that get rows, or a table without partitions whole; `options`: of this write.
        """
        table = self._table(warehouse, identifier, options)
        builder = table.newBatchWriteBuilder()
        if overwrite is not None:
            import jpype

            builder = builder.withOverwrite(jpype.java.util.HashMap(dict(overwrite)))
        write = builder.newWrite()
        with tempfile.TemporaryDirectory() as spill:
            write.withIOManager(self._paimon.disk.IOManager.create(spill))
            for row, kind in zip(self._java_rows(table, rows), kinds or ["+I"] * len(rows), strict=True):
                row.setRowKind(self._paimon.types.RowKind.fromShortString(kind))
                write.write(row)
            builder.newCommit().commit(write.prepareCommit())
            write.close()

    def commit_as(
        self, warehouse: str, identifier: str, user: str, number: int, rows: Sequence[Row], *, compacts: bool = False
    ) -> None:
        """Write rows as a job of that commit user, as its commit `number`; or, with `compacts`, only compact bucket 0.

        The table has no partitions. A job that compacts says 'write-only' = 'false' for itself, as Paimon's does.
        """
        table = self._table(warehouse, identifier, {"write-only": "false" if compacts else "true"})
        write, commit = table.newWrite(user), table.newCommit(user).ignoreEmptyCommit(True)
        with tempfile.TemporaryDirectory() as spill:
            write.withIOManager(self._paimon.disk.IOManager.create(spill))
            for row in self._java_rows(table, rows):
                write.write(row)
            if compacts:
                write.compact(self._paimon.data.BinaryRow.EMPTY_ROW, 0, True)
            commit.commit(jpype.JLong(number), write.prepareCommit(True, jpype.JLong(number)))
            write.close()
            commit.close()

    def write_stream(self, warehouse: str, identifier: str, user: str, number: int, rows: Sequence[Row]) -> None:
        """Commit `number` of a streaming writer called `user`, which lives from its first commit on.

        Unless the table is write-only it compacts what it writes, and waits for that.
        """
        table = self._table(warehouse, identifier)
        key = (warehouse, identifier, user)
        if key not in self._streams:
            builder = table.newStreamWriteBuilder().withCommitUser(user)
            write = builder.newWrite()
            write.withIOManager(self._paimon.disk.IOManager.create(tempfile.mkdtemp()))
            self._streams[key] = write, builder.newCommit()
        write, commit = self._streams[key]
        for row in self._java_rows(table, rows):
            write.write(row)
        commit.commit(jpype.JLong(number), write.prepareCommit(True, jpype.JLong(number)))

    def waiting_rows(self, warehouse: str, identifier: str) -> int:
        """How many records wait in the postpone bucket, each of which is read."""
        table = self._table(warehouse, identifier)
        builder = table.newReadBuilder()
        splits = table.newSnapshotReader().withBucket(-2).read().splits()
        iterator = builder.newRead().createReader(splits).toCloseableIterator()
        count = 0
        while iterator.hasNext():
            iterator.next()
            count += 1
        return count

    def write_dynamic(
        self, warehouse: str, identifier: str, rows: Sequence[Row], kinds: Sequence[str], assigners: int = 1
    ) -> None:
        """Write rows to a table with dynamic buckets as one commit, with so many of Java's own assigners."""
        table = self._table(warehouse, identifier)
        options, index = table.coreOptions(), self._paimon.index
        handler = table.store().newIndexFileHandler()
        buckets = [
            index.HashBucketAssigner(
                table.snapshotManager(), "java", handler, assigners, assigners, number,
                options.dynamicBucketTargetRowNum(), int(options.dynamicBucketMaxBuckets()),
            )
            for number in range(assigners)
        ]  # fmt: skip
        keys = self._paimon.table.sink.RowPartitionKeyExtractor(table.schema())
        builder = table.newBatchWriteBuilder()
        write = builder.newWrite()
        with tempfile.TemporaryDirectory() as spill:
            write.withIOManager(self._paimon.disk.IOManager.create(spill))
            for row, kind in zip(self._java_rows(table, rows), kinds, strict=True):
                row.setRowKind(self._paimon.types.RowKind.fromShortString(kind))
                partition, key = keys.partition(row), int(keys.trimmedPrimaryKey(row).hashCode())
                number = index.BucketAssigner.computeAssigner(partition.hashCode(), key, assigners, assigners)
                write.write(row, buckets[int(number)].assign(partition, key))
            builder.newCommit().commit(write.prepareCommit())
            write.close()

    def write_straight(
        self, warehouse: str, identifier: str, rows: Sequence[Row], kinds: Sequence[str], buckets: int
    ) -> None:
        """Write rows to a table with postponed buckets, into so many real ones, as Paimon's batch jobs do."""
        self.commit_prepared(self.prepare_straight(warehouse, identifier, rows, kinds, buckets))

    def prepare_straight(
        self, warehouse: str, identifier: str, rows: Sequence[Row], kinds: Sequence[str], buckets: int
    ) -> int:
        """The same without the commit; the number to commit it by."""
        table = self._table(warehouse, identifier)
        fixed = table.copy(jpype.java.util.HashMap({"bucket": str(buckets), "write-only": "true"}))
        write = fixed.newBatchWriteBuilder().newWrite()
        with tempfile.TemporaryDirectory() as spill:
            write.withIOManager(self._paimon.disk.IOManager.create(spill))
            for row, kind in zip(self._java_rows(table, rows), kinds, strict=True):
                row.setRowKind(self._paimon.types.RowKind.fromShortString(kind))
                write.write(row)
            messages = write.prepareCommit()
            write.close()
        number = max(self._prepared, default=-1) + 1
        self._prepared[number] = lambda: table.newBatchWriteBuilder().newCommit().commit(messages)
        return number

    def write_cross_partition(self, warehouse: str, identifier: str, rows: Sequence[Row], kinds: Sequence[str]) -> None:
        """Write rows to a table whose keys move between partitions as one commit, with Java's own index of keys."""
        table = self._table(warehouse, identifier)
        crossing = self._paimon.crosspartition
        assigner = crossing.GlobalIndexAssigner(table)
        builder = table.newBatchWriteBuilder()
        write = builder.newWrite()
        with tempfile.TemporaryDirectory() as spill:
            manager = self._paimon.disk.IOManager.create(spill)
            write.withIOManager(manager)
            take = jpype.JProxy(
                "java.util.function.BiConsumer", dict={"accept": lambda row, to: write.write(row, int(to))}
            )
            assigner.open(jpype.JLong(0), manager, 1, 0, take)
            keep = jpype.JProxy("java.util.function.Consumer", dict={"accept": assigner.bootstrapKey})
            crossing.IndexBootstrap(table).bootstrap(1, 0, keep)
            for row, kind in zip(self._java_rows(table, rows), kinds, strict=True):
                row.setRowKind(self._paimon.types.RowKind.fromShortString(kind))
                assigner.processInput(row)
            assigner.endBoostrap(True)
            builder.newCommit().commit(write.prepareCommit())
            write.close()
            assigner.close()

    def _java_rows(self, table: Any, rows: Sequence[Row]) -> list[Any]:
        return self._rows_of_types(list(table.rowType().getFieldTypes()), rows)

    def _rows_of_types(self, types: Sequence[Any], rows: Sequence[Row]) -> list[Any]:
        collected = []
        for values in rows:
            row = self._paimon.data.GenericRow(len(types))
            for i, (value, data_type) in enumerate(zip(values, types, strict=True)):
                row.setField(i, to_java(self._paimon, value, data_type))
            collected.append(row)
        return collected

    def buckets(self, warehouse: str, identifier: str, rows: Sequence[Row]) -> list[int]:
        """The bucket of each row."""
        table = self._table(warehouse, identifier)
        write = table.newBatchWriteBuilder().newWrite()
        return [int(write.getBucket(row)) for row in self._java_rows(table, rows)]

    # Serialized rows

    def serialized(self, types: Sequence[DataType], rows: Sequence[Row]) -> list[tuple[bytes, int]]:
        """The bytes of each row of these types with its number of fields, and the row's hash."""
        java_types = [JavaCasts(self._paimon).data_type(data_type) for data_type in types]
        array = jpype.JArray(self._paimon.types.DataType)(java_types)
        serializer = self._paimon.data.serializer.InternalRowSerializer(array)
        collected = []
        for row in self._rows_of_types(java_types, rows):
            binary = serializer.toBinaryRow(row)
            data = bytes(self._paimon.utils.SerializationUtils.serializeBinaryRow(binary))
            collected.append((data, int(binary.hashCode())))
        return collected

    def partition_texts(self, data_type: DataType, values: Sequence[Value], *, legacy: bool) -> list[str]:
        """How the folders of partitions with these values, none null, are named."""
        java_type = JavaCasts(self._paimon).data_type(data_type)
        row_type = self._paimon.types.RowType.builder().field("p", java_type).build()
        computer = self._paimon.utils.InternalRowPartitionComputer("default", row_type, ["p"], legacy)
        rows = self._rows_of_types([java_type], [(value,) for value in values])
        return [str(computer.generatePartValues(row).get("p")) for row in rows]

    # Files

    def write_parquet(self, path: str, schema: str, rows: Sequence[Group]) -> None:
        """A parquet file of any structure. `schema`: as parquet-mr prints it; `rows`: the fields that are there."""
        parquet = jpype.JPackage("org").apache.parquet
        message = parquet.schema.MessageTypeParser.parseMessageType(schema)
        target = jpype.JPackage("org").apache.hadoop.fs.Path(f"file://{path}")
        writer = parquet.hadoop.example.ExampleParquetWriter.builder(target).withType(message).build()
        factory = parquet.example.data.simple.SimpleGroupFactory(message)
        for row in rows:
            group = factory.newGroup()
            _fill(group, row)
            writer.write(group)
        writer.close()

    # Maintenance

    def compact(self, warehouse: str, identifier: str) -> None:
        """Full compaction of all buckets as one COMPACT snapshot."""
        self.commit_prepared(self.prepare_compaction(warehouse, identifier))

    def compact_manifests(self, warehouse: str, identifier: str) -> None:
        """Merge the manifests of the newest snapshot, as one COMPACT snapshot."""
        self._table(warehouse, identifier).newBatchWriteBuilder().newCommit().compactManifests()

    def cluster_units(self, warehouse: str, identifier: str, *, full: bool) -> list[tuple[int, list[str]]]:
        """What an incremental clustering would pick: the level of the new files, and the names of those it reads."""
        manager = self._paimon.append.cluster.IncrementalClusterManager(self._table(warehouse, identifier))
        units = manager.createCompactUnits(full).values()
        return sorted((int(u.outputLevel()), sorted(str(f.fileName()) for f in u.files())) for u in units)

    def prepare_compaction(self, warehouse: str, identifier: str) -> int:
        """Do the work of a full compaction, but do not commit it yet. Returns its number for `commit_prepared`."""
        table = self._table(warehouse, identifier, {"write-only": "false", "compaction.min.file-num": "2"})
        if table.bucketMode().name() == "POSTPONE_MODE":
            # Real buckets are compacted as those of a table that has no others; here every partition has as many.
            known = set(map(int, self._paimon.table.PostponeUtils.getKnownNumBuckets(table).values()))
            table = table.copy(jpype.java.util.HashMap({"bucket": str(known.pop())}))
            assert not known
        builder = table.newBatchWriteBuilder()
        if table.bucketMode().name() == "BUCKET_UNAWARE":
            messages = self._append_compaction(table)
        else:
            write = builder.newWrite()
            with tempfile.TemporaryDirectory() as spill:
                write.withIOManager(self._paimon.disk.IOManager.create(spill))
                splits = table.newSnapshotReader().read().dataSplits()
                for partition, bucket in {(split.partition().copy(), int(split.bucket())) for split in splits}:
                    write.compact(partition, bucket, True)
                messages = write.prepareCommit()
                write.close()
        number = max(self._prepared, default=-1) + 1
        self._prepared[number] = lambda: builder.newCommit().commit(messages)
        return number

    def _append_compaction(self, table: Any) -> Any:
        if table.coreOptions().dataEvolutionEnabled():
            planned = self._paimon.append.dataevolution.DataEvolutionCompactCoordinator(table, False, False).plan()
            return jpype.java.util.ArrayList([task.doCompact(table, "tests") for task in planned])
        write = table.store().newWrite("tests")
        tasks = self._paimon.append.AppendCompactCoordinator(table, False).run()
        return jpype.java.util.ArrayList([task.doCompact(table, write) for task in tasks])

    def index(self, warehouse: str, identifier: str, columns: Sequence[str]) -> None:
        """Build a global index of type btree on each column."""
        table = self._table(warehouse, identifier)
        for column in columns:
            builder = self._paimon.globalindex.btree.BTreeGlobalIndexBuilder(table).withIndexField(column)
            messages = jpype.java.util.ArrayList()
            with tempfile.TemporaryDirectory() as spill:
                manager = self._paimon.disk.IOManager.create(spill)
                for split in builder.scan().get().getValue():
                    for part in builder.splitByContiguousRowRange(jpype.java.util.Collections.singletonList(split)):
                        messages.addAll(builder.build(part, manager))
            table.newBatchWriteBuilder().newCommit().commit(messages)

    def vectors(self, warehouse: str, identifier: str) -> dict[str, list[int]]:
        """Deleted row numbers by data file."""
        return JavaVectors(self._paimon).vectors(self._table(warehouse, identifier))

    def vector_bytes(self, ranges: Sequence[tuple[int, int, int]], wide: bool) -> bytes:
        """A deletion vector as Java's writer stores it. `ranges`: start, stop and step of its rows."""
        return JavaVectors(self._paimon).serialized(ranges, wide=wide)

    def prepare_deletion(self, warehouse: str, identifier: str, positions: Mapping[str, Sequence[int]]) -> int:
        """Write index files in which rows are deleted. Returns its number for `commit_prepared`."""
        number = max(self._prepared, default=-1) + 1
        self._prepared[number] = JavaVectors(self._paimon).deletion(self._table(warehouse, identifier), positions)
        return number

    def commit_prepared(self, number: int) -> None:
        self._prepared.pop(number)()

    def expire(self, warehouse: str, identifier: str, retain: int) -> int:
        """Expire all but the newest `retain` snapshots. Returns how many went."""
        builder = self._paimon.options.ExpireConfig.builder()
        zero = jpype.java.time.Duration.ZERO
        config = builder.snapshotRetainMax(retain).snapshotRetainMin(retain).snapshotTimeRetain(zero).build()
        return int(self._table(warehouse, identifier).newExpireSnapshots().config(config).expire())

    def create_tag(self, warehouse: str, identifier: str, name: str, snapshot_id: int) -> None:
        """Tag a snapshot."""
        self._table(warehouse, identifier).createTag(name, jpype.JLong(snapshot_id))

    def delete_tag(self, warehouse: str, identifier: str, name: str) -> None:
        """Delete a tag, and what only it used."""
        self._table(warehouse, identifier).deleteTag(name)

    def create_branch(self, warehouse: str, identifier: str, branch: str, tag: str) -> None:
        """Create a branch from a tag."""
        self._table(warehouse, identifier).createBranch(branch, tag)

    def delete_branch(self, warehouse: str, identifier: str, branch: str) -> None:
        """Delete a branch."""
        self._table(warehouse, identifier).deleteBranch(branch)

    def purge(self, warehouse: str, identifier: str) -> None:
        """Delete all rows and history."""
        self._table(warehouse, identifier).purgeFiles()

    def column_statistics(self, warehouse: str, identifier: str) -> dict[str, tuple[str | int | None, ...]]:
        """Of each column of the table's statistics: distinct values, least, greatest, nulls, average and most bytes."""

        def of(stats: Any) -> tuple[str | int | None, ...]:
            bounds = [actual.get().toString() if actual.isPresent() else None for actual in (stats.min(), stats.max())]
            counts = (stats.distinctCount(), stats.nullCount(), stats.avgLen(), stats.maxLen())
            distinct, nulls, average, longest = (int(count.getAsLong()) for count in counts)
            return distinct, *map(str, bounds), nulls, average, longest

        columns = self._table(warehouse, identifier).statistics().get().colStats()
        return {str(entry.getKey()): of(entry.getValue()) for entry in columns.entrySet()}

    def create_automatic_tags(self, warehouse: str, identifier: str) -> None:
        """Create the tags that the table's options ask for, and expire those whose time is over."""
        self._table(warehouse, identifier).newTagAutoManager().run()

    def expire_partitions(
        self, warehouse: str, identifier: str, options: Mapping[str, str]
    ) -> list[tuple[tuple[str, str], ...]]:
        """Expire partitions now. Returns the columns and texts of those that went, in order."""
        return JavaPartitions(self._paimon).expire(self._table(warehouse, identifier, options))

    def partition_times(self, work: Sequence[tuple[Sequence[str], Sequence[str], str | None, str | None]]) -> list[Any]:
        """For each (columns, texts, pattern, formatter) the nanoseconds since 1970 that they mean, None for no time."""
        return JavaPartitions(self._paimon).times(work)

    def orphans(self, warehouse: str, identifier: str) -> list[str]:
        """Paths of files in the table's folders that nothing names. A dry run: nothing is deleted."""
        tomorrow = int(jpype.java.lang.System.currentTimeMillis()) + 86_400_000
        cleaner = self._paimon.operation.LocalOrphanFilesClean(self._table(warehouse, identifier), tomorrow, True)
        return [str(path) for path in cleaner.clean().getDeletedFilesPath()]

    def clean_orphans(self, warehouse: str, identifier: str) -> None:
        """Delete the files that `orphans` finds."""
        tomorrow = int(jpype.java.lang.System.currentTimeMillis()) + 86_400_000
        self._paimon.operation.LocalOrphanFilesClean(self._table(warehouse, identifier), tomorrow, False).clean()

    # Schemas

    def next_schemas(
        self, cases: Sequence[tuple[str, Sequence[SchemaChange]]], *, has_snapshot: bool
    ) -> list[str | None]:
        """For each (schema file, changes) the schema file after, None if they are refused."""
        changes = JavaChanges(self._paimon)
        return [changes.next_schema(*case, has_snapshot=has_snapshot) for case in cases]

    def alter(self, warehouse: str, identifier: str, changes: Sequence[SchemaChange]) -> None:
        """Change a table's schema."""
        name = self._paimon.catalog.Identifier.fromString(identifier)
        self._catalog(warehouse).alterTable(name, JavaChanges(self._paimon).of(changes), False)

    # File indexes

    def index_bodies(
        self, work: Sequence[tuple[str, DataType, Mapping[str, str], Sequence[Value]]]
    ) -> list[bytes | None]:
        """For each (kind, type, options, values) the body of the index; None if Java cannot build it."""
        return [self._index_body(*each) for each in work]

    def _index_body(
        self, kind: str, data_type: DataType, options: Mapping[str, str], values: Sequence[Value]
    ) -> bytes | None:
        try:
            writer = self._indexer(kind, data_type, options).createWriter()
            java_type = JavaCasts(self._paimon).data_type(data_type)
            for value in values:
                writer.writeRecord(to_java(self._paimon, value, java_type))
            return bytes(writer.serializedBytes())
        except jpype.JException:
            return None

    def _indexer(self, kind: str, data_type: DataType, options: Mapping[str, str]) -> Any:
        java_options = self._paimon.options.Options(jpype.java.util.HashMap(dict(options)))
        return self._paimon.fileindex.FileIndexer.create(
            kind, JavaCasts(self._paimon).data_type(data_type), java_options
        )

    def index_answers(
        self, work: Sequence[tuple[str, DataType, bytes, Sequence[Condition]]]
    ) -> list[list[list[int] | bool]]:
        """For each (kind, type, body, conditions) and condition the rows that Java's reader leaves over.

        A condition is ``(method of PredicateBuilder, value…)``. True and False where it only tells whether to read.
        """
        return [
            [self._index_answer(kind, data_type, body, condition) for condition in conditions]
            for kind, data_type, body, conditions in work
        ]

    def _visited(self, reader: Any, reference: Any, condition: Condition, java_type: Any) -> Any:
        method, *values = condition
        if method in ("isNull", "isNotNull"):
            return getattr(reader, f"visit{method[0].upper()}{method[1:]}")(reference)
        if method == "in_":
            literals = [to_java(self._paimon, value, java_type) for value in values[0]]
            return reader.visitIn(reference, jpype.java.util.ArrayList(literals))
        value = jpype.JObject(to_java(self._paimon, values[0], java_type), jpype.java.lang.Object)
        return getattr(reader, f"visit{method[0].upper()}{method[1:]}")(reference, value)

    def _index_answer(self, kind: str, data_type: DataType, body: bytes, condition: Condition) -> list[int] | bool:
        java_type = JavaCasts(self._paimon).data_type(data_type)
        stream = self._paimon.fs.ByteArraySeekableStream(jpype.JArray(jpype.JByte)(body))
        reader = self._indexer(kind, data_type, {}).createReader(stream, 0, len(body))
        reference = self._paimon.predicate.FieldRef(0, "f", java_type)
        result = self._visited(reader, reference, condition, java_type)
        if isinstance(result, self._paimon.fileindex.bitmap.BitmapIndexResult):
            rows = result.get().iterator()
            collected = []
            while rows.hasNext():
                collected.append(int(rows.next()))
            return collected
        return bool(result.remain())

    # Casts

    def may_change(self, pairs: Sequence[tuple[DataType, DataType]], *, explicit: bool) -> list[bool]:
        """For each (source, target) whether ALTER accepts it."""
        return JavaCasts(self._paimon).may_change(pairs, explicit=explicit)

    def cast(
        self, work: Sequence[tuple[DataType, DataType, Sequence[Value]]], zone: str
    ) -> list[list[Value | tuple[str, str]]]:
        """For each (source, target, values) the values cast in that time zone."""
        return JavaCasts(self._paimon).cast(work, zone)

    def defaults(self, texts: Sequence[tuple[str, DataType]]) -> list[Value | tuple[str, str]]:
        """The value of each default text."""
        return JavaCasts(self._paimon).defaults(texts)

    # Decisions

    def picks(self, work: Sequence[Mapping[str, Any]]) -> list[tuple[int, int] | None]:
        """What universal compaction picks in each situation: see `JavaPicks.pick`."""
        return [JavaPicks(self._paimon).pick(**situation) for situation in work]

    def off_peak_ratios(self, work: Sequence[tuple[int, int, int]]) -> list[list[int]]:
        """For each (start, end, ratio) of off-peak hours what each hour of the day adds."""
        return [JavaPicks(self._paimon).ratios(*hours) for hours in work]


def _fill(group: Any, fields: Group) -> None:
    for name, value in fields:
        if isinstance(value, list):
            _fill(group.addGroup(name), value)
        else:
            group.add(name, jpype.JInt(value) if isinstance(value, int) else value)


def _gather(values: list[Value], read: Getter, row: Any) -> None:
    values.append(read(row, 0))
