"""The definition of a view as a JDBC catalog stores it: JSON, laid out as Java's pretty printer does.

Source: Java `ViewSchema`.
"""

import json
from typing import Any

from maintenance.errors import CorruptFileError, SchemaError
from maintenance.metastore.view import View
from maintenance.types.data_type import field_of_json, json_of_field

_INDENT = "  "


def serialize_view(view: View) -> str:
    """Raises: SchemaError: a column's type cannot be read."""
    form: dict[str, Any] = {
        "fields": [json_of_field(field) for field in view.columns()],
        "query": view.query,
        "dialects": dict(view.dialects),
    }
    if view.comment is not None:
        form["comment"] = view.comment
    return _pretty({**form, "options": dict(view.options)}, "")


def parse_view(text: str, where: str) -> View:
    """Raises: CorruptFileError."""
    try:
        form = json.loads(text)
        fields = tuple(map(field_of_json, form["fields"]))
        dialects, options = form.get("dialects") or {}, form.get("options") or {}
        return View(fields, form["query"], dialects, form.get("comment"), options)
    except (ValueError, KeyError, TypeError, AttributeError, SchemaError) as error:
        raise CorruptFileError(f"not a valid view: {error}", where, "Drop the view and create it again.") from error


def _pretty(value: Any, indent: str) -> str:
    inner = indent + _INDENT
    if isinstance(value, dict):
        if not value:
            return "{ }"
        parts = (f"{inner}{_text(key)} : {_pretty(part, inner)}" for key, part in value.items())
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(value, list):
        return "[ " + ", ".join(_pretty(part, indent) for part in value) + " ]" if value else "[ ]"
    return _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
