"""The steps of a run, one op per operation, and how they fail, plan and keep account."""
