"""docs/settings.md: its change table, and every setting and variable, with what it does."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from capturing import Capture, instance_yaml
from examples import SETTINGS, Examples
from harness import PACKAGE, Project
from reference.capture import CaptureInstance
from reference.change_tracking import TrackedTable
from reference.log import UTC, LogRecord, int_to_lsn
from tracking import tracked_models

START = datetime(2026, 7, 1, 8, tzinfo=UTC)
COLUMNS = (("id", "int"), ("name", "string"))
CUSTOMERS, PEOPLE, CLIENTS = (
    CaptureInstance("public", table, name, COLUMNS, ("id",))
    for table, name in (
        ("customers", "public_customers"), ("people", "people"), ("clients", "clients"),
    )
)  # fmt: skip
TRACKED = TrackedTable("public", "customers", COLUMNS, ("id",), track_columns_updated=False)
REPLICA = (
    "{{ config(materialized='replica') }}\n"
    "select * from {{ dbt_cdc.new_changes('public_customers') }}\n"
)
SOURCE = {"name": "lake", "tables": [{"name": "raw_log"}]}


class Shop:
    """The page's shop: what happens before a setting's example has its name."""

    def __init__(self, make_project: Callable[..., Project]) -> None:
        self.lsn, self.hours = 0, 0.0
        self.capture = Capture(
            make_project, [CUSTOMERS],
            vars={"cdc_role_gating": "accept", "cdc_report_new_columns": True},
            models={
                "customers.sql": REPLICA,
                "lake.yml": json.dumps({"version": 2, "sources": [SOURCE]}),
            },
        )  # fmt: skip
        self.project = self.capture.project
        self.commit("customers", None, {"id": 1, "name": "Ann"})
        new = [{"order_id": n, "amount": "BOI=", "total": 1.5, "note": "a gift"} for n in (1, 2)]
        for row in new:
            self.commit("orders", None, row)
        self.capture.run()
        page = (PACKAGE / "docs" / "settings.md").read_text(encoding="utf-8")
        model = re.findall(r"^```yaml\n(models:.*?)^```", page, re.M | re.S)[0]
        self.add("shop_orders", model)
        self.add("people", instance_yaml([PEOPLE]))
        paid = {**new[0], "amount": "CcQ="}
        self.commit("orders", {n: v for n, v in new[0].items() if n != "amount"}, paid)
        self.commit("orders", new[1], {**new[1], "note": "for Ann"})
        self.capture.run()

    def add(self, name: str, yaml: str) -> None:
        """Another capture instance."""
        self.project.write(f"models/{name}.yml", yaml)
        self.project.write(f"models/{name}_ct.sql", "{{ dbt_cdc.change_table() }}\n")

    def commit(self, table: str, before: Any, after: Any, hours: float = 0, **ddl: Any) -> None:
        """A transaction of one record, some hours after the one before it."""
        self.hours += hours
        time = START + timedelta(hours=self.hours)
        operation = "DDL" if ddl else "UPDATE" if before else "INSERT"
        images = [None if image is None else json.dumps(image) for image in (before, after)]
        tran_id = str(self.lsn)
        self.capture.land([
            LogRecord(int_to_lsn(self.lsn + 1), tran_id, "BEGIN", time),
            LogRecord(int_to_lsn(self.lsn + 2), tran_id, operation, time, "public", table, *images,
                      **ddl),
            LogRecord(int_to_lsn(self.lsn + 3), tran_id, "COMMIT", time),
        ])  # fmt: skip
        self.lsn += 3

    def customer(self, number: int, hours: float = 0) -> None:
        """A new one."""
        self.commit("customers", None, {"id": number, "name": f"c{number}"}, hours)

    def cdc_tracked_tables(self) -> None:
        for name, text in tracked_models([TRACKED]).items():
            self.project.write(f"models/tracked/{name}", text)

    def cdc_scan_until(self) -> None:
        shutil.rmtree(self.project.folder / "models" / "tracked")
        for number in (2, 3):
            self.customer(number, 1)

    def cdc_maxtrans(self) -> None:
        self.capture.run()
        for number in (4, 5, 6):
            self.customer(number)

    def cdc_late_commits(self) -> None:
        self.lsn += 3
        self.customer(13)
        self.capture.run()
        self.lsn -= 6
        self.customer(14)
        self.lsn += 3

    def cdc_check_duplicates(self) -> None:
        for place in (-5, -4, -3):
            self.capture.amend(int_to_lsn(self.lsn + place))
        for _ in range(2):
            self.customer(7)
            self.lsn -= 3

    def cdc_report_new_columns(self) -> None:
        for place in (1, 2, 3):  # landed once after all
            self.capture.amend(int_to_lsn(self.lsn + place))
        self.customer(7)
        types = {"id": "integer", "name": "text", "phone": "text"}
        shape = [{"name": name, "type": kind} for name, kind in types.items()]
        self.commit("customers", None, shape, ddl_command="alter table customers add phone text")
        self.commit("customers", None, {"id": 12, "name": "Zoe", "phone": "030"})

    def cdc_consumer_hold_minutes(self) -> None:
        for number in (8, 9, 10):
            self.customer(number, 48)
            self.capture.run("--exclude", "customers")

    def cdc_monitoring_days(self) -> None:
        self.capture.sql(
            "insert into {schema}.dm_cdc_errors by name select 0 as session_id, 7 as "
            "error_number, current_timestamp() - interval '3' day as entry_time"
        )

    def cdc_persistent_functions(self) -> None:
        again = "{consumer: customers, dry_run: false}"
        self.project.ok("run-operation", "reset_consumer", "--args", again)
        self.add("clients", instance_yaml([CLIENTS]))
        self.commit("clients", None, {"id": 1, "name": "Eve"})
        self.project.ok("parse")


@pytest.mark.more
@pytest.mark.slow
def test_every_setting_and_variable_does_what_the_page_says(
    make_project: Callable[..., Project],
) -> None:
    shop = Shop(make_project)
    examples = Examples.of_project(shop.project, None, SETTINGS)
    examples.check_in_turn(lambda name: getattr(shop, name, lambda: None)())
