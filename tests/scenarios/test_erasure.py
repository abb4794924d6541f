"""docs/erasure.md: rows of a person are deleted by hand, and capture and consumers go on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from capturing import Capture, instance_yaml
from harness import PACKAGE, Project
from reference.log import LogRecord, int_to_lsn
from story import ITEMS

pytestmark = pytest.mark.slow

MODELS = {
    f"{name}.sql": f"{{{{ config(materialized='{kind}') }}}}"
    " select * from {{ dbt_cdc.new_changes('dbo_items') }}"
    for name, kind in (("now", "replica"), ("versions", "history"))
}


def change(number: int, operation: str, before: int | None, after: int | None) -> list[LogRecord]:
    """A transaction of one change; a number stands for the row with that id."""
    images = [
        x if x is None else json.dumps({"id": x, "name": f"person {x}"}) for x in (before, after)
    ]
    tran_id, lsns = f"t{number}", [int_to_lsn(2 * number + n) for n in (1, 2)]
    return [
        LogRecord(lsns[0], tran_id, operation, None, "dbo", "items", *images),
        LogRecord(lsns[1], tran_id, "COMMIT", None),
    ]


def statements_of_the_page() -> str:
    page = (PACKAGE / "docs" / "erasure.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"```sql\n(.*?)```", page, re.S))


def test_however_the_key_is_written(make_project: Callable[..., Project]) -> None:
    """Events with and without schemas and keys, and the log: the rows of one person."""
    project = make_project()
    row, other = {"customer_id": 7, "name": "Jane"}, {"customer_id": 77, "name": "John"}
    landed, records = [], []
    for image in (row, other):
        key = {"customer_id": image["customer_id"]}
        event = {"before": None, "after": image, "op": "c"}
        for k, v in (
            (key, None),
            ({"schema": {}, "payload": key}, {"schema": {}, "payload": event}),
            (None, event),
            (None, {"payload": {"before": image, "after": None, "op": "d"}}),
        ):
            landed.append((len(landed), "pg.public.customers", *map(json.dumps, (k, v)), "{}"))
        records += [("public", "customers", *pair) for pair in ((None, image), (image, None))]
    moved = {**row, "customer_id": 8}
    records += [("public", "customers", row, moved), ("public", "other", None, row)]
    logged = [(*r[:2], *(None if x is None else json.dumps(x) for x in r[2:])) for r in records]
    columns = "position int, topic string, key string, value string, headers string"
    log_columns = (
        "source_schema string, source_name string, before_image string, after_image string"
    )
    for name, rows, ddl in (
        ("landed_events", landed, columns), ("shop_log", logged, log_columns)
    ):  # fmt: skip
        frame = project.spark.createDataFrame(rows, ddl).write.format("delta")
        frame.saveAsTable(f"{project.schema}.{name}")
    for statement in re.findall(r"(?:update|delete) .*?;", statements_of_the_page(), re.S)[:2]:
        project.spark.sql(statement.rstrip(";").replace("cdc.", f"{project.schema}."))
    found = project.spark.table(f"{project.schema}.landed_events").collect()
    assert len(found) == len(landed)
    assert {r.topic for r in found} == {"pg.public.customers"}
    assert sum("Jane" in str(r) for r in found) == 0 and sum("John" in str(r) for r in found) == 3
    left = project.spark.table(f"{project.schema}.shop_log").collect()
    assert sorted((r.source_name, "Jane" in str(r)) for r in left) == [
        ("customers", False), ("customers", False), ("other", True)
    ]  # fmt: skip


@pytest.mark.more
def test_as_the_page_says(make_project: Callable[..., Project]) -> None:
    shop = Capture(make_project, [ITEMS], models=MODELS)
    yaml = json.loads(instance_yaml([ITEMS]))
    yaml["models"][0]["data_tests"] = ["dbt_cdc.timeline_without_gaps", "dbt_cdc.no_late_commits"]
    shop.project.write("models/instances.yml", json.dumps(yaml))
    shop.land(change(0, "INSERT", None, 7) + change(1, "INSERT", None, 8))
    shop.run()
    shop.land(change(2, "DELETE", 7, None))
    shop.run()
    behind = (
        "select * from {schema}.cdc_consumers where lag_transactions > 0 or open_lsn is not null"
    )
    assert not shop.sql(behind)
    sql = statements_of_the_page()
    for table, ours in (("public_customers_ct", "dbo_items_ct"), ("customers_history", "versions")):
        (statement,) = re.findall(rf"delete from cdc\.{table} where customer_id = 7;", sql)
        ours = f"delete from {{schema}}.{ours} where id = 7"
        assert statement.split(" where ")[1].startswith("customer_id = 7")
        shop.sql(ours)
    for lsn in (1, 5):
        shop.amend(int_to_lsn(lsn))
    shop.land(change(3, "INSERT", None, 9) + change(4, "DELETE", 8, None))
    shop.project.ok("build")
    assert shop.sql("select id from {schema}.now") == [(9,)]
    kept = shop.sql(
        "select id, valid_to_lsn is null as is_current from {schema}.versions order by id"
    )
    assert kept == [(8, False), (9, True)]
    for table in ("dbo_items_ct", "versions", "now", "landed"):
        assert "person 7" not in str(shop.sql(f"select * from {{schema}}.{table}"))
    shop.run()
    assert shop.sql("select id from {schema}.now") == [(9,)]
    # a deletion vector hides a row, and leaves it in its file
    for table in ("versions", "now"):
        assert re.search(r"reorg table cdc\.customers\w* apply \(purge\);", sql)
        shop.sql(f"reorg table {{schema}}.{table} apply (purge)")
        files = shop.project.spark.table(f"{shop.schema}.{table}").inputFiles()
        assert "person 7" not in str(shop.project.spark.read.parquet(*files).collect())
    shop.project.ok("run-operation", "cleanup", "--args", "{vacuum_hours: 168}")
