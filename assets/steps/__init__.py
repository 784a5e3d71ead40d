"""The steps of a run, one op per operation, their plans, and the assets over partitions and periods."""
