"""What DuckDB says of a query, in our words and at the word of the statement.

A failed query is planned once more, for the place of the fault in DuckDB's text; the words there know theirs in the
user's.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from maintenance.errors import SqlError
from maintenance.sql.duckdb.duck_types import shown_type
from maintenance.sql.expressions.templates import Duck
from maintenance.sql.place import unknown_column
from maintenance.sql.query.case_names import plain
from maintenance.sql.query.resolve import Resolved

_EXPLAIN = "EXPLAIN "
_COLUMN = re.compile(r'column (?:named? )?"([^"]+)"')
_OPERATORS = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE"}


@dataclass(frozen=True, slots=True)
class Fault:
    """What failed. `word`: of the statement that it is about, empty if none is known; `is_call`: it is a function."""

    message: str
    word: str
    is_call: bool
    resolved: Resolved


Words = tuple[str, str]
"""What was found, and what to do."""


def explained(error: duckdb.Error, connection: duckdb.DuckDBPyConnection, query: str, resolved: Resolved) -> SqlError:
    """The error of a query that failed. `connection`: that still has the query's tables."""
    told = _told(connection, query)
    message = plain(str(told.get("exception_message") or str(error).split("Error: ", 1)[-1]).splitlines()[0])
    place = _place(resolved, query, told)
    text = resolved.source.text
    word, behind = ("", "") if place is None else (text[place[0] : place[1] + 1], text[place[1] + 1 :].lstrip())
    problem, fix = _worded(type(error), Fault(message, word, behind.startswith("("), resolved))
    if place is None:
        return SqlError(problem, "query", fix)
    return resolved.source.error(place[0], place[1] - place[0] + 1, problem, fix)


def _told(connection: duckdb.DuckDBPyConnection, query: str) -> Mapping[str, Any]:
    """What DuckDB tells when it plans the query again; nothing if it fails only when it runs."""
    try:
        connection.execute("SET errors_as_json = true")
        connection.execute(_EXPLAIN + query)
    except duckdb.Error as error:
        try:
            told = json.loads(str(error).split("Error: ", 1)[-1])
        except ValueError:
            return {}
        return told if isinstance(told, dict) else {}
    return {}


# Places


def _place(resolved: Resolved, query: str, told: Mapping[str, Any]) -> tuple[int, int] | None:
    """The first and last character of the word in the statement; None if none is known."""
    location = re.fullmatch(r"\[(\d+),(\d+)\]", str(told.get("location", "")))
    if location is None:
        return None
    # DuckDB counts bytes.
    start, end = (len(query.encode()[: int(place) - len(_EXPLAIN)].decode(errors="ignore"))
                  for place in (location[1], int(location[1]) + int(location[2])))  # fmt: skip
    marked = resolved.tree.copy()
    for node in marked.walk():
        node.comments = [f"{node.meta['start']}:{node.meta['end']}"] if "start" in node.meta else None
    given, beside = (_tokens(text) for text in (query, marked.sql(Duck, comments=True)))
    if [token.text for token in given] != [token.text for token in beside]:
        return None
    first = next((number for number, token in enumerate(given) if token.start <= start <= token.end), None)
    if first is None:
        return None
    last = max(number for number, token in enumerate(given) if token.start < max(end, start + 1))
    order = [_end_of_call(given, first), *range(first, last + 1)]
    marks = [mark for number in order for mark in beside[number].comments]
    places = [(int(a), int(b)) for a, _, b in (mark.strip().partition(":") for mark in marks) if a.isdigit()]
    # Of a column with the name of its table, the name that the fault is about.
    column = _COLUMN.search(plain(str(told.get("exception_message", ""))))
    text = resolved.source.text
    same = [(a, b) for a, b in places if column is not None and text[a : b + 1].strip("`").lower() == column[1].lower()]
    return next(iter([*same, *places]), None)


def _tokens(text: str) -> list[Any]:
    return DuckDB.Tokenizer(dialect=DuckDB).tokenize(text)


def _end_of_call(tokens: list[Any], first: int) -> int:
    """The bracket that closes the arguments of a function, which has its place; the token itself if it is none."""
    depth = 0
    if first + 1 < len(tokens) and tokens[first + 1].text == "(":
        for number in range(first + 1, len(tokens)):
            depth += (tokens[number].text == "(") - (tokens[number].text == ")")
            if depth == 0:
                return number
    return first


# Words


def _worded(kind: type[duckdb.Error], fault: Fault) -> Words:
    for pattern, words in _WORDS:
        found = pattern.search(fault.message)
        if found is not None:
            return words(found, fault)
    if any(node.is_string and node.name == fault.message for node in fault.resolved.tree.find_all(exp.Literal)):
        return fault.message, "The query raises this itself."
    about = f" in {fault.word.upper()}" if fault.is_call else f" at '{fault.word}'" if fault.word else ""
    for each, problem in _KINDS.items():
        if issubclass(kind, each):
            return f"{problem}{about}", "Check the types, functions and values there, or run it with `--engine spark`."
    return f"the query cannot be run{about}", "Check its types, functions and values."


_KINDS: Mapping[type[duckdb.Error], str] = {
    duckdb.ConversionException: "a value cannot be converted",
    duckdb.OutOfRangeException: "a value is out of the range of its type",
    duckdb.OutOfMemoryException: "there is not enough memory for the query",
    duckdb.ParserException: "the query cannot be read",
    duckdb.InvalidInputException: "a function is given a value that it does not take",
    duckdb.BinderException: "names or types of the query do not fit",
    duckdb.CatalogException: "something that the query names does not exist",
}


def _types(text: str) -> list[str]:
    """The types in a list, whose own brackets may have commas."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [shown_type(part) for part in parts if part.strip()]


def _no_such_arguments(found: re.Match[str], fault: Fault) -> Words:
    name, types = found[1], _types(found[2])
    if not name.replace("_", "").isalnum():
        return f"'{_OPERATORS.get(name, name)}' does not take {' and '.join(types)}", "Cast one of them."
    shown = fault.word if fault.is_call else name
    return f"{shown.upper()} does not take ({', '.join(types)})", "Cast the arguments, or give others."


def _no_such_function(found: re.Match[str], fault: Fault) -> Words:
    name = fault.word if fault.word.lower() == found[1].lower() else found[1]
    return f"function {name.upper()} is not supported", "Use another one."


def _no_such_table(found: re.Match[str], fault: Fault) -> Words:
    word = fault.word.strip("`")
    # A table of a subquery without the column is looked for around it, and not found there.
    if word.lower() != found[1].lower() and _nodes(fault, found[1]):
        return _missing(word, fault, found[1])
    return f"'{found[1]}' is not in FROM", "Name it there, or leave it out here."


def _no_such_column(found: re.Match[str], fault: Fault) -> Words:
    return _missing(found[1], fault)


def _not_in_table(found: re.Match[str], fault: Fault) -> Words:
    return _missing(found[2], fault, found[1])


def _missing(name: str, fault: Fault, table: str | None = None) -> Words:
    """A column that does not exist. `table`: as the query calls it; None: any."""
    resolved = fault.resolved
    sources = {key: [plain(field.name) for field in each.fields()] for key, each in resolved.relations.items()}
    for key, rows in resolved.bound.items():
        sources[key] = [plain(column) for column in rows.column_names if not column.startswith("_paimon")]
    wanted = set(sources) if table is None else {node.name for node in _nodes(fault, table)}
    columns = [column for key, names in sources.items() if key in wanted for column in names]
    if name in columns:
        return f"column '{name}' is not of what is read there", "Name its table in FROM, or a column of that."
    return unknown_column(name, sorted(set(columns)))


def _nodes(fault: Fault, alias: str) -> list[exp.Expr]:
    """The tables and queries that the query calls so."""
    nodes = fault.resolved.tree.find_all(exp.Table, exp.Subquery, exp.CTE)
    return [node for node in nodes if node.alias_or_name.lower() == alias.lower()]


def _of_several(found: re.Match[str], _: Fault) -> Words:
    return f"column '{found[1]}' may be of several tables", "Write the name of the table in front."


def _say(problem: str, fix: str) -> Callable[[re.Match[str], Fault], Words]:
    """The words with the parts of the message; types are ours."""

    def words(found: re.Match[str], _: Fault) -> Words:
        parts = [shown_type(part) if part.isupper() else part for part in found.groups(default="")]
        return problem.format(*parts), fix

    return words


_CAST = "Cast one of them."
_ONE_ROW = "Add LIMIT 1, or aggregate them."
_WORDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Fault], Words]], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"executing the UDF: \w+: (.*?) \((?:.*?)\)\. (.*)", lambda found, _: (found[1], found[2])),
        (r"(.*): run it with `--engine spark`", _say("{0}", "Run it with `--engine spark`.")),
        (r"(.*): run it in Flink", _say("{0}", "Run the statement in Flink.")),
        (r"Failure in decode", _say("bytes are not UTF-8", "Run it with `--engine spark`, whose texts keep them.")),
        (
            r"Map keys can ?not be NULL",
            _say("a map is given NULL as a key", "Leave out the rows where the key is NULL."),
        ),
        (r"Map keys must be unique", _say("a map is given a key twice", "Give each key once.")),
        (r"(?i)division by zero", _say("division by zero", "Divide by NULLIF(x, 0), which gives NULL.")),
        (r"No function matches the given name and argument types '([^(]+)\((.*)\)'", _no_such_arguments),
        (r"(?:Function|Macro) with name (?:\")?(\w+)(?:\")? does not exist", _no_such_function),
        (r"Referenced column \"(.*?)\" (?:was )?not found", _no_such_column),
        (r"(?:Table|Values list) \"(.*?)\" does not have a column named \"(.*?)\"", _not_in_table),
        (r"Referenced table \"(.*?)\" not found", _no_such_table),
        (r"extract field '(\w+)' from .*\"(\w+)\"", _say("'{1}' has no field '{0}'", "Leave it out.")),
        (r"Ambiguous reference to column name \"(.*?)\"", _of_several),
        (
            r"column \"(.*?)\" must appear in the GROUP BY clause",
            _say("column '{0}' is neither grouped nor aggregated", "Add it to GROUP BY, or take ANY_VALUE of it."),
        ),
        (r"Cannot compare values of type (.+?) and (?:type )?(.+?) -", _say("{0} and {1} cannot be compared", _CAST)),
        (r"Cannot mix values of type (.+?) and (.+?) in", _say("{0} and {1} cannot stand side by side", _CAST)),
        (r"UNNEST\(\) can only be applied to", _say("only arrays and maps can be exploded", "Give one.")),
        (r"[Cc]ast \((.+?) -> (.+?)\)", _say("{0} cannot be cast to {1}", "Use a value of that type.")),
        (r"Could not convert string '(.*)' to (\w+)", _say("'{0}' is not {1}", "Correct the value, or use TRY_CAST.")),
        (r"invalid \w+ field format: \"(.*?)\"", _say("'{0}' is not a time", "Write 2024-02-29 12:00:00.")),
        (r"field value out of range: \"(.*?)\"", _say("'{0}' is not a time", "Write 2024-02-29 12:00:00.")),
        (
            r"(?:Type|type) (\w+) with value (\S+) can't be cast .* destination type (\w+)",
            _say("{1} is out of the range of {2}", "Cast to a wider type."),
        ),
        (
            r"Overflow in \w+ of numeric",
            _say("a result is out of the range of its type", "Cast to a wider type first."),
        ),
        (r"Overflow in \w+ of (\w+)", _say("a result is out of the range of {0}", "Cast to a wider type first.")),
        (r"aggregate function calls cannot be nested", _say("an aggregate stands in another one", "Use a subquery.")),
        (r"(\w+) clause cannot contain aggregates", _say("{0} cannot contain an aggregate", "Use HAVING.")),
        (r"(\w+) clause cannot contain window functions", _say("{0} cannot contain a window", "Use a subquery.")),
        (r"[Ww]indow functions are not", _say("a function of windows stands without OVER", "Add OVER (…).")),
        (r"Subquery returns (\d+) columns", _say("a subquery gives {0} columns where one is needed", "Select one.")),
        (r"[Mm]ore than one row returned", _say("a subquery gives several rows where one is needed", _ONE_ROW)),
        (r"same number of result columns", _say("the sides have different numbers of columns", "Select as many.")),
        (r"ORDER term out of range", _say("ORDER BY names a column that is not selected", "Name one that is.")),
        (r"syntax error", _say("the query cannot be read", "Check the words around it.")),
        (r"DEFAULT", _say("DEFAULT is not a value here", "Write it as a whole value of INSERT, UPDATE or MERGE.")),
    )
)
