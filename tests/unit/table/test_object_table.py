"""Object tables: the files of a folder as rows, and their bytes."""

from pathlib import Path

import pytest

from maintenance.catalog import ObjectTable, Schema, open_catalog
from maintenance.errors import DataError, NotFoundError, PaimonError, UnsupportedError
from maintenance.operations import compact, create_tag
from maintenance.sql import Session


def jdbc(folder: Path) -> dict[str, str]:
    """Options of a catalog."""
    return {"metastore": "jdbc", "uri": f"jdbc:sqlite:{folder}/catalog.db", "warehouse": f"{folder}/warehouse"}


@pytest.fixture
def table(tmp_path: Path) -> ObjectTable:
    options = {
        "metastore": "jdbc",
        "uri": f"jdbc:sqlite:{tmp_path}/catalog.db",
        "warehouse": str(tmp_path / "warehouse"),
    }
    catalog = open_catalog(options)
    catalog.create_database("db")
    folder = tmp_path / "files"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"hello")
    (folder / "sub" / "b.bin").write_bytes(bytes(range(256)))
    catalog.create_table("db.o", Schema([], options={"type": "object-table", "path": str(folder)}))
    actual = catalog.get_table("db.o")
    assert isinstance(actual, ObjectTable)
    return actual


def test_bytes_of_objects_are_read_whole_or_in_part(table: ObjectTable) -> None:
    paths = table.to_arrow(["path"])["path"].to_pylist()
    assert paths == ["a.txt", "sub/b.bin"]
    assert [len(table.read_object(path)) for path in paths] == table.to_arrow(["length"])["length"].to_pylist()
    assert table.read_object("a.txt") == b"hello"
    assert table.read_object("sub/b.bin", offset=250) == bytes(range(250, 256))
    assert table.read_object("sub/b.bin", 10, 3) == bytes((10, 11, 12))
    assert table.read_object("a.txt", 99) == b""
    with table.open_object("sub/b.bin") as file:
        file.seek(100)
        assert (file.read(2), file.tell(), file.size()) == (b"de", 102, 256)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../catalog.db", "sub/../../catalog.db", "./a.txt"])
def test_no_path_leads_out_of_the_folder(table: ObjectTable, path: str) -> None:
    with pytest.raises(DataError, match="no path of an object"):
        table.read_object(path)


def test_objects_that_are_not_there(table: ObjectTable) -> None:
    with pytest.raises(NotFoundError, match=r"object 'c.txt' does not exist"):
        table.read_object("c.txt")
    with pytest.raises(PaimonError):
        table.read_object("sub")
    with pytest.raises(DataError, match="of 0 or more"):
        table.read_object("a.txt", -1)


def test_there_is_no_other_state_to_read(table: ObjectTable, tmp_path: Path) -> None:
    assert table.to_arrow(options={"scan.snapshot-id": "1"}) == table.to_arrow()
    with pytest.raises(NotFoundError, match=r"'scan.snapshot-id' = '2': an object table has one state"):
        table.to_arrow(options={"scan.snapshot-id": "2"})
    with pytest.raises(UnsupportedError, match=r"does not take the option 'scan.tag-name'"):
        table.to_arrow(options={"scan.tag-name": "1"})
    options = {
        "metastore": "jdbc",
        "uri": f"jdbc:sqlite:{tmp_path}/catalog.db",
        "warehouse": str(tmp_path / "warehouse"),
    }
    session = Session(options)
    for time_travel in ("/*+ OPTIONS('scan.snapshot-id' = '{}') */", "VERSION AS OF {}"):
        rows = session.sql(f"SELECT * FROM db.o {time_travel.format(1)}").to_arrow()
        assert rows == session.sql("SELECT * FROM db.o").to_arrow()
        with pytest.raises(PaimonError, match="an object table has one state"):
            session.sql(f"SELECT * FROM db.o {time_travel.format(2)}")
    with pytest.raises(PaimonError, match="an object table does not take the option 'scan"):
        session.sql("SELECT * FROM db.o TIMESTAMP AS OF '2024-01-01 00:00:00'")
    for name in ("o$snapshots", "o$nonsense", "o$branch_b"):
        with pytest.raises(PaimonError, match="does not exist"):
            session.sql(f"SELECT * FROM `db`.`{name}`")
    for statement in ("INSERT INTO db.o VALUES (1)", "TRUNCATE TABLE db.o", "DELETE FROM db.o", "SHOW PARTITIONS db.o"):
        with pytest.raises(PaimonError, match="is an object table"):
            session.sql(statement)
    assert session.sql("DESCRIBE db.o").to_arrow().num_rows == 6


def test_operations_name_the_kind_of_the_table(table: ObjectTable) -> None:
    with pytest.raises(UnsupportedError, match=r"'db.o' is an object table"):
        compact(None, table)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=r"'db.o' is an object table"):
        create_tag(table, "t")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=r"'db.o' is an object table.*it has no 'latest_snapshot'"):
        _ = table.latest_snapshot  # type: ignore[attr-defined]
