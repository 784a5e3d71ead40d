"""System tables, `t$name`: one module for each, listed in `registry.py`."""
