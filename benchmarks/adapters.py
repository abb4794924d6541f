"""The part of `make bench` about the adapters: each against the least SQL that reads its events."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import adapter_rows
from adapter_rows import SIZE
from debezium import ENVELOPE
from debezium_events import TABLES
from measure import Result, compare

if TYPE_CHECKING:
    from bench import Bench

CONFIG = (
    "{{ config(materialized='incremental', incremental_strategy='append', file_format='delta') }}\n"
)
FLAT = (
    "op ts_us source_schema source_table source_connector source_lsn source_ts_us transaction_id"
    " transaction_total_order"
)
LINE = (
    "action string, xid string, timestamp string, lsn string, nextlsn string, `schema` string,"
    " `table` string, columns string, identity string"
)
ORDERS = {"position", "ar_h_change_seq", "__$start_lsn", "start_lsn", "offset"}
PARSING = "parsing their envelopes and writing them with raw images"
WRITING = "writing their rows as JSON images"
LANDING = "reading them and writing the same columns"
OF_FILES = """
    select monotonically_increasing_id() as position, 'shop' as topic, 0 as partition,
        monotonically_increasing_id() as offset, cast(null as string) as key, value,
        cast(null as string) as headers, cast(null as timestamp) as timestamp,
        _metadata.file_name as file_name, cast(null as bigint) as file_line,
        _metadata.file_size as file_size, _metadata.file_modification_time as file_modified_at
    from text.`{folder}`"""
OF_TABLE = """
    select offset + 1 as position, topic, partition, offset, cast(key as string) as key,
        cast(value as string) as value, cast(null as string) as headers, timestamp,
        cast(null as string) as file_name, cast(null as bigint) as file_line,
        cast(null as bigint) as file_size, cast(null as timestamp) as file_modified_at
    from {schema}.landed"""


@dataclass(frozen=True)
class Adapter:
    """`landed`: rows by table; `body`: the log model, `views` other models; `least`: the SQL that
    it is compared with. `waits`: how many transactions the log leaves for the next run."""

    name: str
    landed: dict[str, str]
    body: str
    least: str
    against: str = PARSING
    views: tuple[tuple[str, str], ...] = ()
    waits: int = 0


def connector(
    name: str, source: dict[str, str], count: int, argument: str = "", has_metadata: bool = True
) -> Adapter:
    """Debezium's events of a connector. `source`: what is other in the envelope."""
    envelope = ENVELOPE
    for old, new in source.items():
        envelope = envelope.replace(old, new)
    call = f"debezium_log({{source}}{argument and f', connector={argument!r}'})"
    return Adapter(
        name,
        {"landed": adapter_rows.debezium(count, argument or "postgresql", has_metadata)},
        call,
        f"select position, topic, e.* from (select position, topic, from_json(value, '{envelope}')"
        " as e from {schema}.landed)",
        waits=0 if has_metadata else 1,
    )


def adapters(count: int) -> Iterator[Adapter]:
    """Those that make a log."""
    sequence = {" lsn: string": " lsn: string, txId: string, sequence: string"}
    yield connector(
        "debezium_log without transaction metadata", sequence, count, has_metadata=False
    )
    lsns = {" lsn: string": " commit_lsn: string, change_lsn: string, event_serial_no: string"}
    yield connector("debezium_log of SQL Server", lsns, count, "sqlserver")
    place = "file: string, pos: string, `row`: string, gtid: string, server_id: string"
    binlog = {" lsn: string": f" {place}", "`schema`: string": "db: string"}
    yield connector("debezium_log of MySQL", binlog, count, "mysql")
    members = ", ".join(f"__{name} string" for name in FLAT.split())
    yield Adapter(
        "unflattened_events and debezium_log",
        {"landed": adapter_rows.debezium(count, "postgresql", is_flat=True)},
        "debezium_log(ref('whole_events'))",
        f"select position, topic, key, value, e.* from (select *, from_json(value, '{members},"
        " status string, id string, event_count string, ts_ms string') as e from {schema}.landed)",
        views=(("whole_events", "unflattened_events({source})"),),
    )
    yield Adapter(
        "wal2json_log",
        {"landed": adapter_rows.wal2json(count)},
        "wal2json_log({source})",
        f"select position, e.* from (select position, from_json(value, '{LINE}') as e"
        " from {schema}.landed)",
    )
    keys = {f"dbo.{t.source_name}": list(t.index_columns) for t in TABLES}
    yield Adapter(
        "dms_log",
        {t.source_name: adapter_rows.dms(count, t) for t in TABLES},
        f"dms_log({{tables}}, keys={keys!r})",
        images("AR_H_CHANGE_SEQ, Op"),
        WRITING,
    )
    rows = {t.source_name: adapter_rows.change_table(count, t) for t in TABLES}
    yield Adapter(
        "change_table_log",
        # by another name, as it lands in the schema of the target
        {**rows, "commits": adapter_rows.lsn_time_mapping(count)},
        "change_table_log({tables}, source('landing', 'commits'))",
        images(
            "hex(`__$start_lsn`) as lsn, hex(`__$seqval`) as seqval, `__$operation` as operation,"
            " hex(`__$update_mask`) as mask, `__$command_id` as command_id"
        ),
        WRITING,
    )


def images(headers: str) -> str:
    """The rows of all tables, each as one JSON text."""
    return " union all ".join(
        f"select '{t.source_name}' as source_name, {headers},"
        f" to_json(struct({', '.join(name for name, _ in t.columns)})) as image"
        f" from {{schema}}.{t.source_name}"
        for t in TABLES
    )


def follow(bench: Bench) -> Iterator[Result]:
    """300,000 events or rows of four tables, for each adapter; then the landing of such events."""
    count = int(300_000 * bench.scale) // SIZE * SIZE
    for adapter in adapters(count):
        schema, statement = built(bench, adapter)
        (found,) = bench.spark.sql(
            "select count(source_name) as changes, count_if(operation = 'COMMIT') as commits"
            f" from {schema}.log"
        ).collect()
        commits = count // SIZE - adapter.waits
        assert (found.changes, found.commits) == (commits * SIZE, commits), (adapter.name, found)
        yield raced(bench, adapter, count, schema, statement)
    yield from landing(bench, count)


def landing(bench: Bench, count: int) -> Iterator[Result]:
    """The same events as files of a sink, and as a table of Kafka's columns."""
    spark, folder = bench.spark, Path(tempfile.mkdtemp(dir=bench.folder))
    events = spark.sql(adapter_rows.debezium(count, "postgresql", has_metadata=False))
    parts = events.repartitionByRange(16, "position").sortWithinPartitions("position")
    parts.select("value").write.mode("overwrite").text(str(folder))
    offset = 0
    for file in sorted(folder.glob("part-*")):
        with file.open("rb") as lines:
            size = sum(1 for _ in lines)
        file.rename(folder / f"shop+0+{offset:010}.json")
        offset += size
    assert offset == count
    kafka = f"""
        select 'shop' as topic, 0 as partition, (position - 1) div {SIZE + 2} * {SIZE}
            + (position - 1) % {SIZE + 2} - 1 as offset, cast(key as binary) as key,
            cast(value as binary) as value, timestamp_millis(1750000000000 + position) as timestamp
        from ({adapter_rows.debezium(count, "postgresql", has_metadata=False)})"""
    for adapter in (
        Adapter(
            "landed_files",
            {},
            f"landed_files('{folder}')",
            OF_FILES.format(folder=folder),
            LANDING,
        ),
        Adapter("landed_table", {"landed": kafka}, "landed_table({source})", OF_TABLE, LANDING),
    ):
        schema, statement = built(bench, adapter)
        (found,) = spark.sql(
            "select count(*) as events, count(distinct position) as positions,"
            f" count(distinct offset) as offsets, max(offset) as last from {schema}.log"
        ).collect()
        assert tuple(found) == (count, count, count, count - 1), (adapter.name, found)
        yield raced(bench, adapter, count, schema, statement)


def built(bench: Bench, adapter: Adapter) -> tuple[str, str]:
    """The schema of a project in which a first run has made the adapter's log, and the query that
    it has sent for it."""
    tables = [{"name": name} for name in adapter.landed]
    source = {"name": "landing", "schema": "{{ target.schema }}", "tables": tables}
    named = ", ".join(
        f"'dbo.{t.source_name}': source('landing', '{t.source_name}')" for t in TABLES
    )
    body = adapter.body.replace("{tables}", f"{{{named}}}")
    calls = {"log": (CONFIG, body)} | {name: ("", call) for name, call in adapter.views}
    models = {
        f"{name}.sql": f"{config}{{{{ dbt_cdc.{call} }}}}".replace(
            "{source}", "source('landing', 'landed')"
        )
        for name, (config, call) in calls.items()
    }
    if tables:
        models["sources.yml"] = json.dumps({"version": 2, "sources": [source]})
    project = bench.made(models, {"cdc_log_model": "log"})
    for name, rows in adapter.landed.items():
        frame = bench.spark.sql(rows)
        order = next(name for name in frame.columns if name.lower() in ORDERS)
        frame = frame.repartitionByRange(4, order).sortWithinPartitions(order)
        frame.write.format("delta").saveAsTable(f"{project.schema}.{name}")
    project.ok("run", "--select", *calls)
    compiled = project.folder / "target/compiled/shop/models/log.sql"
    return project.schema, compiled.read_text(encoding="utf-8")


def raced(bench: Bench, adapter: Adapter, count: int, schema: str, statement: str) -> Result:
    """Adapter and least SQL, each written to a table."""

    def write(query: str) -> None:
        bench.spark.sql(f"create or replace table {schema}.written using delta as {query}")

    least = adapter.least.replace("{schema}", schema)
    return compare(
        f"{adapter.name}, {count:,} events",
        adapter.against,
        lambda: write(statement),
        lambda: write(least),
        None,
        bench.runs,
    )
