"""What a person can set for each step in the Launchpad. Every default is what the schedule and the sensor use."""

import dagster as dg
from pydantic import Field


class IngestConfig(dg.Config):
    """Ingestion of landed micro-batches."""

    limit: int | None = Field(default=None, ge=1, description="At most so many micro-batches; empty: all that landed.")
    committed: int | None = Field(
        default=None,
        description="Number of the last batch in the table. Only needed when the snapshots that tell have expired.",
    )


class CompactConfig(dg.Config):
    """Dedicated compaction."""

    full: bool = Field(default=False, description="Merge every bucket into its top level, whatever its sorted runs.")
    partitions: list[dict[str, str]] = Field(default=[], description="Only these, e.g. [{month: '7'}]; empty: all.")
    where: str | None = Field(default=None, description="Only partitions that match, in Spark SQL, e.g. month = 7.")
    partition_idle_time: str | None = Field(
        default=None, description="Only partitions that were not written to for so long, e.g. 1 h."
    )
    order_strategy: str = Field(
        default="none", description="Sort an append table: order, zorder or hilbert; none: leave the rows as they are."
    )
    order_by: list[str] = Field(default=[], description="Columns to sort by.")
    groups_per_commit: int | None = Field(
        default=None, ge=1, description="Commit after so many buckets; empty: all in one snapshot."
    )
    max_retries: int = Field(
        default=5, ge=0, description="How often a group that lost against a writer is planned anew."
    )
    dry_run: bool = Field(default=False, description="Only tell what would be merged, and keep it as a plan.")
    plan_id: str | None = Field(default=None, description="Do what this plan of a dry run says, or refuse.")


class PartitionCompactConfig(dg.Config):
    """Compaction of partitions."""

    max_retries: int = Field(
        default=5, ge=0, description="How often a group that lost against a writer is planned anew."
    )


class ChangelogConfig(dg.Config):
    """Changelog production."""

    dry_run: bool = Field(default=False, description="Only tell which buckets lack a changelog.")


class AuditConfig(dg.Config):
    """Audit of a changelog."""

    start: int | None = Field(default=None, ge=0, description="Snapshot to start from; empty: the earliest; 0: none.")
    end: int | None = Field(default=None, ge=1, description="Snapshot to go up to; empty: the newest.")


class FsckConfig(dg.Config):
    """Examination of a table's files."""

    deep: bool = Field(default=False, description="Read every data file to its last row, in Spark tasks.")


class FileIndexConfig(dg.Config):
    """Rewriting of file indexes."""

    where: str | None = Field(default=None, description="Only partitions that match, in Spark SQL, e.g. month = 7.")
    rebuild: bool = Field(default=False, description="Build also the indexes that are there as declared.")
    dry_run: bool = Field(default=False, description="Only tell which files lack an index.")


class TagConfig(dg.Config):
    """Creation of a tag."""

    name: str | None = Field(
        default=None, description="Empty: as tables.yaml says. {date} and {snapshot} are filled in."
    )
    snapshot_id: int | None = Field(default=None, description="Empty: the newest snapshot.")
    time_retained: str | None = Field(default=None, description="For example 90 d. Empty: as tables.yaml says.")


class ExpireSnapshotsConfig(dg.Config):
    """Expiry of snapshots. What is left empty comes from the table's options."""

    retain_max: int | None = Field(default=None, ge=1, description="Keep at most so many.")
    retain_min: int | None = Field(default=None, ge=1, description="Keep at least so many.")
    older_than: str | None = Field(default=None, description="Only older ones: ISO 8601 with an offset.")
    max_deletes: int | None = Field(default=None, ge=1, description="Expire at most so many in this run.")
    dry_run: bool = Field(default=False, description="Only list what would be deleted, and keep it as a plan.")
    plan_id: str | None = Field(default=None, description="Do what this plan of a dry run says, or refuse.")


class ExpireTagsConfig(dg.Config):
    """Expiry of tags whose time is over."""

    older_than: str | None = Field(default=None, description="Also those created before: ISO 8601 with an offset.")
    dry_run: bool = Field(default=False, description="Only list what would be deleted.")
