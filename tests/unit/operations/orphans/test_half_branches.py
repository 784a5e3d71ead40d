"""What a process that died has left of a branch, a tag or a schema on a local disk."""

import os
from pathlib import Path

from maintenance.operations import create_branch, create_tag, remove_orphan_files
from tests.small_tables import put, rows, small_table


def test_folders_of_a_creation_and_a_deletion_go_with_their_files(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    create_tag(table, "t")
    create_branch(table, "b", tag="t")
    folder = Path(table.location) / "branch"
    for name in (".1.tmp", ".2.deleted", ".3.tmp", "branch-c"):
        file = folder / name / "schema" / "schema-0"
        file.parent.mkdir(parents=True)
        file.write_text("{}")
        if name != ".3.tmp":
            os.utime(file, (0, 0))
            os.utime(folder / name, (0, 0))
    (folder / "branch-c/schema/schema-0").write_bytes((folder / "branch-b/schema/schema-0").read_bytes())
    dry = remove_orphan_files(None, table, dry_run=True)
    assert sorted(orphan.path.rpartition("/branch/")[2] for orphan in dry.orphans) == [
        ".1.tmp/schema/schema-0",
        ".2.deleted/schema/schema-0",
    ]
    assert remove_orphan_files(None, table).deleted_files == 2
    assert sorted(os.listdir(folder)) == [".3.tmp", "branch-b", "branch-c"]
    assert rows(table.on_branch("b")) == [(1, "a")]


def test_of_tags_and_schemas_only_what_got_no_name_goes(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    create_tag(table, "t")
    root = Path(table.location)
    (root / "consumer").mkdir()
    (root / "consumer/consumer-c").write_text('{"nextSnapshot": 1}')
    left = [root / "tag/.tag-x.1.tmp", root / "schema/.schema-1.2.tmp", root / "consumer/.consumer-c.3.tmp"]
    for path in left:
        path.write_text("{}")
    for path in (path for path in root.rglob("*") if path.is_file()):
        os.utime(path, (0, 0))
    (root / "tag/.tag-young.4.tmp").write_text("{}")
    assert {orphan.path for orphan in remove_orphan_files(None, table, dry_run=True).orphans} == set(map(str, left))
    assert remove_orphan_files(None, table).deleted_files == 3
    assert (table.tags.names(), table.schemas.list_ids(), rows(table)) == (["t"], [0], [(1, "a")])
    assert sorted(path.name for path in root.rglob("*.tmp")) == [".tag-young.4.tmp"]
    assert (root / "consumer/consumer-c").exists()
