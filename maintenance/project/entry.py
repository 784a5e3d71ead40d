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


def _mistake(key: Any, names: list[str]) -> PydanticCustomError:
    text = "unknown key '{key}'.{meant} Known keys: {known}"
    values = {"key": str(key), "meant": suggestion(str(key), names), "known": ", ".join(names)}
    return PydanticCustomError(_UNKNOWN_KEY, text, values)
