"""Landed Debezium PostgreSQL events -> the canonical log (docs/debezium.md).

Commits are numbered by C, the LSN of a transaction's END; the snapshot is C = 65536. With prev =
the C of the transaction emitted before (0 for the snapshot, 65536 for the first one without a
snapshot) a BEGIN is prev * 2**24 + 1, an event prev * 2**24 + 1 + its ordinal, a COMMIT C * 2**24.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from .log import UTC, LogRecord, RawNumber, int_to_lsn, parse_json, to_json
from .values import parse_type

SNAPSHOT_COMMIT = 65536
SLOTS = 1 << 24
EPOCH = datetime(1970, 1, 1)
UNAVAILABLE = "__debezium_unavailable_value"
PLACEHOLDERS = {
    UNAVAILABLE,
    f'{{"{UNAVAILABLE}":"{UNAVAILABLE}"}}',
    UNAVAILABLE.encode().hex(),
    base64.b64encode(UNAVAILABLE.encode()).decode(),
}
OPERATIONS = {
    "c": "INSERT", "r": "INSERT", "u": "UPDATE", "d": "DELETE", "t": "TRUNCATE", "m": "MESSAGE",
}  # fmt: skip
UUID = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"
NUMBERS = [str(byte) for byte in UNAVAILABLE.encode()]
Image = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """One landed event: `position` is the arrival order, the rest is JSON text or None."""

    position: int
    topic: str
    key: str | None
    value: str | None
    headers: str | None = None


@dataclass(frozen=True)
class Decoded:
    """The log and what the adapter left out or still waits for, by reason."""

    records: list[LogRecord]
    dropped: Counter[str]


@dataclass
class _Change:
    """A data event, decoded: images hold strings and None."""

    operation: str
    schema: str
    name: str
    lsn: int
    time: datetime
    before: Image | None
    after: Image | None
    order: int = 0


@dataclass
class _Transaction:
    """A transaction of the topic: `commit` is None until its END has landed."""

    xid: str
    commit: int
    event_count: int
    end_time: datetime
    begin_time: datetime | None = None
    changes: dict[int, _Change] = field(default_factory=dict)


def read_log(
    events: Iterable[Event],
    types: Mapping[str, Mapping[str, str]] | None = None,
    before_images: Mapping[str, str] | None = None,
    raw: bool = False,
) -> Decoded:
    """The canonical records of all transactions that are whole, in LSN order.

    `types` and `before_images` as of debezium_log, by 'schema.table'. Where `raw`, values
    are as the source wrote them, as the adapter leaves them; else as the canonical log spells them.
    Raises ValueError for incremental snapshots, which this reference does not cover.
    """
    dropped: Counter[str] = Counter()
    snapshot: dict[tuple[str, str], tuple[tuple[int, int], bool, _Change]] = {}
    ends: dict[tuple[str, int], _Transaction] = {}
    begins: list[tuple[str, int, datetime]] = []
    stream: list[tuple[str, _Change]] = []
    for event in sorted(events, key=lambda e: e.position):
        if event.value is None or (value := parse_json(event.value)) is None:
            dropped["tombstone"] += 1
            continue
        payload, fields = _split(value)
        if "status" in payload:
            xid, lsn = payload["id"].split(":")
            time = _from_micros(int(payload["ts_ms"]) * 1000)
            if payload["status"] == "BEGIN":
                begins.append((xid, int(lsn), time))
            elif (xid, int(lsn)) not in ends:
                count = int(payload["event_count"])
                ends[xid, int(lsn)] = _Transaction(xid, int(lsn), count, time)
        elif payload["op"] == "m" and not payload.get("transaction"):
            dropped["message"] += 1
        else:
            change = _decode(event, payload, fields, types or {}, before_images or {}, raw)
            source = payload["source"]
            if source.get("snapshot") == "incremental":
                raise ValueError("incremental snapshots are not covered")
            if payload["op"] == "r":
                attempt = (change.lsn, int(source["ts_us"]))
                is_last = source["snapshot"] == "last"
                is_of_its_own = event.key is not None or "ts_us" in payload
                text = event.value if is_of_its_own else str(event.position)
                snapshot.setdefault((event.topic, text), (attempt, is_last, change))
            else:
                change.order = int(payload["transaction"]["total_order"])
                stream.append((payload["transaction"]["id"].split(":")[0], change))

    for xid, lsn, time in begins:
        transaction = _owner(ends, xid, lsn)
        if transaction and transaction.begin_time is None:
            transaction.begin_time = time
    for xid, change in stream:
        transaction = _owner(ends, xid, change.lsn)
        if not transaction:
            dropped["waits for END"] += 1
        elif change.order in transaction.changes:
            dropped["duplicate"] += 1
        else:
            transaction.changes[change.order] = change

    queue = sorted(ends.values(), key=lambda t: t.commit)
    if snapshot:
        last_attempt = max(attempt for attempt, _, _ in snapshot.values())
        rows = [row for row in snapshot.values() if row[0] == last_attempt]
        if not stream and not any(is_last for _, is_last, _ in rows):
            return Decoded([], dropped + Counter({"waits for the snapshot": len(rows)}))
        dropped["earlier snapshot"] += len(snapshot) - len(rows)
        changes = {n: replace(change, order=n) for n, (_, _, change) in enumerate(rows, start=1)}
        time = changes[1].time
        first = _Transaction("snapshot", SNAPSHOT_COMMIT, len(rows), time, time, changes)
        queue = [first, *queue]

    records: list[LogRecord] = []
    previous = 0 if snapshot else SNAPSHOT_COMMIT
    for n, transaction in enumerate(queue):
        if len(transaction.changes) < transaction.event_count:
            dropped["waits for events"] += sum(len(t.changes) for t in queue[n:])
            break
        records += _emit(transaction, previous)
        previous = transaction.commit
    return Decoded(records, +dropped)


def _emit(transaction: _Transaction, previous: int) -> list[LogRecord]:
    changes = [transaction.changes[order] for order in sorted(transaction.changes)]
    commit_time = changes[0].time if changes else transaction.end_time
    begin_time = transaction.begin_time or commit_time
    xid, base = transaction.xid, previous * SLOTS + 1
    records = [LogRecord(int_to_lsn(base), xid, "BEGIN", begin_time)]
    for change in _join_key_changes([c for c in changes if c.operation != "MESSAGE"]):
        records.append(
            LogRecord(
                int_to_lsn(base + change.order),
                xid,
                change.operation,
                change.time,
                change.schema,
                change.name,
                None if change.before is None else to_json(change.before),
                None if change.after is None else to_json(change.after),
            )
        )
    commit = int_to_lsn(transaction.commit * SLOTS)
    return [*records, LogRecord(commit, xid, "COMMIT", commit_time)]


def _join_key_changes(changes: list[_Change]) -> list[_Change]:
    """A delete and the create behind it are one UPDATE where they are of one record of the source
    log."""
    joined: list[_Change] = []
    for change in changes:
        last = joined[-1] if joined else None
        if (
            last
            and (last.operation, change.operation) == ("DELETE", "INSERT")
            and (last.schema, last.name, last.lsn, last.order + 1)
            == (change.schema, change.name, change.lsn, change.order)
        ):
            joined[-1] = replace(
                change,
                operation="UPDATE",
                before=last.before,
            )
        else:
            joined.append(change)
    return [
        replace(c, before=_without_placeholders(c.before), after=_without_placeholders(c.after))
        for c in joined
    ]


def _without_placeholders(image: Image | None) -> Image | None:
    return image and {n: value for n, value in image.items() if not _is_placeholder(value)}


def _is_placeholder(value: Any) -> bool:
    if isinstance(value, dict):
        return value == {UNAVAILABLE: UNAVAILABLE}
    if isinstance(value, list):
        return value in ([[text] for text in PLACEHOLDERS], [UUID]) or value == NUMBERS
    return isinstance(value, str) and value in PLACEHOLDERS


def _owner(ends: Mapping[tuple[str, int], _Transaction], xid: str, lsn: int) -> _Transaction | None:
    """The transaction of `xid` that ends next after `lsn`: transaction ids are used again."""
    later = [t for t in ends.values() if t.xid == xid and t.commit > lsn]
    return min(later, key=lambda t: t.commit, default=None)


def _split(value: Any) -> tuple[Any, dict[str, dict[str, Any]]]:
    """(payload, columns' schemas): with schemas off there are none."""
    if set(value) != {"schema", "payload"}:
        return value, {}
    fields = {f["field"]: f for f in value["schema"].get("fields", [])}
    image = fields.get("after") or fields.get("before") or {"fields": value["schema"]["fields"]}
    return value["payload"], {f["field"]: f for f in image.get("fields", [])}


def _decode(
    event: Event,
    payload: Any,
    fields: Mapping[str, Mapping[str, Any]],
    types: Mapping[str, Mapping[str, str]],
    before_images: Mapping[str, str],
    raw: bool,
) -> _Change:
    source = payload["source"]
    schema, name = source.get("schema", ""), source.get("table", "")
    table = f"{schema}.{name}"

    def image(which: str) -> Image | None:
        columns = payload.get(which)
        return columns and {
            name: value
            if raw
            else _plain(_text(value, fields.get(name), types.get(table, {}).get(name)))
            for name, value in columns.items()
        }

    before, after = image("before"), image("after")
    if before is not None and before_images.get(table) == "key":
        key = _split(parse_json(event.key or "null") or {})[0]
        before = {name: value for name, value in before.items() if name in key} or None
    return _Change(
        OPERATIONS[payload["op"]],
        schema,
        name,
        int(source["lsn"]),
        _from_micros(int(source["ts_us"])),
        before,
        after,
    )


def _plain(text: str | None) -> Any:
    """Integers and booleans without quotes, all else as strings."""
    is_plain = text and re.fullmatch(r"0|-?[1-9][0-9]{0,18}|true|false", text)
    return json.loads(text) if is_plain else text


def _text(value: Any, schema: Mapping[str, Any] | None, data_type: str | None) -> str | None:
    """One encoded value -> the canonical log's text or None."""
    if value is None or value in (True, False) or value == UNAVAILABLE:
        return {True: "true", False: "false"}.get(value, value)
    if isinstance(value, str) and value in PLACEHOLDERS:
        return value
    if schema is not None:
        name = schema.get("name", "")
        if name == "io.debezium.data.VariableScaleDecimal":
            return _unscaled(value["value"], int(value["scale"]))
        if name == "org.apache.kafka.connect.data.Decimal":
            return _unscaled(value, int(schema["parameters"]["scale"]))
        kind = name.rsplit(".", 1)[-1]
        if name.startswith(("io.debezium.time.", "org.apache.kafka.connect.data.")):
            return TIMES[kind](value)
        if data_type == "binary" and schema["type"] == "string":
            return base64.b64encode(bytes.fromhex(value)).decode()
        if data_type and data_type.startswith("decimal") and schema["type"] == "string":
            return format(Decimal(value), "f")
        return str(value) if isinstance(value, str) else to_json(value)
    type_name, size = parse_type(data_type) if data_type else ("", ())
    if type_name == "decimal" and not isinstance(value, RawNumber):
        return _unscaled(value, size[1])
    if type_name == "date":
        return _date(value)
    if type_name == "timestamp":
        if not isinstance(value, RawNumber):
            return _zoned(value)
        return _from_ticks(3 if size and size[0] <= 3 else 6)(value)
    return str(value) if isinstance(value, str) else to_json(value)


def decode_value(value: Any, source_type: str) -> str | None:
    """An encoded value of parse_json -> the canonical log's text; ValueError where it is none."""
    if value is None:
        return None
    name, size = parse_type(
        source_type.partition("(")[0] if "(hex)" in source_type else source_type
    )
    if isinstance(value, bool):
        raise ValueError(f"{value} is no {source_type}")
    if name == "decimal":
        text, scale = (value, size[1]) if size else (value["value"], int(value["scale"]))
        if not re.fullmatch("(?=.{4,24}$)[A-Za-z0-9+/]+=*", text) or isinstance(text, RawNumber):
            raise ValueError(f"{text} is no {source_type}")
        number, length = int(_unscaled(text, 0)), len(base64.b64decode(text))
        if length > (number + (number < 0)).bit_length() // 8 + 1:
            raise ValueError(f"{text} has more bytes than its number")
        if length > (8 if size and size[0] <= 18 else 16):
            raise ValueError(f"{text} has more bytes than a {source_type}")
        return _unscaled(text, scale)
    if name == "binary":
        return base64.b64encode(bytes.fromhex(value)).decode()
    if name == "date":
        return _date(RawNumber(value) if re.fullmatch("-?[0-9]+", value) else value)
    if not re.fullmatch("-?[0-9]+", value):
        return _zoned(value)
    digits = size[0] if size else 6
    return _from_ticks(3 if digits <= 3 else 6 if digits <= 6 else 9)(value)


def encode_unscaled(number: int) -> str:
    """Base64 of a number's two's complement: a decimal of Kafka Connect without its point."""
    length = (number + (number < 0)).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(length, "big", signed=True)).decode()


def _unscaled(text: str, scale: int) -> str:
    """Base64 of a big-endian two's complement -> plain decimal text with `scale` digits."""
    number = int.from_bytes(base64.b64decode(text, validate=True), "big", signed=True)
    digits = tuple(map(int, str(abs(number))))
    return format(Decimal((int(number < 0), digits, -scale)), "f")


def _from_micros(micros: int) -> datetime:
    return (EPOCH + timedelta(microseconds=micros)).replace(tzinfo=UTC)


def _from_ticks(digits: int) -> Callable[[str], str]:
    """A reader of numbers of 10**-digits seconds since 1970 -> ISO text without a zone."""

    def read(value: str) -> str:
        micros, nanos = divmod(int(value) * 10 ** (9 - digits), 1000)
        text = (EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds")
        return f"{text}{nanos:03}" if nanos else text

    return read


def _date(value: str) -> str:
    """Days since 1970, or ISO text that may end with Z."""
    if isinstance(value, RawNumber):
        return (EPOCH + timedelta(days=int(value))).date().isoformat()
    return value.rstrip("Z")


def _zoned(value: str) -> str:
    """ISO text with a zone -> the same instant in UTC with 6 digits and Z."""
    match = re.fullmatch(r"(.{10})T([\d:]+)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?", value)
    if not match:
        return value  # infinity and years outside 1 .. 9999: the capture refuses them
    day, clock, fraction, zone = match.groups()
    text = f"{day}T{clock}.{(fraction or '').ljust(6, '0')[:6]}"
    if zone in (None, "Z"):
        return text + (zone or "")
    instant = datetime.fromisoformat(text + zone).astimezone(UTC)
    return instant.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


TIMES: dict[str, Callable[[str], str]] = {
    "Date": _date,
    "IsoDate": _date,
    "Timestamp": _from_ticks(3),
    "MicroTimestamp": _from_ticks(6),
    "NanoTimestamp": _from_ticks(9),
    "ZonedTimestamp": _zoned,
    "IsoTimestamp": lambda value: _zoned(value).rstrip("Z"),
    "Time": str,
    "MicroTime": str,
    "NanoTime": str,
    "ZonedTime": str,
    "IsoTime": str,
    "Year": str,
    "Interval": str,
    "MicroDuration": str,
    "IsoDuration": str,
}
