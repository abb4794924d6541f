"""What holds in every change table, whatever wrote it: needs no reference."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from .capture import BEFORE, DELETE, CaptureInstance, ChangeRow


def broken(instance: CaptureInstance, rows: Iterable[ChangeRow]) -> list[str]:
    """Where a row comes that is there, or goes that is not: a key is inserted only where it is
    absent, and what an update or a delete takes away is the key's last image. Of a key nothing is
    known before its first row. Inside a transaction a key may have two rows, as where rows change
    places. Of an instance without a key nothing can be said."""
    if not instance.index_columns:
        return []
    held: dict[Any, list[tuple[Any, ...]]] = {}
    found = []
    rows = sorted(rows, key=lambda row: row.order)
    for lsn, transaction in groupby(rows, key=lambda row: row.start_lsn):
        for row in transaction:
            place = f"{lsn}, {row.seqval}, operation {row.operation}"
            key = instance.key(row.values)
            images = held.get(key)
            if row.operation not in (DELETE, BEFORE):
                held.setdefault(key, []).append(row.values)
            elif images is None:
                held[key] = []
            else:
                known = [image for image in images if agree(instance, row.values, image)]
                if not known:
                    found.append(f"{place}: {row.values} goes, and there is {images}")
                else:
                    images.remove(known[-1])
        found += [f"{lsn}: {key} has {images}" for key, images in held.items() if len(images) > 1]
    return found


def agree(instance: CaptureInstance, left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    """Whether two images are of one row; in partial mode what one of them lacks is NULL."""
    return all(
        repr(a) == repr(b) or (instance.before_image == "partial" and None in (a, b))
        for a, b in zip(left, right, strict=True)
    )
