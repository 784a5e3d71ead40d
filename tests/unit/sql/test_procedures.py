"""Every procedure of Paimon is one here, or is refused with the reason."""

from pathlib import Path
from typing import Literal

import pytest

from maintenance.errors import SqlError, UnsupportedError
from maintenance.sql import Session
from maintenance.sql.procedures.refused import REFUSED
from maintenance.sql.procedures.registry import PROCEDURES

PAIMONS = frozenset(
    [
        "alter_column_default_value",
        "alter_function",
        "alter_view_dialect",
        "clear_consumers",
        "clone",
        "compact",
        "compact_chain_table",
        "compact_database",
        "compact_manifest",
        "copy",
        "copy_files",
        "create_branch",
        "create_function",
        "create_global_index",
        "create_tag",
        "create_tag_from_timestamp",
        "create_tag_from_watermark",
        "data_evolution_merge_into",
        "delete_branch",
        "delete_tag",
        "drop_function",
        "drop_global_index",
        "drop_partition",
        "expire_changelogs",
        "expire_partitions",
        "expire_snapshots",
        "expire_tags",
        "fast_forward",
        "full_text_search",
        "mark_partition_done",
        "materialize_deletion_vectors",
        "merge_branch",
        "merge_into",
        "migrate_database",
        "migrate_file",
        "migrate_table",
        "purge_files",
        "query_service",
        "reassign_row_id",
        "remove_orphan_files",
        "remove_unexisting_files",
        "remove_unexisting_manifests",
        "rename_branch",
        "rename_tag",
        "repair",
        "repair_earliest_snapshot",
        "replace_tag",
        "rescale",
        "reset_consumer",
        "rewrite_file_index",
        "rollback",
        "rollback_to",
        "rollback_to_as_latest",
        "rollback_to_timestamp",
        "rollback_to_watermark",
        "trigger_tag_automatic_creation",
        "vector_search",
    ]
)


def test_all_are_known() -> None:
    assert not PAIMONS - set(PROCEDURES) - set(REFUSED)
    assert not set(PROCEDURES) & set(REFUSED)
    assert set(REFUSED) <= PAIMONS


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_refused_ones_say_why(tmp_path: Path, dialect: Literal["flink", "spark"]) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect=dialect)
    for name, (reason, instead) in REFUSED.items():
        with pytest.raises(SqlError) as caught:
            session.sql(f"CALL sys.{name}('default.t', 'x')")
        assert isinstance(caught.value, UnsupportedError)
        assert (caught.value.line, caught.value.column) == (1, 10)
        assert reason in str(caught.value)
        assert instead in str(caught.value)


def test_a_column_gets_a_default(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (a INT, b STRING)")
    session.sql("CALL sys.alter_column_default_value('default.t', 'b', 'x')")
    session.sql("INSERT INTO t (a) VALUES (1)")
    assert session.sql("SELECT * FROM t").to_arrow().to_pylist() == [{"a": 1, "b": "x"}]
