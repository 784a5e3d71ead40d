"""What a person can set for each step in the Launchpad. Every default is what the schedule and the sensor use."""

import dagster as dg
from pydantic import Field

from maintenance.errors import OptionError


def chosen_plan(config: dg.Config, *allowed: str) -> str | None:
    """The plan to carry out, if one is named. Raises: OptionError: something else is set, too; the plan says it all.

    `allowed`: what may be set all the same.
    """
    values = {name: value for name, value in config.model_dump().items() if name not in allowed}
    plan_id: str | None = values.pop("plan_id", None)
    fields = type(config).model_fields
    others = [name for name, value in values.items() if value != fields[name].default]
    if plan_id and others:
        problem = f"'{others[0]}' is set together with 'plan_id'"
        raise OptionError(problem, f"plan {plan_id}", "A plan needs no other settings: leave them out.")
    return plan_id


class CompactManyConfig(dg.Config):
    """Compaction of many tables in one run."""

    tables: list[str] = Field(default=["*.*"], description="Patterns such as sales.*, of the tables that Dagster has.")
    without: list[str] = Field(default=[], description="Patterns of tables to leave out.")
    full: bool = Field(default=False, description="Merge every bucket into its top level, whatever its sorted runs.")
    partition_idle_time: str | None = Field(
        default=None, description="Only partitions that were not written to for this long, e.g. 1 h."
    )
    max_concurrent: int = Field(default=2, ge=1, description="Tables at a time, all in one Spark.")
    proof: str | None = Field(
        default=None, description="As for a single compaction; empty: as tables.yaml says for each table."
    )
    dry_run: bool = Field(default=False, description="Only show what would be merged, and keep it as a plan.")
    plan_id: str | None = Field(default=None, description="Do what this plan of a dry run says, or refuse.")


class PartitionCompactConfig(dg.Config):
    """Compaction of partitions."""

    max_retries: int = Field(
        default=5, ge=0, description="How often a group that lost against a writer is planned again."
    )


class AuditConfig(dg.Config):
    """Audit of a changelog."""

    start: int | None = Field(default=None, ge=0, description="Snapshot to start from; empty: the earliest; 0: none.")
    end: int | None = Field(default=None, ge=1, description="Snapshot to go up to; empty: the newest.")


class FsckConfig(dg.Config):
    """Examination of a table's files."""

    deep: bool = Field(default=False, description="Read every data file to its last row, in Spark tasks.")
