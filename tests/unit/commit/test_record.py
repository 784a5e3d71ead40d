"""What a catalog that keeps nothing of a table says."""

from maintenance.commit.record import FILES_ALONE
from maintenance.metadata.paths import TablePaths


def test_a_catalog_of_files_alone_keeps_nothing() -> None:
    assert not FILES_ALONE.keeps_partitions
    assert not FILES_ALONE.create_branch("b", None)
    assert not FILES_ALONE.delete_branch("b")
    FILES_ALONE.committed(TablePaths("/t"), [])
    FILES_ALONE.tag_created("t")
    FILES_ALONE.tag_deleted("t")
    FILES_ALONE.add_partitions([{"p": "1"}])
    FILES_ALONE.mark_partitions_done([{"p": "1"}])
    FILES_ALONE.check_may_move("rollback", "db.t")
