"""The part of `make bench` about consumers: replica and history against a bare MERGE, and what a
dbt snapshot of the same table takes and misses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import harness
from capturing import instance_yaml
from measure import Result, compare, timed
from orders_log import COLUMNS, ORDERS, Log, write_log

if TYPE_CHECKING:
    from bench import Bench

START = "0x" + "0" * 20
CONSUMER = (
    "{{ config(materialized='?') }}\nselect * from {{ dbt_cdc.new_changes('dbo_orders',"
    f" initial=source('dumps', 'orders_before'), initial_lsn='{START}') }}}}\n"
)
SNAPSHOT = """{% snapshot orders_snapshot %}
{{ config(unique_key='id', strategy='check', check_cols='all', file_format='delta') }}
select * from {{ ref('orders_now') }}
{% endsnapshot %}
"""


def follow(bench: Bench) -> Iterator[Result]:
    """A window of 100,000 net changes into 5 million rows."""
    keys, size = int(5_000_000 * bench.scale), int(14_300 * bench.scale)
    project = consuming(bench)
    schema = project.schema
    before = Log(10, 0, old_keys=keys)
    make_content(bench, f"{schema}.orders_before", keys + size + before.transactions)
    write_log(bench.spark, before, f"{schema}.landed", 1)
    project.ok("run")
    project.ok("snapshot")
    log = Log(size, before.transactions, old_keys=keys)
    write_log(bench.spark, log, f"{schema}.landed", 2)
    tables = ("orders_now", "orders_then", "orders_snapshot")
    versions = {t: version(project, t) for t in tables}
    project.ok("run")
    # a MERGE writes where its bookmark is open: as of right before the last write, which moved it
    versions["consumer_bookmarks"] = version(project, "consumer_bookmarks") - 1
    asked = f"get_net_changes('dbo_orders', '{log.first_lsn}', '{log.last_lsn}')"
    staged = f"create table {schema}.net using delta as {bench.asked(project, asked)}"
    bench.spark.sql(staged)
    count = bench.spark.table(f"{schema}.net").count()
    columns = [name for name in COLUMNS if name != "id"]
    merge = (
        f"merge into {schema}.orders_now as t using {schema}.net as s on t.id = s.id"
        " when matched and s.`__$operation` = 1 then delete"
        f" when matched then update set {', '.join(f'{c} = s.{c}' for c in columns)}"
        f" when not matched then insert ({', '.join(COLUMNS)})"
        f" values ({', '.join(f's.{c}' for c in COLUMNS)})"
    )

    def restore(table: str) -> None:
        for name in (table, "consumer_bookmarks"):
            bench.spark.sql(f"restore table {schema}.{name} to version as of {versions[name]}")

    def send(statement: str, table: str) -> None:
        before = version(project, table)
        bench.spark.sql(statement).collect()
        assert version(project, table) > before, f"{table}: nothing is written"

    against = "a bare MERGE of the same rows"
    for kind, table, goal in (("replica", "orders_now", 1.2), ("history", "orders_then", 2.0)):
        statement = (project.folder / f"target/run/shop/models/{table}.sql").read_text("utf-8")
        yield compare(
            f"{kind}, {count:,} net changes into {keys:,} rows",
            against,
            lambda statement=statement, table=table: send(statement, table),
            lambda: send(merge, "orders_now"),
            goal,
            bench.runs,
            prepare_a=lambda table=table: restore(table),
            prepare_b=lambda: restore("orders_now"),
        )
    restore("orders_then")
    seconds = timed(lambda: send(statement, "orders_then"))
    restore("orders_now")
    bench.spark.sql(merge)
    snapshot = timed(lambda: project.ok("snapshot"))
    new = f"valid_from_lsn > '{before.last_lsn}'"
    kept = project.sql(f"select count(*) as n from {{schema}}.orders_then where {new}")[0].n
    seen = project.sql(
        "select count(*) as n from {schema}.orders_snapshot where dbt_valid_from >"
        " (select min(dbt_valid_from) from {schema}.orders_snapshot)"
    )[0].n
    gone = project.sql(
        "select count(*) as n from {schema}.orders_snapshot s left anti join {schema}.orders_now a"
        " on s.id = a.id where s.dbt_valid_to is null"
    )[0].n
    name = f"history of {kept:,} versions"
    missed = f"dbt snapshot, which misses {kept - seen:,} of them and {gone:,} deletes"
    yield Result(name, missed, seconds, snapshot, seconds / snapshot, None)


def version(project: harness.Project, table: str) -> int:
    """The last version of a Delta table."""
    return project.sql(f"describe history {{schema}}.{table} limit 1")[0].version


def consuming(bench: Bench) -> harness.Project:
    """A project with a replica, a history and a snapshot of dbo.orders."""
    tables = [{"name": "orders_before"}]
    source = {"name": "dumps", "schema": "{{ target.schema }}", "tables": tables}
    made = bench.made(
        {
            "raw_log.sql": "select * from {{ target.schema }}.landed",
            "instances.yml": instance_yaml([ORDERS]),
            "dbo_orders_ct.sql": "{{ dbt_cdc.change_table() }}",
            "dumps.yml": json.dumps({"version": 2, "sources": [source]}),
            "orders_now.sql": CONSUMER.replace("?", "replica"),
            "orders_then.sql": CONSUMER.replace("?", "history"),
        },
        {"cdc_log_model": "raw_log", "cdc_persistent_functions": False},
    )
    made.write("snapshots/orders_snapshot.sql", SNAPSHOT)
    return made


def make_content(bench: Bench, table: str, keys: int) -> None:
    """The rows that are there before the log begins."""
    values = {
        "id": "cast(id as int)",
        "name": "concat('Zoë \"', pmod(h, 9973), '\" O''Brien – 東京 №', id)",
        "amount": "cast(pmod(h, 1000000000) / 100 as decimal(18,4))",
        "quantity": "cast(pmod(h, 1000) as int)",
        "total": "pmod(h, 1000000000000) * 1000 + id",
        "active": "pmod(h, 3) = 0",
        "ratio": "pmod(h, 1000003) / 1000.0D",
        "updated_at": "timestamp'2023-06-01 00:00:00'",
    }
    columns = ", ".join(f"{sql} as {name}" for name, sql in values.items())
    bench.spark.sql(
        f"create table {table} using delta as select {columns}"
        f" from (select id, xxhash64(id) as h from range({keys}))"
    )
