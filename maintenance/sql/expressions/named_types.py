"""The types that casts name."""

from dataclasses import dataclass

from sqlglot import exp

from maintenance.sql.cursor import Source
from maintenance.sql.expressions import kinds, refusals
from maintenance.sql.expressions.declared import filled_up, filled_with_zeros
from maintenance.sql.expressions.stamps import named_moment
from maintenance.types.data_type import DataType

_PLAIN = {
    exp.DType.BOOLEAN: kinds.BOOLEAN, exp.DType.TINYINT: kinds.TINYINT, exp.DType.SMALLINT: kinds.SMALLINT,
    exp.DType.INT: kinds.INT, exp.DType.BIGINT: kinds.BIGINT, exp.DType.FLOAT: kinds.FLOAT,
    exp.DType.DOUBLE: kinds.DOUBLE, exp.DType.DATE: kinds.DATE, exp.DType.BINARY: kinds.BINARY,
    exp.DType.VARBINARY: kinds.BINARY, exp.DType.VARIANT: kinds.VARIANT, exp.DType.NULL: kinds.NULL,
}  # fmt: skip
_TIME = DataType("TIME", precision=0)


@dataclass(frozen=True, slots=True)
class NamedType:
    """Attributes: `length`: of texts and bytes in Flink, which are cut to it; `is_padded`: it is their only one."""

    kind: DataType
    length: int | None = None
    is_padded: bool = False

    @property
    def declared(self) -> DataType:
        """The type with its length."""
        if self.length is None:
            return self.kind
        names = ("BINARY", "VARBINARY") if self.kind.is_bytes else ("CHAR", "VARCHAR")
        return DataType(names[0] if self.is_padded else names[1], length=self.length)

    def cut(self, node: exp.Expr) -> exp.Expr:
        """A value of the type with its length."""
        if self.length is None:
            return node
        if self.kind.is_bytes:
            return filled_with_zeros(node, self.length)
        return filled_up(node, self.length, is_padded=self.is_padded)


def named_type(to: exp.DataType, source: Source, *, is_flink: bool) -> NamedType:
    """Raises: SqlError: it is no type that is known here."""
    for part in to.find_all(exp.DataType, exp.CollateColumnConstraint):
        rule = part.args.get("collate") if isinstance(part, exp.DataType) else part.this
        if rule is not None and rule.name.upper() != "UTF8_BINARY":
            raise refusals.unsupported(source, rule, f"the collation {rule.name}")
    if to.this in exp.DataType.TEXT_TYPES:
        size = to.expressions[0].name if to.expressions else "1" if to.this == exp.DType.CHAR else ""
        if is_flink and size.isdecimal():
            return NamedType(kinds.STRING, int(size), to.this == exp.DType.CHAR)
        return NamedType(kinds.STRING)
    kind = _type(to, source, is_flink=is_flink)
    is_padded = to.this == exp.DType.BINARY
    if is_flink and kind.is_bytes and (to.expressions or is_padded):
        return NamedType(kind, int(to.expressions[0].name) if to.expressions else 1, is_padded)
    return NamedType(kind)


def _type(to: exp.DataType, source: Source, *, is_flink: bool) -> DataType:
    if to.this in _PLAIN:
        return _PLAIN[to.this]
    if to.this in exp.DataType.TEXT_TYPES:
        return kinds.STRING
    moment = named_moment(to, is_flink=is_flink)
    if moment is not None:
        return moment
    inner = [part for part in to.expressions if isinstance(part, exp.DataType)]
    match to.this:
        case exp.DType.DECIMAL:
            precision, scale = ([int(part.name) for part in to.expressions] + [0, 0])[:2]
            return kinds.decimal(precision or 10, scale)
        case exp.DType.TIME if is_flink:
            return _TIME
        case exp.DType.ARRAY | exp.DType.LIST if len(inner) == 1:
            return kinds.array(_type(inner[0], source, is_flink=is_flink))
        case exp.DType.MAP if len(inner) == 2:
            return kinds.map_of(*(_type(part, source, is_flink=is_flink) for part in inner))
        case exp.DType.STRUCT:
            parts = [(part.name, part.args["kind"]) for part in to.expressions if isinstance(part, exp.ColumnDef)]
            if len(parts) == len(to.expressions):
                return kinds.row((name, _type(kind, source, is_flink=is_flink)) for name, kind in parts)
        case exp.DType.INTERVAL:
            unit = to.expressions[0].sql().upper() if to.expressions else ""
            return kinds.MONTHS if "YEAR" in unit or "MONTH" in unit else kinds.MICROS
    raise refusals.unsupported(source, to, f"the type {to.sql()}")
