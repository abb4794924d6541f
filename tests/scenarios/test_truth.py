"""A real PostgreSQL log, in both of Debezium's encodings, captured to the true table states."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from capturing import change_row, instance_yaml, plain_values
from harness import Project
from reference.apply import State, apply_all, apply_net
from reference.capture import CaptureInstance, ChangeRow, capture
from reference.debezium import Event, read_log
from reference.log import int_to_lsn, lsn_to_int
from reference.query import NetRow
from reference.truth import Truth, data_dir, landed_events

DATA = data_dir()
pytestmark = pytest.mark.slow
TABLES = (
    "customers",
    "docs",
    "events_log",
    "orders",
    "pgbench_accounts",
    "pgbench_branches",
    "pgbench_history",
    "pgbench_tellers",
)
TYPES = {
    "public.customers": {
        "balance": "decimal(18,4)",
        "wide": "decimal(38,18)",
        "birth": "date",
        "avatar": "binary",
        "updated_at": "timestamp(3)",
    },
    "public.orders": {"amount": "decimal(12,2)"},
    "public.pgbench_history": {"mtime": "timestamp(6)"},
}
BEFORE_IMAGES = {"public.docs": "key"}
LANDED = "position bigint, topic string, key string, value string, headers string"


@pytest.fixture(scope="module")
def truth() -> Truth:
    return Truth(DATA / "postgres")


@pytest.fixture(scope="module")
def instances(truth: Truth) -> list[CaptureInstance]:
    return [truth.instance(t, "partial" if t == "docs" else "complete") for t in TABLES]


def project(
    make_project: Callable[..., Project],
    instances: list[CaptureInstance],
    kind: str,
    types: dict[str, dict[str, str]] | None,
) -> Project:
    """A project whose log model is of materialization `kind`."""
    partial = [i for i in instances if i.before_image == "partial"]
    complete = [i for i in instances if i.before_image == "complete"]
    arguments = f"types={types!r}, before_images={BEFORE_IMAGES!r}"
    models = {
        "shop_log.sql": f"{{{{ config(materialized='{kind}', incremental_strategy='append',"
        " file_format='delta') }}\n"
        f"{{{{ dbt_cdc.debezium_log(source('landing', 'events'), {arguments}) }}}}",
        "sources.yml": json.dumps(
            {
                "version": 2,
                "sources": [
                    {
                        "name": "landing",
                        "schema": "{{ target.schema }}",
                        "tables": [{"name": "events"}],
                    }
                ],
            }
        ),
        "partial.yml": instance_yaml(partial),
        "complete.yml": instance_yaml(complete),
    }
    for instance in instances:
        models[f"{instance.capture_instance}_ct.sql"] = "{{ dbt_cdc.change_table() }}"
    if kind == "incremental":
        models |= followers()
    made = make_project(models=models, vars={"cdc_log_model": "shop_log"})
    made.clear()
    made.sql(f"create table {{schema}}.events ({LANDED}) using delta")
    return made


def followers() -> dict[str, str]:
    """A replica that knows when its rows were written, and histories, one of partial images."""
    model = (
        "{{{{ config(materialized='{}') }}}}\nselect {} from {{{{ dbt_cdc.new_changes('{}') }}}}"
    )
    written = "*, `__$start_lsn` as written"
    return {
        "docs.sql": model.format("replica", written, "public_docs"),
        "docs_history.sql": model.format("history", "*", "public_docs"),
        "orders_history.sql": model.format("history", "*", "public_orders"),
    }


def land(project: Project, events: list[Event]) -> None:
    rows = [(e.position, e.topic, e.key, e.value, e.headers) for e in events]
    project.spark.createDataFrame(rows, LANDED).coalesce(1).write.insertInto(
        f"{project.schema}.events"
    )


def changes(project: Project, instance: CaptureInstance) -> list[ChangeRow]:
    rows = project.sql(f"select * from {{schema}}.{instance.capture_instance}_ct")
    return sorted((change_row(row, instance) for row in rows), key=lambda row: row.order)


@pytest.fixture(scope="module")
def incremental(make_project: Callable[..., Project], instances: list[CaptureInstance]) -> Project:
    """Schemas off, an incremental log, two batches; the first ends inside a transaction."""
    made = project(make_project, instances, "incremental", TYPES)
    events = landed_events(DATA / "postgres" / "debezium" / "all.jsonl.gz")
    for low, high in ((0, 1897), (1897, len(events))):
        land(made, events[low:high])
        made.ok("run")
    return made


def test_every_table_is_as_the_reference_captures_it(
    incremental: Project, instances: list[CaptureInstance]
) -> None:
    events = landed_events(DATA / "postgres" / "debezium" / "all.jsonl.gz")
    records = read_log(events, TYPES, BEFORE_IMAGES).records
    for instance in instances:
        assert changes(incremental, instance) == capture(records, instance)


def test_the_true_state_at_every_checkpoint(
    incremental: Project, instances: list[CaptureInstance], truth: Truth
) -> None:
    has_the_true_states(incremental, instances, truth)


def has_the_true_states(made: Project, instances: list[CaptureInstance], truth: Truth) -> list[str]:
    """All changes and net changes lead from each checkpoint to the next, net changes from the first
    to the last; gives what follows the last window that was read, by instance."""
    low, high_end = made.sql("select low_end, high_end from {schema}.validity_intervals limit 1")[0]
    ends = []
    for instance in instances:
        rows = changes(made, instance)
        state, net, previous = State(instance), State(instance), low
        for checkpoint in truth.checkpoints:
            end = min(int_to_lsn(checkpoint.position << 24), high_end)
            if end < previous:
                continue
            apply_all(state, [row for row in rows if previous <= row.start_lsn <= end])
            assert truth.differences(state, checkpoint.number) == []
            if instance.index_columns:
                apply_net(net, net_changes(made, instance, previous, end))
                assert truth.differences(net, checkpoint.number) == []
            previous = int_to_lsn(lsn_to_int(end) + 1)
        if instance.index_columns:
            distant = apply_net(State(instance), net_changes(made, instance, low, high_end))
            assert truth.differences(distant, truth.checkpoints[-1].number) == []
        ends.append(previous)
    return ends


@pytest.mark.parametrize("table", ["docs", pytest.param("orders", marks=pytest.mark.more)])
def test_a_history_has_the_true_state_at_every_checkpoint(
    incremental: Project, instances: list[CaptureInstance], truth: Truth, table: str
) -> None:
    instance = next(i for i in instances if i.source_name == table)
    versions = incremental.table(f"{table}_history").collect()
    for checkpoint in truth.checkpoints:
        lsn, state = int_to_lsn(checkpoint.position << 24), State(instance)
        for row in versions:
            if row.valid_from_lsn <= lsn < (row.valid_to_lsn or "0xG"):
                values = plain_values(row, instance)
                state.rows[instance.key(values)] = values
                state.written[instance.key(values)] = row.valid_from_lsn
        assert len(state.rows) == sum(
            row.valid_from_lsn <= lsn < (row.valid_to_lsn or "0xG") for row in versions
        )
        assert truth.differences(state, checkpoint.number) == []


def test_a_replica_has_the_true_state(
    incremental: Project, instances: list[CaptureInstance], truth: Truth
) -> None:
    instance = next(i for i in instances if i.source_name == "docs")
    state = State(instance)
    rows = incremental.table("docs").collect()
    for row in rows:
        values = plain_values(row, instance)
        state.rows[instance.key(values)] = values
        state.written[instance.key(values)] = row.written
    assert len(state.rows) == len(rows)
    assert truth.differences(state, truth.checkpoints[-1].number) == []


def net_changes(project: Project, instance: CaptureInstance, low: str, high: str) -> list[NetRow]:
    rows = project.sql(
        "select * from {schema}.fn_cdc_get_net_changes_"
        f"{instance.capture_instance}('{low}', '{high}', 'all with mask')"
    )
    return [
        NetRow(
            row["__$start_lsn"],
            row["__$operation"],
            row["__$update_mask"],
            plain_values(row, instance),
        )
        for row in rows
    ]


@pytest.mark.soak
@pytest.mark.parametrize("types", [None, TYPES], ids=["declared", "given"])
def test_the_other_encoding_gives_the_same_change_tables(
    make_project: Callable[..., Project],
    incremental: Project,
    instances: list[CaptureInstance],
    types: dict[str, dict[str, str]] | None,
) -> None:
    made = project(make_project, instances, "view" if types else "table", types)
    land(made, landed_events(DATA / "postgres" / "debezium_schemas" / "all.jsonl.gz"))
    made.ok("run")
    for instance in instances:
        assert changes(made, instance) == changes(incremental, instance)
