"""The files of a first project: what init decides without the database."""

from __future__ import annotations

from shop import Shop

KEYS = {
    # an event's key: its columns
    '{"id": 1, "no": 2}': ["id", "no"],
    '{"id": 1, "__dbz__physicalTableIdentifier": "pg.public.items"}': ["id"],
    '{"__dbz__sourceIdentifier": "pg.public.items"}': [],
    None: [],
}


def test_the_key_of_an_event(shop: Shop) -> None:
    calls = [("_key_columns_of_event", key) for key in KEYS]
    assert shop.values(*calls) == list(KEYS.values())
