"""What COPY INTO says of files: ``FILE_FORMAT = (TYPE = CSV, FIELD_DELIMITER = '|')``.

Source: Java `CopyFileFormat` of Paimon's Spark connector.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from maintenance.errors import OptionError, UnsupportedError
from maintenance.spelling import suggestion

Value = str | tuple[str, ...]

_LOADED = {
    "CSV": ("FIELD_DELIMITER", "SKIP_HEADER", "QUOTE", "ESCAPE", "NULL_IF", "EMPTY_FIELD_AS_NULL", "COMPRESSION"),
    "JSON": ("MULTI_LINE", "COMPRESSION", "NULL_IF", "EMPTY_FIELD_AS_NULL"),
    "PARQUET": ("COMPRESSION",),
}
_WRITTEN = {
    "CSV": ("FIELD_DELIMITER", "HEADER", "QUOTE", "ESCAPE", "COMPRESSION"),
    "JSON": ("COMPRESSION", "DATE_FORMAT", "TIMESTAMP_FORMAT"),
    "PARQUET": ("COMPRESSION",),
}
_SUFFIXES = {"NONE": "", "UNCOMPRESSED": "", "GZIP": ".gz"}
_PARQUET_SUFFIXES = {**_SUFFIXES, "SNAPPY": ".snappy", "ZSTD": ".zstd", "LZ4_RAW": ".lz4raw", "BROTLI": ".br"}


@dataclass(frozen=True, slots=True)
class FileFormat:
    """How values stand in files.

    Attributes:
        type: CSV, JSON or PARQUET.
        has_header: the first line names the columns.
        is_whole: a JSON file is one value, rather than a line each.
        nulls: texts that stand for no value.
        empty_is_null: so does an empty text.
        compression: in upper case; None = what is usual for the format.
    """

    type: str
    delimiter: str
    quote: str
    escape: str
    has_header: bool = False
    is_whole: bool = False
    nulls: tuple[str, ...] = ()
    empty_is_null: bool = False
    compression: str | None = None

    @classmethod
    def to_load(cls, options: Mapping[str, Value]) -> Self:
        """Raises: OptionError, UnsupportedError: see `_checked`; of a value."""
        found = _checked(options, _LOADED)
        if found.get("SKIP_HEADER", "0") not in ("0", "1"):
            raise _wrong("SKIP_HEADER", found["SKIP_HEADER"], "0 or 1")
        if found["TYPE"] != "PARQUET":
            _codec(found, _SUFFIXES)
        nulls = found.get("NULL_IF", ())
        shared = cls._shared(found)
        return replace(
            shared,
            has_header=found.get("SKIP_HEADER") == "1",
            is_whole=_truth(found, "MULTI_LINE"),
            nulls=(nulls,) if isinstance(nulls, str) else nulls,
            empty_is_null=_truth(found, "EMPTY_FIELD_AS_NULL"),
        )

    @classmethod
    def to_write(cls, options: Mapping[str, Value]) -> Self:
        """Raises: OptionError, UnsupportedError: see `_checked`; of a value; patterns of times are not known."""
        found = _checked(options, _WRITTEN)
        for key in ("DATE_FORMAT", "TIMESTAMP_FORMAT"):
            if key in found:
                raise UnsupportedError(
                    f"{key} is not supported", "FILE_FORMAT", "Write the text by date_format(…) in a query."
                )
        _codec(found, _PARQUET_SUFFIXES if found["TYPE"] == "PARQUET" else _SUFFIXES)
        return replace(cls._shared(found), has_header=_truth(found, "HEADER"))

    @classmethod
    def _shared(cls, found: Mapping[str, Value]) -> Self:
        codec = found.get("COMPRESSION")
        return cls(
            str(found["TYPE"]),
            str(found.get("FIELD_DELIMITER", ",")),
            str(found.get("QUOTE", '"')),
            str(found.get("ESCAPE", "\\")),
            compression=None if codec is None else str(codec).upper(),
        )

    @property
    def suffix(self) -> str:
        """The end of a written file's name."""
        if self.type == "PARQUET":
            return f"{_PARQUET_SUFFIXES[self.compression or 'SNAPPY']}.parquet"
        return f".{self.type.lower()}{_SUFFIXES[self.compression or 'NONE']}"


def _checked(options: Mapping[str, Value], known: Mapping[str, tuple[str, ...]]) -> dict[str, Value]:
    """Raises: OptionError: no TYPE, or an option that the format has not; UnsupportedError: another format."""
    if "TYPE" not in options:
        raise OptionError("FILE_FORMAT has no TYPE", "FILE_FORMAT", f"Write TYPE = {', '.join(known)}.")
    kind = str(options["TYPE"]).upper()
    if kind not in known:
        raise UnsupportedError(f"files of type {kind} are not supported", "FILE_FORMAT", f"Use {', '.join(known)}.")
    for key in options:
        if key not in ("TYPE", *known[kind]):
            fix = f"There are: {', '.join(known[kind])}.{suggestion(key, known[kind])}"
            raise OptionError(f"{kind} files have no option {key} here", "FILE_FORMAT", fix)
    return {**options, "TYPE": kind}


def _codec(found: Mapping[str, Value], known: Mapping[str, str]) -> None:
    """Raises: UnsupportedError: nothing here reads or writes it."""
    codec = str(found.get("COMPRESSION", "NONE")).upper()
    if codec not in known:
        raise UnsupportedError(f"COMPRESSION = {codec} is not supported", "FILE_FORMAT", f"Use {', '.join(known)}.")


def _truth(found: Mapping[str, Value], key: str) -> bool:
    text = str(found.get(key, "FALSE")).upper()
    if text not in ("TRUE", "FALSE"):
        raise _wrong(key, text, "TRUE or FALSE")
    return text == "TRUE"


def _wrong(key: str, value: Value, expected: str) -> OptionError:
    return OptionError(
        f"{key} = {value}: {expected} is expected", "FILE_FORMAT", f"Write {key} = … in FILE_FORMAT with such a value."
    )
