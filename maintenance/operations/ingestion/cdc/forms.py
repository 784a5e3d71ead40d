"""The forms of messages that are known, by the names that Paimon has for them."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from maintenance.errors import OptionError
from maintenance.operations.ingestion.cdc import canal, debezium, maxwell, plain
from maintenance.operations.ingestion.cdc.form import Form

_FORMS: Mapping[str, Callable[[Mapping[str, str]], Form]] = {
    debezium.NAME: debezium.Debezium.of,
    canal.Canal.name: canal.Canal.of,
    maxwell.Maxwell.name: maxwell.Maxwell.of,
}

NAMES = (*_FORMS, plain.Plain.name)


def form_of(name: str, options: Mapping[str, str], row_kind_column: str | None) -> Form:
    """Raises: OptionError: of the options; or the messages say the kinds of rows, and a column is given for them."""
    if name == plain.Plain.name:
        return replace(plain.Plain.of(options), kind_key=row_kind_column)
    if row_kind_column is not None:
        problem = f"'row_kind_column' is given, and messages of format '{name}' say the kinds of their rows"
        raise OptionError(problem, "landing", "Leave it out.")
    return _FORMS[name](options)
