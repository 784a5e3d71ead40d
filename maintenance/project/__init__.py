"""tables.yaml: what a file says of tables and their maintenance, read into frozen models.

Dagster, Airflow, `paimonctl` and the console go by the same ones.
"""
