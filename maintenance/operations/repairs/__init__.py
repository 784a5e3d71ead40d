"""Bring tables back into order: references to files that are gone, manifests, everything but the schema."""
