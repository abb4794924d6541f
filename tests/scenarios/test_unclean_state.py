"""State, tables or a log that somebody moved, lost or edited: an error, never an empty answer."""

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
from reference.change_tracking import TrackedTable
from statements import dying_at
from tracking import Tracking
from transactions import Writer

pytestmark = pytest.mark.slow

ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("name", "string")), ("id",))
LINES = CaptureInstance("dbo", "lines", "dbo_lines", (("id", "int"), ("n", "int")), ("id",))
AGAIN = replace(ITEMS, capture_instance="items_again")
PLAIN = {"cdc_persistent_functions": False}
APPEND = "materialized='incremental', incremental_strategy='append', file_format='delta'"
FEED = "{{ config(" + APPEND + ") }}\nselect id from {{ dbt_cdc.new_changes('dbo_items') }}\n"
REPLICA = (
    "{{ config(materialized='replica') }}\n"
    "select * from {{ dbt_cdc.new_changes('dbo_items') }}\n"
)  # fmt: skip
DISABLE = {"source_schema": "dbo", "source_name": "items", "capture_instance": "dbo_items"}


def operation(capturing: Capture, name: str, **arguments: Any) -> DbtResult:
    return capturing.project.dbt("run-operation", name, "--args", json.dumps(arguments))


def ids(capturing: Capture, table: str) -> list[int]:
    return sorted(row.id for row in capturing.sql(f"select id from {{schema}}.{table}"))


def refused(capturing: Capture, *parts: str, args: tuple[str, ...] = ()) -> None:
    result = capturing.project.dbt("run", *args)
    assert not result.success
    for part in parts:
        assert part in result.output, result.output
    assert "org.apache" not in result.output


@pytest.fixture
def capturing(make_project: Callable[..., Project]) -> Capture:
    """A project that captures items, with a row that is published."""
    made = Capture(make_project, [ITEMS], vars=PLAIN)
    made.writer = Writer()  # type: ignore[attr-defined]
    made.land(made.writer.insert("items", id=1, name="a"))  # type: ignore[attr-defined]
    made.run()
    return made


def land(capturing: Capture, *numbers: int) -> None:
    for number in numbers:
        capturing.land(capturing.writer.insert("items", id=number, name="a"))  # type: ignore[attr-defined]


@pytest.mark.more
def test_a_truncate_in_another_letter_case(capturing: Capture) -> None:
    """As MySQL logs it with lower_case_table_names=1; the error's statements make it one of the
    table. Rows of a table that is called so are another table's."""
    writer = capturing.writer  # type: ignore[attr-defined]
    capturing.land([writer.record("TRUNCATE", "Items", tran_id=None)])
    land(capturing, 2)
    for _ in range(2):
        refused(
            capturing, "CDC 22931: the log has a record at", "that empties dbo.Items (TRUNCATE)"
        )
    said = capturing.project.dbt("run").output
    update, delete = re.findall(
        r"(update \S+ set source_schema.*?'0x\w+'|delete from .*?'0x\w+')", said
    )[:2]
    capturing.amend(re.findall(r"0x\w{20}", update)[-1], source_name="items")
    capturing.sql(delete.replace("`", ""))
    capturing.run()
    assert ids(capturing, "dbo_items_ct") == [1, 2]
    assert capturing.intervals()["dbo_items"][0] > writer.last[:1]
    assert capturing.sql("select lost_lsn from {schema}.change_tables")[0].lost_lsn
    capturing.land(writer.insert("Items", id=1, name="a"))
    capturing.land([writer.record("TRUNCATE", "Items", tran_id=None)])
    capturing.run()


def test_a_change_table_that_is_gone(capturing: Capture) -> None:
    """It is not made anew, empty, while readers are told of its rows; nor where --empty would."""
    capturing.sql("drop table {schema}.dbo_items_ct")
    refused(capturing, "CDC 22981: change table", "is not there", "disable_table")
    refused(capturing, "CDC 22981: change table", args=("--empty",))
    assert operation(capturing, "disable_table", dry_run=False, **DISABLE).success
    land(capturing, 2)
    capturing.run()
    assert ids(capturing, "dbo_items_ct") == [2]


@pytest.mark.more
def test_disable_table_that_dies_and_the_table_again(capturing: Capture) -> None:
    """What the view still tells of the instance before is not that of the new one."""
    with dying_at(lambda sql: "delete from" in sql and "change_tables" in sql):
        assert not operation(capturing, "disable_table", dry_run=False, **DISABLE).success
    yaml = instance_yaml([ITEMS], capture_from="log_start")
    capturing.project.write("models/instances.yml", yaml)
    land(capturing, 2)
    # readers are told of nothing until the new one is published
    with dying_at(lambda sql: "insert into" in sql and "dbo_items_ct" in sql):
        assert not capturing.project.dbt("run").success
    told = "select 1 from {schema}.validity_intervals where high_end is not null"
    assert capturing.sql(told) == []
    result = capturing.project.dbt("run")
    if not result.success:  # died before its row in change_tables was gone: taken up again
        assert operation(capturing, "disable_table", dry_run=False, **DISABLE).success
        result = capturing.project.dbt("run")
    assert result.success, result.output
    assert ids(capturing, "dbo_items_ct") == [1, 2]


@pytest.mark.more
def test_the_only_table_is_captured_anew_without_a_window(capturing: Capture) -> None:
    """Nobody is left to publish the window that stops the run: a run without models closes it."""
    writer, project = capturing.writer, capturing.project  # type: ignore[attr-defined]
    capturing.land(writer.insert("items", id="a", name="b"))
    stopped = writer.last
    refused(capturing, "CDC 22859: bad log record")
    assert operation(capturing, "disable_table", dry_run=False, **DISABLE).success
    files = {name: (project.folder / f"models/{name}").read_text("utf-8")
             for name in ("instances.yml", "dbo_items_ct.sql")}  # fmt: skip
    for name in files:
        (project.folder / f"models/{name}").unlink()
    assert "nobody captures the window up to" in capturing.run().output
    assert "nobody captures" not in capturing.run().output
    for name, text in files.items():
        project.write(f"models/{name}", text)
    land(capturing, 3)
    capturing.run()
    assert ids(capturing, "dbo_items_ct") == [3]
    assert capturing.intervals()["dbo_items"][0] > stopped


@pytest.mark.more
def test_state_that_is_lost(capturing: Capture) -> None:
    """Rows that nobody knows of do not stand for those of the first window."""
    land(capturing, 2)
    for table in ("change_tables", "captured_columns", "index_columns", "lsn_time_mapping"):
        capturing.sql(f"delete from {{schema}}.{table}")
    capturing.sql("delete from {schema}.scan_transactions")
    capturing.sql("drop view {schema}.validity_intervals")
    refused(capturing, "CDC 22906: change table", "has rows", "drop the change table")
    capturing.sql("drop table {schema}.dbo_items_ct")
    capturing.run()
    assert ids(capturing, "dbo_items_ct") == [1, 2]


@pytest.mark.more
def test_a_log_that_is_gone(capturing: Capture) -> None:
    tables = [{"name": "landed"}, {"name": "moved"}]
    sources = {"sources": [{"name": "land", "schema": "{{ target.schema }}", "tables": tables}]}
    capturing.project.write("models/sources.yml", json.dumps(sources))
    vars: dict[str, Any] = {"cdc_log_model": None, "cdc_log_source": ["land", "moved"]}
    result = capturing.project.dbt("run", vars=vars)
    assert not result.success and "CDC 22901: the log" in result.output
    vars["cdc_log_source"] = ["land", "landed"]
    capturing.project.ok("run", vars=vars)


@pytest.mark.more
def test_to_begin_anew_behind_a_gap_of_the_log(make_project: Callable[..., Project]) -> None:
    """How far the log was scanned outlives disable_table, so that replicas know what they lack."""
    capturing = Capture(make_project, [ITEMS], vars=PLAIN, fresh=True)
    capturing.writer = Writer()  # type: ignore[attr-defined]
    land(capturing, 1)
    capturing.run()
    for lsn in [row.lsn for row in capturing.sql("select lsn from {schema}.landed")]:
        capturing.amend(lsn)
    land(capturing, 3)
    assert operation(capturing, "disable_table", dry_run=False, **DISABLE).success
    refused(capturing, "CDC 22859: the log begins at", "else begin anew: disable_table")
    capturing.run("--vars", "{cdc_log_gap: pass}")
    assert ids(capturing, "dbo_items_ct") == [3]
    capturing.project.write("models/items.sql", REPLICA)
    refused(capturing, "CDC 313: items would start without a part of the table")


@pytest.mark.more
def test_a_log_that_lost_what_was_not_captured(capturing: Capture) -> None:
    """Nothing tells what was between the last captured commit and the first that is left."""
    writer: Writer = capturing.writer  # type: ignore[attr-defined]
    last = writer.last
    land(capturing, 2)
    assert operation(capturing, "log_truncation_point").output.count(last) == 1
    for lsn in [row.lsn for row in capturing.sql("select lsn from {schema}.landed")]:
        capturing.amend(lsn)
    land(capturing, 3)
    refused(capturing, "CDC 22859: the log begins at", last, "cdc_log_gap: pass")
    assert ids(capturing, "dbo_items_ct") == [1]
    capturing.run("--vars", "{cdc_log_gap: pass}")
    land(capturing, 4)
    capturing.run()
    assert ids(capturing, "dbo_items_ct") == [1, 3, 4]
    # an instance that begins with such a log has not all of the table, also in a second command
    capturing.project.write("models/again.yml", instance_yaml([AGAIN], capture_from="log_start"))
    capturing.project.write("models/items_again_ct.sql", "{{ dbt_cdc.change_table() }}")
    capturing.project.write("models/items.sql", REPLICA.replace("dbo_items", "items_again"))
    land(capturing, 5)
    with dying_at(lambda sql: "insert into" in sql and "items_again_ct" in sql):
        assert not capturing.project.dbt("run").success
    refused(capturing, f"items_again up to {last} were removed or never captured")
    # an open window whose records go
    land(capturing, 6)
    capturing.run("--select", "scan_transactions")
    capturing.sql("truncate table {schema}.landed")
    refused(capturing, "CDC 22859: the log begins at no record any more")


@pytest.mark.more
def test_a_log_that_is_trimmed_before_an_instance_is_published(capturing: Capture) -> None:
    """It was to begin with the log, and its model is away when somebody asks what may go."""
    project = capturing.project
    land(capturing, 2)
    project.write("models/again.yml", instance_yaml([AGAIN], capture_from="log_start"))
    project.write("models/items_again_ct.sql", "{{ dbt_cdc.change_table() }}")
    with dying_at(lambda sql: "insert into" in sql and "items_again_ct" in sql):
        assert not project.dbt("run").success
    for file in ("again.yml", "items_again_ct.sql"):
        (project.folder / "models" / file).unlink()
    capturing.run()
    assert "0x00000000000000000000" in operation(capturing, "log_truncation_point").output
    first = capturing.sql("select min(lsn) as lsn from {schema}.landed")[0].lsn
    for lsn in [row.lsn for row in capturing.sql("select lsn from {schema}.landed order by 1")][:3]:
        capturing.amend(lsn)
    land(capturing, 3)
    project.write("models/again.yml", instance_yaml([AGAIN], capture_from="log_start"))
    project.write("models/items_again_ct.sql", "{{ dbt_cdc.change_table() }}")
    refused(capturing, f"CDC 22859: the log begins behind {first}, where", "'items_again' begins")


@pytest.mark.more
def test_images_that_were_partial(make_project: Callable[..., Project]) -> None:
    """Their rows would be read as whole: NULL for what was not told."""
    whole = replace(ITEMS, columns=(*ITEMS.columns, ("n", "int")))
    partial = replace(whole, before_image="partial")
    capturing, writer = Capture(make_project, [whole, LINES]), Writer()
    capturing.land([*writer.insert("items", id=1, name="a"), *writer.insert("lines", id=1, n=1)])
    capturing.run()

    def edit(instance: CaptureInstance) -> None:
        capturing.project.write("models/instances.yml", instance_yaml([instance, LINES]))

    edit(partial)
    capturing.land(writer.commit("items", {"id": 1}, {"id": 1, "n": 2}))
    said = capturing.run().output
    assert "make fn_net_changes_dbo_items anew" in said
    ends = capturing.intervals()["dbo_items"]
    rows = capturing.call("fn_cdc_get_net_changes_dbo_items", *ends, "all with mask")
    assert [(row.id, row.name, row.n) for row in rows] == [(1, "a", 2)]
    edit(whole)
    capturing.land(writer.commit("items", {"id": 1, "name": "a"}, {"id": 1, "name": "b"}))
    refused(capturing, "CDC 22963: the before_image of capture instance 'dbo_items' were edited")
    edit(partial)
    capturing.run()
    # nor does a replica of a part have what the update of a row that comes in does not tell
    part = "* except (`__$operation`), if(id > 0, `__$operation`, 1) `__$operation`"
    capturing.project.write("models/part.sql", REPLICA.replace("*", part, 1))
    refused(capturing, "CDC 22938: replica part gives", "before_image of dbo_items is partial")
    for column in ("name title", "sha2(name, 256) as hash", "coalesce(upper(name), '') as name"):
        capturing.project.write(
            "models/part.sql",
            REPLICA.replace("*", f"id, {column}, `__$operation`, `__$update_mask`", 1),
        )
        refused(capturing, "CDC 22938: replica part makes another column of name")


@pytest.mark.more
@pytest.mark.parametrize("older", [False, True])
def test_state_of_an_older_version(capturing: Capture, older: bool) -> None:
    """Columns that change_tables got since are added."""
    names = ("before_image", "lob_before_image")
    if older:
        capturing.sql(
            "create or replace table {schema}.change_tables using delta as select * except ("
            + ", ".join(names) + ") from {schema}.change_tables"
        )  # fmt: skip
    capturing.project.write("models/lines.yml", instance_yaml([LINES]))
    capturing.project.write("models/dbo_lines_ct.sql", "{{ dbt_cdc.change_table() }}")
    land(capturing, 2)
    capturing.run()
    rows = capturing.sql("select capture_instance, before_image from {schema}.change_tables")
    known = None if older else "complete"
    assert {r.capture_instance: r.before_image for r in rows} == {
        "dbo_items": known, "dbo_lines": "complete"
    }  # fmt: skip


@pytest.mark.more
@pytest.mark.parametrize("rows", [0, 1])
def test_bookmarks_of_an_older_version(capturing: Capture, rows: int) -> None:
    """A new consumer adds the column, beside others and as the first one."""
    capturing.project.write("models/feed.sql", FEED)
    if rows:
        capturing.run()
    capturing.run("--select", "consumer_bookmarks")
    capturing.sql(
        "create or replace table {schema}.consumer_bookmarks using delta partitioned by (consumer) "
        "as select * except (relation, source_table) from {schema}.consumer_bookmarks"
    )
    capturing.project.write("models/items.sql", REPLICA)
    capturing.run("--select", "items")
    land(capturing, 2)
    capturing.run()
    assert ids(capturing, "feed") == ids(capturing, "items") == [1, 2]
    query = "select relation, source_table from {schema}.consumer_bookmarks order by 1"
    told = capturing.sql(query)
    assert [tuple(row) for row in told] == [
        (f"{capturing.schema}.{name}", "dbo.items") for name in ("feed", "items")
    ]


@pytest.mark.more
def test_a_feed_that_is_renamed_and_keeps_its_table(capturing: Capture) -> None:
    capturing.project.write("models/feed.sql", FEED)
    capturing.run()
    (capturing.project.folder / "models/feed.sql").unlink()
    renamed = FEED.replace("materialized=", "alias='feed', materialized=")
    capturing.project.write("models/fct_feed.sql", renamed)
    land(capturing, 2)
    refused(
        capturing, "CDC 2714: table", "if it is what 'feed' was, take its bookmark over: update"
    )
    capturing.sql("update {schema}.consumer_bookmarks set consumer = 'fct_feed'")
    capturing.run()
    assert ids(capturing, "feed") == [1, 2]


@pytest.mark.more
def test_a_truncate_that_is_not_published(capturing: Capture) -> None:
    """Whoever starts over meanwhile would have the rows of before for good."""
    writer: Writer = capturing.writer  # type: ignore[attr-defined]
    capturing.project.write("models/items.sql", REPLICA)
    capturing.run()
    writer.transactions += 1
    capturing.land([
        writer.record("TRUNCATE", "items"),
        writer.record("INSERT", "items", after_image={"id": 7, "name": "z"}),
        writer.record("COMMIT"),
    ])  # fmt: skip
    with dying_at(lambda sql: "insert into" in sql and "lsn_time_mapping" in sql):
        assert not capturing.project.dbt("run").success
    capturing.project.write("models/new_items.sql", REPLICA)
    for name in ("items", "new_items"):
        if name == "items":
            assert operation(capturing, "reset_consumer", consumer="items", dry_run=False).success
        refused(capturing, "CDC 313: the rows of dbo.items", "is not published yet",
                args=("--select", name))  # fmt: skip
    capturing.run("--select", "+lsn_time_mapping")
    assert operation(capturing, "reset_consumer", consumer="items", dry_run=False).success
    capturing.project.dbt("run")
    assert ids(capturing, "items") == [7]


@pytest.mark.more
def test_a_table_in_another_letter_case(capturing: Capture) -> None:
    odd = replace(LINES, source_name="Lines")
    capturing.project.write("models/lines.yml", instance_yaml([odd]))
    capturing.project.write("models/dbo_lines_ct.sql", "{{ dbt_cdc.change_table() }}")
    land(capturing, 2)
    assert "the log has no record of dbo.Lines yet" in capturing.run().output
    capturing.land(capturing.writer.insert("lines", id=1, n=1))  # type: ignore[attr-defined]
    refused(capturing, "CDC 22931: model 'dbo_lines_ct' captures table dbo.Lines, and the log has "
            "dbo.lines")  # fmt: skip
    (capturing.project.folder / "models/lines.yml").unlink()
    (capturing.project.folder / "models/dbo_lines_ct.sql").unlink()
    other = replace(odd, capture_instance="odd_lines")
    capturing.project.write("models/odd.yml", instance_yaml([other]))
    capturing.project.write("models/odd_lines_ct.sql", "{{ dbt_cdc.change_table() }}")
    capturing.land(capturing.writer.insert("lines", id=1, n=1))  # type: ignore[attr-defined]
    refused(capturing, "CDC 22931: model 'odd_lines_ct' captures table dbo.Lines, and the log has "
            "dbo.lines")  # fmt: skip


@pytest.mark.more
def test_a_side_table_that_is_gone(make_project: Callable[..., Project]) -> None:
    table = TrackedTable("dbo", "items", (("id", "int"), ("name", "string")), ("id",))
    tracking, writer = Tracking(make_project, [table]), Writer()
    tracking.land(writer.insert("items", id=1, name="a"))
    tracking.run()
    tracking.sql("drop table {schema}.change_tracking_dbo_items")
    refused(tracking, "CDC 4997: side table", "is not there", "disable_change_tracking")


@pytest.mark.more
def test_a_mask_and_a_key_that_changes(make_project: Callable[..., Project]) -> None:
    """A value that the log does not tell again is masked once."""
    columns = (("id", "int"), ("name", "string"))
    partial = CaptureInstance("dbo", "items", "dbo_items", columns, ("id",), "partial")
    capturing, writer = Capture(make_project, [partial], vars=PLAIN), Writer()
    capturing.project.write(
        "models/dbo_items_ct.sql",
        "select * except (name), concat('#', name) as name from ({{ dbt_cdc.change_table() }})",
    )
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run()
    capturing.land(writer.commit("items", {"id": 1}, {"id": 2}))
    capturing.run()
    rows = capturing.sql("select id, name from {schema}.dbo_items_ct where `__$operation` = 2")
    assert sorted((row.id, row.name) for row in rows) == [(1, "#a"), (2, "#a")]
