"""The scan, the change tables and the publication as nodes of dbt's graph: what each does alone,
and what `dbt compile` shows of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from harness import Project
from pyspark.sql import Row
from reference.change_tracking import TrackedTable
from statements import rendering
from story import Story
from tracking import Tracking, tracked_models

pytestmark = pytest.mark.slow

TRACKED = TrackedTable("dbo", "items", (("id", "int"), ("name", "string")), ("id",), False)
ENDS = "'dbo_items', dbt_cdc.get_min_lsn('dbo_items'), dbt_cdc.get_max_lsn()"
READERS = {
    "now.sql": "{{ config(materialized='replica') }}"
    " select * from {{ dbt_cdc.new_changes('dbo_items') }}",
    "versions.sql": "{{ config(materialized='history') }}"
    " select * from {{ dbt_cdc.new_changes('dbo_items') }}",
    "appended.sql": "{{ config(materialized='incremental', incremental_strategy='append',"
    " file_format='delta') }} select * from {{ dbt_cdc.new_changes('dbo_items') }}",
    "changes.sql": f"select * from {{{{ dbt_cdc.get_all_changes({ENDS}) }}}}",
    "net.sql": f"select * from {{{{ dbt_cdc.get_net_changes({ENDS}) }}}}",
    "feed.sql": f"select * from {{{{ dbt_cdc.change_feed({ENDS}) }}}}",
    "columns.sql": f"select * from {{{{ dbt_cdc.get_column_changes({ENDS}) }}}}",
    "positions.sql": "select '{{ dbt_cdc.map_lsn_to_time(dbt_cdc.get_max_lsn()) }}' as time,"
    " '{{ dbt_cdc.map_time_to_lsn('smallest greater than', '2024-01-01') }}' as lsn",
    "tracked.sql": "select * from {{ dbt_cdc.changetable_changes('dbo.items', none) }}",
    "by_time.sql": "select * from {{ dbt_cdc.all_changes_between('dbo_items') }}",
    "net_by_time.sql": "select * from {{ dbt_cdc.net_changes_between('dbo_items') }}",
    "across.sql": "select * from {{ dbt_cdc.changes_across("
    "'dbo', 'items', dbt_cdc.get_min_lsn('dbo_items'), dbt_cdc.get_max_lsn()) }}",
    "events.sql": "select 0L as position, '' as topic, '' as key, '' as value, '' as headers"
    " where false",
    "other_log.sql": "{{ config(materialized='incremental', incremental_strategy='append',"
    " file_format='delta') }} {{ dbt_cdc.debezium_log(ref('events')) }}",
}
APPENDED = {
    "scan_transactions": ("window_to_lsn", "* except (opened_at)"),
    "dbo_items_ct": ("`__$start_lsn`", "*"),
    "dbo_notes_ct": ("`__$start_lsn`", "*"),
    "lsn_time_mapping": ("start_lsn", "*"),
}


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """One project whose log grows from test to test, with models of all kinds."""
    return Story(make_project, models={**tracked_models([TRACKED]), **READERS})


def compiled(project: Project, name: str) -> str:
    """The statement that `dbt compile` has shown of a model."""
    (file,) = (project.folder / "target" / "compiled").rglob(f"{name}.sql")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("windows", [1, pytest.param(2, marks=pytest.mark.more)])
def test_compiled_statements_give_what_the_run_appends(story: Story, windows: int) -> None:
    """Pasted into Spark before the run, in the first window and where a transaction is carried."""
    story.land(windows)
    story.capture.run("--select", "raw_log")
    story.capture.project.ok("compile", "--select", *APPENDED)
    before = story.published()
    shown: dict[str, list[Row]] = {}
    for name, (_, columns) in APPENDED.items():
        text = compiled(story.capture.project, name)
        shown[name] = story.capture.sql(f"select {columns} from (\n{text}\n)")
    story.capture.run()
    for name, (lsn, columns) in APPENDED.items():
        appended = story.capture.sql(
            f"select {columns} from {{schema}}.{name} where {lsn} > '{before}'"
        )
        assert shown[name]
        assert sorted(map(repr, shown[name])) == sorted(map(repr, appended)), name
    story.check()


@pytest.mark.more
def test_no_body_writes(story: Story) -> None:
    """Neither in a run nor where models are only looked at."""
    story.land()
    with rendering() as writes:
        result = story.capture.run()
        assert {"now", "scan_transactions", "lsn_time_mapping"} <= result.messages.keys()
        story.land()
        story.capture.project.ok("compile")
    assert not writes
    story.capture.run()
    story.check()


@pytest.mark.more
def test_one_command_for_each_model(story: Story) -> None:
    """In the order of the graph, as a scheduler's tasks: the same tables as of one run."""
    project = story.capture.project
    story.clear()
    story.land()
    story.capture.run()
    story.land()
    at_once = story.published()
    listed = project.ok("ls", "--resource-type", "model", "--output", "json",
                        "--output-keys", "unique_id depends_on").printed  # fmt: skip
    nodes = [json.loads(line) for line in listed.splitlines() if line.startswith("{")]
    parents = {n["unique_id"]: set(n["depends_on"]["nodes"]) for n in nodes}
    while parents:
        ready = [name for name, needed in parents.items() if not needed & parents.keys()]
        for name in ready:
            parents.pop(name)
            story.capture.run("--select", name.split(".")[-1])
            story.check_published_part()
    assert story.published() > at_once
    story.check()
    alone = story.contents()
    records, story_windows = list(story.records), story.windows
    story.clear()
    story.capture.land(records)
    story.records, story.windows = records, story_windows
    story.capture.run()
    assert story.contents() == alone


@pytest.mark.more
def test_what_the_first_publication_says(make_project: Callable[..., Project]) -> None:
    """Of all that it publishes, whichever command captured it; of tracked tables how to ask."""
    story = Story(make_project)
    story.land()
    story.capture.run("--select", "+dbo_items_ct")
    said = story.capture.run().output
    assert re.search(r"captured, in rows: dbo_items 3, dbo_notes 1; \d+ s\n", said)
    assert "in the log and not captured" not in said and "after a version" not in said
    tracking = Tracking(make_project, [TRACKED])
    tracking.land(story.records)
    said = tracking.run().output
    assert "captured, in rows" not in said and "ask for changes" not in said
    assert "in the log and not captured: dbo.notes; dbt run-op" in said
    (asked,) = re.findall('after a version: dbt show --inline "(.*)"', said)
    assert "sys_change_version" in tracking.project.ok("show", "--inline", asked).output


@pytest.mark.more
def test_a_node_does_its_own_work_alone(story: Story) -> None:
    """A change table without a window, the publication without a change table."""
    before = story.published()
    story.land_both()
    said = story.capture.run("--select", "dbo_items_ct").output
    assert (
        "no scan window is open, so dbo_items_ct captures nothing; dbt run --select +dbo_items"
        in said
    )
    said = story.capture.run("--select", "scan_transactions").output
    assert "scan window: after " + before in said
    said = story.capture.run("--select", "dbo_items_ct", "change_tracking_dbo_items").output
    assert "stays open: dbo_notes did not capture it; the next run takes it up again" in said
    said = story.capture.run("--select", "lsn_time_mapping").output
    assert "not published: dbo_notes did not capture the window up to" in said
    assert story.published() == before
    said = story.capture.run("--select", "dbo_notes_ct").output
    assert "all have captured it; dbt run --select lsn_time_mapping publishes it" in said
    assert story.published() == before
    said = story.capture.run("--select", "lsn_time_mapping").output
    assert "published up to " + story.published() in said
    story.check()
    story.check_published_part()
    assert "scan window" not in story.capture.run("--select", "lsn_time_mapping").output


@pytest.mark.more
def test_a_window_left_open_is_finished_first(story: Story) -> None:
    story.land_both()
    story.capture.run("--select", "+dbo_items_ct")
    before = story.published()
    story.land_both()
    said = story.capture.run().output
    assert "an earlier run left it open, newer commits wait for the next run" in said
    assert story.published() > before
    story.check_published_part()
    story.capture.run()
    story.check()


@pytest.mark.more
def test_a_failing_data_test_holds_the_publication_back(story: Story) -> None:
    """In dbt build: write, audit, publish. The next build takes the window up."""
    story.land_both()
    before, project = story.published(), story.capture.project
    test = project.folder / "tests" / "no_items.sql"
    project.write("tests/no_items.sql", "select * from {{ ref('dbo_items_ct') }}")
    result = project.dbt("build")
    assert result.messages["lsn_time_mapping"].status == "skipped"
    assert result.messages["now"].status == "skipped"
    assert story.published() == before
    story.check_published_part()
    test.unlink()
    project.ok("build")
    story.check()


@pytest.mark.more
def test_several_threads_end_at_this_publication(story: Story) -> None:
    story.land_both()
    story.capture.run("--threads", "4")
    story.check()
    consumed = story.capture.sql(
        "select distinct last_lsn, open_lsn from {schema}.consumer_bookmarks"
    )
    assert [tuple(row) for row in consumed] == [(story.published(), None)]
