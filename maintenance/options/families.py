"""Options that many keys share, because a column, an index or another name stands in the middle of them.

Source: Java `CoreOptions`, `FileIndexOptions`; Flink's materialized tables.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from maintenance.options.formats import (
    AVRO_HONOURED,
    MOSAIC_HONOURED,
    ORC_HARMLESS,
    ORC_HONOURED,
    PARQUET_HARMLESS,
    PARQUET_HONOURED,
)
from maintenance.options.state import ALWAYS, HONOURED, WRITES, Harmless, Refused, State, only, refusal_of


@dataclass(frozen=True, slots=True)
class Family:
    """Attributes: `pattern`: such as ``fields.<column>.stats-mode``."""

    pattern: str
    state: State

    def names(self, key: str) -> bool:
        """Whether it is a key of this family."""
        start, opened, rest = self.pattern.partition("<")
        if not opened:
            return key == self.pattern
        end = rest.rpartition(">")[2]
        return len(key) > len(start) + len(end) and key.startswith(start) and key.endswith(end)

    @property
    def option(self) -> str:
        """What stands behind the last name: the option of a column, for one of many columns."""
        return self.pattern.rpartition(">.")[2]


_OTHER = ".<other>"


def _of_columns(names: Iterable[str], state: State = HONOURED) -> tuple[Family, ...]:
    return tuple(Family(f"fields.<column>.{name}", state) for name in names)


def _of_format(name: str, honoured: Iterable[str], harmless: Iterable[str] = ()) -> tuple[Family, ...]:
    why = Harmless("How much a writer gathers before it looks at sizes, and what only readers look at.")
    return (
        *(Family(f"{name}.{key}", HONOURED) for key in honoured),
        *(Family(f"{name}.{key}", why) for key in harmless),
        Family(f"{name}{_OTHER}", Refused("the writer of this format does not know it", by=WRITES)),
    )


OF_COLUMNS = "fields."
FAMILIES: tuple[Family, ...] = (
    *_of_columns(
        (
            "aggregate-function", "ignore-retract", "nested-key", "nested-key-null-strategy", "nested-sequence-field",
            "count-limit", "distinct", "list-agg-delimiter", "ts-field", "sequence-group", "default-value",
            "stats-mode",
        )
    ),
    Family("fields.default-aggregate-function", HONOURED),
    Family("primary-key", HONOURED),
    Family("partition", HONOURED),
    *_of_columns(
        ("map.storage-layout",),
        Refused("maps whose keys are columns of the file are not read or written here", only("default"), ALWAYS),
    ),
    *_of_columns(
        ("map.shared-shredding.max-columns", "map.shared-shredding.column-placement-policy"),
        Harmless("For `map.storage-layout` = `shared-shredding`, which is refused."),
    ),
    *_of_columns(
        ("pk-btree.index.options", "pk-bitmap.index.options"),
        Harmless("How Java builds and compresses the index; what it finds is the same."),
    ),
    *_of_columns(
        ("pk-vector.index.options", "pk-full-text.index.options"),
        Harmless("For `pk-vector.index.columns` and `pk-full-text.index.columns`, which are refused."),
    ),
    Family("file-index.<kind>.columns", HONOURED),
    Family("file-index.<kind>.<column>.<option>", HONOURED),
    Family("commit.callback.<name>.param", HONOURED),
    Family("tag.callback.<name>.param", HONOURED),
    Family("partition.fields.<column>.date-formatter", HONOURED),
    Family(
        "blob-descriptor.<option>",
        Refused("what descriptors name is read with the settings of the catalog"),
    ),
    Family("lumina.<option>", Harmless("For indexes of vectors, which only Paimon's own jobs build.")),
    *_of_format("parquet", PARQUET_HONOURED, PARQUET_HARMLESS),
    *_of_format("orc", ORC_HONOURED, ORC_HARMLESS),
    *_of_format("avro", AVRO_HONOURED),
    *_of_format("mosaic", MOSAIC_HONOURED),
)  # fmt: skip


def family_state(key: str) -> State | None:
    """What becomes of a key that belongs to a family; None: it is of none."""
    return next((family.state for family in FAMILIES if family.names(key)), None)


def is_of_others(key: str) -> bool:
    """Whether a key has the prefix of a file format, and its writer does not know the rest."""
    return next((family.pattern.endswith(_OTHER) for family in FAMILIES if family.names(key)), False)


def family_refusal(key: str) -> Refused | None:
    """Which values of such a key are refused, if any are."""
    return refusal_of(family_state(key))
