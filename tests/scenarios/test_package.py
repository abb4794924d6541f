"""Another project installs the package: macros, state tables and hooks, no seeds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest
from capturing import Capture
from harness import PACKAGE, DbtResult, Project
from reference.capture import CaptureInstance
from reference.log import LogRecord, int_to_lsn

pytestmark = pytest.mark.slow

ORDERS = CaptureInstance("dbo", "orders", "dbo_orders", (("id", "int"), ("v", "string")), ("id",))
STATE = {
    "cdc_jobs",
    "captured_columns",
    "cdc_consumers",
    "change_tables",
    "change_tracking_databases",
    "change_tracking_tables",
    "ddl_history",
    "is_cdc_enabled",
    "is_tracked_by_cdc",
    "observed_columns",
    "index_columns",
    "consumer_bookmarks",
    "event_balances",
    "job_requests",
    "lsn_time_mapping",
    "mschange_tracking_history",
    "syscommittab",
    "dm_cdc_errors",
    "dm_tran_commit_table",
    "dm_cdc_log_scan_sessions",
    "scan_progress",
    "scan_sessions",
    "scan_transactions",
    "waiting_transactions",
}


def test_dbt_deps_installs_it_without_deprecations(make_project: Callable[..., Project]) -> None:
    project = make_project(
        models={"shop_log.sql": "select 1 as lsn"}, vars={"cdc_log_model": "shop_log"}
    )
    shutil.rmtree(project.folder / "dbt_packages")
    assert project.ok("deps")
    assert (project.folder / "dbt_packages" / "dbt_cdc" / "macros").is_dir()
    result = project.ok("--warn-error", "parse", "--no-partial-parse", "--show-all-deprecations")
    assert "deprecat" not in result.output.lower()


@pytest.fixture(scope="module")
def used(make_project: Callable[..., Project]) -> tuple[Capture, DbtResult]:
    """A project that has captured one change, and its run."""
    capture = Capture(make_project, [ORDERS])
    capture.land(
        [
            LogRecord(int_to_lsn(1), "7", "BEGIN"),
            LogRecord(int_to_lsn(2), "7", "INSERT", None, "dbo", "orders", None, '{"id": 1}'),
            LogRecord(int_to_lsn(3), "7", "COMMIT"),
        ]
    )
    return capture, capture.run()


def test_it_brings_state_tables(used: tuple[Capture, DbtResult]) -> None:
    capture, result = used
    assert set(result.messages) == {*STATE, "raw_log", "dbo_orders_ct", "dbt_cdc-on-run-end-0"}
    assert [
        row.id for row in capture.call("fn_cdc_get_all_changes_dbo_orders", *ends(capture))
    ] == [1]


def ends(capture: Capture) -> tuple[str, str, str]:
    interval = capture.sql("select * from {schema}.validity_intervals")[0]
    return interval.low_end, interval.high_end, "all"


def test_the_query_macros_compile_in_its_models(used: tuple[Capture, DbtResult]) -> None:
    capture, _ = used
    for kind, model in (
        ("all", "get_all_changes('dbo_orders', low, high, 'all update old')"),
        ("net", "get_net_changes('DBO_Orders', low, high, row_filter_option='all with mask')"),
    ):
        capture.project.write(
            f"models/{kind}_of_orders.sql",
            "{% set low = dbt_cdc.get_min_lsn('dbo_orders') %}"
            "{% set high = dbt_cdc.get_max_lsn() %}"
            f"select * from {{{{ dbt_cdc.{model} }}}}",
        )
    capture.run("--select", "all_of_orders", "net_of_orders")
    assert [
        (r["__$operation"], r.id) for r in capture.project.table("all_of_orders").collect()
    ] == [(2, 1)]
    assert [
        (r["__$operation"], r.id) for r in capture.project.table("net_of_orders").collect()
    ] == [(2, 1)]


def test_the_package_has_no_duplicate_names() -> None:
    """One public macro a file, named as its file, except where a file is one helper's family."""
    for path in (PACKAGE / "macros").rglob("*.sql"):
        if path.stem.startswith("_"):
            continue
        text = path.read_text(encoding="utf-8")
        assert "{% macro " in text or "{% materialization " in text, path


def test_its_seeds_are_off(make_project: Callable[..., Project]) -> None:
    """They leave a project's seeds of the same names alone, and what its YAML says of them."""
    project = make_project()
    names = sorted(path.stem for path in (PACKAGE / "seeds").glob("*.csv"))
    for name in names:
        project.write(f"seeds/{name}.csv", "id\n1")
    project.write("seeds/own.yml", json.dumps({"seeds": [{"name": name} for name in names]}))
    listed = project.ok("ls", "--resource-type", "seed").printed.split()
    assert sorted(listed) == [f"shop.{name}" for name in names]
