"""Predicates of `expected.json` as conditions in Spark's SQL: ``["and", [">=", "f3_int", 7], ["is_null", "name"]]``."""

from collections.abc import Mapping
from typing import Any

from maintenance.types.data_type import DataType


def sql_of(predicate: list[Any], types: Mapping[str, DataType]) -> str:
    """A predicate as SQL. `types`: of the columns."""
    match predicate:
        case ["and" | "or" as junction, *children]:
            return "(" + f" {junction.upper()} ".join(sql_of(child, types) for child in children) + ")"
        case ["is_null", column]:
            return f"`{column}` IS NULL"
        case ["is_not_null", column]:
            return f"`{column}` IS NOT NULL"
        case ["in" | "not_in" as operator, column, values]:
            listed = ", ".join(literal(value, types[column]) for value in values)
            return f"`{column}` {operator.replace('_', ' ').upper()} ({listed})"
        case ["between", column, low, high]:
            return f"`{column}` BETWEEN {literal(low, types[column])} AND {literal(high, types[column])}"
        case ["=" | "<>" | "<" | "<=" | ">" | ">=" as operator, column, value]:
            return f"`{column}` {operator} {literal(value, types[column])}"
    raise AssertionError(f"unknown predicate {predicate}")


def literal(value: Any, data_type: DataType) -> str:
    """A value in canonical form as a SQL literal of its type."""
    match data_type.root:
        case "CHAR" | "VARCHAR":
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case "BINARY" | "VARBINARY":
            return f"X'{value}'"
        case "DATE" | "TIME":
            return f"{data_type.root} '{value}'"
        case "TIMESTAMP":
            return f"TIMESTAMP_NTZ '{value}'"
        case "TIMESTAMP_LTZ":
            return f"TIMESTAMP '{value.removesuffix('Z')}Z'"
        case "FLOAT" | "DOUBLE":
            return f"CAST('{value}' AS {data_type.root})"
    return str(value).upper()
