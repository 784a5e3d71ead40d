"""Expressions of Spark's dialect, drawn by chance over a table that has a column of each type and edge values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Literal

from maintenance.sql import Session

Area = Literal["operator", "cast", "condition", "function", "aggregate", "window", "query"]

# By the name of a column: its type in Spark, and the texts of its values there, one for each row.
COLUMNS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "b": ("BOOLEAN", ("true", "false", "NULL", "true", "false")),
    "i8": ("TINYINT", ("1", "0", "NULL", "-128", "127")),
    "i16": ("SMALLINT", ("12", "0", "NULL", "-32768", "32767")),
    "i32": ("INT", ("1", "0", "NULL", "-2147483648", "2147483647")),
    "i64": ("BIGINT", ("7", "0", "NULL", "-9223372036854775808", "9223372036854775807")),
    "f32": ("FLOAT", ("1.1", "'-0.0'", "NULL", "'NaN'", "'-inf'")),
    "f64": ("DOUBLE", ("-2.5", "'-0.0'", "NULL", "'NaN'", "'inf'")),
    "d2": ("DECIMAL(10, 2)", ("1.50", "0", "NULL", "-99999999.99", "2.25")),
    "d18": ("DECIMAL(38, 18)", ("1.000000000000000001", "0", "NULL", "-12345678901234567890.5", "3")),
    "s": ("STRING", ("'12'", "''", "NULL", "' x '", "'ö'")),
    "n": ("STRING", ("'1e3'", "'NaN'", "NULL", "' 7 '", "'-1.5'")),
    "c": ("CHAR(5)", ("'ab'", "''", "NULL", "'12'", "'ö'")),
    "v": ("VARCHAR(10)", ("'a,b'", "''", "NULL", "'2024-02-29'", "'true'")),
    "y": ("BINARY", ("X'616263'", "X''", "NULL", "X'C3B6'", "X'FF00'")),
    "day": ("DATE", ("DATE'2024-02-29'", "DATE'1970-01-01'", "NULL", "DATE'1582-10-15'", "DATE'9999-12-31'")),
    "ts": ("TIMESTAMP", ("TIMESTAMP'2024-02-29 12:34:56.789012'", "TIMESTAMP'1970-01-01 00:00:00'", "NULL",
           "TIMESTAMP'1582-10-15 00:00:00'", "TIMESTAMP'9999-12-31 23:59:59.5'")),
    "tn": ("TIMESTAMP_NTZ", ("TIMESTAMP_NTZ'2024-02-29 12:34:56.789012'", "TIMESTAMP_NTZ'1970-01-01 00:00:00'", "NULL",
           "TIMESTAMP_NTZ'1969-12-31 23:59:59.5'", "TIMESTAMP_NTZ'2038-01-19 03:14:07'")),
    "a": ("ARRAY<INT>", ("array(3, 1, 2)", "array()", "NULL", "array(1, NULL, 1)", "array(NULL)")),
    "m": ("MAP<STRING, INT>", ("map('k', 1)", "map()", "NULL", "map('a', NULL)", "map('b', 2, 'c', 3)")),
    "r": ("STRUCT<p: INT, q: STRING>", ("named_struct('p', 1, 'q', 'x')", "named_struct('p', NULL, 'q', '')", "NULL",
          "named_struct('p', -1, 'q', NULL)", "named_struct('p', 1, 'q', 'x')")),
}  # fmt: skip
ROWS = range(5)

_INTEGERS, _FRACTIONS = ("i8", "i16", "i32", "i64"), ("f32", "f64", "d2", "d18")
_TEXTS, _TIMES = ("s", "n", "c", "v"), ("day", "ts", "tn")
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "int": (*_INTEGERS, "1", "-3", "0"),
    "num": (*_INTEGERS, *_FRACTIONS, "2", "1.5", "-0.25D", "7L", "0"),
    "text": (*_TEXTS, "'x'", "'12'"),
    "time": (*_TIMES, "TIMESTAMP'1969-12-31 23:59:59.1234567'"),
    "bool": ("b", "i32 > 0", "s IS NULL", "true"),
    "atom": ("b", *_INTEGERS, *_FRACTIONS, *_TEXTS, "y", *_TIMES, "1", "'1'", "NULL"),
    "any": tuple(COLUMNS),
    "bin": ("y", "s"),
    "array": ("a", "array(1, NULL)", "array('b', 'a')"),
    "small": ("1", "2", "-1", "0", "i8"),
}
_TYPES = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "DECIMAL(38, 18)",
    "DECIMAL(3, 1)", "STRING", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ",
)  # fmt: skip
# Queries of one column w, of both dialects.
QUERIES: tuple[str, ...] = (
    *(f"SELECT {{{group}}} AS w FROM samples {sign} SELECT {{{group}}} FROM samples"
      for group in ("num", "text", "time", "atom") for sign in ("UNION ALL", "UNION", "INTERSECT", "EXCEPT")),
    "SELECT {any} AS w FROM samples INTERSECT ALL SELECT {any} FROM samples",
    "SELECT {num} AS w FROM samples UNION ALL SELECT {num} FROM samples UNION SELECT {num} FROM samples",
    "SELECT DISTINCT {atom} AS w FROM samples", "SELECT DISTINCT {num} + {num} AS w FROM samples",
    "SELECT {any} AS w FROM samples ORDER BY {key} DESC, id LIMIT 3",
    "SELECT {num} AS w FROM samples ORDER BY {key}, id LIMIT 2 OFFSET 1",
    "SELECT {text} AS w FROM samples ORDER BY {key} NULLS LAST, id DESC LIMIT 2",
    "SELECT COUNT(*) AS w FROM samples GROUP BY {key} HAVING COUNT({any}) > 0",
    "SELECT SUM({num}) AS w FROM samples GROUP BY {key} HAVING MAX({num}) > 0",
    "SELECT MAX({atom}) AS w FROM samples GROUP BY {key}, b HAVING {bool} OR COUNT(*) = 1",
    "SELECT MIN({text}) AS w FROM samples WHERE {bool} GROUP BY {key}",
    "SELECT (SELECT MAX({num}) FROM samples) AS w FROM samples",
    "SELECT {num} > (SELECT MIN({num}) FROM samples) AS w FROM samples",
    *(f"SELECT {{any}} AS w FROM samples WHERE {{{group}}} {sign} (SELECT {{{group}}} FROM samples)"
      for group in ("num", "text", "time") for sign in ("IN", "NOT IN")),
    "SELECT {any} AS w FROM samples AS p WHERE EXISTS (SELECT 1 FROM samples AS q WHERE q.id > p.id AND q.i32 > 0)",
    "WITH q AS (SELECT id, {num} AS z FROM samples) SELECT z * 2 AS w FROM q WHERE z IS NOT NULL",
    "WITH q AS (SELECT COUNT({any}) AS c FROM samples GROUP BY {key}) SELECT MAX(c) AS w FROM q",
    *(f"SELECT q.{{column}} AS w FROM samples AS p {kind} JOIN samples AS q ON p.{{number}} = q.{{number}}"
      for kind in ("INNER", "LEFT", "FULL")),
    "SELECT p.{column} AS w FROM samples AS p JOIN samples AS q ON p.{word} = q.{word} WHERE p.id < 4",
    "SELECT {any} AS w FROM samples WHERE {num} > {num}", "SELECT {any} AS w FROM samples WHERE NOT ({text} < {text})",
    "SELECT {any} AS w FROM samples WHERE {time} >= {time} OR {bool}",
    "SELECT z AS w FROM (SELECT {num} AS z, ROW_NUMBER() OVER (ORDER BY {key}, id) AS n FROM samples) AS q WHERE n < 4",
)  # fmt: skip
# {group}: what is drawn.
_SHAPES: Mapping[Area, tuple[str, ...]] = {
    "operator": (
        *(f"{{num}} {sign} {{num}}" for sign in ("+", "-", "*", "/", "%", "DIV")),
        *(f"{{atom}} {sign} {{atom}}" for sign in ("+", "-", "*", "=", "<>", "<", ">=", "<=>", "||")),
        *(f"{{int}} {sign} {{int}}" for sign in ("&", "|", "^")), "-({num})", "~{int}", "NOT {bool}",
        "{bool} AND {bool}", "{bool} OR {bool}", "{time} - {time}", "day + {small}", "day - {small}",
    ),
    "cast": tuple(f"{cast}({{atom}} AS {kind})" for cast in ("CAST", "TRY_CAST") for kind in _TYPES),
    "condition": (
        "CASE WHEN {bool} THEN {atom} ELSE {atom} END", "CASE WHEN {bool} THEN {num} END", "COALESCE({atom}, {atom})",
        "IF({bool}, {num}, {num})", "IF({bool}, {any}, NULL)", "{atom} IN ({atom}, {atom})", "NULLIF({num}, {num})",
        "{atom} BETWEEN {atom} AND {atom}", "{num} NOT IN (1, 2.5, NULL)", "{atom} LIKE '%1%'", "{text} LIKE '_'",
        "CASE {atom} WHEN {atom} THEN 1 ELSE 2L END", "NVL({num}, {num})", "{any} IS NULL", "NVL2({any}, 1, 2.5)",
    ),
    "function": (
        *(f"{name}({{num}})" for name in ("abs", "ceil", "floor", "round", "sqrt", "exp", "ln", "sign", "bround")),
        *(f"{name}({{num}}, {{num}})" for name in ("pow", "greatest", "least", "mod", "pmod")),
        "round({num}, 1)", "round({num}, -1)", "floor({num}, 1)",
        *(f"{name}({{text}})" for name in ("upper", "lower", "trim", "ltrim", "rtrim", "reverse", "initcap", "ascii")),
        *(f"{name}({{atom}})" for name in ("length", "hex", "md5", "isnull", "upper", "trim", "isnan")),
        *(f"{name}({{text}}, {{small}})" for name in ("left", "right", "repeat", "substring")),
        "substring({text}, {small}, {small})", "concat({atom}, {atom})", "concat_ws('-', {text}, {atom})",
        "replace({text}, '1', 'y')", "lpad({text}, 4, '*')", "rpad({text}, 4)", "instr({text}, {text})",
        "split({text}, ',')", "split_part({text}, ',', 1)", "translate({text}, '12', 'a')",
        "regexp_replace({text}, '[0-9]', 'd')", "locate('b', {text})", "contains({text}, {text})",
        "startswith({text}, {text})", "octet_length({bin})", "unhex(hex({bin}))", "base64(y)",
        *(f"{name}({{time}})" for name in ("year", "month", "day", "hour", "minute", "second", "quarter", "dayofweek",
                                           "dayofyear", "weekofyear", "last_day", "to_date", "unix_timestamp")),
        "date_add({time}, {small})", "datediff({time}, {time})", "add_months({time}, {small})",
        "date_trunc('MONTH', {time})", "trunc({time}, 'year')", "date_format({time}, 'yyyy-MM-dd HH:mm')",
        "months_between({time}, {time})", "to_timestamp({time})", "EXTRACT(YEAR FROM {time})",
        "size({array})", "size(m)", "array_contains(a, {int})", "sort_array({array})", "array_distinct({array})",
        "element_at(a, 1)", "a[0]", "m['k']", "r.p", "map_keys(m)", "map_values(m)", "array_max({array})",
        "array_min({array})", "concat(a, a)", "array({num}, {num})", "array_join({array}, '-')",
        "transform(a, x -> x + 1)",
        "filter(a, x -> x > 1)", "struct({num}, {text})", "map('p', {num})", "typeof({any})",
    ),
    "aggregate": (
        *(f"{name}({{num}})" for name in ("sum", "avg", "min", "max", "stddev", "variance", "stddev_pop", "median")),
        *(f"{name}({{any}})" for name in ("count", "collect_list", "first", "last", "any_value")),
        *(f"{name}(DISTINCT {{atom}})" for name in ("count", "min", "collect_set")), "sum(DISTINCT {num})", "count(*)",
        "min({atom})", "max({atom})", "sum({text})", "avg({text})", "max_by({atom}, i64)", "min_by({atom}, id)",
        "count_if({bool})", "bool_and({bool})", "bool_or({bool})", "avg(DISTINCT {num})",
        "sum({num}) FILTER (WHERE {bool})", "count({atom}) FILTER (WHERE {bool})", "max({any}) FILTER (WHERE false)",
        "sum({num}) / count(*)", "collect_list({num}) FILTER (WHERE id > 9)",
    ),
    "window": (
        *(f"{name}() OVER (ORDER BY {{order}}, id)" for name in ("row_number", "rank", "dense_rank", "percent_rank")),
        *(f"{name}({{num}}) OVER (PARTITION BY b ORDER BY id)" for name in ("sum", "avg", "min", "max")),
        "lag({any}) OVER (ORDER BY id)", "lead({num}, 2, 0) OVER (ORDER BY id)", "ntile(2) OVER (ORDER BY id)",
        "first_value({any}) OVER (ORDER BY id)", "last_value({num}) OVER (ORDER BY id)", "count(*) OVER ()",
        "sum({num}) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        "count({any}) OVER (PARTITION BY {order})",
        "rank() OVER (ORDER BY {order} DESC)", "cume_dist() OVER (ORDER BY {order})",
    ),
    "query": QUERIES,
}  # fmt: skip


def of_queries(columns: Iterable[str], order: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """What is drawn in queries alone."""
    return {"key": order, "column": tuple(columns), "number": ("i8", "i32", "i64", "d2", "d18"), "word": _TEXTS}


_ORDER = ("i32", "f64", "f32", "d18", "s", "c", "y", "day", "ts", "b")
AREAS: tuple[Area, ...] = tuple(_SHAPES)
_GROUP_BY = ("b", "i8", "f64", "c", "day", "y", "a")
# How deep one expression stands in others, and how often it does where it may.
_DEPTH, _SHARE = 3, 0.6
_FREE = ("collect_set", "collect_list", "array_agg")


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression. Attributes: `group`: the column that an aggregate is of, if there is one."""

    area: Area
    text: str
    group: str = ""

    @property
    def query(self) -> str:
        """What gives its values, in an order that is the same each time."""
        if self.area == "query":
            return f"SELECT 0 AS id, w AS x FROM ({self.text}) AS q"
        if self.area != "aggregate":
            return f"SELECT id, {self.text} AS x FROM samples ORDER BY id"
        if not self.group:
            return f"SELECT 0 AS id, {self.text} AS x FROM samples"
        # Each group is named for its first row.
        return f"SELECT min(id) AS id, {self.text} AS x FROM samples GROUP BY {self.group} ORDER BY 1"

    @property
    def asked(self) -> str:
        """What stands in the query in the place of the value."""
        return "w" if self.area == "query" else self.text

    @property
    def is_of_rows(self) -> bool:
        """Whether a row's value is its own."""
        return self.area not in ("aggregate", "window", "query")

    @property
    def is_free(self) -> bool:
        """Whether the order of what it gathers is not told."""
        return any(name in self.text for name in _FREE)

    def of_row(self, number: int) -> str:
        return f"SELECT id, {self.text} AS x FROM samples WHERE id = {number}"


@dataclass(frozen=True, slots=True)
class Grammar:
    """What expressions are drawn from.

    Attributes: `shapes`: with ``{group}`` where one of a group stands; `inside`: shapes that stand for one of a group.
    """

    shapes: Mapping[Area, Sequence[str]]
    groups: Mapping[str, Sequence[str]]
    keys: Sequence[str]
    inside: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def expression(self, random: Random, area: Area) -> Expression:
        """One expression of an area."""
        text = self._filled(random, random.choice(self.shapes[area]), _DEPTH)
        group = random.choice(self.keys) if area == "aggregate" and random.random() < 0.4 else ""
        return Expression(area, text, group)

    def _filled(self, random: Random, shape: str, depth: int) -> str:
        """A shape with one of each group in its place."""
        parts = shape.replace("}", "{").split("{")
        return "".join(self._one(random, part, depth) if number % 2 else part for number, part in enumerate(parts))

    def _one(self, random: Random, group: str, depth: int) -> str:
        if depth and group in self.inside and random.random() < _SHARE:
            return self._filled(random, random.choice(self.inside[group]), depth - 1)
        return random.choice(self.groups[group])

    def expressions(self, seed: int, count: int) -> list[Expression]:
        """So many different expressions, of each area as many; the same ones of a seed."""
        random, found = Random(seed), dict[Expression, None]()
        while len(found) < count:
            found[self.expression(random, AREAS[len(found) % len(AREAS)])] = None
        return list(found)


SPARK = Grammar(_SHAPES, {**_GROUPS, "order": _ORDER, **of_queries(COLUMNS, _ORDER)}, _GROUP_BY)


def expressions(seed: int, count: int) -> list[Expression]:
    """So many different expressions of Spark's dialect."""
    return SPARK.expressions(seed, count)


def made_session(warehouse: Path) -> Session:
    """A session of a warehouse with the table."""
    session = Session({"warehouse": str(warehouse)}, dialect="spark")
    session.sql("SET spark.sql.session.timeZone = UTC")
    session.sql(f"CREATE TABLE samples (id INT, {', '.join(f'{name} {kind}' for name, (kind, _) in COLUMNS.items())})")
    session.sql(f"INSERT INTO samples VALUES {table_values()}")
    return session


def table_values() -> str:
    """The rows of the table as Spark reads them behind VALUES."""
    return ", ".join(
        f"({', '.join([str(number), *(_value(kind, texts[number]) for kind, texts in COLUMNS.values())])})"
        for number in ROWS
    )


def _value(kind: str, text: str) -> str:
    return f"CAST({text} AS {kind})" if kind in ("FLOAT", "DOUBLE") else text
