"""The base of everything in tables.yaml: frozen, and with a fixed set of keys."""

from typing import Any

from pydantic import BaseModel, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from maintenance.spelling import suggestion

_UNKNOWN_KEY = "unknown_key"


class Entry(BaseModel, frozen=True, extra="forbid"):
    """A part of tables.yaml. An unknown key is a mistake that names the nearest key and all keys there are."""

    @model_validator(mode="before")
    @classmethod
    def keys_are_known(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        unknown = [key for key in given if key not in cls.model_fields]
        if unknown:
            known = sorted(name for name, field in cls.model_fields.items() if not field.exclude)
            # As pydantic's own errors: each at the place of its key, so that its line can be named.
            mistakes = [InitErrorDetails(type=_mistake(key, known), loc=(key,), input=given[key]) for key in unknown]
            raise ValidationError.from_exception_data(cls.__name__, mistakes)
        return given


def _mistake(key: Any, known: list[str]) -> PydanticCustomError:
    text = "unknown key '{key}'.{meant} Known keys: {known}"
    found = {"key": str(key), "meant": suggestion(str(key), known), "known": ", ".join(known)}
    return PydanticCustomError(_UNKNOWN_KEY, text, found)
