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

_CHOICES = (
    "CASE WHEN {bool} THEN {%s} ELSE {%s} END", "COALESCE({%s}, {%s})", "IF({bool}, {%s}, {%s})",
    "NULLIF({%s}, {%s})", "IFNULL({%s}, {%s})", "CASE WHEN {bool} THEN {%s} WHEN {bool} THEN {%s} END",
)  # fmt: skip
# What gives a value of a group, out of others of them.
_INSIDE: Mapping[str, Sequence[str]] = {
    "int": (
        "({int} + {int})", "({int} - {int})", "({int} * {int})", "ABS({int})", "CHAR_LENGTH({text})",
        "CAST({num} AS INT)", "CAST({num} AS BIGINT)", "CAST({num} AS TINYINT)", "TRY_CAST({text} AS INT)",
        "EXTRACT({unit} FROM {time})", "YEAR({time})", "TIMESTAMPDIFF({unit}, {time}, {time})", "CARDINALITY({array})",
        "{array}[1]", "MOD({int}, 7)", "POSITION('b' IN {text})", "ASCII({text})", "SIGN({int})", "{row}.p", "-({int})",
        *(each.replace("%s", "int") for each in _CHOICES),
    ),
    "num": (
        *(f"({{num}} {sign} {{num}})" for sign in "+-*/"), "({int} % 7)", "ABS({num})", "CEIL({num})", "FLOOR({num})",
        "ROUND({num}, 1)", "TRUNCATE({num}, 1)", "SIGN({num})", "-({num})", "CAST({num} AS DECIMAL(10, 2))",
        "CAST({num} AS DECIMAL(38, 18))", "CAST({num} AS DECIMAL(5, 5))", "CAST({num} AS FLOAT)",
        "CAST({num} AS DOUBLE)", "CAST({int} AS DECIMAL(20, 0))", "TRY_CAST({text} AS DECIMAL(10, 2))",
        "TRY_CAST({text} AS DOUBLE)", "GREATEST({num}, {num})", "LEAST({num}, {num})", "MOD({int}, d2)",
        "SQRT({num})", "POWER({num}, 2)", "{int}", "{int}", "MAP['k', {num}]['k']",
        *(each.replace("%s", "num") for each in _CHOICES),
    ),
    "text": (
        "UPPER({text})", "TRIM({text})", "REVERSE({text})", "({text} || {text})", "CONCAT({text}, {text})",
        "SUBSTRING({text}, {small}, {small})", "SUBSTRING({text} FROM 2)", "LEFT({text}, {small})",
        "REPLACE({text}, '1', {text})", "LPAD({text}, 4, '*')", "CAST({num} AS STRING)", "CAST({num} AS VARCHAR(3))",
        "CAST({text} AS CHAR(3))", "CAST({text} AS VARCHAR(2))", "CAST({time} AS STRING)", "CAST({bool} AS STRING)",
        "CAST({stamp} AS STRING)", "CAST({clock} AS STRING)", "DATE_FORMAT({stamp}, 'yyyy-MM-dd HH:mm:ss')",
        "REGEXP_REPLACE({text}, '[0-9]', 'd')", "SPLIT_INDEX({text}, ',', 0)", "{row}.q",
        "CONCAT_WS('-', {text}, {text})",
        "ARRAY_JOIN(ARRAY[{text}, {text}], '-')", "ARRAY[{text}, {text}][1]", "MAP[1, {text}][1]", "REPEAT({text}, 2)",
        "INITCAP({text})", "OVERLAY({text} PLACING {text} FROM 2)", "CAST({bytes} AS STRING)",
        *(each.replace("%s", "text") for each in _CHOICES),
    ),
    "bytes": ("CAST({text} AS BYTES)", "COALESCE({bytes}, {bytes})", "CASE WHEN {bool} THEN {bytes} ELSE {bytes} END"),
    "day": (
        "CAST({stamp} AS DATE)", "{day} + INTERVAL '1' DAY", "{day} - INTERVAL '2' MONTH", "TRY_CAST({text} AS DATE)",
        "TO_DATE({text})", "FLOOR({day} TO MONTH)", "TIMESTAMPADD(DAY, {small}, {day})",
        *(each.replace("%s", "day") for each in _CHOICES),
    ),
    "stamp": (
        *(f"CAST({{stamp}} AS {kind})" for kind in ("TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
                                                    "TIMESTAMP_LTZ(0)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(9)")),
        "CAST({day} AS TIMESTAMP(3))", "CAST({day} AS TIMESTAMP_LTZ(3))", "TRY_CAST({text} AS TIMESTAMP(3))",
        "{stamp} + INTERVAL '1' DAY", "{stamp} - INTERVAL '1:30' MINUTE TO SECOND", "{stamp} + INTERVAL '1' MONTH",
        "{stamp} - INTERVAL '0.001' SECOND", "FLOOR({stamp} TO {unit})", "CEIL({stamp} TO {unit})",
        "TIMESTAMPADD({unit}, {small}, {stamp})", "TO_TIMESTAMP({text})", "TO_TIMESTAMP_LTZ({int}, 3)",
        *(each.replace("%s", "stamp") for each in _CHOICES),
    ),
    "clock": ("CAST({stamp} AS TIME)", "{clock} + INTERVAL '1' HOUR", "COALESCE({clock}, {clock})",
              "TRY_CAST({text} AS TIME)", "CASE WHEN {bool} THEN {clock} ELSE {clock} END"),
    "bool": (
        "({num} {sign} {num})", "({num} {sign} {num})", "({text} {sign} {text})", "({time} {sign} {time})",
        "({atom} {sign} {atom})", "({bool} AND {bool})", "({bool} OR {bool})", "(NOT {bool})", "({bool} IS NOT TRUE)",
        "({any} IS NULL)", "({num} BETWEEN {num} AND {num})", "({text} BETWEEN {text} AND {text})",
        "({stamp} BETWEEN {stamp} AND {stamp})", "({num} IN ({num}, {num}))", "({text} IN ({text}, {text}))",
        "({int} IN ({int}, {int}, 1))", "({text} NOT IN ('12', 'ö'))", "({text} LIKE '%1%')", "({text} LIKE {text})",
        "({text} NOT LIKE '_')", "({text} SIMILAR TO '[a-z0-9]*')", "({atom} IS DISTINCT FROM {atom})",
        "CAST({int} AS BOOLEAN)", "TRY_CAST({text} AS BOOLEAN)", "ARRAY_CONTAINS({array}, {int})",
        "COALESCE({bool}, FALSE)", "CASE WHEN {bool} THEN {bool} ELSE {bool} END", "({bool} = {bool})",
        "({stamp} IN ({stamp}, {stamp}))", "({day} IN ({day}, {day}))", "({bytes} = {bytes})",
        "REGEXP({text}, '[0-9]')", "({clock} < {clock})", "({array} = {array})", "({row} = {row})", "({map} = {map})",
    ),
    "array": (
        "ARRAY[{int}, {int}]", "ARRAY[CAST({int} AS INT)]", "ARRAY_CONCAT({array}, {array})", "ARRAY_DISTINCT({array})",
        "ARRAY_REVERSE({array})", "ARRAY_SORT({array})", "ARRAY_REMOVE({array}, {int})", "MAP_VALUES({map})",
        "ARRAY_UNION({array}, {array})", "CASE WHEN {bool} THEN {array} ELSE {array} END", "COALESCE({array}, {array})",
        "ARRAY_APPEND({array}, {int})", "ARRAY_SLICE({array}, 1, 2)", "ARRAY_EXCEPT({array}, {array})",
        "ARRAY_INTERSECT({array}, {array})", "CAST({array} AS ARRAY<BIGINT>)",
    ),
    "map": (
        "MAP[{text}, {int}]", "MAP['a', {int}, 'b', {int}]", "MAP_UNION({map}, {map})", "COALESCE({map}, {map})",
        "CASE WHEN {bool} THEN {map} ELSE {map} END", "STR_TO_MAP({text})", "MAP_FROM_ARRAYS(ARRAY['k'], ARRAY[{int}])",
    ),
    "row": ("COALESCE({row}, {row})", "CASE WHEN {bool} THEN {row} ELSE {row} END",
            "CAST(ROW({int}, {text}) AS ROW<p INT, q STRING>)"),
    "time": ("{day}", "{stamp}", "{stamp}"),
    "atom": ("{num}", "{int}", "{text}", "{bool}", "{day}", "{stamp}", "{clock}", "{bytes}"),
    "any": ("{num}", "{text}", "{bool}", "{day}", "{stamp}", "{clock}", "{bytes}", "{array}", "{map}", "{row}",
            "ROW({num}, {text})", "ARRAY[{text}, {text}]", "MAP[{text}, {num}]"),
}  # fmt: skip
NESTED = Grammar(
    _SHAPES,
    {**_GROUPS, **of_queries(COLUMNS, _GROUPS["order"]), "array": ("a",), "map": ("m",), "row": ("r",), "day": ("dy",),
     "bytes": ("y", "x'6162'"), "clock": ("clock",), "time": ("dy", *_STAMPS),
     "stamp": (*_STAMPS, "TIMESTAMP '2024-02-29 23:59:59.999'", "TIMESTAMP '1900-01-01 00:00:00'")},
    ("b", "i8", "c", "dy", "s", "d2"),
    _INSIDE,
)  # fmt: skip
"""Expressions inside of others."""
