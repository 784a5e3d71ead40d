"""Patterns of names in SHOW."""

import re

import pyarrow as pa
import pyarrow.compute as pc


def fits(pattern: str, name: str, *, is_spark: bool) -> bool:
    """Whether a name fits a pattern: of LIKE, with `%` and `_`, or Spark's `*` and `|`, where case does not matter.

    Source: Spark's `StringUtils.filterPattern`, which takes `%` literally; here it is a wildcard, as many write it.
    """
    if not is_spark:
        return _is_like(pattern, name)
    if "%" in pattern:
        return _is_like(pattern.replace("*", "%").lower(), name.lower())
    choices = (".*".join(map(re.escape, part.strip().split("*"))) for part in pattern.split("|"))
    return any(re.fullmatch(choice, name, re.IGNORECASE) for choice in choices)


def _is_like(pattern: str, name: str) -> bool:
    is_match: bool = pc.match_like(pa.scalar(name), pattern).as_py()
    return is_match
