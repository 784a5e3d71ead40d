"""``make demo``: real flights and weather through the jobs of this project, then a report."""

import sys
import warnings

# Dagster and PySpark announce changes of parts that this demo only uses through them.
warnings.simplefilter("ignore")

# Dagster and all jobs take some seconds.
print("Loading Dagster and the jobs of the demo's tables", flush=True)

from paimon_maintenance.demo.run import main  # noqa: E402  (the warnings come while importing)

sys.exit(main())
