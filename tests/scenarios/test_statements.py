"""How many statements a run sends: each costs more than the rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from capturing import Capture
from harness import PACKAGE, Project
from reference.capture import CaptureInstance
from reference.change_tracking import TrackedTable
from reference.log import UTC, LogRecord, int_to_lsn
from statements import recorded
from tracking import Tracking, TrackingWriter

pytestmark = pytest.mark.slow

TABLES = [
    CaptureInstance("dbo", f"t{n}", f"dbo_t{n}", (("id", "int"), ("v", "string")), ("id",))
    for n in range(5)
]
REPLICA = "{{ config(materialized='replica') }} select * from {{ dbt_cdc.new_changes('dbo_t0') }}"


class Counted:
    """A project of five tables and a replica; each transaction changes all tables."""

    def __init__(self, make_project: Callable[..., Project]) -> None:
        self.capture = Capture(make_project, TABLES, models={"now.sql": REPLICA}, fresh=True)
        self.lsn = 1

    def land(self) -> None:
        """One more transaction."""
        tran_id, image = f"t{self.lsn}", f'{{"id": {self.lsn}, "v": "x"}}'
        time = datetime(2024, 1, 1, tzinfo=UTC)
        lsns = [int_to_lsn(self.lsn + n) for n in range(6)]
        records = [
            LogRecord(
                lsn, tran_id, "INSERT", time, table.source_schema, table.source_name, None, image
            )
            for lsn, table in zip(lsns, TABLES, strict=False)
        ]
        self.capture.land([*records, LogRecord(lsns[-1], tran_id, "COMMIT", time)])
        self.lsn += 6

    def count(self, *arguments: str) -> int:
        """The statements of a run."""
        with recorded() as statements:
            self.capture.run(*arguments)
        return len(statements)


OF_TRACKING = {
    "change_tracking_databases", "change_tracking_tables", "change_tracking_versions",
    "dm_tran_commit_table", "mschange_tracking_history", "syscommittab",
}  # fmt: skip
OF_JOBS = {"cdc_jobs", "job_requests"}


def made(capture: Capture) -> set[str]:
    """The tables and views of the schema."""
    return {row.tableName for row in capture.sql("show tables in {schema}")}


TRACKED = TrackedTable("dbo", "items", (("id", "int"), ("name", "string")), ("id",))


@pytest.mark.more
@pytest.mark.slow
def test_a_run_with_a_tracked_table(make_project: Callable[..., Project]) -> None:
    """It makes no state but its own; its versions are published by two statements, and one asks for
    the types of the key."""
    tracking = Tracking(make_project, [TRACKED], fresh=True)
    writer = TrackingWriter(datetime(2024, 1, 1, tzinfo=UTC))
    counts = []
    for number in range(3):
        writer.commit(("INSERT", "items", None, {"id": number, "name": "x"}))
        tracking.land(writer.new())
        with recorded() as statements:
            tracking.run()
        counts.append(len(statements))
    assert made(tracking) >= OF_TRACKING - {"mschange_tracking_history"}
    assert not made(tracking) & {*OF_JOBS, "waiting_transactions", "consumer_bookmarks"}
    assert max(counts[1:]) <= 19


@pytest.fixture(scope="module")
def counted(make_project: Callable[..., Project]) -> Counted:
    return Counted(make_project)


@pytest.mark.slow
def test_a_first_run(counted: Counted) -> None:
    counted.land()
    assert counted.count("--threads", "4") < 62
    assert not made(counted.capture) & {*OF_TRACKING, "job_requests", "waiting_transactions"}
    assert made(counted.capture) >= {"consumer_bookmarks", "cdc_jobs"}
    jobs = counted.capture.sql(
        "select job_type, retention from {schema}.cdc_jobs order by job_type"
    )
    assert [tuple(job) for job in jobs] == [("capture", 0), ("cleanup", 4320)]


@pytest.mark.parametrize("threads", ["1", pytest.param("4", marks=pytest.mark.more)])
def test_later_runs(counted: Counted, threads: str) -> None:
    """Five changed tables, the same with a replica, and nothing new."""
    counted.land()
    assert counted.count("--exclude", "now", "--threads", threads) <= 16
    counted.land()
    assert counted.count("--threads", threads) <= 22  # one moves all bookmarks
    assert counted.count("--exclude", "now", "--threads", threads) <= 7


@pytest.mark.more
def test_scans_of_the_agent(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """One makes the views that are not there, and with nothing new the next one sends as little as
    a run without them."""
    monkeypatch.syspath_prepend(str(PACKAGE / "scripts"))
    select = "--select", *__import__("agent").SELECTED.split()
    counted.land()
    counted.count(*select)
    counted.capture.sql("drop view {schema}.is_cdc_enabled")
    counted.count(*select)
    assert made(counted.capture) >= {"is_cdc_enabled", "dm_cdc_log_scan_sessions", "cdc_consumers"}
    assert counted.count(*select) <= 9  # of which a replica sends two
