"""Casts of the Java core: which types a column may change to, and what becomes of values."""

import json
from collections.abc import Sequence
from typing import Any

import jpype

from maintenance.types.data_type import DataType, json_of_type
from maintenance.types.values import Value
from tests.java.java_values import getter, to_java

FAILED = "failed"


class JavaCasts:
    """Asks `CastExecutors`. `paimon`: Java's package."""

    def __init__(self, paimon: Any) -> None:
        self._paimon = paimon

    def data_type(self, data_type: DataType) -> Any:
        """A type as Java has it."""
        text = json.dumps(json_of_type(data_type))
        return self._paimon.utils.JsonSerdeUtil.fromJson(text, self._paimon.types.DataType.class_)

    def may_change(self, pairs: Sequence[tuple[DataType, DataType]], *, explicit: bool) -> list[bool]:
        """For each (source, target) whether ALTER accepts it."""
        collected = []
        for source, target in pairs:
            old, new = self.data_type(source), self.data_type(target)
            means = self._paimon.types.DataTypeCasts.supportsCast(old, new, explicit)
            try:
                collected.append(bool(means) and self._paimon.casting.CastExecutors.resolve(old, new) is not None)
            except jpype.JException:
                collected.append(False)
        return collected

    def cast(
        self, work: Sequence[tuple[DataType, DataType, Sequence[Value]]], zone: str
    ) -> list[list[Value | tuple[str, str]]]:
        """For each (source, target, values) the values cast; (`FAILED`, message) for one that cannot be."""
        zones = jpype.java.util.TimeZone
        before = zones.getDefault()
        zones.setDefault(zones.getTimeZone(zone))
        try:
            return [self._cast(*item) for item in work]
        finally:
            zones.setDefault(before)

    def _cast(self, source: DataType, target: DataType, values: Sequence[Value]) -> list[Value | tuple[str, str]]:
        old, new = self.data_type(source), self.data_type(target)
        executor = self._paimon.casting.CastExecutors.resolve(old, new)
        read = getter(new)
        collected: list[Value | tuple[str, str]] = []
        for value in values:
            if value is None:
                collected.append(None)
                continue
            try:
                result = executor.cast(to_java(self._paimon, value, old))
                row = self._paimon.data.GenericRow(1)
                row.setField(0, result)
                collected.append(read(row, 0))
            except jpype.JException as error:
                collected.append((FAILED, str(error)))
        return collected

    def defaults(self, texts: Sequence[tuple[str, DataType]]) -> list[Value | tuple[str, str]]:
        """The value of each default text; (`FAILED`, message) for one that does not exist."""
        collected: list[Value | tuple[str, str]] = []
        for text, data_type in texts:
            theirs = self.data_type(data_type)
            row = self._paimon.data.GenericRow(1)
            try:
                row.setField(0, self._paimon.utils.DefaultValueUtils.convertDefaultValue(theirs, text))
                collected.append(getter(theirs)(row, 0))
            except jpype.JException as error:
                collected.append((FAILED, str(error)))
        return collected
