"""docs/sources/own-log.md: the canonical log over an audit table, as the page has it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from capturing import Capture
from harness import PACKAGE, Project
from reference.capture import CaptureInstance
from transactions import Writer

pytestmark = pytest.mark.slow

PAGE = (PACKAGE / "docs" / "sources" / "own-log.md").read_text(encoding="utf-8")
AUDIT = (
    "batch bigint, audit_id bigint, tx_id bigint, committed_at timestamp, action string, "
    "table_schema string, table_name string, old_row string, new_row string"
)


def land(project: Project, batch: int, *rows: tuple[int, int, Any, Any]) -> None:
    """Rows of a copy: (audit_id, transaction, the row before, the row after)."""
    for audit_id, tx_id, old, new in rows:
        action = "I" if old is None else "D" if new is None else "U"
        images = ", ".join("null" if r is None else f"'{json.dumps(r)}'" for r in (old, new))
        project.sql(
            f"insert into {{schema}}.audit values ({batch}, {audit_id}, {tx_id}, "
            f"timestamp'2026-03-01 12:{batch:02}:00', '{action}', 'app', 'items', {images})"
        )


def test_the_page_captures_an_audit_table(make_project: Callable[..., Project]) -> None:
    """A transaction that commits late has lower ids than those of the copy before. The first run
    finds nothing, and the last one a transaction of more rows than 16 bits count."""
    model = re.search(r"```sql\n-- models/shop_log.sql\n(.*?)```", PAGE, re.S)
    columns = [{"name": "id", "data_type": "int"}, {"name": "v", "data_type": "string"}]
    cdc = {"source_schema": "app", "source_name": "items", "index_columns": ["id"]}
    table = {"name": "app_items_ct", "config": {"meta": {"cdc": cdc}}, "columns": columns}
    source = {"name": "shop", "schema": "{{ target.schema }}", "tables": [{"name": "audit"}]}
    properties = {"models": [table, {"name": "shop_log", "data_tests": ["dbt_cdc.canonical_log"]}]}
    made = make_project(
        models={
            "shop_log.sql": model[1],
            "app_items_ct.sql": "{{ dbt_cdc.change_table() }}",
            "items.sql": "{{ config(materialized='replica') }}\n"
            "select * from {{ dbt_cdc.new_changes('app_items') }}",
            "properties.yml": json.dumps({"version": 2, "sources": [source], **properties}),
        },
        vars={"cdc_log_model": "shop_log"},
    )
    made.clear()
    made.sql(f"create table {{schema}}.audit ({AUDIT}) using delta")
    made.ok("build")
    first, second, third = ({"id": n, "v": "new"} for n in (1, 2, 3))
    land(made, 1, (10, 7, None, first), (13, 7, None, second), (12, 8, None, third))
    made.ok("build")
    land(made, 2, (11, 6, first, {"id": 1, "v": "late"}), (14, 9, second, None))
    made.ok("build")
    rows = made.sql("select id, v from {schema}.items order by id")
    assert [tuple(row) for row in rows] == [(1, "late"), (3, "new")]
    operations = made.sql(
        "select `__$operation` as o, id from {schema}.app_items_ct"
        " order by `__$start_lsn`, `__$seqval`, `__$operation`"
    )
    assert [tuple(r) for r in operations] == [(2, 3), (2, 1), (2, 2), (3, 1), (4, 1), (1, 2)]
    many = 70_000
    made.sql(
        f"insert into {{schema}}.audit select 3, {2**32} + id, 10, timestamp'2026-03-01 13:00:00', "
        "'I', 'app', 'items', null, to_json(struct(id + 10 as id, 'many' as v)) "
        f"from range({many})"
    )
    land(made, 3, (2**32 + many, 10, {"id": 10, "v": "many"}, {"id": 10, "v": "last"}))
    made.ok("build")
    assert made.sql("select v from {schema}.items where id = 10")[0].v == "last"
    assert made.sql("select count(*) as n from {schema}.items")[0].n == many + 2


@pytest.mark.more
def test_a_command_id_in_part_of_a_transaction(make_project: Callable[..., Project]) -> None:
    """Changes without one would come first. Another table may have none."""
    items, notes = (
        CaptureInstance("app", name, f"app_{name}", (("id", "int"), ("n", "int")), ("id",))
        for name in ("items", "notes")
    )
    target, writer = Capture(make_project, [items, notes]), Writer()
    rows = [{"id": 1, "n": n} for n in range(3)]

    def change(table: str, command: int | None, *images: dict[str, int] | None) -> str:
        before, after = images
        record = writer.record(
            "UPDATE" if before else "INSERT", source_schema="app", source_name=table,
            before_image=before, after_image=after, command_id=command,
        )  # fmt: skip
        target.land([record])
        return record.lsn

    first = change("items", 1, None, rows[0])
    change("notes", None, None, rows[0])
    change("items", 2, rows[0], rows[1])
    last = change("items", None, rows[1], rows[2])
    target.land([writer.record("COMMIT")])
    assert (
        f"CDC 22859: bad log record of lsn {first}, tran_id t0, column command_id: changes of one"
        " table have one in part: a transaction has it on all of its changes or on none"
    ) in target.project.dbt("run").output
    target.amend(last, command_id=3)
    target.run()
    assert [row.values[1] for row in target.changes(items)] == [0, 0, 1, 1, 2]
