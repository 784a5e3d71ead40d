"""CALL of procedures, with arguments by position or by name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.tokens import Token

from maintenance.errors import UnsupportedError
from maintenance.sql.cursor import Cursor
from maintenance.sql.place import unknown
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse

if TYPE_CHECKING:
    from maintenance.operations.plans.stored_plan import StoredPlan
    from maintenance.sql.procedures.procedure import Call, Procedure
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class Argument:
    """`name` None: by position. `token`: where it starts."""

    name: str | None
    value: Any
    token: Token


@dataclass(frozen=True, slots=True)
class CallProcedure:
    path: tuple[str, ...]
    arguments: tuple[Argument, ...]
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        procedure, call = self._read(session)
        return procedure.run(call)

    def plan(self, session: "SessionState") -> "StoredPlan":
        procedure, call = self._read(session)
        plan = None if procedure.planning is None else procedure.planning.make(call)
        if plan is None:
            raise self.cursor.error(
                f"such a call of sys.{procedure.name} has no plan",
                "Name one table or branch." if procedure.planning else "Use dry_run => TRUE, if it has that.",
                token=self.cursor.words[0],
                kind=UnsupportedError,
            )
        options = call.get("options")
        return replace(plan, table_options=dict(options)) if options else plan

    def _read(self, session: "SessionState") -> "tuple[Procedure, Call]":
        # The operations take long to import, and most statements need none of them.
        from maintenance.sql.procedures.procedure import Call
        from maintenance.sql.procedures.refused import REFUSED
        from maintenance.sql.procedures.registry import PROCEDURES

        name = self.path[-1].lower()
        token = self.cursor.word(self.path[-1])
        if len(self.path) > 1 and self.path[-2].lower() == "sys" and name in REFUSED:
            reason, instead = REFUSED[name]
            raise self.cursor.error(f"sys.{name}: {reason}", instead, token=token, kind=UnsupportedError)
        if len(self.path) < 2 or self.path[-2].lower() != "sys" or name not in PROCEDURES:
            raise self.cursor.error(*unknown("procedure", ".".join(self.path), [f"sys.{p}" for p in PROCEDURES]),
                                    token=token)  # fmt: skip
        procedure = PROCEDURES[name]
        ordered = procedure.ordered(session.dialect)
        by_name = {spelt.lower(): p for p in ordered for spelt in (p.name, *p.others)}
        values: dict[str, Any] = {}
        endless = next((number for number, p in enumerate(ordered) if p.takes_more), None)
        for number, argument in enumerate(self.arguments):
            if endless is not None and number > endless and argument.name is None and isinstance(argument.value, str):
                values[ordered[endless].name] += procedure.read(ordered[endless], argument.value)
                continue
            if argument.name is None and number >= len(ordered):
                raise self.cursor.error(
                    f"sys.{name} takes {len(ordered)} arguments",
                    f"They are: {', '.join(p.name for p in ordered)}.",
                    token=argument.token,
                )
            if argument.name is not None and argument.name.lower() not in by_name:
                raise self.cursor.error(
                    *unknown("argument", argument.name, [p.name for p in ordered]), token=argument.token
                )
            parameter = ordered[number] if argument.name is None else by_name[argument.name.lower()]
            if parameter.name in values:
                raise self.cursor.error(f"argument '{parameter.name}' is given twice", token=argument.token)
            if argument.value not in (None, ""):
                values[parameter.name] = procedure.read(parameter, argument.value)
        for parameter in ordered:
            if parameter.required and parameter.name not in values:
                raise self.cursor.error(f"argument '{parameter.name}' of sys.{name} is missing", token=token)
        return procedure, Call(session, procedure.with_options(values))


def _call(cursor: Cursor) -> CallProcedure:
    path = cursor.path("the name of a procedure")
    cursor.expect("(")
    arguments: list[Argument] = []
    while not cursor.take(")"):
        token = cursor.token
        if token is None:
            raise cursor.unexpected(")")
        name = None
        if cursor.peek("=>", ahead=1):
            name = cursor.name("the name of an argument")
            cursor.expect("=>")
        arguments.append(Argument(name, _value(cursor.expression(",", ")"), cursor, token), token))
        if not cursor.take(","):
            cursor.expect(")")
            break
    return CallProcedure(path, tuple(arguments), cursor)


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
