"""Runs of `make ui` start at once: they are forked from a process that has already imported what they need.

A package that can be left out: then take `run_launcher` out of dagster.yaml, and Dagster starts runs itself.

`launcher` is what dagster.yaml names; `forking` is the launcher; `workers` is the process that forks; `worker` is one
forked run; `parent` is what `make ui` starts; `internals` holds every private name of Dagster.
"""
