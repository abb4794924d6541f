"""How many statements a run sends: each costs more than the rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from capturing import Capture
from harness import Project
from reference.capture import CaptureInstance
from reference.log import UTC, LogRecord, int_to_lsn
from statements import recorded

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


@pytest.fixture(scope="module")
def counted(make_project: Callable[..., Project]) -> Counted:
    return Counted(make_project)


@pytest.mark.slow
def test_a_first_run(counted: Counted) -> None:
    counted.land()
    assert counted.count("--threads", "4") < 60


@pytest.mark.parametrize("threads", ["1", "4"])
def test_later_runs(counted: Counted, threads: str) -> None:
    """Five changed tables, the same with a replica, and nothing new."""
    counted.land()
    assert counted.count("--exclude", "now", "--threads", threads) <= 14
    counted.land()
    assert counted.count("--threads", threads) <= 19
    assert counted.count("--exclude", "now", "--threads", threads) <= 6
