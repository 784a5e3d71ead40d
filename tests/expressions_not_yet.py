"""Calls whose answer is not that of the engine: an error where it has a value. Each that is mended leaves its list."""

NOT_YET: frozenset[str] = frozenset(
    {
        # Its fourth powers leave the range of DuckDB's, in a column with a NaN as well.
        "kurtosis(f64)",
    }
)
