"""Which settings would suit a table: what others would have cost, and what the table is better off with."""
