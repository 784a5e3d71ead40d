"""CALL of procedures, with arguments by position or by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from maintenance.errors import SqlError, UnsupportedError
from maintenance.sql.cursor import Cursor, Source
from maintenance.sql.dialects import PaimonSpark
from maintenance.sql.place import unknown
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse

if TYPE_CHECKING:
    from maintenance.operations.parameters import Param
    from maintenance.operations.plan_store import StoredPlan
    from maintenance.sql.procedures.procedure import Call, Procedure
    from maintenance.sql.procedures.signatures import Signature
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class Argument:
    """`name` None: by position. `token`: where it starts."""

    name: str | None
    value: Any
    token: Token


@dataclass(frozen=True, slots=True)
class CallProcedure:
    """`name`: where the name of the procedure stands."""

    path: tuple[str, ...]
    name: Token
    arguments: tuple[Argument, ...]
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        """What the engine's procedure returns. One that it has not, or with other arguments, tells what it did."""
        from maintenance.sql.procedures.signatures import own_signature

        procedure, call = self._read(session)
        signature = own_signature(procedure.name, session.dialect)
        result = procedure.run(call)
        if signature is None or not set(call.values) <= {p.name for p in _positions(procedure, signature)}:
            return result
        return signature.returned(call, result)

    def plan(self, session: "SessionState") -> "StoredPlan":
        procedure, call = self._read(session)
        plan = procedure.make(call)
        if plan is None:
            raise self.cursor.error(
                f"such a call of sys.{procedure.name} has no plan",
                "Name one table or branch." if procedure.has_plans else "Use dry_run => TRUE, if it has that.",
                token=self.cursor.words[0],
                kind=UnsupportedError,
            )
        return plan

    def _read(self, session: "SessionState") -> "tuple[Procedure, Call]":
        # The operations take long to import, and most statements need none of them.
        from maintenance.sql.procedures.procedure import Call
        from maintenance.sql.procedures.signatures import signature_of

        procedure = self._procedure()
        signature = signature_of(procedure.name, session.dialect)
        positions = _positions(procedure, signature)
        values: dict[str, Any] = {}
        named = False
        for number, argument in enumerate(self.arguments):
            if named and argument.name is None:
                problem = "an argument by position stands behind one by name"
                raise self.cursor.error(problem, "Name it, or put it in front.", token=argument.token)
            named = argument.name is not None
            parameter = self._parameter(procedure, signature, positions, number)
            if parameter.name in values and parameter.takes_more and not named:
                values[parameter.name] += self._value(procedure, parameter, argument)
            elif parameter.name in values:
                raise self.cursor.error(f"argument '{parameter.name}' is given twice", token=argument.token)
            elif argument.value not in (None, ""):
                values[parameter.name] = self._value(procedure, parameter, argument)
        if session.dialect == "flink" and signature is not None and isinstance(values.get("where"), str):
            values["where"] = _with_texts(values["where"])
        missing = next((p.name for p in procedure.parameters if p.required and p.name not in values), None)
        if missing is not None:
            raise self.cursor.error(f"argument '{missing}' of sys.{procedure.name} is missing", token=self.name)
        return procedure, Call(session, procedure.with_options(values))

    def _procedure(self) -> "Procedure":
        """Raises: SqlError: there is none of this name, or it is refused."""
        from maintenance.sql.procedures.refused import REFUSED
        from maintenance.sql.procedures.registry import PROCEDURES

        name, is_system = self.path[-1].lower(), len(self.path) > 1 and self.path[-2].lower() == "sys"
        if is_system and name in REFUSED:
            reason, instead = REFUSED[name]
            raise self.cursor.error(f"sys.{name}: {reason}", instead, token=self.name, kind=UnsupportedError)
        if not is_system or name not in PROCEDURES:
            problem, fix = unknown("procedure", ".".join(self.path), [f"sys.{each}" for each in PROCEDURES])
            raise self.cursor.error(problem, fix, token=self.name)
        return PROCEDURES[name]

    def _parameter(
        self, procedure: "Procedure", signature: "Signature | None", positions: "Sequence[Param]", number: int
    ) -> "Param":
        """What an argument is of. Raises: SqlError: there is no such parameter."""
        argument = self.arguments[number]
        known = _spelt(procedure, signature)
        if argument.name is not None:
            if argument.name.lower() not in procedure.by_name:
                raise self.cursor.error(*unknown("argument", argument.name, known), token=argument.token)
            return procedure.by_name[argument.name.lower()]
        if number >= len(positions) and positions and positions[-1].takes_more:
            return positions[-1]
        if number >= len(positions):
            problem = f"sys.{procedure.name} takes {len(positions)} arguments by position"
            raise self.cursor.error(problem, f"By name there are: {', '.join(known)}.", token=argument.token)
        return positions[number]

    def _value(self, procedure: "Procedure", parameter: "Param", argument: Argument) -> Any:
        try:
            return procedure.read(parameter, argument.value)
        except SqlError as error:
            problem = f"{error.found} ({error.where})"
            raise self.cursor.error(problem, error.fix, token=argument.token) from error


def _positions(procedure: "Procedure", signature: "Signature | None") -> "list[Param]":
    """The parameters by position: those of the engine, or of a procedure that no engine has."""
    if signature is None:
        return list(procedure.parameters)
    return [procedure.by_name[name.lower()] for name in signature.parameters]


def _spelt(procedure: "Procedure", signature: "Signature | None") -> list[str]:
    """The names of the parameters, as the engine spells them."""
    if signature is None:
        return [parameter.name for parameter in procedure.parameters]
    engines = {procedure.by_name[name.lower()].name for name in signature.parameters}
    return [*signature.parameters, *(p.name for p in procedure.parameters if p.name not in engines)]


def _with_texts(condition: str) -> str:
    """A condition whose numbers are texts, which Paimon's procedures of Flink make of every literal.

    Source: Java `SimpleSqlPredicateConvertor`.
    """
    parts, end, before = [], 0, ""
    for token in Source(condition, PaimonSpark).tokens(words=True):
        if token.token_type is TokenType.NUMBER and before not in ("-", "."):
            parts += [condition[end : token.start], f"'{Decimal(token.text):f}'"]
            end = token.end + 1
        before = token.text
    return "".join([*parts, condition[end:]])


def _call(cursor: Cursor) -> CallProcedure:
    path = cursor.path("the name of a procedure")
    procedure = cursor.words[cursor.index - 1]
    cursor.expect("(")
    arguments: list[Argument] = []
    more = not cursor.take(")")
    while more:
        token = cursor.token
        if token is None:
            raise cursor.unexpected(")")
        name = None
        if cursor.peek("=>", ahead=1):
            name = cursor.name("the name of an argument")
            cursor.expect("=>")
        arguments.append(Argument(name, _value(cursor.expression(",", ")"), cursor, token), token))
        more = cursor.take(",")
        if not more:
            cursor.expect(")")
    return CallProcedure(path, procedure, tuple(arguments), cursor)


def _value(node: exp.Expr, cursor: Cursor, token: Token) -> Any:
    """The value of a literal, cast, array or map."""
    node = node.unnest()
    match node:
        case exp.Cast():
            return _value(node.this, cursor, token)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal() if node.is_string:
            return str(node.this)
        case exp.Literal() if str(node.this).isdecimal():
            return int(node.this)
        case exp.Literal():
            return float(node.this)
        case exp.Neg():
            return -_value(node.this, cursor, token)
        case exp.Array():
            return [_value(part, cursor, token) for part in node.expressions]
        case exp.VarMap() | exp.Map():
            keys, values = node.args["keys"].expressions, node.args["values"].expressions
            return {
                str(_value(key, cursor, token)): _value(value, cursor, token)
                for key, value in zip(keys, values, strict=True)
            }
    raise cursor.error("an argument has to be a literal", "Write a text, number, TRUE, FALSE or NULL.", token=token)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {("CALL",): _call}
