"""Consumers that are edited, or overtaken by another run, between a write and the end of its run:
each change once, or an error whose way on works."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from capturing import Capture, instance_yaml
from harness import Project
from reference.capture import CaptureInstance
from scenarios.test_unclean_consumers import (
    FEED,
    ITEMS,
    LINES,
    PLAIN,
    REPLICA,
    SECOND,
    SEEN,
    begun,
    ids,
    operation,
)
from statements import around_statements, dying_at
from transactions import Writer

pytestmark = [pytest.mark.slow, pytest.mark.more]


@pytest.fixture
def capturing(make_project: Callable[..., Project]) -> Capture:
    """A project that captures two tables and has no consumers yet."""
    return Capture(make_project, [ITEMS, LINES], vars=PLAIN)


def is_moving(sql: str) -> bool:
    """The end of a run: its bookmarks move."""
    return "consumer_bookmarks" in sql and "consumed_at =" in sql


def with_second_instance(capturing: Capture) -> None:
    capturing.project.write("models/instances.yml", instance_yaml([ITEMS, LINES, SECOND]))
    capturing.project.write("models/dbo_items_2_ct.sql", "{{ dbt_cdc.change_table() }}")


@pytest.mark.parametrize("kind", ["replica", "history"])
def test_a_table_that_was_made_while_others_went_on(capturing: Capture, kind: str) -> None:
    """A full refresh ends behind a run that has opened its bookmark further and failed."""
    model = REPLICA.replace("'replica'", f"'{kind}'")
    writer, project = begun(capturing, items=model), capturing.project
    capturing.land(writer.insert("items", id=2, name="b"))
    with dying_at(lambda sql: "create or replace table" in sql and ".items" in sql):
        assert not project.dbt("run", "--full-refresh").success
    assert ids(capturing, "items") == [1, 2]
    capturing.land(writer.insert("items", id=3, name="c"))
    capturing.run("--select", "+lsn_time_mapping")
    capturing.sql(f"update {{schema}}.consumer_bookmarks set open_lsn = '{writer.last}'")
    capturing.run()
    assert ids(capturing, "items") == [1, 2, 3]


def test_a_hand_over_that_is_taken_back(capturing: Capture) -> None:
    """Its run has written and did not end: a row that has gone since is not left behind."""
    writer, project = begun(capturing, items=REPLICA, feed=FEED), capturing.project
    with_second_instance(capturing)
    capturing.land(writer.insert("lines", id=1, n=1))
    capturing.run()
    models = {"items": REPLICA, "feed": FEED}
    for name, model in models.items():
        project.write(f"models/{name}.sql", model.replace("dbo_items", "dbo_items_2"))
    one = {"id": 1, "name": "a"}
    capturing.land(writer.commit("items", one, one | {"name": "b"}))
    capturing.land(writer.insert("items", id=5, name="e"))
    with dying_at(is_moving):
        assert not project.dbt("run").success
    assert ids(capturing, "items") == [1, 5]
    for name, model in models.items():
        project.write(f"models/{name}.sql", model)
    capturing.land(writer.commit("items", {"id": 5, "name": "e"}, None))
    capturing.land(writer.commit("items", one | {"name": "b"}, one))
    capturing.run()
    assert [tuple(row) for row in capturing.sql("select * from {schema}.items")] == [(1, "a")]
    operations = capturing.sql("select op, id from {schema}.feed order by id, op")
    assert [tuple(row) for row in operations] == [(2, 1), (4, 1), (4, 1), (1, 5), (2, 5)]
    marks = capturing.sql(
        "select distinct capture_instance, open_lsn from {schema}.consumer_bookmarks"
    )
    assert [tuple(mark) for mark in marks] == [("dbo_items", None)]


def test_a_hand_over_beside_a_run_of_the_old_instance(capturing: Capture) -> None:
    """Which has opened its bookmark and not merged yet: the run that came later writes."""
    writer, project = begun(capturing, items=REPLICA), capturing.project
    with_second_instance(capturing)
    capturing.land(writer.insert("lines", id=1, n=1))
    capturing.run()
    one = {"id": 1, "name": "a"}
    capturing.land(writer.commit("items", one, one | {"name": "b"}))
    later: list[Any] = []

    def execute(sql: str, go: Callable[..., Any]) -> Any:
        if not later and "merge into" in sql and ".items" in sql:
            later.append(sql)
            project.write("models/items.sql", REPLICA.replace("dbo_items", "dbo_items_2"))
            capturing.land(writer.commit("items", one | {"name": "b"}, one | {"name": "c"}))
            with dying_at(is_moving):
                assert not project.dbt("run").success
        return go()

    with around_statements(execute):
        project.dbt("run")
    assert later
    for _ in range(2):
        assert [row.name for row in capturing.sql("select * from {schema}.items")] == ["c"]
        capturing.run()


def test_a_parent_that_another_run_writes(capturing: Capture) -> None:
    """Its child waits, as nothing has brought the rows that it would join."""
    named = "select * from {{ ref('items') }}"
    writer = begun(capturing, items=REPLICA, named=named, seen=SEEN)
    project = capturing.project
    capturing.land(writer.insert("items", id=2, name="b"))
    done: list[Any] = []

    def execute(sql: str, go: Callable[..., Any]) -> Any:
        if not done and "merge into" in sql and ".items" in sql:
            done.append(sql)
            further = "0x" + "F" * 20
            capturing.sql(
                f"update {{schema}}.consumer_bookmarks set open_lsn = '{further}'"
                " where consumer = 'items'"
            )
        return go()

    with around_statements(execute):
        output = project.ok("run").output
    assert done and "seen waits for items" in output
    assert ids(capturing, "items") == ids(capturing, "seen") == [1]
    capturing.run()
    seen = capturing.sql("select * from {schema}.seen order by id")
    assert [tuple(row) for row in seen] == [(1, "a"), (2, "b")]


def test_another_materialization_of_the_same_columns(capturing: Capture) -> None:
    """A feed's rows are no replica's: the table is made anew."""
    every = "select * from {{ dbt_cdc.new_changes('dbo_items', 'net') }}\n"
    upserts = (
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',"
        " file_format='delta') }}\n" + every
    )
    writer, project = begun(capturing, items=upserts), capturing.project
    capturing.land(writer.commit("items", {"id": 1, "name": "a"}, None))
    capturing.run()
    project.write("models/items.sql", "{{ config(materialized='replica') }}\n" + every)
    message = project.dbt("run").messages["items"].message
    assert "CDC 2714: table" in message and "was written as incremental" in message
    with dying_at(lambda sql: "consumer_bookmarks" in sql and "target_version" in sql):
        assert not project.dbt("run", "--full-refresh", "--select", "items").success
    assert project.dbt("run").messages["items"].message == message
    with dying_at(is_moving):
        assert not project.dbt("run", "--full-refresh", "--select", "items").success
    project.write("models/items.sql", upserts)
    message = project.dbt("run").messages["items"].message
    assert "was written as replica" in message
    project.write("models/items.sql", "{{ config(materialized='replica') }}\n" + every)
    capturing.run()
    assert ids(capturing, "items") == []


def test_a_hand_over_before_all_is_consumed(capturing: Capture) -> None:
    """The old instance has what the new one lacks: one more run of it, and nothing is lost."""
    writer, project = begun(capturing, items=REPLICA), capturing.project
    project.write("models/items.sql", REPLICA + "-- as it was")
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run("--select", "+lsn_time_mapping")
    with_second_instance(capturing)
    capturing.land(writer.insert("items", id=3, name="c"))
    capturing.run("--select", "+lsn_time_mapping", "dbo_items_2_ct")
    project.write("models/items.sql", REPLICA.replace("dbo_items", "dbo_items_2"))
    message = project.dbt("run").messages["items"].message
    assert "which dbo_items_2 lacks: let it read dbo_items as before" in message
    for name in ("dbo_items", "dbo_items_2"):
        project.write("models/items.sql", REPLICA.replace("dbo_items", name))
        capturing.run()
        assert ids(capturing, "items") == [1, 2, 3]


def test_one_more_instance_that_came_late(capturing: Capture) -> None:
    """reset_consumer accepts what it lacks, too."""
    model = "{{ config(materialized='replica', unique_key='id') }}\n" + " union all ".join(
        f"select id, `__$operation` from {{{{ dbt_cdc.new_changes('{name}') }}}}\n"
        for name in ("dbo_items", "dbo_lines")
    )
    writer, project = begun(capturing, items=model.partition(" union all ")[0]), capturing.project
    for number in (8, 9):
        capturing.land(writer.insert("lines", id=number, n=1))
        capturing.run()
    mark = {"capture_instance": "dbo_lines", "low_water_mark": writer.last}
    assert operation(capturing, "cleanup_change_table", **mark).success
    project.write("models/items.sql", model)
    assert "reset_consumer" in project.dbt("run").messages["items"].message
    assert operation(capturing, "reset_consumer", consumer="items", dry_run=False).success
    capturing.run()
    assert ids(capturing, "items") == [1, 9]


def test_a_parent_that_is_not_handed_over_yet(capturing: Capture) -> None:
    """Its instance has ended: the child waits at that end, and cleanup holds what comes next."""
    child = SEEN.replace("ref('named')", "ref('items')")
    writer, project = begun(capturing, items=REPLICA, seen=child), capturing.project
    with_second_instance(capturing)
    ddl = "alter table dbo.items drop primary key"
    shape = json.dumps([{"name": name, "type": kind} for name, kind in ITEMS.columns])
    capturing.land([
        writer.record("DDL", "items", after_image=shape, ddl_command=ddl, tran_id=None),
        *writer.insert("items", id=2, name="b"),
    ])  # fmt: skip
    for number in range(4):
        capturing.land(writer.insert("lines", id=number, n=1))
    capturing.run()
    assert operation(capturing, "change_job", job_type="cleanup", retention=1).success
    output = operation(capturing, "cleanup").output
    assert re.search(
        r"stays at or below (\w+): items has .* needs \1 of dbo_items_2, until", output
    )
    project.write("models/seen.sql", child.replace("dbo_items", "dbo_items_2"))
    for options in ["--select", "seen"], []:
        output = capturing.run(*options).output
        assert "seen waits for items, which it reads and which has consumed dbo_items" in output
        assert "let items read dbo_items_2, as dbo_items has ended" in output
        assert ids(capturing, "seen") == [1]
    project.write("models/items.sql", REPLICA.replace("dbo_items", "dbo_items_2"))
    capturing.run()
    seen = capturing.sql("select id, name from {schema}.seen order by id")
    assert [tuple(row) for row in seen] == [(1, "a"), (2, "b")]


def test_bookmarks_that_are_taken_back_alone(capturing: Capture) -> None:
    """By the error's own statement the replica goes on where its table is."""
    writer, project = begun(capturing, items=REPLICA), capturing.project
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    history = capturing.sql("describe history {schema}.consumer_bookmarks limit 1")
    capturing.land(writer.insert("items", id=3, name="c"))
    capturing.run()
    capturing.sql(
        f"restore table {{schema}}.consumer_bookmarks to version as of {history[0].version}"
    )
    capturing.land(writer.commit("items", {"id": 3, "name": "c"}, None))
    message = project.dbt("run").messages["items"].message
    found = re.search(r"CDC 2714: version 2 of .*: (update .*) puts it right; or dbt run", message)
    assert found, message
    capturing.sql(found[1])
    capturing.run()
    assert ids(capturing, "items") == [1, 2]


@pytest.mark.parametrize("is_handed_over", [False, True])
def test_a_merge_after_a_reset(capturing: Capture, is_handed_over: bool) -> None:
    """A row of before that has gone since: its insert and its delete are both in the window."""
    model = FEED.replace("'append'", "'merge', unique_key='id'").replace(
        "`__$operation` as op, id", "id, `__$operation` = 1 as is_deleted"
    )
    model = model.replace("'dbo_items'", "'dbo_items', 'net'")
    if is_handed_over:
        with_second_instance(capturing)
    writer = begun(capturing, items=model)
    capturing.land(writer.commit("items", {"id": 1, "name": "a"}, None))
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run("--select", "+lsn_time_mapping")
    assert operation(capturing, "reset_consumer", consumer="items", dry_run=False).success
    if is_handed_over:
        capturing.project.write("models/items.sql", model.replace("dbo_items", "dbo_items_2"))
    capturing.run()
    rows = capturing.sql("select * from {schema}.items order by id")
    assert [tuple(row) for row in rows] == [(1, True), (2, False)]


@pytest.mark.parametrize("kind", ["replica", "history"])
def test_an_empty_text_in_a_partition(capturing: Capture, kind: str) -> None:
    """Delta keeps it as NULL, by which no key is found."""
    config = f"'{kind}', partition_by='name'"
    writer = begun(capturing, items=REPLICA.replace("'replica'", config))
    capturing.land(writer.insert("items", id=2, name=""))
    result = capturing.project.dbt("run")
    assert f"CDC 22938: {kind} items has an empty text in `name`, by which" in result.output
    assert ids(capturing, "items") == [1]


def test_a_part_of_the_key(make_project: Callable[..., Project]) -> None:
    """Rows that share it would meet in one, unless the model makes one row of them."""
    parts = CaptureInstance("dbo", "parts", "dbo_parts", (("a", "int"), ("b", "int")), ("a", "b"))
    model = (
        "{{ config(materialized='replica', unique_key='a') }}\n"
        "select a, COLUMNS `__$operation` from {{ dbt_cdc.new_changes('dbo_parts') }}\n"
    )
    columns = {"part": "", "renamed": "b as c,", "whole": "b,"}
    models = {f"{name}.sql": model.replace("COLUMNS", text) for name, text in columns.items()}
    capturing, writer = Capture(make_project, [parts], models=models, vars=PLAIN), Writer()
    capturing.land([*writer.insert("parts", a=1, b=1), *writer.insert("parts", a=1, b=2)])
    capturing.project.write(
        "models/grouped.sql",
        model.replace("`__$operation`", "count(b) as n, 4 as `__$operation`").replace("COLUMNS", "")
        + "group by a",
    )
    messages = capturing.project.dbt("run").messages
    assert [tuple(row) for row in capturing.sql("select * from {schema}.grouped")] == [(1, 2)]
    for name in columns:
        said = f"CDC 22938: replica {name} has the unique_key a, and the key of capture instance"
        assert said in messages[name].message


def test_a_table_that_was_made_without_rows(capturing: Capture) -> None:
    """A tool that deploys DDL has replaced it: its bookmark tells of rows that are gone."""
    writer = begun(capturing, items=REPLICA)
    capturing.sql("create or replace table {schema}.items (id int, name string) using delta")
    capturing.land(writer.insert("items", id=2, name="b"))
    result = capturing.project.dbt("run")
    assert "CDC 2714" in result.messages["items"].message, result.output
    capturing.run("--full-refresh", "--select", "items")
    assert ids(capturing, "items") == [1, 2]


def test_a_view_in_the_place_of_a_feed(capturing: Capture) -> None:
    """dbt would put a table with the latest changes alone there."""
    writer, project = begun(capturing, feed=FEED), capturing.project
    project.write("models/feed.sql", "{{ config(materialized='view') }} select 7 as id")
    capturing.run()
    project.write("models/feed.sql", FEED)
    capturing.land(writer.insert("items", id=2, name="b"))
    message = project.dbt("run").messages["feed"].message
    assert "CDC 2714: view" in message and "tells of a table of Delta: dbt run --full" in message
    capturing.run("--full-refresh", "--select", "feed")
    assert ids(capturing, "feed") == [1, 2]


@pytest.mark.parametrize("kind", ["view", "parquet"])
@pytest.mark.parametrize("is_empty", [True, False])
def test_a_model_that_was_something_else(capturing: Capture, kind: str, is_empty: bool) -> None:
    """The error's own command replaces it."""
    project, writer = capturing.project, Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    rows = f"select 7 as id, 'x' as name where {str(not is_empty).lower()}"
    capturing.sql(
        ("create view {schema}.items as " if kind == "view"
        else "create table {schema}.items using parquet as ") + rows
    )  # fmt: skip
    project.write("models/items.sql", REPLICA)
    if not is_empty:
        message = project.dbt("run").messages["items"].message
        assert "CDC 2714" in message and "--full-refresh --select items" in message
        assert ids(capturing, "items") == [7]
    capturing.run(*([] if is_empty else ["--full-refresh", "--select", "items"]))
    assert ids(capturing, "items") == [1]


def test_a_feed_into_another_format(capturing: Capture) -> None:
    """A run that died could not be told there: the table is replaced, as the error says."""
    capturing.sql("create table {schema}.feed (op int, id int) using parquet")
    capturing.land(Writer().insert("items", id=1, name="a"))
    capturing.project.write("models/feed.sql", FEED)
    assert "CDC 2714" in capturing.project.dbt("run").messages["feed"].message
    capturing.run("--full-refresh", "--select", "feed")
    assert ids(capturing, "feed") == [1]


@pytest.mark.parametrize("given", ["bigint", "decimal(12,0)", "string", None])
def test_initial_content_of_other_types(capturing: Capture, given: str | None) -> None:
    """What a cast would cut is refused."""
    project, writer = capturing.project, Writer()
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run()
    column = f"cast(3000000000 as {given}) as id, " if given else ""
    capturing.sql(f"create table {{schema}}.dump using delta as select {column}'x' as name")
    initial = f"'dbo_items', initial=target.schema ~ '.dump', initial_lsn='{'0x' + '0' * 20}'"
    project.write("models/items.sql", REPLICA.replace("'dbo_items'", initial))
    message = project.dbt("run").messages["items"].message
    said = f"has id as {given}" if given else "lacks column id"
    assert f"CDC 313: new_changes: initial of items {said}" in message


def test_columns_of_any_name_and_type_are_added(capturing: Capture) -> None:
    """Also one that Delta keeps under another name; and types that Spark does not compare."""
    writer = begun(capturing, items=REPLICA)
    more = "*, id as `unit price`, map(name, id) as tags, parse_json('[1]') as made from"
    model = REPLICA.replace("'replica'", "'replica', on_schema_change='append_new_columns'")
    capturing.project.write("models/items.sql", model.replace("* from", more))
    for name in ("b", "c"):
        capturing.land(writer.insert("items", id=ord(name), name=name))
        capturing.land(writer.commit("items", {"id": 1, "name": "a"}, {"id": 1, "name": "a"}))
        capturing.run()
    found = capturing.sql("select id, `unit price`, to_json(tags) as tags from {schema}.items")
    assert sorted(map(tuple, found)) == [
        (1, None, None), (98, 98, '{"b":98}'), (99, 99, '{"c":99}')
    ]  # fmt: skip
    commits = capturing.sql("describe history {schema}.items")
    merge = next(commit for commit in commits if commit.operation == "MERGE")
    assert merge.operationMetrics["numTargetRowsUpdated"] == "0"


def test_a_change_table_in_another_order(capturing: Capture) -> None:
    """Somebody has moved a column of it, and one of a state table."""
    writer = begun(capturing, feed=FEED)
    capturing.sql("alter table {schema}.dbo_items_ct alter column name first")
    capturing.sql("alter table {schema}.lsn_time_mapping alter column tran_begin_lsn first")
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    found = capturing.sql("select id, name from {schema}.dbo_items_ct")
    assert sorted(map(tuple, found)) == [(1, "a"), (2, "b")]
    assert ids(capturing, "feed") == [1, 2]


RESET = "last_lsn = null, last_time = null, open_lsn = null, accepts_loss = true"
OPEN = f"open_lsn = '0x{'F' * 20}', target_version = 0"


@pytest.mark.parametrize("others", [RESET, OPEN], ids=["reset", "run"])
def test_bookmarks_that_others_take(capturing: Capture, others: str) -> None:
    """A run has read the bookmarks, and not opened them: a reset stands, no row comes twice."""
    writer = begun(capturing, items=REPLICA, feed=FEED)
    capturing.land(writer.insert("items", id=2, name="b"))
    done: list[Any] = []

    def execute(sql: str, go: Callable[..., Any]) -> Any:
        if not done and "update " in sql and "target_version =" in sql:
            done.append(capturing.sql(f"update {{schema}}.consumer_bookmarks set {others}"))
        return go()

    bookmarks = "select last_lsn, open_lsn, accepts_loss from {schema}.consumer_bookmarks"
    with around_statements(execute):
        result = capturing.project.dbt("run")
    assert done and "CDC 313: since this run has read" in result.messages["feed"].message
    assert ids(capturing, "items") == ids(capturing, "feed") == [1]
    assert {row.accepts_loss for row in capturing.sql(bookmarks)} == {others == RESET}
    capturing.run()
    assert {tuple(row) for row in capturing.sql(bookmarks)} == {(writer.last, None, False)}
    assert ids(capturing, "items") == [1, 2]
    assert ids(capturing, "feed") == ([1, 1, 2] if others == RESET else [1, 2])
