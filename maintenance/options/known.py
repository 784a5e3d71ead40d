"""Every option of tables that Paimon has, with what becomes of it here, and the checks of what somebody sets.

One rule for all who set options: CREATE TABLE, ALTER TABLE, `copy`, hints, settings of a session, Spark's reads and
writes, `tables.yaml`. A value must be one that the option takes. A value that means something this engine does not do
is refused by name. A name that is like an option's is taken for a mistake; others are properties of the user's own,
which are stored, as in Paimon: `owner`, `comment` and any that is like no option, best with a namespace: `team.name`.
Tables that others wrote may have any options: they are read, written and maintained with them.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from maintenance.errors import OptionError
from maintenance.options import blob, file_index, formats, global_index, iceberg, materialized, own, streams
from maintenance.options import table as table_options
from maintenance.options.families import FAMILIES, OF_COLUMNS, family_state, is_of_others
from maintenance.options.harmless import HARMLESS
from maintenance.options.option import Option
from maintenance.options.refused import REFUSED
from maintenance.options.state import State, refusal_of
from maintenance.spelling import misspelt, nearest

_LOG = logging.getLogger(__name__)
HONOURING = (table_options, blob, file_index, formats, global_index, iceberg, own, streams)
"""The modules whose options this engine honours."""
_SPELLINGS = {"deletion-vectors": table_options.DELETION_VECTORS_ENABLED.key}
"""Names that Paimon's documents have for options, and no code of Paimon knows."""
AUDIT = ("createdAt", "createdBy", "updatedAt", "updatedBy")
"""What a REST server says of a table among its options."""
# Not options of Paimon: engines, metastores and servers keep them beside its own.
_PROPERTIES = frozenset(
    {
        "comment", "connector", "external", "is_managed_location", "location", "owner", "provider",
        "transient_lastddltime", *(name.lower() for name in AUDIT),
    }
)  # fmt: skip
_OURS = "paimon-maintenance."
_ALIKE = 0.85


def all_options() -> Iterator[Option[Any]]:
    """The options of Paimon and of this project; a key comes twice if format tables have another default."""
    for module in HONOURING:
        yield from (value for value in vars(module).values() if isinstance(value, Option))
    yield from materialized.DEFINITION
    yield from HARMLESS
    yield from REFUSED


@cache
def _by_key() -> Mapping[str, Option[Any]]:
    """The options by all their spellings."""
    known: dict[str, Option[Any]] = {}
    for option in all_options():
        for key in option.keys:
            known.setdefault(key, option)
    return known


@cache
def known_options() -> frozenset[str]:
    """Names of Paimon's table options, older spellings among them."""
    exact = (family.pattern for family in FAMILIES if "<" not in family.pattern)
    return frozenset({*_by_key(), *table_options.IMMUTABLE, *exact})


@cache
def _namespaces() -> frozenset[str]:
    return frozenset(key.partition(".")[0] for key in known_options() if "." in key)


@cache
def _by_lower_case() -> Mapping[str, str]:
    return {key.lower(): key for key in known_options()}


def state_of(key: str) -> State | None:
    """What becomes of an option; None: it is not Paimon's."""
    option = _by_key().get(key)
    if option is not None:
        return option.state
    return family_state(key)


def in_new_spelling(options: Mapping[str, str]) -> Mapping[str, str]:
    """Options with an older spelling of a key under the key itself, unless that is set too."""
    older = {key: _by_key()[key].key for key in options if key in _by_key() and _by_key()[key].key != key}
    if not older:
        return options
    return {**{new: options[old] for old, new in older.items()}, **{k: v for k, v in options.items() if k not in older}}


def as_spelt(options: Mapping[str, str]) -> dict[str, str]:
    """Options whose keys came in lower case, as Spark gives them, in Paimon's spelling."""
    return {_by_lower_case().get(key.lower(), key): value for key, value in options.items()}


def as_meant(options: Mapping[str, str], where: str) -> dict[str, str]:
    """Options as they are stored: a name that documents alone have becomes the option's, with a warning in the log."""
    meant = dict(options)
    for written, key in _SPELLINGS.items():
        if written in meant:
            _LOG.warning("%s: there is no option '%s', it is set as '%s'", where, written, key)
            meant.setdefault(key, meant[written])
            del meant[written]
    return meant


def check_set(options: Mapping[str, str], stored: Mapping[str, str], where: str) -> None:
    """Check options that somebody sets. `stored`: those that the table has; they may stay as they are.

    Raises: OptionError: a name is probably a mistake, or a value is not one; UnsupportedError: a value is refused here.
    """
    news = {key: value for key, value in options.items() if stored.get(key) != value}
    check_names(news, stored, where)
    for key, value in news.items():
        refusal = refusal_of(state_of(key))
        if refusal is not None and not refusal.accepts(value):
            raise refusal.error(key, value, where)
        if key in _by_key():
            try:
                _by_key()[key].of({key: value})
            except OptionError as error:
                raise error.at(where) from error


def is_set_to(key: str, value: str, options: Mapping[str, str]) -> bool:
    """Whether an option has that value, be it by its default. `value`: as `check_set` takes it."""
    option = _by_key().get(key)
    if option is None:
        return options.get(key) == value
    same: bool = option.of(options) == option.of({key: value})
    return same


def check_names(keys: Mapping[str, str] | Sequence[str], stored: Mapping[str, str], where: str) -> None:
    """Refuse names that are probably mistakes: like an option's. `stored`: options whose names may stay.

    Raises: OptionError.
    """
    for key in keys:
        if key in known_options() or key in stored or key.lower() in _PROPERTIES:
            continue
        if state_of(key) is None or key.startswith(_OURS) or is_of_others(key):
            _check_name(key, where)


def _check_name(key: str, where: str) -> None:
    # A name with a namespace of its own is taken for a mistake only if it is almost an option's; one of Paimon's
    # namespaces if it is much like one; a name without any if it is like one at all.
    meant = _meant_of_column(key) or misspelt(key, known_options())
    if meant is None and ("." not in key or key.startswith(_OURS)):
        meant = nearest(key, known_options())
    elif meant is None and key.partition(".")[0] in _namespaces():
        meant = nearest(key, known_options(), _ALIKE)
    if meant is None and not key.startswith(_OURS):
        return
    hint = f"Did you mean '{meant}'? " if meant else ""
    raise OptionError(
        f"option '{key}' does not exist", where, f"{hint}Give options of your own a namespace, such as team.name."
    )


def _meant_of_column(key: str) -> str | None:
    """The option of a column that a name may stand for."""
    if not key.startswith(OF_COLUMNS) or key.count(".") < 2:
        return None
    column, _, option = key.removeprefix(OF_COLUMNS).partition(".")
    names = [family.option for family in FAMILIES if family.pattern.startswith(f"{OF_COLUMNS}<")]
    meant = misspelt(option, names)
    return None if meant is None else f"{OF_COLUMNS}{column}.{meant}"
