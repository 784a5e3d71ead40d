"""Storage: one behaviour on local paths and through fsspec, and publishing that only one can win."""

import multiprocessing
import os
import pickle
import tempfile
import uuid
from collections.abc import Iterator
from multiprocessing.queues import Queue
from pathlib import Path

import pytest

from maintenance.errors import NotFoundError, StorageAccessError, StorageError, WriteError
from maintenance.fs.file_io import FileIO

pytestmark = pytest.mark.usefixtures("flushing")

SETTINGS = {"fs.auto_mkdir": "true", "warehouse": "x"}


_WITH_SERVERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("azure", "gcs", "hdfs")]


@pytest.fixture(params=["path", "file-uri", "memory", "local", "s3", *_WITH_SERVERS])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "s3":
        bucket: str = request.getfixturevalue("s3").new_bucket()
        return f"s3://{bucket}/root"
    if request.param == "azure":
        azure = request.getfixturevalue("azure")
        warehouse: str = azure.options(azure.new_container())["warehouse"]
        return warehouse.replace("/wh", "/root")
    if request.param == "gcs":
        return f"gs://{request.getfixturevalue('gcs').new_bucket()}/root"
    if request.param == "hdfs":
        hdfs = request.getfixturevalue("hdfs")
        return f"hdfs://{hdfs.rpc}/{hdfs.new_folder()}/root"
    roots = {
        "path": str(tmp_path),
        "file-uri": f"file:{tmp_path}",
        "memory": f"memory://root-{uuid.uuid4()}",
        "local": f"local://{tmp_path}",
    }
    return roots[request.param]


@pytest.fixture
def io(request: pytest.FixtureRequest) -> FileIO:
    root = str(request.getfixturevalue("root")) if "root" in request.fixturenames else ""
    servers = {"s3": "s3", "abfs": "azure", "gs": "gcs", "hdfs": "hdfs"}
    server = servers.get(root.partition("://")[0])
    return FileIO.of(SETTINGS if server is None else {**SETTINGS, **request.getfixturevalue(server).options("x")})


def test_files_are_written_read_replaced_and_deleted(io: FileIO, root: str) -> None:
    path = f"{root}/a/b/file"
    assert not io.exists(path)
    assert io.size(path) is None
    io.write_bytes(path, b"content")
    assert io.exists(path)
    assert io.read_bytes(path) == b"content"
    assert io.size(path) == 7
    io.overwrite(path, b"new")
    assert io.read_bytes(path) == b"new"
    io.delete_quietly([path, path, f"{root}/never"])
    assert not io.exists(path)
    with pytest.raises(FileNotFoundError):
        io.read_bytes(path)
    with pytest.raises(NotFoundError, match="missing"):
        io.open_input(path)


def test_streams_write_and_read_at_their_positions(io: FileIO, root: str) -> None:
    path = f"{root}/deep/down/file"
    with io.open_output(path) as sink:
        sink.write(b"0123456789")
        assert sink.tell() == 10
    with io.open_input(path) as source:
        source.seek(4)
        assert source.read(3) == b"456"


def test_a_listing_has_the_visible_files_and_folders_of_one_level(io: FileIO, root: str) -> None:
    for name in ("f/b", "f/a", "f/.hidden", "f/sub/c"):
        io.write_bytes(f"{root}/{name}", b"xy")
    files = sorted(io.list_files(f"{root}/f"), key=lambda status: status.name)
    assert [(f.name, f.path, f.size) for f in files] == [("a", f"{root}/f/a", 2), ("b", f"{root}/f/b", 2)]
    assert all(f.mtime_ms > 1_600_000_000_000 for f in files)
    assert sorted(io.list_names(f"{root}/f")) == ["a", "b"]
    assert io.list_folders(f"{root}/f") == ["sub"]
    for missing in (io.list_files, io.list_names, io.list_folders):
        assert missing(f"{root}/none") == []


def test_folders_are_made_renamed_and_deleted_with_their_files(io: FileIO, root: str) -> None:
    assert not io.folder_exists(f"{root}/f")
    io.make_folder(f"{root}/f")
    io.make_folder(f"{root}/f")
    assert io.folder_exists(f"{root}/f")
    io.write_bytes(f"{root}/f/x", b"1")
    io.rename_folder(f"{root}/f", f"{root}/g")
    assert io.read_bytes(f"{root}/g/x") == b"1"
    io.delete_folder(f"{root}/g")
    assert not io.exists(f"{root}/g/x")


def test_publishing_creates_and_never_replaces(io: FileIO, root: str) -> None:
    path = f"{root}/snapshot/snapshot-1"
    assert io.publish(path, b"first")
    assert not io.publish(path, b"second")
    assert io.read_bytes(path) == b"first"
    assert io.list_names(f"{root}/snapshot") == ["snapshot-1"]


def test_nothing_is_published_that_is_no_longer_wanted(io: FileIO, root: str) -> None:
    path = f"{root}/snapshot/snapshot-1"
    with io.stage(path, b"1"):
        assert not io.exists(path)
    assert not io.exists(path)
    assert [status.path for status in io.list_tree(root)] == []


def test_a_publication_that_was_prevented(tmp_path: Path) -> None:
    """Only that of the name: others go on."""
    io, folder = FileIO(), str(tmp_path / "snapshot")

    for number, published in ((1, False), (11, True), (2, True), (3, False)):
        path = f"{folder}/snapshot-{number}"
        with io.stage(path, b"1") as staged:
            io.prevent([f"{folder}/snapshot-1", f"{folder}/snapshot-3"])
            assert staged.publish() == published
    assert sorted(os.listdir(folder)) == ["snapshot-11", "snapshot-2"]


def race(path: str, number: int, ready: "multiprocessing.synchronize.Barrier", results: "Queue[list[int]]") -> None:
    io = FileIO.of(SETTINGS)
    won = []
    for turn in range(30):
        ready.wait()
        if io.publish(f"{path}-{turn}", f"{number}/{turn}".encode() * 1000):
            won.append(turn)
    results.put(won)


def test_only_one_process_publishes_a_name(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    ready, results = fork.Barrier(4), fork.Queue()
    path = str(tmp_path / "snapshot" / "snapshot")
    racers = [fork.Process(target=race, args=(path, number, ready, results)) for number in range(4)]
    for racer in racers:
        racer.start()
    won = [results.get(timeout=60) for _ in racers]
    for racer in racers:
        racer.join()
    assert sorted(turn for turns in won for turn in turns) == list(range(30))
    for turn in range(30):
        content = Path(f"{path}-{turn}").read_bytes()
        assert len(set(content.decode().split(f"/{turn}")[:-1])) == 1, "of one writer, and whole"
    assert not [name for name in (tmp_path / "snapshot").iterdir() if name.name.startswith(".")]


def test_a_name_that_a_folder_has_is_taken(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    assert not FileIO().publish(str(tmp_path / "taken"), b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"], "nothing is left over"


def test_a_file_that_is_just_being_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "snapshot-1"
    path.write_bytes(b"")
    assert FileIO().read_settled(str(path), attempts=2, wait_seconds=0.001) == b""
    path.write_bytes(b'{"a": 1}\n')
    assert FileIO().read_settled(str(path)) == b'{"a": 1}\n'


def test_parts_of_files_are_read_and_changes_are_seen(io: FileIO, root: str) -> None:
    path = f"{root}/file"
    io.write_bytes(path, b"0123456789")
    assert io.read_part(path, 4, 3) == (b"456", 10)
    assert io.read_part(path, 8, 30) == (b"89", 10)
    assert io.read_part(path, 10, 3) == (b"", 10)
    assert io.read_many([path, path]) == [b"0123456789"] * 2
    data, version = io.read_if_changed(path, None)
    assert data == b"0123456789"
    assert io.read_if_changed(path, version)[0] in (None, data if version is None else None)
    io.overwrite(path, b"another")
    assert io.read_if_changed(path, version)[0] == b"another"
    for missing in (io.read_many, lambda paths: io.read_if_changed(paths[0], None)):
        with pytest.raises(FileNotFoundError):
            missing([f"{root}/missing", path])


def test_many_files_are_deleted_and_missing_ones_do_not_matter(io: FileIO, root: str) -> None:
    names = [f"{root}/f/{n} +%" for n in range(5)]
    for name in names:
        io.write_bytes(name, b"x")
    io.delete_unordered([names[0], f"{root}/f/missing", *names[1:4]])
    assert io.list_names(f"{root}/f") == ["4 +%"]


def test_a_tree_has_files_of_all_levels_hidden_ones_too(io: FileIO, root: str) -> None:
    for name in ("f/b", "f/.hidden", "f/sub/c"):
        io.write_bytes(f"{root}/{name}", b"xy")
    assert [(file.path, file.size) for file in io.list_tree(f"{root}/f")] == [(".hidden", 2), ("b", 2), ("sub/c", 2)]
    pages = [file for page in io.tree_pages(f"{root}/f") for file in page]
    assert sorted((file.path, file.size) for file in pages) == [(".hidden", 2), ("b", 2), ("sub/c", 2)]
    assert list(io.tree_pages(f"{root}/none")) == []
    assert io.list_tree(f"{root}/none") == []


def test_settings_stay_through_pickling(io: FileIO) -> None:
    assert io.settings == (("auto_mkdir", "true"),)
    assert pickle.loads(pickle.dumps(io)) == io


def test_folders_are_no_files(tmp_path: Path) -> None:
    """Java keeps success files of tags in `tag/tag-success-file/`, which is not a tag."""
    (tmp_path / "tag-success-file").mkdir()
    (tmp_path / "tag-a").write_bytes(b"{}")
    assert FileIO().list_names(str(tmp_path)) == ["tag-a"]


def test_patterns_in_paths_mean_themselves(io: FileIO, root: str) -> None:
    for name in ("a", "*", "a?", "[a]"):
        io.write_bytes(f"{root}/{name}/sub[1]/x", b"1")
    io.rename_folder(f"{root}/*", f"{root}/z*")
    assert io.list_folders(root) == ["[a]", "a", "a?", "z*"]
    assert io.read_bytes(f"{root}/z*/sub[1]/x") == b"1"
    for name in ("z*", "a?", "[a]"):
        io.delete_folder(f"{root}/{name}")
    io.move_file(f"{root}/a/sub[1]/x", f"{root}/a/*")
    assert io.list_folders(root) == ["a"]
    assert io.list_names(f"{root}/a") == ["*"]


def test_what_the_disk_refuses_is_said_with_the_path(io: FileIO, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    below = f"{tmp_path}/file/x"
    for write in (io.write_bytes, io.publish, io.overwrite):
        with pytest.raises((StorageAccessError, StorageError, WriteError), match=below):
            write(below, b"")
    with pytest.raises(StorageError, match="cannot write"):
        io.open_output(below)
    with pytest.raises(StorageError, match="cannot list: Not a directory"):
        io.list_names(f"{tmp_path}/file")


@pytest.fixture
def read_only() -> Iterator[str]:
    """A folder that this process may only read, with a file in it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "file").write_bytes(b"x")
        os.chmod(folder, 0o555)
        user = os.geteuid()
        os.seteuid(65534 if user == 0 else user)
        try:
            yield folder
        finally:
            os.seteuid(user)
            os.chmod(folder, 0o755)


def test_a_folder_that_may_only_be_read(io: FileIO, read_only: str) -> None:
    assert io.read_bytes(f"{read_only}/file") == b"x"
    path = f"{read_only}/new/x"
    for write in (io.write_bytes, io.overwrite, io.publish):
        with pytest.raises((StorageAccessError, WriteError), match=r"Permission denied \(.*Let this process's user"):
            write(path, b"")
    for call in (io.make_folder, io.open_output):
        with pytest.raises(StorageAccessError, match=r"cannot write: Permission denied \(.*Let this process's user"):
            call(path)
    with pytest.raises(StorageAccessError, match="cannot delete: Permission denied"):
        io.delete_quietly([f"{read_only}/file"])


def test_names_that_no_file_can_have(io: FileIO, tmp_path: Path) -> None:
    for name, reason in (
        ("x" * 256, "File name too long"),
        ("ü" * 128, "File name too long"),
        ("a\0b", ""),
        ("\ud800", ""),
    ):
        path = f"{tmp_path}/{name}"
        assert not io.exists(path)
        assert (io.size(path), io.list_names(path), io.list_folders(path)) == (None, [], [])
        io.delete_quietly([path])
        with pytest.raises(FileNotFoundError):
            io.read_bytes(path)
        with pytest.raises(StorageError, match=f"cannot write: {reason}"):
            io.write_bytes(path, b"")
