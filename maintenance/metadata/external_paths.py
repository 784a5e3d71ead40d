"""The folders outside a table that its data files go to: `data-file.external-paths`.

Source: Java `AbstractFileStore.createExternalPaths`, `ExternalPathProvider`.
"""

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from maintenance.errors import OptionError
from maintenance.format.bytes.murmur import unseeded_hash
from maintenance.options import table as table_options
from maintenance.options.blob import BLOB_EXTERNAL_STORAGE_FIELD, BLOB_EXTERNAL_STORAGE_PATH
from maintenance.options.model import TableModel

_PLACE = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/]*))?(?P<path>/.*)?")
_HASH_BITS, _DIRECTORY_BITS, _DIRECTORIES = 20, 4, 3
_ENTROPY = re.compile(r"([01]{4}/){3}[01]{8}")
_KEY = table_options.DATA_FILE_EXTERNAL_PATHS.key


@dataclass(frozen=True, slots=True)
class ExternalPaths:
    """Where new data files go. `weights`: of the roots, where they have some."""

    roots: tuple[str, ...]
    strategy: str
    weights: tuple[int, ...] = ()

    @classmethod
    def of(cls, options: TableModel) -> "ExternalPaths | None":
        """None: data files go to the table's own folder. Raises: OptionError."""
        strategy = table_options.DATA_FILE_EXTERNAL_PATHS_STRATEGY.of(options)
        roots = external_roots(options)
        if strategy == "none" or not roots:
            return None
        if strategy == "specific-fs":
            roots = _on_file_system(roots, table_options.DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS.of(options))
        weights = table_options.DATA_FILE_EXTERNAL_PATHS_WEIGHTS.of(options) if strategy == "weight-robin" else ()
        if weights and len(roots) > 1 and len(weights) != len(roots):
            raise OptionError(
                f"there are {len(weights)} weights for {len(roots)} paths",
                f"option '{table_options.DATA_FILE_EXTERNAL_PATHS_WEIGHTS.key}'",
                f"Give one for each path of '{_KEY}'.",
            )
        return cls(roots, strategy, weights if len(roots) > 1 else ())

    def choices(self) -> Iterator[str]:
        """The root of each new file, without end: in turn, from any of them on, or drawn by weight."""
        if self.weights:
            while True:
                yield random.choices(self.roots, self.weights)[0]
        at = random.randrange(len(self.roots))
        while True:
            at = (at + 1) % len(self.roots)
            yield self.roots[at]

    def below_bucket(self, file_name: str) -> str:
        """The path of a file below the folder of its bucket."""
        return f"{entropy_folders(file_name)}/{file_name}" if self.strategy == "entropy-inject" else file_name


def external_roots(options: TableModel) -> tuple[str, ...]:
    """The folders that an option names, whatever the strategy makes of them. Raises: OptionError."""
    return tuple(dict.fromkeys(_root(text, _KEY) for text in options.data_file_external_paths))


def external_index_roots(options: TableModel) -> tuple[str, ...]:
    """The folder of global indexes, if there is one, as the entries of their files spell it."""
    folder = (options.global_index_external_path or "").rstrip("/")
    return (folder,) if folder else ()


def external_blob_root(options: TableModel) -> str:
    """The folder that blobs of `blob-external-storage-field` go to. Raises: OptionError: there is none."""
    text = BLOB_EXTERNAL_STORAGE_PATH.of(options)
    if not text:
        raise OptionError(
            f"'{BLOB_EXTERNAL_STORAGE_FIELD.key}' is set, and '{BLOB_EXTERNAL_STORAGE_PATH.key}' is not",
            "table options",
            "Set it to a folder such as s3://bucket/folder.",
        )
    return _root(f"file:{text}" if text.startswith("/") else text, BLOB_EXTERNAL_STORAGE_PATH.key)


def entropy_folders(file_name: str) -> str:
    """Folders with names that spread files over the partitions of a store: `0110/1001/0001/11010010`."""
    bits = f"{unseeded_hash(file_name.encode()):032b}"[-_HASH_BITS:]
    cuts = range(0, _DIRECTORIES * _DIRECTORY_BITS, _DIRECTORY_BITS)
    return "/".join([*(bits[at : at + _DIRECTORY_BITS] for at in cuts), bits[_DIRECTORIES * _DIRECTORY_BITS :]])


def is_entropy(folders: str) -> bool:
    """Whether a path below a bucket's folder is one of `entropy_folders`."""
    return _ENTROPY.fullmatch(folders) is not None


def root_of(path: str, roots: Iterable[str]) -> str | None:
    """The deepest of the roots that a file is below."""
    return max((root for root in roots if path.startswith(f"{root}/")), key=len, default=None)


def overlap(one: str, other: str) -> bool:
    """Whether two folders are the same, or one is below the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _root(text: str, key: str) -> str:
    """A folder, spelt as Java's `Path` does, which metadata then holds."""
    match = _PLACE.fullmatch(text)
    if match is None:
        raise OptionError(
            f"'{text}' has no scheme, or is not a whole path",
            f"option '{key}'",
            "Give paths such as s3://bucket/folder.",
        )
    authority = f"//{match['authority']}" if match["authority"] else ""
    path = re.sub("/+", "/", match["path"] or "").rstrip("/")
    if not authority and not path:
        raise OptionError(f"'{text}' is the root of a disk", f"option '{key}'", f"Name a folder below '{text}'.")
    if {".", ".."} & set(path.split("/")):
        raise OptionError(f"'{text}' leads through '.' or '..'", f"option '{key}'", "Write the path without them.")
    return f"{match['scheme']}:{authority}{path}"


def _on_file_system(roots: tuple[str, ...], scheme: str | None) -> tuple[str, ...]:
    option = table_options.DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS.key
    if scheme is None:
        fix = "Set 'data-file.external-paths.specific-fs' to the scheme of a path, such as s3."
        raise OptionError("the strategy 'specific-fs' needs a file system", f"option '{option}'", fix)
    chosen = tuple(root for root in roots if root.partition(":")[0].lower() == scheme.lower())
    if not chosen:
        fix = f"Add a path on '{scheme}' to '{_KEY}', or name the scheme of one that is there."
        raise OptionError(f"no path of '{_KEY}' is on '{scheme}'", f"option '{option}'", fix)
    return chosen
