"""One entry of the table: an operator, function, aggregate or window function, its types, and how it is said to DuckDB.

An entry is written in one line, ``entry("upper ucase", "STRING", "STRING", "upper(a)")``: its names, what it takes,
what it gives and what DuckDB is told. What it takes is a list of parameters. A parameter is a type, one of the
classes in `CLASSES`, a variable (``T``, ``U``, ``K``, ``V``: all arguments of one become their common type),
``ARRAY<T>`` or ``MAP<K, V>`` of variables, ``'STRING'`` for a text in quotes, or a lambda ``(T, INT) -> U``; ``|``
stands between alternatives, ``=`` behind what nothing else becomes by itself, ``!`` behind what no row decides, ``?``
behind what may be left out, ``...`` behind what may come again.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from sqlglot import exp

from maintenance.sql.expressions import kinds
from maintenance.sql.expressions.kinds import BIGINT, DATE, DOUBLE, INT, LTZ, NULL, STRING
from maintenance.types.data_type import DataType

Role = Literal["value", "aggregate", "window", "rows"]
Dialect = Literal["spark", "flink"]
BOTH: tuple[Dialect, ...] = ("spark", "flink")
SPARK: tuple[Dialect, ...] = ("spark",)
FLINK: tuple[Dialect, ...] = ("flink",)

_VARIABLES = ("T", "U", "K", "V")
CLASSES: Mapping[str, Callable[[DataType], bool]] = {
    "ANY": lambda kind: True,
    "TEXT": lambda kind: kind.is_string,
    "NUMBER": kinds.is_number,
    "INTEGER": kinds.is_integer,
    "FRACTION": kinds.is_fraction,
    "DECIMAL": lambda kind: kind.root == "DECIMAL",
    "FLOATING": lambda kind: kind.root in ("FLOAT", "DOUBLE"),
    "TIMESTAMP": lambda kind: kind.is_timestamp,
    "TIME": kinds.is_time,
    "CLOCK": lambda kind: kind.root == "TIME",
    # Nothing else becomes these by itself.
    "DAY": lambda kind: kind.root == "DATE",
    "DAYS": lambda kind: kind.root in ("TINYINT", "SMALLINT", "INT"),
    "SHORT": lambda kind: kind.root in ("TINYINT", "SMALLINT", "INT"),
    "INTERVAL": kinds.is_interval,
    "ARRAY": lambda kind: kind.root == "ARRAY",
    "VECTOR": lambda kind: kind.root == "VECTOR",
    "MAP": lambda kind: kind.root == "MAP",
    "ROW": lambda kind: kind.root == "ROW",
    "ATOMIC": kinds.is_atomic,
}
# What other values become for a class, in Spark.
_OF_TEXT = {"NUMBER": DOUBLE, "INTEGER": BIGINT, "SHORT": INT, "FRACTION": DOUBLE, "FLOATING": DOUBLE, "TIMESTAMP": LTZ}
_OF_NUMBER = {"FRACTION": DOUBLE, "FLOATING": DOUBLE}
# What a NULL becomes for a class where all arguments are NULL, and what only if it can become nothing else.
_OF_NULL = {
    "NUMBER": DOUBLE,
    "INTEGER": INT,
    "SHORT": INT,
    "FRACTION": DOUBLE,
    "FLOATING": DOUBLE,
    "TIMESTAMP": LTZ,
    "TIME": DATE,
}
_RARE, _LAST = ("NULL", kinds.BINARY.root), 12


@dataclass(slots=True)
class Typed:
    """An expression as DuckDB is told it, with its type in the dialect.

    Attributes:
        written: where it stands in the statement.
        is_loose: a decimal whose digits DuckDB has otherwise; its scale and values are right.
        declared: the type of a column, a literal or a cast as it is written there, with its length and NOT NULL; None
            for others. Flink's functions tell CHAR from STRING, and what may be NULL from what may not.
    """

    node: exp.Expr
    kind: DataType
    written: exp.Expr
    is_loose: bool = False
    declared: DataType | None = None

    @property
    def is_never_null(self) -> bool:
        """Whether it is NOT NULL, as far as that is known: it is declared so, or made of literals alone."""
        if self.declared is not None:
            return not self.declared.nullable
        return self.written.find(exp.Column, exp.Query, exp.Null, exp.TryCast) is None

    @property
    def char_length(self) -> int | None:
        """The length of a CHAR; None if it is none."""
        return self.declared.length if self.declared is not None and self.declared.root == "CHAR" else None

    @property
    def shown_kind(self) -> DataType:
        """The type as errors name it."""
        return self.kind if self.char_length is None else DataType("CHAR", length=self.char_length)

    @property
    def text(self) -> str | None:
        """The text in quotes that it is; None if it is something else."""
        plain = self.written.unnest()
        return plain.name if isinstance(plain, exp.Literal) and plain.is_string else None

    @property
    def whole(self) -> int | None:
        """The whole number that it is, as written."""
        plain, sign = self.written.unnest(), 1
        if isinstance(plain, exp.Neg):
            plain, sign = plain.this.unnest(), -1
        if isinstance(plain, exp.Cast) and _has_suffix(plain.this):
            plain = plain.this
        is_whole = isinstance(plain, exp.Literal) and not plain.is_string and plain.name.isdecimal()
        return sign * int(plain.name) if is_whole else None


def _has_suffix(node: exp.Expr) -> bool:
    """Whether a number is written with the sign of its type, as ``7L``, which is read as a cast."""
    start, end = node.meta.get("start"), node.meta.get("end")
    return isinstance(node, exp.Literal) and start is not None and end is not None and end - start >= len(node.name)


@dataclass(frozen=True, slots=True)
class Parameter:
    """What one argument may be."""

    alternatives: tuple[str, ...]
    is_optional: bool = False
    is_repeated: bool = False
    is_constant: bool = False
    is_exact: bool = False

    @property
    def is_lambda(self) -> bool:
        return "->" in self.alternatives[0]

    @property
    def takes_text(self) -> bool:
        return self.alternatives[0].startswith("'")


@dataclass(slots=True)
class Call:
    """A call of an entry. Attributes: `bound`: the types of variables; `given`: how it is written around it."""

    name: str
    arguments: list[Typed]
    is_flink: bool
    bound: dict[str, DataType] = field(default_factory=dict)
    kind: DataType = NULL
    written: exp.Expr = field(default_factory=exp.Null)
    typing: Any = None
    is_distinct: bool = False
    is_over: bool = False

    @property
    def kinds(self) -> list[DataType]:
        return [argument.kind for argument in self.arguments]

    @property
    def nodes(self) -> list[exp.Expr]:
        return [argument.node for argument in self.arguments]


Gives = str | Callable[[Call], "DataType | None"]
Says = str | Callable[[Call], "exp.Expr | Typed"]


@dataclass(frozen=True, slots=True)
class Entry:
    """See the head of the module. `role`: how it is used; `samples`: arguments in tests, if types are not enough."""

    names: tuple[str, ...]
    takes: tuple[Parameter, ...]
    gives: Gives
    says: Says
    dialects: tuple[Dialect, ...]
    role: Role = "value"
    samples: tuple[str, ...] = ()

    @property
    def least(self) -> int:
        return sum(not parameter.is_optional for parameter in self.takes)

    @property
    def most(self) -> int | None:
        return None if any(parameter.is_repeated for parameter in self.takes) else len(self.takes)

    @property
    def has_parts(self) -> bool:
        """Whether it takes arrays or maps of variables."""
        return any("<" in text for parameter in self.takes for text in parameter.alternatives if is_open(text))

    def parameter(self, number: int, count: int) -> Parameter:
        """The parameter of an argument. What is repeated stands last."""
        return self.takes[min(number, len(self.takes) - 1)]


def entry(
    names: str,
    takes: str,
    gives: Gives,
    says: Says,
    of: tuple[Dialect, ...] = BOTH,
    role: Role = "value",
    samples: Sequence[str] = (),
) -> Entry:
    """An entry from its line."""
    listed = tuple(_parameter(text) for text in _listed(takes))
    return Entry(tuple(names.lower().split()), listed, gives, says, of, role, tuple(samples))


def _listed(takes: str) -> list[str]:
    parts, depth = [""], 0
    for sign in takes.replace("->", "→"):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip().replace("→", "->") for part in parts if part.strip()]


def _parameter(text: str) -> Parameter:
    is_optional = text.endswith("?")
    text = text.removesuffix("?")
    is_repeated = text.endswith("...")
    text = text.removesuffix("...")
    is_constant = text.endswith("!")
    text = text.removesuffix("!")
    is_exact = text.endswith("=")
    listed = tuple(part.strip() for part in text.removesuffix("=").split("|"))
    return Parameter(listed, is_optional, is_repeated, is_constant, is_exact)


# Matching


def fitted(found: Entry, call: Call) -> tuple[int, list[DataType]] | None:
    """What the arguments become, and how many of them are cast; None if the entry does not take them."""
    arguments = call.arguments
    if len(arguments) < found.least or (found.most is not None and len(arguments) > found.most):
        return None
    collected: dict[str, list[DataType]] = {}
    of_nulls = not call.is_flink and all(argument.kind == NULL for argument in arguments)
    cost, wanted = 0, list[str | DataType]()
    for number, argument in enumerate(arguments):
        parameter = found.parameter(number, len(arguments))
        if isinstance(argument.written, exp.Lambda) != parameter.is_lambda:
            return None
        if parameter.is_lambda:
            wanted.append(NULL)
            continue
        step = _step(parameter, argument, collected, is_flink=call.is_flink, of_nulls=of_nulls)
        if step is None:
            return None
        cost += step[0]
        wanted.append(step[1])
    # What stands beside an array becomes one of its elements in Flink.
    bound = _elements(found, arguments) if call.is_flink else {}
    if bound is None:
        return None
    for name, found_kinds in collected.items():
        if name in bound:
            if not all(_becomes_element(kind, bound[name]) for kind in found_kinds):
                return None
            continue
        common = kinds.merged(found_kinds) if call.is_flink else _common(found, found_kinds)
        if common is None:
            return None
        bound[name] = common
    if of_nulls and _is_of_nothing(found, arguments, bound):
        return None
    call.bound = bound
    targets = [solved(each, bound) if isinstance(each, str) else each for each in wanted]
    cost += sum(target != argument.kind for target, argument in zip(targets, arguments, strict=True))
    return cost, targets


# What is no text becomes none here, and no text becomes something else.
_WITHOUT_TEXTS = ("array_contains", "map_contains_key", "greatest", "least")


def _common(found: Entry, of: Sequence[DataType]) -> DataType | None:
    """The type of a variable in Spark. Beside an array nothing becomes what its elements are by a long way."""
    if not kinds.are_named_alike(of):
        return None
    if found.names[0] in _WITHOUT_TEXTS:
        return kinds.without_texts(of)
    # Of any number of arrays and maps all become what holds them.
    return kinds.closest(of) if found.has_parts and found.most is not None else kinds.widest(of, is_flink=False)


def _is_of_nothing(found: Entry, arguments: Sequence[Typed], bound: Mapping[str, DataType]) -> bool:
    """Whether a NULL stands for an array or map of whose elements nothing is known: Spark takes few of these."""
    return any(
        argument.kind == NULL
        and text not in _VARIABLES
        and any(bound.get(name) == NULL for name in re.findall(r"\b[TUKV]\b", text))
        for number, argument in enumerate(arguments)
        for text in found.parameter(number, len(arguments)).alternatives[:1]
        if not isinstance(argument.written, exp.Lambda)
    )


def _elements(found: Entry, arguments: Sequence[Typed]) -> dict[str, DataType] | None:
    """Of each variable the type of the elements of arrays; None if several arrays have different ones."""
    own: dict[str, DataType] = {}
    for number, argument in enumerate(arguments):
        text, element = found.parameter(number, len(arguments)).alternatives[0], argument.kind.element
        if not text.startswith("ARRAY<") or not is_open(text) or element is None or element == NULL:
            continue
        if own.setdefault(text[6:-1], element) != element:
            return None
    return own


def _becomes_element(kind: DataType, element: DataType) -> bool:
    """Whether Flink makes a value an element of an array."""
    if kind in (NULL, element):
        return True
    if {kind.root, element.root} & {"DATE", "ARRAY"}:
        return False
    return (kind.root, element.root) == ("DECIMAL", "FLOAT") or _widens(kind, element)


def _step(
    parameter: Parameter, argument: Typed, collected: dict[str, list[DataType]], *, is_flink: bool, of_nulls: bool
) -> tuple[int, str | DataType] | None:
    """What one argument becomes. `of_nulls`: all arguments of a call in Spark's dialect are NULL."""
    kind = argument.kind
    if parameter.takes_text and argument.text is None and kind != NULL:
        return None
    if parameter.is_constant and argument.written.find(exp.Column, exp.Query) is not None:
        return None
    for text in parameter.alternatives:
        variables = _variables(text, kind)
        if variables is not None:
            for name, part in variables.items():
                collected.setdefault(name, []).append(part)
            return (_LAST if of_nulls and text not in _VARIABLES else 0), text
    for text in parameter.alternatives:
        exact = _exact(text.strip("'"), kind)
        if exact:
            return 0, kind
    if parameter.is_exact and kind != NULL:
        return None
    for text in parameter.alternatives:
        target = implicit(kind, text.strip("'"), is_flink=is_flink)
        if target == NULL and of_nulls:
            target = _OF_NULL.get(text, NULL)
        if target is not None:
            return (_LAST if of_nulls and target.root in _RARE else 10), target
    return None


def _variables(text: str, kind: DataType) -> dict[str, DataType] | None:
    """The types that a parameter of variables gives them; None if it is none, or takes other types."""
    if text in _VARIABLES:
        return {text: kind}
    shape = re.fullmatch(r"(ARRAY|MAP)<(.+)>", text)
    if shape is None or not set(re.findall(r"\b[TUKV]\b", shape[2])):
        return None
    if kind == NULL:
        return dict.fromkeys(re.findall(r"\b[TUKV]\b", shape[2]), NULL)
    if kind.root != shape[1]:
        return None
    inner = [kind.element] if kind.root == "ARRAY" else [kind.key, kind.value]
    result: dict[str, DataType] = {}
    for part, own in zip(_listed(shape[2]), inner, strict=True):
        assert own is not None
        found = _variables(part, own)
        if found is None:
            return None
        result |= found
    return result


def _exact(text: str, kind: DataType) -> bool:
    if text in CLASSES:
        return text == "ANY" or (kind != NULL and CLASSES[text](kind))
    if text.startswith("ARRAY<") and text[6:-1] in CLASSES:
        return kind.root == "ARRAY" and kind.element is not None and CLASSES[text[6:-1]](kind.element)
    if is_open(text):
        return False
    target = solved(text, {})
    return kind == target or (target.is_timestamp and kind.root == target.root)


@cache
def is_open(text: str) -> bool:
    """Whether a parameter has variables."""
    return re.search(r"\b[TUKV]\b", text) is not None


def solved(text: str, bound: Mapping[str, DataType]) -> DataType:
    """The type of a text with variables."""
    if text in bound:
        return bound[text]
    if text in _VARIABLES:
        return NULL
    if text.startswith("ARRAY<"):
        return kinds.array(solved(text[6:-1], bound))
    if text.startswith("MAP<"):
        key, value = _listed(text[4:-1])
        return kinds.map_of(solved(key, bound), solved(value, bound))
    if text.startswith("ROW<"):
        pairs = [part.split(" ", 1) for part in _listed(text[4:-1])]
        return kinds.row((name, solved(kind, bound)) for name, kind in pairs)
    return kinds.named(text)


def implicit(kind: DataType, text: str, *, is_flink: bool) -> DataType | None:
    """The type that a value becomes by itself for a parameter; None if it does not. Source: `AnsiTypeCoercion`."""
    if text.startswith("ARRAY<") and text[6:-1] in CLASSES:
        return NULL if kind == NULL else None
    if kind == NULL:
        return NULL if text in CLASSES else solved(text, {})
    if text in CLASSES:
        if kind.is_string and not is_flink:
            return _OF_TEXT.get(text)
        if kinds.is_number(kind):
            return _OF_NUMBER.get(text)
        return LTZ if text == "TIMESTAMP" and kind.root == "DATE" and not is_flink else None
    if is_open(text):
        return None
    target = solved(text, {})
    if is_flink:
        return target if _widens(kind, target) else None
    if not kinds.is_atomic(kind) or not kinds.is_atomic(target):
        return None
    if kind.is_string or target.is_string:
        return target if not kinds.is_interval(kind) else None
    numbers = kinds.is_number(kind) and kinds.is_number(target)
    return target if numbers or (kinds.is_time(kind) and kinds.is_time(target)) else None


def _widens(kind: DataType, target: DataType) -> bool:
    if kinds.is_number(kind) and kinds.is_number(target):
        return kinds.widest_number(kind, target, is_flink=True).root == target.root
    if kind.root == "DATE":
        return target.is_timestamp
    return (kind.is_timestamp and target.is_timestamp) or (kind == STRING and target == STRING)
