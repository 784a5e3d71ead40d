"""Options that name columns follow a column to its new name."""

from maintenance.options.renames import renamed


def test_options_of_file_indexes_follow() -> None:
    options = {
        "file-index.bitmap.columns": "a, m[a],b",
        "file-index.bitmap.a.version": "1",
        "file-index.bitmap.m[a].version": "2",
        "file-index.bsi.columns": "b",
        "file-index.in-manifest-threshold": "1 kb",
        "file-index.read.enabled": "true",
        "file-index.some.other.shape.of.key": "a",
    }
    assert renamed(options, {"a": "b", "b": "a", "m": "n"}) == {
        "file-index.bitmap.columns": "b,n[a],a",
        "file-index.bitmap.b.version": "1",
        "file-index.bitmap.n[a].version": "2",
        "file-index.bsi.columns": "a",
        "file-index.in-manifest-threshold": "1 kb",
        "file-index.read.enabled": "true",
        "file-index.some.other.shape.of.key": "a",
    }
