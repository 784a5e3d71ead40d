"""Where data files go outside a table, by option."""

from collections import Counter
from itertools import islice

import pytest

from maintenance.errors import OptionError
from maintenance.format.bytes.murmur import unseeded_hash
from maintenance.metadata.external_paths import (
    ExternalPaths,
    entropy_folders,
    external_blob_root,
    external_index_roots,
    is_entropy,
    overlap,
    root_of,
)
from maintenance.options.model import TableModel

PATHS, STRATEGY = "data-file.external-paths", "data-file.external-paths.strategy"


def of(paths: str, strategy: str, **more: str) -> ExternalPaths | None:
    others = {f"{PATHS}.{key.replace('_', '-')}": value for key, value in more.items()}
    return ExternalPaths.of(TableModel({PATHS: paths, STRATEGY: strategy, **others}))


def test_roots_are_spelt_as_in_java() -> None:
    actual = of(" file:///a//b/ , s3://bucket//x/,s3://bucket , file:/a/b", "round-robin")
    assert actual is not None
    assert actual.roots == ("file:/a/b", "s3://bucket/x", "s3://bucket")


def test_without_a_strategy_files_stay() -> None:
    assert of("s3://b/x", "none") is None
    assert ExternalPaths.of(TableModel({STRATEGY: "round-robin"})) is None


def test_round_robin_takes_each_in_turn() -> None:
    actual = of("s3://a/x,s3://b/x,s3://c/x", "round_robin")
    assert actual is not None
    drawn = list(islice(actual.choices(), 7))
    assert len(set(drawn[:3])) == 3
    assert drawn[3:6] == drawn[:3]
    assert drawn[6] == drawn[0]


def test_weights_say_how_often() -> None:
    actual = of("s3://a/x,s3://b/x", "weight-robin", weights="1, 9")
    assert actual is not None
    counts = Counter(islice(actual.choices(), 2000))
    assert 100 < counts["s3://a/x"] < 350
    one = of("s3://a/x", "weight-robin", weights="1,9")
    assert one is not None
    assert set(islice(one.choices(), 5)) == {"s3://a/x"}


def test_a_file_system_of_its_own() -> None:
    actual = of("s3://a/x,oss://b/x", "specific-fs", specific_fs="OSS")
    assert actual is not None
    assert actual.roots == ("oss://b/x",)


@pytest.mark.parametrize(
    ("paths", "strategy", "more", "message"),
    [
        ("/a/b", "round-robin", {}, "no scheme"),
        ("file:a", "round-robin", {}, "not a whole path"),
        ("file:///", "round-robin", {}, "root of a disk"),
        ("s3://a/x/../y", "round-robin", {}, "leads through"),
        ("s3://a/x", "specific-fs", {}, "needs a file system"),
        ("s3://a/x", "specific-fs", {"specific_fs": "oss"}, "no path of"),
        ("s3://a/x,s3://b/x", "weight-robin", {"weights": "1"}, "1 weights for 2 paths"),
        ("s3://a/x,s3://b/x", "weight-robin", {"weights": "1,0"}, "weights"),
        ("s3://a/x", "random", {}, "random"),
    ],
)
def test_what_cannot_be_meant(paths: str, strategy: str, more: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        of(paths, strategy, **more)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 0x3C2569B2), ("abc", 0xB3DD93FA), ("hello, world", 0x149BBB7F)],
)
def test_the_hash_is_murmur3(text: str, expected: int) -> None:
    assert unseeded_hash(text.encode()) == expected


def test_entropy_spreads_over_folders() -> None:
    folders = {entropy_folders(f"data-{number}.orc") for number in range(50)}
    assert len(folders) > 40
    assert all(map(is_entropy, folders))
    assert not is_entropy("0110/1001/0001")


def test_the_root_of_a_file_is_the_deepest_whole_folder() -> None:
    assert root_of("s3://b/x/y/f", ("s3://b/x", "s3://b/x/y", "s3://b/z")) == "s3://b/x/y"
    assert root_of("s3://b/xy/f", ("s3://b/x",)) is None
    assert overlap("s3://b/x", "s3://b/x/y")
    assert overlap("s3://b/x/y", "s3://b/x")
    assert not overlap("s3://b/x", "s3://b/xy")


def test_folders_of_blobs_and_of_global_indexes() -> None:
    blobs, indexes = "blob-external-storage-path", "global-index.external-path"
    assert external_blob_root(TableModel({blobs: "s3://bucket/blobs/"})) == "s3://bucket/blobs"
    assert external_blob_root(TableModel({blobs: "/lake/blobs"})) == "file:/lake/blobs"
    for options in ({}, {blobs: ""}):
        with pytest.raises(OptionError, match=f"'{blobs}' is not"):
            external_blob_root(TableModel(options))
    assert external_index_roots(TableModel({indexes: "s3://bucket/indexes/"})) == ("s3://bucket/indexes",)
    assert external_index_roots(TableModel()) == ()
