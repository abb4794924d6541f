"""From the canonical log to change rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from .log import BadRecord, LogRecord, int_to_lsn, lsn_to_int, parse_json
from .query import all_bits, decode_mask, encode_mask
from .values import BadValue, read_value, same

DELETE, INSERT, BEFORE, AFTER = 1, 2, 3, 4
OPERATIONS = {
    "BEGIN", "COMMIT", "ROLLBACK", "INSERT", "UPDATE", "DELETE", "DDL", "TRUNCATE",
}  # fmt: skip
MAKE_COMPLETE = "make the source log it (e.g. REPLICA IDENTITY FULL) or set before_image: partial"


@dataclass(frozen=True)
class CaptureInstance:
    """`columns` = (name, type) in ordinal order; only commits after `start_lsn` are captured."""

    source_schema: str
    source_name: str
    capture_instance: str
    columns: tuple[tuple[str, str], ...]
    index_columns: tuple[str, ...] = ()
    before_image: str = "complete"  # or "partial"
    start_lsn: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The captured columns' names."""
        return tuple(name for name, _ in self.columns)

    def key(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The index columns' values of one row."""
        return tuple(values[self.names.index(name)] for name in self.index_columns)


@dataclass(frozen=True)
class ChangeRow:
    """One row of a change table; `values` are typed, in ordinal order."""

    start_lsn: str
    seqval: str
    operation: int
    update_mask: str
    values: tuple[Any, ...]
    command_id: int | None = None
    end_lsn: None = None

    @property
    def order(self) -> tuple[str, int, str, int]:
        """Position in the change table: start_lsn, command_id (NULL first), seqval, operation."""
        command = -1 if self.command_id is None else self.command_id
        return self.start_lsn, command, self.seqval, self.operation


@dataclass
class Transaction:
    """A transaction of the log; `commit_lsn` and `end_time` are set when it committed. A DDL or
    TRUNCATE record without a transaction id is one by itself, with tran_id None."""

    tran_id: str | None
    begin_lsn: str
    begin_time: datetime | None
    records: list[LogRecord] = field(default_factory=list)
    commit_lsn: str | None = None
    end_time: datetime | None = None


def transactions(records: Iterable[LogRecord]) -> list[Transaction]:
    """The committed transactions in commit order, LSNs in upper case.

    Raises BadRecord for a malformed LSN, an unknown operation, a missing transaction id, two
    commits with one LSN, and a transaction that has a table's command_id in part.
    """
    open_: dict[str, Transaction] = {}
    committed: list[Transaction] = []
    last_commit = ""
    for number, record in sorted(((_lsn(r), r) for r in records), key=lambda pair: pair[0]):
        lsn, operation = int_to_lsn(number), record.operation
        if operation not in OPERATIONS:
            raise BadRecord(record.table, None, lsn, f"unknown operation {operation!r}")
        if operation == "COMMIT" and lsn == last_commit:
            raise BadRecord("", None, lsn, "two transactions commit at this LSN")
        last_commit = lsn if operation == "COMMIT" else last_commit
        if record.tran_id is None:
            if operation in ("DDL", "TRUNCATE"):
                time = record.record_time
                committed.append(Transaction(None, lsn, time, [record], lsn, time))
                continue
            raise BadRecord(record.table, None, lsn, "the transaction id is missing")
        if operation in ("COMMIT", "ROLLBACK"):
            ended = open_.pop(record.tran_id, None)
            if ended and operation == "COMMIT":
                ended.commit_lsn, ended.end_time = lsn, record.record_time
                _check_commands(ended)
                committed.append(ended)
            continue
        if operation == "BEGIN" or record.tran_id not in open_:
            open_[record.tran_id] = Transaction(record.tran_id, lsn, record.record_time)
        if operation != "BEGIN":
            open_[record.tran_id].records.append(record)
    return committed


def _check_commands(transaction: Transaction) -> None:
    has_command: dict[str, bool] = {}
    for record in transaction.records:
        if record.operation in ("INSERT", "UPDATE", "DELETE"):
            has = record.command_id is not None
            if has_command.setdefault(record.table, has) != has:
                raise BadRecord(record.table, "command_id", record.lsn, "others have one or none")


def capture(
    records: Iterable[LogRecord],
    instance: CaptureInstance,
    from_lsn: str | None = None,
    to_lsn: str | None = None,
) -> list[ChangeRow]:
    """The instance's change rows of the commits with from_lsn < LSN <= to_lsn, in order. Those
    before count for the values that a row takes along where its key changes.

    Raises BadRecord for the first record of these commits that can't be read.
    """
    floor = max(lsn_to_int(lsn) if lsn else -1 for lsn in (from_lsn, instance.start_lsn))
    ceiling = lsn_to_int(to_lsn) if to_lsn else lsn_to_int("0x" + "F" * 20)
    rows = []
    for transaction in transactions(records):
        assert transaction.commit_lsn
        if lsn_to_int(transaction.commit_lsn) > ceiling:
            continue
        for record in transaction.records:
            source = (record.source_schema, record.source_name)
            if record.operation in ("INSERT", "UPDATE", "DELETE") and source == (
                instance.source_schema,
                instance.source_name,
            ):
                try:
                    rows += _change_rows(record, instance, transaction.commit_lsn)
                except BadRecord:
                    if lsn_to_int(transaction.commit_lsn) > floor:
                        raise
    rows.sort(key=lambda row: row.order)
    rows = _carried(rows, instance)
    return [row for row in rows if lsn_to_int(row.start_lsn) > floor]


def _carried(rows: list[ChangeRow], instance: CaptureInstance) -> list[ChangeRow]:
    """The rows with what a key change does not tell (bit 0 of its insert here) as the row at the
    old key had it. What no row tells stays NULL. Inserts leave with all bits."""
    present: dict[tuple[Any, ...], list[dict[int, Any]]] = {}
    left: dict[tuple[str, str], dict[int, Any]] = {}
    result = []
    for row in rows:
        key = instance.key(row.values) if instance.index_columns else ()
        lives = present.setdefault(key, [])
        told = decode_mask(row.update_mask)
        if row.operation == DELETE:
            left[row.start_lsn, row.seqval] = lives.pop(0) if lives else {}
        elif row.operation == INSERT:
            before = left.get((row.start_lsn, row.seqval), {})
            life = {
                n: value if n in told else before[n]
                for n, value in enumerate(row.values, 1)
                if n in told or n in before
            }
            lives.append(life)
            values = tuple(life.get(n) for n in range(1, len(row.values) + 1))
            row = replace(row, values=values, update_mask=all_bits(len(values)))
        elif row.operation == AFTER:
            life = lives[-1] if lives else {}
            life.update(
                (n, value)
                for n, value in enumerate(row.values, 1)
                if n in told or value is not None
            )
            present[key] = [*lives[:-1], life]
        result.append(row)
    return result


@dataclass(frozen=True)
class MappingRow:
    """A row of lsn_time_mapping."""

    start_lsn: str
    tran_begin_time: datetime | None
    tran_end_time: datetime | None
    tran_id: str
    tran_begin_lsn: str


def lsn_time_mapping(
    records: Iterable[LogRecord], rows_by_instance: Mapping[str, Iterable[ChangeRow]]
) -> list[MappingRow]:
    """One row for each transaction that left a row in any of the change tables, by start_lsn."""
    used = {row.start_lsn for rows in rows_by_instance.values() for row in rows}
    return [
        MappingRow(t.commit_lsn, t.begin_time, t.end_time, t.tran_id, t.begin_lsn)
        for t in transactions(records)
        if t.commit_lsn in used
    ]


def _lsn(record: LogRecord) -> int:
    try:
        number = lsn_to_int(record.lsn)
    except ValueError as error:
        raise BadRecord(record.table, "lsn", record.lsn, str(error)) from error
    if not number:
        raise BadRecord(record.table, "lsn", record.lsn, "a log begins behind zero")
    return number


def _image(record: LogRecord, which: str) -> dict[str, Any] | None:
    """The image's keys and raw values; None when it is missing."""
    text = getattr(record, which)
    try:
        image = None if text is None else parse_json(text)
    except ValueError as error:
        raise BadRecord(record.table, None, record.lsn, f"{which} is no JSON: {error}") from error
    if image is not None and not isinstance(image, dict):
        raise BadRecord(record.table, None, record.lsn, f"{which} is no JSON object")
    return image


def _typed(record: LogRecord, instance: CaptureInstance, image: dict[str, Any]) -> dict[str, Any]:
    """The captured columns that the image has, as typed values."""
    typed = {}
    for name, data_type in instance.columns:
        if name in image:
            try:
                typed[name] = read_value(image[name], data_type)
            except BadValue as error:
                raise BadRecord(record.table, name, record.lsn, str(error)) from error
    return typed


def _change_rows(record: LogRecord, instance: CaptureInstance, commit: str) -> list[ChangeRow]:
    partial = instance.before_image == "partial"
    operation, names = record.operation, instance.names
    before_image = _image(record, "before_image") if operation != "INSERT" else {}
    after_image = _image(record, "after_image") if operation != "DELETE" or partial else {}
    if after_image is None and operation != "DELETE":
        raise BadRecord(record.table, None, record.lsn, "the after image is missing")
    if before_image is None and not (partial and after_image is not None):
        reason = f"the before image is missing: {MAKE_COMPLETE}"
        raise BadRecord(record.table, None, record.lsn, reason)
    before = _typed(record, instance, before_image or {})
    after = _typed(record, instance, after_image or {})

    def row(op: int, mask: str, values: Mapping[str, Any]) -> ChangeRow:
        seqval = int_to_lsn(lsn_to_int(record.lsn))
        return ChangeRow(commit, seqval, op, mask, tuple(map(values.get, names)), record.command_id)

    every_bit = all_bits(len(names))
    if operation == "INSERT":
        return [row(INSERT, every_bit, after)]
    unknown = [name for name in names if name in after and name not in before]
    if unknown and not partial:
        reason = f"the before image lacks it: {MAKE_COMPLETE}"
        raise BadRecord(record.table, unknown[0], record.lsn, reason)
    keys = {name: after[name] for name in unknown if name in instance.index_columns}
    before = before | keys
    if operation == "DELETE":
        return [row(DELETE, every_bit, before)]
    new = before | after
    changed = [
        name
        for name in names
        if name in after and not (name in before and same(before[name], after[name]))
    ]
    if not changed:
        return []
    if set(changed) & set(instance.index_columns):
        told = encode_mask((n for n, name in enumerate(names, 1) if name in new), len(names))
        return [row(DELETE, every_bit, before), row(INSERT, told if partial else every_bit, new)]
    mask = encode_mask((names.index(name) + 1 for name in changed), len(names))
    return [row(BEFORE, mask, before), row(AFTER, mask, new)]
