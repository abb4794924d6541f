"""Retention: the cleanup job and cleanup_change_table, against the reference."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from asking import rows as asked
from asking import values
from capturing import Capture
from harness import Project
from pyspark.errors import PySparkException
from reference.capture import CaptureInstance, MappingRow
from reference.cleanup import lowered_mark, raised, retention_mark
from reference.log import UTC, LogRecord, int_to_lsn
from statements import around_statements, dying_at

pytestmark = pytest.mark.slow

ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"),), ("id",))
NOTES = CaptureInstance("dbo", "notes", "dbo_notes", (("id", "int"),), ("id",))
START = datetime(2024, 5, 1, tzinfo=UTC)


class Writer:
    """Transactions that insert one row into one of the tables, at given times."""

    def __init__(self) -> None:
        self.lsn = self.number = 0

    def commits(self, times: list[datetime], table: str | None = None) -> list[LogRecord]:
        records = []
        for time in times:
            self.number += 1
            tran_id = f"t{self.number}"
            name = table or ("items", "notes")[self.number % 2]
            image: dict[str, Any] = {"after_image": json.dumps({"id": self.number})}
            records += [
                LogRecord(self._next(), tran_id, "BEGIN", time),
                LogRecord(self._next(), tran_id, "INSERT", time, "dbo", name, **image),
                LogRecord(self._next(), tran_id, "COMMIT", time),
            ]
        return records

    def _next(self) -> str:
        self.lsn += 1
        return int_to_lsn(self.lsn)


def made(make_project: Callable[..., Project]) -> Capture:
    """Without persistent functions, which cleanup has nothing to do with."""
    return Capture(make_project, [ITEMS, NOTES], vars={"cdc_persistent_functions": False})


def operation(capture: Capture, name: str, **arguments: Any) -> str:
    """What a run-operation prints."""
    return capture.project.ok("run-operation", name, "--args", json.dumps(arguments)).output


def mapping(capture: Capture) -> list[MappingRow]:
    return [
        MappingRow(r.start_lsn, r.tran_begin_time, r.tran_end_time, r.tran_id, r.tran_begin_lsn)
        for r in capture.sql("select * from {schema}.lsn_time_mapping")
    ]


def lsns(capture: Capture, name: str) -> list[str]:
    found = capture.sql(f"select `__$start_lsn` as lsn from {{schema}}.{name}_ct")
    return sorted(row.lsn for row in found)


def low_ends(capture: Capture) -> dict[str, str]:
    return {
        row.capture_instance: row.low_end
        for row in capture.sql("select * from {schema}.validity_intervals")
    }


@pytest.fixture
def story(make_project: Callable[..., Project]) -> tuple[Capture, Writer]:
    return ten_commits(make_project)


@pytest.fixture(scope="module")
def shared(make_project: Callable[..., Project]) -> tuple[Capture, Writer]:
    """For tests that go on from each other."""
    return ten_commits(make_project)


def ten_commits(make_project: Callable[..., Project]) -> tuple[Capture, Writer]:
    """Ten commits, an hour apart, with a tie at the fifth and sixth."""
    capture, writer = made(make_project), Writer()
    hours = [0, 1, 2, 3, 5, 5, 6, 7, 8, 9]
    capture.land(writer.commits([START + timedelta(hours=hour) for hour in hours]))
    capture.run()
    return capture, writer


def test_a_mark_is_lowered_to_its_ties_and_null_only_deletes(
    shared: tuple[Capture, Writer],
) -> None:
    capture, _ = shared
    second, first = int_to_lsn(18), int_to_lsn(15)
    assert lowered_mark(mapping(capture), second, int_to_lsn(1)) == first
    arguments = {"capture_instance": "dbo_items", "low_water_mark": second.lower()}
    operation(capture, "cleanup_change_table", **arguments)
    assert low_ends(capture)["dbo_items"] == first
    capture.sql(
        "insert into {schema}.dbo_items_ct (`__$start_lsn`) values ('" + int_to_lsn(3) + "')"
    )
    arguments["low_water_mark"] = None
    operation(capture, "cleanup_change_table", **arguments)
    assert min(lsns(capture, "dbo_items")) >= first
    assert low_ends(capture)["dbo_items"] == first


# What the tables tell; all others: tests/rules/test_job_parameters.py.
BAD_MARKS = [
    (
        {"capture_instance": "nope"},
        "CDC 22981: capture instance 'nope' does not exist: there are dbo",
    ),
    ({"low_water_mark": int_to_lsn(4)}, "CDC 22964"),
    (
        {"low_water_mark": int_to_lsn(3)},
        "CDC 22957: low_water_mark 0x00000000000000000003 lies outs",
    ),
]


@pytest.mark.more
def test_bad_marks(shared: tuple[Capture, Writer]) -> None:
    capture, _ = shared
    good = {"capture_instance": "dbo_notes", "low_water_mark": int_to_lsn(12)}
    operation(capture, "cleanup_change_table", **good)
    for arguments, text in BAD_MARKS:
        result = capture.project.dbt(
            "run-operation", "cleanup_change_table", "--args", json.dumps({**good, **arguments})
        )
        assert not result.success
        assert text in result.output
        assert "\tat " not in result.output
    assert low_ends(capture)["dbo_notes"] == int_to_lsn(12)


def test_the_job_keeps_the_retention(shared: tuple[Capture, Writer]) -> None:
    capture, _ = shared
    before = {name: lsns(capture, name) for name in ("dbo_items", "dbo_notes")}
    old = low_ends(capture)
    operation(capture, "change_job", job_type="cleanup", retention=180)
    mark = retention_mark(mapping(capture), timedelta(minutes=180))
    assert mark == int_to_lsn(21)
    dead = {name: len([lsn for lsn in found if lsn < mark]) for name, found in before.items()}
    shown = operation(capture, "cleanup", dry_run=True)
    for name, count in dead.items():
        assert f"{name}         {old[name]}  {mark}  {count}" in shown
    assert {name: lsns(capture, name) for name in before} == before
    assert low_ends(capture) == old
    shown = operation(capture, "cleanup")
    for name, count in dead.items():
        assert f"{name}         {mark}  {count}" in shown
        assert lsns(capture, name) == [lsn for lsn in before[name] if lsn >= mark]
    assert sum(dead.values()) > 1
    assert set(low_ends(capture).values()) == {mark}
    assert min(row.start_lsn for row in mapping(capture)) == mark
    assert f"dbo_items         {mark}  0" in operation(capture, "cleanup")
    assert values(capture, ["get_min_lsn('dbo_notes')"]) == [mark]


@pytest.mark.more
def test_g19_up_to_the_high_end_the_row_at_the_mark_stays(shared: tuple[Capture, Writer]) -> None:
    capture, _ = shared
    (high,) = values(capture, ["get_max_lsn()"])
    other, old = lsns(capture, "dbo_items"), low_ends(capture)
    operation(capture, "cleanup_change_table", capture_instance="DBO_notes", low_water_mark=high)
    assert low_ends(capture) == {**old, "dbo_notes": high}
    assert lsns(capture, "dbo_notes") == []
    assert lsns(capture, "dbo_items") == other
    number = int(high, 16)  # what YAML makes of an LSN without quotes
    operation(capture, "cleanup_change_table", capture_instance="dbo_items", low_water_mark=number)
    assert lsns(capture, "dbo_items") == [high]


@pytest.mark.soak
def test_readers_while_a_cleanup_runs_get_all_rows_or_313(
    make_project: Callable[..., Project],
) -> None:
    capture, writer = Capture(make_project, [ITEMS, NOTES]), Writer()
    capture.land(writer.commits([START + timedelta(minutes=n) for n in range(40)], "items"))
    capture.run()
    (high,) = values(capture, ["get_max_lsn()"])
    query = (
        f"select id from {capture.schema}.fn_cdc_get_all_changes_dbo_items("
        f"'{int_to_lsn(1)}', '{high}', 'all')"
    )
    answers: list[Any] = []
    is_done = threading.Event()

    def read() -> None:
        while not is_done.wait(0.2):
            try:
                answers.append(len(capture.project.spark.sql(query).collect()))
            except PySparkException as error:
                answers.append("CDC 313" if "CDC 313" in str(error) else str(error))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        while len(answers) < 4:
            is_done.wait(0.1)
        operation(capture, "change_job", job_type="cleanup", retention=5)
        operation(capture, "cleanup")
    finally:
        is_done.set()
        for reader in readers:
            reader.join()
    assert set(answers) == {40, "CDC 313"}
    assert len(lsns(capture, "dbo_items")) == 6


# All ranges: tests/rules/test_job_parameters.py.
BAD_JOBS = [
    ("change_job", {"maxtrans": 0}, "CDC 22991: maxtrans is 0: give a whole number from 1"),
    ("add_job", {"job_type": "capture"}, "CDC 14261: the job 'capture' already exists"),
]


def jobs(capture: Capture) -> dict[str, tuple[Any, ...]]:
    rows = capture.sql("select * from {schema}.cdc_jobs")
    return {row.job_type: tuple(row)[3:-1] for row in rows}


@pytest.mark.more
def test_jobs(story: tuple[Capture, Writer], monkeypatch: pytest.MonkeyPatch) -> None:
    """G40, and runs that are bounded to maxtrans times maxscans: by the job, by the agent (SQL
    Server's continuous job), by variables (sp_cdc_scan)."""
    capture, writer = story
    operation(capture, "change_job", job_type="cleanup", retention=180)
    default = {"capture": (500, 10, True, 5, 0, 0), "cleanup": (0, 0, False, 0, 180, 5000)}
    assert jobs(capture) == default
    for name, arguments, text in BAD_JOBS:
        result = capture.project.dbt("run-operation", name, "--args", json.dumps(arguments))
        assert not result.success
        assert text in result.output
    assert jobs(capture) == default
    assert not capture.sql("show tables in {schema} like 'job_requests'")
    asked = capture.project.dbt("run-operation", "stop_job", "--args", "{job_type: cleanup}")
    assert not asked.success and "CDC 22022: no agent runs" in asked.output
    for note in ("runs", "ends", "runs"):
        operation(capture, "dbt_cdc._note_agent", note=note)
    name = f"cdc.{capture.project.schema}_cleanup"
    shown = operation(capture, "stop_job", job_type="cleanup")
    assert f"Job '{name}' stopped successfully: the agent, heard of at " in shown
    asked = capture.sql("select job_type, request from {schema}.job_requests order by 1")
    assert [tuple(row) for row in asked] == [("agent", "runs"), ("cleanup", "stop")]
    assert name in operation(capture, "help_jobs")
    operation(capture, "change_job", continuous=0, maxtrans=2, maxscans=1)
    assert jobs(capture)["capture"] == (2, 1, False, 0, 0, 0)
    capture.land(writer.commits([START + timedelta(hours=10 + n) for n in range(3)]))
    ends = []
    for _ in range(2):
        capture.run()
        ends += values(capture, ["get_max_lsn()"])
    assert ends == [int_to_lsn(n) for n in (36, 39)]
    operation(capture, "change_job", pollinginterval=3)
    capture.land(writer.commits([START + timedelta(hours=20 + n) for n in range(4)]))
    for told, variables, end in (
        ("2", {}, 45),
        ("2", {"cdc_maxtrans": 1, "cdc_maxscans": 1}, 48),
        (None, {}, 51),
    ):
        if told:
            monkeypatch.setenv("DBT_CDC_MOST_COMMITS", told)
        else:
            monkeypatch.delenv("DBT_CDC_MOST_COMMITS")
        capture.run(vars=variables)
        assert values(capture, ["get_max_lsn()"]) == [int_to_lsn(end)]
    assert jobs(capture)["capture"] == (2, 1, True, 3, 0, 0)
    operation(capture, "drop_job", job_type="cleanup")
    result = capture.project.dbt("run-operation", "cleanup")
    assert "CDC 22997: the job 'cleanup' does not exist" in result.output
    shown = operation(capture, "add_job", job_type="cleanup", retention=60)
    applied = "5000 (default: 10000000 on Delta)"
    assert (
        f"_cleanup  0         0         False       0                60         {applied}" in shown
    )


@pytest.mark.more
def test_a_commit_whose_time_is_still_to_come(story: tuple[Capture, Writer]) -> None:
    """The retention counts from the last one that has been."""
    capture, writer = story
    capture.land(writer.commits([datetime(2999, 1, 1, tzinfo=UTC), START + timedelta(hours=10)]))
    capture.run()
    (high_time,) = {tuple(row) for row in capture.sql(
        "select date_format(max(high_time), 'yyyy') from {schema}.validity_intervals"
    )}  # fmt: skip
    assert high_time == (str(START.year),), "windows by time may end in what is to come"
    operation(capture, "change_job", job_type="cleanup", retention=60)
    assert "a commit has the time 2999-01-01 00:00:00, which is still" in operation(
        capture, "cleanup"
    )
    assert set(low_ends(capture).values()) == {int_to_lsn(30)}
    late = writer.commits([datetime(2999, 1, 1, tzinfo=UTC), START + timedelta(hours=12)])
    capture.land(late)
    capture.run()
    # the low end lies behind both
    operation(capture, "cleanup")
    low_times = capture.sql("select date_format(low_time, 'yyyy') from {schema}.validity_intervals")
    assert {row[0] for row in low_times} == {str(START.year)}
    window = "'2024-05-01 11:00:00', '2024-05-01 12:00:00'"
    found = asked(
        capture, [f"all_changes_between('dbo_{n}', {window})" for n in ("items", "notes")]
    )
    assert [row[0] for part in found for row in part] == [late[-1].lsn]


@pytest.mark.more
def test_a_commit_without_a_time_is_kept(make_project: Callable[..., Project]) -> None:
    """Until a later one is older than the retention."""
    capture, writer = made(make_project), Writer()
    known = [START, None, START + timedelta(hours=1), None, None, START + timedelta(hours=9)]
    capture.land([replace(r, record_time=t) for t in known for r in writer.commits([START])])
    capture.run()
    mark = retention_mark(mapping(capture), timedelta(hours=1))
    assert mark == int_to_lsn(12)
    operation(capture, "change_job", job_type="cleanup", retention=60)
    operation(capture, "cleanup")
    assert set(low_ends(capture).values()) == {mark}
    assert sorted(lsns(capture, "dbo_items") + lsns(capture, "dbo_notes")) == [
        int_to_lsn(n) for n in (12, 15, 18)
    ]


@pytest.mark.more
def test_a_log_whose_times_are_all_still_to_come(make_project: Callable[..., Project]) -> None:
    capture, writer = made(make_project), Writer()
    start = datetime(2999, 1, 1, tzinfo=UTC)
    capture.land(writer.commits([start + timedelta(hours=n) for n in range(3)]))
    capture.run()
    before = low_ends(capture)
    operation(capture, "change_job", job_type="cleanup", retention=60)
    operation(capture, "cleanup")
    assert set(low_ends(capture).values()) == {int_to_lsn(6)} != set(before.values())


@pytest.mark.more
def test_log_truncation_point(shared: tuple[Capture, Writer]) -> None:
    capture, writer = shared
    time = START + timedelta(days=1)
    long = LogRecord(writer._next(), "long", "BEGIN", time)
    capture.land([long, *writer.commits([time])])
    capture.run()
    assert long.lsn in operation(capture, "log_truncation_point")
    capture.land([LogRecord(writer._next(), "long", "COMMIT", time)])
    capture.run()
    assert int_to_lsn(writer.lsn) in operation(capture, "log_truncation_point")


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2])
def test_any_order_of_captures_cleanups_and_reads(
    make_project: Callable[..., Project], seed: int
) -> None:
    """Low ends never fall, no row at or above one is lost; tables are as the reference's."""
    rng = random.Random(seed)
    capture, writer = made(make_project), Writer()
    time, everything = START, dict[str, set[str]]()
    expected: dict[str, str] = {}
    for step in range(8):
        action = rng.choice(["capture", "capture", "cleanup", "table"]) if step else "capture"
        if action == "capture":
            times = [time + timedelta(minutes=rng.choice([0, 0, 7, 90])) for _ in range(4)]
            time = max(times)
            capture.land(writer.commits(sorted(times)))
            capture.run()
            for name in ("dbo_items", "dbo_notes"):
                everything.setdefault(name, set()).update(lsns(capture, name))
                expected.setdefault(name, int_to_lsn(1))
        elif action == "cleanup":
            minutes = rng.choice([30, 120, 600])
            operation(capture, "change_job", job_type="cleanup", retention=minutes)
            mark = retention_mark(mapping(capture), timedelta(minutes=minutes))
            operation(capture, "cleanup")
            expected = {name: raised(low, mark) for name, low in expected.items()}
        else:
            name = rng.choice(sorted(expected))
            entries = [r for r in mapping(capture) if r.start_lsn >= expected[name]]
            mark = rng.choice(entries).start_lsn
            arguments = {"capture_instance": name, "low_water_mark": mark}
            operation(capture, "cleanup_change_table", **arguments)
            expected[name] = lowered_mark(entries, mark, expected[name])
        assert low_ends(capture) == expected, (step, action)
        for name, low in expected.items():
            assert lsns(capture, name) == sorted(lsn for lsn in everything[name] if lsn >= low)


@pytest.mark.more
def test_what_the_view_still_shows_stays(story: tuple[Capture, Writer]) -> None:
    """Where somebody has put the old bounds back, their rows and commits can be read, and stay."""
    capture, _ = story
    operation(capture, "change_job", job_type="cleanup", retention=180)
    (old,) = capture.sql("show create table {schema}.validity_intervals")
    before = mapping(capture)

    def execute(sql: str, go: Callable[[], Any]) -> Any:
        if "delete from" in sql:
            capture.sql(old.createtab_stmt.replace("CREATE VIEW", "CREATE OR REPLACE VIEW", 1))
        return go()

    with around_statements(execute):
        result = capture.project.dbt("run-operation", "cleanup")
    assert "CDC 22852: rows of dbo_items, dbo_notes, lsn_time_mapping could not be" in result.output
    assert "still shows an old low end, so queries may read them" in result.output
    assert mapping(capture) == before
    operation(capture, "cleanup")
    assert len(mapping(capture)) < len(before)


def large(make_project: Callable[..., Project]) -> Capture:
    """Commits of 1, 2 and 5 rows in turn, an hour apart, in a schema that no test has furnished; no
    model consumes."""
    capture = Capture(make_project, [ITEMS], vars={"cdc_persistent_functions": False}, fresh=True)
    records, lsn, number = [], 0, 0
    for hour, rows in enumerate([1, 2, 5, 1, 2, 5, 1]):
        time, start = START + timedelta(hours=hour), lsn + 1
        for place in range(rows):
            number += 1
            image: dict[str, Any] = {"after_image": json.dumps({"id": number})}
            records.append(
                LogRecord(
                    int_to_lsn(start + place), f"t{hour}", "INSERT", time, "dbo", "items", **image
                )
            )
        lsn = start + rows
        records.append(LogRecord(int_to_lsn(lsn), f"t{hour}", "COMMIT", time))
    capture.land(records)
    capture.run()
    return capture


def deletes(capture: Capture, table: str) -> list[int]:
    """How many rows each DELETE of a table took, in order."""
    history = capture.sql(f"describe history {{schema}}.{table}")
    return [
        int(row.operationMetrics["numDeletedRows"])
        for row in sorted(history, key=lambda row: row.version)
        if row.operation == "DELETE"
    ]


@pytest.mark.more
def test_threshold_cuts_deletes_between_transactions(make_project: Callable[..., Project]) -> None:
    """A killed cleanup goes on, under another threshold, too."""
    capture = large(make_project)
    lows = [row.start_lsn for row in sorted(mapping(capture), key=lambda row: row.start_lsn)]
    arguments = {"job_type": "cleanup", "retention": 60, "threshold": 3}
    operation(capture, "change_job", **arguments)

    def dies_at_the_third_delete(sql: str) -> bool:
        return "delete from" in sql and len(deletes(capture, "dbo_items_ct")) == 1

    with dying_at(dies_at_the_third_delete):
        result = capture.project.dbt("run-operation", "cleanup")
    assert not result.success
    assert "cleanup: dbo_items_ct: 3 of 11 rows removed" in result.output
    assert deletes(capture, "dbo_items_ct") == [3, 5]  # 1 + 2, and 5 that cannot be parted
    assert low_ends(capture) == {"dbo_items": lows[5]}
    shown = operation(capture, "cleanup")
    assert "cleanup: dbo_items_ct: 3 of 3 rows removed" not in shown  # one DELETE needs no line
    assert deletes(capture, "dbo_items_ct") == [3, 5, 3]
    assert f"dbo_items         {lows[5]}  3 " in shown
    assert "cleanup: lsn_time_mapping: 3 of 5 rows removed" in shown
    assert "cleanup: lsn_time_mapping: 5 of 5 rows removed" in shown
    assert deletes(capture, "lsn_time_mapping") == [3, 2]
    assert lsns(capture, "dbo_items") == [lows[5]] * 5 + [lows[6]]

    arguments = {"capture_instance": "dbo_items", "low_water_mark": lows[6], "threshold": 1}
    operation(capture, "cleanup_change_table", **arguments)
    assert deletes(capture, "dbo_items_ct") == [3, 5, 3, 5]
    assert lsns(capture, "dbo_items") == [lows[6]]
    for number in (1, 2):
        capture.sql(
            "insert into {schema}.dm_cdc_errors (error_number, entry_time) "
            f"values ({number}, '2024-05-01')"
        )
    operation(capture, "change_job", job_type="cleanup", threshold=1, retention=1)
    operation(capture, "cleanup")
    assert deletes(capture, "dm_cdc_errors") == [2]  # what runs have noted goes at once
    assert deletes(capture, "lsn_time_mapping") == [3, 2, 1]


@pytest.mark.more
def test_without_a_threshold_one_delete_takes_more_than_5000_rows(
    make_project: Callable[..., Project],
) -> None:
    """The default stands for ten million; 5000 that somebody gives is 5000."""
    capture = large(make_project)
    rows = (
        "insert into {schema}.dbo_items_ct (`__$start_lsn`, id) select "
        "concat('0x', lpad(hex(id div 1000), 20, '0')), id from range(6000)"
    )
    capture.sql(rows)
    last = max(row.start_lsn for row in mapping(capture))
    arguments = {"capture_instance": "dbo_items", "low_water_mark": last, "dry_run": False}
    operation(capture, "cleanup_change_table", **arguments)
    assert deletes(capture, "dbo_items_ct") == [6016]
    operation(capture, "change_job", job_type="cleanup", retention=1)
    capture.sql(rows)
    assert "rows removed" not in operation(capture, "cleanup")
    assert deletes(capture, "dbo_items_ct") == [6016, 6000]
    shown = operation(capture, "change_job", job_type="cleanup", threshold=5000)
    assert "is_threshold_given" not in shown
    capture.sql(rows)
    assert "dbo_items_ct: 5000 of 6000 rows removed" in operation(capture, "cleanup")
    assert deletes(capture, "dbo_items_ct") == [6016, 6000, 5000, 1000]


@pytest.mark.soak
def test_a_table_that_fails_stops_no_other_and_is_recorded(
    make_project: Callable[..., Project],
) -> None:
    """And small files become one, in the order of their LSNs, where there are many of them."""
    capture, writer = ten_commits(make_project)
    operation(capture, "change_job", job_type="cleanup", retention=180)
    for name in ("items", "notes"):
        table = f"{capture.schema}.dbo_{name}_ct"
        for number in range(3):
            lsn = int_to_lsn(1000 + number)
            capture.sql(f"insert into {table} (`__$start_lsn`, id) values ('{lsn}', {number})")
    rows = {name: lsns(capture, name) for name in ("dbo_items", "dbo_notes")}
    mark = retention_mark(mapping(capture), timedelta(minutes=180))

    property, few = "'delta.appendOnly'", {"cdc_compact_after": 4}
    capture.sql(f"alter table {{schema}}.dbo_items_ct set tblproperties ({property} = true)")
    result = capture.project.dbt("run-operation", "cleanup")
    assert "CDC 22852: rows of dbo_items could not be removed: their low ends" in result.output
    assert "dbo_notes         " + mark in result.output
    assert lsns(capture, "dbo_items") == rows["dbo_items"]
    assert lsns(capture, "dbo_notes") == [lsn for lsn in rows["dbo_notes"] if lsn >= mark]
    (error,) = capture.sql("select * from {schema}.dm_cdc_errors")
    assert (error.session_id, error.phase_number, error.error_number) == (0, 0, 22852)
    capture.sql(f"alter table {{schema}}.dbo_items_ct unset tblproperties ({property})")
    for _ in range(2):
        capture.project.ok("run-operation", "cleanup", vars=few)
    for name, found in rows.items():
        assert lsns(capture, name) == [lsn for lsn in found if lsn >= mark]
        history = capture.sql(f"describe history {{schema}}.{name}_ct")
        assert [row.operation for row in history].count("OPTIMIZE") == 1
        (detail,) = capture.sql(f"describe detail {{schema}}.{name}_ct")
        assert detail.numFiles == 1
    capture.land(writer.commits([START + timedelta(hours=10)]))
    capture.run()
    shown = operation(capture, "cleanup", vacuum_hours=168)
    assert "compacted_files" in shown
