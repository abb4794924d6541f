"""Flattened events (ExtractNewRecordState) with what `add.fields` can tell: the truth, by key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from capturing import instance_yaml
from harness import IS_ALL, Project
from reference.apply import State, apply_all
from reference.debezium import Event
from reference.log import int_to_lsn, lsn_to_int
from reference.source import BinlogConnector, Connector, SqlServerConnector
from reference.truth import Truth, landed_events
from test_debezium_faults import SOURCE, Shop, row, updates
from test_truth import DATA, LANDED, TYPES, changes
from test_without_metadata import without_metadata

pytestmark = pytest.mark.slow

FIELDS = (
    "op", "ts_us", "source.db", "source.schema", "source.table", "source.name", "source.connector",
    "source.snapshot", "source.lsn", "source.txId", "source.sequence", "source.ts_us",
    "transaction.id", "transaction.total_order",
)  # fmt: skip
VIEW = "{{{{ dbt_cdc.unflattened_events(source('kafka', 'landed'){}) }}}}"
MODEL = """{{ config(materialized='incremental', file_format='delta') }}
{{ dbt_cdc.debezium_log(ref('whole_events')) }}"""


def flat(event: Event, fields: tuple[str, ...] = FIELDS, prefix: str = "__") -> Event | None:
    """What the transform makes of an event, with delete.tombstone.handling.mode=rewrite."""
    if event.value is None:
        return None
    value = json.loads(event.value, parse_float=str)
    payload = value.get("payload", value) if "schema" in value else value
    if payload.get("op", "m") in ("m", "t"):  # not a change of a row, kept from the transform
        return event
    image = "before" if payload["op"] == "d" else "after"
    held = raw_member(event.value, image)
    added = {"__deleted": json.dumps(str(payload["op"] == "d").lower())}
    for name in fields:
        part: Any = payload
        for step in name.split("."):
            part = (part or {}).get(step)
        added[prefix + name.replace(".", "_")] = json.dumps(part)
    members = ",".join(f'"{name}":{text}' for name, text in added.items())
    comma = "" if held == "{}" else ","
    return replace(event, value=f"{held[:-1]}{comma}{members}}}")


def raw_member(text: str, name: str) -> str:
    """The object under a name, as it is written."""
    start = text.index(f'"{name}"')
    start = text.index("{", start)
    return text[start : start + json.JSONDecoder().raw_decode(text[start:])[1]]


def flattened(events: list[Event], **more: Any) -> list[Event]:
    return [found for event in events if (found := flat(event, **more))]


@pytest.mark.parametrize("has_metadata", [True, pytest.param(False, marks=pytest.mark.more)])
def test_a_real_log_has_the_true_state_at_every_checkpoint(
    make_project: Callable[..., Project], has_metadata: bool
) -> None:
    truth = Truth(DATA / "postgres")
    # an image without a dropped column does not tell it from a value that was not logged
    dropped = {ddl["effect"]["table"] for ddl in truth.ddl if "drop" in ddl["effect"]}
    keyed = ("customers", "docs", "orders", "pgbench_accounts", "pgbench_branches")
    tables = [table for table in keyed if table not in dropped]
    assert "docs" in tables
    instances = [truth.instance(table, "partial") for table in tables]
    types = {table: TYPES[table] for table in TYPES if table.split(".")[1] in tables}
    models = {
        "whole_events.sql": VIEW.format(""),
        "shop_log.sql": MODEL.replace(
            "ref('whole_events')", f"ref('whole_events'), types={types!r}"
        ),
        "sources.yml": SOURCE,
        "instances.yml": instance_yaml(instances),
        **{f"{i.capture_instance}_ct.sql": "{{ dbt_cdc.change_table() }}" for i in instances},
    }
    made = make_project(models=models, vars={"cdc_log_model": "shop_log"})
    made.clear()
    made.sql(f"create table {{schema}}.landed ({LANDED}) using delta")
    events = landed_events(DATA / "postgres" / "debezium" / "all.jsonl.gz")
    events = flattened(events if has_metadata else without_metadata(events))
    for low, high in pairwise([0, 1500, len(events)] if IS_ALL else [0, len(events)]):
        rows = [(e.position, e.topic, e.key, e.value, e.headers) for e in events[low:high]]
        made.spark.createDataFrame(rows, LANDED).coalesce(1).write.insertInto(
            f"{made.schema}.landed"
        )
        made.ok("run")
    low_end, high_end = made.sql("select low_end, high_end from {schema}.validity_intervals")[0]
    for instance in instances:
        rows, state, previous = changes(made, instance), State(instance), low_end
        for checkpoint in truth.checkpoints:
            end = min(int_to_lsn(checkpoint.position << 24), high_end)
            if end < previous or (not has_metadata and end == high_end):
                continue
            apply_all(state, [r for r in rows if previous <= r.start_lsn <= end])
            assert truth.differences(state, checkpoint.number) == []
            previous = int_to_lsn(lsn_to_int(end) + 1)
        # without metadata the last transaction has no successor that tells its end
        assert previous > int_to_lsn(truth.checkpoints[-2 if has_metadata else -3].position << 24)


# --- what the transform may leave out -------------------------------------------------------------


@pytest.fixture(scope="module")
def shop(make_project: Callable[..., Project], spark: Any) -> Shop:
    models = {"log.sql": MODEL, "whole_events.sql": VIEW.format(""), "sources.yml": SOURCE}
    return Shop(make_project(models=models, vars={"cdc_log_model": "log"}), spark)


def told(shop: Shop, kind: type[Connector] = Connector, **more: Any) -> list[Event]:
    """An insert, an update, a key that changes and a delete, flattened."""
    database, _ = shop.begin(1, 2)
    connector = kind(database)
    connector.snapshot()
    database.commit(updates(1), ("update", "t", row(2, "first"), row(9, "moved")))
    database.commit(("delete", "t", row(1, "new")), ("insert", "t", row(5, "__op")))
    connector.stream()
    return flattened(connector.sent, **more)


def run(shop: Shop, events: list[Event]) -> Any:
    shop.land(events)
    return shop.project.dbt("run", "--select", "whole_events", "log")


def records(shop: Shop) -> list[tuple[Any, ...]]:
    found = shop.project.sql(
        "select operation, before_image as b, after_image as a from {schema}.log"
        " where source_name = 't' and tran_id <> 'snapshot' order by lsn"
    )
    return [(r.operation, *(i and json.loads(i) for i in (r.b, r.a))) for r in found]


@pytest.mark.more
def test_what_the_log_holds(shop: Shop) -> None:
    assert run(shop, told(shop)).success
    assert records(shop) == [
        ("UPDATE", None, row(1, "new")),
        ("UPDATE", {"id": 2}, row(9, "moved")),
        ("DELETE", {"id": 1}, None),
        ("INSERT", None, row(5, "__op")),
    ]


@pytest.mark.more
def test_deletes_that_tell_the_key_alone_where_no_keys_land(shop: Shop) -> None:
    """What is invented beside the key is in the flattened row, too."""
    events = [replace(event, key=None) for event in told(shop)]
    for number, event in enumerate(events):
        if '"__op":"d"' in event.value:
            value = re.sub('"v": "(first|new)"', '"v": null', event.value)
            events[number] = replace(event, value=value)
    says = "CDC 22859: deletes tell the key alone, and the rows had more: public.t (2): land keys ("
    assert says in run(shop, events).output


PLACES = {
    "mysql": ("source.file", "source.pos", "source.row", "source.gtid", "source.server_id"),
    "sqlserver": ("source.commit_lsn", "source.change_lsn", "source.event_serial_no"),
}


@pytest.mark.parametrize("connector", [pytest.param("mysql", marks=pytest.mark.more), "sqlserver"])
def test_other_connectors(make_project: Callable[..., Project], spark: Any, connector: str) -> None:
    view = "ref('whole_events')"
    models = {
        "log.sql": MODEL.replace(view, f"{view}, connector='{connector}'"),
        "whole_events.sql": VIEW.format(""),
        "sources.yml": SOURCE,
    }
    shop = Shop(make_project(models=models, vars={"cdc_log_model": "log"}), spark)
    kind = {"mysql": BinlogConnector, "sqlserver": SqlServerConnector}[connector]
    of_postgres = ("source.lsn", "source.txId", "source.sequence", "source.ts_us")
    fields = tuple(name for name in FIELDS if name not in of_postgres) + PLACES[connector]
    result = run(shop, told(shop, kind, fields=fields))
    assert "does not tell source.ts_us" in result.output
    assert run(shop, told(shop, kind, fields=(*fields, "source.ts_ms"))).success
    assert records(shop) == [
        ("UPDATE", None, row(1, "new")),
        ("UPDATE", {"id": 2}, row(9, "moved")),
        ("DELETE", {"id": 1}, None),
        ("INSERT", None, row(5, "__op")),
    ]


@pytest.mark.parametrize("field", ["op", "source.lsn", "source.ts_us"])
def test_a_field_that_is_missing_is_named(shop: Shop, field: str) -> None:
    result = run(shop, told(shop, fields=tuple(name for name in FIELDS if name != field)))
    assert f"it is flattened, and does not tell {field}" in result.output
    assert "transforms.unwrap.add.fields=op," in result.output


@pytest.mark.more
def test_tables_of_two_databases_in_one_topic(
    make_project: Callable[..., Project], spark: Any
) -> None:
    """MySQL's source tells no schema, and a topic that all are routed into tells none either."""
    models = {
        "log.sql": MODEL.replace("ref('whole_events')", "ref('whole_events'), connector='mysql'"),
        "whole_events.sql": VIEW.format(""),
        "sources.yml": SOURCE,
    }
    shop = Shop(make_project(models=models, vars={"cdc_log_model": "log"}), spark)
    of_all = (*FIELDS, *PLACES["mysql"], "source.ts_ms")
    for lacks, topic in (("source.db", "all"), ("source.db", "my.all"), (None, "my.all")):
        fields = tuple(name for name in of_all if name != lacks)
        events = []
        for event in told(shop, BinlogConnector, fields=fields):
            value = event.value.replace(
                '"public"', '"crm"' if '"id": 5' in event.value else '"public"'
            )
            events.append(replace(event, topic=topic, value=value))
        result = run(shop, events)
        if lacks:
            assert "it is flattened, and does not tell source.db" in result.output
    assert result.success, result.output
    schemas = "select distinct source_schema as s from {schema}.log where source_name = 't'"
    assert {r.s for r in shop.project.sql(schemas)} == {"public", "crm"}


def test_a_truncate_that_is_kept_whole(shop: Shop) -> None:
    """The transform drops it: docs/sources/flattened.md has the predicate that keeps it from it."""
    database, connector = shop.begin(1, 2)
    connector.metadata = False
    connector.snapshot()
    database.commit(("truncate", "t"), ("insert", "t", row(3, "new")))
    connector.stream()
    connector.beat()
    result = run(shop, flattened(connector.sent))
    assert result.success, result.output
    assert [r[0] for r in records(shop)] == ["TRUNCATE", "INSERT"]


@pytest.mark.more
def test_tombstones_are_refused(shop: Shop) -> None:
    events = told(shop)
    result = run(shop, [*events, replace(events[-1], value=None)])
    assert "it is a tombstone, and nothing tells whether it is a delete of its own" in result.output
    assert "delete.tombstone.handling.mode=rewrite" in result.output
    # one that was taken out by hand is none
    shop.start()
    removed = replace(events[-1], topic=f"removed.{events[-1].topic}", key=None, value=None)
    assert run(shop, [*events, removed]).success


def with_schema(event: Event) -> Event:
    """The schema has the fields that the transform adds, too; one of them is an enumeration."""
    fields = [{"type": "int32", "field": "id"}, {"type": "string", "field": "v"}]
    for name in [name for name in json.loads(event.value) if name.startswith("__")]:
        fields.append({"type": "string", "optional": True, "field": name})
        if name.endswith("snapshot"):
            allowed = {"allowed": "true,first,first_in_data_collection,last,false,incremental"}
            fields[-1] |= {"name": "io.debezium.data.Enum", "version": 1, "parameters": allowed}
    schema = json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))
    return replace(event, value=f'{{"schema":{schema},"payload":{event.value}}}')


@pytest.mark.more
def test_schemas_and_names_without_a_path(shop: Shop) -> None:
    """With schemas on, and `lsn` in place of `source.lsn`."""
    events = []
    for event in told(shop):
        value = event.value.replace("__source_lsn", "__lsn").replace("__source_txId", "__txId")
        is_flat = '"__op"' in value
        events.append(with_schema(replace(event, value=value)) if is_flat else event)
    assert run(shop, events).success
    assert len(records(shop)) == 4
    encodings = shop.project.sql(
        "select distinct encodings from {schema}.log where operation not in ('BEGIN', 'COMMIT')"
    )
    assert [json.loads(e.encodings) for e in encodings] == [{"id": "int32", "v": "string"}]


@pytest.mark.parametrize(
    "digits",
    ["1.500000000000000001", pytest.param("1.50000000000000000001", marks=pytest.mark.more)],
)
def test_a_number_that_a_parser_would_round_is_refused(shop: Shop, digits: str) -> None:
    new = f'"v": "__op", "d": {digits}'
    events = [replace(e, value=e.value.replace('"v": "__op"', new)) for e in told(shop)]
    result = run(shop, events)
    assert "a number has more digits than a double" in result.output


@pytest.mark.more
def test_what_is_not_flattened_stays(shop: Shop) -> None:
    """Messages keep their envelope; a row may have columns named as an envelope's parts."""
    database, connector = shop.begin(1)
    connector.metadata = False
    connector.snapshot()
    database.commit(("insert", "t", row(7, "new")))
    connector.stream()
    connector.beat()
    events = []
    for event in flattened(connector.sent):
        value = event.value.replace('"v": "new"', '"v": "new", "payload": "{\\"ts_ms\\":1}"')
        events.append(replace(event, value=value.replace('{"id": 7', '{"schema": "x", "id": 7')))
    events[1] = replace(events[1], value=f'{{"schema":null,"payload":{events[1].value}}}')
    result = run(shop, events)
    assert result.success, result.output
    ((operation, _, after),) = records(shop)
    assert (operation, after["id"], after["schema"]) == ("INSERT", 7, "x")
    assert not shop.project.sql("select * from {schema}.waiting_transactions")
