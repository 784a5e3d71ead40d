"""Which columns gather elements, texts or numbers, by their function and its options, and what is proved of them."""

from functools import partial

from maintenance.compaction.proof.bitmaps import BITMAP_WEIGHT, bitmap_words, halves_of_32, halves_of_64, union
from maintenance.compaction.proof.elements import (
    RowKeys,
    all_elements,
    different_elements,
    element_words,
    newest_entries,
    newest_fields,
    newest_rows,
    rows_together,
)
from maintenance.compaction.proof.texts import joined_texts
from maintenance.compaction.proof.unit import Unit
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField


def unit_of_gathering(field: DataField, function: str | None, options: TableModel) -> Unit:
    """The unit of a column with such a function; one of which only keys are proved for any other."""
    name = field.name
    match function:
        case "collect" if _flag(name, "distinct", options):
            return Unit((name,), (name,), different_elements, element_words, any_order=True)
        case "collect":
            return Unit((name,), (), all_elements, element_words, any_order=True)
        case "rbm32" | "rbm64":
            parse = halves_of_32 if function == "rbm32" else halves_of_64
            words = partial(bitmap_words, parse)
            return Unit((name,), (name,), union(parse), words, any_order=True, late=True, weight=BITMAP_WEIGHT)
        case "merge_map":
            return Unit((name,), (name,), newest_entries, element_words)
        case "listagg":
            delimiter = options.get(f"fields.{name}.list-agg-delimiter", ",")
            return Unit((name,), (name,), joined_texts(delimiter, distinct=_flag(name, "distinct", options)))
        case "nested_update" if not _option(name, "nested-key", options):
            return Unit((name,), (name,), rows_together(_limit(name, options)), element_words)
        case "nested_update" | "nested_partial_update":
            keys = _row_keys(field, options)
            if keys is None:
                return Unit((name,))
            newest = newest_rows(keys) if function == "nested_update" else newest_fields(keys)
            return Unit((name,), (name,), newest, element_words)
    return Unit((name,))


def nested_in_group(field: DataField, options: TableModel) -> Unit:
    """The unit of a column of nested rows in a sequence group: those without a key only add up."""
    if _option(field.name, "nested-key", options):
        return Unit((field.name,))
    expect = rows_together(_limit(field.name, options), in_group=True)
    return Unit((field.name,), (field.name,), expect, element_words, any_order=True)


def _row_keys(field: DataField, options: TableModel) -> RowKeys | None:
    """How rows are identified; None where the order of their sequences is not known here."""
    assert field.type.element is not None
    fields = field.type.element.fields
    names = [part.name for part in fields]
    key, sequence = (
        tuple(names.index(part.strip()) for part in (_option(field.name, option, options) or "").split(",") if part)
        for option in ("nested-key", "nested-sequence-field")
    )
    if any(fields[number].type.is_nested for number in sequence):
        return None
    strategy = (_option(field.name, "nested-key-null-strategy", options) or "").strip().lower()
    return RowKeys(key, sequence, strategy == "ignore", _limit(field.name, options))


def _option(name: str, option: str, options: TableModel) -> str | None:
    return options.get(f"fields.{name}.{option}")


def _flag(name: str, option: str, options: TableModel) -> bool:
    return (_option(name, option, options) or "").strip().lower() == "true"


def _limit(name: str, options: TableModel) -> int | None:
    text = _option(name, "count-limit", options)
    return None if text is None else int(text)
