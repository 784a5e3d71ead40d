"""The dialects of Flink and Spark as Paimon's users write them, on top of sqlglot's own.

Both know names with `$` (``t$snapshots``) and dynamic options behind a table's name, ``/*+ OPTIONS('k' = 'v') */``,
whose text the table's node keeps. Flink has no dialect in sqlglot: its functions are closest to
Spark's; strings, casts, division and timestamps are its own.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, ClassVar

from sqlglot import exp, parser
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.hive import HiveParser
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token, TokenType
from sqlglot.tokens import Tokenizer as BaseTokenizer

from maintenance.errors import UnsupportedError
from maintenance.sql.literals import UnreadableError, unicode_text
from maintenance.sql.windows import parse_window

_BEFORE_HINT = {*BaseTokenizer.TOKENS_PRECEDING_HINT, TokenType.VAR, TokenType.IDENTIFIER}
OPTIONS = "paimon_options"
"""Under this key a table's node has the text of its hint, in `meta`."""


DIGITS = "paimon_digits_written"
"""Under this key the type of a literal ``TIMESTAMP '…'`` or ``TIME '…'`` has the number of digits behind its second, in
`meta`.
"""


UNSIGNED = "paimon_unsigned_shift"
"""This key is in the `meta` of what stands behind ``>>>``, which sqlglot takes for ``>>``."""


def check_parser() -> None:
    """Raises: UnsupportedError: sqlglot is compiled, and lets nobody's dialects change its parser."""
    if not str(parser.__file__).endswith(".py"):
        raise UnsupportedError(
            "sqlglot is installed in its compiled form",
            str(parser.__file__),
            "Uninstall the package sqlglotc, and install sqlglot again.",
        )


def _sha2(bits: int, arguments: list[exp.Expr]) -> exp.Expr:
    return exp.SHA2(this=arguments[0], length=exp.Literal.number(bits))


def _str_to_map(arguments: list[exp.Expr]) -> exp.Expr:
    signs = [*arguments[1:], *(exp.Literal.string(sign) for sign in (",", "=")[len(arguments) - 1 :])]
    return exp.StrToMap(this=arguments[0], pair_delim=signs[0], key_value_delim=signs[1])


def _moment(_: Any, text: exp.Expr, kind: exp.DataType) -> exp.Expr:
    """A literal that begins with the name of its type, which knows how many digits were written."""
    fraction = re.search(r"\.(\d+)", text.name)
    kind.meta[DIGITS] = len(fraction[1]) if fraction else 0
    return exp.Cast(this=text, to=kind)


def _unicode(parser: Any, token: Token) -> exp.Expr:
    """``U&'…' [UESCAPE '!']``."""
    escape = parser._parse_string() if parser._match_text_seq("UESCAPE") else None
    return exp.Literal.string(unicode_text(token, "\\" if escape is None else escape.name))


_SYNTAX = (
    "AND", "CAST", "CEIL", "EXTRACT", "FLOOR", "JSON_VALUE", "OR", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM",
    "TRY_CAST", "MERGE",
    *(name for name in SparkParser.FUNCTION_PARSERS if any(word in name for word in ("JOIN", "BROADCAST", "SHUFFLE"))),
)  # fmt: skip
"""Functions with words among their arguments, and hints."""


def _positive(parser: Any) -> exp.Expr | None:
    """A plus in front of a value: it stays in front of what is not a number as written, as it may be a text."""
    sign, value = parser._prev, parser._parse_unary()
    if value is None or (isinstance(value, exp.Literal) and not value.is_string):
        return value
    return exp.Anonymous(this="positive", expressions=[value]).update_positions(sign)


class _PlainParser(SparkParser):
    """Leaves functions as they are written: sqlglot's own would lose arguments, or mean something else.

    It keeps the hint behind a table's name, and how many digits a literal of a time has.
    """

    # A bracket behind an array would be taken for another array.
    FUNCTIONS: ClassVar[dict[str, Any]] = {"ARRAY": lambda args: exp.Array(expressions=args)}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: parser for name, parser in SparkParser.FUNCTION_PARSERS.items() if name in _SYNTAX
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: parser
        for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items()
        if name not in ("IF", "TRANSFORM")
    }

    # Comparisons of all kinds bind alike, from the left.
    EQUALITY: ClassVar[dict[Any, Any]] = {**SparkParser.EQUALITY, **SparkParser.COMPARISON}
    COMPARISON: ClassVar[dict[Any, Any]] = {}

    UNARY_PARSERS: ClassVar[dict[Any, Any]] = {**SparkParser.UNARY_PARSERS, TokenType.PLUS: _positive}
    TYPE_LITERAL_PARSERS: ClassVar[dict[Any, Any]] = {
        **SparkParser.TYPE_LITERAL_PARSERS,
        **dict.fromkeys(
            (exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPTZ, exp.DType.TIME), _moment
        ),
    }

    def _parse_join(self, *arguments: Any, **named: Any) -> Any:
        start = self._curr
        join = super()._parse_join(*arguments, **named)
        if join is not None and join.this.args.get("joins"):
            raise UnreadableError(start, "another JOIN stands in front of the ON of this one", "Put it in parentheses.")
        return join

    def _parse_table_parts(self, *arguments: Any, **named: Any) -> Any:
        table = super()._parse_table_parts(*arguments, **named)
        while isinstance(table, exp.Table) and self._match(TokenType.HINT):
            if self._prev_comments:
                table.meta[OPTIONS] = self._prev_comments[0]
                self._prev_comments = []
        return table


def _of_keys(start: Token, group: Any) -> Any:
    """GROUP BY with what stands behind all keys, WITH ROLLUP and GROUPING SETS, in the place of the keys."""
    if group is None:
        return None
    if any(isinstance(key, exp.Tuple) and not key.expressions for key in group.expressions):
        raise UnreadableError(start, "Spark does not group by ()", "Leave GROUP BY out.")
    for name, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        if group.args.pop(name, None):
            group.set("expressions", [kind(expressions=group.expressions)])
    sets = group.args.pop("grouping_sets", None)
    if sets:
        group.set("expressions", sets)
    return group


class PaimonSpark(Spark):
    """Spark's dialect."""

    class Tokenizer(Spark.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()
        VAR_SINGLE_TOKENS: ClassVar[set[str]] = {"$"}
        TOKENS_PRECEDING_HINT: ClassVar[set[TokenType]] = _BEFORE_HINT
        # A quote that is there twice is one, since Spark 4.0.
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    class Parser(_PlainParser):
        STRICT_CAST = True  # with ANSI mode, which is Spark's default since 4.0
        # Other words for VERSION and TIMESTAMP. Source: Spark's grammar, `temporalClause`.
        VERSION_PHRASES: ClassVar[Any] = {
            **Spark.Parser.VERSION_PHRASES,
            ("FOR", "SYSTEM_VERSION"): "VERSION",
            ("SYSTEM_VERSION", "AS", "OF"): "VERSION",
            ("SYSTEM_TIME", "AS", "OF"): "TIMESTAMP",
        }

        def _parse_is_rhs(self, distinct: bool = False) -> Any:
            return self._parse_equality(parse_is=False) if distinct else super()._parse_is_rhs()

        def _parse_term(self, *arguments: Any, **named: Any) -> Any:
            # Behind `>>` another one follows in no other case.
            is_unsigned = self._prev and self._prev.token_type == TokenType.GT and self._match(TokenType.GT)
            term = super()._parse_term(*arguments, **named)
            if is_unsigned and term is not None:
                term.meta[UNSIGNED] = True
            return term

        def _parse_group(self, *arguments: Any, **named: Any) -> Any:
            start = self._curr
            group = super()._parse_group(*arguments, **named)
            if self._curr and self._curr.text.upper() == "WINDOW" and self._next.token_type == TokenType.L_PAREN:
                raise UnreadableError(
                    self._curr, "function WINDOW is not supported", "Use DATE_TRUNC. Run it with `--engine spark`."
                )
            return _of_keys(start, group)


class Flink(Spark):
    """Flink's dialect."""

    TYPED_DIVISION = True
    SAFE_DIVISION = False

    class Tokenizer(Spark.Tokenizer):
        QUOTES: ClassVar[list[tuple[str, str] | str]] = ["'"]
        UNICODE_STRINGS: ClassVar[list[str | tuple[str, str]]] = [("U&'", "'"), ("u&'", "'")]
        STRING_ESCAPES: ClassVar[list[str]] = ["'"]
        COMMANDS: ClassVar[set[TokenType]] = set()
        NUMERIC_LITERALS: ClassVar[dict[str, str]] = {}
        VAR_SINGLE_TOKENS: ClassVar[set[str]] = {"$"}
        TOKENS_PRECEDING_HINT: ClassVar[set[TokenType]] = _BEFORE_HINT
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **Spark.Tokenizer.KEYWORDS,
            "ROW": TokenType.STRUCT,
            "TIMESTAMP": TokenType.TIMESTAMPNTZ,
            "TIMESTAMP_LTZ": TokenType.TIMESTAMPLTZ,
            "BYTES": TokenType.VARBINARY,
        }

    class Parser(_PlainParser):
        STRICT_CAST = True
        ADD_JOIN_ON_TRUE = False
        depth_of_types = 0
        PRIMARY_PARSERS: ClassVar[dict[Any, Any]] = {
            **_PlainParser.PRIMARY_PARSERS,
            TokenType.UNICODE_STRING: _unicode,
        }
        STRING_PARSERS: ClassVar[dict[Any, Any]] = {
            **_PlainParser.STRING_PARSERS,
            TokenType.UNICODE_STRING: _unicode,
        }
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            **_PlainParser.FUNCTION_PARSERS,
            "JSON_VALUE": lambda parser: parser._parse_json_value(json_path=False),
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {
            **_PlainParser.NO_PAREN_FUNCTIONS,
            TokenType.CURRENT_TIME: exp.CurrentTime,
            TokenType.LOCALTIME: exp.Localtime,
            TokenType.LOCALTIMESTAMP: exp.Localtimestamp,
        }

        def _parse_group(self, *arguments: Any, **named: Any) -> Any:
            group = super()._parse_group(*arguments, **named)
            for name, words in (("rollup", "WITH ROLLUP"), ("cube", "WITH CUBE"), ("grouping_sets", "GROUPING SETS")):
                if group is not None and group.args.get(name):
                    raise UnreadableError(
                        self._prev, f"Flink has no {words} behind the keys", "Write GROUP BY ROLLUP (a, b) or its kind."
                    )
            return group

        def _parse_join(self, *arguments: Any, **named: Any) -> Any:
            start = self._curr
            join = super()._parse_join(*arguments, **named)
            is_free = join is None or start.text == "," or join.kind == "CROSS" or join.method == "NATURAL"
            if not is_free and not (join.args.get("on") or join.args.get("using")):
                raise UnreadableError(start, "JOIN has no condition", "Write ON or USING, or CROSS JOIN.")
            return join

        def _parse_types(self, *arguments: Any, **named: Any) -> Any:
            self.depth_of_types += 1
            try:
                # Hive's casts to CHAR and VARCHAR are to texts of any length, Flink's are not.
                kind = super(HiveParser, self)._parse_types(*arguments, **named)
            finally:
                self.depth_of_types -= 1
            if kind is not None and self.depth_of_types:
                # Of the parts of a type; no value is checked by it in a query.
                self._match_text_seq("NOT", "NULL")
            return kind

        def _parse_value(self, *arguments: Any, **named: Any) -> Any:
            # Behind VALUES, ROW (…) is what (…) is.
            if self._curr and self._curr.text.upper() == "ROW" and self._next and self._next.text == "(":
                self._advance()
            return super()._parse_value(*arguments, **named)

        def _parse_table(self, *arguments: Any, **named: Any) -> Any:
            return parse_window(self) or super()._parse_table(*arguments, **named)


_FLINK_FUNCTIONS: Mapping[str, Callable[..., exp.Expr]] = {
    "SPLIT_INDEX": lambda args: exp.SplitPart(
        this=args[0],
        delimiter=args[1],
        part_index=exp.Add(this=exp.paren(args[2]), expression=exp.Literal.number(1)),
    ),
    "STR_TO_MAP": _str_to_map,
    "PROCTIME": lambda _: exp.CurrentTimestamp(),
    **{f"SHA{bits}": partial(_sha2, bits) for bits in (224, 256, 384, 512)},
    "TO_TIMESTAMP_LTZ": lambda args: exp.UnixToTime(this=args[0], scale=args[1] if len(args) > 1 else None),
}


def known(tree: exp.Expr, *, is_flink: bool) -> exp.Expr:
    """The tree with sqlglot's own nodes for the functions that it knows; arguments that these have not are lost."""
    if is_flink:
        _count_from_zero(tree)
    functions = {**SparkParser.FUNCTIONS, **(_FLINK_FUNCTIONS if is_flink else {})}
    for node in reversed(list(tree.find_all(exp.Anonymous))):
        make: Any = functions.get(node.name.upper())
        if make is None or isinstance(node.this, exp.Identifier):
            continue
        try:
            made = make(node.expressions)
        except TypeError:
            made = make(node.expressions, dialect=Spark())
        except (IndexError, ValueError):
            continue
        made.meta.update(node.meta)
        if node is tree:
            tree = made
        else:
            node.replace(made)
    return tree


def _count_from_zero(tree: exp.Expr) -> None:
    """The places of elements, which Flink counts from 1 and Spark from 0."""
    for bracket in tree.find_all(exp.Bracket):
        place = bracket.expressions[0] if len(bracket.expressions) == 1 else None
        if isinstance(place, exp.Literal) and not place.is_string:
            place.replace(exp.Literal.number(int(place.name) - 1))


@cache
def words_tokenizer(dialect: type[Spark]) -> type[BaseTokenizer]:
    """A tokenizer of the dialect's strings and names that knows no keyword: each word is a token of its own."""
    base: Any = dialect.Tokenizer
    symbols = {word: kind for word, kind in base.KEYWORDS.items() if not any(c.isalnum() or c == "_" for c in word)}
    return type(f"{dialect.__name__}Words", (base,), {"KEYWORDS": symbols, "NUMERIC_LITERALS": {}})
