"""Names of jobs, and how their config names a table."""

# The first step of a job that is for any table, whose config names it; and the job that expires one.
CHOOSE, EXPIRE_TABLE = "choose", "expire_table"


def job(action: str, identifier: str) -> str:
    """The name of a table's job: ``compact_demo_flights``."""
    return f"{action}_{identifier.replace('.', '_')}"


def job_config(identifier: str, config: str = "") -> str:
    """The config of a job that is for any table, filled in with this one. `config`: of its other steps."""
    others = config.removeprefix("ops: {")
    return f"ops: {{{CHOOSE}: {{config: {{table: {identifier}}}}}{f', {others}' if others else '}'}"
