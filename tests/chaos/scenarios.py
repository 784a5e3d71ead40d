"""The tables that a campaign attacks, and who works on them. What does not change the rows is drawn by the seed."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from maintenance.catalog import CatalogTable, Schema, open_catalog
from tests.chaos.workload import Workload

TABLE = "db.t"

_EVERY_COMMIT_COUNTS = {
    "write-only": "true",
    "commit.max-retries": "40",
    "commit.max-retry-wait": "300 ms",
    "snapshot.time-retained": "1 s",
    "snapshot.num-retained.min": "1",
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A table, and what is done to it.

    Attributes:
        hides_level_0: readers do not see level 0, so that rows show once they are compacted.
        inline: the second writer compacts what it writes.
        produces: the compactor produces a changelog, which is audited and followed.
        java_compacts: the Java core compacts, too.
        compactors, expirers: processes of ours that compact and expire.
    """

    name: str
    workload: Workload
    options: Mapping[str, str]
    read_options: Mapping[str, str] = field(default_factory=dict)
    hides_level_0: bool = False
    inline: bool = False
    produces: bool = False
    java_compacts: bool = False
    compactors: int = 1
    expirers: int = 1

    @property
    def columns(self) -> tuple[str, ...]:
        return ("p", "id", *self.workload.columns)

    def create(self, folder: Path) -> CatalogTable:
        """The new table in a new warehouse."""
        catalog = open_catalog({"warehouse": str(folder)})
        catalog.create_database("db", ignore_if_exists=True)
        fields = [("p", "STRING NOT NULL"), ("id", "BIGINT NOT NULL"), *((c, "STRING") for c in self.workload.columns)]
        keys = ("p", "id") if self.workload.keyed else ()
        catalog.create_table(TABLE, Schema(fields, keys, ("p",), dict(self.options)))
        return open_table(folder)


def open_table(folder: Path) -> CatalogTable:
    """The table, opened again."""
    table = open_catalog({"warehouse": str(folder)}).get_table(TABLE)
    assert isinstance(table, CatalogTable)
    return table


# Nothing; a changelog of one producer; deletion vectors; a sequence field in which all rows are equal.
_KINDS = ("plain", "input", "lookup", "full-compaction", "vectors", "vectors", "sequence")


def _common(dice: random.Random) -> dict[str, str]:
    return {
        **_EVERY_COMMIT_COUNTS,
        # Java 1.4, which takes part, reads no files of format row.
        "file.format": dice.choice(("parquet", "orc", "avro")),
        "manifest.merge-min-count": dice.choice(("2", "4", "30")),
        "manifest.target-file-size": dice.choice(("2 kb", "8 mb")),
        "target-file-size": dice.choice(("4 kb", "128 mb")),
    }


def _keyed(dice: random.Random) -> dict[str, str]:
    return {**_common(dice), "num-sorted-run.compaction-trigger": dice.choice(("2", "3", "5"))}


def deduplicate(seed: int) -> Scenario:
    """The last row of a key counts. The seed draws what the table has besides: see `_KINDS`."""
    dice = random.Random(f"{seed} deduplicate")
    kind = dice.choice(_KINDS)
    plain = kind in ("plain", "input", "sequence")
    produces = kind in ("lookup", "full-compaction")
    options: dict[str, str] = {}
    if kind in ("input", "lookup", "full-compaction"):
        options["changelog-producer"] = kind
    elif kind == "vectors":
        options["deletion-vectors.enabled"] = "true"
    elif kind == "sequence":
        options["sequence.field"] = "w"
    return Scenario(
        "deduplicate",
        # Overwrites are not in a changelog.
        Workload(seed, ("v", "w"), overwrites=0.0 if produces else 0.04, constant=("w",) if kind == "sequence" else ()),
        {**_keyed(dice), "bucket": "2", **options},
        hides_level_0=kind == "vectors",
        inline=plain and dice.random() < 0.5,
        produces=produces,
        java_compacts=plain and dice.random() < 0.5,
        compactors=dice.choice((1, 2)),
        expirers=dice.choice((1, 2)),
    )


def append(seed: int) -> Scenario:
    """Rows without a key, deleted and updated by deletion vectors."""
    dice = random.Random(f"{seed} append")
    buckets = dice.choice(({"bucket": "-1"}, {"bucket": "2", "bucket-key": "id"}))
    options = {"deletion-vectors.enabled": "true", "compaction.min.file-num": dice.choice(("2", "4")), **buckets}
    return Scenario(
        "append",
        Workload(seed, ("v",), keyed=False, overwrites=0.03, changes=0.35),
        {**_common(dice), **options},
        compactors=dice.choice((1, 2)),
        expirers=dice.choice((1, 2)),
    )


def dynamic(seed: int) -> Scenario:
    """Keys get their buckets when they come; Java has a partition of its own, since its writers share none."""
    dice = random.Random(f"{seed} dynamic")
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": dice.choice(("5", "20")), "changelog-producer": "none"}
    return Scenario(
        "dynamic",
        Workload(seed, ("v",), overwrites=0.03, java_partition="j"),
        {**_keyed(dice), **options},
        java_compacts=dice.random() < 0.5,
        expirers=dice.choice((1, 2)),
    )


def partial_update(seed: int) -> Scenario:
    """Each writer has a column of its own and one that all share; a changelog by lookup is audited and followed."""
    dice = random.Random(f"{seed} partial-update")
    options = {
        "bucket": "2",
        "merge-engine": "partial-update",
        "partial-update.remove-record-on-delete": "true",
        "changelog-producer": "lookup",
    }
    columns = {"w1": ("a", "c"), "w2": ("b", "c"), "java": ("a", "b", "c")}
    return Scenario(
        "partial-update",
        Workload(seed, ("a", "b", "c"), partial=columns),
        {**_keyed(dice), **options},
        produces=True,
        compactors=dice.choice((1, 2)),
    )


def postpone(seed: int) -> Scenario:
    """Some commits wait in the postpone bucket, the others go straight into real buckets."""
    dice = random.Random(f"{seed} postpone")
    options = {"bucket": "-2", "postpone.default-bucket-num": "2"}
    return Scenario(
        "postpone",
        Workload(seed, ("v", "w"), waiting=0.5, overwrites=0.03),
        {**_keyed(dice), **options},
        compactors=dice.choice((1, 2)),
    )


SCENARIOS = {
    "deduplicate": deduplicate,
    "append": append,
    "dynamic": dynamic,
    "partial-update": partial_update,
    "postpone": postpone,
}
