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
_PRIVILEGES = ("users and their privileges are not kept here", "Let the store or the REST server say who may do what.")
_ROW_IDS = ("row ids are given by commits alone here", "Run it in Spark or Flink.")

REFUSED: Mapping[str, tuple[str, str]] = {
    "vector_search": _GLOBAL_INDEX,
    "full_text_search": _GLOBAL_INDEX,
    "create_function": _FUNCTION,
    "alter_function": _FUNCTION,
    "drop_function": _FUNCTION,
    "migrate_file": _MIGRATE,
    "reassign_row_id": _ROW_IDS,
    "copy_files": ("its files are copied by another procedure here", "Use CALL sys.clone."),
    "materialize_deletion_vectors": (
        "deletion vectors are applied by a full compaction",
        "Use CALL sys.compact with compact_strategy => 'full'.",
    ),
    **dict.fromkeys(
        (
            "init_file_based_privilege",
            "create_privileged_user",
            "drop_privileged_user",
            "grant_privilege_to_user",
            "revoke_privilege_from_user",
        ),
        _PRIVILEGES,
    ),
    "query_service": ("a lookup server needs a running Flink job", "Run it in Flink."),
}
