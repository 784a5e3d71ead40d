"""Plans that are stored by a dry run and applied by their id."""
