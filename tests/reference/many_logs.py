"""Hundreds of small hostile logs laid out as one, so that a run captures a batch of each of them.

The small logs know nothing of each other: transactions, keys and LSNs are a log's own. A batch of
the one log holds a block of records of each small log, one block after the other.
"""

from __future__ import annotations

import bisect
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .capture import CaptureInstance, ChangeRow, capture
from .log import LogRecord, int_to_lsn, lsn_to_int
from .strategies import TABLES, HostileLog, make_log

GAPS = (1, 2, 0x100, 2**32 - 7, 2**60)  # between two blocks
ITEMS, PAIRS, HEAP = TABLES
# Whether images may be partial is a property of an instance: one has them, of a table of its own.
PARTIAL = replace(
    PAIRS, source_name="p_pairs", capture_instance="dbo_p_pairs", before_image="partial"
)
INSTANCES = (*TABLES, PARTIAL)


@dataclass(frozen=True)
class SmallLog:
    """A small log as it stands in the big one: `batches` are its records in each batch."""

    number: int
    seed: int
    steps: int
    partial: bool
    log: HostileLog
    batches: tuple[tuple[LogRecord, ...], ...]

    def __str__(self) -> str:
        made = f"make_log({self.seed}, {self.steps}, {self.partial}, {self.number})"
        return f"small log {self.number}, which is {made}"

    def changes(self, instance: CaptureInstance) -> list[ChangeRow]:
        """The instance's change rows of the whole log; none where it is not one of the log's."""
        return capture(self.log.records, instance)

    def landed(self, batches: int) -> list[LogRecord]:
        """The records of the first batches."""
        return [record for batch in self.batches[:batches] for record in batch]


@dataclass(frozen=True)
class ManyLogs:
    """The small logs by number, and whose block begins at which LSN."""

    logs: tuple[SmallLog, ...]
    blocks: tuple[tuple[str, int], ...]

    def batch(self, number: int) -> list[LogRecord]:
        """A batch of the big log, from 0."""
        records = [record for log in self.logs for record in log.batches[number]]
        return sorted(records, key=lambda record: record.lsn)

    def log_at(self, lsn: str) -> SmallLog:
        """The small log that the LSN belongs to."""
        block = bisect.bisect_right(self.blocks, lsn, key=lambda block: block[0]) - 1
        return next(log for log in self.logs if log.number == self.blocks[block][1])


def small_log(number: int, most_steps: int, batches: int) -> SmallLog:
    """Log `number`, cut at random: batches may be empty, transactions lie across borders. Every
    second log has partial images."""
    rng = random.Random(number)
    seed, steps, partial = rng.randrange(2**32), rng.randrange(10, most_steps), number % 2 == 1
    log = make_log(seed, steps, partial, number)
    records = [own_names(record, number, partial) for record in log.records]
    cuts = sorted(rng.choices(range(len(records) + 1), k=batches - 1))
    parts = [records[a:b] for a, b in zip([0, *cuts], [*cuts, len(records)], strict=True)]
    return SmallLog(number, seed, steps, partial, log, tuple(map(tuple, parts)))


def own_names(record: LogRecord, number: int, partial: bool) -> LogRecord:
    """The record under a transaction id of this log; with partial images, of a table for them."""
    tran_id = None if record.tran_id is None else f"{number}/{record.tran_id}"
    is_renamed = partial and record.source_name in (ITEMS.source_name, PAIRS.source_name)
    name = f"p_{record.source_name}" if is_renamed else record.source_name
    return replace(record, tran_id=tran_id, source_name=name)


def many_logs(numbers: Sequence[int], most_steps: int, batches: int = 1) -> ManyLogs:
    """The small logs of these numbers, laid out; in each batch they come in random order."""
    rng = random.Random(len(numbers))
    logs = [small_log(number, most_steps, batches) for number in numbers]
    lsns: dict[int, dict[str, str]] = {number: {} for number in numbers}  # old -> new
    blocks: list[tuple[str, int]] = []
    position = 0
    for batch in range(batches):
        for log in rng.sample(logs, len(logs)):
            records = log.batches[batch]
            if records:
                position += rng.choice(GAPS)
                blocks.append((int_to_lsn(position), log.number))
                away = position - lsn_to_int(records[0].lsn)
                moved = {r.lsn: int_to_lsn(lsn_to_int(r.lsn) + away) for r in records}
                lsns[log.number].update(moved)
                position = lsn_to_int(moved[records[-1].lsn])
    return ManyLogs(tuple(place(log, lsns[log.number]) for log in logs), tuple(blocks))


def place(log: SmallLog, lsns: dict[str, str]) -> SmallLog:
    """The log at its new LSNs, without the states of its tables: nobody asks for them."""
    batches = tuple(tuple(replace(r, lsn=lsns[r.lsn]) for r in batch) for batch in log.batches)
    records = tuple(record for batch in batches for record in batch)
    placed = HostileLog(records, (PARTIAL, HEAP) if log.partial else TABLES, {}, ())
    return replace(log, log=placed, batches=batches)
