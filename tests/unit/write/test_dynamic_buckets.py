"""Tables with dynamic buckets: what is written, compacted, overwritten and raced for."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from maintenance.bucket.dynamic import Assigner, assigner_of
from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError
from maintenance.format.metadata.hash_index import parse_hash_index, serialize_hash_index
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.write.buckets import split_by_bucket
from maintenance.write.context import WriteContext
from maintenance.write.hash_index import BucketAssigner, HashIndexWriter, key_hashes, owns_buckets_alone
from maintenance.write.rows import conform
from tests.interference import interfered_with
from tests.tables import create_table, data_files, files_on_disk, get_table, keyed, live, state

OPTIONS = {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}


def buckets(table: CatalogTable) -> dict[int, int]:
    """Rows of each bucket."""
    collected: dict[int, int] = {}
    for entry in live(table):
        collected[entry.bucket] = collected.get(entry.bucket, 0) + entry.file.row_count
    return collected


def indexed(table: CatalogTable) -> dict[int, int]:
    """Keys in the index of each bucket, as its file and its entry say."""
    collected = {}
    for (_, bucket), entry in (table.hash_files() or {}).items():
        path = table.paths.index_file(entry)
        hashes = parse_hash_index(table.file_io.read_bytes(path), path)
        assert len(set(hashes.tolist())) == len(hashes) == entry.row_count
        collected[bucket] = len(hashes)
    return collected


def test_the_bytes_of_an_index_file() -> None:
    data = bytes.fromhex("5759f99ed206e5474fe4bbf0")  # keys 1, 2, 3 as real Paimon writes them
    assert serialize_hash_index(parse_hash_index(data, "memory")) == data
    with pytest.raises(CorruptFileError, match="memory"):
        parse_hash_index(data[:-1], "memory")


def test_keys_stay_in_their_bucket(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=OPTIONS)
    table.write_arrow(keyed(dict.fromkeys(range(7), "a")))
    assert buckets(table) == {0: 3, 1: 3, 2: 1}
    assert indexed(table) == {0: 3, 1: 3, 2: 1}
    table.write_arrow(keyed(dict.fromkeys(range(5, 10), "b")))
    assert state(table) == {i: "a" if i < 5 else "b" for i in range(10)}
    assert indexed(table) == {0: 3, 1: 3, 2: 3, 3: 1}
    before = table.hash_files()
    table.write_arrow(keyed(dict.fromkeys(range(10), "c")), ["-D"] * 10)
    assert table.hash_files() == before, "known keys change no index"
    assert state(table) == {}
    table.write_arrow(keyed({3: "back"}))
    compact(None, table, full=True)
    assert state(table) == {3: "back"}
    assert table.hash_files() == before


def test_partitions_have_buckets_of_their_own(tmp_path: Path) -> None:
    fields = (("id", "INT NOT NULL"), ("day", "STRING NOT NULL"))
    table = create_table(tmp_path, fields, ("day", "id"), OPTIONS, partition_keys=("day",))
    days: Sequence[str] = ["a", "b"] * 4
    table.write_arrow(pa.table({"id": pa.array(range(8), pa.int32()), "day": days}))
    assert sorted((table.paths.spec_of(p)["day"], b) for p, b in table.hash_files() or {}) == [
        ("a", 0), ("a", 1), ("b", 0), ("b", 1),
    ]  # fmt: skip
    table.truncate([{"day": "a"}])
    assert {table.paths.spec_of(p)["day"] for p, _ in table.hash_files() or {}} == {"b"}
    table.overwrite_arrow(pa.table({"id": pa.array([5], pa.int32()), "day": ["b"]}))
    assert indexed(table) == {0: 1}
    assert table.to_arrow().to_pylist() == [{"id": 5, "day": "b"}]


def test_two_writers_give_no_key_two_buckets(tmp_path: Path) -> None:
    create_table(tmp_path, options={**OPTIONS, "commit.max-retries": "50"})

    def write(number: int) -> None:
        for turn in range(4):
            get_table(tmp_path).write_arrow(keyed(dict.fromkeys(range(turn * 3, turn * 3 + 5), f"{number}/{turn}")))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, range(2)))
    table = get_table(tmp_path)
    assert sorted(state(table)) == list(range(14))
    assert sum(indexed(table).values()) == 14


def test_expiry_takes_replaced_index_files_along(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=OPTIONS)
    for i in range(4):
        table.write_arrow(keyed({i: "a"}))
    expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)
    assert len(list((Path(table.location) / "index").iterdir())) == len(table.hash_files() or {}) == 2


def test_an_index_that_expires_before_it_is_read(tmp_path: Path) -> None:
    """The rows are written again on the newest state: others have given new keys their buckets."""
    table = create_table(tmp_path, options=OPTIONS)
    table.write_arrow(keyed({1: "a"}))

    def others() -> None:
        for key in (2, 3, 4):
            table.write_arrow(keyed({key: "others"}))
        expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)

    interfered_with(table, "/index/index-", others).write_arrow(keyed({4: "b", 5: "b"}))
    assert state(table) == {1: "a", 2: "others", 3: "others", 4: "b", 5: "b"}
    assert indexed(table) == {0: 3, 1: 2}
    assert files_on_disk(table) == data_files(table)


Given = dict[tuple[bytes, int], IndexManifestEntry]


def given_by(context: WriteContext, files: Given, count: int, keys: Iterable[int]) -> list[Given]:
    """The indexes of the buckets that each of `count` assigners gives these keys."""
    rows = conform(keyed(dict.fromkeys(keys, "a")), None, context)
    owners = assigner_of(key_hashes(rows, context), count)
    written: list[Given] = []
    for number in range(count):
        mine = rows.filter(pa.array(owners == number))
        given = BucketAssigner(context, files, Assigner(number, count)).assign(mine)
        written.append({})
        for part in split_by_bucket(mine, given, context):
            key = (part.partition, part.bucket)
            index = HashIndexWriter(context, *key, files.get(key))
            index.add(part.rows)
            written[-1][key] = index.finish() or files[key]
    return written


@given(
    st.lists(st.tuples(st.integers(1, 4), st.sets(st.integers(0, 60), min_size=1, max_size=25)), max_size=2),
    st.integers(1, 4),
    st.sampled_from([-1, 4]),
)
@example([(2, {1, 2, 3})], 2, 4)
def test_assigners_that_own_their_buckets_share_none(before: list[tuple[int, set[int]]], count: int, most: int) -> None:
    """`before`: numbers of assigners, and keys that they gave buckets."""
    with TemporaryDirectory() as folder:
        options = {**OPTIONS, "dynamic-bucket.max-buckets": str(most)}
        context = create_table(Path(folder), options=options).write_context()
        files: Given = {}
        for assigners, keys in before:
            for written in given_by(context, files, assigners, keys):
                files |= written
        alone = owns_buckets_alone(context, files, count)
        buckets = [bucket for written in given_by(context, files, count, range(50)) for _, bucket in written]
        assert not alone or len(buckets) == len(set(buckets))
        assert alone or any(assigners != count for assigners, _ in before) or (files and most >= 0)


def test_an_index_that_is_lost_is_damage(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=OPTIONS)
    table.write_arrow(keyed({1: "a"}))
    for entry in (table.hash_files() or {}).values():
        Path(table.paths.index_file(entry)).unlink()
    with pytest.raises(CorruptFileError, match="HASH index file is missing"):
        table.write_arrow(keyed({2: "b"}))
    assert files_on_disk(table) == data_files(table)
