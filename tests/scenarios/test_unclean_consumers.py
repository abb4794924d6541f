"""Consumers behind commands that died, failed or wrote nothing: each change once, or an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from capturing import Capture, instance_yaml
from harness import DbtResult, Project
from reference.capture import CaptureInstance
from reference.log import int_to_lsn
from statements import around_statements, dying_at
from transactions import Writer

pytestmark = pytest.mark.slow

ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("name", "string")), ("id",))
LINES = CaptureInstance("dbo", "lines", "dbo_lines", (("id", "int"), ("n", "int")), ("id",))
PLAIN = {"cdc_persistent_functions": False}
APPEND = "materialized='incremental', incremental_strategy='append', file_format='delta'"
FEED = (
    "{{ config(" + APPEND + ") }}\n"
    "select `__$operation` as op, id from {{ dbt_cdc.new_changes('dbo_items') }}\n"
)
REPLICA = (
    "{{ config(materialized='replica') }}\n"
    "select * from {{ dbt_cdc.new_changes('dbo_items') }}\n"
)  # fmt: skip


@pytest.fixture
def capturing(make_project: Callable[..., Project]) -> Capture:
    """A project that captures two tables and has no consumers yet."""
    return Capture(make_project, [ITEMS, LINES], vars=PLAIN)


def operation(capturing: Capture, name: str, **arguments: Any) -> DbtResult:
    return capturing.project.dbt("run-operation", name, "--args", json.dumps(arguments))


def ids(capturing: Capture, table: str) -> list[int]:
    return sorted(row.id for row in capturing.sql(f"select id from {{schema}}.{table}"))


def begun(capturing: Capture, **models: str) -> Writer:
    """Consumers have taken the first row of items; the source goes on."""
    writer = Writer()
    for name, text in models.items():
        capturing.project.write(f"models/{name}.sql", text)
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run()
    return writer


def test_an_empty_run_takes_nothing(capturing: Capture) -> None:
    """New consumers have no rows, others keep theirs; the next run gives them what they lack."""
    writer, project = begun(capturing, feed=FEED, items=REPLICA), capturing.project
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run("--select", "+lsn_time_mapping")
    capturing.sql("create table {schema}.dump using delta as select 9 as id, 'before' as name")
    initial = f"'dbo_items', initial=target.schema ~ '.dump', initial_lsn='{'0x' + '0' * 20}'"
    ends = "dbt_cdc.get_min_lsn('dbo_items'), dbt_cdc.get_max_lsn()"
    asking = f"dbt_cdc.get_all_changes('dbo_items', {ends})"
    project.write(
        "models/new_feed.sql", FEED + "union all select 0, id from {{ " + asking + " }}\n"
    )
    project.write("models/new_items.sql", REPLICA.replace("'dbo_items'", initial))
    before = capturing.sql("select * from {schema}.consumer_bookmarks order by consumer")
    capturing.run("--empty")
    assert capturing.sql("select * from {schema}.consumer_bookmarks order by consumer") == before
    assert [ids(capturing, name) for name in ("feed", "items", "new_feed", "new_items")] == [
        [1],
        [1],
        [],
        [],
    ]
    capturing.run()
    assert ids(capturing, "feed") == ids(capturing, "items") == [1, 2]
    assert ids(capturing, "new_feed") == [1, 1, 2, 2]
    assert ids(capturing, "new_items") == [1, 2, 9]


@pytest.mark.parametrize("to", ["version", pytest.param("time", marks=pytest.mark.more)])
def test_a_table_that_was_restored(capturing: Capture, to: str) -> None:
    """What it had consumed is not in it any more, whatever was done to it since."""
    writer, project = begun(capturing, feed=FEED, items=REPLICA), capturing.project
    at = capturing.sql("select cast(current_timestamp() as string) as at")[0].at
    ends = [writer.last]
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    ends.append(writer.last)
    for table in ("feed", "items"):
        as_of = "version as of 0" if to == "version" else f"timestamp as of '{at}'"
        capturing.sql(f"restore table {{schema}}.{table} to {as_of}")
        assert ids(capturing, table) == [1]
    capturing.sql("optimize {schema}.items")
    capturing.run()  # nothing is new: nothing is said
    capturing.land(writer.insert("items", id=3, name="c"))
    result = project.dbt("run")
    assert not result.success
    messages = [result.messages[name].message for name in ("feed", "items")]
    for message in messages:
        assert "CDC 2714: RESTORE made version 2 of" in message
        assert f"up to {ends[-1]} by version 1 " in message and "in it any more: " in message
    if to == "version":  # the ways on
        capturing.sql("restore table {schema}.feed to version as of 1")
        found = re.search(r"update .* target_version = \d+( where .*?), with last_lsn", messages[1])
        assert found
        again = f", last_lsn = '{ends[0]}'"
        capturing.sql(found[0].removesuffix(found[1] + ", with last_lsn") + again + found[1])
    else:
        capturing.run("--full-refresh", "--select", "feed", "items")
    capturing.run()
    assert ids(capturing, "feed") == ids(capturing, "items") == [1, 2, 3]


@pytest.mark.more
def test_a_table_that_another_materialization_made(capturing: Capture) -> None:
    """A model of dbt's own has its name for a while: what it brought would come again."""
    writer, project = begun(capturing, feed=FEED, items=REPLICA), capturing.project
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run("--select", "+lsn_time_mapping")
    ends = "dbt_cdc.get_min_lsn('dbo_items'), dbt_cdc.get_max_lsn()"
    table = "{{ config(materialized='table', file_format='delta') }}\nselect "
    asked = " from {{ dbt_cdc.get_all_changes('dbo_items', " + ends + ") }}"
    project.write("models/feed.sql", table + "`__$operation` as op, id" + asked)
    project.write("models/items.sql", table + "id, name" + asked)
    capturing.run("--select", "feed", "items")
    for name, model in (("feed", FEED), ("items", REPLICA)):
        project.write(f"models/{name}.sql", model)
    result = project.dbt("run")
    for name in ("feed", "items"):
        message = result.messages[name].message
        assert "CDC 2714: CREATE OR REPLACE TABLE AS SELECT made version" in message, message
    capturing.run("--full-refresh", "--select", "feed", "items")
    capturing.land(writer.insert("items", id=3, name="c"))
    capturing.run()
    assert ids(capturing, "feed") == ids(capturing, "items") == [1, 2, 3]


@pytest.mark.more
def test_a_table_that_was_restored_behind_a_failed_run(capturing: Capture) -> None:
    """Its write is taken back, and its bookmark never moved: the window is taken again."""
    writer, project = begun(capturing, feed=FEED), capturing.project
    capturing.land(writer.insert("items", id=2, name="b"))
    with dying_at(lambda sql: "insert into" in sql and ".feed" in sql):
        assert not project.dbt("run").success
    assert ids(capturing, "feed") == [1, 2]
    capturing.sql("restore table {schema}.feed to version as of 0")
    capturing.run()
    assert ids(capturing, "feed") == [1, 2]


@pytest.mark.more
def test_a_table_that_was_restored_to_what_it_had_consumed(capturing: Capture) -> None:
    """Which takes back a repair alone; and further, behind a run of no rows."""
    writer, project = begun(capturing, feed=FEED), capturing.project
    capturing.sql("update {schema}.feed set id = 7")
    capturing.sql("restore table {schema}.feed to version as of 0")
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    assert ids(capturing, "feed") == [1, 2]
    capturing.land(writer.insert("items", id=3, name="c"))
    with dying_at(lambda sql: "consumer_bookmarks" in sql and "target_version" in sql):
        assert not project.dbt("run").success
    capturing.sql("restore table {schema}.feed to version as of 0")
    for options in (["--empty"], []):
        result = project.dbt("run", "--select", "feed", *options)
        assert "CDC 2714: RESTORE made version" in result.messages["feed"].message


@pytest.mark.more
@pytest.mark.parametrize("how", ["dropped", "full refresh"])
def test_an_empty_run_makes_the_table_anew(capturing: Capture, how: str) -> None:
    """Nothing that the bookmarks tell is in it: the next run begins at the low end. A replica,
    which a full refresh may not fill, is left alone."""
    writer = begun(capturing, feed=FEED, items=REPLICA)
    if how == "dropped":
        capturing.sql("drop table {schema}.items")
        capturing.sql("drop table {schema}.feed")
        capturing.run("--empty")
    else:
        capturing.run("--empty", "--full-refresh")
    capturing.run("--empty")
    assert ids(capturing, "feed") == []
    capturing.land(writer.insert("items", id=2, name="b"))
    for _ in range(2):
        capturing.run()
        assert ids(capturing, "feed") == ids(capturing, "items") == [1, 2]


@pytest.mark.more
@pytest.mark.parametrize("is_written", [False, True])
def test_an_empty_run_behind_a_failed_one(capturing: Capture, is_written: bool) -> None:
    """Its write of no rows is not taken for the failed run's, nor does it hide that one."""
    writer, project = begun(capturing, feed=FEED), capturing.project
    capturing.land(writer.insert("items", id=2, name="b"))
    if is_written:
        with dying_at(lambda sql: "insert into" in sql and ".feed" in sql):
            assert not project.dbt("run").success
    else:
        project.write("models/feed.sql", FEED.replace("`__$operation`", "raise_error('a mistake')"))
        assert not project.dbt("run").success
        project.write("models/feed.sql", FEED)
    capturing.run("--empty")
    capturing.land(writer.insert("items", id=3, name="c"))
    capturing.run()
    assert ids(capturing, "feed") == [1, 2, 3]


@pytest.mark.more
def test_a_loss_is_accepted_for_one_beginning(capturing: Capture) -> None:
    """Also where the consumer began anew and died before its bookmark told so."""
    writer, project = begun(capturing, items=REPLICA), capturing.project
    assert operation(capturing, "reset_consumer", consumer="items", dry_run=False).success
    with dying_at(lambda sql: "create or replace table" in sql and ".items" in sql):
        assert not project.dbt("run").success
    capturing.land(writer.insert("items", id=2, name="b"))
    with dying_at(lambda sql: "consumer_bookmarks" in sql and "target_version" in sql):
        assert not project.dbt("run").success
    capturing.land(writer.insert("lines", id=1, n=1))
    capturing.run("--exclude", "items")
    mark = {"capture_instance": "dbo_items", "low_water_mark": writer.last}
    assert operation(capturing, "cleanup_change_table", **mark).success
    message = project.dbt("run").messages["items"].message
    assert "CDC 313: items has consumed up to" in message
    (bookmark,) = capturing.sql("select is_stale from {schema}.cdc_consumers")
    assert bookmark.is_stale


@pytest.mark.more
def test_consumers_are_made_anew_while_nothing_is_published(capturing: Capture) -> None:
    """Their instance was disabled and comes back with the next commit: they begin with it."""
    writer, project = begun(capturing, feed=FEED, items=REPLICA), capturing.project
    table = {"source_schema": "dbo", "source_name": "items", "capture_instance": "dbo_items"}
    assert operation(capturing, "disable_table", **table, dry_run=False).success
    project.write("models/instances.yml", instance_yaml([ITEMS, LINES], capture_from="log_start"))
    for _ in range(2):
        capturing.run("--full-refresh")
        marks = capturing.sql("select last_lsn, open_lsn from {schema}.consumer_bookmarks")
        assert [tuple(mark) for mark in marks] == [(None, None)] * 2
    assert ids(capturing, "feed") == ids(capturing, "items") == []
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    assert ids(capturing, "feed") == ids(capturing, "items") == [1, 2]


SECOND = CaptureInstance("dbo", "items", "dbo_items_2", ITEMS.columns, ("id",))


@pytest.mark.more
@pytest.mark.parametrize(
    "how",
    [
        "truncate",
        *(n for n in ("cleanup", "ended", "nothing")),
    ],
)
def test_a_hand_over_tells_of_a_loss(capturing: Capture, how: str) -> None:
    """The second instance has what came later; of what was before it the first one tells, unless it
    has lost changes that the replica has not consumed, or has ended before the second began."""
    writer, project = Writer(), capturing.project
    one, two = {"id": 1, "name": "one"}, {"id": 1, "name": "two"}
    project.write("models/items.sql", REPLICA)
    capturing.land(writer.insert("items", **one))
    capturing.run()
    if how == "cleanup":
        capturing.land(writer.commit("items", one, two))
        capturing.land(writer.insert("lines", id=2, n=2))
        capturing.run("--exclude", "items")
        mark = {"capture_instance": "dbo_items", "low_water_mark": writer.last}
        assert operation(capturing, "cleanup_change_table", **mark).success
    elif how == "truncate":
        capturing.land([writer.record("TRUNCATE", "items", tran_id=None)])
        capturing.run("--exclude", "items")
    elif how == "ended":
        (project.folder / "models/dbo_items_ct.sql").unlink()
        (project.folder / "models/items.sql").unlink()
        project.write("models/instances.yml", instance_yaml([LINES]))
        capturing.land(writer.commit("items", one, two))
        capturing.run()
    first = [] if how == "ended" else [ITEMS]
    project.write("models/instances.yml", instance_yaml([*first, LINES, SECOND]))
    project.write("models/dbo_items_2_ct.sql", "{{ dbt_cdc.change_table() }}")
    project.write("models/items.sql", REPLICA.replace("dbo_items", "dbo_items_2"))
    capturing.land(writer.insert("items", id=2, name="new"))
    message = project.dbt("run").messages["items"].message
    if how == "nothing":
        assert ids(capturing, "items") == [1, 2]
    else:
        assert "CDC 313: items has consumed up to" in message and "reset_consumer" in message


@pytest.mark.more
def test_a_hand_over_from_an_instance_that_was_disabled(capturing: Capture) -> None:
    """Nothing tells which changes of the second one a consumer has had from the first."""
    writer, project = begun(capturing, feed=FEED, items=REPLICA), capturing.project
    project.write("models/instances.yml", instance_yaml([ITEMS, LINES, SECOND]))
    project.write("models/dbo_items_2_ct.sql", "{{ dbt_cdc.change_table() }}")
    for number in (2, 3):
        capturing.land(writer.insert("items", id=number, name="b"))
        capturing.run()
    table = {"source_schema": "dbo", "source_name": "items", "capture_instance": "dbo_items"}
    assert operation(capturing, "disable_table", **table, dry_run=False).success
    (project.folder / "models/dbo_items_ct.sql").unlink()
    project.write("models/instances.yml", instance_yaml([LINES, SECOND]))
    for name, model in {"feed": FEED, "items": REPLICA}.items():
        project.write(f"models/{name}.sql", model.replace("dbo_items", "dbo_items_2"))
    capturing.land(writer.insert("items", id=4, name="b"))
    messages = project.dbt("run").messages
    for name in ("feed", "items"):
        said = f"CDC 313: {name} has consumed capture instance dbo_items up to"
        assert said in messages[name].message and "reset_consumer" in messages[name].message
        assert ids(capturing, name) == [1, 2, 3]
    assert operation(capturing, "reset_consumer", consumer="items", dry_run=False).success
    for _ in range(2):
        capturing.run("--exclude", "feed")
        assert ids(capturing, "items") == [2, 3, 4]
    capturing.run("--full-refresh", "--select", "feed")
    assert ids(capturing, "feed") == [2, 3, 4]
    marks = capturing.sql("select distinct capture_instance, last_lsn from {schema}.cdc_consumers")
    assert [tuple(mark) for mark in marks] == [("dbo_items_2", writer.last)]


@pytest.mark.more
def test_a_repair_behind_a_run_that_died(capturing: Capture) -> None:
    """It is not taken for the MERGE of that run; in an incremental model it is, and said."""
    writer, project = (
        begun(
            capturing, feed=FEED, items=REPLICA, versions=REPLICA.replace("'replica'", "'history'")
        ),
        capturing.project,
    )
    capturing.land(writer.insert("items", id=2, name="b"))
    names = ("items", "versions", "feed")
    for name in names:
        with dying_at(lambda sql: "consumer_bookmarks" in sql and "target_version" in sql):
            assert not project.dbt("run", "--select", f"+{name}").success
    repair = "select id, 'repaired' as name from values (1) as (id)"
    for name in names:
        value = "set op = 4" if name == "feed" else "set name = changes.name"
        capturing.sql(
            f"merge into {{schema}}.{name} as present using ({repair}) as changes"
            f" on present.id = changes.id when matched then update {value}"
        )
    capturing.land(writer.insert("items", id=3, name="c"))
    output = capturing.run().output
    assert ids(capturing, "items") == ids(capturing, "versions") == [1, 2, 3]
    assert "feed: a run that did not end has written the changes of dbo_items up to" in output
    assert "(MERGE)" in output


@pytest.mark.more
def test_a_type_that_the_table_does_not_hold_is_refused(
    make_project: Callable[..., Project],
) -> None:
    """The MERGE would cut its values: 1.2345 would be 1.23."""
    columns = (("id", "int"), ("price", "decimal(9,2)"), ("n", "bigint"), ("day", "date"))
    items = replace(ITEMS, columns=columns)
    finer = replace(SECOND, columns=(("id", "int"), ("price", "decimal(9,4)"), *columns[2:]))
    capturing, writer = Capture(make_project, [items], vars=PLAIN), Writer()
    project = capturing.project
    casts = {
        "double": ("n", "cast(n as double)"), "scale": ("n", "cast(n as decimal(12,2))"),
        "time": ("day", "cast(day as timestamp)"),
    }  # fmt: skip
    models = {
        "items": REPLICA, "versions": REPLICA.replace("'replica'", "'history'"),
        "feed": REPLICA.replace("materialized='replica'", APPEND),
    }  # fmt: skip
    for name in (*models, *casts):
        project.write(f"models/{name}.sql", models.get(name, REPLICA))
    one = {"id": 1, "price": "1.25", "n": 5, "day": "2024-05-01"}
    capturing.land(writer.insert("items", **one))
    capturing.run()
    project.write("models/instances.yml", instance_yaml([items, finer]))
    project.write("models/dbo_items_2_ct.sql", "{{ dbt_cdc.change_table() }}")
    for name, text in models.items():
        project.write(f"models/{name}.sql", text.replace("dbo_items", "dbo_items_2"))
    for name, (column, value) in casts.items():
        edit = f"* except ({column}), {value} as {column}"
        project.write(f"models/{name}.sql", REPLICA.replace("*", edit))
    capturing.land(writer.insert("items", **{**one, "id": 2, "price": "1.2345"}))
    messages = project.dbt("run").messages
    said = {
        "items": "price as decimal(9,4), its table as decimal(9,2)",
        "versions": "price as decimal(9,4), its table as decimal(9,2)",
        "feed": "price as decimal(9,4), its table as decimal(9,2)",
        "double": "n as double, its table as bigint",
        "scale": "n as decimal(12,2), its table as bigint",
        "time": "day as timestamp, its table as date",
    }
    for name, text in said.items():
        message = messages[name].message
        assert f"CDC 22930: model {name} has {text}" in message and "--full-refresh" in message
        assert ids(capturing, name) == [1]
    capturing.run("--full-refresh", "--select", "scale")
    assert ids(capturing, "scale") == [1]  # where the first instance ended


@pytest.mark.more
def test_a_feed_follows_a_type_that_widens(make_project: Callable[..., Project]) -> None:
    items = replace(ITEMS, columns=(("id", "int"), ("price", "decimal(9,2)")))
    capturing, writer = Capture(make_project, [items], vars=PLAIN), Writer()
    more = "*, array(id) as ids, null as nothing, cast('a' as varchar(9)) as short"
    feed = REPLICA.replace("materialized='replica'", APPEND).replace("*", more)
    capturing.project.write("models/feed.sql", feed)
    capturing.land(writer.insert("items", id=1, price="1.25"))
    capturing.run()
    wider = replace(items, columns=(("id", "int"), ("price", "decimal(11,4)")))
    capturing.project.write("models/instances.yml", instance_yaml([wider]))
    capturing.land(writer.insert("items", id=2, price="1.2345"))
    capturing.run()
    found = capturing.sql("select cast(price as string) from {schema}.feed order by id")
    assert [row[0] for row in found] == ["1.2500", "1.2345"]


@pytest.mark.more
def test_a_consumer_of_an_instance_that_ended(capturing: Capture) -> None:
    """It gets nothing more, and each run says so."""
    writer, project = Writer(), capturing.project
    project.write("models/feed.sql", FEED)
    project.write("models/instances.yml", instance_yaml([ITEMS, LINES, SECOND]))
    project.write("models/dbo_items_2_ct.sql", "{{ dbt_cdc.change_table() }}")
    capturing.land(writer.insert("items", id=1, name="a"))
    assert "stands still" not in capturing.run().output
    ended = writer.last
    for file in ("feed.sql", "dbo_items_ct.sql"):
        (project.folder / "models" / file).unlink()
    project.write("models/instances.yml", instance_yaml([LINES, SECOND]))
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    project.write("models/feed.sql", FEED)
    project.write("models/dbo_items_ct.sql", "{{ dbt_cdc.change_table() }}")
    project.write("models/instances.yml", instance_yaml([ITEMS, LINES, SECOND]))
    capturing.land(writer.insert("items", id=3, name="c"))
    said = (
        f"feed stands still: capture instance dbo_items ended at {ended}; hand it over to another"
    )
    assert said in capturing.run().output
    project.write("models/feed.sql", FEED.replace("dbo_items", "dbo_items_2"))
    assert "stands still" not in capturing.run().output
    assert ids(capturing, "feed") == [1, 2, 3]


OTHERS = CaptureInstance("dbo", "others", "dbo_others", ITEMS.columns, ("id",))
BOTH = """{{ config(materialized='replica', unique_key=['kind', 'id']) }}
select 'item' as kind, * from {{ dbt_cdc.new_changes('dbo_items') }}
union all
select 'other' as kind, * from {{ dbt_cdc.new_changes('dbo_others') }}
"""


@pytest.mark.more
def test_one_of_two_instances_has_ended(make_project: Callable[..., Project]) -> None:
    """Its bookmark is where it is to be: the changes of the other one are written as before."""
    capturing, writer = Capture(make_project, [ITEMS, OTHERS], vars=PLAIN), Writer()
    project = capturing.project
    project.write("models/both.sql", BOTH)
    project.write("models/instances.yml", instance_yaml([ITEMS, OTHERS, SECOND]))
    project.write("models/dbo_items_2_ct.sql", "{{ dbt_cdc.change_table() }}")
    capturing.land([*writer.insert("items", id=1, name="a"), *writer.insert("others", id=1)])
    capturing.run()
    for file in ("both.sql", "dbo_items_ct.sql"):
        (project.folder / "models" / file).unlink()
    project.write("models/instances.yml", instance_yaml([OTHERS, SECOND]))
    capturing.land(writer.insert("others", id=2))
    capturing.run()
    project.write("models/both.sql", BOTH)
    project.write("models/dbo_items_ct.sql", "{{ dbt_cdc.change_table() }}")
    project.write("models/instances.yml", instance_yaml([ITEMS, OTHERS, SECOND]))
    for number in (3, 4):
        capturing.land(writer.insert("others", id=number))
        capturing.run()
    rows = capturing.sql("select kind, id from {schema}.both order by kind, id")
    assert [tuple(row) for row in rows] == [("item", 1), *(("other", n) for n in (1, 2, 3, 4))]


@pytest.mark.more
def test_a_hand_over_before_the_old_instance_is_published(capturing: Capture) -> None:
    """What the old one has of the window is in no change table yet, and not asked for there."""
    writer, project = begun(capturing, feed=FEED), capturing.project
    columns = (("id", "int"), ("title", "string"))
    shape = json.dumps([{"name": name, "type": data_type} for name, data_type in columns])
    capturing.land(writer.insert("items", id=2, name="b"))
    renamed = "alter table dbo.items rename column name to title"
    ddl = writer.record("DDL", "items", after_image=shape, ddl_command=renamed, tran_id=None)
    capturing.land([ddl, *writer.insert("items", id=3, title="c")])
    new = CaptureInstance("dbo", "items", "dbo_items_2", columns, ("id",))
    project.write("models/instances.yml", instance_yaml([ITEMS, LINES, new]))
    project.write("models/dbo_items_2_ct.sql", "{{ dbt_cdc.change_table() }}")
    project.write("models/feed.sql", FEED.replace("dbo_items", "dbo_items_2"))
    capturing.run("--exclude", "dbo_items_ct", "feed")
    result = project.dbt("run", "--select", "feed")
    assert not result.success
    assert "CDC 313: feed cannot be handed over to dbo_items_2 yet" in result.output
    project.write("models/feed.sql", FEED)
    capturing.run()
    assert ids(capturing, "feed") == [1, 2]
    project.write("models/feed.sql", FEED.replace("dbo_items", "dbo_items_2"))
    capturing.run()
    assert ids(capturing, "feed") == [1, 2, 3]


@pytest.mark.more
def test_an_edit_is_refused_also_where_only_a_consumer_runs(capturing: Capture) -> None:
    writer, project = Writer(), capturing.project
    project.write("models/items.sql", REPLICA)
    ends = "dbt_cdc.get_min_lsn('dbo_items'), dbt_cdc.get_max_lsn()"
    asking = "select * from {{ dbt_cdc.get_all_changes('dbo_items', " + ends + ") }}"
    project.write("models/asking.sql", asking)
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run("--exclude", "asking")
    capturing.land(writer.commit("items", {"id": 1, "name": "a"}, {"id": 1, "name": "b"}))
    capturing.run("--select", "+lsn_time_mapping")
    for edited, text in (
        (replace(ITEMS, index_columns=("id", "name")), "CDC 22983: the index_columns of capture"),
        (replace(ITEMS, columns=ITEMS.columns[::-1]), "CDC 22930: the columns of capture"),
    ):
        project.write("models/instances.yml", instance_yaml([edited, LINES]))
        for model in ("items", "asking"):
            result = project.dbt("run", "--select", model)
            assert not result.success
            assert text in result.output
    project.write("models/instances.yml", instance_yaml([ITEMS, LINES]))
    capturing.run()
    assert [tuple(row) for row in capturing.sql("select * from {schema}.items")] == [(1, "b")]


@pytest.mark.more
def test_a_bookmark_is_that_of_one_table(capturing: Capture) -> None:
    """An alias that is edited and taken back, and a table that is dropped and made by hand."""
    writer, project = begun(capturing, feed=FEED), capturing.project
    project.write("models/feed.sql", FEED.replace("append'", "append', alias='other'", 1))
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    assert ids(capturing, "other") == [1, 2]
    project.write("models/feed.sql", FEED)
    for news in ([], writer.insert("items", id=3, name="c")):  # with nothing new, too
        capturing.land(news)
        result = project.dbt("run")
        assert not result.success
        told = f"which is {capturing.schema}.other: dbt run --full-refresh --select feed"
        assert told in result.output
    capturing.run("--full-refresh", "--select", "feed")
    assert ids(capturing, "feed") == [1, 2, 3]
    for number in (4, 5):
        capturing.land(writer.insert("items", id=number, name="d"))
        capturing.run()
    capturing.sql("create table {schema}.copy using delta as select * from {schema}.feed")
    capturing.sql("drop table {schema}.feed")
    capturing.sql("create table {schema}.feed using delta as select * from {schema}.copy")
    capturing.land(writer.insert("items", id=6, name="d"))
    result = project.dbt("run")
    assert not result.success
    assert "CDC 2714: table" in result.output
    assert "commits and this 0" in result.output


@pytest.mark.more
def test_a_beginning_where_nothing_is_left(capturing: Capture) -> None:
    """Behind a TRUNCATE, or with a late instance in a quiet log, the low end lies after the high
    end: who began there has missed nothing."""
    writer, project = begun(capturing, items=REPLICA), capturing.project
    capturing.land([writer.record("TRUNCATE", "items", tran_id=None)])
    truncated = writer.last
    assert "CDC 313" in project.dbt("run").messages["items"].message
    assert operation(capturing, "reset_consumer", consumer="items", dry_run=False).success
    project.write("models/instances.yml", instance_yaml([ITEMS, LINES, SECOND]))
    project.write("models/dbo_items_2_ct.sql", "{{ dbt_cdc.change_table() }}")
    project.write("models/feed.sql", FEED.replace("dbo_items", "dbo_items_2"))
    capturing.land(writer.insert("uncaptured", id=1))
    capturing.run()
    capturing.run()
    assert (ids(capturing, "items"), ids(capturing, "feed")) == ([], [])
    assert {r.lag_lsn for r in capturing.sql("select lag_lsn from {schema}.cdc_consumers")} == {0}
    capturing.sql("create table {schema}.dump using delta as select 8 as id, 'there' as name")
    initial = f"'dbo_items', initial=target.schema ~ '.dump', initial_lsn='{truncated}'"
    project.write("models/loaded.sql", REPLICA.replace("'dbo_items'", initial))
    capturing.run()
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run()
    assert (ids(capturing, "items"), ids(capturing, "feed")) == ([2], [2])
    assert ids(capturing, "loaded") == [2, 8]


@pytest.mark.more
def test_an_instance_in_another_letter_case(capturing: Capture) -> None:
    """Its bookmarks and its ends are those that it had."""
    writer = Writer()
    capturing.project.write("models/feed.sql", FEED)
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run()
    other = CaptureInstance("dbo", "items", "DBO_Items", ITEMS.columns, ("id",))
    capturing.project.write("models/instances.yml", instance_yaml([other, LINES]))
    for number in (2, 3):
        capturing.land(writer.insert("items", id=number, name="a"))
        capturing.run()
    assert ids(capturing, "feed") == [1, 2, 3]
    marks = capturing.sql("select last_lsn, open_lsn from {schema}.consumer_bookmarks")
    assert [tuple(mark) for mark in marks] == [(writer.last, None)]
    window = f"'dbo_items', '{writer.last}', '0x{'F' * 20}'"
    table = "{{ config(materialized='table') }}\n"
    beyond = f"{table}select * from {{{{ dbt_cdc.get_all_changes({window}) }}}}"
    capturing.project.write("models/beyond.sql", beyond)
    result = capturing.project.dbt("run", "--select", "beyond")
    assert "is above the high end" in result.output


@pytest.mark.more
def test_a_consumer_in_a_package(capturing: Capture) -> None:
    """Of one name with a consumer of the project it has a bookmark of its own."""
    project, writer = capturing.project, Writer()
    for place in ("models", "dbt_packages/other/models/marts"):
        project.write(f"{place}/feed.sql", FEED)
    theirs = {"name": "other", "version": "1.0.0", "config-version": 2}
    theirs["models"] = {"other": {"+schema": "other"}}
    project.write("dbt_packages/other/dbt_project.yml", json.dumps(theirs))
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run()
    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run("--exclude", "other.marts.feed")
    mark = "consumer_bookmarks set consumer = 'other.feed' where consumer = 'feed'"
    capturing.sql("update {schema}.consumer_bookmarks set consumer = 'old' where consumer = 'feed'")
    capturing.sql(
        "update {schema}.consumer_bookmarks set consumer = 'feed' where consumer = 'other.feed'"
    )
    output = capturing.project.dbt("run", "--select", "other.marts.feed").output
    assert mark in output and "dbt run --full-refresh --select other.marts.feed replaces" in output
    capturing.sql(f"update {{schema}}.{mark}")
    capturing.sql("update {schema}.consumer_bookmarks set consumer = 'feed' where consumer = 'old'")
    capturing.run("--select", "other.marts.feed")
    found = [row.id for row in capturing.sql("select id from {schema}_other.feed order by id")]
    capturing.sql("drop schema {schema}_other cascade")
    assert found == ids(capturing, "feed") == [1, 2]
    marks = capturing.sql("select consumer from {schema}.consumer_bookmarks order by consumer")
    assert [mark.consumer for mark in marks] == ["feed", "other.feed"]


@pytest.mark.more
@pytest.mark.parametrize("is_padded", [True, False])
def test_a_key_of_type_char(make_project: Callable[..., Project], is_padded: bool) -> None:
    """One row for each key, however it is padded: in the first table, an initial one, later
    changes, whatever the session is set to, and when the source makes it a varchar."""
    columns = (("code", "char(5)"), ("n", "int"))
    codes = CaptureInstance("dbo", "codes", "dbo_codes", columns, ("code",))
    initial = f", initial=target.schema ~ '.dump', initial_lsn='{int_to_lsn(0)}'"

    def model(config: str, more: str = "") -> str:
        changes = f"{{{{ dbt_cdc.new_changes('dbo_codes'{more}) }}}}"
        return f"{{{{ config({config}) }}}}\nselect * from {changes}\n"

    models = {
        "codes.sql": model("materialized='replica'"),
        "versions.sql": model("materialized='history'"),
        "begun.sql": model("materialized='replica'", initial),
        "fed.sql": model(APPEND, ", 'net'" + initial),
    }
    capturing, writer = Capture(make_project, [codes, LINES], models=models, vars=PLAIN), Writer()
    capturing.sql(
        "create table {schema}.dump using delta as"
        " select cast(code as char(5)) as code, 1 as n from values ('abc'), ('xyz') as (code)"
    )

    def change(old: int, new: int) -> None:
        before, after = ({"code": "abc", "n": n} for n in (old, new))
        capturing.land(writer.commit("codes", before, after))

    def found(table: str, condition: str = "true") -> list[tuple[str, int]]:
        query = f"select trim(code) as code, n from {{schema}}.{table} where {condition} order by 1"
        return [(row.code, row.n) for row in capturing.sql(query)]

    def pad(sql: str, go: Callable[..., Any]) -> Any:
        """A model of another thread is done with whatever setting it had."""
        if "create or replace table" in sql or "merge into" in sql:
            capturing.sql(f"set spark.sql.readSideCharPadding = {is_padded}")
        return go()

    def run() -> None:
        with around_statements(pad):
            capturing.run()
        capturing.sql("reset spark.sql.readSideCharPadding")

    change(1, 2)
    run()
    assert found("fed") == [("abc", 2), ("xyz", 1)]
    change(2, 3)
    capturing.land(writer.commit("codes", {"code": "xyz", "n": 1}))
    is_padded = not is_padded
    run()
    ddl = json.dumps([{"name": "code", "type": "varchar(20)"}, {"name": "n", "type": "int"}])
    command = "ALTER TABLE dbo.codes ALTER COLUMN code varchar(20)"
    capturing.land(
        [writer.record("DDL", "codes", tran_id=None, after_image=ddl, ddl_command=command)]
    )
    change(3, 4)
    capturing.run()
    assert found("codes") == found("begun") == [("abc", 4)]
    assert found("versions", "valid_to_lsn is null") == [("abc", 4)]


@pytest.mark.more
@pytest.mark.parametrize("config", ["materialized='replica'", APPEND])
def test_upserts_of_partial_images_are_refused(
    make_project: Callable[..., Project], config: str
) -> None:
    """They do not tell what an update leaves as it was; by themselves, net changes do."""
    capturing = Capture(make_project, [ITEMS], vars=PLAIN, before_image="partial")
    project, writer = capturing.project, Writer()
    model = "{{ config(" + config + ") }} select * from {{ dbt_cdc.new_changes('dbo_items'MODE) }}"
    project.write("models/items.sql", model.replace("MODE", ", 'net with merge'"))
    capturing.land(writer.insert("items", id=1, name="a"))
    result = project.dbt("run")
    assert not result.success
    assert "CDC 313: items takes mode 'net with merge', and before_image of dbo_items" in (
        result.output
    )
    project.write("models/items.sql", model.replace("MODE", ", 'net with mask'"))
    capturing.run()
    capturing.land(writer.commit("items", {"id": 1, "name": "a"}, {"id": 2}))
    capturing.run()
    rows = sorted((r.id, r.name) for r in capturing.sql("select * from {schema}.items") if r.id)
    assert rows[-1:] == [(2, "a")], rows
    assert rows == [(2, "a")] or "append" in config, rows


SEEN = """{{ config(materialized='replica') }}
select changes.id, named.name, changes.`__$operation`
from {{ dbt_cdc.new_changes('dbo_items') }} as changes
left join {{ ref('named') }} as named on changes.id = named.id
"""


@pytest.mark.more
def test_a_consumer_waits_for_one_that_it_reads(capturing: Capture) -> None:
    """Through a view; what it took before that one has the rows it would never look at again."""
    named = "select * from {{ ref('items') }}"
    writer, project = begun(capturing, items=REPLICA, named=named, seen=SEEN), capturing.project

    def seen() -> list[tuple[Any, ...]]:
        return [tuple(row) for row in capturing.sql("select * from {schema}.seen order by id")]

    capturing.land(writer.insert("items", id=2, name="b"))
    capturing.run("--select", "+items")
    last = writer.last
    capturing.land(writer.insert("items", id=3, name="c"))
    capturing.run("--select", "+lsn_time_mapping")
    output = capturing.run("--select", "seen").output
    assert "seen waits for items, which it reads" in output
    assert f"which has consumed dbo_items up to {last}" in output
    assert seen() == [(1, "a"), (2, "b")]
    marks = capturing.sql("select distinct last_lsn, last_time from {schema}.cdc_consumers")
    assert [mark.last_lsn for mark in marks] == [last]
    assert "waits for" not in project.ok("run", "--select", "items", "seen").output
    assert seen() == [(1, "a"), (2, "b"), (3, "c")]
    # as for a lookup that is built now and then; and where nothing of it is known
    capturing.land(writer.insert("items", id=4, name="d"))
    capturing.run("--select", "+lsn_time_mapping")
    ahead = SEEN.replace("'replica'", "'replica', meta={'may_run_ahead': true}")
    project.write("models/seen.sql", ahead)
    assert "waits for" not in capturing.run("--select", "seen").output
    assert seen()[3:] == [(4, None)]
    project.write("models/seen.sql", SEEN)
    assert operation(capturing, "reset_consumer", consumer="items", dry_run=False).success
    result = project.dbt("run", "--select", "seen", "--full-refresh")
    assert "CDC 313: seen reads items, which has consumed nothing of dbo_items yet" in result.output
    assert len(seen()) == 4


@pytest.mark.more
def test_a_retry_runs_a_consumer_and_one_that_reads_it(capturing: Capture) -> None:
    """dbt does not say then what is selected: neither waits for the other."""
    named = "{{ config(materialized='table') }} select * from {{ ref('items') }}"
    writer, project = begun(capturing), capturing.project
    for path, text in {"items": REPLICA, "named": named, "seen": SEEN}.items():
        project.write(f"models/{path}.sql", text)
    for number, name in ((2, "b"), (3, "c")):
        capturing.land(writer.insert("items", id=number, name=name))
        project.write("models/items.sql", REPLICA.replace("select *", "select nothing.*"))
        failed = project.dbt("run", "--write-json")
        assert not failed.success and failed.messages["seen"].status == "skipped"
        project.write("models/items.sql", REPLICA)
        retried = project.ok("retry")
        assert "waits for" not in retried.output
        found = capturing.sql("select id, name from {schema}.seen order by id")
        assert [tuple(row) for row in found][number - 1 :] == [(number, name)]
        assert "dbo_items_ct" not in retried.messages


def test_a_consumer_reads_one_that_is_further(capturing: Capture) -> None:
    """It waits for another; what it read of the first was taken back within its next window."""
    joined = (
        "{{ config(materialized='replica') }}\n"
        "select changes.*, items.name as read, lines.n from {{ dbt_cdc.new_changes('dbo_items') }}"
        " as changes left join {{ ref('items') }} as items using (id)"
        " left join {{ ref('lines') }} as lines using (id)\n"
    )
    lines = REPLICA.replace("dbo_items", "dbo_lines")
    writer = begun(capturing, items=REPLICA, lines=lines, joined=joined)
    a, b, c = ({"id": 1, "name": name} for name in "abc")
    capturing.land(writer.commit("items", a, b) + writer.insert("lines", id=1, n=1))
    capturing.run("--select", "+lsn_time_mapping", "lines")
    capturing.land(writer.commit("items", b, c))
    capturing.run("--select", "+lsn_time_mapping")
    output = capturing.run("--select", "items", "joined").output
    assert "joined waits for lines" in output
    (found,) = capturing.sql("select name, read from {schema}.joined")
    assert (found.name, found.read) == ("b", "c")
    capturing.land(writer.commit("items", c, b))
    capturing.run()
    (found,) = capturing.sql("select name, read from {schema}.joined")
    assert (found.name, found.read) == ("b", "b")


@pytest.mark.more
def test_a_dump_may_be_newer_than_its_lsn(capturing: Capture) -> None:
    """A row of it was inserted and deleted behind that LSN, another was changed and back."""
    writer = begun(capturing)
    initial_lsn = writer.last
    capturing.sql(
        "create table {schema}.dump using delta as select * from values (1, 'b'), (5, 'e')"
        " as dump (id, name)"
    )
    a, b, e = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}, {"id": 5, "name": "e"}
    for change in ((None, e), (a, b), (e, None), (b, a)):
        capturing.land(writer.commit("items", *change))
    initial = f"'dbo_items', initial=target.schema ~ '.dump', initial_lsn='{initial_lsn}'"
    capturing.project.write("models/items.sql", REPLICA.replace("'dbo_items'", initial))
    capturing.run()
    found = capturing.sql("select * from {schema}.items")
    assert [tuple(row) for row in found] == [(1, "a")]


@pytest.mark.more
def test_no_consumer_that_waits_begins_before_a_truncate(capturing: Capture) -> None:
    """What the transaction of the TRUNCATE has written has the LSN up to which rows are gone."""
    named, seen = REPLICA.replace("dbo_items", "dbo_lines"), SEEN.replace("named.name", "named.n")
    writer, project = begun(capturing, named=named, seen=seen), capturing.project
    last = writer.last
    writer.transactions += 1
    capturing.land([
        writer.record("BEGIN"), writer.record("TRUNCATE", "items"),
        writer.record("INSERT", "items", after_image={"id": 2, "name": "b"}),
        writer.record("COMMIT"),
    ])  # fmt: skip
    low_end = writer.last
    capturing.land(writer.insert("lines", id=2, n=7))
    capturing.run("--select", "+lsn_time_mapping")
    assert operation(capturing, "reset_consumer", consumer="seen", dry_run=False).success
    fed = seen.replace("materialized='replica'", APPEND).replace(
        "changes.`__$operation`", "1 as op"
    )
    project.write("models/fed.sql", fed)
    messages = project.dbt("run", "--select", "seen", "fed").messages
    for name in ("seen", "fed"):
        said = f"CDC 313: {name} cannot begin yet: what is left of capture instance dbo_items"
        assert f"{said} begins at {low_end}, and it reads named" in messages[name].message
        assert f"up to {last}: dbt run --select named {name}" in messages[name].message
    capturing.run("--select", "named", "seen", "fed")
    for name in ("seen", "fed"):
        assert [tuple(r)[:2] for r in capturing.sql(f"select * from {{schema}}.{name}")] == [(2, 7)]


@pytest.mark.more
def test_a_new_consumer_takes_what_is_left(capturing: Capture) -> None:
    """By the command that its error names, it begins without what cleanup has removed."""
    writer, project = begun(capturing), capturing.project
    for number in (2, 3):
        capturing.land(writer.insert("items", id=number, name="b"))
        capturing.run()
    mark = {"capture_instance": "dbo_items", "low_water_mark": writer.last}
    assert operation(capturing, "cleanup_change_table", **mark).success
    versions = REPLICA.replace("'replica'", "'history'")
    for name, text in {"items": REPLICA, "versions": versions}.items():
        project.write(f"models/{name}.sql", text)
        message = project.dbt("run").messages[name].message
        assert f"CDC 313: {name} would start without a part of the table" in message
        assert f"reset_consumer --args '{{consumer: {name}}}'" in message
        shown = operation(capturing, "reset_consumer", consumer=name).output
        assert re.search(rf"{name} +dbo_items +NULL +{writer.last} +0x", shown), shown
        assert not project.dbt("run").success
        assert operation(capturing, "reset_consumer", consumer=name, dry_run=False).success
        capturing.run()
    capturing.land(writer.insert("items", id=4, name="b"))
    capturing.run()
    assert ids(capturing, "items") == ids(capturing, "versions") == [3, 4]
    marks = capturing.sql("select last_lsn, accepts_loss from {schema}.consumer_bookmarks")
    assert [tuple(mark) for mark in marks] == [(writer.last, False)] * 2
    project.write("models/feed.sql", FEED)
    assert (
        "CDC 313: consumer 'feed' does not"
        in operation(capturing, "reset_consumer", consumer="feed").output
    )


@pytest.mark.more
def test_the_name_of_an_instance_for_another_table(capturing: Capture) -> None:
    writer, project = begun(capturing, items=REPLICA, feed=FEED), capturing.project
    given = {"source_schema": "dbo", "source_name": "items", "capture_instance": "dbo_items"}
    assert operation(capturing, "disable_table", dry_run=False, **given).success
    other = replace(ITEMS, source_name="others")
    project.write("models/instances.yml", instance_yaml([other, LINES]))
    capturing.land(writer.insert("others", id=7, name="x"))
    messages = project.dbt("run").messages
    for name in ("items", "feed"):
        assert "dbo_items of dbo.items up to" in messages[name].message
        assert "it is one of dbo.others now" in messages[name].message
    assert ids(capturing, "items") == ids(capturing, "feed") == [1]
    for name in ("items", "feed"):
        assert operation(capturing, "reset_consumer", consumer=name, dry_run=False).success
    capturing.land(writer.insert("others", id=8, name="y"))
    capturing.run()
    assert ids(capturing, "items") == [7, 8]
    assert ids(capturing, "feed") == [1, 7, 8]


TWO = (
    FEED.replace("id from", "'items' as source, id from")
    + "union all select `__$operation`, 'lines', id from {{ dbt_cdc.new_changes('dbo_lines') }}\n"
)


@pytest.mark.more
def test_a_truncate_of_one_of_two_instances(capturing: Capture) -> None:
    """The way on takes what is left of it, and nothing of the other one again."""
    writer, project = Writer(), capturing.project
    project.write("models/feed.sql", TWO)
    capturing.land([*writer.insert("items", id=1, name="a"), *writer.insert("lines", id=1, n=1)])
    capturing.run()
    capturing.land([writer.record("TRUNCATE", "items", tran_id=None)])
    capturing.land([*writer.insert("items", id=2, name="b"), *writer.insert("lines", id=2, n=2)])
    said = project.dbt("run").messages["feed"].message
    assert "reset_consumer --args '{consumer: feed, capture_instance: dbo_items}'" in said
    given = {"consumer": "feed", "capture_instance": "dbo_items", "dry_run": False}
    assert "with dbo_lines it goes on" in operation(capturing, "reset_consumer", **given).output
    capturing.run()
    rows = capturing.sql("select source, id from {schema}.feed order by source, id")
    assert [tuple(r) for r in rows] == [("items", 1), ("items", 2), ("lines", 1), ("lines", 2)]


@pytest.mark.parametrize("is_anew", [pytest.param(False, marks=pytest.mark.more), True])
def test_an_instance_that_is_left_out_and_comes_back(capturing: Capture, is_anew: bool) -> None:
    """It goes on from where it was, unless its rows are gone; meanwhile nobody waits for it."""
    writer, project = Writer(), capturing.project
    project.write("models/feed.sql", TWO)
    capturing.land([*writer.insert("items", id=1, name="a"), *writer.insert("lines", id=1, n=1)])
    capturing.run()
    project.write("models/feed.sql", TWO.split("union all")[0])
    capturing.land([*writer.insert("items", id=2, name="b"), *writer.insert("lines", id=2, n=2)])
    output = capturing.run(*(["--full-refresh"] if is_anew else [])).output
    assert ("feed does not read capture instance dbo_lines any more" in output) != is_anew
    marks = capturing.sql("select capture_instance from {schema}.cdc_consumers")
    assert [mark.capture_instance for mark in marks] == ["dbo_items"]
    project.write("models/feed.sql", TWO)
    for _ in range(2):
        capturing.run()
        rows = capturing.sql("select source, id from {schema}.feed order by source, id")
        assert [tuple(r) for r in rows] == [
            ("items", 1), ("items", 2), ("lines", 1), ("lines", 2)
        ]  # fmt: skip
    assert len(capturing.sql("select * from {schema}.cdc_consumers")) == 2


@pytest.mark.more
@pytest.mark.parametrize("kind", ["replica", "history"])
def test_a_change_without_an_operation(capturing: Capture, kind: str) -> None:
    """Its row would stay for good, or never come."""
    part = (
        "* except (`__$operation`),"
        " case when name = 'a' then `__$operation` else null end as `__$operation`"
    )
    model = REPLICA.replace("*", part).replace("'replica'", f"'{kind}'")
    writer, project = begun(capturing, items=model), capturing.project
    one, two = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
    capturing.land(writer.commit("items", one, two))
    for options, given in ((), "NULL"), (["--full-refresh"], "NULL"), ((), "6"):
        project.write("models/items.sql", model.replace("null", given.lower()))
        result = project.dbt("run", *options)
        said = f"CDC 22938: {kind} items gives a change the __$operation {given}: pass on that of"
        assert not result.success and said in result.output, result.output
        assert "write else 1" in result.output and "\tat " not in result.output
        assert ids(capturing, "items") == [1]
    project.write("models/items.sql", model.replace("null", "1"))
    capturing.run()
    present = "items where valid_to_lsn is null" if kind == "history" else "items"
    assert ids(capturing, present) == []


@pytest.mark.more
def test_an_empty_run_beside_one_that_merges(capturing: Capture) -> None:
    """It opens the bookmark where it was, behind the MERGE: what came by that and goes is gone."""
    writer, project = begun(capturing, items=REPLICA), capturing.project
    capturing.land(writer.insert("items", id=2, name="b"))
    with dying_at(lambda sql: "merge into" in sql):
        assert not project.dbt("run").success
    assert ids(capturing, "items") == [1, 2]
    (commit,) = capturing.sql("describe history {schema}.items limit 1")
    opened = f"open_lsn = last_lsn, target_version = {commit.version}"
    capturing.sql(f"update {{schema}}.consumer_bookmarks set {opened}")
    capturing.land(writer.commit("items", {"id": 2, "name": "b"}, None))
    capturing.run()
    assert ids(capturing, "items") == [1]
