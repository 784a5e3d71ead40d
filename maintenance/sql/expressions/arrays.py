"""Functions of arrays, maps and rows. Source: Spark's `collectionOperations.scala`, `higherOrderFunctions.scala`."""

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from maintenance.sql.expressions import kinds, refusals
from maintenance.sql.expressions.declared import is_cut
from maintenance.sql.expressions.entries import FLINK, SPARK, Call, Entry, entry, solved
from maintenance.sql.expressions.kinds import array, map_of
from maintenance.sql.expressions.moments import moments
from maintenance.sql.expressions.ordering import in_order, least_of
from maintenance.sql.expressions.stamps import narrow
from maintenance.sql.expressions.templates import filled, renamed
from maintenance.sql.expressions.zeros import is_constant, is_float, unsigned
from maintenance.types.data_type import DataType

_DISTINCT = "list_filter({0}, lambda _e, _n: list_position({0}, _e) = _n)"
_STEPS = (
    "CASE WHEN c > 0 AND a <= b THEN range(a, b + 1, c) WHEN c < 0 AND a >= b THEN range(a, b - 1, c)"
    " WHEN c = 0 AND a = b THEN list_value(a) WHEN a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL"
    " THEN error('the step does not lead from the start to the end') END"
)
_ANY = (
    "CASE WHEN a IS NULL THEN NULL WHEN len(list_filter(a, b)) > 0 THEN TRUE"
    " WHEN list_contains(list_transform(list_transform(a, b), lambda _x: _x IS NULL), TRUE) THEN NULL ELSE FALSE END"
)
_ALL = (
    "CASE WHEN a IS NULL THEN NULL WHEN list_contains(list_transform(a, b), FALSE) THEN FALSE"
    " WHEN list_contains(list_transform(list_transform(a, b), lambda _x: _x IS NULL), TRUE) THEN NULL ELSE TRUE END"
)
_CONTAINS = (
    "CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN list_contains(a, b) THEN TRUE"
    " WHEN len(list_filter(a, lambda _e: _e IS NULL)) > 0 THEN NULL ELSE FALSE END"
)
_AT = (
    "CASE WHEN a IS NULL THEN NULL WHEN b = 0 THEN error('the index 0 is invalid')"
    " WHEN abs(b) > len(a) THEN {0} ELSE list_extract(a, b) END"
)
_OUT = "error('the index is out of the array; try_element_at gives NULL there')"
_INSERTED = (
    "CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN b = 0 THEN error('the index 0 is invalid')"
    " WHEN b > 0 THEN flatten(list_value(list_resize(list_slice(a, 1, b - 1), b - 1), list_value(c),"
    " list_slice(a, b, len(a)))) WHEN -b > len(a)"
    " THEN flatten(list_value(list_value(c), list_resize(list_slice(a, 1, 0), -b - len(a) - 1), a))"
    " ELSE flatten(list_value(list_slice(a, 1, len(a) + b + 1), list_value(c), list_slice(a, len(a) + b + 2, len(a))))"
    " END"
)
# A place that is 0 is the first one, and one below counts from the end.
_PLACE = "(CASE WHEN {0} < 0 THEN len(a) + {0} + 1 WHEN {0} = 0 THEN 1 ELSE {0} END)"
_SLICE = (
    f"CASE WHEN len(a) IS NULL OR b IS NULL OR UNTIL IS NULL THEN NULL WHEN greatest({_PLACE.format('b')}, 1) > UNTIL"
    f" THEN list_slice(a, 1, 0) ELSE list_slice(a, greatest({_PLACE.format('b')}, 1), UNTIL) END"
)
_SEQUENCE = "CASE WHEN a <= b THEN range(a, b + 1, {0}) ELSE range(a, b - 1, {1}) END"


def _map_kind(call: Call) -> DataType | None:
    found = call.kinds
    if len(found) % 2 or not (call.is_flink or all(kinds.are_named_alike(found[n::2]) for n in (0, 1))):
        return None
    key, value = (kinds.widest(found[n::2], is_flink=call.is_flink) for n in (0, 1))
    if call.is_flink and any(kind is not None and kind.root in ("TINYINT", "SMALLINT") for kind in (key, value)):
        return None  # Flink fails when it makes one
    return None if key is None or value is None else map_of(key, value)


def _mapped(call: Call) -> exp.Expr:
    assert call.kind.key is not None
    assert call.kind.value is not None
    keys = [call.typing.in_type(each, call.kind.key) for each in call.arguments[::2]]
    # Spark takes the sign from a zero where it makes a map before the query runs.
    if not call.is_flink and is_constant(call.written) and is_float(call.kind.key):
        keys = [unsigned(key, call.kind.key) for key in keys]
    values = [call.typing.in_type(each, call.kind.value) for each in call.arguments[1::2]]
    lists = [exp.Anonymous(this="list_value", expressions=each) for each in (keys, values)]
    return exp.Anonymous(this="map", expressions=lists)


def _keys_of(call: Call, keys: exp.Expr) -> exp.Expr:
    """The keys of a map that is made of others or of entries: zeros have no sign, but for those in rows and arrays."""
    assert call.kind.key is not None
    return unsigned(keys, array(call.kind.key)) if is_float(call.kind.key) else keys


def _maps_joined(call: Call) -> exp.Expr:
    """`map_concat`: a key that is there twice is an error."""
    template = "CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN map(k, list_concat(map_values(a), map_values(b))) END"
    made = call.nodes[0]
    for node in call.nodes[1:]:
        keys = filled("list_concat(map_keys(a), map_keys(b))", {"a": made.copy(), "b": node.copy()})
        made = filled(template, {"a": made, "b": node, "k": _keys_of(call, keys)})
    return made


def _item_kind(call: Call) -> DataType | None:
    of = call.kinds[0]
    return of.value if of.root == "MAP" else of.element


def _item(call: Call) -> exp.Expr:
    """``a[i]``: an array counts from 0 in Spark, and from 1 in Flink; what is not there is an error in Spark."""
    value, place = call.arguments
    if value.kind.root == "MAP":
        assert value.kind.key is not None
        key = call.typing.in_type(place, value.kind.key)
        return filled("map_extract_value(a, b)", {"a": value.node, "b": key})
    whole = call.typing.in_type(place, kinds.INT)
    if call.is_flink:
        return filled("CASE WHEN b > 0 THEN list_extract(a, b) END", {"a": value.node, "b": whole})
    template = f"CASE WHEN b < 0 OR b >= len(a) THEN {_OUT} ELSE list_extract(a, b + 1) END"
    return filled(template, {"a": value.node, "b": whole})


def _zipped_kind(call: Call) -> DataType | None:
    parts = []
    for number, argument in enumerate(call.arguments):
        plain, element = argument.written.unnest(), argument.kind.element
        if element is None:
            return None  # a NULL
        parts.append((plain.name if isinstance(plain, exp.Column) else str(number), element))
    return array(kinds.row(parts))


def _reduced(call: Call) -> exp.Expr:
    """`aggregate`: what is gathered may have another type than the elements, so both go through one row."""
    values, start, merge = call.arguments[:3]
    accumulated, element = (name.name for name in merge.node.expressions)
    body = merge.node.this
    for column in list(body.find_all(exp.Column)):
        for name, part in ((accumulated, "paimon_sum"), (element, "paimon_part")):
            if column.name == name and not column.table:
                of = "_s" if part == "paimon_sum" else "_t"
                column.replace(filled(f"struct_extract({of}, '{part}')", {}))
    body = merge.node.this
    kind = call.bound["U"]
    from maintenance.sql.expressions.conversions import cast_node

    assert values.kind.element is not None
    start_row = exp.Struct(expressions=[
        exp.PropertyEQ(this=exp.to_identifier("paimon_sum"), expression=cast_node(start.node, kind)),
        exp.PropertyEQ(this=exp.to_identifier("paimon_part"), expression=cast_node(exp.Null(), values.kind.element)),
    ])  # fmt: skip
    merged = exp.Struct(expressions=[
        exp.PropertyEQ(this=exp.to_identifier("paimon_sum"), expression=cast_node(body, kind)),
        exp.PropertyEQ(this=exp.to_identifier("paimon_part"), expression=cast_node(exp.Null(), values.kind.element)),
    ])  # fmt: skip
    rows = exp.Struct(expressions=[
        exp.PropertyEQ(this=exp.to_identifier("paimon_sum"), expression=cast_node(exp.Null(), kind)),
        exp.PropertyEQ(this=exp.to_identifier("paimon_part"), expression=filled("_e", {})),
    ])  # fmt: skip
    listed = filled("list_transform(a, lambda _e: r)", {"a": values.node, "r": rows})
    made = filled(
        "struct_extract(list_reduce(l, lambda _s, _t: m, s), 'paimon_sum')", {"l": listed, "m": merged, "s": start_row}
    )
    if len(call.arguments) < 4:
        return made
    finish = call.arguments[3].node
    (name,) = finish.expressions
    return filled(
        "list_extract(list_transform(list_value(m), f), 1)",
        {"m": made, "f": exp.Lambda(this=finish.this, expressions=[name], colon=True)},
    )


def _finished_kind(call: Call) -> DataType:
    return call.arguments[3].kind if len(call.arguments) > 3 else call.bound["U"]


# Named as DuckDB names them; the engines have none.
_DISTANCES = ("array_distance", "array_cosine_distance", "array_cosine_similarity", "array_inner_product")


def _counted(call: Call) -> exp.Expr:
    from maintenance.sql.expressions.conversions import cast_node

    made = filled(
        _SEQUENCE.format("1", "-1"),
        {"a": cast_node(call.nodes[0], kinds.BIGINT), "b": cast_node(call.nodes[1], kinds.BIGINT)},
    )
    return cast_node(made, call.kind)


def _zipped(call: Call) -> exp.Expr:
    from maintenance.sql.expressions.conversions import cast_node

    template = " AND ".join(f"{place} IS NOT NULL" for place in "abcdefgh"[: len(call.nodes)])
    made = cast_node(exp.Anonymous(this="list_zip", expressions=[node.copy() for node in call.nodes]), call.kind)
    return filled(f"CASE WHEN {template} THEN z END", {**dict(zip("abcdefgh", call.nodes, strict=False)), "z": made})


def _entries_kind(call: Call) -> DataType | None:
    element = call.kinds[0].element
    fields = () if element is None else element.fields
    return map_of(fields[0].type, fields[1].type) if len(fields) == 2 else None


def _from_entries(call: Call) -> exp.Expr:
    keys, values = (
        filled(f"list_transform(a, lambda _e: struct_extract_at(_e, {n}))", {"a": call.nodes[0].copy()}) for n in (1, 2)
    )
    made = exp.Anonymous(this="map", expressions=[_keys_of(call, keys), values])
    # An entry that is NULL makes all of it NULL, whatever the others are.
    template = "CASE WHEN len(list_filter(a, lambda _e: _e IS NULL)) = 0 THEN m END"
    return filled(template, {"a": call.nodes[0].copy(), "m": made})


def _with(body: exp.Expr, templates: Mapping[str, str], parts: Mapping[str, exp.Expr] | None = None) -> exp.Expr:
    """The body of a lambda with others in the place of its arguments."""

    def change(node: exp.Expr) -> exp.Expr | None:
        is_own = isinstance(node, exp.Column) and not node.table and node.name in templates
        return filled(templates[node.name], {k: v.copy() for k, v in (parts or {}).items()}) if is_own else None

    return renamed(body, change)


def _zipped_with(call: Call) -> exp.Expr:
    """`zip_with`: the shorter array ends with nulls."""
    one, other, made = call.nodes
    names = [name.name for name in made.expressions]
    body = _with(made.this, {name: f"struct_extract_at(_e, {n})" for n, name in enumerate(names, start=1)})
    template = "CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN list_transform(list_zip(a, b), lambda _e: c) END"
    return filled(template, {"a": one, "b": other, "c": body})


def _maps_zipped(call: Call) -> exp.Expr:
    """`map_zip_with`: all keys of both, in their order."""
    one, other, made = call.nodes
    names = [name.name for name in made.expressions]
    values = ("_e", "map_extract_value(m, _e)", "map_extract_value(n, _e)")
    body = _with(made.this, dict(zip(names, values, strict=False)), {"m": one, "n": other})
    keys = _keys_of(call, filled(_DISTINCT.format("list_concat(map_keys(a), map_keys(b))"), {"a": one, "b": other}))
    made = filled("map(k, list_transform(k, lambda _e: v))", {"k": keys, "v": body})
    template = "CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN m END"
    return filled(template, {"a": one.copy(), "b": other.copy(), "m": made})


def _stepped(call: Call) -> exp.Expr:
    """`sequence` with a step."""
    from maintenance.sql.expressions.conversions import cast_node

    parts = {place: cast_node(node, kinds.BIGINT) for place, node in zip("abc", call.nodes, strict=True)}
    return cast_node(filled(_STEPS, parts), call.kind)


def _moments_kind(call: Call) -> DataType | None:
    """What both times become; intervals of one kind lead from one to the other."""
    common = kinds.widest([narrow(value).kind for value in call.arguments[:2]], is_flink=False)
    return None if common is None else array(common)


def _maps_united(call: Call) -> exp.Expr:
    """`MAP_UNION`, of which each map is there."""
    there = exp.and_(*(filled("a IS NOT NULL", {"a": node.copy()}) for node in call.nodes))
    return exp.Case(ifs=[exp.If(this=there, true=exp.Anonymous(this="map_concat", expressions=call.nodes))])


def _of_entries(call: Call, what: str) -> exp.Expr:
    """A lambda of a key and its value, over the entries of a map."""
    node, made = call.nodes[0], call.nodes[1]
    names = [name.name for name in made.expressions]
    body = _with(
        made.this, dict(zip(names, ("struct_extract(_e, 'key')", "struct_extract(_e, 'value')"), strict=False))
    )
    if what == "filter":
        return filled("map_from_entries(list_filter(map_entries(a), lambda _e: b))", {"a": node, "b": body})
    changed = filled("list_transform(map_entries(a), lambda _e: b)", {"a": node, "b": body})
    kept = filled(f"map_{'keys' if what == 'values' else 'values'}(a)", {"a": node.copy()})
    return exp.Anonymous(this="map", expressions=[kept, changed] if what == "values" else [changed, kept])


_JOINED = "paimon_joined(list_filter(a, lambda _e: _e IS NOT NULL), b)"
_FILLED = "paimon_joined(list_transform(a, lambda _e: COALESCE(_e, c)), b)"


def _of_texts(call: Call, template: str) -> exp.Expr:
    """An array whose elements become texts first."""
    texts = call.typing.in_type(call.arguments[0], array(kinds.STRING))
    return filled(template, dict(zip("abc", [texts, *call.nodes[1:]], strict=False)))


def _as_sets(template: str) -> Callable[[Call], exp.Expr]:
    """Of arrays whose elements are compared: in Spark zeros have no sign there, in Flink each NaN is another one."""

    def says(call: Call) -> exp.Expr:
        element = call.kinds[0].element
        if call.is_flink and element is not None and element.root in ("FLOAT", "DOUBLE"):
            of_floats = template.replace(" = _n)", " = _n OR isnan(_e))")
            return filled(of_floats, dict(zip("ab", call.nodes, strict=False)))
        nodes = [each.node if call.is_flink else unsigned(each.node, each.kind) for each in call.arguments]
        return filled(template, dict(zip("ab", nodes, strict=False)))

    return says


# The place of each element counts those in front of it; what compares as equal keeps its order. Below 32 elements Java
# asks only how a later one compares with an earlier one. Where the places are 0, 1, 2 … the answers are an order, and
# each way to sort gives the same; otherwise the result depends on Java's way.
_BEFORE = (
    "len(list_filter(range(1, len(a) + 1), lambda _j: CASE WHEN _j = _i THEN NULL"
    " WHEN len(a) >= 32 AND (c < 0) <> (d > 0) THEN {0} ELSE (c < 0) = (_j > _i) END))"
)
_SORTED = (
    "list_transform(list_sort(list_transform(range(1, len(a) + 1), lambda _i: {{'place': {0}, 'at': _i}})),"
    " lambda _s, _n: CASE WHEN struct_extract(_s, 'place') = _n - 1"
    " THEN list_extract(a, struct_extract(_s, 'at')) ELSE {1} END)"
)
_NO_ORDER = "error('the function of ARRAY_SORT gives no order: run it with `--engine spark`')"
_COMPARED = "CASE WHEN c IS NULL THEN error('the function of ARRAY_SORT gives NULL') ELSE c END"


def _sorted_by(call: Call) -> exp.Expr:
    """`array_sort` by a function that compares two elements."""
    values, compare = call.nodes
    names = [name.name for name in compare.expressions]
    if len(names) < 2:
        what = "ARRAY_SORT by a lambda of one argument"
        raise refusals.unsupported(call.typing.source, call.written, what, "Write (x, y) -> ….")
    later, earlier = ("list_extract(a, greatest(_i, _j))", "list_extract(a, least(_i, _j))")
    compared = []
    for places in ((later, earlier), (earlier, later)):
        body = _with(compare.this.copy(), dict(zip(names, places, strict=True)), {"a": values})
        compared.append(filled(_COMPARED, {"c": body}))
    template = _SORTED.format(_BEFORE.format(_NO_ORDER), _NO_ORDER)
    return filled(template, {"a": values, "c": compared[0], "d": compared[1]})


def _whole(gives: str) -> Callable[[Call], DataType | None]:
    """The type of a function of an array and a value, in Flink if the value loses nothing as one of its elements."""

    def kind(call: Call) -> DataType | None:
        return None if call.is_flink and is_cut(*call.arguments) else solved(gives, call.bound)

    return kind


def _but_nan(template: str) -> Callable[[Call], exp.Expr]:
    """A template of an array and a value in Flink, to which no NaN is the same as another. ``{0}``: it is none."""

    def says(call: Call) -> exp.Expr:
        is_floating = call.kinds[1].root in ("FLOAT", "DOUBLE")
        known = template.format("(NOT isnan(b))" if is_floating else "TRUE")
        return filled(known, {"a": call.nodes[0], "b": call.nodes[1]})

    return says


def _unless_null(gives: str) -> Callable[[Call], DataType | None]:
    """Spark looks for no NULL that has no type, and takes none as a place."""
    return lambda call: None if isinstance(call.arguments[1].written.unnest(), exp.Null) else solved(gives, call.bound)


def _concatenated(call: Call) -> exp.Expr:
    """Arrays one behind the other, if none of them is NULL."""
    made = filled("flatten(list_value(rest))", {}, call.nodes)
    there = exp.and_(*(filled("a IS NOT NULL", {"a": node.copy()}) for node in call.nodes))
    return exp.Case(ifs=[exp.If(this=there, true=made)])


_RISING = "list_sort(a, 'ASC', 'NULLS FIRST')"

ENTRIES: Sequence[Entry] = (
    entry("array", "T...?", "ARRAY<T>", "list_value(rest)"),
    entry("map", "ANY...?", _map_kind, _mapped, samples=("f64, b", "'a', s, 'b', k")),
    entry("[]", "ARRAY|VECTOR|MAP, ANY", _item_kind, _item),
    entry("get", "ARRAY<T>, INT", "T", "CASE WHEN b >= 0 THEN list_extract(a, b + 1) END", SPARK),
    entry("element_at", "ARRAY<T>, INT", _unless_null("T"), _AT.format(_OUT), SPARK),
    entry("element_at", "MAP<K, V>, K", "V", "map_extract_value(a, b)", SPARK),
    entry("try_element_at", "ARRAY<T>, INT", _unless_null("T"), _AT.format("NULL"), SPARK),
    entry("try_element_at", "MAP<K, V>, K", "V", "map_extract_value(a, b)", SPARK),
    entry("element", "ARRAY<T>", "T", "list_extract(a, 1)", FLINK),
    entry("cardinality", "ARRAY", "INT", "CAST(len(a) AS INTEGER)"),
    entry("cardinality", "MAP", "INT", "CAST(cardinality(a) AS INTEGER)"),
    entry("size", "ARRAY", "INT", "CAST(len(a) AS INTEGER)", SPARK),
    entry("size", "MAP", "INT", "CAST(cardinality(a) AS INTEGER)", SPARK),
    entry("array_size", "ARRAY", "INT", "CAST(len(a) AS INTEGER)", SPARK),
    entry("array_contains", "ARRAY<T>, T", _unless_null("BOOLEAN"), _CONTAINS, SPARK),
    entry("array_contains", "ARRAY<T>, T", _whole("BOOLEAN"),
          _but_nan("CASE WHEN b IS NULL THEN len(list_filter(a, lambda _e: _e IS NULL)) > 0"
                   " ELSE list_contains(a, b) AND {0} END"), FLINK),
    entry("array_distinct", "ARRAY<T>", "ARRAY<T>", _as_sets(_DISTINCT.format("a"))),
    entry("array_position", "ARRAY<T>, T", "BIGINT", "CASE WHEN a IS NULL OR b IS NULL THEN NULL ELSE"
          " CAST(COALESCE(list_position(a, b), 0) AS BIGINT) END", SPARK),
    entry("array_position", "ARRAY<T>, T", _whole("INT"),
          _but_nan("CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN"
                   " CAST(COALESCE(CASE WHEN {0} THEN list_position(a, b) END, 0) AS INTEGER) END"), FLINK),
    entry("array_remove", "ARRAY<T>, T", "ARRAY<T>",
          "CASE WHEN b IS NOT NULL THEN list_filter(a, lambda _e: _e IS DISTINCT FROM b) END", SPARK),
    entry("array_remove", "ARRAY<T>, T", _whole("ARRAY<T>"),
          _but_nan("list_filter(a, lambda _e: _e IS DISTINCT FROM b OR NOT {0})"), FLINK),
    entry("array_reverse", "ARRAY<T>", "ARRAY<T>", "list_reverse(a)", FLINK),
    entry("reverse", "ARRAY<T>", "ARRAY<T>", "list_reverse(a)", SPARK),
    entry("array_concat", "ARRAY<T>, ARRAY<T>...?", "ARRAY<T>", _concatenated, FLINK),
    entry("array_sort", "ARRAY<ATOMIC>", "1", _RISING, FLINK),
    entry("array_union", "ARRAY<T>, ARRAY<T>", "ARRAY<T>", _as_sets(
          f"CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN {_DISTINCT.format('list_concat(a, b)')} END")),
    entry("array_intersect", "ARRAY<T>, ARRAY<T>", "ARRAY<T>", _as_sets(
          f"CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN list_filter({_DISTINCT.format('a')},"
          " lambda _x: list_position(b, _x) IS NOT NULL) END"), SPARK),
    entry("array_except", "ARRAY<T>, ARRAY<T>", "ARRAY<T>", _as_sets(
          f"CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN list_filter({_DISTINCT.format('a')},"
          " lambda _x: list_position(b, _x) IS NULL) END"), SPARK),
    entry("array_append", "ARRAY<T>, T", _whole("ARRAY<T>"), "CASE WHEN a IS NOT NULL THEN list_append(a, b) END"),
    entry("array_prepend", "ARRAY<T>, T", _whole("ARRAY<T>"), "CASE WHEN a IS NOT NULL THEN list_prepend(b, a) END"),
    entry("array_insert", "ARRAY<T>, INT, T", "ARRAY<T>", _INSERTED, SPARK,
          samples=("a, 1, 9", "a, -1, 9", "a, 5, k", "a, -4, k")),
    entry("array_compact", "ARRAY<T>", "ARRAY<T>", "list_filter(a, lambda _e: _e IS NOT NULL)", SPARK),
    # The first of those that are equal, as are the zeros of both signs.
    *(entry(f"array_{name}", "ARRAY<FLOATING>", lambda call: call.kinds[0].element,
            f"list_extract(a, list_position(a, list_{name}(a)))")
      for name in ("max", "min")),
    *(entry(f"array_{name}", "ARRAY<T>", "T", least_of(f"list_{name}(a)", greatest=name == "max"))
      for name in ("max", "min")),
    entry("array_join", "ARRAY<STRING>, STRING=", "STRING", _JOINED),
    entry("array_join", "ARRAY<STRING>, STRING=, STRING=", "STRING", _FILLED, SPARK),
    entry("array_join", "ARRAY<STRING>, STRING, STRING", "STRING", f"CASE WHEN c IS NOT NULL THEN {_FILLED} END",
          FLINK),
    entry("array_join", "ARRAY<T>, STRING=", "STRING", lambda call: _of_texts(call, _JOINED), SPARK),
    entry("array_join", "ARRAY<T>, STRING=, STRING=", "STRING", lambda call: _of_texts(call, _FILLED), SPARK),
    entry("array_repeat", "ANY, INT=", lambda call: array(call.kinds[0]), "CASE WHEN b IS NOT NULL THEN"
          " list_transform(range(CAST(paimon_not_negative(b) AS BIGINT)), lambda _i: a) END", SPARK),
    entry("sort_array", "ARRAY<T>", "ARRAY<T>", in_order(_RISING), SPARK),
    entry("sort_array", "ARRAY<T>, BOOLEAN!", "ARRAY<T>", lambda call: filled(
          "CASE WHEN b THEN u WHEN NOT b THEN d END", {"b": call.nodes[1], "u": in_order(_RISING)(call),
          "d": in_order("list_sort(a, 'DESC', 'NULLS LAST')", descending=True)(call).copy()}), SPARK),
    entry("array_sort", "ARRAY<T>", "ARRAY<T>", in_order("list_sort(a, 'ASC', 'NULLS LAST')", nulls_last=True), SPARK),
    entry("array_sort", "ARRAY<T>, (T, T) -> INT", "ARRAY<T>", _sorted_by, SPARK,
          samples=("a, (x, y) -> CASE WHEN x < y THEN 1 WHEN x > y THEN -1 ELSE 0 END",)),
    entry("array_slice", "ARRAY<T>, INT", "ARRAY<T>", _SLICE.replace("UNTIL", "len(a)"), FLINK,
          samples=("a, 2", "a, -1")),
    entry("array_slice", "ARRAY<T>, INT, INT", "ARRAY<T>", _SLICE.replace("UNTIL", _PLACE.format("c")), FLINK,
          samples=("a, 1, 2", "a, -2, -1", "a, 3, 9")),
    entry("slice", "ARRAY<T>, INT, INT", "ARRAY<T>",
          "CASE WHEN a IS NULL OR b IS NULL OR c IS NULL THEN NULL"
          " WHEN b = 0 THEN error('the start 0 is invalid') WHEN c < 0 THEN"
          " error('the length is negative') WHEN b > 0 THEN list_slice(a, b, b + c - 1) WHEN b < -len(a) THEN"
          " list_slice(a, 1, 0) ELSE list_slice(a, len(a) + b + 1, len(a) + b + c) END", SPARK),
    entry("flatten", "ARRAY<ARRAY<T>>", "ARRAY<T>",
          "CASE WHEN len(list_filter(a, lambda _e: _e IS NULL)) = 0 THEN flatten(a) END", SPARK),
    entry("arrays_overlap", "ARRAY<T>, ARRAY<T>", "BOOLEAN",
          "CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN list_has_any(a, b) THEN TRUE"
          " WHEN len(a) > 0 AND len(b) > 0 AND (len(list_filter(a, lambda _e: _e IS NULL)) > 0 OR"
          " len(list_filter(b, lambda _f: _f IS NULL)) > 0) THEN NULL ELSE FALSE END", SPARK),
    entry("arrays_zip", "ARRAY, ARRAY...?", _zipped_kind, _zipped, SPARK),
    entry("sequence", "INTEGER, INTEGER", lambda call: array(kinds.widest_number(call.kinds[0], call.kinds[1],
          is_flink=False)),
          _counted, SPARK, samples=("1, 5", "5, 1", "k, 3")),
    entry("sequence", "INTEGER, INTEGER, INTEGER", lambda call: array(kinds.widest(call.kinds, is_flink=False)
          or kinds.BIGINT), _stepped, SPARK, samples=("1, 9, 2", "k, 3, 2", "9, k, -2")),
    entry("sequence", "TIME, TIME, INTERVAL?", _moments_kind, moments, SPARK,
          samples=("day, DATE'2024-03-05'", "ts, TIMESTAMP'2024-03-01 00:00:00', INTERVAL 1 DAY",
                   "DATE'2024-01-31', DATE'2024-06-01', INTERVAL 1 MONTH")),
    entry("zip_with", "ARRAY<T>, ARRAY<U>, (T, U) -> V", "ARRAY<V>", _zipped_with, SPARK),
    entry("map_zip_with", "MAP<K, T>, MAP<K, U>, (K, T, U) -> V", "MAP<K, V>", _maps_zipped, SPARK),
    entry("transform", "ARRAY<T>, (T, INT) -> U", "ARRAY<U>", "list_transform(a, b)", SPARK),
    entry("filter", "ARRAY<T>, (T, INT) -> BOOLEAN", "ARRAY<T>", "list_filter(a, b)", SPARK),
    entry("exists", "ARRAY<T>, (T) -> BOOLEAN", "BOOLEAN", _ANY, SPARK),
    entry("forall", "ARRAY<T>, (T) -> BOOLEAN", "BOOLEAN", _ALL, SPARK),
    entry("aggregate reduce", "ARRAY<T>, U, (U, T) -> U", "U", _reduced, SPARK),
    entry("aggregate reduce", "ARRAY<T>, U, (U, T) -> U, (U) -> ANY", _finished_kind, _reduced, SPARK),
    *(entry(name, "VECTOR, VECTOR", lambda call: call.kinds[0].element, f"{name}(a, b)") for name in _DISTANCES),
    entry("map_keys", "MAP<K, V>", "ARRAY<K>", "map_keys(a)"),
    entry("map_values", "MAP<K, V>", "ARRAY<V>", "map_values(a)"),
    entry("map_entries", "MAP<K, V>", "ARRAY<ROW<key K, value V>>", "map_entries(a)"),
    entry("map_from_arrays", "ARRAY<K>, ARRAY<V>", "MAP<K, V>",
          "CASE WHEN len(a) = len(b) THEN map(a, b) WHEN a IS NOT NULL AND b IS NOT NULL"
          " THEN error('the keys and the values of a map are not equally many') END"),
    entry("map_from_entries", "ARRAY", _entries_kind, _from_entries, SPARK),
    entry("map_contains_key", "MAP<K, V>, K", _unless_null("BOOLEAN"),
          "CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN list_contains(map_keys(a), b) END", SPARK),
    entry("map_concat", "MAP<K, V>, MAP<K, V>...", "MAP<K, V>", _maps_joined, SPARK,
          samples=("m, map('z', k)", "m, m")),
    entry("map_union", "MAP<K, V>", "MAP<K, V>", "a", FLINK),
    entry("map_union", "MAP<K, V>, MAP<K, V>...", "MAP<K, V>", _maps_united, FLINK),
    entry("map_filter", "MAP<K, V>, (K, V) -> BOOLEAN", "MAP<K, V>", lambda call: _of_entries(call, "filter"), SPARK),
    entry("transform_values", "MAP<K, V>, (K, V) -> U", "MAP<K, U>", lambda call: _of_entries(call, "values"), SPARK),
    entry("transform_keys", "MAP<K, V>, (K, V) -> U", "MAP<U, V>", lambda call: _of_entries(call, "keys"), SPARK),
)  # fmt: skip
