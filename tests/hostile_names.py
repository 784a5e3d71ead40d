"""A grammar of names that try to leave their folder, or to be something else than a name."""

from hypothesis import strategies as st

PIECES = (
    "", ".", "..", "...", "/", "//", "\\", "\0", "%2e%2e", "%2F", "%2e%2e%2f", "..%2f", "a", "t", "db", "x.y",
    " ", "\t", "\n", "\r\n", "~", "$", "$$", "`", "'", '"', ";", "|", "&", "#", "?", "*", "[a]", "{a,b}", ":", "::",
    "=", ",", "../", "../..", "/..", "./", "..\\", "/etc/passwd", "/tmp", "file:", "file:///", "s3://bucket/key",
    "http://host/x", "C:\\x", "con", "nul", "-rf", "--", "\u202e", "\u200b", "\u2024\u2024", "\uff0e\uff0e", "\uff0f",
    "\u2215", "e\u0301", "é", "ß", "中", "😀", "\ud800", "\udcff", "\ufeff", "x" * 30, "x" * 240, "x" * 260, "ü" * 130,
    "snapshot", "schema", "manifest", "branch", "LATEST", "snapshot-1", "schema-0", "canary", "main", "1", "_x",
)  # fmt: skip


def names() -> st.SearchStrategy[str]:
    """Names of one to four pieces; mostly hostile ones."""
    pieces = st.sampled_from(PIECES)
    climbing = st.builds(lambda depth, end: "../" * depth + end, st.integers(1, 8), pieces)
    return st.one_of(
        pieces,
        climbing,
        st.lists(pieces, min_size=1, max_size=4).map("".join),
        st.lists(pieces, min_size=2, max_size=4).map("/".join),
        st.text(max_size=12),
    )
