"""Landed Debezium events of a shop: PostgreSQL, schemas off, the default encodings."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from reference.capture import CaptureInstance
from reference.debezium import encode_unscaled

LANDED = "position bigint, topic string, key string, value string, headers string"
TABLES = (
    CaptureInstance(
        "public",
        "customers",
        "public_customers",
        (
            ("customer_id", "bigint"),
            ("name", "string"),
            ("email", "varchar(60)"),
            ("balance", "decimal(18,4)"),
            ("wide", "decimal(38,18)"),
            ("is_vip", "boolean"),
            ("avatar", "binary"),
            ("score", "double"),
            ("birth", "date"),
            ("created_at", "timestamp"),
            ("updated_at", "timestamp"),
            ("notes", "string"),
        ),
        ("customer_id",),
    ),
    CaptureInstance(
        "public",
        "orders",
        "public_orders",
        (
            ("customer_id", "bigint"),
            ("order_no", "int"),
            ("status", "string"),
            ("amount", "decimal(12,2)"),
            ("qty", "bigint"),
            ("express", "boolean"),
            ("ordered_at", "timestamp"),
            ("comment", "string"),
        ),
        ("customer_id", "order_no"),
    ),
    CaptureInstance(
        "public",
        "accounts",
        "public_accounts",
        (("aid", "int"), ("bid", "int"), ("abalance", "int"), ("filler", "string")),
        ("aid",),
    ),
    CaptureInstance(
        "public",
        "docs",
        "public_docs",
        (("doc_id", "string"), ("title", "string"), ("body", "string"), ("rev", "int")),
        ("doc_id",),
    ),
)
TYPES = {
    "public.customers": {
        "balance": "decimal(18,4)",
        "wide": "decimal(38,18)",
        "avatar": "binary",
        "birth": "date",
        "updated_at": "timestamp(3)",
    },
    "public.orders": {"amount": "decimal(12,2)"},
}


def time(rng: random.Random) -> str:
    year, month, day = rng.randrange(2010, 2026), rng.randrange(1, 10), rng.randrange(10, 20)
    return f"{year}-0{month}-{day}T08:14:11.{rng.randrange(10**6):06}Z"


def row(table: str, number: int, rng: random.Random) -> dict[str, Any]:
    """A new state of the row with this number."""
    if table == "customers":
        return {
            "customer_id": number,
            "name": f"Customer {number} Þór",
            "email": f"u{rng.randrange(10**6)}@example.org",
            "balance": encode_unscaled(rng.randrange(-(10**12), 10**12)),
            "wide": encode_unscaled(rng.randrange(-(10**30), 10**30)),
            "is_vip": rng.random() < 0.1,
            "avatar": base64.b64encode(rng.randbytes(24)).decode(),
            "score": rng.random(),
            "birth": rng.randrange(-9000, 12000),
            "created_at": time(rng),
            "updated_at": rng.randrange(10**12, 2 * 10**12),
            "notes": None if rng.random() < 0.5 else 'said: "well", back\\slash',
        }
    if table == "orders":
        return {
            "customer_id": number // 5,
            "order_no": number % 5,
            "status": rng.choice(("new", "paid", "shipped", "returned")),
            "amount": encode_unscaled(rng.randrange(10**9)),
            "qty": rng.randrange(-5, 2**31),
            "express": rng.random() < 0.5,
            "ordered_at": time(rng),
            "comment": None,
        }
    if table == "accounts":
        return {"aid": number, "bid": 1, "abalance": rng.randrange(10**6), "filler": " " * 84}
    return {
        "doc_id": f"{number:032x}",
        "title": f"Title {rng.randrange(10**6)}",
        "body": "lorem ipsum dolor sit amet " * rng.randrange(1, 10),
        "rev": rng.randrange(100),
    }


def events(count: int, seed: int = 1) -> Iterator[tuple[str, str | None, str]]:
    """(topic, key, value) of `count` changes in transactions of ten, with their BEGIN and END."""
    rng = random.Random(seed)
    rows: dict[str, dict[int, dict[str, Any]]] = {table.source_name: {} for table in TABLES}
    keys = {table.source_name: table.index_columns for table in TABLES}
    names, next_number = list(rows), dict.fromkeys(rows, 0)
    for first in range(0, count, 10):
        xid, wal = 1000 + first // 10, 100_000 + first * 100
        at = 1_795_252_512_226_769 + first
        size = min(10, count - first)
        begin = {"status": "BEGIN", "id": f"{xid}:{wal}", "ts_ms": at // 1000, "event_count": None}
        yield "pg.transaction", None, text(begin)
        for order in range(1, size + 1):
            table, lsn = rng.choice(names), wal + order * 50
            state, kind = rows[table], rng.random()
            if kind < 0.3 or not state:
                number, op = next_number[table], "c"
                next_number[table] += 1
            else:
                number = (
                    rng.choice(list(state))
                    if len(state) < 50
                    else pick(state, rng, next_number[table])
                )
                op = "d" if kind > 0.95 else "u"
            before = state.pop(number, None)
            after = None if op == "d" else row(table, number, rng)
            if after:
                state[number] = after
            image = after or before or {}
            value = {
                "before": before,
                "after": after,
                "source": {
                    "version": "3.2.3.Final", "connector": "postgresql", "name": "pg",
                    "ts_ms": at // 1000, "snapshot": "false", "db": "shop",
                    "sequence": f'["{wal - 10}","{lsn}"]', "ts_us": at, "ts_ns": at * 1000,
                    "schema": "public", "table": table, "txId": xid, "lsn": lsn, "xmin": None,
                },
                "transaction": {
                    "id": f"{xid}:{lsn}", "total_order": order, "data_collection_order": 1,
                },
                "op": op, "ts_ms": at // 1000 + 9, "ts_us": at + 9001, "ts_ns": at * 1000 + 9001001,
            }  # fmt: skip
            key = {name: image[name] for name in keys[table]}
            yield f"pg.public.{table}", text(key), text(value)
            if op == "d":
                yield f"pg.public.{table}", text(key), None
        end = {
            "status": "END",
            "id": f"{xid}:{wal + 900}",
            "ts_ms": at // 1000,
            "event_count": size,
        }
        yield "pg.transaction", None, text(end)


def pick(state: dict[int, Any], rng: random.Random, limit: int) -> int:
    """A number that is there, without making a list of all."""
    while (number := rng.randrange(limit)) not in state:
        pass
    return number


def text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def land(spark: SparkSession, count: int, relation: str, folder: Path) -> None:
    """Writes the events of `count` changes into the Delta table `relation`."""
    file = folder / "events.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for position, (topic, key, value) in enumerate(events(count), start=1):
            line = {"position": position, "topic": topic, "key": key, "value": value}
            lines.write(text(line) + "\n")
    landed = spark.read.schema(LANDED).json(str(file))
    landed.repartitionByRange(4, "position").write.format("delta").saveAsTable(relation)
