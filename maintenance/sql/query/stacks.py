"""``stack(n, a, b, …)``, n rows of its other arguments, for DuckDB, which has it not: unnested lists side by side."""

from collections.abc import Sequence

from sqlglot import exp

from maintenance.errors import SqlError


def spread_stacks(tree: exp.Expr) -> None:
    """Put unnested lists for each `stack` among the outputs of a query, or behind LATERAL VIEW.

    Raises: SqlError: its first argument is not a number.
    """
    for select in list(tree.find_all(exp.Select)):
        outputs = [each for output in select.expressions for each in _outputs(output)]
        select.set("expressions", outputs)
        laterals = select.args.get("laterals") or []
        for lateral in [each for each in laterals if isinstance(each.this, exp.Stack)]:
            alias = lateral.args["alias"]
            columns = _columns(lateral.this, [column.name for column in alias.columns])
            rows = exp.Subquery(this=exp.select(*columns))
            lateral.pop()
            select.append("joins", exp.Join(this=exp.Lateral(this=rows, alias=alias), kind="CROSS"))


def _outputs(output: exp.Expr) -> Sequence[exp.Expr]:
    if isinstance(output, exp.Stack):
        return _columns(output, [])
    if isinstance(output, exp.Aliases) and isinstance(output.this, exp.Stack):
        return _columns(output.this, [name.name for name in output.expressions])
    if isinstance(output, exp.Alias) and isinstance(output.this, exp.Stack):
        return _columns(output.this, [output.alias])
    return [output]


def _columns(stack: exp.Stack, names: Sequence[str]) -> list[exp.Expr]:
    """A list for each column of the rows, unnested; rows that are cut short end with nulls."""
    count = int(stack.this.name) if isinstance(stack.this, exp.Literal) and stack.this.name.isdecimal() else 0
    if count < 1:
        raise SqlError("the first argument of stack is the number of rows", "query", "Write a number above 0.")
    values = stack.expressions
    width = -(-len(values) // count)
    if not width or (names and len(names) != width):
        raise SqlError(f"stack gives {width} columns", "query", "Give as many names and values.")
    cells = [*values, *(exp.Null() for _ in range(count * width - len(values)))]
    shown = names or [f"col{number}" for number in range(width)]
    columns = [exp.Array(expressions=[cell.copy() for cell in cells[number::width]]) for number in range(width)]
    return [
        exp.alias_(exp.Anonymous(this="unnest", expressions=[column]), name, quoted=True)
        for column, name in zip(columns, shown, strict=True)
    ]
