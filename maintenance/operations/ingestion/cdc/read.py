"""A file of messages: the rows of its changes, and the lines that are none.

DuckDB takes messages apart, all at once; numbers keep their own texts.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError, UnsupportedError
from maintenance.format.plain.json_lines import json_shape, misshapen, pointer, quoted, quoted_pointer
from maintenance.format.plain.json_numbers import with_marks, without_marks
from maintenance.format.plain.texts import with_leaves
from maintenance.operations.ingestion.cdc.form import Form, Leaf
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, DataType

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

KIND = "_paimon_row_kind"
_MOST_BAD = 1000
_PLACE = ("line", "position")
_LINES = "CREATE TABLE lines AS SELECT line, CAST(marked AS JSON) AS message FROM texts WHERE json_valid(text)"
_EVENTS = f"""
CREATE TABLE events AS SELECT *, passed IS NULL AND (
    problem IS NOT NULL OR kind IS NULL OR json_type(row) IS DISTINCT FROM 'OBJECT'
) AS is_bad FROM ({{}}) ORDER BY {", ".join(_PLACE)}
"""
_PROBLEMS = """
SELECT line, min(coalesce(problem, 'the change has no row, an object with the columns')) FROM events
WHERE is_bad GROUP BY line UNION ALL SELECT line, 'this is not JSON' FROM texts WHERE NOT json_valid(text)
"""
_PASSED = "SELECT passed, count(*) FROM events WHERE passed IS NOT NULL GROUP BY 1"
_KEYS = """
SELECT key, min(line) FROM (SELECT line, unnest(json_keys(row)) AS key FROM events WHERE kind IS NOT NULL)
GROUP BY key ORDER BY 2
"""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no change of the table. `line`: from 1."""

    line: int
    problem: str
    text: str


@dataclass(frozen=True, slots=True)
class ChangeRows:
    """The rows of a file, in the order of its lines, of an update the old row before the new one.

    Attributes:
        rows: the table's columns, and the kinds of the rows as texts in column `KIND`.
        passed: what lines without rows are, with the number of each.
    """

    rows: pa.Table
    bad: tuple[BadLine, ...]
    passed: Mapping[str, int]


def read_changes(
    data: bytes, fields: Sequence[DataField], form: Form, where: str, ignored: str | None = None
) -> ChangeRows:
    """The changes of a file.

    Args: `fields`: columns of the table; `ignored`: a key of rows that is no column.
    Raises: DataError: not UTF-8; more bad lines than come by accident; rows have a key that is no column;
        UnsupportedError: a column cannot be read from such messages.
    """
    import duckdb  # only files of messages need it

    _check_names(fields, where)
    lines = _lines(data, where)
    with duckdb.connect() as connection:
        connection.register("texts", lines)
        connection.execute(_LINES)
        connection.execute(_EVENTS.format(form.query), dict(form.arguments) or None)
        problems = dict(connection.execute(_PROBLEMS).fetchall())
        connection.execute("DELETE FROM events WHERE line IN (SELECT line FROM events WHERE is_bad)")
        passed = dict(connection.execute(_PASSED).fetchall())
        _check_keys(connection, {*(field.name for field in fields), ignored}, where)
        rows = _Rows(connection, fields, form, lines).table(problems)
    if len(problems) > _MOST_BAD:
        problem = f"{len(problems)} lines are bad, line {min(problems)} first: {problems[min(problems)]}"
        raise DataError(problem, where, "Check the format and the columns of the table.")
    texts = dict(zip(lines["line"].to_pylist(), lines["text"].to_pylist(), strict=True)) if problems else {}
    bad = tuple(BadLine(line, problems[line], texts[line]) for line in sorted(problems))
    return ChangeRows(rows, bad, passed)


def _check_names(fields: Sequence[DataField], where: str) -> None:
    first: dict[str, str] = {}
    for field in fields:
        other = first.setdefault(field.name.lower(), field.name)
        if other != field.name:
            problem = (
                f"columns '{other}' and '{field.name}' differ by case alone, and keys of JSON are not told apart by it"
            )
            raise UnsupportedError(problem, where, "Rename one of them, or deliver Parquet files.")


def _lines(data: bytes, where: str) -> pa.Table:
    """The lines that are not blank, with their numbers, and with marks."""
    try:
        whole = pa.array([data.decode()], pa.large_string())
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start} is not UTF-8", where, "Deliver the file again.") from error
    texts = pc.list_flatten(pc.split_pattern(whole, "\n"))
    table = pa.table({"line": pa.array(range(1, len(texts) + 1), pa.int64()), "text": texts})
    table = table.filter(pc.not_equal(pc.utf8_trim_whitespace(texts), ""))
    return table.append_column("marked", with_marks(table["text"]))


def _check_keys(connection: "DuckDBPyConnection", known: set[str | None], where: str) -> None:
    for key, line in connection.execute(_KEYS).fetchall():
        if key not in known:
            fix = f"Add column '{key}' to the table with ALTER TABLE first."
            raise DataError(f"the table has no column '{key}'", f"{where}, line {line}", fix)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of the events of a file. `lines`: all of them, as text."""

    connection: "DuckDBPyConnection"
    fields: Sequence[DataField]
    form: Form
    lines: pa.Table

    def table(self, problems: dict[int, str]) -> pa.Table:
        """Columns and kinds. Lines with a value that is none of its column's type are left out, as a problem each."""
        found = self.connection.execute("SELECT DISTINCT schema FROM events WHERE kind IS NOT NULL").fetchall()
        tables = [self._of_schema(schema, problems) for (schema,) in found]
        if not tables:
            kinds = pa.array([], pa.string())
            return pa.table({**{f.name: pa.array([], arrow_type(f.type)) for f in self.fields}, KIND: kinds})
        whole = pa.concat_tables(tables).sort_by([(name, "ascending") for name in _PLACE])
        bad = pc.is_in(whole["line"], pa.array(list(problems), pa.int64()))
        return whole.filter(pc.invert(bad)).drop_columns(list(_PLACE))

    def _of_schema(self, schema: str | None, problems: dict[int, str]) -> pa.Table:
        """The rows of the lines that say the same of types."""
        written = [self._written(field, schema) for field in self.fields]
        for field, kind in zip(self.fields, written, strict=True):
            for line in self._misshapen(field, kind, schema):
                problems.setdefault(line, f"column '{field.name}': no {field.type.as_nullable()}")
        events = self._texts(written, schema)
        columns = {name: events[name] for name in _PLACE}
        for number, (field, kind) in enumerate(zip(self.fields, written, strict=True)):
            texts = self._column(events, number, kind)
            values, wrong = _converted(texts, self._values(field, schema))
            for index, problem in wrong.items():
                problems.setdefault(events["line"][index].as_py(), f"column '{field.name}': {problem}")
            columns[field.name] = values
        return pa.table({**columns, KIND: events["kind"].cast(pa.string())})

    def _written(self, field: DataField, schema: str | None) -> pa.DataType:
        """The Arrow type of a column as messages hold it. Raises: as `text_type`."""
        return pa.string() if self._lists(field, schema) else text_type(field, raw_decimals=self.form.raw_decimals)

    def _lists(self, field: DataField, schema: str | None) -> Leaf | None:
        return self.form.list_in_text(field.name, schema) if field.type.root == "ARRAY" else None

    def _values(self, field: DataField, schema: str | None) -> Callable[[pa.Array], pa.Array]:
        """What makes values of the texts of a column."""
        lists = self._lists(field, schema)
        leaf = _Unmarked(self.form, lists or self.form.leaf(field.name, schema))
        return (lambda texts: leaf(texts, field.type)) if lists else lambda texts: _typed(texts, field, leaf)

    def _misshapen(self, field: DataField, written: pa.DataType, schema: str | None) -> list[int]:
        """Lines whose value of a column is not nested as its type is."""
        places = [self._place(part, field) for part in ("row", "old")]
        wrong = [misshapen(place, written) for place in places]
        if None in wrong:
            return []
        query = f"""
            SELECT DISTINCT line FROM events WHERE kind IS NOT NULL AND schema IS NOT DISTINCT FROM $schema
                AND ({" OR ".join(map(str, wrong))})
        """
        return [line for (line,) in self.connection.execute(query, {"schema": schema}).fetchall()]

    def _place(self, part: str, field: DataField) -> str:
        """DuckDB's expression of the JSON of a column."""
        place = f"json_extract({part}, {quoted_pointer(field.name)})"
        key = self._key_of_pairs(field)
        return place if key is None else _as_object(place, raw_keys=self.form.raw_decimals and key.root == "DECIMAL")

    def _key_of_pairs(self, field: DataField) -> DataType | None:
        """The type of a map's keys, if the map may be a list of pairs."""
        key = field.type.key if field.type.root == "MAP" and self.form.pairs else None
        return None if key is None or key.is_string else key

    def _texts(self, written: Sequence[pa.DataType], schema: str | None) -> pa.Table:
        """Events with the texts of their rows, of what they say of old rows, and of which columns they do."""
        types = pa.struct([(field.name, kind) for field, kind in zip(self.fields, written, strict=True)])
        paths = [pointer(field.name) for field in self.fields]
        row, old = (self._transformed(part, types) for part in ("row", "old"))
        query = f"""
            SELECT line, position, kind, {row} AS row, {old} AS old,
                list_transform($paths, lambda path: coalesce(json_exists(old, path), false)) AS said
            FROM events WHERE kind IS NOT NULL AND schema IS NOT DISTINCT FROM $schema ORDER BY line, position
        """
        found: pa.Table = self.connection.sql(query, params={"paths": paths, "schema": schema}).to_arrow_table()
        return found.combine_chunks()

    def _transformed(self, part: str, types: pa.StructType) -> str:
        """DuckDB's expression of the texts of all columns."""
        whole = f"json_transform({part}, '{_shape(types)}')"
        maps = [
            f"{quoted(field.name)} := json_transform({self._place(part, field)}, '{_shape(kind.type)}')"
            for field, kind in zip(self.fields, types, strict=True)
            if self._key_of_pairs(field)
        ]
        return f"struct_update({whole}, {', '.join(maps)})" if maps else whole

    def _column(self, events: pa.Table, number: int, kind: pa.DataType) -> pa.Array:
        row, old, said = (events[name].combine_chunks() for name in ("row", "old", "said"))
        texts, before = (pc.struct_field(part, [number]) for part in (row, old))
        is_old = pc.list_element(said, number)
        return pc.if_else(is_old, before, texts).cast(kind) if pc.any(is_old).as_py() else texts.cast(kind)


def _shape(kind: pa.DataType) -> str:
    return json.dumps(json_shape(kind)).replace("'", "''")


def _as_object(place: str, *, raw_keys: bool) -> str:
    """DuckDB's expression of a map as an object, if it is a list of pairs. `raw_keys`: keys become JSON in texts."""
    key = "CAST(pair->'$[0]' AS VARCHAR)" if raw_keys else "pair->>'$[0]'"
    pairs = _object(f"list_transform(json_extract({place}, '$[*]'), lambda pair: {{'k': {key}, 'v': pair->'$[1]'}})")
    given = place
    if raw_keys:
        value = f"json_extract({place}, '/' || replace(replace(name, '~', '~0'), '/', '~1'))"
        entry = f"{{'k': CAST(to_json(name) AS VARCHAR), 'v': {value}}}"
        names = f"CASE WHEN json_type({place}) = 'OBJECT' THEN json_keys({place}) ELSE [] END"
        given = (
            f"CASE WHEN json_type({place}) = 'OBJECT' THEN "
            f"{_object(f'list_transform({names}, lambda name: {entry})')} ELSE {place} END"
        )
    return f"CASE WHEN json_type({place}) = 'ARRAY' THEN coalesce({pairs}, {place}) ELSE {given} END"


def _object(entries: str) -> str:
    """NULL where keys are missing or the same."""
    return f"TRY(CAST(to_json(map_from_entries({entries})) AS JSON))"


def text_type(field: DataField, *, raw_decimals: bool = False) -> pa.DataType:
    """The Arrow type of a column whose leaves are texts. Raises: UnsupportedError: messages cannot hold it.

    Args: `raw_decimals`: leaves of decimals are bytes, as `json_shape` takes them.
    """

    def inside(of: DataType | None) -> pa.DataType:
        assert of is not None
        match of.root:
            case "ARRAY":
                return pa.list_(inside(of.element))
            case "MAP":
                return pa.map_(pa.string(), inside(of.value))
            case "ROW":
                return pa.struct([(part.name, inside(part.type)) for part in of.fields])
            case "MULTISET" | "VECTOR" | "VARIANT":
                problem = f"column '{field.name}' of type {of} cannot be read from JSON messages"
                raise UnsupportedError(problem, "JSON messages", "Deliver Parquet files.")
        return pa.binary() if raw_decimals and of.root == "DECIMAL" else pa.string()

    return inside(field.type)


@dataclass(frozen=True, slots=True)
class _Unmarked:
    """A leaf of texts that may have marks."""

    form: Form
    leaf: Leaf

    def __call__(self, texts: pa.Array, data_type: DataType) -> pa.Array:
        return self.leaf(without_marks(texts.cast(pa.string())), data_type)

    def inside(self, part: str) -> "_Unmarked":
        return _Unmarked(self.form, self.form.leaf_inside(self.leaf, part))


def _typed(texts: pa.Array, field: DataField, leaf: _Unmarked) -> pa.Array:
    return with_leaves(texts, field.type, lambda of: arrow_type(of, f"column {field.name}"), leaf, _Unmarked.inside)


def _converted(texts: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> tuple[pa.Array, dict[int, str]]:
    """The values of texts, null where there is none; and the problem of those, by their places."""
    try:
        return convert(texts), {}
    except DataError:
        candidates = texts if pa.types.is_nested(texts.type) else pc.unique(texts)
    wrong = _wrong(candidates, convert)
    place = pa.array(range(len(texts)), pa.int32()) if candidates is texts else pc.index_in(texts, candidates)
    number = pc.index_in(place, pa.array(list(wrong), place.type))
    problems = list(wrong.values())
    found = {index: problems[number[index].as_py()] for index in pc.indices_nonzero(pc.is_valid(number)).to_pylist()}
    kept = pc.if_else(pc.is_valid(number), pa.scalar(None, pa.int64()), pa.array(range(len(texts)), pa.int64()))
    return convert(texts.take(kept)), found


def _wrong(texts: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> dict[int, str]:
    """Which texts are no values, with the problem of each; found by halves."""
    try:
        convert(texts)
    except DataError as error:
        if len(texts) == 1:
            return {0: error.found}
    else:
        return {}
    half = len(texts) // 2
    first = _wrong(texts[:half], convert)
    if len(first) > _MOST_BAD:
        problem = next(iter(first.values()))
        fix = "Check that 'format' of the ingestion is the format of these files."
        raise DataError(f"more than {_MOST_BAD} values are wrong: {problem}", "messages", fix)
    return first | {half + index: problem for index, problem in _wrong(texts[half:], convert).items()}
