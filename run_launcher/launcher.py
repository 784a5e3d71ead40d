"""The run launcher that dagster.yaml names: it forks runs where that works, and is Dagster's own launcher elsewhere."""

import dagster as dg


def unavailable() -> str | None:
    """Why runs cannot be forked with the Dagster that is installed; None if they can."""
    try:
        from paimon_maintenance.run_launcher.internals import TESTED_MINORS
    except ImportError as error:
        return f"Dagster {dg.__version__} lacks what forked runs need: {error}"
    if dg.__version__.rpartition(".")[0] not in TESTED_MINORS:
        return f"forked runs work with Dagster {' and '.join(TESTED_MINORS)}, and this is {dg.__version__}"
    return None


def run_launcher() -> type[dg.DefaultRunLauncher]:
    """The launcher for the Dagster that is installed."""
    if unavailable() is not None:
        return dg.DefaultRunLauncher
    from paimon_maintenance.run_launcher.forking import ForkingRunLauncher

    return ForkingRunLauncher


RunLauncher = run_launcher()
