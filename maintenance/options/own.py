"""This project's own options, besides Paimon's. A table may have them: Paimon's readers and writers ignore them."""

from maintenance.options.option import Option, boolean, one_of, string

COMPACTION_PROOF = Option("paimon-maintenance.compaction.proof", one_of("auto", "full", "sampled", "off"), "auto")
BESIDE_OTHER_COMPACTORS = Option("paimon-maintenance.compaction.beside-other-compactors", boolean, default=False)
EXTERNAL_PATHS_EXCLUSIVE = Option("paimon-maintenance.external-paths.exclusive", boolean, default=False)
MATERIALIZED_TABLE_DIALECT = Option("paimon-maintenance.materialized-table.dialect", one_of("flink", "spark"), "flink")
"""In which dialect a materialized table's query is written; Paimon's own are in Flink's."""
MATERIALIZED_TABLE_ZONE = Option("paimon-maintenance.materialized-table.time-zone", string, None)
"""The time zone in which a materialized table's query is evaluated: that of the session which defined it."""
