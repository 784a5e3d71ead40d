"""The base of everything in tables.yaml: frozen, and with a fixed set of keys.

A component has the same parts as typed fields. Dagster fills in templates first, and what is written is read only then:
by the same validators as of a file, with the same errors. Editors know the schema of each part.
"""

from functools import cache
from typing import Any

import dagster as dg
from pydantic import BaseModel, GetJsonSchemaHandler, ValidationError, model_validator
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from maintenance.spelling import suggestion

_UNKNOWN_KEY = "unknown_key"


class Entry(BaseModel, dg.Resolvable, frozen=True, extra="forbid"):
    """A part of tables.yaml. An unknown key is a mistake that names the nearest key and all keys there are."""

    @classmethod
    def model(cls) -> type[BaseModel]:
        """How this part is written in a `defs.yaml`. Called by Dagster."""
        return _written(cls)

    @classmethod
    def resolve_from_model(cls, context: dg.ResolutionContext, model: Any) -> Any:
        """What is written, with its templates filled in: whoever has this part reads it, and knows its place.

        Called by Dagster.
        """
        written = dict(model.model_extra or {}) if isinstance(model, _Written) else model
        return context.resolve_value(written)

    @model_validator(mode="before")
    @classmethod
    def keys_are_known(cls, entry: Any) -> Any:
        if not isinstance(entry, dict):
            return entry
        unknown = [key for key in entry if key not in cls.model_fields]
        if unknown:
            names = sorted(name for name, field in cls.model_fields.items() if not field.exclude)
            # As pydantic's own errors: each at the place of its key, so that its line can be named.
            mistakes = [InitErrorDetails(type=_mistake(key, names), loc=(key,), input=entry[key]) for key in unknown]
            raise ValidationError.from_exception_data(cls.__name__, mistakes)
        return entry


class _Written(BaseModel, extra="allow"):
    """A part as it is written."""


@cache
def _written(entry: type[Entry]) -> type[BaseModel]:
    def described(_: CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        return handler(entry.__pydantic_core_schema__)

    members = {"__get_pydantic_json_schema__": staticmethod(described)}
    return type(f"{entry.__name__}Written", (_Written,), members)


def _mistake(key: Any, names: list[str]) -> PydanticCustomError:
    text = "unknown key '{key}'.{meant} Known keys: {known}"
    values = {"key": str(key), "meant": suggestion(str(key), names), "known": ", ".join(names)}
    return PydanticCustomError(_UNKNOWN_KEY, text, values)
