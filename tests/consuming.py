"""The consumers of the small story: a replica, a history, an incremental model, and what they have
at an LSN."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reference.apply import State, apply_all
from reference.capture import AFTER, BEFORE, DELETE, INSERT, capture
from story import ITEMS, Story

CONSUMERS = {
    "now.sql": "{{ config(materialized='replica') }}"
    " select * from {{ dbt_cdc.new_changes('dbo_items') }}",
    "then.sql": "{{ config(materialized='history') }}"
    " select * from {{ dbt_cdc.new_changes('dbo_items') }}",
    "feed.sql": "{{ config(materialized='incremental', incremental_strategy='append',"
    " file_format='delta') }} select * from {{ dbt_cdc.new_changes('dbo_items') }}",
}
COLUMNS = {
    "now": ["id", "name"],
    "then": ["id", "name", "valid_from_lsn", "valid_to_lsn"],
    "feed": ["__$seqval", "__$operation"],
}


def expected(name: str, story: Story, lsn: str) -> list[Any]:
    """What a consumer has when all commits up to an LSN are published."""
    changes = capture(story.records, ITEMS, None, lsn)
    if name == "now":
        return sorted(apply_all(State(ITEMS), changes).rows.values())
    if name == "feed":
        return sorted((r.seqval, r.operation) for r in changes if r.operation != BEFORE)
    versions, present = [], {}
    for row in changes:
        key = ITEMS.key(row.values)
        if row.operation in (DELETE, AFTER):
            values, begin = present.pop(key)
            versions.append((*values, begin, row.start_lsn))
        if row.operation in (INSERT, AFTER):
            present[key] = row.values, row.start_lsn
    versions += [(*values, begin, "") for values, begin in present.values()]
    return sorted(versions)


def consumed(name: str, rows: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The same of its table's rows."""
    return sorted(tuple("" if row[c] is None else row[c] for c in COLUMNS[name]) for row in rows)


def valid_at(versions: Iterable[Any], lsn: str) -> list[Any]:
    """The rows of a history that were there behind the commit at an LSN."""
    return [
        row
        for row in versions
        if row.valid_from_lsn <= lsn and (row.valid_to_lsn is None or row.valid_to_lsn > lsn)
    ]
