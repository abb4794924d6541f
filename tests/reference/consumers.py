"""What a history of a table holds: every version of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from .capture import CaptureInstance, ChangeRow
from .query import decode_mask

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Version:
    """A version of a row; without an end it is the current one."""

    values: Values
    valid_from: datetime | None
    valid_from_lsn: str
    valid_to: datetime | None = None
    valid_to_lsn: str | None = None


def history(
    instance: CaptureInstance,
    rows: Iterable[ChangeRow],
    times: Mapping[str, datetime],
    initial: Iterable[Values] = (),
    initial_lsn: str = "",
) -> list[Version]:
    """All versions, from the rows `initial` as of `initial_lsn` and the changes after it; `times`
    has the commit time of each LSN. In partial mode a NULL whose mask bit is 0 keeps the old. A key
    that has two rows for a while keeps the one that came last."""
    current: dict[Values, Version] = {}
    ended: list[Version] = []
    older: Counter[Values] = Counter()
    for values in initial:
        current[instance.key(values)] = Version(values, None, initial_lsn)
    for row in sorted(rows, key=lambda row: row.order):
        if row.operation == 3:
            continue
        key, time = instance.key(row.values), times[row.start_lsn]
        if row.operation == 2:
            older[key] += key in current
        elif row.operation == 1 and older[key]:
            older[key] -= 1
            continue
        before = current.pop(key, None)
        if before:
            ended.append(replace(before, valid_to=time, valid_to_lsn=row.start_lsn))
        if row.operation == 1:
            continue
        values = row.values
        if row.operation == 4 and instance.before_image == "partial" and before:
            written = decode_mask(row.update_mask)
            values = tuple(
                old if value is None and n not in written else value
                for n, (value, old) in enumerate(zip(values, before.values, strict=True), start=1)
            )
        current[key] = Version(values, time, row.start_lsn)
    return ended + list(current.values())
