"""Catalogs by the kind of their metastore, and what all of them share: schemas, their changes, names."""
