"""`printf`: values in the places of a format, as English texts. Source: Java's `Formatter`, Spark's `FormatString`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from maintenance.sql.expressions import refusals
from maintenance.sql.expressions.conversions import Wanted, cast_node, converted
from maintenance.sql.expressions.entries import Call, Typed
from maintenance.sql.expressions.kinds import NULL, STRING, is_integer, is_time
from maintenance.sql.expressions.stamps import narrow
from maintenance.sql.expressions.templates import filled

_PLACE = re.compile(r"%(?:(?P<number>[1-9]\d*)\$)?(?P<flags>[-0+ ,]*)(?P<width>[1-9]\d{0,3})?(?:\.(?P<digits>[0-6]))?"
                    r"(?P<letter>[sdxXf])|%%", re.ASCII)  # fmt: skip
# By the letter: the flags that it may have here.
_FLAGS = {"s": "-", "d": "-0+ ,", "x": "-0", "X": "-0", "f": "-0+ ,"}
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32}
# All digits of a double between are kept, so that it is rounded once; what is nearer to zero has none of the first six.
_MOST, _KEPT = "1e14", 24


class _Place(NamedTuple):
    """Where a value stands.

    Attributes: `number`: of the value, from 1; 0: it is the next one; `null`: what stands for NULL, of which Java cuts
    off what is behind so many signs as the number would have digits.
    """

    number: int
    flags: str
    width: int
    digits: int
    letter: str
    null: str


def printed(call: Call) -> exp.Expr:
    """A format with places for texts, integers and doubles."""
    text = call.arguments[0].text
    parts = [] if text is None else list(_pieces(text))
    if text is None or None in parts:
        problem = "a format with other places than those of %s, %d, %x and %f with a width and up to six digits"
        raise refusals.unsupported(call.typing.source, call.written, problem)
    given, nodes = iter(call.arguments[1:]), list[exp.Expr]()
    for part in parts:
        if isinstance(part, str):
            nodes.append(exp.Literal.string(part))
        elif part is not None:
            value = _numbered(call, part.number) if part.number else next(given, None)
            node = None if value is None else _in_place(value, part, call)
            if node is None:
                raise refusals.no_such_types(call.typing.source, call.written, call.name, call.kinds)
            nodes.append(node)
    return exp.Anonymous(this="concat", expressions=nodes or [exp.Literal.string("")])


def _numbered(call: Call, number: int) -> Typed | None:
    """A value by its place in the call, which may be asked for again."""
    if number >= len(call.arguments):
        return None
    value = call.arguments[number]
    return Typed(value.node.copy(), value.kind, value.written)


def _once(template: str, text: exp.Expr, **parts: exp.Expr) -> exp.Expr:
    """A template of a text ``_t``, which may be long and is computed once."""
    return filled(f"list_transform([t], lambda _t: {template})[1]", {"t": text, **parts})


def _pieces(text: str) -> Iterator[str | _Place | None]:
    """The texts and places of a format; None: of a place that is not known."""
    end = 0
    for found in _PLACE.finditer(text):
        between = text[end : found.start()]
        yield from [None if "%" in between else between] if between else []
        end = found.end()
        if found["letter"] is None:
            yield "%"
            continue
        flags, width = found["flags"], int(found["width"] or 0)
        is_wrong = set(flags) - set(_FLAGS[found["letter"]]) or len(set(flags)) < len(flags)
        is_wrong = is_wrong or {"-", "0"} <= set(flags) or {"+", " "} <= set(flags) or (found["digits"] and
                   found["letter"] != "f") or (not width and set(flags) & {"-", "0"})  # fmt: skip
        digits = int(found["digits"] or 6)
        null = ("NULL" if found["letter"] == "X" else "null")[: int(found["digits"] or 4)]
        yield None if is_wrong else _Place(int(found["number"] or 0), flags, width, digits, found["letter"], null)
    if text[end:]:
        yield None if "%" in text[end:] else text[end:]


def _in_place(value: Typed, place: _Place, call: Call) -> exp.Expr | None:
    """A value as it is printed; None if Java does not print it there."""
    kind, size = value.kind, exp.Literal.number(place.width)
    if place.letter == "s":
        shown, is_number = None if kind.is_bytes else _text(value, call), False
    elif place.letter == "f":
        shown, is_number = (_fraction(value, place), True) if kind.root in ("FLOAT", "DOUBLE") else (None, False)
    elif place.letter == "d":
        is_counted = is_integer(kind) or is_time(kind)
        shown, is_number = (_text(value, call) if is_counted else None), True
    else:
        shown, is_number = (_in_hex(value, place) if is_integer(kind) else None), False
    if kind == NULL:
        shown, is_number = cast_node(exp.Null(), STRING), False
    if shown is None:
        return None
    if is_number:
        shown = _with_sign(shown, place)
    if place.width and "0" in place.flags and kind != NULL:
        # Zeros stand behind the sign, and before numbers alone.
        template = (
            "CASE WHEN regexp_matches(_t, '[0-9a-fA-F]$') THEN regexp_extract(_t, '^[-+ ]') ||"
            " lpad(regexp_replace(_t, '^[-+ ]', ''), CAST(greatest(n - length(regexp_extract(_t, '^[-+ ]')),"
            " length(regexp_replace(_t, '^[-+ ]', ''))) AS INTEGER), '0') ELSE _t END"
        )
        shown = _once(template, shown, n=size.copy())
    shown = filled("COALESCE(t, n)", {"t": shown, "n": exp.Literal.string(place.null)})
    if place.width:
        side = "rpad" if "-" in place.flags else "lpad"
        # To Java a rare letter is two signs.
        template = f"{side}(_t, CAST(greatest(n - paimon_pairs(_t), length(_t)) AS INTEGER), ' ')"
        shown = _once(template, shown, n=size)
    return shown


def _text(value: Typed, call: Call) -> exp.Expr | None:
    """A value as Java prints what Spark has of it: of times that is how many days or microseconds have gone by."""
    if not is_time(value.kind):
        return converted(value, Wanted(STRING, call.is_flink))
    template = "a - DATE '1970-01-01'" if value.kind.root == "DATE" else "epoch_us(a)"
    return cast_node(filled(template, {"a": narrow(value).node}), STRING)


def _with_sign(shown: exp.Expr, place: _Place) -> exp.Expr:
    """A number with commas, and with what stands before one that is not below zero."""
    if "," in place.flags:
        template = (
            "CASE WHEN regexp_matches(_t, '[0-9]') THEN regexp_extract(_t, '^-') ||"
            " format('{:,}', CAST(regexp_extract(_t, '[0-9]+') AS HUGEINT)) || regexp_extract(_t, '[.].*$') ELSE _t END"
        )
        shown = _once(template, shown)
    sign = next((each for each in "+ " if each in place.flags), "")
    template = "CASE WHEN starts_with(_t, '-') OR _t = 'NaN' THEN _t ELSE s || _t END"
    return _once(template, shown, s=exp.Literal.string(sign)) if sign else shown


def _fraction(value: Typed, place: _Place) -> exp.Expr:
    """A double whose digits are those that tell it apart, rounded away from zero."""
    exact = f"CAST(paimon_pointed(paimon_double_text(abs(CAST(a AS DOUBLE)))) AS DECIMAL(38, {_KEPT}))"
    rounded = f"CAST(CAST({exact} AS DECIMAL(38, {place.digits})) AS VARCHAR)"
    far = "error('printf of a number with more than 14 digits before the point: run it with `--engine spark`')"
    return filled(
        "CASE WHEN isnan(a) THEN 'NaN' WHEN isinf(a) THEN CASE WHEN a > 0 THEN 'Infinity' ELSE '-Infinity' END"
        f" WHEN abs(a) < {_MOST} THEN CASE WHEN a < 0 OR 1 / a < 0 THEN '-' ELSE '' END || {rounded}"
        f" WHEN a IS NOT NULL THEN {far} END",
        {"a": value.node},
    )


def _in_hex(value: Typed, place: _Place) -> exp.Expr:
    """The bits of an integer, as many as its type has."""
    bits = _BITS.get(value.kind.root)
    whole = "CAST(a AS BIGINT)" if bits is None else f"(CAST(a AS BIGINT) & {2**bits - 1})"
    return filled(f"{'upper' if place.letter == 'X' else 'lower'}(hex({whole}))", {"a": value.node})
