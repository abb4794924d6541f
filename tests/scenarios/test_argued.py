"""Runs that others have overtaken, edits before a first publication, sessions in another time zone:
nothing is taken back, doubled or ignored in silence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from capturing import Capture, instance_yaml, make_wrappers
from consuming import CONSUMERS, consumed, expected
from harness import Project
from pyspark.sql import SparkSession
from reference.capture import CaptureInstance
from reference.change_tracking import TrackedTable
from statements import around_statements, dying_at, is_write, recorded, replay, without_comment
from steps import PLAIN
from story import ITEMS, Story
from tracking import Tracking
from transactions import Writer

pytestmark = pytest.mark.slow

LINES = CaptureInstance("dbo", "lines", "dbo_lines", (("id", "int"), ("n", "int")), ("id",))
TRACKED = TrackedTable("dbo", "items", (("id", "int"),), ("id",), False)


def writes_with(statements: list[str], text: str) -> list[str]:
    """The writes of a run that say so."""
    return [sql for sql in map(without_comment, statements) if is_write(sql) and text in sql]


@contextmanager
def before_each(text: str, meanwhile: Callable[[str], object]) -> Iterator[None]:
    """Another run does something before each write that says so."""

    def execute(sql: str, go: Callable[[], Any]) -> Any:
        if is_write(sql) and text in sql:
            meanwhile(without_comment(sql))
        return go()

    with around_statements(execute):
        yield


@contextmanager
def time_zone(spark: SparkSession, zone: str) -> Iterator[None]:
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


# Consumers


@pytest.fixture(scope="module")
def consuming(make_project: Callable[..., Project]) -> Story:
    """A replica and a history that have read two windows."""
    models = {name: CONSUMERS[name] for name in ("now.sql", "then.sql")}
    story = Story(make_project, vars=PLAIN, models=models)
    for _ in range(2):
        story.land()
        story.capture.run()
    return story


def check_consumers(story: Story) -> None:
    """They have what is published, each version once, and the bookmarks say so."""
    end = story.published()
    for name in ("now", "then"):
        rows = [row.asDict() for row in story.capture.sql(f"select * from {{schema}}.{name}")]
        assert consumed(name, rows) == expected(name, story, end), name
    marks = story.capture.sql("select last_lsn, open_lsn from {schema}.consumer_bookmarks")
    assert {tuple(mark) for mark in marks} == {(end, None)}


@pytest.mark.more
def test_another_run_has_merged_the_same_changes(consuming: Story) -> None:
    """Both have opened the same bookmarks, and this one comes second: no version twice."""
    consuming.land()
    with before_each("merge into", consuming.capture.project.spark.sql):
        consuming.capture.run()
    check_consumers(consuming)


@pytest.mark.more
def test_a_consumer_that_others_have_overtaken(consuming: Story) -> None:
    """What it writes late is older than what is there: its MERGE, its bookmark, or both."""
    consuming.land()
    with recorded() as statements:
        consuming.capture.run()
    slow = [*writes_with(statements, "merge into"), *writes_with(statements, "consumer_bookmarks")]
    consuming.land()
    consuming.capture.run()
    check_consumers(consuming)
    for write in (*slow, *writes_with(statements, "consumer_bookmarks"), *slow):
        replay(consuming.capture.project.spark, [write])
        check_consumers(consuming)
    consuming.land()
    consuming.capture.run()
    check_consumers(consuming)


class Interrupted(Exception):
    """A run that dies, or stands still, before a write."""


@pytest.mark.more
@pytest.mark.parametrize("dies", [False, True], ids=["goes on", "dies"])
def test_a_slow_merge_between_those_of_a_later_run(
    make_project: Callable[..., Project], dies: bool
) -> None:
    """One run has asked whether its bookmark is open, and its MERGE takes long. Meanwhile another
    one opens it further, and dies or goes on: in its window what the first one brings is undone."""
    models = {name: CONSUMERS[name] for name in ("now.sql", "then.sql")}
    target, writer = Capture(make_project, [ITEMS], vars=PLAIN, models=models), Writer()
    one, other = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
    target.land([*writer.insert("items", **one), *writer.insert("items", id=2, name="a")])
    target.run()
    slow: list[str] = []

    def stop(sql: str) -> None:
        slow.append(sql[sql.index("merge into") : sql.index("end if")].rstrip("; \n"))
        raise Interrupted

    target.land([*writer.commit("items", one, other), *writer.insert("items", id=3, name="a")])
    with before_each("merge into", stop):
        target.project.dbt("run")
    assert len(slow) == 2
    target.land(
        [*writer.commit("items", other, one), *writer.commit("items", {"id": 3, "name": "a"})]
    )

    def goes_on(sql: str) -> None:
        (ours,) = [merge for merge in slow if merge.split()[2] in sql]
        target.project.spark.sql(ours)
        if dies:
            raise Interrupted

    with before_each("merge into", goes_on):
        result = target.project.dbt("run")
        assert result.success is not dies, result.output
    target.run()
    assert [tuple(row) for row in target.sql("select * from {schema}.now order by id")] == [
        (1, "a"),
        (2, "a"),
    ]
    versions = target.sql(
        "select id, name, valid_to_lsn is null as is_last from {schema}.then order by id, 3, 2"
    )
    assert [tuple(row) for row in versions] == [
        (1, "a", False), (1, "b", False), (1, "a", True), (2, "a", True), (3, "a", False),
    ]  # fmt: skip


@pytest.mark.more
def test_a_first_run_of_consumers_that_others_have_overtaken(
    make_project: Callable[..., Project],
) -> None:
    """The tables that it makes late have less than what is there."""
    models = {name: CONSUMERS[name] for name in ("now.sql", "then.sql")}
    story = Story(make_project, vars=PLAIN, models=models)
    story.land()
    with recorded() as statements:
        story.capture.run()
    story.land()
    story.capture.run()
    slow = writes_with(statements, "create or replace table")
    assert len(slow) == 2
    replay(story.capture.project.spark, slow)
    check_consumers(story)


# What a slow run writes back


@pytest.mark.more
def test_a_slow_run_writes_no_older_state(make_project: Callable[..., Project]) -> None:
    """Types of columns, and whether a table is dropped: of a later window they stay."""
    capturing, writer = Capture(make_project, [LINES], vars=PLAIN), Writer()

    def alter(kind: str | None) -> list[str]:
        """A run over the table's DDL, None: it is dropped; gives the writes."""
        columns = [{"name": "id", "type": "int"}, {"name": "n", "type": kind}]
        image = json.dumps(columns) if kind else None
        command = "alter table lines alter column n ..." if kind else "drop table lines"
        capturing.land([writer.record(
            "DDL", "lines", tran_id=None, after_image=image, ddl_command=command)])  # fmt: skip
        with recorded() as statements:
            capturing.run()
        return statements

    def state() -> list[Any]:
        return capturing.sql(
            "select column_type, declared_type, source_type, has_drop_pending"
            " from {schema}.captured_columns join {schema}.change_tables using (object_id)"
            " order by column_ordinal"
        )

    capturing.land(writer.insert("lines", id=1, n=1))
    capturing.run()
    alter("int")
    slow = writes_with(alter("bigint"), "captured_columns")
    alter("decimal(20,0)")
    before = state()
    assert slow and before[1].column_type == "decimal(20,0)"
    replay(capturing.project.spark, slow)
    assert state() == before
    slow = writes_with(alter(None), "has_drop_pending")
    assert slow and state()[0].has_drop_pending
    alter("decimal(20,0)")
    before = state()
    assert not before[0].has_drop_pending
    replay(capturing.project.spark, slow)
    assert state() == before


def test_a_first_run_that_others_have_overtaken(make_project: Callable[..., Project]) -> None:
    """It knows of no view, and makes it after another first run and the one behind that."""
    story = Story(make_project, vars=PLAIN)
    story.land()
    with recorded() as statements:
        story.capture.run()
    story.land()
    story.capture.run()
    end = story.published()
    slow = [s for s in writes_with(statements, "view") if "as intervals (" in s]
    assert len(slow) == 2  # announced, and published
    for write in slow:
        replay(story.capture.project.spark, [write])
        assert story.published() == end
    story.check()


@pytest.mark.more
def test_a_first_run_with_tracked_tables_that_others_have_overtaken(
    make_project: Callable[..., Project],
) -> None:
    tracking, writer = Tracking(make_project, [TRACKED]), Writer()
    tracking.land(writer.insert("items", id=1))
    with recorded() as statements:
        tracking.run()
    tracking.land(writer.insert("items", id=2))
    tracking.run()
    view = "select * from {schema}.change_tracking_versions"
    (before,) = tracking.sql(view)
    slow = [s for s in writes_with(statements, "view") if "as min_valid_versions" in s]
    assert len(slow) == 2
    for write in slow:
        replay(tracking.project.spark, [write])
        assert tracking.sql(view) == [before]


@pytest.mark.more
@pytest.mark.parametrize(
    "before",
    [
        "as intervals (",
        pytest.param(".lsn_time_mapping\n", marks=pytest.mark.soak),
        pytest.param("set end_lsn", marks=pytest.mark.soak),
    ],
)
def test_an_older_checkout_beside_a_newer_one(
    make_project: Callable[..., Project], before: str
) -> None:
    """The newer one publishes an instance, or the next window with it, while the older one, which
    has no model of it, is on its way with the same window: what is published stays."""
    capturing, writer = Capture(make_project, [LINES], vars=PLAIN), Writer()
    project, schema = capturing.project, capturing.project.furnished

    def check_out_newer() -> None:
        project.write("models/items.yml", instance_yaml([ITEMS]))
        project.write("models/dbo_items_ct.sql", "{{ dbt_cdc.change_table() }}")

    def ends() -> dict[str, Any]:
        rows = capturing.sql("select capture_instance, high_end from {schema}.validity_intervals")
        return {row.capture_instance: row.high_end for row in rows}

    if before == "set end_lsn":
        check_out_newer()
    capturing.land(writer.insert("lines", id=1, n=1))
    capturing.run()
    capturing.land([*writer.insert("lines", id=2, n=2), *writer.insert("items", id=2, name="b")])
    saved = schema.save()
    check_out_newer()
    with recorded() as statements:
        capturing.run()
    newer = [sql for sql in map(without_comment, statements) if is_write(sql)]
    published = ends()
    assert published == {"dbo_lines": writer.last, "dbo_items": writer.last}
    schema.restore(saved)
    (project.folder / "models/items.yml").unlink()
    (project.folder / "models/dbo_items_ct.sql").unlink()

    def publish_newer(sql: str) -> None:
        while newer:
            project.spark.sql(newer.pop(0))
        assert ends() == published

    with before_each(before, publish_newer):
        capturing.run()
    assert not newer and ends() == published
    capturing.land(writer.insert("items", id=3, name="c"))
    check_out_newer()
    capturing.run()
    rows = capturing.sql("select id from {schema}.dbo_items_ct order by id")
    assert [row.id for row in rows] == [2, 3]
    assert ends() == {"dbo_lines": writer.last, "dbo_items": writer.last}


# Edits before a first publication


@pytest.mark.more
@pytest.mark.parametrize("is_late", [pytest.param(False, marks=pytest.mark.soak), True])
def test_the_advice_of_a_first_bad_record(
    make_project: Callable[..., Project], is_late: bool
) -> None:
    """Another type of a column from which nothing was captured is no edit of what is fixed."""
    first = [LINES] if is_late else [ITEMS]
    capturing, writer = Capture(make_project, first), Writer()
    wrong = replace(ITEMS, columns=(("id", "int"), ("name", "int")))
    items = "models/items.yml" if is_late else "models/instances.yml"
    if is_late:
        capturing.land(writer.insert("lines", id=1, n=1))
        capturing.run()
        capturing.project.write("models/dbo_items_ct.sql", "{{ dbt_cdc.change_table() }}")
    capturing.project.write(items, instance_yaml([wrong]))
    capturing.land(writer.insert("items", id=1, name="a"))
    failed = capturing.project.dbt("run").messages["dbo_items_ct"].message
    assert "CDC 22859" in failed and "which type it has by now (data_type)" in failed
    capturing.project.write(items, instance_yaml([ITEMS]))
    capturing.run()
    assert [row.values for row in capturing.changes(ITEMS)] == [(1, "a")]
    low = capturing.sql("select {schema}.fn_cdc_get_min_lsn('dbo_items') as lsn")[0].lsn
    (row,) = capturing.call("fn_cdc_get_all_changes_dbo_items", low, writer.last, "all")
    assert row.name == "a"
    types = "select column_type, declared_type from {schema}.captured_columns"
    assert ("int", "int") not in capturing.sql(f"{types} where column_name = 'name'")
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    assert len(capturing.changes(ITEMS)) == 2
    capturing.project.write(items, instance_yaml([wrong]))
    capturing.land(writer.insert("items", id=3, name="c"))
    assert "CDC 22930" in capturing.project.dbt("run").output


@pytest.mark.more
def test_an_edit_of_what_has_captured_and_is_not_published(
    make_project: Callable[..., Project],
) -> None:
    """It is refused, and the error says how to begin anew."""
    capturing, writer = Capture(make_project, [ITEMS, LINES]), Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    bad = writer.insert("lines", id=1, n="bad")
    capturing.land(bad)
    assert "CDC 22859" in capturing.project.dbt("run").messages["dbo_lines_ct"].message
    edited = replace(ITEMS, columns=(("id", "bigint"), ("name", "binary")))
    capturing.project.write("models/instances.yml", instance_yaml([edited, LINES]))
    capturing.amend(bad[1].lsn, after_image='{"id": 1, "n": 1}')
    output = capturing.project.dbt("run").output
    assert "CDC 22930" in output and "disable_table" in output
    edited = replace(ITEMS, columns=(("id", "int"), ("name", "varchar(9)")))
    capturing.project.write("models/instances.yml", instance_yaml([edited, LINES]))
    arguments = {"source_schema": "dbo", "source_name": "items", "capture_instance": "dbo_items"}
    capturing.project.ok(
        "run-operation", "disable_table", "--args", json.dumps({**arguments, "dry_run": False})
    )
    capturing.run()
    assert [row.values for row in capturing.changes(edited)] == [(1, "a")]
    assert len(capturing.changes(LINES)) == 1


@pytest.mark.more
@pytest.mark.parametrize("table", ["captured_columns", "index_columns"])
def test_an_edit_behind_a_run_that_died_while_it_entered_an_instance(
    make_project: Callable[..., Project], table: str
) -> None:
    """What it had entered of the YAML of then is not left beside what is captured."""
    capturing, writer = Capture(make_project, [ITEMS]), Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    with dying_at(lambda sql: "insert into" in sql and f"{table} by name" in sql):
        assert not capturing.project.dbt("run").success
    edited = replace(ITEMS, columns=(("name", "string"), ("id", "bigint")), index_columns=("name",))
    capturing.project.write("models/instances.yml", instance_yaml([edited]))
    capturing.run()
    names = capturing.sql(
        "select column_name, column_type from {schema}.captured_columns order by column_ordinal"
    )
    assert [tuple(row) for row in names] == [("name", "string"), ("id", "bigint")]
    key = capturing.sql("select column_name, column_id from {schema}.index_columns")
    assert [tuple(row) for row in key] == [("name", 1)]
    assert capturing.sql("select {schema}.fn_cdc_get_column_ordinal('dbo_items', 'id')")[0][0] == 2
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    assert [row.values for row in capturing.changes(edited)] == [("a", 1), ("b", 2)]


@pytest.mark.more
@pytest.mark.parametrize(("given", "edited"), [("now", "log_start"), ("log_start", "now")])
def test_capture_from_is_edited(
    make_project: Callable[..., Project], given: str, edited: str
) -> None:
    """Before the instance is published: refused where it would lack what it is to have, and said
    where it has more."""
    capturing, writer = Capture(make_project, [LINES], vars=PLAIN), Writer()
    for number in (1, 2):
        capturing.land(writer.insert("items", id=number, name="early"))
        capturing.land(writer.insert("lines", id=number, n=1))
        capturing.run()
    capturing.project.write("models/dbo_items_ct.sql", "{{ dbt_cdc.change_table() }}")

    def give(capture_from: str) -> None:
        yaml = instance_yaml([ITEMS], capture_from=capture_from)
        capturing.project.write("models/items.yml", yaml)

    give(given)
    bad = writer.insert("items", id="bad", name="late")
    capturing.land(bad)
    assert "CDC 22859" in capturing.project.dbt("run").messages["dbo_items_ct"].message
    capturing.amend(bad[1].lsn, after_image='{"id": 3, "name": "late"}')
    give(edited)
    result = capturing.project.dbt("run")
    low = "select low_end from {schema}.validity_intervals where capture_instance = 'dbo_items'"
    if edited == "now":
        assert result.success and "dbo_items begins at the log's start" in result.output
    else:
        assert "CDC 22963" in result.output and "disable_table" in result.output
        arguments = {"source_schema": "dbo", "source_name": "items"}
        arguments |= {"capture_instance": "dbo_items", "dry_run": False}
        capturing.project.ok("run-operation", "disable_table", "--args", json.dumps(arguments))
        capturing.run()
    assert [row.values[0] for row in capturing.changes(ITEMS)] == [1, 2, 3]
    assert capturing.sql(low)[0].low_end == capturing.sql(
        "select min(lsn) as lsn from {schema}.landed")[0].lsn  # fmt: skip
    assert "begins at" not in capturing.run().output


# Times


@pytest.mark.more
@pytest.mark.parametrize(
    "zone", ["America/New_York", pytest.param("+05:30", marks=pytest.mark.soak)]
)
def test_times_in_a_session_of_another_zone(
    make_project: Callable[..., Project], zone: str
) -> None:
    """Macros, which take and give UTC, are refused; functions take and give the same instants."""
    capturing, writer = Capture(make_project, [LINES]), Writer()
    for number in range(4):
        capturing.land(writer.insert("lines", id=number, n=number))
    capturing.run()
    make_wrappers(capturing.project)
    spark, start, end = capturing.project.spark, "2024-05-01 00:01:00", "2024-05-01 00:03:00"

    def ask() -> list[Any]:
        times = f"timestamp'{start}Z', timestamp'{end}Z'"
        found = [
            sorted(
                row.id for row in capturing.sql(f"select id from {{schema}}.{function}({times})")
            )
            for function in ("fn_all_changes_dbo_lines", "fn_net_changes_dbo_lines")
        ]
        (row,) = capturing.sql(
            "select {schema}.fn_cdc_map_time_to_lsn('largest less than or equal',"
            f" timestamp'{end}Z') as lsn, unix_seconds({{schema}}.fn_cdc_map_lsn_to_time("
            f"'{writer.last}')) as seconds"
        )
        return [*found, tuple(row)]

    before = ask()
    assert before[:2] == [[1, 2], [1, 2]] and None not in before[2]
    with time_zone(spark, zone):
        assert ask() == before
        for call in (
            f"all_changes_between('dbo_lines', '{start}', '{end}')",
            f"net_changes_between('dbo_lines', '{start}')",
            f"map_time_to_lsn('largest less than', '{end}')",
            f"map_lsn_to_time('{writer.last}')",
        ):
            asked = "select '{{ dbt_cdc." + call.replace("'", '"') + " | string | length }}'"
            capturing.project.write("analyses/asked.sql", asked)
            result = capturing.project.dbt("compile", "--select", "asked")
            assert f"CDC 22859: the session's time zone is {zone}" in result.output, call
