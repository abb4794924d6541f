"""What the runs tell of themselves: dm_cdc_log_scan_sessions and dm_cdc_errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from capturing import Capture
from harness import SHOP, Project
from pyspark.sql import Row, SparkSession
from reference.capture import CaptureInstance
from reference.log import UTC, LogRecord, int_to_lsn
from statements import dying_at

pytestmark = pytest.mark.slow

ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"),), ("id",))
NOTES = CaptureInstance("dbo", "notes", "dbo_notes", (("id", "int"),), ("id",))
TIME = datetime(2024, 5, 1, tzinfo=UTC)


def transaction(lsn: int, table: str, *ids: object, minutes: int = 0) -> list[LogRecord]:
    """A transaction that inserts rows, its first record at `lsn`."""
    tran_id, begin = f"t{lsn}", TIME + timedelta(minutes=minutes)
    rows = [
        LogRecord(
            int_to_lsn(lsn + n), tran_id, "INSERT", begin, "dbo", table,
            after_image=json.dumps({"id": value}),
        )
        for n, value in enumerate(ids, 1)
    ]  # fmt: skip
    end = int_to_lsn(lsn + len(ids) + 1)
    return [
        LogRecord(int_to_lsn(lsn), tran_id, "BEGIN", begin),
        *rows,
        LogRecord(end, tran_id, "COMMIT", begin + timedelta(seconds=30)),
    ]


def sessions(capture: Capture) -> list[Row]:
    """All sessions, the aggregate first."""
    return capture.sql("select * from {schema}.dm_cdc_log_scan_sessions order by session_id")


def errors(capture: Capture) -> list[Row]:
    return capture.sql("select * from {schema}.dm_cdc_errors order by entry_time")


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Capture:
    """Its tests go on from each other."""
    capture = Capture(make_project, [ITEMS, NOTES], vars={"cdc_persistent_functions": False})
    capture.land(transaction(1, "items", 1, 2) + transaction(11, "other", 1, minutes=1))
    return capture


def test_a_scan_is_one_session_with_its_counts(story: Capture) -> None:
    story.run()
    total, scan = sessions(story)
    assert scan.scan_phase == "Done"
    assert (scan.start_lsn, scan.end_lsn) == (int_to_lsn(0), int_to_lsn(13))
    assert (scan.current_lsn, scan.last_commit_lsn) == (int_to_lsn(13), int_to_lsn(13))
    assert (scan.tran_count, scan.log_record_count, scan.command_count) == (2, 7, 2)
    assert (scan.first_begin_cdc_lsn, scan.last_commit_cdc_lsn) == (int_to_lsn(1), int_to_lsn(4))
    assert (scan.start_lsn_text, scan.end_lsn_text) == (
        "00000000:00000000:0000", "00000000:00000000:000D",
    )  # fmt: skip
    assert scan.last_commit_cdc_time == datetime(2024, 5, 1, 0, 0, 30)
    assert scan.last_commit_time == datetime(2024, 5, 1, 0, 1, 30)
    assert scan.latency == int(scan.end_time.timestamp()) - int(
        scan.last_commit_cdc_time.timestamp()
    )
    assert scan.duration >= 1
    assert (scan.error_count, scan.empty_scan_count, scan.failed_sessions_count) == (0, 0, 0)
    assert (total.session_id, total.scan_phase) == (0, "Aggregate")
    assert (total.tran_count, total.command_count, total.latency) == (2, 2, scan.latency)
    rows = story.sql("select inline(captured_rows) from {schema}.scan_sessions")
    assert sorted(map(tuple, rows)) == [("dbo_items", 2), ("dbo_notes", 0)]


def test_tables_of_the_log_that_are_not_captured(story: Capture) -> None:
    tracked = story.sql("select source_name, is_tracked_by_cdc from {schema}.is_tracked_by_cdc")
    assert dict(tracked) == {"items": True, "notes": True, "other": False}


def test_successive_empty_scans_are_one_session(story: Capture) -> None:
    for _ in range(2):
        story.run()
    total, scan, empty = sessions(story)
    assert (empty.empty_scan_count, empty.tran_count, empty.duration) == (2, 0, 0)
    assert (empty.start_lsn, empty.end_lsn) == (int_to_lsn(13), int_to_lsn(13))
    assert empty.start_time < empty.end_time
    assert (total.empty_scan_count, total.latency) == (2, scan.latency)
    assert errors(story) == []


def test_a_failed_scan_leaves_its_error(story: Capture) -> None:
    story.land(transaction(21, "items", 3) + transaction(31, "notes", "x"))
    for _ in range(2):
        result = story.project.dbt("run")
        assert "CDC 22859" in result.output
    total, *_, failed, again = sessions(story)
    assert (failed.error_count, failed.failed_sessions_count) == (1, 1)
    assert failed.scan_phase == "Second scan"
    assert (failed.start_lsn, failed.current_lsn) == (int_to_lsn(13), int_to_lsn(13))
    assert (failed.end_lsn, failed.latency) == (int_to_lsn(33), 0)
    assert (total.failed_sessions_count, total.error_count) == (2, 2)
    error, second = errors(story)
    assert (error.session_id, second.session_id) == (failed.session_id, again.session_id)
    assert (error.phase_number, error.error_number) == (3, 22859)
    assert (error.start_lsn, error.begin_lsn) == (int_to_lsn(13), int_to_lsn(21))
    assert error.sequence_value == int_to_lsn(32)
    assert error.error_message.startswith("CDC 22859: bad log record of table dbo.notes")
    assert error.error_message.endswith("then run again (dbt_packages/dbt_cdc/docs/errors.md)")


@pytest.mark.more
def test_a_failing_log_is_the_scan_s_error(story: Capture) -> None:
    text = (story.project.folder / "models" / "raw_log.sql").read_text(encoding="utf-8")
    story.project.write("models/raw_log.sql", "select * from {{ target.schema }}.not_there")
    story.project.dbt("run")
    story.project.write("models/raw_log.sql", text)
    error = errors(story)[-1]
    assert (error.phase_number, error.error_number, error.start_lsn) == (1, None, None)
    assert "not_there" in error.error_message
    assert sessions(story)[-1].scan_phase == "Reading configuration"


def test_other_models_are_no_business_of_the_scan(story: Capture) -> None:
    count = len(errors(story))
    story.project.write("models/broken.sql", "select no_such_column")
    story.project.dbt("run", "--select", "broken")
    (story.project.folder / "models" / "broken.sql").unlink()
    assert len(errors(story)) == count


def test_the_next_run_goes_on_from_the_failure(story: Capture) -> None:
    story.amend(int_to_lsn(32), after_image='{"id": 4}')
    story.run("--select", "raw_log", "dbo_items_ct")
    assert sessions(story)[-1].scan_phase == "Second scan"
    # a part that succeeds does not hide the one that failed
    assert not story.project.dbt("test", "--select", "test_name:last_scan_succeeded").success
    story.run()
    total, *_, last = sessions(story)
    assert (last.scan_phase, last.command_count) == ("Done", 2)
    assert total.end_lsn == int_to_lsn(33)


def captured(capture: Capture) -> dict[str, int]:
    """How many rows the last session says it has captured, by instance."""
    rows = capture.sql(
        "select inline(captured_rows) from {schema}.scan_sessions"
        " where end_time = (select max(end_time) from {schema}.scan_sessions)"
    )
    return {row.capture_instance: row.row_count for row in rows}


@pytest.mark.more
def test_rows_are_counted_of_the_window_alone(make_project: Callable[..., Project]) -> None:
    """An INSERT of no rows leaves no commit, so the table's last one may tell of another window."""
    capture = Capture(make_project, [ITEMS, NOTES], vars={"cdc_persistent_functions": False})
    capture.land(transaction(1, "items", 1, 2, 3) + transaction(11, "notes", 1))
    capture.run()
    assert captured(capture) == {"dbo_items": 3, "dbo_notes": 1}
    begin, insert, commit = transaction(21, "items", 1)
    unchanged = replace(insert, operation="UPDATE", before_image=insert.after_image)
    capture.land([begin, unchanged, commit, *transaction(31, "notes", 2, 3)])
    capture.run()
    assert captured(capture) == {"dbo_items": 0, "dbo_notes": 2}
    # what an earlier attempt has captured counts, also where others have written since
    capture.land(transaction(41, "items", 4, 5) + transaction(51, "notes", 4))
    capture.run("--select", "raw_log", "+dbo_items_ct", "dbo_notes_ct")
    capture.sql("optimize {schema}.dbo_items_ct")
    capture.run()
    assert captured(capture) == {"dbo_items": 2, "dbo_notes": 1}


@pytest.mark.more
def test_a_killed_run_is_seen_until_another_ends(story: Capture) -> None:
    story.land(transaction(41, "items", 5))
    with dying_at(lambda sql: "dbo_items_ct" in sql):
        story.project.dbt("run")
    # the aggregate has the smallest number, and the killed one the latest start
    killed = sessions(story)[-1]
    assert (killed.end_time, killed.scan_phase, killed.tran_count) == (None, "Second scan", 1)
    story.run()
    assert all(row.end_time is not None for row in sessions(story))


def test_a_published_window_is_not_at_work(story: Capture) -> None:
    """Where the sessions that captured it are gone, and the source is quiet."""
    story.sql("delete from {schema}.scan_sessions where end_lsn is not null")
    story.run()
    assert all(row.end_time is not None for row in sessions(story))


DATA_TESTS = {
    "capture_checks": {"max_minutes": 60, "grace_minutes": 60},
    "capture_lag": {"max_minutes": 60},
    "no_late_commits": {},
    "order_without_ties": {},
    "timeline_without_gaps": {},
    "within_retention": {"grace_minutes": 60},
}


OTHERS = ["last_scan_succeeded", "canonical_log", "every_event_is_accounted_for"]


@pytest.fixture(scope="module")
def watched(make_project: Callable[..., Project]) -> Capture:
    """A project whose change tables have all data tests."""
    return with_data_tests(make_project)


def with_data_tests(make_project: Callable[..., Project]) -> Capture:
    capture = Capture(make_project, [ITEMS, NOTES], vars={"cdc_persistent_functions": False})
    path = capture.project.folder / "models" / "instances.yml"
    yaml = json.loads(path.read_text(encoding="utf-8"))
    for model in yaml["models"]:
        model["data_tests"] = [
            {f"dbt_cdc.{name}": {"arguments": arguments}} for name, arguments in DATA_TESTS.items()
        ]
    path.write_text(json.dumps(yaml), encoding="utf-8")
    *rows, commit = transaction(101, "items", 1)
    capture.land([*rows, replace(commit, lsn=int_to_lsn(105))])
    capture.land(transaction(111, "notes", 2, minutes=60))
    capture.run()
    return capture


def failed(capture: Capture, *names: str) -> set[str]:
    """The data tests that fail, e.g. {'capture_lag items'}; all are asked, or those of `names`."""
    found = set()
    asked = ["--select", *(f"test_name:{name}" for name in names)] if names else []
    for name, result in capture.project.dbt("test", *asked).messages.items():
        assert result.status in ("pass", "fail", "success"), result
        if result.status == "fail":
            words = [*DATA_TESTS, *OTHERS, "items", "notes"]
            found.add(" ".join(word for word in words if word in name))
    return found


@pytest.mark.more
def test_a_healthy_project_passes_all_data_tests(watched: Capture) -> None:
    assert failed(watched) == set()


def test_each_data_test_can_fail(make_project: Callable[..., Project]) -> None:
    """Whatever somebody breaks by hand, or lands too late, one of them tells."""
    capture = with_data_tests(make_project)
    capture.project.write(
        "models/log.yml", "models: [{name: raw_log, data_tests: [dbt_cdc.canonical_log]}]"
    )
    capture.land(transaction(121, "notes", 3, minutes=300))
    capture.run()
    capture.project.ok("run-operation", "change_job", "--args", "{job_type: cleanup, retention: 1}")
    assert failed(capture, "capture_checks") == set()  # they are young
    capture.sql("update {schema}.change_tables set create_date = create_date - interval '2' hour")
    late = ("capture_checks", "within_retention")
    assert failed(capture) == {f"{name} {table}" for name in late for table in ("items", "notes")}
    capture.land(transaction(107, "items", 4, minutes=1))
    (commit,) = transaction(131, "items", 5, minutes=400)[-1:]
    capture.land([commit, replace(commit, lsn=commit.lsn.lower().replace("0x", "0X"))])
    capture.sql("delete from {schema}.lsn_time_mapping where tran_id = 't111'")
    capture.sql("insert into {schema}.dbo_items_ct select * from {schema}.dbo_items_ct limit 1")
    capture.sql(
        "insert into {schema}.event_balances"
        " values (current_timestamp(), 'x', 1, 3, 3, 1, 1, 0, 0, 0, 0, 0, 0)"
    )
    both = {f"{name} {table}" for name in DATA_TESTS for table in ("items", "notes")}
    one = {"no_late_commits notes", "order_without_ties notes", "timeline_without_gaps items"}
    others = {"canonical_log", "every_event_is_accounted_for"}
    assert failed(capture) == (both - one) | others


@pytest.mark.more
def test_a_commit_not_captured_for_long_is_lag(watched: Capture) -> None:
    watched.land(transaction(121, "items", 3, minutes=61))
    late = {"capture_lag items", "capture_lag notes"}
    assert failed(watched, "capture_lag") == late
    late = {"capture_checks items", "capture_checks notes"}
    assert failed(watched, "capture_checks") == late
    # one task for each model: the window was opened a moment ago, and its publication is to come
    watched.run("--select", "scan_transactions")
    assert failed(watched, "capture_lag", "capture_checks") == set()
    # the very run that captures it does not complain
    others = [f"test_name:{name}" for name in DATA_TESTS if name != "capture_lag"]
    assert watched.project.ok("build", "--exclude", *others)


@pytest.mark.more
def test_what_a_pull_request_leaves_out_is_not_late(make_project: Callable[..., Project]) -> None:
    """The command of docs/ci.md; a commit beyond the bound ends the window, whatever follows."""
    capture = with_data_tests(make_project)
    capture.land(transaction(121, "items", 3, minutes=62))
    capture.land(transaction(131, "items", 4, minutes=300))
    capture.land(transaction(141, "items", 5, minutes=65))
    hour = str(TIME + timedelta(minutes=70))[:19]
    build = capture.project.ok("build", vars={"cdc_scan_until": hour})
    assert {row.id for row in capture.sql("select id from {schema}.dbo_items_ct")} == {1, 3}
    assert {"pass", "success"} == {found.status for found in build.messages.values()}
    assert failed(capture, "capture_lag") == {"capture_lag items", "capture_lag notes"}


@pytest.mark.more
def test_what_watches_the_state_holds_no_publication_back(watched: Capture) -> None:
    """A late log turns the build red, and what the build has captured is published all the same."""
    watched.land(
        transaction(124, "items", 6, minutes=62) + transaction(127, "items", 7, minutes=63)
    )
    one = json.dumps({"cdc_maxtrans": 1, "cdc_maxscans": 1})
    result = watched.project.dbt("build", "--vars", one)
    failing = {name for name, found in result.messages.items() if found.status == "fail"}
    assert {name.split("_dbo")[0].removeprefix("dbt_cdc_") for name in failing} == {
        "capture_lag", "capture_checks"
    }  # fmt: skip
    assert result.messages["lsn_time_mapping"].status == "success"
    assert "skipped" not in {found.status for found in result.messages.values()}
    (last,) = watched.sql("select max(start_lsn) as lsn from {schema}.lsn_time_mapping")
    assert last.lsn == int_to_lsn(126)
    watched.project.ok("build")


@pytest.mark.more
def test_late_commits_and_late_records_are_reported(watched: Capture) -> None:
    watched.land(transaction(115, "notes", 4, minutes=60))
    assert failed(watched, "no_late_commits") == {"no_late_commits notes"}
    for lsn in (115, 116, 117):
        watched.amend(int_to_lsn(lsn))
    late = LogRecord(
        int_to_lsn(103), "t101", "INSERT", TIME, "dbo", "items", after_image='{"id": 9}'
    )
    watched.land([late])
    assert failed(watched, "no_late_commits") == {"no_late_commits items"}
    watched.amend(late.lsn)


@pytest.mark.more
def test_rows_beyond_their_retention_are_reported(watched: Capture) -> None:
    watched.land(transaction(131, "notes", 5, minutes=200))
    arguments = ["change_job", "--args", "{job_type: cleanup, retention: 1}"]
    watched.project.ok("run-operation", *arguments)
    watched.run()
    watched.sql("update {schema}.change_tables set create_date = create_date - interval '2' hour")
    late = {"within_retention items", "within_retention notes"}
    assert failed(watched, "within_retention") == late
    watched.project.ok("run-operation", "cleanup")
    assert failed(watched, "within_retention") == set()


@pytest.mark.more
def test_errors_of_32_sessions_stay(watched: Capture) -> None:
    """However old they are; others go with all that is kept for cdc_monitoring_days."""
    watched.sql(
        "insert into {schema}.dm_cdc_errors select if(n < 3, 0, n), 3,"
        " current_timestamp() - interval '40' day, 1, 16, 1, 'x', null, null, null"
        " from (select explode(sequence(1, 43)) as n)"
    )
    watched.project.ok("run-operation", "cleanup")
    kept = sorted(row.session_id for row in errors(watched))
    assert kept == list(range(12, 44))


@pytest.mark.more
def test_a_data_test_of_a_change_table_on_another_model(watched: Capture) -> None:
    watched.project.write(
        "models/log.yml",
        "models: [{name: raw_log, data_tests: [dbt_cdc.no_late_commits]}]",
    )
    assert "CDC 22981: a data test of change tables is set on" in watched.project.dbt("test").output
    (watched.project.folder / "models" / "log.yml").unlink()


FOLLOWING = (
    "{{ config(materialized='incremental', incremental_strategy='append', file_format='delta') }}"
    " select * from {{ dbt_cdc.new_changes('dbo_items') }}"
)


@pytest.mark.more
def test_a_consumer_that_is_not_followed(watched: Capture) -> None:
    """One that has never run is behind; of a part of one nothing is known."""
    watched.project.write("models/following.sql", FOLLOWING)
    tests: list[object] = ["dbt_cdc.consumer_lag"]
    described = {"models": [{"name": "following", "data_tests": tests}]}
    watched.project.write("models/following.yml", json.dumps(described))
    assert len(failed(watched, "consumer_lag")) == 1
    watched.run("--select", "following")
    assert failed(watched, "consumer_lag") == set()
    tests[0] = {"dbt_cdc.consumer_lag": {"config": {"where": "id > 0"}}}
    watched.project.write("models/following.yml", json.dumps(described))
    said = watched.project.dbt("test", "--select", "test_name:consumer_lag").output
    assert "CDC 22981: a data test of consumers is set on" in said
    for name in ("following.yml", "following.sql"):
        (watched.project.folder / "models" / name).unlink()


@pytest.mark.more
def test_the_last_scan_failed(watched: Capture) -> None:
    """While a column is there that the table has not had, behind the window that the run opened;
    a window that stands open is no run that succeeded."""
    watched.land(transaction(141, "items", 8, minutes=201))
    yaml = (watched.project.folder / "models" / "instances.yml").read_text(encoding="utf-8")
    watched.project.write("models/instances.yml", yaml.replace('"int"', '"string"'))
    assert "CDC 22930" in watched.project.dbt("run").output
    assert sessions(watched)[-1].end_time is None
    assert "last_scan_succeeded" in failed(watched, "last_scan_succeeded")
    watched.project.write("models/instances.yml", yaml)
    watched.run()
    assert failed(watched, "last_scan_succeeded") == set()
    watched.land(transaction(151, "items", "x", minutes=202))
    watched.project.dbt("run")
    assert "last_scan_succeeded" in failed(watched, "last_scan_succeeded")


def test_long_work_says_how_far_it_is(spark: SparkSession) -> None:
    """Spark's message of a task becomes a line of the console; of a short one, it does not."""
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j
    configuration = log4j.LogManager.getContext(False).getConfiguration()
    appender = configuration.getAppender("progress")
    logger = configuration.getLoggerConfig("org.apache.spark.scheduler.TaskSetManager")
    (shown,) = [ref for ref in logger.getAppenderRefs() if ref.getRef() == "progress"]
    for milliseconds, is_shown in ((1999, False), (2000, True), (61234, True)):
        text = (
            f"Finished task 2.0 in stage 7.0 (TID 12) in {milliseconds} ms on localhost"
            " (executor driver) (3/8)"
        )
        message = log4j.message.SimpleMessage(text)
        event = log4j.core.impl.Log4jLogEvent.newBuilder().setMessage(message).build()
        assert (str(shown.getFilter().filter(event)) != "DENY") == is_shown
        line = appender.getLayout().toSerializable(event)
        assert line[8:] == "  cdc: at work: 3 of 8 tasks of stage 7 done\n"


@pytest.mark.more
def test_one_long_task_says_that_it_runs(tmp_path: Path) -> None:
    """With the profile that is shipped, of a statement whose only task takes 20 seconds."""
    own = {n: v for n, v in os.environ.items() if not n.startswith("PYSPARK_")}  # a Java of its own
    sleep = "select reflect('java.lang.Thread', 'sleep', id) from range(20000, 20001)"
    done = subprocess.run(
        [
            Path(sys.executable).with_name("dbt"), "--quiet", "show", "--inline", sleep,
            f"--target-path={tmp_path}/target", f"--log-path={tmp_path}/logs",
        ],
        cwd=SHOP, env={**own, "DBT_CDC_HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.findall(r"^\d\d:\d\d:\d\d  (cdc: at work: .*)$", done.stderr, re.M)
    assert "cdc: at work: tasks running: 1" in said


@pytest.mark.more
def test_a_part_without_the_scan_does_not_hide_what_failed(story: Capture) -> None:
    text = (story.project.folder / "models" / "raw_log.sql").read_text(encoding="utf-8")
    story.project.write("models/raw_log.sql", "select * from {{ target.schema }}.not_there")
    assert not story.project.dbt("run").success
    story.project.write("models/raw_log.sql", text)
    story.run("--select", "dbo_items_ct", "lsn_time_mapping")
    assert not story.project.dbt("test", "--select", "test_name:last_scan_succeeded").success
    story.run()
    story.project.ok("test", "--select", "test_name:last_scan_succeeded")
