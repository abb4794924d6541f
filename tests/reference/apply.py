"""Applying changes to a copy of the source table, and comparing copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .capture import CaptureInstance, ChangeRow
from .query import NetRow, decode_mask

Values = tuple[Any, ...]


@dataclass
class State:
    """A copy of one table: `rows` by key if the instance has index columns, else a `bag`.

    `written` has for every key the start_lsn of the change that wrote the row last.
    """

    instance: CaptureInstance
    rows: dict[Values, Values] = field(default_factory=dict)
    written: dict[Values, str] = field(default_factory=dict)
    bag: Counter[Values] = field(default_factory=Counter)

    def content(self) -> Counter[Values]:
        """The rows as a multiset."""
        return Counter(self.rows.values()) if self.instance.index_columns else +self.bag

    def upsert(self, values: Values, lsn: str, mask: str | None) -> None:
        """Writes a row; in partial mode a NULL whose mask bit is 0 keeps the old value."""
        key = self.instance.key(values)
        if self.instance.before_image == "partial" and mask and key in self.rows:
            changed, old = decode_mask(mask), self.rows[key]
            values = tuple(
                old[i] if value is None and i + 1 not in changed else value
                for i, value in enumerate(values)
            )
        self.rows[key], self.written[key] = values, lsn

    def delete(self, values: Values) -> None:
        """KeyError if there is no such row."""
        key = self.instance.key(values)
        del self.rows[key], self.written[key]

    def bag_remove(self, values: Values) -> None:
        """KeyError if there is no such row."""
        if not self.bag[values]:
            raise KeyError(values)
        self.bag[values] -= 1


def apply_all(state: State, rows: Iterable[ChangeRow]) -> State:
    """Applies change rows in order (operations 1, 2, 4; without a key also 3), in place. A key
    that has two rows for a while keeps the one that came last."""
    older: Counter[Values] = Counter()
    for row in sorted(rows, key=lambda row: row.order):
        if not state.instance.index_columns:
            if row.operation in (1, 3):
                state.bag_remove(row.values)
            else:
                state.bag[row.values] += 1
        elif row.operation == 1:
            key = state.instance.key(row.values)
            if older[key]:
                older[key] -= 1
            else:
                state.delete(row.values)
        elif row.operation in (2, 4):
            if row.operation == 2:
                key = state.instance.key(row.values)
                older[key] += key in state.rows
            mask = row.update_mask if row.operation == 4 else None
            state.upsert(row.values, row.start_lsn, mask)
    return state


def apply_net(state: State, rows: Iterable[NetRow]) -> State:
    """Applies net changes in place, deletes first; KeyError for a delete of no row."""
    rows = list(rows)
    for row in rows:
        if row.operation == 1:
            state.delete(row.values)
    for row in rows:
        if row.operation != 1:
            state.upsert(row.values, row.start_lsn, row.update_mask)
    return state


def differences(left: State, right: State, limit: int = 5) -> list[str]:
    """Readable differences of two copies, at most `limit` a side; empty when they agree."""
    only_left, only_right = left.content() - right.content(), right.content() - left.content()
    return [f"- {v}" for v in list(only_left.elements())[:limit]] + [
        f"+ {v}" for v in list(only_right.elements())[:limit]
    ]
