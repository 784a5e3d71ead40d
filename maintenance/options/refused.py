"""Options of Paimon that mean something this engine does not do: values that change anything are refused by name.

Source: Java `CoreOptions`, the options of Flink's and Spark's connectors, and of Paimon's file formats.
"""

from typing import Any

from maintenance.options.option import Option, boolean, duration, names, number, one_of, string
from maintenance.options.state import ALWAYS, OFF, ON, READS, WRITES, Refused, only

_CLASS_OF_JAVA = "it names a class of Java, which cannot run here"
_EXACT = "reads here return all rows or fail"
_EVOLVES = Refused(
    "a table's options change no columns; use ALTER TABLE first, or SET spark.paimon.write.merge-schema in Spark's SQL",
    OFF,
)

REFUSED: tuple[Option[Any], ...] = (
    Option("query-auth.enabled", boolean, False, state=Refused("no server is asked what a user may see", OFF, ALWAYS)),
    Option("scan.ignore-corrupt-files", boolean, False, state=Refused(_EXACT, OFF, READS)),
    Option("scan.ignore-lost-files", boolean, False, state=Refused(_EXACT, OFF, READS)),
    Option(
        "scan.plan-auto-tag-for-read.time-retained",
        duration,
        None,
        state=Refused("reads here create no tags; a read whose snapshot expires starts again", by=READS),
    ),
    Option("read.allow.fullScan", boolean, True, state=Refused("reads here may always read all partitions", ON)),
    Option(
        "stream-scan-mode",
        one_of("none", "compact-bucket-table", "file-monitor"),
        "none",
        state=Refused("it is for the jobs that Paimon starts itself", only("none")),
    ),
    Option(
        "legacy-timestamp-mapping.enabled",
        boolean,
        False,
        state=Refused("TIMESTAMP is TIMESTAMP_NTZ in Spark, and TIMESTAMP_LTZ its TIMESTAMP", OFF),
    ),
    Option("write.merge-schema", boolean, False, state=_EVOLVES),
    Option("write.merge-schema.type-widening", boolean, False, state=_EVOLVES),
    Option("write.merge-schema.explicit-cast", boolean, False, state=_EVOLVES),
    Option(
        "postpone.batch-write-fixed-bucket.rescale-load-factor",
        number,
        None,
        state=Refused("writes here do not change the number of buckets that a partition has", by=WRITES),
    ),
    Option("pk-vector.index.columns", names, (), state=Refused("indexes of vectors are not built here", by=WRITES)),
    Option("pk-multivalue.index.columns", names, (), state=Refused("indexes of arrays are not built here", by=WRITES)),
    Option("pk-full-text.index.columns", names, (), state=Refused("indexes of texts are not built here", by=WRITES)),
    Option(
        "orc.column.encoding.direct",
        string,
        None,
        state=Refused("Arrow's writer chooses the encoding of all columns alike", by=WRITES),
    ),
    Option("commit.custom-listeners", names, (), state=Refused(f"{_CLASS_OF_JAVA}; use 'commit.callbacks'", only(""))),
    Option("partition.mark-done-action.custom.class", string, None, state=Refused(_CLASS_OF_JAVA)),
    Option(
        "format-table.commit-hive-sync-url",
        string,
        None,
        state=Refused("partitions are registered in the catalog that the table is in, and in no other"),
    ),
    Option("json.ignore-parse-errors", boolean, False, state=Refused(_EXACT, OFF)),
    Option(
        "json.map-null-key-mode",
        one_of("fail", "drop", "literal"),
        "fail",
        state=Refused("a MAP with a null key cannot be written as JSON here", only("fail")),
    ),
)
