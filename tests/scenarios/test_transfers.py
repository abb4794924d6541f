"""Transfers between accounts of two tables: whoever reads while scans run sees the same sum."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest
from capturing import Capture
from harness import Project
from reference.capture import CaptureInstance
from reference.log import LogRecord
from transactions import Writer

pytestmark = pytest.mark.slow

COLUMNS = (("id", "int"), ("balance", "bigint"))
GIRO = CaptureInstance("dbo", "giro", "dbo_giro", COLUMNS, ("id",))
SAVINGS = CaptureInstance("dbo", "savings", "dbo_savings", COLUMNS, ("id",))
TABLES = ("giro", "savings")
ACCOUNTS, START, ROUNDS = 6, 1_000, 5


class Bank:
    """Accounts of the same money; a transaction moves some from one table to the other."""

    def __init__(self) -> None:
        self.writer, self.rng = Writer(), random.Random(7)
        self.rows = {t: {n: {"id": n, "balance": START} for n in range(ACCOUNTS)} for t in TABLES}

    def opens(self) -> list[LogRecord]:
        record = self.writer.record
        inserts = [
            record("INSERT", table, after_image=row)
            for table in TABLES
            for row in self.rows[table].values()
        ]
        return [*inserts, record("COMMIT")]

    def transfers(self, count: int) -> list[LogRecord]:
        records = []
        for _ in range(count):
            self.writer.transactions += 1
            amount = self.rng.randrange(1, 50)
            for table, sign in zip(TABLES, self.rng.choice([(1, -1), (-1, 1)]), strict=True):
                old = self.rows[table][self.rng.randrange(ACCOUNTS)]
                new = {**old, "balance": old["balance"] + sign * amount}
                self.rows[table][old["id"]] = new
                records.append(self.writer.record(
                    "UPDATE", table, before_image=old, after_image=new))  # fmt: skip
            records.append(self.writer.record("COMMIT"))
        return records


SUM = """
select sum(balance) as total, count(*) as accounts
from (
    select id, max_by(balance, struct(`__$start_lsn`, `__$seqval`)) as balance
    from {schema}.fn_cdc_get_all_changes_dbo_giro({low}, {high}, 'all')
    group by id
    union all
    select id, max_by(balance, struct(`__$start_lsn`, `__$seqval`)) as balance
    from {schema}.fn_cdc_get_all_changes_dbo_savings({low}, {high}, 'all')
    group by id
)
"""


def test_the_sum_never_moves(make_project: Callable[..., Project]) -> None:
    bank, target = Bank(), Capture(make_project, [GIRO, SAVINGS], threads=4)
    target.land(bank.opens())
    target.run()
    schema, spark = target.schema, target.project.spark.newSession()
    seen: list[tuple[str, int, int]] = []
    problems: list[BaseException] = []
    is_over = threading.Event()

    def read() -> None:
        try:
            low = spark.sql(f"select {schema}.fn_cdc_get_min_lsn('dbo_giro')").collect()[0][0]
            while not is_over.is_set():
                high = spark.sql(f"select {schema}.fn_cdc_get_max_lsn()").collect()[0][0]
                query = SUM.format(schema=schema, low=repr(low), high=repr(high))
                seen.append((high, *spark.sql(query).collect()[0]))
        except BaseException as problem:
            problems.append(problem)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(ROUNDS):
            target.land(bank.transfers(20))
            target.run()
    finally:
        is_over.set()
        reader.join()
    assert not problems, problems
    assert {total for _, total, _ in seen} == {2 * ACCOUNTS * START}
    assert {accounts for *_, accounts in seen} == {2 * ACCOUNTS}
    assert len({high for high, *_ in seen}) > 2, "the reader has seen no scan at work"
    assert seen == sorted(seen)
