"""What the handles of all system tables show of themselves."""

from abc import ABC, abstractmethod

from maintenance.types.data_type import DataField


class SystemTableHandle(ABC):
    """The handle of a table over another one, read like a table."""

    __slots__ = ()

    @property
    @abstractmethod
    def identifier(self) -> str: ...

    @property
    @abstractmethod
    def fields(self) -> tuple[DataField, ...]:
        """The columns."""
