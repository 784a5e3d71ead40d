"""The paths of a table's files. Source: seed 000 (file layouts), Java `FileStorePathFactory`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX, HASH_INDEX, IndexManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.binary_row import parse_row
from maintenance.metadata.branch_root import MAIN_BRANCH, branch_root
from maintenance.metadata.external_paths import ExternalPaths
from maintenance.metadata.partition_path import partition_path, partition_spec, value_texts
from maintenance.metadata.partition_value import WHOLE_TABLE, PartitionValue, shown_text
from maintenance.metadata.zone import local_zone
from maintenance.names import segment, stored_name
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.types.casts.zones import UTC
from maintenance.types.data_type import DataField

# What stands before the names of snapshots and tags that no reader finds any more, and whose files are being deleted.
RETIRED = "retired-"


@dataclass(frozen=True, slots=True)
class TablePaths:
    """Paths of a table.

    Attributes:
        root: without a slash at the end.
        branch: ``main`` or the name of a branch.
        index_with_data: whether index files of a bucket are in its folder.
        has_keys: whether the table has a primary key: then all its index files are of buckets.
        external: where new data files go, if not below the root.
        follows_main: whether the branch is the one that the table's option `branch` names. Paimon's files in it have
            the ids of main's schemas.
        zone: time zone that names of partition folders show instants in; Paimon takes the one of the process.
    """

    root: str
    branch: str = MAIN_BRANCH
    partition_fields: tuple[DataField, ...] = ()
    default_partition_name: str = "__DEFAULT_PARTITION__"
    legacy_partition_name: bool = True
    data_directory: str | None = None
    index_with_data: bool = False
    zone: str = UTC
    external: ExternalPaths | None = None
    follows_main: bool = False
    has_keys: bool = False

    @classmethod
    def of(cls, root: str, schema: TableSchema, options: TableModel, branch: str = MAIN_BRANCH) -> "TablePaths":
        return cls(
            root.rstrip("/"),
            branch,
            tuple(schema.partition_fields),
            options.partition_default_name,
            options.partition_legacy_name,
            table_options.DATA_FILE_PATH_DIRECTORY.of(options),
            table_options.INDEX_FILE_IN_DATA_FILE_DIR.of(options),
            local_zone(),
            ExternalPaths.of(options),
            branch == table_options.BRANCH.of(options) != MAIN_BRANCH,
            bool(schema.primary_keys),
        )

    @property
    def branch_root(self) -> str:
        """Root of the JSON folders of this branch; manifests and data are always below the table root."""
        return branch_root(self.root, self.branch)

    def schema_folder(self) -> str:
        return f"{self.branch_root}/schema"

    def schema(self, schema_id: int) -> str:
        return f"{self.branch_root}/schema/schema-{schema_id}"

    def snapshot_folder(self) -> str:
        return f"{self.branch_root}/snapshot"

    def snapshot(self, snapshot_id: int) -> str:
        return f"{self.branch_root}/snapshot/snapshot-{snapshot_id}"

    def retired_snapshot(self, snapshot_id: int) -> str:
        """Where the record of a snapshot is while its files are deleted. Paimon knows no such file."""
        return f"{self.branch_root}/snapshot/{RETIRED}{snapshot_id}"

    def changelog_folder(self) -> str:
        return f"{self.branch_root}/changelog"

    def changelog(self, snapshot_id: int) -> str:
        """The file of a long-lived changelog."""
        return f"{self.branch_root}/changelog/changelog-{snapshot_id}"

    def tag_folder(self) -> str:
        return f"{self.branch_root}/tag"

    def tag(self, name: str) -> str:
        """The file of a tag. Raises: OptionError: the name leads to another folder."""
        folder = self.tag_folder()
        return f"{folder}/{segment(name, 'a tag', folder, prefix='tag-')}"

    def consumer_folder(self) -> str:
        return f"{self.branch_root}/consumer"

    def consumer(self, name: str) -> str:
        """The file of a consumer. Raises: OptionError: the name leads to another folder."""
        folder = self.consumer_folder()
        return f"{folder}/{segment(name, 'a consumer', folder, prefix='consumer-')}"

    def commit_record_folder(self) -> str:
        return f"{self.branch_root}/commit-records"

    def manifest_folder(self) -> str:
        return f"{self.root}/manifest"

    def manifest(self, name: str) -> str:
        return f"{self.root}/manifest/{stored_name(name, self.manifest_folder())}"

    def index_file(self, entry: IndexManifestEntry) -> str:
        """An index file: where the entry says, or beside the data of its bucket, or in `index/`.

        Source: Java `IndexFileHandler`; indexes of rows by their ids are in `index/` whatever the option says.
        """
        if entry.external_path is not None:
            return entry.external_path
        name = stored_name(entry.file_name, f"{self.root}/index")
        of_bucket = self.has_keys or entry.index_type in (HASH_INDEX, DELETION_VECTORS_INDEX)
        if self.index_with_data and of_bucket:
            return f"{self.bucket_folder(entry.partition, entry.bucket)}/{name}"
        return f"{self.root}/index/{name}"

    def statistics_file(self, name: str) -> str:
        return f"{self.root}/statistics/{stored_name(name, f'{self.root}/statistics')}"

    def spec_of(self, partition: bytes) -> dict[str, str]:
        """Partition columns and value texts of a serialized partition row, as its directory shows them."""
        if not self.partition_fields:
            return {}
        return dict(
            _spec_items(
                partition, self.partition_fields, self.default_partition_name, self.legacy_partition_name, self.zone
            )
        )

    def partition(self, partition: bytes) -> PartitionValue:
        """A serialized partition row as what it is, and as it is shown to people."""
        return self.partition_of(self.partition_fields, partition)

    def partition_of(self, fields: Sequence[DataField], row: bytes) -> PartitionValue:
        """The partition, or those, that have these values. `row`: of these columns, in the table's order."""
        return _partition_value(row, tuple(fields), self.default_partition_name, self.legacy_partition_name, self.zone)

    def folder_texts(self, partition: PartitionValue) -> dict[str, str]:
        """The texts that the folders of a partition show of its columns, which may be those of others, too."""
        values = [*partition.values_by_name.values()]
        return partition_spec(
            values, partition.fields, self.default_partition_name, self.legacy_partition_name, self.zone
        )

    @property
    def data_root(self) -> str:
        """The folder that those of partitions and buckets are in."""
        return f"{self.root}/{self.data_directory}" if self.data_directory else self.root

    def partition_folder(self, partition: bytes) -> str:
        relative = partition_path(self.spec_of(partition))
        return f"{self.data_root}/{relative}" if relative else self.data_root

    def bucket_folder(self, partition: bytes, bucket: int) -> str:
        name = "bucket-postpone" if bucket == table_options.POSTPONE_BUCKET else f"bucket-{bucket}"
        return f"{self.partition_folder(partition)}/{name}"

    def external_bucket_folder(self, root: str, partition: bytes, bucket: int) -> str:
        """As `bucket_folder`, below a root outside the table."""
        return f"{root}/{self.bucket_folder(partition, bucket).removeprefix(f'{self.root}/')}"

    def bucket_folders(self, partition: bytes, bucket: int) -> list[str]:
        """All folders that files of a bucket are written to by now; those of `entropy-inject` are below them."""
        roots = () if self.external is None else self.external.roots
        others = [self.external_bucket_folder(root, partition, bucket) for root in roots]
        return [self.bucket_folder(partition, bucket), *others]

    def data_file(self, partition: bytes, bucket: int, file: DataFileMeta) -> str:
        if file.external_path:
            return file.external_path
        folder = self.bucket_folder(partition, bucket)
        return f"{folder}/{stored_name(file.file_name, folder)}"

    def all_files_of(self, partition: bytes, bucket: int, file: DataFileMeta) -> list[str]:
        """The data file and the extra files beside it."""
        return all_files_in(self.bucket_folder(partition, bucket), file)


def all_files_in(bucket_folder: str, file: DataFileMeta) -> list[str]:
    """As `TablePaths.all_files_of`, where the folder of many files is asked for once."""
    path = file.external_path or f"{bucket_folder}/{stored_name(file.file_name, bucket_folder)}"
    if not file.extra_files:
        return [path]
    folder = path.rsplit("/", 1)[0]
    return [path, *(f"{folder}/{stored_name(name, folder)}" for name in file.extra_files)]


@lru_cache(maxsize=1 << 12)
def _spec_items(
    partition: bytes, fields: tuple[DataField, ...], default_name: str, legacy: bool, zone: str
) -> tuple[tuple[str, str], ...]:
    """What `partition_spec` gives for a serialized row: asked for each file, of which partitions have many."""
    values = parse_row(partition, [field.type for field in fields])
    return tuple(partition_spec(values, fields, default_name, legacy, zone).items())


@lru_cache(maxsize=1 << 12)
def _partition_value(
    row: bytes, fields: tuple[DataField, ...], default_name: str, legacy: bool, zone: str
) -> PartitionValue:
    values = parse_row(row, [field.type for field in fields])
    texts = [
        shown_text(value, text, field.type, default_name, None if legacy else zone)
        for field, value, text in zip(fields, values, value_texts(values, fields, legacy, zone), strict=True)
    ]
    return PartitionValue(fields, row, texts)


def partition_text_of(spec: Mapping[str, str]) -> str:
    """A partition as reports show it: ``month=1/day=2``, or that it is the whole table, where there are none."""
    return "/".join(f"{name}={text}" for name, text in spec.items()) or WHOLE_TABLE


def bucket_text(partition: object, bucket: int) -> str:
    """A bucket as reports show it: ``day=1 bucket 0``, or ``bucket 0`` where there are no partitions.

    Args: `partition`: as it is shown to people, or what is shown so.
    """
    text = str(partition)
    return f"bucket {bucket}" if text == WHOLE_TABLE else f"{text} bucket {bucket}"


def matches_spec(spec: Mapping[str, str], specs: Sequence[Mapping[str, str]]) -> bool:
    """Whether a partition is one of those wanted; a wanted spec may name some of the columns only."""
    return any(all(spec.get(name) == text for name, text in choice.items()) for choice in specs)
