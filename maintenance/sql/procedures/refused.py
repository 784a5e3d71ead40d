"""Procedures of Paimon that this engine does not have: why, and what to do instead.

Source: Java `SparkProcedures`, the factories of `paimon-flink`.
"""

from collections.abc import Mapping

_GLOBAL_INDEX = (
    "indexes of vectors and full text are kept by maintenance here, and not searched",
    "Run it in Flink or Spark, or with pypaimon.",
)
_FUNCTION = ("functions of a catalog are not kept here", "Create it through Spark or Flink.")
_MIGRATE = (
    "tables are migrated one by one here, each with all of its files",
    "Use CALL sys.migrate_table for each table.",
)
_ROW_IDS = ("row ids are given by commits alone here", "Run it in Spark or Flink.")

REFUSED: Mapping[str, tuple[str, str]] = {
    "vector_search": _GLOBAL_INDEX,
    "full_text_search": _GLOBAL_INDEX,
    "create_function": _FUNCTION,
    "alter_function": _FUNCTION,
    "drop_function": _FUNCTION,
    "migrate_file": _MIGRATE,
    "reassign_row_id": _ROW_IDS,
    "data_evolution_merge_into": (
        "single columns are not written into files of their own by a procedure here",
        "Write MERGE INTO.",
    ),
    "merge_into": ("a merge is a statement here, not a procedure", "Write MERGE INTO … USING … ON …."),
    "copy": ("its files are copied by another procedure here", "Use CALL sys.clone."),
    "copy_files": ("its files are copied by another procedure here", "Use CALL sys.clone."),
    "materialize_deletion_vectors": (
        "deletion vectors are applied by a full compaction",
        "Use CALL sys.compact with compact_strategy => 'full'.",
    ),
    "query_service": ("a lookup server needs a running Flink job", "Run it in Flink."),
}
