"""A filter text as sqlglot's syntax tree, and the literals in it.

sqlglot's Spark dialect keeps backslashes that Spark drops (`'\\d'`), so string literals are read again from the text by
Spark's rules. Two literals that touch (`'it''s'`) are one with a quote in it, as in Spark 4.
"""

import decimal
import math
import re
from fractions import Fraction

import numpy as np
from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from maintenance.predicate.literals import Clock, Day, Literal, Moment
from maintenance.predicate.moments import days_of_text, nanos_of_clock, nanos_of_text

MAX_DIGITS = 38

TOO_DEEP = "its parentheses and NOTs are nested too deeply"

_Type = exp.DataType.Type
_INTEGER_BITS = {_Type.TINYINT: 8, _Type.SMALLINT: 16, _Type.INT: 32, _Type.BIGINT: 64}
_WITH_ZONE = (_Type.TIMESTAMP, _Type.TIMESTAMPTZ, _Type.TIMESTAMPLTZ)
_TEXTS = (_Type.VARCHAR, _Type.TEXT, _Type.CHAR)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_CONTROLS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": r"\%", "_": r"\_"}


def syntax_tree(text: str) -> exp.Expr:
    """The syntax tree of one condition. Raises: ValueError: the text is none."""
    dialect = Dialect.get_or_raise("spark")
    try:
        trees = dialect.parser().parse(_with_spark_strings(dialect.tokenize(text), text), text)
    except SqlglotError as error:
        raise ValueError(_first_line(str(error))) from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    if len(trees) != 1 or trees[0] is None:
        raise ValueError("it is not a single condition")
    return trees[0]


def literal_of(node: exp.Expr) -> Literal:
    """The value of a literal. Raises: ValueError saying why it cannot be used; empty if it is not a literal."""
    match node:
        case exp.Paren():
            return literal_of(node.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal():
            return str(node.this) if node.is_string else number_literal(str(node.this))
        case exp.RawString():
            return str(node.this)
        case exp.HexString():
            digits = str(node.this)
            return bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0"))
        case exp.Neg():
            value = literal_of(node.this)
            if isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool):
                return value.copy_negate() if isinstance(value, decimal.Decimal) else -value
        case exp.Cast() if check_arguments(node, "this", "to", "_type", "safe", "requires_string"):
            return cast_literal(literal_of(node.this), node.to)
    raise ValueError("")


def check_arguments(node: exp.Expr, *names: str) -> bool:
    """True; raises ValueError if the node says more than its `names` arguments, lest a part of the text be ignored."""
    if any(value and name not in names for name, value in node.args.items()):
        raise ValueError("")
    return True


def cast_literal(value: Literal, to: exp.DataType) -> Literal:
    """A literal with its type, such as ``DATE '2024-02-29'``, ``5L`` or ``CAST('nan' AS DOUBLE)``; only exact casts."""
    kind = to.this
    if value is None:
        return None
    if kind == _Type.DATE and isinstance(value, str):
        return Day(days_of_text(value))
    if kind == _Type.TIME and isinstance(value, str) and not to.expressions:
        return Clock(nanos_of_clock(value))
    if kind in _WITH_ZONE and isinstance(value, str):
        return Moment(nanos_of_text(value)[0])
    if kind == _Type.TIMESTAMPNTZ and isinstance(value, str):
        nanos, zoned = nanos_of_text(value)
        if zoned:
            raise ValueError(f"'{value}' names a time zone, TIMESTAMP_NTZ has none")
        return Moment(nanos)
    if kind in _TEXTS and isinstance(value, str) and not to.expressions:
        return value
    if kind in (*_INTEGER_BITS, _Type.DOUBLE, _Type.FLOAT, _Type.DECIMAL):
        return _cast_number(value, to)
    raise ValueError(f"a cast to {to.sql('spark')} is not supported")


def _cast_number(value: Literal, to: exp.DataType) -> Literal:
    if isinstance(value, bool) or not isinstance(value, str | int | float | decimal.Decimal):
        raise ValueError(f"{value!r} is not a number")
    try:
        if to.this in (_Type.DOUBLE, _Type.FLOAT):
            double = float(value)
            return double if to.this == _Type.DOUBLE else float(np.float32(double))
        exact = decimal.Decimal(value)
    except (ValueError, ArithmeticError):
        raise ValueError(f"{value!r} is not a number") from None
    if to.this == _Type.DECIMAL:
        if exact.is_finite() and _fits_decimal(Fraction(exact), *(int(part.name) for part in to.expressions)):
            return exact
    elif exact.is_finite() and Fraction(exact).denominator == 1:
        half = 1 << (_INTEGER_BITS[to.this] - 1)
        if -half <= exact < half:
            return int(exact)
    raise ValueError(f"{value} is not {to.sql('spark')} without loss")


def _fits_decimal(value: Fraction, precision: int = 10, scale: int = 0) -> bool:
    return bool((value * 10**scale).denominator == 1 and abs(value) < 10 ** (precision - scale))


def number_literal(text: str) -> int | float | decimal.Decimal:
    if "e" in text.lower():
        if math.isinf(float(text)):
            raise ValueError(f"{text} is beyond the largest double")
        return float(text)
    if len(text.replace(".", "").lstrip("0")) > MAX_DIGITS:
        raise ValueError(f"{text} has more than {MAX_DIGITS} digits")
    return decimal.Decimal(text) if "." in text else int(text)


def _with_spark_strings(tokens: list[Token], text: str) -> list[Token]:
    read: list[Token] = []
    for token in tokens:
        raw = text[token.start : token.end + 1]
        if token.token_type == TokenType.HEX_STRING and raw[0] not in "xX":
            raise ValueError(f"{raw} is not a literal of Spark SQL; binary is X'{token.text}'")
        if token.token_type == TokenType.STRING:
            token.text = _ESCAPE.sub(_unescaped, raw[1:-1])
            before = read[-1] if read else token
            if before.token_type == TokenType.STRING and before.end + 1 == token.start and text[before.end] == raw[0]:
                before.text += raw[0] + token.text
                before.end = token.end
                continue
        read.append(token)
    return read


def _unescaped(escape: re.Match[str]) -> str:
    short, long, octal, plain = escape.groups()
    if plain is not None:
        return _CONTROLS.get(plain, plain)
    return chr(int(octal, 8) if octal else int(short or long, 16))


def _first_line(message: str) -> str:
    return re.sub(r"\x1b\[\d*m", "", message).split("\n")[0].rstrip(". ")
