"""A table's page in Dagster's catalogue: what it is in words, tags to filter by, columns and their lineage, links.

What the table's own schema says goes before what tables.yaml says: it may have been changed since it was described.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import dagster as dg

from maintenance.format.metadata.schema import TableSchema
from maintenance.options.materialized import Definition, RefreshStatus
from maintenance.project.config import TableConfig
from maintenance.types.data_type import DataField, parse_type
from paimon_maintenance.assets import keys

STORAGE_KIND = "paimon"
COLUMN_SCHEMA, COLUMN_LINEAGE = "dagster/column_schema", "dagster/column_lineage"
_ENGINE, _DEFAULT_ENGINE = "merge-engine", "deduplicate"


def kinds(table: TableConfig) -> set[str]:
    """What is shown as icons: the format of the table, who works on it, and the format of its files."""
    return {STORAGE_KIND, table.options.get("file.format", "parquet"), "spark"}


def description(table: TableConfig) -> str:
    """What people said of the table, then its shape, as Markdown that reads well as plain text."""
    text = table.description or (table.found.comment if table.found else None) or ""
    if is_absent(table):
        absent = "Not found in the warehouse, or unreadable, when the definitions were loaded."
        return "\n\n".join(filter(None, [text, absent]))
    parts = [_origin(table)]
    if table.primary_keys:
        parts.append(f"primary key {_listed(table.primary_keys)}")
        parts.append(f"merge engine {table.options.get(_ENGINE, _DEFAULT_ENGINE)}")
    if table.partition_keys:
        parts.append(f"partitioned by {_listed(table.partition_keys)}")
    parts.append(_buckets(table))
    return "\n\n".join(filter(None, [text, f"{'; '.join(parts)}."]))


def _origin(table: TableConfig) -> str:
    """Who writes a table, as the beginning of a sentence."""
    definition = table.materialized
    if definition is None:
        return f"Written by {'others' if table.is_external else 'the batches that land'}"
    sources = f" from {_listed(table.lineage)}" if table.lineage else ""
    return f"Materialized{sources}, within {definition.freshness.words} of a change ({definition.mode.lower()} mode)"


def definition_metadata(definition: Definition | None) -> dict[str, Any]:
    """What defines a materialized table."""
    if definition is None:
        return {}
    state = str(definition.status)
    chosen = ", which follows from it" if definition.logical_mode == "AUTOMATIC" else ""
    if definition.rests_because and definition.status == RefreshStatus.ACTIVATED:
        state = f"{state}, but {definition.rests_because}"
    return {
        "definition": dg.MetadataValue.md(f"```sql\n{definition.query}\n```"),
        "freshness": f"{definition.freshness.words}, {definition.mode.lower()} mode{chosen}",
        "refresh status": state,
    }


def actions(table: TableConfig) -> tuple[str, ...]:
    """The jobs that a table has, as far as its page names them."""
    return (*((keys.REFRESH,) if table.materialized else ()), "maintain", "compact", "expire", "fsck")


def jobs(table: TableConfig) -> dg.MarkdownMetadataValue:
    """Links to the table's jobs. Lists show descriptions as plain text, so the links are not part of them."""
    # Dagster finds the code location of a job itself under this path.
    names = [keys.job_of(table, action) for action in actions(table)]
    return dg.MetadataValue.md(", ".join(f"[{name}](/guess/{name})" for name in names))


def tags(table: TableConfig) -> dict[str, str]:
    """What the catalogue can be filtered by."""
    if is_absent(table):
        return {}
    others = "refresh" if table.materialized else "others"
    tags_of_table = {"paimon/written-by": others if table.is_external else "landing"}
    tags_of_table["paimon/type"] = "primary-key" if table.primary_keys else "append"
    if table.primary_keys:
        tags_of_table["paimon/merge-engine"] = table.options.get(_ENGINE, _DEFAULT_ENGINE)
    return tags_of_table


def is_absent(table: TableConfig) -> bool:
    """Whether nothing is known of a table: it is not created here, and was not found, or could not be read."""
    return table.found is None and not table.columns


def standing_metadata(table: TableConfig) -> dict[str, Any]:
    """What is known of a table before it is ever touched."""
    metadata: dict[str, Any] = {"dagster/table_name": table.identifier, "dagster/storage_kind": STORAGE_KIND}
    if not is_absent(table):
        metadata["jobs"] = jobs(table)
    fields = table.found.fields if table.found else _described(table)
    if table.found is not None:
        metadata["dagster/uri"] = table.found.location
    if fields:
        metadata[COLUMN_SCHEMA] = column_schema(
            with_descriptions(table, fields), table.primary_keys, table.partition_keys
        )
    return {**metadata, **definition_metadata(table.materialized), **links(table), **column_lineage(table)}


def columns_metadata(table: TableConfig, schema: TableSchema) -> dict[str, Any]:
    """The columns of a table's schema as it is now, where they come from, and what defines a materialized table."""
    columns = column_schema(with_descriptions(table, schema.fields), schema.primary_keys, schema.partition_keys)
    definition = Definition.find(schema.options)
    return {COLUMN_SCHEMA: columns, **definition_metadata(definition), **column_lineage(table)}


def with_descriptions(table: TableConfig, fields: Iterable[DataField]) -> list[DataField]:
    """The columns with what they are made from in their comments, where tables.yaml says it.

    Dagster's open-source UI shows the lineage of columns as JSON only.
    """
    sources: dict[str, list[str]] = {}
    for upstream, columns in table.lineage.items():
        for name, names in columns.items():
            sources.setdefault(name, []).append(f"{upstream}: {_listed(names)}")
    return [
        replace(
            field, description=" ".join(filter(None, [field.description, f"From {'; '.join(sources[field.name])}."]))
        )
        if field.name in sources
        else field
        for field in fields
    ]


def links(table: TableConfig) -> dict[str, Any]:
    """The links of tables.yaml, under their names."""
    return {name: dg.MetadataValue.url(url) for name, url in table.links.items()}


def column_lineage(table: TableConfig) -> dict[str, Any]:
    """Which columns the table's columns come from, as metadata; empty where nobody knows.

    What lands goes into the columns of the same name; what pipelines of others do, tables.yaml may say.
    """
    deps: dict[str, list[dg.TableColumnDep]] = {}
    if table.landing is not None:
        landing = keys.landing(table.identifier)
        names = [field.name for field in (table.found.fields if table.found else _described(table))]
        deps.update({name: [dg.TableColumnDep(landing, name)] for name in names})
    for upstream, columns in table.lineage.items():
        key = keys.asset_key(upstream)
        for name, sources in columns.items():
            deps.setdefault(name, []).extend(dg.TableColumnDep(key, source) for source in sources)
    return {COLUMN_LINEAGE: dg.TableColumnLineage(deps)} if deps else {}


def column_schema(
    fields: Iterable[DataField], primary_keys: Iterable[str], partition_keys: Iterable[str]
) -> dg.TableSchema:
    """The columns with type, whether null is allowed, comment, and what they are a key of."""
    roles: Mapping[str, Iterable[str]] = {"primary key": list(primary_keys), "partition key": list(partition_keys)}
    return dg.TableSchema(
        [
            dg.TableColumn(
                field.name,
                str(field.type.as_nullable()),
                description=field.description,
                constraints=dg.TableColumnConstraints(
                    nullable=field.type.nullable, other=[role for role, names in roles.items() if field.name in names]
                ),
            )
            for field in fields
        ]
    )


def landing_asset(table: TableConfig) -> dg.AssetSpec:
    """The folder that a feed delivers into, before the table in the lineage."""
    if table.landing is None:
        raise ValueError(f"{table.identifier} has no landing folder")
    fields = [*_described(table)]
    if table.landing.row_kind_column:
        fields.append(DataField(len(fields), table.landing.row_kind_column, parse_type("STRING"), "+I, -U, +U or -D"))
    return dg.AssetSpec(
        keys.landing(table.identifier),
        description=f"Micro-batches for {table.identifier}, one file each, from `{table.landing.commit_user}`.",
        group_name=keys.asset_key(table.identifier).path[0],
        owners=list(table.owners) or None,
        kinds={table.landing.format.removesuffix("-json"), "file"},
        metadata={"dagster/uri": table.landing.path, COLUMN_SCHEMA: column_schema(fields, (), ())},
    )


def _described(table: TableConfig) -> list[DataField]:
    columns = enumerate(table.columns.items())
    return [DataField(n, name, parse_type(text), table.comments.get(name)) for n, (name, text) in columns]


def _buckets(table: TableConfig) -> str:
    number = table.options.get("bucket", "-1")
    unnumbered = "dynamic buckets" if table.primary_keys else "no buckets"
    return {"-1": unnumbered, "-2": "postponed buckets", "1": "one bucket"}.get(number, f"{number} buckets")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
