"""Publications behind commands that died or failed: what is told as published is there, once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from asking import rows
from capturing import Capture, instance_yaml
from harness import DbtResult, Project
from reference.capture import CaptureInstance
from reference.change_tracking import TrackedTable
from statements import dying_at
from tracking import Tracking, tracked_models
from transactions import Writer

pytestmark = pytest.mark.slow

ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("name", "string")), ("id",))
LINES = CaptureInstance("dbo", "lines", "dbo_lines", (("id", "int"), ("n", "int")), ("id",))
PLAIN = {"cdc_persistent_functions": False}
LINES_MODEL = "models/dbo_lines_ct.sql"


def operation(capturing: Capture, name: str, **arguments: Any) -> DbtResult:
    return capturing.project.dbt("run-operation", name, "--args", json.dumps(arguments))


def ids(capturing: Capture, table: str) -> list[int]:
    return sorted(row.id for row in capturing.sql(f"select id from {{schema}}.{table}"))


def high_ends(capturing: Capture) -> dict[str, str | None]:
    rows = capturing.sql("select capture_instance, high_end from {schema}.validity_intervals")
    return {row.capture_instance: row.high_end for row in rows}


def twice(capturing: Capture) -> list[str]:
    """The commits that lsn_time_mapping has more than once."""
    rows = capturing.sql(
        "select start_lsn from {schema}.lsn_time_mapping group by 1 having count(*) > 1"
    )
    return [row.start_lsn for row in rows]


def add_lines(capturing: Capture, capture_from: str) -> None:
    capturing.project.write("models/lines.yml", instance_yaml([LINES], capture_from=capture_from))
    capturing.project.write(LINES_MODEL, "{{ dbt_cdc.change_table() }}")


def take_lines_out(capturing: Capture) -> None:
    (capturing.project.folder / LINES_MODEL).unlink()
    (capturing.project.folder / "models/lines.yml").unlink()


@pytest.mark.more
def test_an_instance_whose_model_comes_back(make_project: Callable[..., Project]) -> None:
    """It ended when a run had no model of it, and would stand still for good: that is an error."""
    capturing, writer = Capture(make_project, [ITEMS], vars=PLAIN), Writer()
    add_lines(capturing, "log_start")
    capturing.land([*writer.insert("items", id=1, name="a"), *writer.insert("lines", id=1, n=1)])
    capturing.run()
    take_lines_out(capturing)
    capturing.land(writer.insert("lines", id=2, n=2))
    assert "'dbo_lines' has no model any more" in capturing.run().output
    add_lines(capturing, "log_start")
    capturing.land(writer.insert("lines", id=3, n=3))
    for _ in range(2):
        result = capturing.project.dbt("run")
        message = result.messages["scan_transactions"].message
        assert "CDC 22985: table dbo.lines is not captured any more" in message
        assert "capture instance 'dbo_lines' ended before 0x" in message
        capturing.land(writer.insert("lines", id=3, n=3))
    assert "capture_instance: dbo_lines, dry_run: false}'" in message
    arguments = {"source_schema": "dbo", "source_name": "lines", "capture_instance": "dbo_lines"}
    assert operation(capturing, "disable_table", dry_run=False, **arguments).success
    capturing.run()  # the window that stood open
    capturing.run()
    assert ids(capturing, "dbo_lines_ct") == [1, 2, 3, 3, 3]
    assert high_ends(capturing)["dbo_items"] == writer.last


@pytest.mark.more
def test_a_new_instance_in_a_quiet_log(make_project: Callable[..., Project]) -> None:
    """It has no validity interval before the log goes on; the run says so."""
    capturing, writer = Capture(make_project, [ITEMS], vars=PLAIN), Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run()
    add_lines(capturing, "log_start")
    said = f"nothing to capture after {writer.last}; dbo_lines: enabled with the next commit"
    assert said in capturing.run().output
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    assert high_ends(capturing)["dbo_items"] == writer.last
    assert f"nothing to capture after {writer.last}\n" in capturing.run().output


@pytest.mark.parametrize(
    ("capture_from", "stopped"),
    [("log_start", "lines"), pytest.param("now", "items", marks=pytest.mark.more)],
)
def test_an_instance_that_is_taken_out_before_it_is_published(
    make_project: Callable[..., Project], capture_from: str, stopped: str
) -> None:
    """Windows are published without it; when it comes back, it has all from its low end on. A bad
    record has `stopped` it, or another table, when it had captured a window already."""
    capturing, writer = Capture(make_project, [ITEMS], vars=PLAIN), Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.land(writer.insert("lines", id=1, n=1))
    capturing.run()
    add_lines(capturing, capture_from)
    capturing.land(writer.insert("lines", id=2, n=2))
    good = {"lines": {"id": 3, "n": 3}, "items": {"id": 3, "name": "c"}}[stopped]
    bad = writer.commit(stopped, after={**good, "id": "bad"})
    capturing.land(bad)
    capturing.land(writer.commit("lines", {"id": 2, "n": 2}, {"id": 2, "n": 22}))
    result = capturing.project.dbt("run")
    assert "CDC 22859" in result.messages[f"dbo_{stopped}_ct"].message
    take_lines_out(capturing)
    if stopped == "items":
        capturing.amend(bad[1].lsn, after_image=json.dumps(good))
    capturing.run()
    assert high_ends(capturing)["dbo_lines"] is None
    if stopped == "lines":
        capturing.amend(bad[1].lsn, after_image=json.dumps(good))
    add_lines(capturing, capture_from)
    capturing.land(writer.insert("lines", id=4, n=4))
    capturing.run()
    first = [1] if capture_from == "log_start" else []
    bad_row = [3] if stopped == "lines" else []
    assert ids(capturing, "dbo_lines_ct") == [*first, 2, 2, 2, *bad_row, 4]
    assert high_ends(capturing)["dbo_items"] == writer.last
    mapped = capturing.sql(
        "select `__$start_lsn` from {schema}.dbo_lines_ct except"
        " select start_lsn from {schema}.lsn_time_mapping"
    )
    assert not mapped and not twice(capturing)


@pytest.mark.more
def test_a_publication_that_dies_behind_a_truncate(make_project: Callable[..., Project]) -> None:
    """What it has raised of an instance that begins with the log is no edit of its YAML."""
    capturing, writer = Capture(make_project, [ITEMS], vars=PLAIN), Writer()
    capturing.land([*writer.insert("items", id=1, name="a"), *writer.insert("lines", id=1, n=1)])
    capturing.land([writer.record("TRUNCATE", "lines", tran_id=None)])
    truncated = writer.last
    capturing.land(writer.insert("lines", id=2, n=2))
    capturing.run()
    add_lines(capturing, "log_start")
    capturing.land(writer.insert("lines", id=3, n=3))
    with dying_at(lambda sql: "insert into" in sql and "lsn_time_mapping" in sql):
        assert not capturing.project.dbt("run").success
    capturing.run()
    assert high_ends(capturing)["dbo_lines"] == writer.last
    (low,) = capturing.sql(
        "select low_end from {schema}.validity_intervals where capture_instance = 'dbo_lines'"
    )
    assert low.low_end > truncated
    found = capturing.sql(
        f"select id from {{schema}}.dbo_lines_ct where `__$start_lsn` >= '{low.low_end}'"
    )
    assert sorted(row.id for row in found) == [2, 3]


@pytest.mark.more
def test_a_cleanup_before_an_instance_is_published(make_project: Callable[..., Project]) -> None:
    """It neither publishes the instance nor takes away what that is to capture."""
    capturing, writer = Capture(make_project, [ITEMS]), Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.land(writer.insert("lines", id=1, n=1))
    capturing.run()
    add_lines(capturing, "log_start")
    bad = writer.insert("lines", id=2, n="bad")
    capturing.land(bad)
    capturing.land(writer.insert("items", id=2, name="b"))
    assert not capturing.project.dbt("run").success
    assert operation(capturing, "change_job", job_type="cleanup", retention=1).success
    assert operation(capturing, "cleanup").success
    assert high_ends(capturing)["dbo_lines"] is None
    mark = {"capture_instance": "dbo_lines", "low_water_mark": high_ends(capturing)["dbo_items"]}
    assert "CDC 22957" in operation(capturing, "cleanup_change_table", **mark).output
    assert "0x00000000000000000000" in operation(capturing, "log_truncation_point").output
    capturing.amend(bad[1].lsn, after_image='{"id": 2, "n": 2}')
    capturing.run()
    assert ids(capturing, "dbo_lines_ct") == [1, 2]
    low = capturing.sql("select {schema}.fn_cdc_get_min_lsn('dbo_lines') as lsn")[0].lsn
    found = capturing.call("fn_cdc_get_all_changes_dbo_lines", low, writer.last, "all")
    assert sorted(row.id for row in found) == [1, 2]


@pytest.mark.more
def test_a_cleanup_before_a_tracked_table_is_published(
    make_project: Callable[..., Project],
) -> None:
    """Its functions are made with its publication."""
    items = TrackedTable("dbo", "items", (("id", "int"),), ("id",), False)
    lines = TrackedTable("dbo", "lines", (("id", "int"),), ("id",), False)
    tracking, writer = Tracking(make_project, [items]), Writer()
    tracking.land(writer.insert("items", id=1))
    tracking.run()
    for path, text in tracked_models([items, lines]).items():
        tracking.project.write(f"models/{path}", text)
    tracking.land(writer.insert("lines", id=1))
    with dying_at(lambda sql: "insert into" in sql and "scan_transactions" in sql):
        assert not tracking.project.dbt("run").success
    assert operation(tracking, "change_tracking_cleanup").success
    tracking.run()
    assert [row[-1] for row in tracking.asked(lines, 1)] == [1]


@pytest.mark.more
@pytest.mark.parametrize("how", ["dead, then cleanup", "view lost"])
def test_a_window_that_is_partly_published(make_project: Callable[..., Project], how: str) -> None:
    """Its transactions are entered once, also where the scan starts from its middle."""
    capturing, writer = Capture(make_project, [ITEMS, LINES], vars=PLAIN), Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    capturing.land(writer.insert("items", id=3, name="c"))
    last = writer.last
    capturing.land(writer.insert("uncaptured", id=1))
    if how == "view lost":
        capturing.run()
        capturing.sql("drop view {schema}.validity_intervals")
    else:
        with dying_at(lambda sql: "insert into" in sql and "lsn_time_mapping" in sql):
            assert not capturing.project.dbt("run").success
        assert operation(capturing, "change_job", job_type="cleanup", retention=1).success
        assert operation(capturing, "cleanup").success
    result = capturing.run()
    assert "1 transactions of 3 log records" in result.output
    assert not twice(capturing)
    assert high_ends(capturing) == {"dbo_items": last, "dbo_lines": last}
    assert ids(capturing, "dbo_items_ct")[-1:] == [3]
    capturing.land(writer.insert("items", id=4, name="d"))
    capturing.run()
    capturing.sql("drop view {schema}.validity_intervals")
    assert "nothing to capture" in capturing.run().output
    assert high_ends(capturing)["dbo_items"] == writer.last


@pytest.mark.more
def test_a_line_break_or_half_a_character(make_project: Callable[..., Project]) -> None:
    """They are bad records, not transactions whose changes nobody finds, or question marks."""
    columns = (("id", "int"), ("day", "date"), ("name", "string"))
    days = CaptureInstance("dbo", "days", "dbo_days", columns, ("id",))
    capturing, writer = Capture(make_project, [days], vars=PLAIN), Writer()
    records = writer.insert("days", id=1, day="2024-05-01\n")
    capturing.land(records)
    assert "CDC 22859" in capturing.project.dbt("run").messages["dbo_days_ct"].message
    half = '{"id": 1, "day": "2024-05-01", "name": "a\\ud800"}'
    capturing.amend(records[1].lsn, after_image=half)
    message = capturing.project.dbt("run").messages["dbo_days_ct"].message
    assert f"column name, lsn {records[1].lsn}: the value a? of the after image" in message
    assert "no half of a surrogate pair" in message
    capturing.amend(records[1].lsn, after_image=half.replace("ud800", "ud83d\\ude00"))
    capturing.run()
    records = writer.insert("days", id=2, day="2024-05-02")
    capturing.land(replace(record, lsn=record.lsn + "\n") for record in records)
    assert "CDC 22859" in capturing.project.dbt("run").output
    assert ids(capturing, "dbo_days_ct") == [1]


@pytest.mark.more
def test_disable_table_that_dies_is_taken_up_again(make_project: Callable[..., Project]) -> None:
    capturing, writer = Capture(make_project, [ITEMS, LINES], vars=PLAIN), Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run()
    arguments = {"source_schema": "dbo", "source_name": "items", "capture_instance": "dbo_items"}
    with dying_at(lambda sql: "delete from" in sql and "captured_columns" in sql):
        assert not operation(capturing, "disable_table", dry_run=False, **arguments).success
    assert operation(capturing, "disable_table", dry_run=False, **arguments).success
    assert list(high_ends(capturing)) == ["dbo_lines"]


@pytest.mark.more
@pytest.mark.parametrize("function", ["all_changes_between", "net_changes_between"])
def test_a_view_by_time_that_is_older_than_its_end(
    make_project: Callable[..., Project], function: str
) -> None:
    """It has the LSNs of when it was made: what was published since would be missing."""
    call = f"dbt_cdc.{function}('dbo_items', none, '2024-05-01 00:01:30')"
    view = f"{{{{ config(materialized='view') }}}} select * from {{{{ {call} }}}}"
    capturing, writer = Capture(make_project, [ITEMS], models={"asked.sql": view}), Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run()
    for _ in range(2):
        with pytest.raises(Exception, match=r"CDC 313: end_time .* is after 2024-05-01 00:01:00"):
            capturing.sql("select id from {schema}.asked")
        capturing.land(writer.insert("items", id=2, name="b"))
        capturing.run("--select", "+lsn_time_mapping")
    capturing.run()
    assert [row.id for row in capturing.sql("select id from {schema}.asked")] == [1]


@pytest.mark.more
def test_no_window_by_time_spans_a_truncate(make_project: Callable[..., Project]) -> None:
    """Nor where the view of what is published is made anew; NULL begins with what is left."""
    capturing, writer = Capture(make_project, [ITEMS]), Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run()
    writer.time += timedelta(minutes=5)
    emptied = writer.record("TRUNCATE", "items")
    added = writer.record("INSERT", "items", after_image={"id": 2, "name": "b"})
    capturing.land([emptied, added, writer.record("COMMIT")])
    for _ in range(2):
        capturing.run()
        with pytest.raises(
            Exception, match=r"CDC 313: start_time .* is before 2024-05-01 00:06:00"
        ):
            rows(capturing, ["all_changes_between('dbo_items', '2024-05-01 00:01:00')"])
        [found] = rows(capturing, ["all_changes_between('dbo_items')"])
        assert [row.id for row in found] == [2]
        capturing.sql("drop view {schema}.validity_intervals")


@pytest.mark.more
def test_masks_are_read_by_the_columns_as_entered(make_project: Callable[..., Project]) -> None:
    calls = {
        "ordinal": "get_column_ordinal('dbo_items', 'name')",
        "changed": "has_column_changed('dbo_items', 'name', \"'0x02'\")",
        "names": "changed_columns('dbo_items', \"'0x02'\")",
    }
    models = {
        f"{name}.sql": f"select {{{{ dbt_cdc.{call} }}}} as x" for name, call in calls.items()
    }
    capturing, writer = Capture(make_project, [ITEMS], models=models), Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run()
    assert capturing.sql("select x from {schema}.ordinal")[0].x == 2
    swapped = replace(ITEMS, columns=ITEMS.columns[::-1])
    capturing.project.write("models/instances.yml", instance_yaml([swapped]))
    result = capturing.project.dbt("run", "--select", *calls)
    for name in calls:
        assert "CDC 22930" in result.messages[name].message
