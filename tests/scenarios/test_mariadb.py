"""A real MariaDB log, captured to the true table states."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise

import pytest
from capturing import instance_yaml
from harness import IS_ALL, Project
from reference.capture import CaptureInstance
from reference.debezium import Event
from reference.log import int_to_lsn
from reference.truth import Truth, landed_events
from test_truth import DATA, LANDED, TABLES, changes, has_the_true_states, land
from test_without_metadata import without_metadata

pytestmark = pytest.mark.slow
TYPES = {
    "shop.customers": {
        "balance": "decimal(18,4)",
        "wide": "decimal(38,18)",
        "birth": "date",
        "avatar": "binary",
        "updated_at": "timestamp(3)",
    },
    "shop.orders": {"amount": "decimal(12,2)"},
    "shop.pgbench_history": {"mtime": "timestamp(6)"},
}
SOURCES = {
    "version": 2,
    "sources": [
        {"name": "landing", "schema": "{{ target.schema }}", "tables": [{"name": "events"}]}
    ],
}


@pytest.fixture(scope="module")
def truth() -> Truth:
    return Truth(DATA / "mariadb", "shop")


@pytest.fixture(scope="module")
def instances(truth: Truth) -> list[CaptureInstance]:
    return [truth.instance(table) for table in TABLES]


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return landed_events(DATA / "mariadb" / "debezium" / "all.jsonl.gz")


def project(make_project: Callable[..., Project], instances: list[CaptureInstance]) -> Project:
    models = {
        "shop_log.sql": "{{ config(materialized='incremental', incremental_strategy='append',"
        " file_format='delta') }}\n{{ dbt_cdc.debezium_log(source('landing', 'events'),"
        f" connector='mariadb', types={TYPES!r}) }}}}",
        "sources.yml": json.dumps(SOURCES),
        "instances.yml": instance_yaml(instances),
    }
    for instance in instances:
        models[f"{instance.capture_instance}_ct.sql"] = "{{ dbt_cdc.change_table() }}"
    made = make_project(models=models, vars={"cdc_log_model": "shop_log"})
    made.clear()
    made.sql(f"create table {{schema}}.events ({LANDED}) using delta")
    return made


def test_init_finds_the_connector(
    make_project: Callable[..., Project], events: list[Event]
) -> None:
    made = make_project()
    made.clear()
    made.sql(f"create table {{schema}}.events ({LANDED}) using delta")
    land(made, events)
    arguments = json.dumps(
        {
            "landed": f"{made.schema}.events",
            "tables": ["shop.docs", "shop.orders"],
            "types": {"shop.orders": {"amount": "decimal(12,2)"}},
        }
    )
    result = made.dbt("run-operation", "init", "--args", arguments)
    assert result.success, result.output
    assert "connector='mysql'" in result.output
    assert "source_schema: shop" in result.output
    assert "index_columns: [customer_id, order_no]" in result.output


@pytest.fixture(scope="module")
def incremental(
    make_project: Callable[..., Project], instances: list[CaptureInstance], events: list[Event]
) -> Project:
    """Batches; all but the last end inside a transaction."""
    made = project(make_project, instances)
    borders = [0, 1001, 1900, len(events)] if IS_ALL else [0, 1001, len(events)]
    for low, high in pairwise(borders):
        land(made, events[low:high])
        made.ok("run")
    return made


def test_the_true_state_at_every_checkpoint(
    incremental: Project, instances: list[CaptureInstance], truth: Truth
) -> None:
    ends = has_the_true_states(incremental, instances, truth)
    assert min(ends) > int_to_lsn(truth.checkpoints[-2].position << 24)


def test_all_events_are_accounted_for(incremental: Project, events: list[Event]) -> None:
    balances = incremental.sql("select * from {schema}.event_balances")
    assert sum(row.landed for row in balances) == len(events)
    for row in balances:
        assert row.landed == sum(
            (row.in_log, row.copies, row.waiting, row.given_up, row.later_snapshots)
            + (row.heartbeats, row.tombstones, row.messages)
        )
        assert row.copies == 0


def test_the_history_of_ddl(incremental: Project) -> None:
    rows = incremental.sql("select * from {schema}.ddl_history order by ddl_lsn")
    assert [row.ddl_command for row in rows] == [
        "ALTER TABLE customers ADD COLUMN loyalty int NOT NULL DEFAULT 7",
        "ALTER TABLE orders DROP COLUMN legacy_code",
        "ALTER TABLE customers ADD COLUMN phone varchar(20)",
        "ALTER TABLE orders MODIFY qty bigint NOT NULL",
        "ALTER TABLE customers ADD COLUMN tier varchar(8) DEFAULT 'br\u00f6nze'",
        "ALTER TABLE orders ADD COLUMN legacy_code int",
    ]


@pytest.mark.more
def test_without_metadata_the_same_change_tables(
    make_project: Callable[..., Project],
    incremental: Project,
    instances: list[CaptureInstance],
    events: list[Event],
) -> None:
    """All but the last transaction, which no later event ends."""
    made = project(make_project, instances)
    untold = without_metadata(events)
    for low, high in ((0, 700), (700, len(untold))):
        land(made, untold[low:high])
        made.ok("run")
    last = max(
        row.lsn for row in made.sql("select lsn from {schema}.shop_log where operation = 'COMMIT'")
    )
    for instance in instances:
        expected = [row for row in changes(incremental, instance) if row.start_lsn <= last]
        assert changes(made, instance) == expected
    (waiting,) = made.sql("select * from {schema}.waiting_transactions")
    assert waiting.reason == "no later transaction has landed, which tells where this one ended"
