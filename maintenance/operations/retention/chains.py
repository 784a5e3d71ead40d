"""From a holder down to a file: which list, which manifest names it. Reads each manifest once."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.metadata.holders import HeldState, Holder, StateKey, needed_by, state_key
from maintenance.metadata.manifests import merge_scan
from maintenance.table.table import Table

Held = tuple[Holder, tuple[str, ...]]
SameState = tuple[HeldState, Sequence[Holder]]


def chains(table: Table, holders: Sequence[Holder], name: str) -> Iterator[Held]:
    """Holders that name a file of any kind, with the chain."""
    states = list(_states(table, holders))
    yield from _metadata_chains(table, holders, states, name)
    yield from _data_chains(table, states, name)


def _metadata_chains(table: Table, holders: Sequence[Holder], states: Iterable[SameState], name: str) -> Iterator[Held]:
    """Holders that name a list, manifest, index file or statistics, with the chain."""
    for state, same in states:
        for holder in same:
            snapshot = holder.snapshot
            lists = {snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.index_manifest}
            if name in lists | {snapshot.statistics}:
                yield holder, (holder.name, name)
            if any(meta.file_name == name for meta in state.manifests):
                yield holder, (holder.name, _list_of(table, holder, name), name)
            if any(entry.file_name == name for entry in state.index):
                yield holder, (holder.name, str(snapshot.index_manifest), name)
    for holder in holders:
        if not holder.is_tag and holder.snapshot.changelog_manifest_list is not None:
            metas = holder.manifests(table.manifests).changelog_manifests(holder.snapshot)
            changelog = holder.snapshot.changelog_manifest_list
            if name == changelog:
                yield holder, (holder.name, name)
            for meta in metas:
                if meta.file_name == name:
                    yield holder, (holder.name, changelog, name)
                elif _has(table.manifests.read_manifest(meta), name):
                    yield holder, (holder.name, changelog, meta.file_name, name)


def _has(entries: Iterable[ManifestEntry], name: str) -> bool:
    return any(name in (entry.file.file_name, *entry.file.extra_files) for entry in entries)


def _data_chains(table: Table, states: Iterable[SameState], name: str) -> Iterator[Held]:
    """Holders in whose state a data file, or the one that it stands beside, lives."""

    def chosen(entry: ManifestEntry) -> bool:
        return name in (entry.file.file_name, *entry.file.extra_files)

    cache: dict[str, list[ManifestEntry]] = {}
    for state, same in states:
        by_manifest = _chosen_entries(table, state, chosen, cache)
        live = {entry.identity for entry in merge_scan(e for entries in by_manifest.values() for e in entries)}
        naming = [meta for meta, entries in by_manifest.items() if any(e.identity in live for e in entries)]
        if live:
            for holder in same:
                yield holder, (holder.name, _list_of(table, holder, naming[0]), naming[0], name)


def live_of(
    table: Table,
    holders: Sequence[Holder],
    chosen: Callable[[ManifestEntry], bool],
    known: dict[StateKey, HeldState] | None = None,
) -> Iterator[tuple[Holder, list[ManifestEntry]]]:
    """Of each holder the live files that are chosen. `known`: as of `needed_by`."""
    cache: dict[str, list[ManifestEntry]] = {}
    for state, same in _states(table, holders, known):
        by_manifest = _chosen_entries(table, state, chosen, cache)
        live = merge_scan(entry for entries in by_manifest.values() for entry in entries)
        for holder in same:
            yield holder, live


def _chosen_entries(
    table: Table, state: HeldState, chosen: Callable[[ManifestEntry], bool], cache: dict[str, list[ManifestEntry]]
) -> dict[str, list[ManifestEntry]]:
    for meta in state.manifests:
        if meta.file_name not in cache:
            cache[meta.file_name] = [entry for entry in table.manifests.read_manifest(meta) if chosen(entry)]
    return {meta.file_name: cache[meta.file_name] for meta in state.manifests}


def _states(
    table: Table, holders: Sequence[Holder], known: dict[StateKey, HeldState] | None = None
) -> Iterator[SameState]:
    """Each state with those that hold it."""
    same: dict[StateKey, list[Holder]] = {}
    for holder in holders:
        if not holder.is_changelog:
            same.setdefault(state_key(holder.snapshot), []).append(holder)
    for state in needed_by(holders, table.manifests, known=known).states:
        yield state, same[state_key(state.holder.snapshot)]


def _list_of(table: Table, holder: Holder, manifest: str) -> str:
    """The manifest list of a holder that names a manifest."""
    snapshot = holder.snapshot
    base = table.manifests.read_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size)
    in_base = any(meta.file_name == manifest for meta in base)
    return snapshot.base_manifest_list if in_base else snapshot.delta_manifest_list
