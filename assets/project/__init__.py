"""How Dagster finds the tables of tables.yaml: which file, which of them a run is about, links to their pages."""
