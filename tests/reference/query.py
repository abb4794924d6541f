"""The query functions, transcribed plainly, one key at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .log import int_to_lsn, lsn_to_int
from .values import same

if TYPE_CHECKING:
    from .capture import CaptureInstance, ChangeRow, MappingRow

ALL_OPTIONS = ("all", "all update old")
NET_OPTIONS = ("all", "all with mask", "all with merge")


class Cdc313(ValueError):
    """Bad parameters of a query function. `reason` is one of: null, range, reversed, option."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(f"CDC 313: {text}")
        self.reason = reason


def encode_mask(ordinals: Iterable[int], column_count: int) -> str:
    """Ordinals (from 1) -> '0x' + 2 hex digits a byte; ordinal 1 is bit 0 of the last byte."""
    width = (column_count + 7) // 8
    return f"0x{sum(1 << (n - 1) for n in set(ordinals)):0{2 * width}X}"


def decode_mask(mask: str) -> set[int]:
    """The ordinals whose bits are set."""
    return {n + 1 for n in range(4 * (len(mask) - 2)) if int(mask, 16) >> n & 1}


def all_bits(column_count: int) -> str:
    """The mask of inserts and deletes."""
    return encode_mask(range(1, column_count + 1), column_count)


def is_bit_set(ordinal: int | None, mask: str | None) -> bool | None:
    """False outside the mask; None for a NULL argument."""
    return None if ordinal is None or mask is None else ordinal in decode_mask(mask)


def or_masks(masks: Sequence[str]) -> str:
    """Bitwise OR of masks of one width."""
    number = 0
    for mask in masks:
        number |= int(mask, 16)
    return f"0x{number:0{len(masks[0]) - 2}X}"


def increment_lsn(lsn: str | None) -> str | None:
    """LSN + 1; None for None; OverflowError past all F; ValueError for no LSN."""
    return None if lsn is None else int_to_lsn(lsn_to_int(lsn) + 1)


def decrement_lsn(lsn: str | None) -> str | None:
    """LSN - 1; None for None; OverflowError below zero; ValueError for no LSN."""
    return None if lsn is None else int_to_lsn(lsn_to_int(lsn) - 1)


def check_parameters(
    from_lsn: str | None,
    to_lsn: str | None,
    option: str | None,
    options: Sequence[str],
    min_lsn: str,
    max_lsn: str | None,
) -> tuple[int, int, str]:
    """-> (from, to, option) ready to use. Raises Cdc313, or ValueError for a malformed LSN."""
    option = (option or "").strip(" ").lower()
    if option not in options:
        raise Cdc313("option", f"row filter option {option!r} is none of {options}")
    if from_lsn is None or to_lsn is None:
        raise Cdc313("null", f"from_lsn {from_lsn} and to_lsn {to_lsn} must not be NULL")
    low, high = lsn_to_int(from_lsn), lsn_to_int(to_lsn)
    if low > high:
        raise Cdc313("reversed", f"from_lsn {from_lsn} is above to_lsn {to_lsn}")
    if low < lsn_to_int(min_lsn):
        raise Cdc313("range", f"from_lsn {from_lsn} is below the low end {min_lsn}")
    if max_lsn is None or high > lsn_to_int(max_lsn):
        raise Cdc313("range", f"to_lsn {to_lsn} is above the high end {max_lsn}")
    return low, high, option


def get_all_changes(
    rows: Iterable[ChangeRow],
    from_lsn: str | None,
    to_lsn: str | None,
    option: str | None = "all",
    *,
    min_lsn: str,
    max_lsn: str | None,
) -> list[ChangeRow]:
    """The rows of the window, both ends inclusive, in order; raises Cdc313."""
    low, high, option = check_parameters(from_lsn, to_lsn, option, ALL_OPTIONS, min_lsn, max_lsn)
    window = [row for row in rows if low <= lsn_to_int(row.start_lsn) <= high]
    if option == "all":
        window = [row for row in window if row.operation != 3]
    return sorted(window, key=lambda row: row.order)


@dataclass(frozen=True)
class NetRow:
    """A row of get_net_changes; operation 5 is the 'all with merge' upsert."""

    start_lsn: str
    operation: int
    update_mask: str | None
    values: tuple[Any, ...]


def get_net_changes(
    rows: Iterable[ChangeRow],
    instance: CaptureInstance,
    from_lsn: str | None,
    to_lsn: str | None,
    option: str | None = "all",
    *,
    min_lsn: str,
    max_lsn: str | None,
) -> list[NetRow]:
    """At most one row a key, in the order of the keys' last changes; raises Cdc313."""
    low, high, option = check_parameters(from_lsn, to_lsn, option, NET_OPTIONS, min_lsn, max_lsn)
    groups: dict[tuple[Any, ...], list[ChangeRow]] = {}
    for row in rows:
        if low <= lsn_to_int(row.start_lsn) <= high:
            groups.setdefault(instance.key(row.values), []).append(row)
    found = []
    for group in groups.values():
        settled = in_key_order(instance, group)
        found.append((_last(settled).order, _net_row(_known(instance, settled), option)))
    return [net for _, net in sorted(found, key=lambda pair: pair[0]) if net]


def in_key_order(instance: CaptureInstance, group: Iterable[ChangeRow]) -> list[ChangeRow]:
    """The rows of one key in the order of the key: where a row came to it in a transaction before
    the one that was there had left, the delete of that one comes first. The key had no row before
    the first change unless the rows cannot be so."""
    rows = sorted(group, key=lambda row: row.order)
    found = _ordered(instance, rows, 0)
    return _ordered(instance, rows, 1) or rows if found is None else found


def _ordered(
    instance: CaptureInstance, rows: list[ChangeRow], count: int
) -> list[ChangeRow] | None:
    """The same where the key had `count` rows at first; None where that cannot be."""
    found: list[ChangeRow] = []
    present = None  # the row that came or was changed last, if it is still there
    for row in rows:
        if row.operation == 2:
            count += 1
        elif count == 0:
            return None
        elif row.operation == 1:
            count -= 1
            is_other = (
                present is not None
                and present.start_lsn == row.start_lsn
                and not _may_be(instance, row.values, present.values)
            )
            if count:
                came = max(n for n, other in enumerate(found) if other.operation == 2)
                found.insert(came, row)
                continue
            if is_other:
                return None
        found.append(row)
        present = row if row.operation in (2, 4) else present if row.operation == 3 else None
    return found


def _may_be(instance: CaptureInstance, image: Sequence[Any], row: Sequence[Any]) -> bool:
    """Whether an image is of a row; a partial image need not tell a value."""
    is_partial = instance.before_image == "partial"
    return all(
        same(told, value) or (is_partial and (told is None or value is None))
        for told, value in zip(image, row, strict=True)
    )


def _last(group: list[ChangeRow]) -> ChangeRow:
    """The last row of a key's rows in their order; of those with its seqval, row 4 or 2."""
    return max(
        (row for row in group if row.seqval == group[-1].seqval), key=lambda row: row.operation
    )


def _known(instance: CaptureInstance, group: list[ChangeRow]) -> list[ChangeRow]:
    """With partial images: a value that a row 4 leaves out (bit 0) is the one last written."""
    if instance.before_image == "complete":
        return group
    known: dict[int, Any] = {}
    rows = []
    for row in group:
        written = decode_mask(row.update_mask)
        if row.operation != 3:
            for ordinal, value in enumerate(row.values, start=1):
                if ordinal in written or value is not None:
                    known[ordinal] = value
            row = replace(row, values=tuple(known.get(n) for n in range(1, len(row.values) + 1)))
        rows.append(row)
    return rows


def _net_row(group: list[ChangeRow], option: str) -> NetRow | None:
    """Semantics 3.3, steps 2 to 7, for the rows of one key in the window, in their order."""
    last = _last(group)
    if len(group) == 1:
        first = group[0].operation
    else:
        first = next(row for row in group if row.operation in (1, 2, 4)).operation
    if not (last.operation in (2, 4) or (last.operation == 1 and first != 2)):
        return None
    if option == "all with merge":
        operation = 1 if last.operation == 1 else 5
    elif len(group) == 1:
        operation = last.operation
    elif first == 2:
        operation = 2
    else:
        operation = 1 if last.operation == 1 else 4
    mask = None
    if option == "all with mask" and operation == 4:
        mask = or_masks([row.update_mask for row in group])
    return NetRow(last.start_lsn, operation, mask, last.values)


def map_time_to_lsn(
    mapping: Iterable[MappingRow], relational_operator: str, time: datetime
) -> str | None:
    """The LSN by commit time, None without a match; Cdc313 for an unknown operator."""
    tests = {
        "largest less than": lambda end: end < time,
        "largest less than or equal": lambda end: end <= time,
        "smallest greater than": lambda end: end > time,
        "smallest greater than or equal": lambda end: end >= time,
    }
    operator = relational_operator.strip(" ").lower()
    if operator not in tests:
        raise Cdc313("option", f"{relational_operator!r} is none of {sorted(tests)}")
    ends = [
        (row.tran_end_time, row.start_lsn) for row in mapping if tests[operator](row.tran_end_time)
    ]
    if not ends:
        return None
    return (max if operator.startswith("largest") else min)(ends)[1]


def commits_between(
    mapping: Iterable[MappingRow],
    start: datetime | None,
    end: datetime | None,
    is_closed: bool = True,
) -> set[str]:
    """Commit LSNs with start < commit time <= end (open: < end); None is the low or high end."""
    return {
        row.start_lsn
        for row in mapping
        if (start is None or row.tran_end_time > start)
        and (end is None or row.tran_end_time < end or (is_closed and row.tran_end_time == end))
    }
