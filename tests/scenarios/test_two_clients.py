"""docs/two-clients.md, executed as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from examples import Examples
from harness import PACKAGE, Project
from pyspark.sql import Row
from reference.change_tracking import TrackedTable
from reference.log import UTC
from tracking import Tracking, TrackingWriter

ORDERS = TrackedTable(
    "dbo", "orders", (("order_id", "int"), ("customer", "string"), ("status", "string")),
    ("order_id",),
)  # fmt: skip
PAGE = PACKAGE / "docs" / "two-clients.md"
BLOCK = re.compile(
    r"```sql\n(.*?)```|^```\n(CDC .*?)\n```|((?:^\|[^\n]*\n)+)|<!-- (\w+)", re.S | re.M
)
START = datetime(2024, 5, 1, tzinfo=UTC)


def order(key: int, customer: str, status: str = "new") -> dict[str, Any]:
    return {"order_id": key, "customer": customer, "status": status}


class Shop:
    """The database: its table, and its log."""

    def __init__(self, make_project: Callable[..., Project]) -> None:
        self.tracking = Tracking(make_project, [ORDERS])
        self.writer, self.rows = TrackingWriter(START), dict[int, dict[str, Any]]()
        self.change(("INSERT", None, order(1, "acme")), ("INSERT", None, order(2, "globex")))
        self.publish()

    def change(self, *changes: tuple[str, Any, Any], days: int = 0) -> None:
        """A transaction."""
        time = START + timedelta(days=days)
        self.writer.commit(*((what, "orders", *images) for what, *images in changes), time=time)
        for _, before, after in changes:
            if before:
                del self.rows[before["order_id"]]
            if after:
                self.rows[after["order_id"]] = after

    def publish(self) -> None:
        values = ", ".join(str(tuple(row.values())) for row in self.rows.values())
        self.tracking.sql(
            "create or replace view {schema}.orders as select * from values"
            f" {values} as orders (order_id, customer, status)"
        )
        self.tracking.land(self.writer.new())
        self.tracking.run()

    def go_on(self, what: str) -> None:
        """What the page's comments say."""
        if what == "the":
            self.change(("UPDATE", order(1, "acme"), order(1, "acme", "paid")))
            self.change(("DELETE", order(2, "globex"), None))
            self.change(("INSERT", None, order(3, "initech")))
            self.publish()
        elif what == "replica":
            self.tracking.sql(
                "create or replace view {schema}.cdc_consumers as select 'orders' as consumer,"
                " commit_lsn as last_lsn from {schema}.syscommittab where commit_ts = 3"
            )
        else:
            self.change(("UPDATE", order(3, "initech"), order(3, "initech", "paid")), days=1)
            self.change(("INSERT", None, order(4, "umbrella")), days=4)
            self.publish()
            self.tracking.operation("change_tracking_cleanup")


def table(text: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    return [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def cells(rows: list[Row]) -> list[list[str]]:
    texts = {None: "NULL", True: "true", False: "false"}
    return [[texts.get(value) or str(value) if value is None or isinstance(value, bool)
             else str(value) for value in row] for row in rows]  # fmt: skip


@pytest.mark.soak
def test_the_page(make_project: Callable[..., Project]) -> None:
    shop = Shop(make_project)
    spark, schema = shop.tracking.project.spark, shop.tracking.schema
    spark.sql(f"use {schema}")
    checked, answer, failed = 0, list[Row](), ""
    try:
        for sql, error, expected, what in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
            if what:
                shop.go_on(what)
            elif sql:
                failed = ""
                query = re.sub(r"\b(cdc|shop)\.", f"{schema}.", sql)
                try:
                    answer = spark.sql(query).collect()
                except Exception as raised:
                    failed = str(raised)
                    if "CDC 313" not in failed:
                        raise
            elif error:
                assert error in failed
                checked += 1
            else:
                assert cells(answer) == table(expected), sql
                checked += 1
    finally:
        spark.sql("use default")
    assert checked == 10


@pytest.mark.more
@pytest.mark.slow
def test_the_examples_of_the_reference(make_project: Callable[..., Project]) -> None:
    """Those of change tracking, before the first client's round and after a cleanup."""
    shop = Shop(make_project)
    shop.go_on("the")
    project = shop.tracking.project
    Examples.of_project(project, "two-clients.md").check()
    shop.go_on("cleanup")
    Examples.of_project(project, "two-clients.md#a-client-that-comes-back-too-late").check()
