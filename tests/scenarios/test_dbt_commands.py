"""dbt's own commands: before the first publication, after a failure, in a pull request."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pytest
from asking import rows
from capturing import Capture, instance_yaml
from harness import PACKAGE, Project, new_schema
from reference.capture import CaptureInstance
from reference.log import UTC, LogRecord, int_to_lsn
from story import ITEMS, NOTES

pytestmark = pytest.mark.slow

MODELS = {
    "now.sql": "{{ config(materialized='replica') }}"
    " select * from {{ dbt_cdc.new_changes('dbo_items') }} -- as they are now",
    "changes.sql": "select * from {{ dbt_cdc.get_all_changes("
    "'dbo_items', dbt_cdc.get_min_lsn('dbo_items'), dbt_cdc.get_max_lsn()) }}",
}
BOUNDS = {
    "next": ("dbt_cdc.increment_lsn(dbt_cdc.get_min_lsn('dbo_items'))", "dbt_cdc.get_max_lsn()"),
    "before": ("dbt_cdc.decrement_lsn(dbt_cdc.get_min_lsn('dbo_items'))", "dbt_cdc.get_max_lsn()"),
    "since": (
        "dbt_cdc.map_time_to_lsn('smallest greater than', '2024-01-01')", "dbt_cdc.get_max_lsn()"
    ),
}  # fmt: skip


def insert(number: int, image: str | None = None) -> list[LogRecord]:
    """A transaction that inserts a row."""
    tran_id, lsns = f"t{number}", [int_to_lsn(2 * number + n) for n in (1, 2)]
    image = image or json.dumps({"id": number, "name": "x"})
    change = LogRecord(lsns[0], tran_id, "INSERT", None, "dbo", "items", None, image)
    return [change, LogRecord(lsns[1], tran_id, "COMMIT", None)]


@pytest.fixture(scope="module")
def shop(make_project: Callable[..., Project]) -> Capture:
    """A project that has not run yet, with a replica and a model that asks for all changes."""
    looked_at = {
        f"{name}.sql": f"select * from {{{{ dbt_cdc.get_all_changes({', '.join(given)}) }}}}"
        for name, given in {n: ("'dbo_items'", *bounds) for n, bounds in BOUNDS.items()}.items()
    }
    across = ", ".join(("'dbo', 'items'", *BOUNDS["next"]))
    looked_at["across.sql"] = f"select * from {{{{ dbt_cdc.changes_across({across}) }}}}"
    made = Capture(make_project, [ITEMS], models=MODELS | looked_at)
    made.land(insert(0))
    return made


def published(shop: Capture) -> str:
    """The high end."""
    return shop.sql("select max(high_end) from {schema}.validity_intervals")[0][0]


def test_before_the_first_publication(shop: Capture) -> None:
    for command in (["compile"], ["docs", "generate"], ["run", "--empty"], ["compile"]):
        shop.project.ok(*command)
    assert not shop.sql("select * from {schema}.scan_transactions")
    captured = shop.run("--select", "+dbo_items_ct")  # not published
    assert "has no record_time: no window by time that has an end has" in captured.output
    nothing = "CDC 313: nothing is published yet for capture instance dbo_items: dbt run --select"
    result = shop.project.dbt("run", "--select", "changes")
    assert nothing in result.messages["changes"].message
    asked = shop.project.dbt("run", "--select", *BOUNDS, "across")
    assert all("CDC 313: " in asked.messages[name].message for name in (*BOUNDS, "across")), asked
    for name in (*BOUNDS, "across"):
        (shop.project.folder / "models" / f"{name}.sql").unlink()
    shop.run()
    assert len(shop.sql("select * from {schema}.now")) == 1
    assert len(shop.sql("select * from {schema}.changes")) == 1


def test_commits_without_a_time_and_of_another_age(make_project: Callable[..., Project]) -> None:
    """The first have a place in no window by time, nor ties; the others no latency that fits. A
    text that Spark would take for a variable stays as it is."""
    made, ddl = Capture(make_project, [ITEMS]), "alter table items add x varchar default '${x}'"
    at = [datetime(2024, 5, 1, 10, minute, tzinfo=UTC) for minute in (0, 1, 2)]
    late = datetime(9999, 1, 1, tzinfo=UTC)
    for number, time in enumerate([at[0], at[1], None, at[2], None]):
        made.land([replace(record, record_time=time) for record in insert(number)])
    shape = json.dumps([{"name": name, "type": of_type} for name, of_type in ITEMS.columns])
    made.land([LogRecord(int_to_lsn(99), None, "DDL", None, "dbo", "items", None, shape, ddl)])
    made.land([replace(record, record_time=late) for record in insert(50)])
    made.run()
    between = "all_changes_between('dbo_items', '2024-05-01 10:00:00', '2024-05-01 10:02:00')"
    assert sorted(row.id for row in rows(made, [between])[0]) == [1, 3]
    assert made.sql("select ddl_command from {schema}.ddl_history")[0][0] == ddl
    latencies = made.sql("select latency from {schema}.dm_cdc_log_scan_sessions")
    assert {row.latency for row in latencies} == {-(2**31)}
    mark = {"capture_instance": "dbo_items", "low_water_mark": int_to_lsn(10)}
    made.project.ok("run-operation", "cleanup_change_table", "--args", json.dumps(mark))
    assert {row.id for row in made.sql("select id from {schema}.dbo_items_ct")} == {4, 50}


@pytest.mark.more
def test_a_table_that_an_earlier_yaml_has_made(make_project: Callable[..., Project]) -> None:
    """By --empty, before its instance is entered: it has no rows, and gets the columns of today."""
    first = replace(ITEMS, columns=(("id", "int"), ("price", "decimal(12,2)")))
    made, columns = Capture(make_project, [first]), (("id", "int"), ("price", "decimal(12,4)"))
    made.run("--empty")
    now = replace(first, columns=(*columns, ("more", "string")))
    made.project.write("models/instances.yml", instance_yaml([now]))
    made.land(insert(0, '{"id": 1, "price": "1.2345", "more": "x"}'))
    made.run()
    (row,) = made.sql("select id, price, more from {schema}.dbo_items_ct")
    assert tuple(row) == (1, Decimal("1.2345"), "x")


@pytest.mark.more
def test_records_that_name_no_transaction(make_project: Callable[..., Project]) -> None:
    """Of one LSN: the error says which."""
    made = Capture(make_project, [ITEMS, NOTES])
    lsn, tables = int_to_lsn(1), ("items", "notes")
    made.land(LogRecord(lsn, None, "TRUNCATE", None, "dbo", table) for table in tables)
    result = made.project.dbt("run")
    assert not result.success
    assert f"lsn {lsn}, tran_id NULL: 2 commits have this lsn" in result.output


@pytest.mark.more
def test_columns_that_are_called_as_images_are(make_project: Callable[..., Project]) -> None:
    """A value that does not fit is said to be the column's."""
    names = ("image", "after_image", "before_image")
    columns = (("id", "int"), *((name, "varchar(3)") for name in names))
    made = Capture(make_project, [replace(ITEMS, columns=columns)])
    for number, name in enumerate(names):
        made.land(insert(number, json.dumps({"id": 1, name: "abcd"})))
        found = made.project.dbt("run")
        assert not found.success
        said = f"column {name}, lsn {int_to_lsn(2 * number + 1)}: the value abcd of the after image"
        assert f"{said} does not fit varchar(3)" in found.output
        made.amend(int_to_lsn(2 * number + 1), after_image='{"id": 1}')
        made.run()


def test_build_recovers_from_a_failed_scan(shop: Capture) -> None:
    """The data test that reports the failure keeps no later scan from running."""
    shop.land(insert(1, '{"id": "bad"}'))
    assert not shop.project.dbt("build").success
    before = published(shop)
    shop.amend(int_to_lsn(3), after_image='{"id": 1}')
    failed = shop.project.dbt("test", "--select", "dm_cdc_log_scan_sessions")
    assert "last_scan_succeeded" in failed.output
    shop.project.ok("build")
    assert published(shop) > before
    shop.project.ok("test", "--select", "dm_cdc_log_scan_sessions")
    assert len(shop.sql("select * from {schema}.now")) == 2


def test_what_is_deferred(shop: Capture) -> None:
    """A query in the schema of a pull request reads production's change table in the bounds
    that are published there; a consumer finds nothing captured, and says so."""
    project = shop.project
    project.ok("parse", "--write-json")
    shutil.copytree(project.folder / "target", project.folder / "state", dirs_exist_ok=True)
    shop.land(insert(2))
    shop.run("--exclude", "now")
    bookmark = "select last_lsn, open_lsn from {schema}.consumer_bookmarks"
    before = shop.sql(bookmark)
    profiles = project.folder / "profiles.yml"
    text = profiles.read_text(encoding="utf-8")
    schema = new_schema("pull_request")
    profiles.write_text(text.replace(project.schema, schema), encoding="utf-8")
    project.ok("run", "--select", "changes", "--defer", "--state", "state")
    assert len(shop.sql(f"select * from {schema}.changes")) == 3
    result = project.dbt("run", "--select", "now", "--defer", "--favor-state", "--state", "state")
    assert not result.success
    assert "CDC 22981: change table pull_request" in result.output
    assert shop.sql(bookmark) == before
    profiles.write_text(text, encoding="utf-8")
    shop.run()
    assert len(shop.sql("select * from {schema}.now")) == 3


@pytest.mark.more
def test_change_tables_of_another_schema_are_deferred(make_project: Callable[..., Project]) -> None:
    """The mapping is made in the schema of the pull request, as a child of a table that was edited;
    nothing is published there."""
    shop = Capture(make_project, [ITEMS], models=MODELS)
    project = shop.project
    model = "{{ config(schema='captured') }}{{ dbt_cdc.change_table() }}"
    project.write("models/dbo_items_ct.sql", model)
    shop.land(insert(0))
    shop.run()
    project.ok("parse", "--write-json")
    shutil.copytree(project.folder / "target", project.folder / "state", dirs_exist_ok=True)
    profiles = project.folder / "profiles.yml"
    text, schema = profiles.read_text(encoding="utf-8"), new_schema("pull_request")
    profiles.write_text(text.replace(project.schema, schema), encoding="utf-8")
    selected = ("--select", "lsn_time_mapping", "changes", "--defer", "--state", "state")
    project.ok("run", *selected)
    project.ok("run", *selected)
    assert len(shop.sql(f"select * from {schema}.changes")) == 1


@pytest.mark.more
def test_a_new_instance_beside_a_consumer(shop: Capture) -> None:
    """With several threads too, who asks for a new instance does so after its publication."""
    project, yaml = shop.project, json.loads(instance_yaml([NOTES]))
    project.write("models/notes.yml", json.dumps(yaml))
    project.write("models/dbo_notes_ct.sql", "{{ dbt_cdc.change_table() }}")
    project.write("models/notes.sql", MODELS["changes.sql"].replace("dbo_items", "dbo_notes"))
    image = json.dumps({"text": "x"})
    shop.land([replace(r, source_name="notes", after_image=image) for r in insert(3)])
    shop.run("--threads", "4")
    assert len(shop.sql("select * from {schema}.notes")) == 1
    for file in ("notes.yml", "dbo_notes_ct.sql", "notes.sql"):
        (project.folder / "models" / file).unlink()


def test_an_aliased_change_table_is_named(shop: Capture) -> None:
    file = shop.project.folder / "models" / "dbo_items_ct.sql"
    file.write_text("{{ config(alias='items') }}{{ dbt_cdc.change_table() }}", encoding="utf-8")
    result = shop.project.dbt("run", "--select", "dbo_items_ct")
    assert "by model 'dbo_items_ct' with the alias 'items'" in result.output
    assert "leave the alias out" in result.output


ORDERS = CaptureInstance(
    "public", "orders", "public_orders",
    (("order_id", "int"), ("status", "string"), ("amount", "decimal(12,2)")), ("order_id",),
)  # fmt: skip
UNIT_TEST = """  - name: {0}
    model: {0}
    overrides: {{macros: {{{2}}}}}
    given:
      - input: ref('{1}')
        format: sql
        rows: select 2 as `__$operation`, 7 as order_id
    expect:
      rows: [{{order_id: 7}}]
"""


def test_unit_tests_take_the_rows_that_are_given(make_project: Callable[..., Project]) -> None:
    """The example of docs/ci.md, each macro that stands after from, and values."""
    page = (PACKAGE / "docs" / "ci.md").read_text(encoding="utf-8")
    (model,) = re.findall(r"```sql\n-- models/paid_orders.sql\n(.*?)```", page, re.S)
    (tests,) = re.findall(r"```yaml\n(unit_tests:.*?)```", page, re.S)
    (override,) = re.findall(r"dbt_cdc.get_column_ordinal: 2", page)
    ends = "dbt_cdc.get_min_lsn('public_orders'), dbt_cdc.get_max_lsn()"
    queries = {
        "net": f"get_net_changes('public_orders', {ends})",
        "one": f"get_all_changes('public_orders', {ends}) }}}} where 2 = {{{{ "
        "dbt_cdc.get_column_ordinal('public_orders', 'status')",
        "feed": f"change_feed('public_orders', {ends})",
        "columns": f"get_column_changes('public_orders', {ends})",
        "every": "all_changes_between('public_orders')",
        "last": "net_changes_between('public_orders')",
        "tracked": "changetable_changes('public.orders', 1)",
        "versions": "changetable_version('public.orders', 7)",
    }
    side_table = "change_tracking_public_orders"
    for name in queries:
        table = side_table if name in ("tracked", "versions") else "public_orders_ct"
        tests += UNIT_TEST.format(name, table, override if name == "one" else "")
    tests += UNIT_TEST.format("untold", "public_orders_ct", "")
    queries["untold"] = queries["one"]
    models = {f"{k}.sql": f"select order_id from {{{{ dbt_cdc.{q} }}}}" for k, q in queries.items()}
    tracked = {"source_schema": "public", "source_name": "orders", "primary_key": ["order_id"]}
    columns = [{"name": "order_id", "data_type": "int"}]
    meta = {"config": {"meta": {"change_tracking": tracked}}, "columns": columns}
    models[f"{side_table}.sql"] = "{{ dbt_cdc.change_tracking_table() }}"
    models[f"{side_table}.yml"] = json.dumps({"models": [{"name": side_table, **meta}]})
    shop = Capture(
        make_project, [ORDERS], models={**models, "paid_orders.sql": model, "tests.yml": tests}
    )
    shop.run("--empty", "--select", "+public_orders_ct")
    result = shop.project.dbt("test", "--select", "test_type:unit")
    text = result.messages.pop("untold").message
    assert "CDC 22938: unit test untold calls a macro whose value depends" in text
    assert "overrides, e.g. {macros: {dbt_cdc.get_column_ordinal: 2}}" in text
    passed = {name for name, found in result.messages.items() if found.status == "pass"}
    assert passed == {"takes_paid_orders", *queries} - {"untold"}, result.output
