"""Names for states: tags, branches, consumers; and going back to a state."""
