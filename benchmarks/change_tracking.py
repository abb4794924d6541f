"""The part of `make bench` about change tracking: CHANGETABLE(CHANGES ...) against plain scans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import harness
from measure import Result, compare
from orders_log import COLUMNS, Log, write_log
from reference.change_tracking import TrackedTable
from tracking import tracked_models

if TYPE_CHECKING:
    from bench import Bench

ORDERS = TrackedTable("dbo", "orders", tuple(COLUMNS.items()), ("id",))


def tracked_project(bench: Bench) -> harness.Project:
    """A project that tracks dbo.orders."""
    models = {"raw_log.sql": "select * from {{ target.schema }}.landed"}
    return bench.made({**models, **tracked_models([ORDERS])}, {"cdc_log_model": "raw_log"})


def changes(bench: Bench) -> Iterator[Result]:
    """Windows of a side table that ten runs have made; the last run's without the others, too."""
    project, runs = tracked_project(bench), 10
    size = int(55_000 / 10 * bench.scale)
    logs = [Log(size, n * size) for n in range(runs)]
    for log in logs:
        write_log(bench.spark, log, f"{project.schema}.landed", 2)
        project.ok("run")
    last, many = size * runs, {"runs": bench.runs * 4, "warm_up": 3}
    for transactions, goal in ((size // 5, 1.5), (size, 1.5), (last, None)):
        baseline = last - transactions
        ask = bench.read(bench.asked(project, f"changetable_changes('dbo.orders', {baseline})"))
        scan = bench.read(
            f"select * from {project.schema}.change_tracking_dbo_orders"
            f" where sys_change_version > {baseline} and sys_change_version <= {last}"
        )
        what = f"changetable_changes, the last {transactions * 10:,} of {last * 10:,} rows"
        yield compare(what, "plain scan of the same rows", ask, scan, goal, **many)
    alone = tracked_project(bench)
    write_log(bench.spark, logs[-1], f"{alone.schema}.landed", 2)
    alone.ok("run")
    ask = bench.read(bench.asked(project, f"changetable_changes('dbo.orders', {last - size})"))
    yield compare(
        f"changetable_changes, the last {size * 10:,} rows",
        "the same window without the history before it",
        ask,
        bench.read(bench.asked(alone, "changetable_changes('dbo.orders', 0)")),
        1.2,
        **many,
    )
