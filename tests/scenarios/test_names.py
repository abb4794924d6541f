"""Names of capture instances that SQL Server allows and Spark's catalogs do not, end to end."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import pytest
from asking import rows, values
from capturing import Capture, instance_yaml, make_wrappers
from harness import Project
from reference.capture import CaptureInstance
from reference.change_tracking import TrackedTable
from reference.log import UTC, LogRecord, int_to_lsn
from tracking import Tracking, TrackingWriter, tracked_models

pytestmark = [pytest.mark.slow, pytest.mark.more]

TIME = datetime(2024, 5, 1, tzinfo=UTC)
# Name -> source table.
NAMES = {
    "dbo_Order Details": "Order Details",
    "a.b 'c' \"d\" `e` \\f;%s -- g": "it's",
    "🚀 Größe": "🚀",
    "X" * 99 + "é": "long",
    "dbo_订单": "订单",
    "dbo_产品": "产品",
}


def objects(name: str) -> str:
    """What the names of its change table and functions have for its own."""
    plain = re.sub("[^a-z0-9_]", "_", name.lower())
    if name.isascii():
        return plain
    return f"{plain[:91]}_{hashlib.md5(name.lower().encode()).hexdigest()[:8]}"


def operation(capture: Capture, name: str, **arguments: object) -> str:
    text = json.dumps(arguments, ensure_ascii=False)
    return capture.project.ok("run-operation", name, "--args", text).output


def quoted(name: str) -> str:
    """As a string of Jinja."""
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


@pytest.fixture(scope="module")
def named(make_project: Callable[..., Project]) -> Capture:
    """Captured tables, made by what enable_table prints, each with a replica."""
    capture = Capture(make_project, [])
    for number, table in enumerate(NAMES.values()):
        lsn, end = int_to_lsn(10 * number + 1), int_to_lsn(10 * number + 2)
        change = LogRecord(lsn, f"t{number}", "INSERT", TIME, "dbo", table, None, '{"id": 1}')
        time = TIME + timedelta(minutes=number)
        capture.land([change, LogRecord(end, f"t{number}", "COMMIT", time)])
    capture.project.ok("run", "--select", "raw_log")
    for number, (name, table) in enumerate(NAMES.items()):
        given = {"source_schema": "dbo", "source_name": table, "index_columns": ["id"]}
        given |= {} if name == f"dbo_{table}" else {"capture_instance": name}
        for file, suffix in (("sql", "sql"), ("yaml", "yml")):
            arguments = json.dumps({**given, "file": file}, ensure_ascii=False)
            made = capture.project.ok("run-operation", "enable_table", "--args", arguments)
            capture.project.write(f"models/{objects(name)}_ct.{suffix}", made.printed)
        replica = f"select * from {{{{ dbt_cdc.new_changes({quoted(name)}) }}}}"
        capture.project.write(
            f"models/now_{number}.sql", "{{ config(materialized='replica') }} " + replica
        )
    capture.run()
    return capture


def test_they_are_captured_and_asked(named: Capture) -> None:
    found = named.sql("select capture_instance, source_name from {schema}.change_tables")
    assert dict(found) == NAMES
    high = named.sql("select max(high_end) from {schema}.validity_intervals")[0][0]
    calls = [f"get_net_changes({quoted(name)}, '{int_to_lsn(1)}', '{high}')" for name in NAMES]
    assert [[row["id"] for row in answer] for answer in rows(named, calls)] == [[1]] * len(NAMES)
    lows = values(named, [f"get_min_lsn({quoted(name)})" for name in NAMES])
    assert lows == [int_to_lsn(1)] * len(NAMES)
    for number, name in enumerate(NAMES):
        changes = named.call(f"fn_cdc_get_all_changes_{objects(name)}", lows[0], high, "all")
        assert [row["id"] for row in changes] == [1]
        literal = name.replace("\\", "\\\\").replace("'", "\\'")
        low = named.project.spark.sql(
            f"select {named.schema}.fn_cdc_get_min_lsn('{literal}')"
        ).collect()
        assert low[0][0] == lows[0]
        assert [row["id"] for row in named.sql(f"select * from {{schema}}.now_{number}")] == [1]
    with pytest.raises(Exception, match=r"CDC 313: to_lsn .* of capture instance a\.b 'c'"):
        named.call(f"fn_cdc_get_all_changes_{objects(list(NAMES)[1])}", lows[0], "0x" + "F" * 20,
                   "all")  # fmt: skip


def test_they_are_administered(named: Capture) -> None:
    assert all(name in operation(named, "help_change_data_capture") for name in NAMES)
    high = named.sql("select max(high_end) from {schema}.validity_intervals")[0][0]
    for name in NAMES:
        assert "id" in operation(named, "get_captured_columns", capture_instance=name.lower())
        operation(named, "cleanup_change_table", capture_instance=name, low_water_mark=high)
        shown = operation(named, "generate_wrapper_function", capture_instance=name, as_models=True)
        assert f"models/fn_all_changes_{objects(name)}.sql" in shown and quoted(name) in shown
    lows = {row[0] for row in named.sql("select low_end from {schema}.validity_intervals")}
    assert lows == {high}
    taken = named.project.dbt(
        "run-operation", "enable_table", "--args",
        '{source_schema: dbo, source_name: long, capture_instance: "dbo_Order-Details"}',
    )  # fmt: skip
    assert "CDC 22926: capture instance 'dbo_Order-Details' exists already, as" in taken.output


def test_they_are_disabled(named: Capture) -> None:
    for name, table in NAMES.items():
        arguments = {"source_schema": "dbo", "source_name": table, "capture_instance": name}
        shown = operation(named, "disable_table", **arguments, dry_run=False)
        assert f"removed: {name}" in shown
        assert f"models/{objects(name)}_ct.sql" in shown
    tables = [row.tableName for row in named.sql("show tables in {schema}")]
    assert not [table for table in tables if table.endswith("_ct")]
    functions = [row.function for row in named.sql("show user functions in {schema}")]
    assert not [name for name in functions if re.search(r"fn_\w+_changes_", name)]


def test_a_schema_in_mixed_case(make_project: Callable[..., Project]) -> None:
    """From the first run to the last object, as in one in lower case."""
    instance = CaptureInstance(
        "dbo", "orders", "dbo_orders", (("id", "int"), ("qty", "int")), ("id",)
    )
    tracked = TrackedTable("dbo", "orders", (("id", "int"), ("qty", "int")), ("id",), True)
    capture = Capture(
        partial(make_project, name="MyTeam"), [instance], fresh=True,
        models={
            **tracked_models([tracked]),
            "orders.sql": "{{ config(materialized='replica') }}"
            " select * from {{ dbt_cdc.new_changes('dbo_orders') }}",
            "past.sql": "{{ config(materialized='history') }}"
            " select * from {{ dbt_cdc.new_changes('dbo_orders') }}",
            "news.sql": "{{ config(materialized='incremental', incremental_strategy='append',"
            " file_format='delta') }} select * from {{ dbt_cdc.new_changes('dbo_orders') }}",
        },
    )  # fmt: skip
    assert capture.schema.startswith("MyTeam")
    for number in (1, 2):
        tran_id, lsns = f"t{number}", [int_to_lsn(10 * number + n) for n in range(3)]
        time = TIME + timedelta(minutes=number)
        row = json.dumps({"id": number, "qty": number})
        capture.land([
            LogRecord(lsns[0], tran_id, "BEGIN", time),
            LogRecord(lsns[1], tran_id, "INSERT", time, "dbo", "orders", None, row),
            LogRecord(lsns[2], tran_id, "COMMIT", time),
        ])  # fmt: skip
        capture.run()
        for table in ("orders", "past", "news", "dbo_orders_ct", "change_tracking_dbo_orders"):
            (count,) = capture.sql(f"select count(*) from {{schema}}.{table}")[0]
            assert count == number, table
    capture.run()
    operation(capture, "change_job", job_type="cleanup", threshold=100)
    operation(capture, "help_jobs")
    operation(capture, "help_change_data_capture")
    operation(capture, "cleanup", dry_run=False)
    operation(capture, "change_tracking_cleanup", dry_run=False)
    low = capture.sql("select low_end from {schema}.validity_intervals")[0][0]
    found = capture.call("fn_cdc_get_net_changes_dbo_orders", low, int_to_lsn(22), "all")
    assert sorted(row["id"] for row in found) == [1, 2]
    capture.project.ok("build")
    operation(capture, "reset_consumer", consumer="news", dry_run=False)
    capture.run()
    given = {"source_schema": "dbo", "source_name": "orders"}
    operation(capture, "disable_change_tracking", **given, dry_run=False)
    operation(capture, "disable_table", **given, capture_instance="dbo_orders", dry_run=False)
    operation(capture, "disable_db", schema_name=capture.schema, dry_run=False)
    tables = capture.sql("show tables in {schema}")
    left = {row.tableName for row in tables if not row.isTemporary}
    assert left == {"landed", "raw_log", "orders", "past", "news"}


COLUMNS = (
    "id", "next_operation", "First_Operation", "mask_1", "from_lsn", "TO_LSN", "row_filter_option",
    "start_time", "end_time", "commits", "mapping", "changes",
)  # fmt: skip


def test_columns_with_names_of_ours(make_project: Callable[..., Project]) -> None:
    """Those of steps inside a query, and of parameters of functions, which a column would hide."""
    columns = tuple((name, "int") for name in COLUMNS)
    instance = CaptureInstance("dbo", "routes", "dbo_routes", columns, ("id",))
    tracked = TrackedTable(
        "dbo", "stops", tuple((n, "int") for n in ("key_2", "key_1", "last_sync_version")),
        ("key_2", "key_1", "last_sync_version"), False,
    )  # fmt: skip
    target = Tracking(make_project, [tracked], [instance])
    writer = TrackingWriter(TIME)
    for number in (1, 2):
        writer.commit(
            ("INSERT", "routes", None, dict.fromkeys(COLUMNS, number)),
            ("INSERT", "stops", None, {name: number for name, _ in tracked.columns}),
        )
    row = dict.fromkeys(COLUMNS, 1)
    writer.commit(("UPDATE", "routes", row, {**row, "mask_1": 7}))
    target.land(writer.new())
    target.run()
    make_wrappers(target.project)
    window = [target.value(f"fn_cdc_get_m{end}") for end in ("in_lsn('dbo_routes')", "ax_lsn()")]
    for kind, option, expected in (
        ("all", "all", [(2, 1, 1), (2, 2, 2), (4, 1, 7)]),
        ("all", "all update old", [(2, 1, 1), (2, 2, 2), (3, 1, 1), (4, 1, 7)]),
        ("net", "all with mask", [(2, 1, 7), (2, 2, 2)]),
    ):
        name = f"get_{kind}_changes"
        (by_macro,) = rows(
            target, [f"{name}('dbo_routes', {', '.join(map(repr, window))}, '{option}')"]
        )
        by_function = target.call(f"fn_cdc_{name}_dbo_routes", *window, option)
        by_time = target.call(f"fn_{kind}_changes_dbo_routes", None, None, option)
        for found in (by_macro, by_function):
            assert sorted((r["__$operation"], r["id"], r["mask_1"]) for r in found) == expected
        assert sorted((r["id"], r["mask_1"]) for r in by_time) == sorted(e[1:] for e in expected)
    assert len(target.asked(tracked, 1)) == 1
    call = "select sys_change_version from {schema}.changetable_version_dbo_stops(1, 1, 1)"
    assert [r[0] for r in target.sql(call)] == [1]


def test_table_by_table(make_project: Callable[..., Project]) -> None:
    """What a run of one table notes for the others has the names as they are."""
    instances = [
        CaptureInstance("dbo", name, f"dbo_{name}", (("id", "int"),), ("id",))
        for name in ("O'Brien", "a\\b")
    ]
    target = Capture(make_project, [])
    for number, instance in enumerate(instances):
        end = int_to_lsn(2 * number + 2)
        target.land([
            LogRecord(int_to_lsn(2 * number + 1), f"t{number}", "INSERT", TIME, "dbo",
                      instance.source_name, None, '{"id": 1}'),
            LogRecord(end, f"t{number}", "COMMIT", TIME),
        ])  # fmt: skip
        name = objects(instance.capture_instance)
        target.project.write(f"models/{name}_ct.sql", "{{ dbt_cdc.change_table() }}")
        yaml = instance_yaml([instance]).replace(
            json.dumps(f"{instance.capture_instance.lower()}_ct"), f'"{name}_ct"'
        )
        target.project.write(f"models/{name}_ct.yml", yaml)
    target.run("--select", "+scan_transactions")
    for instance in instances:
        target.run("--select", f"{objects(instance.capture_instance)}_ct")
    assert "published up to" in target.run("--select", "lsn_time_mapping").output
    ends = target.sql("select high_end from {schema}.validity_intervals")
    assert [row[0] for row in ends] == [int_to_lsn(4)] * 2
