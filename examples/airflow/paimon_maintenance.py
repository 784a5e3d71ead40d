"""Maintains a table from Airflow: each step looks first at what it would do, and runs only if there is anything to do.

Needs `paimonctl` on the PATH of the workers, a profile of it (`PAIMON_PROFILE`), and a pool, so that few steps work on
a store at once: ``airflow pools set paimon 2 "Maintenance of Paimon tables"``.
"""

import os
from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

TABLE = os.environ.get("PAIMON_TABLE", "shop.orders")
STEPS = ("compact", "expire-snapshots", "remove-orphan-files")
NOTHING_TO_DO = 3

with DAG(
    "paimon_maintenance",
    schedule="15 * * * *",
    start_date=datetime(2024, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={
        "retries": 3,
        "retry_delay": timedelta(seconds=30),
        "retry_exponential_backoff": True,
        "pool": "paimon",
    },
) as dag:
    last = None
    for step in STEPS:
        plan = BashOperator(
            task_id=f"plan_{step}".replace("-", "_"),
            bash_command=f"paimonctl --json {step} {TABLE} --dry-run",
            skip_on_exit_code=NOTHING_TO_DO,
            append_env=True,
            # A step that was skipped, as there was nothing to do, holds up none after it.
            trigger_rule="none_failed",
        )
        apply = BashOperator(
            task_id=f"apply_{step}".replace("-", "_"),
            bash_command=f"paimonctl --json {step} {TABLE}",
            skip_on_exit_code=NOTHING_TO_DO,
            append_env=True,
        )
        if last is not None:
            last >> plan
        plan >> apply
        last = apply
