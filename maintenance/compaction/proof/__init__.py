"""The proof of a rewrite: its files hold the expected result of the rows read, computed independently of the merge."""
