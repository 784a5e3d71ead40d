"""The proof of a rewrite: what its files hold is what the rows read must become, by another way than the merge's."""
