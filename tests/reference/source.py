"""A small PostgreSQL, a Debezium connector of it, and its topics: logs whose truth is the database.

What it knows is how the source and the transport behave, and nothing of how dbt_cdc reads them:

* A transaction has a BEGIN, changes and an END, each at a position of the WAL (an LSN); several
  changes may share one. Transactions are decoded in the order of their commits, whole.
* The connector keeps an offset: the last LSN all events of which were acknowledged. After a restart
  it goes on with the first event behind it. Inside a transaction it sends BEGIN again and,
  before Debezium 3.6.1, counts its events from 1 again; END counts the events since then.
* A snapshot is a row for each row, at one LSN; one that breaks off begins again. A later one may
  have seen, or not, what was committed right before its LSN and is streamed behind it.
* The database's clock goes on whatever happens; LSNs go back where a backup is restored.
* Delivery is at least once, in order in each topic; topics land in any order between each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from .debezium import Event
from .log import LogRecord

Row = dict[str, Any]
EPOCH = 1_780_000_000_000_000


@dataclass(frozen=True)
class Change:
    """One decoded change: `op` is Debezium's c, u, d or t."""

    lsn: int
    op: str
    table: str
    before: Row | None
    after: Row | None


@dataclass(frozen=True)
class Transaction:
    """A committed transaction; `micros` is its commit time since 1970."""

    xid: int
    lsn: int
    changes: tuple[Change, ...]
    end: int
    micros: int


class Database:
    """Tables of rows with a column `id`, which is the key of those in `keyed`."""

    def __init__(self, tables: Iterable[str], keyed: Iterable[str], name: str = "d") -> None:
        self.name, self.keyed = name, set(keyed)
        self.tables: dict[str, list[Row]] = {table: [] for table in tables}
        self.lsn, self.xid, self.clock = 10_000_000, 500, EPOCH
        self.transactions: list[Transaction] = []

    def next_lsn(self, step: int = 100) -> int:
        self.lsn += step
        return self.lsn

    def commit(self, *statements: Sequence[Any]) -> Transaction:
        """Statements are ("insert", table, row, ...), ("update", table, old, new, ...),
        ("delete", table, row, ...) and ("truncate", table). The rows of an insert share one LSN."""
        begin, changes = self.next_lsn(), []
        self.xid += 1
        for verb, table, *rows in statements:
            content, lsn = self.tables[table], self.next_lsn()
            if verb == "truncate":
                content.clear()
                changes.append(Change(lsn, "t", table, None, None))
            elif verb == "insert":
                content += deepcopy(rows)
                changes += [Change(lsn, "c", table, None, row) for row in rows]
            elif verb == "delete":
                for row in rows:
                    content.remove(row)
                    changes.append(Change(self.next_lsn(), "d", table, row, None))
            else:
                for old, new in zip(rows[::2], rows[1::2], strict=True):
                    content[content.index(old)] = dict(new)
                    changes.append(Change(self.next_lsn(), "u", table, old, new))
        end = self.next_lsn()
        self.clock += 20_000
        done = Transaction(self.xid, begin, tuple(changes), end, self.clock)
        self.transactions.append(done)
        return done

    def restore(self, wal: int) -> None:
        """A minute later the WAL is `wal` shorter, and goes on from there."""
        self.lsn -= wal
        self.clock += 60_000_000

    def truth(self, table: str) -> list[str]:
        """The rows of a table, each as text, sorted."""
        return sorted(json.dumps(row, sort_keys=True) for row in self.tables[table])

    def truths(self, table: str) -> list[list[str]]:
        """The same before the first transaction and behind each of them."""
        rows: list[Row] = []
        found: list[list[str]] = [[]]
        for transaction in self.transactions:
            for change in transaction.changes:
                if change.table == table:
                    if change.op == "t":
                        rows.clear()
                    if change.before is not None:
                        rows.remove(change.before)
                    if change.after is not None:
                        rows.append(change.after)
            found.append(sorted(json.dumps(row, sort_keys=True) for row in rows))
        return found


@dataclass
class Connector:
    """Reads a database; `sent` are its events in the order of sending, of all topics."""

    database: Database
    name: str = "pg"
    sent: list[Event] = field(default_factory=list)
    # what the offset was behind each event: (number of the transaction, LSN of the event)
    offsets: list[tuple[int, int]] = field(default_factory=list)
    next_transaction: int = 0
    committed: tuple[int, int] = (0, 0)  # the offset that a restart begins behind
    resumed_at: int = 0  # how much was sent before the last restart
    metadata: bool = True  # provide.transaction.metadata: BEGIN, END and numbers
    first_streamed: int = 0  # the first transaction of the slot: no event tells a commit before it
    waited: int = 0  # microseconds: what its clock has gone on by restarts

    def _send(
        self, topic: str, key: Any, value: Any, offset: tuple[int, int], headers: Any = None
    ) -> None:
        texts = [None if part is None else json.dumps(part) for part in (key, value, headers)]
        self.sent.append(Event(0, f"{self.name}.{topic}", *texts))
        self.offsets.append(offset)

    def _source(
        self, table: str, lsn: int, micros: int, xid: int, mark: str, number: int | None = None
    ) -> Row:
        """`number` of the transaction: what its events tell is where the one before it ended."""
        has_before = number is not None and number > self.first_streamed
        end = str(self.database.transactions[number - 1].end) if has_before else None
        return {
            "version": "3.2.3.Final", "connector": "postgresql", "name": self.name,
            "ts_ms": micros // 1000, "ts_us": micros, "snapshot": mark, "db": self.database.name,
            "schema": "public", "table": table, "txId": xid, "lsn": lsn,
            "sequence": json.dumps([end, str(lsn)]),
        }  # fmt: skip

    def snapshot(
        self,
        rows: int | None = None,
        micros: bool = True,
        tables: dict[str, list[Row]] | None = None,
        resume_at: int | None = None,
    ) -> None:
        """All rows of all tables, or the first `rows` only: then it breaks off. `micros`: whether
        events tell the time of their making in microseconds. `tables`: what it sees, `resume_at`:
        the number of the transaction that is streamed next, where not all that is committed."""
        database = self.database
        next_transaction = len(database.transactions) if resume_at is None else resume_at
        seen, offset = tables or database.tables, (next_transaction, database.lsn)
        all_rows = [(table, row) for table, held in seen.items() for row in held]
        for number, (table, row) in enumerate(all_rows[:rows], start=1):
            mark = "last" if number == len(all_rows) else "first" if number == 1 else "true"
            value = {
                "before": None, "after": row, "op": "r", "ts_ms": EPOCH // 1000,
                "source": self._source(table, database.lsn, database.clock, database.xid, mark),
                "transaction": None,
                **({"ts_us": EPOCH + len(self.sent)} if micros else {}),
            }  # fmt: skip
            self._send(f"public.{table}", self._key(table, row), value, offset)
        self.next_transaction = next_transaction
        if not self.first_streamed:
            self.first_streamed = next_transaction

    def _key(self, table: str, row: Row | None) -> Row | None:
        return {"id": row["id"]} if row and table in self.database.keyed else None

    def stream(self, after: int = 0, events: int | None = None) -> None:
        """What the database has committed since. Of the first transaction only what lies behind
        the LSN `after`; with `events` it breaks off after so many messages."""
        stop = None if events is None else len(self.sent) + events
        for message in self._messages(after):
            if message[0] == "transaction" and not self.metadata:
                continue
            if stop is not None and len(self.sent) >= stop:
                return
            self._send(*message)
        self.next_transaction = len(self.database.transactions)

    def _messages(self, after: int) -> Iterator[tuple[Any, ...]]:
        for number in range(self.next_transaction, len(self.database.transactions)):
            transaction = self.database.transactions[number]
            begin, end = transaction.lsn, transaction.end
            order, done = 0, max(begin, after)
            yield self._status("BEGIN", transaction, done, None, (number, done))
            left = [c for c in transaction.changes if c.lsn > after]
            for change, following in zip(left, [*left[1:], None], strict=False):
                is_move = change.op == "u" and self._key(change.table, change.before) != self._key(
                    change.table, change.after
                )
                if is_move:
                    moved = (
                        replace(change, op="d", after=None),
                        replace(change, op="c", before=None),
                    )
                else:
                    moved = (change,)
                for part in moved:
                    order += 1
                    if part is moved[-1] and not (following and following.lsn == change.lsn):
                        done = change.lsn
                    yield self._change(part, change, transaction, order, is_move, (number, done))
                    if part.op == "d" and change.table in self.database.keyed:
                        key = self._key(change.table, part.before)
                        yield f"public.{change.table}", key, None, (number, done)
            yield self._status("END", transaction, end, order, (number + 1, end))
            after = 0

    def _status(
        self,
        word: str,
        transaction: Transaction,
        lsn: int,
        count: int | None,
        offset: tuple[int, int],
    ) -> tuple[Any, ...]:
        xid = transaction.xid
        value = {
            "status": word, "id": f"{xid}:{lsn}", "ts_ms": transaction.micros // 1000,
            "event_count": count, "data_collections": None,
        }  # fmt: skip
        return "transaction", {"id": str(xid)}, value, offset

    def _change(
        self,
        part: Change,
        whole: Change,
        transaction: Transaction,
        order: int,
        is_move: bool,
        offset: tuple[int, int],
    ) -> tuple[Any, ...]:
        source = self._source(
            part.table, part.lsn, transaction.micros, transaction.xid, "false", offset[0]
        )
        value = {
            "before": part.before, "after": part.after, "source": source, "op": part.op,
            "ts_ms": (EPOCH + self.waited) // 1000, "ts_us": EPOCH + self.waited + len(self.sent),
            "transaction": {
                "id": f"{transaction.xid}:{part.lsn}", "total_order": order,
                "data_collection_order": order,
            } if self.metadata else None,
        }  # fmt: skip
        headers = None
        if is_move and part.op == "d":
            headers = {"__debezium.newkey": self._key(part.table, whole.after)}
        elif is_move:
            headers = {"__debezium.oldkey": self._key(part.table, whole.before)}
        key = self._key(part.table, part.after or part.before)
        return f"public.{part.table}", key, value, offset, headers

    def restart(self, unacknowledged: int = 0, events: int | None = None) -> None:
        """Stops behind what was sent since the last restart; of that the last `unacknowledged`
        events are sent again."""
        acknowledged = len(self.offsets) - unacknowledged
        if acknowledged > self.resumed_at:
            self.committed = self.offsets[acknowledged - 1]
        self.resumed_at = len(self.offsets)
        number, lsn = self.committed
        self.next_transaction = number
        self.waited += 2_000_000
        begin = (
            self.database.transactions[number].lsn
            if number < len(self.database.transactions)
            else 0
        )
        self.stream(lsn if lsn > begin else 0, events)

    def beat(self) -> None:
        """A logical message outside of transactions, as `heartbeat.action.query` may send it."""
        database, number = self.database, self.next_transaction
        source = self._source("", database.next_lsn(), database.clock, 0, "false", number)
        value = {
            "op": "m", "ts_ms": EPOCH // 1000, "source": {**source, "txId": None},
            "message": {"prefix": "beat", "content": ""}, "transaction": None,
        }  # fmt: skip
        self._send("message", {"prefix": "beat"}, value, (number, database.lsn))


FILE = 100_000  # bytes of a binary log file


class BinlogConnector(Connector):
    """Of MySQL: places are file, position and row, transactions GTIDs, whose BEGIN and END tell no
    place. A restart skips what was sent of a transaction, and numbers its events from 1 again."""

    binlog, server = "binlog", 77

    def _place(self, lsn: int, row: int, server: int, gtid: str | None) -> Row:
        file, position = divmod(lsn, FILE)
        return {
            "server_id": server, "gtid": gtid, "file": f"{self.binlog}.{file:06d}",
            "pos": position, "row": row,
        }  # fmt: skip

    def _gtid(self, transaction: Transaction) -> str:
        return f"0-{self.server}-{transaction.xid}"

    def _source(
        self, table: str, lsn: int, micros: int, xid: int, mark: str, number: int | None = None
    ) -> Row:
        return {
            "version": "3.2.3.Final", "connector": "mysql", "name": self.name,
            "ts_ms": micros // 1_000_000 * 1000, "snapshot": mark, "db": "public", "table": table,
            **self._place(lsn, 0, 0, None),
        }  # fmt: skip

    def _status(
        self,
        word: str,
        transaction: Transaction,
        lsn: int,
        count: int | None,
        offset: tuple[int, int],
    ) -> tuple[Any, ...]:
        topic, _, value, _ = super()._status(word, transaction, lsn, count, offset)
        gtid = self._gtid(transaction)
        return topic, {"id": gtid}, {**value, "id": gtid}, offset

    def _change(
        self,
        part: Change,
        whole: Change,
        transaction: Transaction,
        order: int,
        is_move: bool,
        offset: tuple[int, int],
    ) -> tuple[Any, ...]:
        topic, key, value, _, headers = super()._change(
            part, whole, transaction, order, is_move, offset
        )
        gtid = self._gtid(transaction)
        row = _row_of(whole, transaction)
        value["source"] |= self._place(part.lsn, row, self.server, gtid)
        if value["transaction"]:
            value["transaction"]["id"] = gtid
        return topic, key, value, offset, headers

    def beat(self) -> None:
        """A row of another table, as `heartbeat.action.query` writes it."""
        database = self.database
        change = Change(database.next_lsn(), "c", "beat", None, {"id": 1})
        end = database.next_lsn()
        transaction = Transaction(database.xid + 1, change.lsn, (change,), end, database.clock)
        self._send(*self._change(change, change, transaction, 1, False, (0, 0)))


class SqlServerConnector(Connector):
    """Of SQL Server: each event tells the LSN of its commit and its own, and counts those of one
    LSN. A restart goes on with its numbers. Db2's is alike."""

    @staticmethod
    def lsn(number: int, row: int = 1) -> str:
        return f"00000027:{number:08x}:{row:04x}"

    def _source(
        self, table: str, lsn: int, micros: int, xid: int, mark: str, number: int | None = None
    ) -> Row:
        return {
            "version": "3.6.1.Final", "connector": "sqlserver", "name": self.name,
            "ts_ms": micros // 1000, "snapshot": mark, "db": self.database.name, "schema": "public",
            "table": table, "change_lsn": None, "commit_lsn": self.lsn(lsn),
            "event_serial_no": None,
        }  # fmt: skip

    def _status(
        self,
        word: str,
        transaction: Transaction,
        lsn: int,
        count: int | None,
        offset: tuple[int, int],
    ) -> tuple[Any, ...]:
        topic, _, value, _ = super()._status(word, transaction, lsn, count, offset)
        name = self.lsn(transaction.end)
        return topic, {"id": name}, {**value, "id": name}, offset

    def _change(
        self,
        part: Change,
        whole: Change,
        transaction: Transaction,
        order: int,
        is_move: bool,
        offset: tuple[int, int],
    ) -> tuple[Any, ...]:
        topic, key, value, _, _ = super()._change(part, whole, transaction, order, is_move, offset)
        name = self.lsn(transaction.end)
        value["source"] |= {
            "commit_lsn": name,
            "change_lsn": self.lsn(part.lsn, _row_of(whole, transaction)),
            "event_serial_no": 2 if part.op == "u" or (is_move and part.op == "c") else 1,
        }
        if value["transaction"]:
            value["transaction"]["id"] = name
        return topic, key, value, offset

    def _messages(self, after: int) -> Iterator[tuple[Any, ...]]:
        first, is_sent = self.next_transaction, False
        for message in super()._messages(0):
            value, (number, _) = message[2:4]
            if after and number == first:
                if value is not None:
                    lsn = value.get("source", {}).get("change_lsn") or self.lsn(0)
                    is_sent = int(lsn.split(":")[1], 16) <= after
                if is_sent:
                    continue
            yield message

    beat = BinlogConnector.beat


def _row_of(change: Change, transaction: Transaction) -> int:
    """The number of a change among those of one LSN, from 0 on."""
    same = [other for other in transaction.changes if other.lsn == change.lsn]
    return next(n for n, other in enumerate(same) if other is change)


def arrive(events: Iterable[Event], first: int = 1) -> list[Event]:
    """The events with positions in their order."""
    return [replace(event, position=n) for n, event in enumerate(events, start=first)]


def rows_by_the_log(records: Iterable[LogRecord | Any], table: str) -> list[str]:
    """A table's rows after all records of a canonical log, each as text, sorted; raises ValueError
    where a record does not fit what was there: changes are missing, doubled or out of order."""
    rows: list[Row] = []
    for record in sorted(records, key=lambda r: r.lsn):
        if record.source_name != table or record.operation == "DDL":
            continue
        before, after = (
            image and json.loads(image) for image in (record.before_image, record.after_image)
        )
        if record.operation == "TRUNCATE":
            rows.clear()
            continue
        if before is not None:
            rows.remove(before)
        if after is not None:
            rows.append(after)
    return sorted(json.dumps(row, sort_keys=True) for row in rows)
