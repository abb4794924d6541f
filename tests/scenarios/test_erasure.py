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

pytestmark = [pytest.mark.slow, pytest.mark.more]

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
    page = (PACKAGE / "docs" / "erasure.md").read_text(encoding="utf-8")
    (sql,) = re.findall(r"```sql\n(.*?)```", page, re.S)
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
