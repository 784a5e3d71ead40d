"""Which functions of DuckDB gather rows: an entry's template that names one says so here."""

from sqlglot import exp

_GATHERS = frozenset((
    "sum", "count", "avg", "min", "max", "first", "last", "any_value", "arg_min", "arg_max", "arg_min_null",
    "arg_max_null", "list", "histogram", "quantile_cont", "quantile_disc", "median", "mode", "bool_and", "bool_or",
    "bit_and", "bit_or", "bit_xor", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "corr", "covar_pop",
    "covar_samp", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx",
    "regr_sxy", "regr_syy", "string_agg", "approx_count_distinct", "skewness", "kurtosis", "kurtosis_pop",
    "product", "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead",
    "first_value", "last_value", "nth_value",
))  # fmt: skip


def gathers(node: exp.Expr) -> bool:
    """Whether an expression of DuckDB is an aggregate, or a function of windows."""
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in _GATHERS


def is_of_groups(node: exp.Expr) -> bool:
    """The same, and what asks how rows are grouped."""
    return gathers(node) or (isinstance(node, exp.Anonymous) and str(node.this).lower() in ("grouping", "grouping_id"))
