"""Runs of `make ui` start at once: they are forked from a process that has already imported what they need.

`launcher` is what dagster.yaml names; `forking` is the launcher; `workers` is the process that forks; `worker` is one
forked run; `scope` limits what a run loads to its own tables; `internals` holds every private name of Dagster.
"""
