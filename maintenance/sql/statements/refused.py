"""Statements of Flink and Spark that this session has not: why, and what to do instead."""

from collections.abc import Callable, Mapping

from maintenance.errors import UnsupportedError
from maintenance.sql.cursor import Cursor
from maintenance.sql.statements.statement import Parse, Statement

_FUNCTION = (
    "functions of users are not kept here",
    "Write the expression into the query, or call Python on its result.",
)
_JAR = ("no code of the JVM is loaded here", "Run the statement in Flink or Spark.")
_JOB = (
    "statements are done when they return, so there are no jobs",
    "Look at the snapshots: SELECT * FROM t$snapshots.",
)
_CACHE = ("nothing is kept of a table between statements", "Leave the statement out.")

_REFUSED: Mapping[tuple[str, ...], tuple[str, str]] = {
    **{
        (verb, *more, "FUNCTION"): _FUNCTION
        for verb, *more in (
            ("CREATE",),
            ("CREATE", "OR", "REPLACE"),
            ("CREATE", "TEMPORARY"),
            ("CREATE", "OR", "REPLACE", "TEMPORARY"),
            ("CREATE", "TEMPORARY", "SYSTEM"),
            ("ALTER",),
            ("DROP",),
            ("DROP", "TEMPORARY"),
            ("DESCRIBE",),
            ("DESC",),
        )
    },
    ("ADD", "JAR"): _JAR,
    ("LOAD", "MODULE"): _JAR,
    ("SHOW", "JOBS"): _JOB,
    ("STOP", "JOB"): _JOB,
    ("CACHE", "TABLE"): _CACHE,
    ("UNCACHE", "TABLE"): _CACHE,
    ("CACHE", "LAZY", "TABLE"): _CACHE,
    ("CLEAR", "CACHE"): _CACHE,
    ("CREATE", "TEMPORARY", "TABLE"): (
        "temporary tables over other systems are not read here",
        "Write the rows into a table of Paimon: paimonctl write, or INSERT INTO … VALUES.",
    ),
}


def _refusal(words: tuple[str, ...], reason: str, instead: str) -> Callable[[Cursor], Statement]:
    def refuse(cursor: Cursor) -> Statement:
        raise cursor.error(f"{' '.join(words)}: {reason}", instead, token=cursor.words[0], kind=UnsupportedError)

    return refuse


STATEMENTS: Mapping[tuple[str, ...], Parse] = {words: _refusal(words, *texts) for words, texts in _REFUSED.items()}
