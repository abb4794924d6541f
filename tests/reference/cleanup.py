"""Retention, transcribed plainly."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .capture import MappingRow


def retention_mark(mapping: Iterable[MappingRow], retention: timedelta) -> str | None:
    """The cleanup job's mark: the smallest LSN whose commit time is at most `retention` before the
    last one; None where nothing is published. A commit without a time is older where one behind it
    is."""
    rows = sorted(mapping, key=lambda row: row.start_lsn)
    times = [row.tran_end_time for row in rows if row.tran_end_time is not None]
    if not times:
        return rows[0].start_lsn if rows else None
    low_time, mark = max(times) - retention, None
    for row in rows:
        if row.tran_end_time is not None and row.tran_end_time >= low_time:
            return mark or row.start_lsn
        mark = None if row.tran_end_time is not None else mark or row.start_lsn
    raise AssertionError("the last time is within the retention")


def raised(low_end: str, mark: str | None) -> str:
    """A low end never falls."""
    return low_end if mark is None else max(low_end, mark)


def lowered_mark(mapping: Iterable[MappingRow], mark: str, low_end: str) -> str:
    """cleanup_change_table's mark: the first LSN of the same commit time, not below the low end.
    KeyError where the mark is no entry."""
    times = {row.start_lsn: row.tran_end_time for row in mapping}
    time = times[mark]
    return max(low_end, min(lsn for lsn, end in times.items() if end == time))
