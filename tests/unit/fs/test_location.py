"""Which file a path is, and what a warehouse may be called."""

import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import OptionError
from maintenance.fs.location import is_local, local_path, warehouse_location


def test_which_paths_are_local() -> None:
    assert all(map(is_local, ("/a/b", "file:/a", "file:///a", "FILE:///a", "./a", "a/b")))
    assert not any(map(is_local, ("s3://a/b", "memory://a", "hdfs://host:1/a")))


@pytest.mark.parametrize("path", ["/a b/c", "/a%20b", "/a%2Fb", "/a#b", "/a?b=c", "/%2e%2e/x"])
def test_nothing_is_encoded_in_a_path(path: str) -> None:
    for text in (path, f"file:{path}", f"FILE:{path}", f"file://{path}", f"file://localhost{path}"):
        assert local_path(text) == path


@pytest.mark.parametrize("text", ["/a\0b", "/" + "x" * 256, "/ü" + "ü" * 127, "/\ud800"])
def test_paths_that_no_file_has(text: str) -> None:
    with pytest.raises(FileNotFoundError):
        local_path(text)


@pytest.mark.parametrize(
    "text", ["/data/lake", "data", "file:/data/lake", "file:///data/lake", "s3://lake/w", "memory://w"]
)
def test_a_warehouse_is_where_it_says_without_slashes_at_the_end(text: str) -> None:
    assert warehouse_location(text + "//") == warehouse_location(text) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("file:data/lake", "must begin with '/'"),
        ("file://data/lake", "'data' is a host"),
        ("s3:/lake/w", "'s3:' is neither a folder nor"),
        (" ", "expected a path or URI"),
        ("/a\0b", "expected a path or URI"),
    ],
)
def test_warehouses_that_are_somewhere_else_than_meant(text: str, reason: str) -> None:
    with pytest.raises(OptionError, match=f"'warehouse' = .*{reason}"):
        open_catalog({"warehouse": text})
