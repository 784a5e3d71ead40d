"""Expressions of Flink's dialect, drawn by chance over a table that has a column of each type and edge values."""

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from tests.models.spark_expressions import QUERIES, Area, Grammar, of_queries

_UTC = dt.UTC
_NAN, _INF = float("nan"), float("inf")
# By the name of a column: its type, and its values, one for each row.
COLUMNS: Mapping[str, tuple[str, Sequence[Any]]] = {
    "b": ("BOOLEAN", (True, False, None, True, False)),
    "i8": ("TINYINT", (1, 0, None, -128, 127)),
    "i16": ("SMALLINT", (12, 0, None, -32768, 32767)),
    "i32": ("INT", (1, 0, None, -(2**31), 2**31 - 1)),
    "i64": ("BIGINT", (7, 0, None, -(2**63), 2**63 - 1)),
    "f32": ("FLOAT", (1.1, -0.0, None, _NAN, -_INF)),
    "f64": ("DOUBLE", (-2.5, -0.0, None, _NAN, _INF)),
    "d2": ("DECIMAL(10, 2)", (Decimal("1.50"), Decimal("0.00"), None, Decimal("-99999999.99"), Decimal("2.25"))),
    "d18": ("DECIMAL(38, 18)", (Decimal("1.000000000000000001"), Decimal(0), None,
            Decimal("-12345678901234567890.5"), Decimal(3))),
    "s": ("STRING", ("12", "", None, " x ", "ö")),
    "n": ("STRING", ("1e3", "NaN", None, " 7 ", "-1.5")),
    "c": ("CHAR(5)", ("ab   ", "     ", None, "12   ", "ö    ")),
    "v": ("VARCHAR(10)", ("a,b", "", None, "2024-02-29", "true")),
    "y": ("BYTES", (b"abc", b"", None, "ö".encode(), b"\xff\x00")),
    "dy": ("DATE", (dt.date(2024, 2, 29), dt.date(1970, 1, 1), None, dt.date(1582, 10, 15), dt.date(9999, 12, 31))),
    "clock": ("TIME(0)", (dt.time(12, 34, 56), dt.time(0), None, dt.time(23, 59, 59), dt.time(1, 2, 3))),
    "ts": ("TIMESTAMP_LTZ(6)", (dt.datetime(2024, 2, 29, 12, 34, 56, 789012, _UTC),
           dt.datetime(1970, 1, 1, tzinfo=_UTC), None, dt.datetime(1900, 1, 1, tzinfo=_UTC),
           dt.datetime(2200, 12, 31, 23, 59, 59, 500000, _UTC))),
    "tn": ("TIMESTAMP(6)", (dt.datetime(2024, 2, 29, 12, 34, 56, 789012), dt.datetime(1970, 1, 1), None,
           dt.datetime(1969, 12, 31, 23, 59, 59, 500000), dt.datetime(2038, 1, 19, 3, 14, 7))),
    "tm": ("TIMESTAMP(3)", (dt.datetime(2024, 2, 29, 12, 34, 56, 789000), dt.datetime(1970, 1, 1), None,
           dt.datetime(1969, 12, 31, 23, 59, 59, 500000), dt.datetime(2038, 1, 19, 3, 14, 7))),
    # Nanoseconds: Python has no digits behind microseconds.
    "tw": ("TIMESTAMP(9)", (1_709_210_096_789_012_345, 0, None, -500_000_001, 2_147_483_647_000_000_999)),
    "a": ("ARRAY<INT>", ([3, 1, 2], [], None, [1, None, 1], [None])),
    "m": ("MAP<STRING, INT>", ([("k", 1)], [], None, [("a", None)], [("b", 2), ("c", 3)])),
    "r": ("ROW<p INT, q STRING>", ({"p": 1, "q": "x"}, {"p": None, "q": ""}, None, {"p": -1, "q": None},
          {"p": 1, "q": "x"})),
}  # fmt: skip
ROWS = range(5)

_INTEGERS, _FRACTIONS = ("i8", "i16", "i32", "i64"), ("f32", "f64", "d2", "d18")
_TEXTS, _STAMPS = ("s", "n", "c", "v"), ("ts", "tn", "tm", "tw")
_LITERALS = ("1", "'1'", "2.5", "CAST(NULL AS INT)", "DATE '2024-02-29'", "TRUE")
_GROUPS: Mapping[str, Sequence[str]] = {
    "int": (*_INTEGERS, "1", "-3", "0"),
    "num": (*_INTEGERS, *_FRACTIONS, "2", "1.5", "-0.25", "CAST(7 AS BIGINT)", "1e0"),
    "text": (*_TEXTS, "'x'", "'12'"),
    "time": ("dy", *_STAMPS),
    "stamp": _STAMPS,
    "bool": ("b", "i32 > 0", "s IS NULL", "TRUE"),
    "atom": ("b", *_INTEGERS, *_FRACTIONS, *_TEXTS, "y", "dy", "clock", *_STAMPS, *_LITERALS),
    "any": tuple(COLUMNS),
    "array": ("a", "ARRAY[1, 3]", "ARRAY['b', 'a']"),
    "small": ("1", "2", "-1", "0", "i8"),
    "sign": ("=", "<>", "<", "<=", ">", ">="),
    "unit": ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"),
    "order": ("i32", "i64", "d18", "s", "c", "dy", "tn", "b"),  # Flink sorts NaN beside anything
}
_TYPES = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "DECIMAL(38, 18)",
    "DECIMAL(3, 1)", "STRING", "CHAR(5)", "VARCHAR(2)", "BYTES", "DATE", "TIME", "TIMESTAMP(3)", "TIMESTAMP",
    "TIMESTAMP_LTZ(3)",
)  # fmt: skip
_SHAPES: Mapping[Area, Sequence[str]] = {
    "operator": (
        *(f"{{num}} {sign} {{num}}" for sign in ("+", "-", "*", "/", "%")),
        *("{num} {sign} {num}", "{text} {sign} {text}", "{time} {sign} {time}", "{atom} {sign} {atom}") * 2,
        "{text} || {text}", "{atom} || {atom}", "{atom} + {atom}", "-({num})", "NOT {bool}",
        "{bool} AND {bool}", "{bool} OR {bool}", "{bool} IS NOT TRUE", "{bool} IS UNKNOWN",
        "{time} + INTERVAL '1' DAY", "{stamp} - INTERVAL '90' SECOND", "{time} + INTERVAL '13' MONTH",
        "{atom} IS DISTINCT FROM {atom}", "{num} + {num} * {num}", "({num} - {num}) / {num}",
    ),
    "cast": tuple(f"{cast}({{atom}} AS {kind})" for cast in ("CAST", "TRY_CAST") for kind in _TYPES),
    "condition": (
        "CASE WHEN {bool} THEN {atom} ELSE {atom} END", "CASE WHEN {bool} THEN {num} END",
        "CASE WHEN {bool} THEN {text} ELSE {text} END", "COALESCE({atom}, {atom})", "COALESCE({num}, {num})",
        "COALESCE({text}, 'x')", "IF({bool}, {num}, {num})", "IF({bool}, {text}, {text})", "{num} IN ({num}, {num})",
        "{text} IN ({text}, 'ö')", "NULLIF({num}, {num})", "NULLIF({text}, {text})", "NULLIF({atom}, {atom})",
        "{num} BETWEEN {num} AND {num}", "{time} BETWEEN {time} AND {time}", "{num} NOT IN (1, 2.5)",
        "{text} LIKE '%1%'", "{text} NOT LIKE '_'", "{atom} LIKE '%1%'", "CASE {num} WHEN {num} THEN 1 ELSE 2 END",
        "IFNULL({num}, {num})", "IFNULL({atom}, {atom})", "{any} IS NULL", "{any} IS NOT NULL",
        "{text} SIMILAR TO '[a-z0-9]*'", "GREATEST({num}, {num})", "LEAST({num}, {num})", "GREATEST({text}, {text})",
    ),
    "function": (
        *(f"{name}({{num}})" for name in ("ABS", "CEIL", "FLOOR", "ROUND", "SQRT", "EXP", "LN", "SIGN", "TRUNCATE",
                                          "LOG10", "LOG2", "SIN", "COS", "ATAN", "DEGREES", "TANH", "COT")),
        *(f"{name}({{num}}, {{num}})" for name in ("POWER", "MOD", "LOG", "ATAN2")),
        "ROUND({num}, 1)", "ROUND({num}, -1)", "TRUNCATE({num}, 1)", "TRUNCATE({num}, -1)", "HEX({int})", "BIN({int})",
        *(f"{name}({{text}})" for name in ("UPPER", "LOWER", "TRIM", "LTRIM", "RTRIM", "REVERSE", "INITCAP", "ASCII",
                                           "CHAR_LENGTH", "CHARACTER_LENGTH", "MD5", "SHA1", "SHA256", "TO_BASE64",
                                           "HEX", "IS_DECIMAL", "IS_DIGIT", "IS_ALPHA")),
        *(f"{name}({{atom}})" for name in ("CHAR_LENGTH", "UPPER", "ABS", "MD5", "YEAR", "CONCAT")),
        *(f"{name}({{text}}, {{small}})" for name in ("LEFT", "RIGHT", "REPEAT", "SUBSTRING", "SUBSTR")),
        "SUBSTRING({text}, {small}, {small})", "SUBSTRING({text} FROM 2 FOR 1)", "CONCAT({text}, {text})",
        "CONCAT({atom}, {atom})", "CONCAT_WS('-', {text}, {text})", "REPLACE({text}, '1', 'y')", "CHR({int})",
        "LPAD({text}, 4, '*')", "RPAD({text}, 4, '*')", "INSTR({text}, {text})", "LOCATE('b', {text})",
        "POSITION('b' IN {text})", "SPLIT_INDEX({text}, ',', {small})", "REGEXP({text}, '[0-9]')",
        "REGEXP_REPLACE({text}, '[0-9]', 'd')", "REGEXP_EXTRACT({text}, '([0-9])', 1)",
        "OVERLAY({text} PLACING 'zz' FROM 2)", "TRIM(LEADING ' ' FROM {text})", "STR_TO_MAP({text})",
        *(f"{name}({{time}})" for name in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAYOFYEAR", "DAYOFMONTH", "DAYOFWEEK",
                                           "HOUR", "MINUTE", "SECOND")),
        "EXTRACT({unit} FROM {time})", "EXTRACT({unit} FROM {time})", "FLOOR({time} TO {unit})",
        "CEIL({time} TO {unit})",
        "DATE_FORMAT({time}, 'yyyy-MM-dd HH:mm')", "TO_DATE({text})", "TO_TIMESTAMP({text})", "TO_DATE(v)",
        "TIMESTAMPDIFF({unit}, {time}, {time})", "TIMESTAMPADD({unit}, {small}, {time})",
        "FROM_UNIXTIME({int})", "UNIX_TIMESTAMP({text})", "TO_TIMESTAMP_LTZ({int}, 3)",
        "CARDINALITY({array})", "CARDINALITY(m)", "ARRAY_CONTAINS(a, {int})", "ARRAY_DISTINCT({array})", "a[1]",
        "m['k']", "r.p", "MAP_KEYS(m)", "MAP_VALUES(m)", "ARRAY_MAX({array})", "ARRAY_MIN({array})",
        "ARRAY_CONCAT(a, a)", "ARRAY[{num}, {num}]", "ARRAY_JOIN(ARRAY['b', 'a'], '-')", "ELEMENT(ARRAY[{num}])",
        "ARRAY_REVERSE({array})", "ARRAY_POSITION(a, {int})", "ARRAY_REMOVE(a, 1)", "ARRAY_SORT({array})",
        "ROW({num}, {text})", "MAP['p', {num}]", "TYPEOF({any})", "ARRAY_SLICE(a, 1, 2)", "ARRAY_UNION(a, a)",
    ),
    "aggregate": (
        *(f"{name}({{num}})" for name in ("SUM", "AVG", "MIN", "MAX", "STDDEV_POP", "STDDEV_SAMP", "VAR_POP",
                                          "VAR_SAMP")),
        *(f"{name}({{any}})" for name in ("COUNT", "FIRST_VALUE", "LAST_VALUE")),
        *(f"{name}(DISTINCT {{atom}})" for name in ("COUNT", "MIN")), "SUM(DISTINCT {num})", "COUNT(*)",
        "MIN({atom})", "MAX({atom})", "AVG(DISTINCT {num})", "COLLECT({text})", "ARRAY_AGG({num})",
        "SUM({num}) FILTER (WHERE {bool})", "COUNT({atom}) FILTER (WHERE {bool})", "MAX({text}) FILTER (WHERE FALSE)",
        "SUM({num}) / COUNT(*)", "SUM({num}) + 1", "COLLECT({num}) FILTER (WHERE id > 9)", "LISTAGG(s)",
    ),
    "window": (
        *(f"{name}() OVER (ORDER BY {{order}}, id)" for name in ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK")),
        *(f"{name}({{num}}) OVER (PARTITION BY b ORDER BY id)" for name in ("SUM", "AVG", "MIN", "MAX")),
        "LAG({any}) OVER (ORDER BY id)", "LEAD({num}) OVER (ORDER BY id)", "NTILE(2) OVER (ORDER BY id)",
        "FIRST_VALUE({num}) OVER (ORDER BY id)", "LAST_VALUE({num}) OVER (ORDER BY id)", "COUNT(*) OVER ()",
        "SUM({num}) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        "COUNT({any}) OVER (PARTITION BY {order})", "RANK() OVER (ORDER BY {order} DESC)",
        "CUME_DIST() OVER (ORDER BY {order})",
    ),
    "query": QUERIES,
}  # fmt: skip
FLINK = Grammar(_SHAPES, {**_GROUPS, **of_queries(COLUMNS, _GROUPS["order"])}, ("b", "i8", "c", "dy", "s", "d2"))
