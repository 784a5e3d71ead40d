"""Maintains a table from Airflow: each step says first what it would do, and then exactly that is done, if there is
anything to do. The logs have the plans' ids; the console shows a plan under /plans/ID.

Needs `paimonctl` on the PATH of the workers, a profile of it (`PAIMON_PROFILE`), and a pool, so that few steps work on
a store at once: ``airflow pools set paimon 2 "Maintenance of Paimon tables"``.
"""

import logging
import os
import subprocess
from datetime import datetime, timedelta

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

TABLE = os.environ.get("PAIMON_TABLE", "shop.orders")
STEPS = ("compact", "expire-snapshots", "remove-orphan-files")
LOG = logging.getLogger(__name__)
REFUSED, NOTHING_TO_DO = 2, 3


def run(*arguments: str) -> str:
    """Run a command of paimonctl. Returns what it prints."""
    done = subprocess.run(["paimonctl", *arguments], stdout=subprocess.PIPE, text=True, check=False)
    LOG.info(done.stdout)
    if done.returncode == NOTHING_TO_DO:
        raise AirflowSkipException(f"paimonctl {arguments[0]} has nothing to do")
    if done.returncode == REFUSED:
        # Another attempt would be refused, too: a wrong name, or a plan that no longer holds. Its log says what to do.
        raise AirflowFailException(f"paimonctl {arguments[0]} refused")
    done.check_returncode()
    return done.stdout.strip()


paimonctl = task(run)

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
        name = step.replace("-", "_")
        # A step that was skipped, as there was nothing to do, holds up none after it.
        plan = paimonctl.override(task_id=f"plan_{name}", trigger_rule="none_failed")(step, TABLE, "--plan")
        apply = paimonctl.override(task_id=f"apply_{name}")("--json", step, "--apply", plan)
        if last is not None:
            last >> plan
        last = apply
