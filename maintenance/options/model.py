"""What a table is, as its options say: each is read once, when somebody first asks."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NoReturn

from maintenance.options import table as table_options


class TableModel(dict[str, str]):
    """The options of a table at one moment, and what they mean. It is made when a table is opened, and never changes.

    It is handed down as the mapping that it is, so that no one reads an option again. An option with a wrong value
    raises OptionError where it is asked for, and only there: what does not depend on it goes on.
    """

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "TableModel":
        """The model of some options; these themselves if they are one."""
        return options if isinstance(options, cls) else cls(options)

    @cached_property
    def bucket(self) -> int:
        """The number of buckets of a partition; -1: dynamic, or none; -2: postponed."""
        return table_options.BUCKET.of(self)

    @property
    def is_postponed(self) -> bool:
        """Whether rows wait for their buckets."""
        return self.bucket == table_options.POSTPONE_BUCKET

    @cached_property
    def merge_engine(self) -> str:
        """What becomes of the rows of one key."""
        return table_options.MERGE_ENGINE.of(self)

    @cached_property
    def changelog_producer(self) -> str:
        """What makes the changelog; ``none``: nothing."""
        return table_options.CHANGELOG_PRODUCER.of(self)

    @cached_property
    def has_deletion_vectors(self) -> bool:
        """Whether rows are deleted by marks for the files that have them."""
        return table_options.DELETION_VECTORS_ENABLED.of(self)

    @cached_property
    def ignores_deletes(self) -> bool:
        """Whether retractions are dropped."""
        return table_options.IGNORE_DELETE.of(self)

    @cached_property
    def tracks_rows(self) -> bool:
        """Whether rows have an id for life."""
        return table_options.ROW_TRACKING_ENABLED.of(self)

    @cached_property
    def evolves(self) -> bool:
        """Whether files may have some columns of rows that are there: data evolution."""
        return table_options.DATA_EVOLUTION_ENABLED.of(self)

    @cached_property
    def clusters_keys(self) -> bool:
        """Whether files of a table with a primary key are clustered by other columns."""
        return table_options.PK_CLUSTERING_OVERRIDE.of(self)

    def _unchangeable(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("the options of an open table do not change: make another table with copy")

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _unchangeable

    def __reduce__(self) -> tuple[Any, ...]:
        return TableModel, (dict(self),)
