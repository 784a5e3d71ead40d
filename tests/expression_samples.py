"""Calls of every entry of the table of expressions, made from what it takes, over edge values of every type."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from maintenance.sql.expressions.entries import CLASSES, Dialect, Entry, Parameter
from maintenance.sql.expressions.table import ENTRIES

# By the name of a column: its type in Spark, and the texts of its values there, one for each row.
COLUMNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "b": ("BOOLEAN", ("true", "false", "NULL", "true", "false", "true")),
    "i8": ("TINYINT", ("1", "0", "NULL", "-128", "127", "2")),
    "i16": ("SMALLINT", ("1", "0", "NULL", "-32768", "32767", "3")),
    "i32": ("INT", ("1", "0", "NULL", "-2147483648", "2147483647", "2")),
    "i64": ("BIGINT", ("1", "0", "NULL", "-9223372036854775808", "9223372036854775807", "3")),
    "k": ("INT", ("1", "0", "2", "-2", "NULL", "3")),
    "f32": ("FLOAT", ("1.5", "CAST('-0.0' AS FLOAT)", "NULL", "CAST('NaN' AS FLOAT)", "0.1", "CAST('-inf' AS FLOAT)")),
    "f64": ("DOUBLE", ("2.5", "CAST('-0.0' AS DOUBLE)", "NULL", "CAST('NaN' AS DOUBLE)", "1e300", "-3.7")),
    "d": ("DECIMAL(10, 2)", ("1.50", "0.00", "NULL", "-99999999.99", "99999999.99", "2.25")),
    "w": ("DECIMAL(38, 18)", ("1.000000000000000001", "0", "NULL", "-12345678901234567890.5", "0.000000000000000001",
    "3")),
    "s": ("STRING", ("'abc'", "''", "NULL", "' Ünï côde '", "'a,b;c'", "'A-b_%'")),
    "n": ("STRING", ("'12'", "'1.5'", "NULL", "' 7 '", "'x'", "'-3'")),
    "y": ("BINARY", ("X'616263'", "X''", "NULL", "X'C3B6'", "X'31'", "X'00'")),
    "day": ("DATE", ("DATE'2024-02-29'", "DATE'1970-01-01'", "NULL", "DATE'0001-01-01'", "DATE'9999-12-31'",
    "DATE'2023-12-31'")),
    "ts": ("TIMESTAMP", ("TIMESTAMP'2024-02-29 12:34:56.789012'", "TIMESTAMP'1970-01-01 00:00:00'", "NULL",
           "TIMESTAMP'1969-12-31 23:59:59.5'", "TIMESTAMP'2038-01-19 03:14:07'", "TIMESTAMP'2023-12-31 00:00:00'")),
    "tn": ("TIMESTAMP_NTZ", ("TIMESTAMP_NTZ'2024-02-29 12:34:56.789012'", "TIMESTAMP_NTZ'1970-01-01 00:00:00'", "NULL",
           "TIMESTAMP_NTZ'1969-12-31 23:59:59.5'", "TIMESTAMP_NTZ'2000-01-01 00:00:00'",
           "TIMESTAMP_NTZ'2023-12-31 01:00:00'")),
    "a": ("ARRAY<INT>", ("array(3, 1, 2)", "array()", "NULL", "array(1, NULL, 1)", "array(5)", "array(NULL)")),
    "t": ("ARRAY<STRING>", ("array('b', 'a')", "array()", "NULL", "array('x', NULL)", "array('')", "array('a', 'a')")),
    "m": ("MAP<STRING, INT>", ("map('k', 1)", "map()", "NULL", "map('a', NULL)", "map('b', 2, 'c', 3)", "map('', 0)")),
}  # fmt: skip
_BY_ROOT = {
    "BOOLEAN": ("b",), "TINYINT": ("i8",), "SMALLINT": ("i16",), "INT": ("k",), "BIGINT": ("i64",), "FLOAT": ("f32",),
    "DOUBLE": ("f64",), "STRING": ("s", "n"), "TEXT": ("s", "n"), "BINARY": ("y",), "DATE": ("day",), "LTZ": ("ts",),
    "NTZ": ("tn",),
    "ANY": tuple(COLUMNS), "NUMBER": ("i8", "i32", "i64", "f32", "f64", "d", "w"), "INTEGER": ("i8", "i16", "i32",
    "i64"),
    "FRACTION": ("f32", "f64", "d", "w"), "DECIMAL": ("d", "w"), "FLOATING": ("f32", "f64"), "TIMESTAMP": ("ts", "tn"),
    "TIME": ("day", "ts", "tn"), "ARRAY": ("a", "t"), "MAP": ("m",), "ATOMIC": ("b", "i32", "f64", "d", "s", "y",
    "day", "ts"),
    "T": ("i32", "s", "d", "f64", "ts", "b"), "U": ("i32", "s"), "K": ("s",), "V": ("i32",), "ARRAY<T>": ("a", "t"),
    "ARRAY<U>": ("t", "a"), "MAP<K, T>": ("m",), "MAP<K, U>": ("m",),
    "ARRAY<STRING>": ("t",), "ARRAY<K>": ("t",), "ARRAY<V>": ("a",), "MAP<K, V>": ("m",), "DECIMAL(16, 6)": ("d",),
    "INTERVAL": ("INTERVAL '2' DAY",), "MICROS": ("INTERVAL '2' HOUR",),
    "MONTHS": (), "DAY": ("day",), "DAYS": ("i8", "k"),
}  # fmt: skip
# Texts in quotes that mean something to a function; others get 'a'.
_QUOTED = {
    "extract": ("YEAR", "SECOND", "WEEK", "DOW"), "date_part": ("MINUTE", "QUARTER"), "trunc": ("MM", "year", "week"),
    "date_trunc": ("HOUR", "MONTH", "WEEK"), "encode": ("UTF-8",), "decode": ("UTF-8",), "timestampdiff": ("DAY",
    "MONTH"),
    "timestampadd": ("MONTH", "HOUR"), "parse_url": ("HOST", "QUERY"), "str_to_map": (",", ":"),
    "date_format": ("yyyy-MM-dd",),
    "to_date": ("yyyy-MM-dd",), "to_timestamp": ("yyyy-MM-dd",), "unix_timestamp": ("yyyy-MM-dd",),
    "from_unixtime": ("yyyy",),
}  # fmt: skip
_INFIX = frozenset(
    {
        "+",
        "-",
        "*",
        "/",
        "%",
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "<=>",
        "and",
        "or",
        "||",
        "&",
        "|",
        "^",
        "div",
        "rlike",
        "<<",
        ">>",
    }
)
_POSTFIX = {"is_null": "IS NULL", "is_not_null": "IS NOT NULL", "is_true": "IS TRUE", "is_false": "IS FALSE",
            "is_not_true": "IS NOT TRUE", "is_not_false": "IS NOT FALSE", "is_unknown": "IS UNKNOWN"}  # fmt: skip
_PREFIX = {"not": "NOT", "~": "~"}
# What asks a clock or chance, or makes errors.
_VOLATILE = frozenset(["rand", "random", "uuid", "current_date", "curdate", "current_timestamp", "now",
    "localtimestamp", "unix_timestamp_", "raise_error", "assert_true", "proctime", "current_row_timestamp",
    "paimon_window_start"])  # fmt: skip
_LAMBDAS = {"(T, INT) -> U": "(x, i) -> x", "(T, INT) -> BOOLEAN": "(x, i) -> i > 0",
    "(T) -> BOOLEAN": "x -> x IS NOT NULL",
            "(U, T) -> U": "(acc, x) -> acc", "(U) -> ANY": "acc -> acc", "(K, V) -> BOOLEAN": "(k, v) -> v > 1",
            "(K, V) -> U": "(k, v) -> k",
    "(T, U) -> V": "(x, y) -> x", "(K, T, U) -> V": "(k, x, y) -> x"}  # fmt: skip

_CONSTANTS = {"INT": "2", "BOOLEAN": "true", "DOUBLE": "0.5", "STRING": "'-'", "ARRAY<NUMBER>": "array(0.25, 0.5)"}


@dataclass(frozen=True, slots=True)
class Sample:
    """A call. Attributes: `role`: of its entry; `is_free`: the order of what it gathers is not told."""

    name: str
    text: str
    role: str
    is_free: bool = False

    @property
    def query(self) -> str:
        """What gives its values, in the order of rows."""
        if self.role == "aggregate":
            return f"SELECT {self.text} AS x FROM samples"
        if self.role == "window":
            return f"SELECT id, {self.text} OVER (ORDER BY id) AS x FROM samples ORDER BY id"
        return f"SELECT id, {self.text} AS x FROM samples ORDER BY id"

    def of_row(self, number: int) -> str:
        return f"SELECT id, {self.text} AS x FROM samples WHERE id = {number}"


ROWS = range(len(COLUMNS["b"][1]))


def table_values() -> str:
    """The rows of the table as Spark reads them behind VALUES."""
    rows = (", ".join([str(number), *(values[number] for _, values in COLUMNS.values())]) for number in ROWS)
    return ", ".join(f"({row})" for row in rows)


def samples(dialect: Dialect, most: int = 3) -> list[Sample]:
    """At most so many calls of each entry, the same ones each time."""
    return [sample for entry in ENTRIES if dialect in entry.dialects for sample in _of_entry(entry, most)]


def _of_entry(entry: Entry, most: int) -> Iterator[Sample]:
    # What has two names is the same under both.
    name = entry.names[0]
    if name in _VOLATILE or (name == "[]" and not entry.samples):
        return
    has_sides = name in _INFIX or name == "extract"
    made: list[Sequence[str]] = [text.split(", ", 1) if has_sides else (text,) for text in entry.samples]
    made = made or list(_arguments(entry, name))
    for parts in made if len(made) <= most else Random(name).sample(made, most):
        text = _written(name, parts)
        if text is not None:
            yield Sample(name, text, entry.role, name in ("collect_set", "first", "last"))


def _arguments(entry: Entry, name: str) -> Iterator[Sequence[str]]:
    counts = range(entry.least, (entry.most if entry.most is not None else max(entry.least, 2)) + 1)
    for count in counts:
        options = [_options(entry.parameter(number, count), name) for number in range(count)]
        yield from itertools.islice(itertools.product(*options), 400)


def _options(parameter: Parameter, name: str) -> Sequence[str]:
    if parameter.is_lambda:
        return [_LAMBDAS[parameter.alternatives[0]]]
    if parameter.takes_text:
        return [f"'{text}'" for text in _QUOTED.get(name, ("a",))]
    if parameter.is_constant:
        return [_CONSTANTS[parameter.alternatives[0]]]
    found = [column for text in parameter.alternatives for column in _BY_ROOT.get(text, ())]
    return found or (["i32"] if any(text in CLASSES for text in parameter.alternatives) else ["NULL"])


def _written(name: str, parts: Sequence[str]) -> str | None:
    """The call as a statement has it; None: its syntax has another test."""
    if name in _INFIX:
        return f"{parts[0]} {name.upper()} {parts[1]}"
    if name in _POSTFIX:
        return f"{parts[0]} {_POSTFIX[name]}"
    if name in _PREFIX:
        return f"{_PREFIX[name]} {parts[0]}"
    if name == "negative":
        return f"- {parts[0]}"
    if name == "distinct":
        return f"NOT ({parts[0]} <=> {parts[1]})"
    if name == "extract":
        return f"EXTRACT({parts[0].strip(chr(39))} FROM {parts[1]})"
    if name in ("timestampadd", "timestampdiff"):
        return f"{name}({parts[0].strip(chr(39))}, {', '.join(parts[1:])})"
    base, _, more = name.partition(".")
    if more == "from":
        return f"TRIM({ {'trim': 'BOTH', 'ltrim': 'LEADING', 'rtrim': 'TRAILING'}[base] } {parts[1]} FROM {parts[0]})"
    if more == "in":
        return f"POSITION({parts[0]} IN {parts[1]})"
    if more == "to":
        return f"{base}({parts[0]} TO {parts[1].strip(chr(39))})"
    if more == "ignoring_nulls":
        return f"{base}({', '.join(parts)}) IGNORE NULLS"
    return None if more else f"{name}({', '.join(parts)})"
