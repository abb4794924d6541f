"""A faulty source, connector or transport: the log has the truth, or a run says what is wrong.

Logs come from a model of the source (`reference/source.py`), and the truth is its tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from harness import DbtResult, Project
from pyspark.sql import SparkSession
from reference.debezium import Event
from reference.source import Connector, Database, arrive, rows_by_the_log

pytestmark = pytest.mark.slow

LANDED = "position bigint, topic string, key string, value string, headers string"
MODEL = """{{ config(materialized='incremental', file_format='delta') }}
{{ dbt_cdc.debezium_log(source('kafka', 'landed')) }}"""
SOURCE = "sources: [{name: kafka, schema: '{{ target.schema }}', tables: [{name: landed}]}]"


@dataclass
class Shop:
    """A database, its connector, and a project that reads what has landed."""

    project: Project
    spark: SparkSession
    landed: int = 0

    def begin(self, *rows: int) -> tuple[Database, Connector]:
        """A new database: `t` has a key and these rows, `bag` has none and two equal rows."""
        self.project.clear()
        self.landed = 0
        database = Database(["t", "bag"], ["t"])
        database.commit(
            ("insert", "t", *({"id": n, "v": "first"} for n in rows)),
            ("insert", "bag", {"id": 0, "v": "same"}, {"id": 0, "v": "same"}),
        )
        return database, Connector(database)

    def land(self, events: list[Event]) -> None:
        """One more batch, in this order."""
        batch = arrive(events, self.landed + 1)
        self.landed += len(batch)
        rows = [(e.position, e.topic, e.key, e.value, e.headers) for e in batch]
        frame = self.spark.createDataFrame(rows, LANDED).coalesce(1).write.format("delta")
        frame.mode("append").saveAsTable(f"{self.project.schema}.landed")

    def run(self, events: list[Event], *args: str) -> DbtResult:
        """Lands a batch and runs the log."""
        self.land(events)
        return self.project.dbt("run", "--select", "log", *args)

    def has(self, database: Database) -> bool:
        """Whether the log's changes make the database's tables."""
        records = self.project.table("log").collect()
        return all(
            rows_by_the_log(records, table) == database.truth(table) for table in database.tables
        )


@pytest.fixture(scope="module")
def shop(make_project: Callable[..., Project], spark: SparkSession) -> Shop:
    models = {"log.sql": MODEL, "sources.yml": SOURCE}
    return Shop(make_project(models=models, vars={"cdc_log_model": "log"}), spark)


def row(number: int, value: str) -> dict[str, Any]:
    return {"id": number, "v": value}


def updates(*numbers: int, old: str = "first", new: str = "new") -> list[Any]:
    return ["update", "t", *(r for n in numbers for r in (row(n, old), row(n, new)))]


# --- the connector restarts inside a transaction --------------------------------------------------


@pytest.mark.parametrize("unacknowledged", [0, 2, 3])
def test_restart_inside_a_transaction(shop, unacknowledged):
    """Numbers begin at 1 again, and the last events come again under new ones."""
    database, connector = shop.begin(*range(1, 11))
    connector.snapshot()
    database.commit(updates(*range(1, 11)), ("insert", "t", *(row(n, "x") for n in (21, 22, 23))))
    database.commit(updates(1, old="new", new="after"))
    connector.stream(events=7)
    connector.restart(unacknowledged)
    assert shop.run(connector.sent).success
    assert shop.has(database)


def test_restarts_inside_rows_of_one_position(shop):
    """Rows of one INSERT share a position; some are equal, of a table without a key."""
    database, connector = shop.begin(1)
    connector.snapshot()
    same = [{"id": 0, "v": "same"}] * 3
    database.commit(
        ("insert", "t", row(2, "a"), row(3, "b"), row(4, "c")),
        ("update", "t", row(2, "a"), row(9, "a"), row(3, "b"), row(8, "b")),
        ("insert", "bag", {"id": 1, "v": "one"}, {"id": 2, "v": "two"}),
    )
    connector.stream(events=3)
    connector.restart(2, events=7)
    connector.restart(3)
    database.commit(("insert", "bag", *same))  # no restart: three rows
    connector.stream()
    assert shop.run(connector.sent).success
    assert shop.has(database)


def test_restart_whose_first_events_are_missing(shop):
    """The numbers have a hole: said, until the rest has landed."""
    database, connector = shop.begin(*range(1, 11))
    connector.snapshot()
    database.commit(updates(*range(1, 11)))
    connector.stream(events=6)
    connector.restart(1)
    sent = connector.sent
    lost = next(n for n, e in enumerate(sent) if '"total_order": 3' in (e.value or ""))
    result = shop.run([e for n, e in enumerate(sent) if n != lost])
    assert not result.success
    assert "CDC 22859: bad log record of transaction 502:" in result.output
    assert "event number 4 follows number 2" in result.output
    assert shop.run([sent[lost]]).success
    assert shop.has(database)


def test_equal_rows_of_a_snapshot(shop):
    """Of a table without a key, also where events tell no microseconds."""
    for micros in (True, False):
        database, connector = shop.begin(1, 2)
        connector.snapshot(micros=micros)
        database.commit(updates(1))
        connector.stream()
        assert shop.run(connector.sent).success
        assert shop.has(database)
