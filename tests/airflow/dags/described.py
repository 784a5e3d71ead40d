"""The DAGs of a tables.yaml. Airflow reads files that say its name and that of a DAG."""

import os

from paimon_maintenance.operators import dags_of

if "PAIMON_TABLES" in os.environ:
    globals().update(dags_of(os.environ["PAIMON_TABLES"], schedule=None))
