"""The part of `make bench` about Debezium events: the adapter, and the whole way to four replicas,
against SQL by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import harness
from capturing import instance_yaml
from debezium_events import TABLES, TYPES, land
from measure import Result, compare
from reference.capture import CaptureInstance

if TYPE_CHECKING:
    from bench import Bench

SOURCE = "struct<connector: string, `schema`: string, `table`: string, lsn: string, ts_us: string>"
ENVELOPE = (
    "op string, status string, id string, event_count string, ts_ms string,"
    f" source {SOURCE}, `transaction` struct<id: string, total_order: string>,"
    " before string, after string"
)
DECODED = {
    "decimal": "cast(concat({number}, 'E-{scale}') as {data_type})",
    "date": "date_from_unix_date({name})",
    "timestamp": "timestamp_millis({name})",
    "binary": "unbase64({name})",
}
RECORD = (
    "lsn, tran_id, operation, record_time, source_schema, source_name, before_image, after_image"
)
NUMBER = (
    "cast(conv(left({hex}, 16), 16, -10) as decimal(38,0)) * 18446744073709551616"
    " + cast(conv(right({hex}, 16), 16, 10) as decimal(38,0))"
)


def follow(bench: Bench) -> Iterator[Result]:
    """300,000 events of four tables."""
    project, count = shop(bench), int(300_000 * bench.scale)
    schema, spark = project.schema, bench.spark
    land(spark, count, f"{schema}.events", bench.folder)
    project.ok("compile", "--select", "shop_log")
    compiled = project.folder / "target/compiled/shop/models/shop_log.sql"
    adapter = compiled.read_text(encoding="utf-8")
    envelopes = f"select position, topic, from_json(value, '{ENVELOPE}') as e from {schema}.events"

    def write(query: str) -> None:
        spark.sql(f"create or replace table {schema}.written using delta as {query}")

    least = log_by_hand(envelopes)
    for what, goal, query in (
        ("parsing their envelopes and writing them with raw images", 1.3,
            f"select position, topic, e.* from ({envelopes})"),
        ("the same log by hand, nothing checked", None, least),
    ):  # fmt: skip
        yield compare(
            f"debezium_log, {count:,} events",
            what,
            lambda: write(adapter),
            lambda query=query: write(query),
            goal,
            bench.runs,
        )
    for one, other in ((adapter, least), (least, adapter)):
        columns = f"select {RECORD} from"
        assert spark.sql(f"{columns} ({one}) except {columns} ({other})").count() == 0

    def start() -> None:
        for row in project.sql("show tables in {schema}"):
            if not (
                row.isTemporary or row.tableName == "events" or row.tableName[:8] == "by_hand_"
            ):
                kind = "view" if row.tableName in VIEWS else "table"
                spark.sql(f"drop {kind} {schema}.{row.tableName}")
        project.ok("run", "--empty")

    def start_by_hand() -> None:
        for table in TABLES:
            shape = ", ".join(f"{name} {data_type}" for name, data_type in table.columns)
            name = f"{schema}.by_hand_{table.source_name}"
            spark.sql(f"create or replace table {name} ({shape}) using delta")

    def follow_by_hand(statements: list[str]) -> None:
        for statement in statements:
            spark.sql(statement).collect()

    for what, goal, statements in (
        ("the replicas by hand: from_json by topic, the last event of each key, MERGE", 2.0,
            [by_hand(table, schema) for table in TABLES]),
        ("the log, the change tables and the replicas by hand, nothing checked", None,
            with_changes_by_hand(schema, envelopes)),
    ):  # fmt: skip
        result = compare(
            f"dbt run, {count:,} events to 4 change tables and 4 replicas",
            what,
            lambda: project.ok("run"),
            lambda statements=statements: follow_by_hand(statements),
            goal,
            max(2, bench.runs // 2),
            prepare_a=start,
            prepare_b=start_by_hand,
        )
        for table in TABLES:
            ours, theirs = (
                f"select * from {schema}.{kind}{table.source_name}" for kind in ("", "by_hand_")
            )
            assert spark.sql(f"({ours}) except ({theirs})").count() == 0, table.source_name
            assert spark.sql(f"({theirs}) except ({ours})").count() == 0, table.source_name
        yield result


VIEWS = {"is_cdc_enabled", "is_tracked_by_cdc", "cdc_consumers", "dm_cdc_log_scan_sessions",
    "dm_tran_commit_table", "validity_intervals"}  # fmt: skip


def shop(bench: Bench) -> harness.Project:
    """A project with the log, a change table and a replica of each table."""
    source = {"name": "kafka", "schema": "{{ target.schema }}", "tables": [{"name": "events"}]}
    models = {
        "shop_log.sql": "{{ config(materialized='incremental', incremental_strategy='append',"
        " file_format='delta') }}\n{{ dbt_cdc.debezium_log(source('kafka', 'events'),"
        f" types={TYPES!r}) }}}}",
        "sources.yml": json.dumps({"version": 2, "sources": [source]}),
        "instances.yml": instance_yaml(TABLES),
    }
    for table in TABLES:
        models[f"{table.capture_instance}_ct.sql"] = "{{ dbt_cdc.change_table() }}"
        models[f"{table.source_name}.sql"] = (
            "{{ config(materialized='replica') }}\n"
            f"select * from {{{{ dbt_cdc.new_changes('{table.capture_instance}') }}}}"
        )
    return bench.made(models, {"cdc_log_model": "shop_log", "cdc_persistent_functions": False})


def columns_by_hand(table: CaptureInstance) -> tuple[str, str]:
    """The columns as the parser reads them, and as they are decoded."""
    types = TYPES.get(f"{table.source_schema}.{table.source_name}", {})
    raw = {"date": "int", "timestamp": "bigint"}
    fields, values = [], []
    for name, data_type in table.columns:
        source_type = types.get(name, "").partition("(")[0]
        is_text = source_type or data_type.startswith("varchar")
        fields.append(f"{name} {raw.get(source_type, 'string') if is_text else data_type}")
        bits = f"hex(unbase64({name}))"
        bits = f"lpad({bits}, 32, if({bits} >= '8', 'F', '0'))"
        value = DECODED.get(source_type, "{name}").format(
            name=name,
            data_type=data_type,
            scale=types.get(name, "").rpartition(",")[2].rstrip(")"),
            number=NUMBER.format(hex=bits),
        )
        values.append(f"{value} as {name}")
    return ", ".join(fields), ", ".join(values)


def by_hand(table: CaptureInstance, schema: str) -> str:
    """The MERGE that somebody would write who has only this table in mind."""
    shape, values = columns_by_hand(table)
    names = [name for name, _ in table.columns]
    last = f"""
        select op, {", ".join(f"row.{name} as {name}" for name in names)} from (
            select *, row_number() over (
                partition by {", ".join(f"row.{key}" for key in table.index_columns)}
                order by lsn desc, position desc
            ) as place
            from (
                select position, e.op, cast(e.source.lsn as bigint) as lsn,
                    if(e.op = 'd', e.before, e.after) as row
                from (
                    select position, from_json(value, 'op string, source struct<lsn: string>,
                        before struct<{colons(shape)}>, after struct<{colons(shape)}>') as e
                    from {schema}.events
                    where topic = '{topic(table)}' and value is not null
                )
            )
        ) where place = 1"""
    return merge_by_hand(table, schema, f"select op, {values} from ({last})")


def log_by_hand(envelopes: str) -> str:
    """The canonical log by the least SQL that makes it: records in the order of commits, with their
    LSNs. Every event has landed, once and whole; no id comes again, no key changes."""
    return f"""
        with events as (
            select position, coalesce(op, status) as kind,
                coalesce(split_part(coalesce(id, transaction.id), ':', 1), '') as xid,
                cast(coalesce(source.lsn, split_part(id, ':', 2)) as bigint) as wal,
                coalesce(cast(transaction.total_order as bigint), 0) + 1 as place,
                timestamp_micros(
                    cast(coalesce(source.ts_us, concat(ts_ms, '000')) as bigint)
                ) as record_time,
                source.schema as source_schema, source.table as source_name, before, after
            from (select position, e.* from ({envelopes} where value is not null))
            where rand() < 1
            distribute by xid
        ),
        transactions as (
            select *, lag(commit_number, 1, 65536) over (order by commit_number) as previous_commit
            from (
                select xid, max(wal) as commit_number,
                    max(case when kind not in ('BEGIN', 'END') then record_time end) as commit_time
                from events group by xid
            )
        )
        select /*+ broadcast(transactions) */
            if(kind = 'END', concat('0x', lpad(hex(commit_number), 14, '0'), '000000'),
                concat('0x', lpad(hex(previous_commit), 14, '0'), lpad(hex(place), 6, '0'))) as lsn,
            xid as tran_id,
            case kind when 'END' then 'COMMIT' when 'c' then 'INSERT' when 'u' then 'UPDATE'
                when 'd' then 'DELETE' else kind end as operation,
            if(kind = 'END', commit_time, record_time) as record_time,
            source_schema, source_name, before as before_image, after as after_image, position
        from events inner join transactions using (xid)"""


def with_changes_by_hand(schema: str, envelopes: str) -> list[str]:
    """A log, the change tables out of it and the replicas out of these, as a run makes them, by the
    least SQL: no check, no transactions, no masks, no way back."""
    statements = [
        f"create or replace table {schema}.by_hand_log using delta"
        f" as select position, topic, e.* from ({envelopes})"
    ]
    for table in TABLES:
        shape, values = columns_by_hand(table)
        before, after = (f"from_json({image}, '{shape}')" for image in ("before", "after"))
        changes = f"{schema}.by_hand_{table.source_name}_ct"
        statements.append(f"""
            create or replace table {changes} using delta as
            select lsn, position, operation, {values}
            from (
                select lsn, position, operation, row.*
                from (
                    select cast(source.lsn as bigint) as lsn, position, inline(case op
                        when 'd' then array(struct(1 as operation, {before} as row))
                        when 'u' then array(struct(3 as operation, {before} as row),
                            struct(4 as operation, {after} as row))
                        else array(struct(2 as operation, {after} as row))
                    end)
                    from {schema}.by_hand_log where topic = '{topic(table)}' and op is not null
                )
            )""")
        last = f"""
            select *, if(operation = 1, 'd', 'u') as op
            from (
                select *, row_number() over (
                    partition by {", ".join(table.index_columns)} order by lsn desc, position desc
                ) as place
                from {changes} where operation <> 3
            ) where place = 1"""
        statements.append(merge_by_hand(table, schema, last))
    return statements


def merge_by_hand(table: CaptureInstance, schema: str, rows: str) -> str:
    """The replica brought up to date by the last row of each key."""
    names = [name for name, _ in table.columns]
    return f"""
        merge into {schema}.by_hand_{table.source_name} as t
        using ({rows}) as s
        on {" and ".join(f"t.{key} = s.{key}" for key in table.index_columns)}
        when matched and s.op = 'd' then delete
        when matched then update set {", ".join(f"{name} = s.{name}" for name in names)}
        when not matched and s.op <> 'd' then insert ({", ".join(names)})
        values ({", ".join(f"s.{name}" for name in names)})"""


def topic(table: CaptureInstance) -> str:
    """Where Debezium writes the table's events."""
    return f"pg.{table.source_schema}.{table.source_name}"


def colons(shape: str) -> str:
    """Fields of a struct out of columns of a table."""
    return ", ".join(field.replace(" ", ": ", 1) for field in shape.split(", "))
