"""Files of metadata: snapshots, schemas, tags, manifests, statistics, index manifests and index files."""
