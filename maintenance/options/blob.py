"""Where the values of BLOB columns are: in files of blobs, or elsewhere. Source: Java `CoreOptions`."""

from maintenance.options.option import Option, boolean, names, string

BLOB_AS_DESCRIPTOR = Option("blob-as-descriptor", boolean, False)
BLOB_FIELD: Option[tuple[str, ...]] = Option("blob-field", names, ())
BLOB_DESCRIPTOR_FIELD: Option[tuple[str, ...]] = Option(
    "blob-descriptor-field", names, (), ("blob.stored-descriptor-fields",)
)
BLOB_VIEW_FIELD: Option[tuple[str, ...]] = Option("blob-view-field", names, ())
# Of Paimon 1.4 alone.
BLOB_EXTERNAL_STORAGE_FIELD: Option[tuple[str, ...]] = Option("blob-external-storage-field", names, ())
BLOB_EXTERNAL_STORAGE_PATH: Option[str | None] = Option("blob-external-storage-path", string, None)
BLOB_WRITE_NULL_ON_MISSING_FILE = Option("blob-write-null-on-missing-file", boolean, False)
BLOB_WRITE_NULL_ON_FETCH_FAILURE = Option("blob-write-null-on-fetch-failure", boolean, False)
BLOB_VIEW_RESOLVE_ENABLED = Option("blob-view.resolve.enabled", boolean, True)
