"""The shipped example as its user has it: `dbt build` of examples/shop, unit tests included.

scripts/examples.yml, which docs/reference/ shows, is asked of it, too (tests/examples.py).
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from capturing import plain_values
from dbt.cli.main import dbtRunner
from examples import FILE, SETTINGS, Examples
from harness import PACKAGE, SHOP
from pyspark.sql import SparkSession
from reference.apply import State
from reference.capture import CaptureInstance
from reference.truth import Truth, data_dir

SCHEMA = "example"


pytestmark = pytest.mark.slow


@dataclass
class Built:
    """The example after its two builds: dbt's options, where each build ended, what the last said,
    dbt's results of it, and the folder of what dbt compiles."""

    folder: Path
    landing: Path
    options: list[str]
    ends: list[str]
    said: list[str]
    results: list[Any]


@pytest.fixture(scope="module")
def built(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Two batches; what `dbt compile` shows before the second is what the run appends, and each
    consumer has the true state behind both."""
    folder = tmp_path_factory.mktemp("example")
    target = {"type": "spark", "method": "session", "host": "NA", "schema": SCHEMA, "threads": 1}
    profiles = {"dbt_cdc": {"target": "test", "outputs": {"test": target}}}
    (folder / "profiles.yml").write_text(json.dumps(profiles), encoding="utf-8")
    landing = folder / "landing"
    landing.mkdir()
    options = [
        f"--project-dir={SHOP}",
        f"--profiles-dir={folder}",
        f"--target-path={folder / 'target'}",
        f"--log-path={folder / 'logs'}",
        f"--vars={{shop_landing: {landing}}}",
        "--quiet",
    ]
    ends: list[str] = []
    for batch in (1, 2):
        shutil.copy(SHOP / "data" / f"events_{batch:04}.jsonl.gz", landing)
        shown = shown_before_a_run(spark, folder, options, ends[0]) if batch == 2 else {}
        said: list[str] = []
        listen = [lambda event, said=said: said.append(event.info.msg)]
        done = dbtRunner(callbacks=listen).invoke(["build", *options])
        assert done.success, [r.message for r in done.result.results if r.message]
        for name, rows in shown.items():
            assert rows and rows == appended(spark, f"{SCHEMA}.{name}", name, ends[0]), name
        ends.append(spark.sql(f"select max(high_end) from {SCHEMA}.validity_intervals").first()[0])
        check_consumers(spark, {1: 3, 2: 5}[batch])
    return Built(folder, landing, options, ends, said, done.result.results)


def test_two_batches_are_captured_and_the_unit_test_passes(
    spark: SparkSession, built: Built
) -> None:
    ends = built.ends
    assert ends == ["0x00000001988078000000", "0x0000000199D8F8000000"]
    check_readme(built.said)
    kinds = {r.node.resource_type for r in built.results}
    assert {"model", "seed", "unit_test", "test"} <= {str(kind) for kind in kinds}
    landed = spark.sql(
        f"select landed_file, count(*) from {SCHEMA}.shop_events group by 1"
    ).collect()
    assert sorted(tuple(row) for row in landed) == [
        ("events_0001.jsonl.gz", 985),
        ("events_0002.jsonl.gz", 448),
    ]
    net = spark.sql(
        f"select `__$operation` as op, count(*) from {SCHEMA}.fn_cdc_get_net_changes_public_orders("
        f"'{ends[0][:-1]}1', '{ends[1]}', 'all') group by 1 order by 1"
    )
    assert sum(row[1] for row in net.collect()) == 51
    ask_analyses(spark, built.folder, built.options, ends[0])


@pytest.mark.more
def test_the_examples_of_the_reference(spark: SparkSession, built: Built) -> None:
    options = built.options
    Examples(spark, SCHEMA, options).check(built.results)
    retention = ["--args", "{job_type: cleanup, retention: 10080}"]
    assert dbtRunner().invoke(["run-operation", "change_job", *retention, *options]).success
    Examples(spark, SCHEMA, options, of="#change_job").check()
    agent = ["--args", "{note: runs}"]  # what it says of itself
    assert dbtRunner().invoke(["run-operation", "_note_agent", *agent, *options]).success
    Examples(spark, SCHEMA, options, of="jobs.md#the-agent").check()
    land_a_part(built.landing)
    assert dbtRunner().invoke(["run", *options, "--select", "+shop_log"]).success
    for file in (FILE, SETTINGS):
        Examples(spark, SCHEMA, options, of="debezium.md#what-waits", file=file).check()


def land_a_part(landing: Path) -> None:
    """A third file, which ends within the events of its transaction."""
    source = {
        "connector": "postgresql", "schema": "public", "table": "docs", "lsn": 26859800,
        "ts_ms": 1795252521000, "ts_us": 1795252521000000, "snapshot": "false", "txId": 947,
    }  # fmt: skip
    transaction = {"id": "947:26859800", "total_order": 1, "data_collection_order": 1}
    after = {"doc_id": "a", "title": "t", "rev": 1, "body": "b"}
    change = {"op": "c", "before": None, "after": after}
    values = [
        {"status": "BEGIN", "id": "947:26859800", "ts_ms": 1795252521000},
        {**change, "source": source, "transaction": transaction},
    ]
    topics = ["pg.transaction", "pg.public.docs"]
    keys = [{"id": "947:26859800"}, {"doc_id": "a"}]
    events = [
        {"position": 1434 + n, "topic": topic, "key": json.dumps(key), "value": json.dumps(value)}
        for n, (topic, key, value) in enumerate(zip(topics, keys, values, strict=True))
    ]
    text = "".join(f"{json.dumps({**event, 'headers': None})}\n" for event in events)
    (landing / "events_0003.jsonl").write_text(text, encoding="utf-8")


def check_readme(said: list[str]) -> None:
    """README's lines of the second batch, dbt's with our own between them, in their order."""
    readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
    lines = [line.partition("  #")[0].strip() for line in readme.splitlines()]
    shown = [line for line in lines if line.startswith(("OK created", "cdc: "))]
    assert len(shown) == 10
    text = "\n".join(said).replace(f" {SCHEMA}.", " cdc.")
    places = [text.find(line) for line in shown]
    assert -1 not in places, shown[places.index(-1)]
    assert places == sorted(places)


COMPILED = {  # the LSN of a row's window or commit
    "scan_transactions": "window_to_lsn",
    "public_orders_ct": "`__$start_lsn`",
    "lsn_time_mapping": "start_lsn",
}


def shown_before_a_run(
    spark: SparkSession, folder: Path, options: list[str], after: str
) -> dict[str, list[str]]:
    """The batch has landed in the log: the rows that `dbt compile` shows statements for."""
    assert dbtRunner().invoke(["run", *options, "--select", "+shop_log"]).success
    assert dbtRunner().invoke(["compile", *options, "--select", *COMPILED]).success
    compiled = folder / "target" / "compiled"
    places = [compiled / "shop" / "models", compiled / "dbt_cdc" / "models" / "metadata"]
    shown = {}
    for name in COMPILED:
        (file,) = (file for place in places for file in place.glob(f"{name}.sql"))
        shown[name] = appended(spark, f"(\n{file.read_text(encoding='utf-8')}\n)", name, after)
    return shown


def appended(spark: SparkSession, relation: str, name: str, after: str) -> list[str]:
    """What it has after an LSN; the time of opening is of one run only."""
    rows = spark.sql(f"select * from {relation} where {COMPILED[name]} > '{after}'")
    return sorted(map(repr, rows.drop("opened_at").collect()))


def check_consumers(spark: SparkSession, number: int) -> None:
    """Replica, history and the consumer of two tables against the true state at a checkpoint."""
    stale = spark.sql(f"select * from {SCHEMA}.cdc_consumers where is_stale or lag_lsn > 0")
    assert stale.count() == 0
    truth = Truth(data_dir() / "postgres")
    current = f"{SCHEMA}.customers_history where valid_to_lsn is null"
    for table, content in (("orders", f"{SCHEMA}.orders"), ("customers", current)):
        rows = spark.sql(f"select * from {content}").collect()
        every, names = truth.instance(table), rows[0].asDict()
        columns = tuple((n, t) for n, t in every.columns if n in names)
        instance = CaptureInstance("public", table, f"public_{table}", columns, every.index_columns)
        captured_part(truth, number, table, set(names))
        written = spark.sql(
            f"select {', '.join(instance.index_columns)}, max(`__$start_lsn`) as lsn"
            f" from {SCHEMA}.public_{table}_ct group by {', '.join(instance.index_columns)}"
        )
        state = State(instance, written={tuple(row[:-1]): row.lsn for row in written.collect()})
        for row in rows:
            values = plain_values(row, instance)
            state.rows[instance.key(values)] = values
        assert truth.differences(state, number) == []
    tables = truth.checkpoints[number].rows
    amounts = {row["customer_id"]: [row["name"], 0, None] for row in tables["customers"]}
    for row in tables["orders"]:  # there is no foreign key
        total = amounts.get(row["customer_id"], [None, 0, None])
        total[1:] = [total[1] + 1, (total[2] or 0) + Decimal(row["amount"] or 0)]
    found = spark.table(f"{SCHEMA}.customer_orders").collect()
    assert {str(r.customer_id): [r.name, r.order_count, r.amount] for r in found} == amounts


def captured_part(truth: Truth, number: int, table: str, names: set[str]) -> None:
    """Leaves out of the truth what the example does not capture."""
    checkpoint = truth.checkpoints[number]
    checkpoint.columns[table] = [(n, t) for n, t in checkpoint.columns[table] if n in names]
    truth.ddl = [
        ddl
        for ddl in truth.ddl
        if ddl["effect"]["table"] != table or ddl["effect"].get("add", "") in {"", *names}
    ]


def ask_analyses(spark: SparkSession, folder: Path, options: list[str], batch_end: str) -> None:
    """The analyses compile, and their answers agree with the change tables."""
    names = [path.stem for path in (SHOP / "analyses").glob("*.sql")]
    time = spark.sql(f"select {SCHEMA}.fn_cdc_map_lsn_to_time('{batch_end}')").first()[0]
    variables = f"--vars={json.dumps({'since': str(time)})}"
    done = dbtRunner().invoke(["compile", *options[:-2], variables, "--quiet", "--select", *names])
    assert done.success, done.exception
    compiled = folder / "target" / "compiled" / "shop" / "analyses"
    found = {
        name: spark.sql((compiled / f"{name}.sql").read_text(encoding="utf-8")).collect()
        for name in names
    }
    table = spark.table(f"{SCHEMA}.public_orders_ct").collect()
    orders = [row["__$operation"] for row in table]
    assert sorted(row["__CDC_SEQVAL"] for row in found["changed_since_yesterday"]) == sorted(
        row["__$seqval"]
        for row in table
        if row["__$start_lsn"] > batch_end and row["__$operation"] != 3
    )
    busiest = {row.capture_instance: row for row in found["busiest_tables"]}
    assert len(busiest) == 4
    assert busiest["public_orders"].updated == orders.count(4)
    changed_most = {row.column_name: row.updates for row in found["columns_changed_most"]}
    assert 0 < changed_most["status"] <= orders.count(4) < sum(changed_most.values())
    history = found["history_of_one_key"]
    assert {row["__$column_name"] for row in history} > {"status"}
    assert {row["__$operation"] for row in history} >= {2, 4}
    assert {row.operation_name for row in history} >= {"insert", "update (new values)"}
    assert found["errors_and_ways_out"] == []
    (lag,) = found["lag"]
    assert lag.high_end == lag.last_commit
    assert lag.seconds_behind_log == 0 < lag.seconds_behind_now
