"""A warehouse on HDFS, through a cluster of this test run."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from maintenance.catalog import Schema, open_catalog
from maintenance.errors import StorageAccessError, StorageError
from maintenance.fs import webhdfs
from maintenance.fs.file_io import FileIO
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from tests.servers.hdfs import Hdfs
from tests.servers.relay import Relay, relaying
from tests.tables import KEYED, keyed, state, table_of

pytestmark = pytest.mark.slow


@pytest.fixture
def relay(hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    monkeypatch.setattr(webhdfs, "_WAIT_SECONDS", 0.01)
    with relaying(hdfs.url) as actual:
        yield actual


@pytest.fixture
def root(hdfs: Hdfs) -> str:
    return f"hdfs://{hdfs.rpc}/{hdfs.new_folder()}"


@pytest.mark.parametrize("scheme", ["hdfs", "webhdfs"])
def test_a_life_of_a_table(hdfs: Hdfs, scheme: str) -> None:
    options = hdfs.options(hdfs.new_folder())
    if scheme == "webhdfs":
        address = options.pop("hadoop.dfs.namenode.http-address")
        options["warehouse"] = options["warehouse"].replace(f"hdfs://{hdfs.rpc}", f"webhdfs://{address}")
    catalog = open_catalog(options)
    assert catalog.list_databases() == []
    catalog.create_database("db")
    catalog.create_table("db.t", Schema(KEYED, ["id"], options={"bucket": "1", "write-only": "true"}))
    for number in range(7):
        table_of(catalog).write_arrow(keyed({1: f"a{number}", number: "b"}))
    expected = {1: "a6", **dict.fromkeys((0, 2, 3, 4, 5, 6), "b")}
    assert state(table_of(catalog)) == expected
    compact(None, table_of(catalog), full=True)
    expire_snapshots(table_of(catalog), retain_max=1, retain_min=1)
    assert state(table_of(catalog)) == expected
    table = table_of(catalog)
    assert fsck(table.file_io, table.location).faults == ()
    assert len(table.snapshots.list_ids()) == 1
    hidden = [file for file in table.file_io.list_tree(table.location) if file.name.startswith(".")]
    assert hidden == [], "no file of a publish is left over"
    catalog.rename_table("db.t", "db.u")
    assert state(table_of(catalog, "db.u")) == expected
    catalog.drop_database("db", cascade=True)
    assert catalog.list_databases() == []


def test_only_one_publishes_a_name(hdfs: Hdfs, root: str) -> None:
    file_io = FileIO.of(hdfs.options("x"))

    def publish(number: int) -> bool:
        return file_io.publish(f"{root}/snapshot/snapshot-{number // 8}", f"{number}".encode())

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(publish, range(80)))
    for turn in range(10):
        winners = [8 * turn + number for number, first in enumerate(won[8 * turn : 8 * turn + 8]) if first]
        assert [file_io.read_bytes(f"{root}/snapshot/snapshot-{turn}")] == [f"{winner}".encode() for winner in winners]
    assert len(file_io.list_tree(f"{root}/snapshot")) == 10, "nothing is left over"


@pytest.mark.parametrize(
    "faults",
    [
        {"slow_down": 0.3},
        {"cut_before": 0.3},
        {"cut_after": 0.3},
        {"cut_after": 0.4, "only": "RENAME"},
        {"slow_down": 0.4, "only": "RENAME"},
    ],
    ids=str,
)
def test_what_fails_for_a_moment_is_tried_again(hdfs: Hdfs, relay: Relay, root: str, faults: dict[str, Any]) -> None:
    file_io = FileIO.of(hdfs.behind(relay.url).options("x"))
    with relay.failing(**faults):
        for number in range(6):
            path = f"{root}/snapshot-{number}"
            assert file_io.publish(path, f"{number}".encode())
            assert not file_io.publish(path, b"another")
            assert file_io.publish(path, f"{number}".encode()), "what is there is the same"
            file_io.overwrite(f"{root}/LATEST", f"{number}".encode())
            assert file_io.read_bytes(f"{root}/LATEST") == f"{number}".encode()
            file_io.move_file(path, f"{root}/moved/{number}")
        file_io.rename_folder(f"{root}/moved", f"{root}/again")
        assert sorted(file_io.list_names(f"{root}/again")) == [str(number) for number in range(6)]
        file_io.delete_folder(f"{root}/again")
        file_io.delete_quietly([f"{root}/LATEST"])
        assert relay.failed.total() > 0
    assert file_io.list_tree(root) == []


def test_a_publish_that_never_gets_an_answer(hdfs: Hdfs, relay: Relay, root: str) -> None:
    """Carried out or not, what is there decides, and nothing is published later."""
    file_io, straight = FileIO.of(hdfs.behind(relay.url).options("x")), FileIO.of(hdfs.options("x"))
    with relay.failing(cut_after=1, only="RENAME"):
        assert file_io.publish(f"{root}/snapshot-1", b"1")
    assert straight.read_bytes(f"{root}/snapshot-1") == b"1"
    with relay.failing(cut_before=1, only="RENAME"), pytest.raises(StorageError, match="did not answer a change"):
        file_io.publish(f"{root}/snapshot-2", b"2")
    assert [file.path for file in straight.list_tree(root)] == ["snapshot-1"]


def test_a_listing_of_several_pages_is_whole(hdfs: Hdfs, relay: Relay, root: str) -> None:
    file_io = FileIO.of(hdfs.behind(relay.url).options("x"))
    names = [f"{number:02} +%" for number in range(12)]
    for name in names:
        file_io.write_bytes(f"{root}/f/{name}", b"1")
    relay.reset()
    assert sorted(file_io.list_names(f"{root}/f")) == names
    assert relay.counts == {"LISTSTATUS_BATCH": 3}


@pytest.mark.parametrize("size", [0, 1, 5 << 20, 40 << 20])
def test_files_of_all_sizes(hdfs: Hdfs, root: str, size: int) -> None:
    path, file_io = f"{root}/f", FileIO.of(hdfs.options("x"))
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    with file_io.open_output(path) as sink:
        for start in range(0, size, 3 << 20):
            sink.write(content[start : start + (3 << 20)])
        assert sink.tell() == size
    for known in (size, None):
        with file_io.open_input(path, known) as source:
            assert source.size() == size
            source.seek(size // 2)
            assert source.read(100) == content[size // 2 : size // 2 + 100]
            source.seek(0)
            assert source.read() == content
    assert file_io.read_part(path, size + 1, 5) == (b"", size)


def test_a_user_who_may_not_write(hdfs: Hdfs, root: str) -> None:
    FileIO.of(hdfs.options("x")).make_folder(root)
    stranger = FileIO.of({**hdfs.options("x"), "fs.hdfs.user": "stranger"})
    assert stranger.list_names(root) == []
    writes: list[Callable[[str], object]] = [
        lambda path: stranger.write_bytes(path, b""),
        lambda path: stranger.publish(path, b""),
        stranger.make_folder,
    ]
    for write in writes:
        with pytest.raises(StorageAccessError, match=rf"cannot write: {os.strerror(13)} \(hdfs://"):
            write(f"{root}/new/x")


def test_folders_with_something_in_them_stay(hdfs: Hdfs, root: str) -> None:
    file_io = FileIO.of(hdfs.options("x"))
    file_io.write_bytes(f"{root}/f/x", b"1")
    assert not file_io.delete_empty_folder(f"{root}/f")
    file_io.delete_quietly([f"{root}/f/x"])
    assert file_io.delete_empty_folder(f"{root}/f")
    assert file_io.delete_empty_folder(f"{root}/f")
    assert not file_io.folder_exists(f"{root}/f")
