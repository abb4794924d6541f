"""Enabling and disabling a schema: sp_cdc_enable_db and sp_cdc_disable_db."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from capturing import Capture
from examples import Examples
from harness import DbtResult, Project
from reference.capture import CaptureInstance
from reference.change_tracking import TrackedTable
from reference.log import LogRecord, int_to_lsn
from statements import around_statements, dying_at, rendering
from tracking import tracked_models

pytestmark = pytest.mark.slow

ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"),), ("id",))
TRACKED = TrackedTable("dbo", "items", (("id", "int"),), ("id",), track_columns_updated=False)
REPLICA = (
    "{{ config(materialized='replica') }}\nselect * from {{ dbt_cdc.new_changes('dbo_items') }}"
)
LOG = [
    LogRecord(int_to_lsn(1), "7", "INSERT", None, "dbo", "items", None, '{"id": 1}'),
    LogRecord(int_to_lsn(2), "7", "COMMIT"),
]


def operation(capture: Capture, name: str, **arguments: Any) -> DbtResult:
    return capture.project.dbt("run-operation", name, "--args", json.dumps(arguments))


def objects(capture: Capture) -> set[str]:
    """What is in the schema: tables, views and functions."""
    tables = capture.sql("show tables in {schema}")
    functions = capture.sql("show user functions in {schema}")
    names = {row.tableName for row in tables if not row.isTemporary}
    places = [row.function.split(".") for row in functions]
    return names | {place[-1] for place in places if capture.schema in place}


@pytest.fixture
def empty(make_project: Callable[..., Project]) -> Capture:
    """A project that has never run."""
    capture = Capture(
        make_project, [ITEMS], fresh=True,
        models={"items.sql": REPLICA, **tracked_models([TRACKED])},
    )  # fmt: skip
    capture.land(LOG)
    return capture


@pytest.mark.more
def test_the_example_of_the_reference(empty: Capture) -> None:
    Examples.of_project(empty.project, "#enable_db").check()


def test_enable_db(empty: Capture) -> None:
    """Before it, what needs CDC is refused and makes nothing; after it, the first run captures."""
    mark = {"capture_instance": "dbo_items", "low_water_mark": None}
    for name, arguments in {
        "cleanup": {}, "cleanup_change_table": mark, "disable_db": {"schema_name": empty.schema}
    }.items():  # fmt: skip
        result = operation(empty, name, **arguments)
        text = f"CDC 22910: schema {empty.schema} is not enabled for change data capture"
        assert not result.success and text in result.output
    assert operation(empty, "enable_db", dry_run=True).success
    assert objects(empty) == {"landed"}

    empty.sql("create table {schema}.captured_columns (a int) using delta")
    empty.sql("create view {schema}.ddl_history as select 1 as a")
    for result in (operation(empty, "enable_db"), empty.project.dbt("run")):
        assert not result.success
        assert "that are not its own: captured_columns, ddl_history: rename them" in result.output
        assert not objects(empty) & {"change_tables", "scan_transactions", "dbo_items_ct"}
    empty.sql("drop table {schema}.captured_columns")
    empty.sql("drop view {schema}.ddl_history")

    result = operation(empty, "enable_db")
    assert f"change data capture is enabled in schema {empty.schema}" in result.output
    assert [tuple(row) for row in empty.sql("select * from {schema}.is_cdc_enabled")] == [
        (empty.schema, True)
    ]
    result = operation(empty, "enable_db")
    assert result.success
    assert f"CDC 22905: schema {empty.schema} is enabled for change data" in result.output
    started = f"Job 'cdc.{empty.schema}_capture' started successfully: it is this run"
    with rendering() as writes:
        first = empty.run().output
    assert not writes
    assert started in first
    assert f"Job 'cdc.{empty.schema}_cleanup' is to be scheduled daily" in first
    assert started not in empty.run().output
    assert operation(empty, "dbt_cdc._note_agent", note="runs").success  # the first to ask for jobs
    assert "4320" in operation(empty, "help_jobs").output
    assert "started successfully: the agent" in operation(empty, "start_job").output
    assert len(empty.changes(ITEMS)) == 1
    assert "CDC 22905" in operation(empty, "enable_db").output

    empty.sql("create table {schema}.mine_ct (a int) using delta")
    assert operation(empty, "dbt_cdc._note_agent", note="ends").success
    result = operation(empty, "disable_db", schema_name=empty.schema, dry_run=False)
    assert result.success, result.output
    assert objects(empty) == {"landed", "raw_log", "items", "mine_ct"}


@pytest.mark.more
def test_disable_db_removes_everything_that_is_ours(empty: Capture) -> None:
    """However often it is killed; what is not ours stays, and a run begins anew."""
    empty.run()
    empty.sql("create table {schema}.mine_ct (a int) using delta")
    empty.sql("create function {schema}.fn_cdc_mine() returns int return 1")
    operation(empty, "change_job", pollinginterval=9)
    before = objects(empty)
    for name in (None, "other", f"{empty.schema}_"):
        result = operation(empty, "disable_db", schema_name=name, dry_run=False)
        text = f"CDC 22963: schema_name is '{name}', and the target's is '{empty.schema}'"
        assert not result.success and text in result.output
    result = operation(empty, "disable_db", schema_name=empty.schema)
    assert f"would drop table {empty.schema}.dbo_items_ct" in result.output
    assert "a dry run: nothing was removed" in result.output
    assert objects(empty) == before

    arguments = {"schema_name": empty.schema, "dry_run": False}
    for note in ("runs", "goes on"):
        assert operation(empty, "dbt_cdc._note_agent", note=note).success
        refused = operation(empty, "disable_db", **arguments)
        assert not refused.success and "CDC 22909: an agent runs (heard of at " in refused.output
    operation(empty, "dbt_cdc._note_agent", note="ends")
    for part in ("drop function", "drop view", "drop table", ".cdc_jobs", "drop table"):
        with dying_at(lambda sql, part=part: part in sql):
            assert not operation(empty, "disable_db", **arguments).success
    with around_statements(lambda sql, go: go(sql.replace("if exists ", "no_such_", 1))):
        result = operation(empty, "disable_db", **arguments)
    assert not result.success
    assert "CDC 22909: not everything could be dropped; still there: " in result.output
    assert "\tat " not in result.output
    assert "change_tables" in objects(empty)
    empty.sql("drop table {schema}.scan_progress")
    empty.sql("create view {schema}.scan_progress as select 1 as a")
    result = operation(empty, "disable_db", **arguments)
    assert result.success, result.output
    theirs = {"landed", "raw_log", "items", "mine_ct", "fn_cdc_mine", "scan_progress"}
    assert operation(empty, "dbt_cdc._note_agent", note="goes on").success
    assert objects(empty) == theirs
    assert "CDC 22910" in operation(empty, "disable_db", **arguments).output
    empty.sql("drop view {schema}.scan_progress")

    result = empty.project.dbt("run")
    assert "CDC 2714" in result.messages["items"].message
    empty.run("--full-refresh", "--select", "items")
    assert len(empty.changes(ITEMS)) == 1
    assert [row.id for row in empty.sql("select id from {schema}.items")] == [1]
