"""tables.yaml and what may be set in the Launchpad, as frozen models."""
