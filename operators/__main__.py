"""Prints the pools of a tables.yaml, for `airflow pools import`: python -m paimon_maintenance.operators tables.yaml."""

import json
import sys

from paimon_maintenance.operators.dags import pools_of

if len(sys.argv) != 2:
    sys.exit("usage: python -m paimon_maintenance.operators tables.yaml > pools.json")
print(json.dumps(pools_of(sys.argv[1]), indent=1))
