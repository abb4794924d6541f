"""The shipped example as its user has it: `dbt build` of this repository, unit tests included."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from dbt.cli.main import dbtRunner
from harness import PACKAGE
from pyspark.sql import SparkSession

SCHEMA = "example"


@pytest.mark.slow
def test_two_batches_are_captured_and_the_unit_test_passes(
    spark: SparkSession, tmp_path: Path
) -> None:
    target = {"type": "spark", "method": "session", "host": "NA", "schema": SCHEMA, "threads": 1}
    profiles = {"dbt_cdc": {"target": "test", "outputs": {"test": target}}}
    (tmp_path / "profiles.yml").write_text(json.dumps(profiles), encoding="utf-8")
    landing = tmp_path / "landing"
    landing.mkdir()
    options = [
        f"--project-dir={PACKAGE}",
        f"--profiles-dir={tmp_path}",
        f"--target-path={tmp_path / 'target'}",
        f"--log-path={tmp_path / 'logs'}",
        f"--vars={{shop_landing: {landing}}}",
        "--quiet",
    ]
    ends = []
    for batch in (1, 2):
        shutil.copy(PACKAGE / "data" / "shop" / f"events_{batch:04}.jsonl.gz", landing)
        done = dbtRunner().invoke(["build", *options])
        assert done.success, [r.message for r in done.result.results if r.message]
        ends.append(spark.sql(f"select max(high_end) from {SCHEMA}.validity_intervals").first()[0])
    assert ends == ["0x00000001988078000000", "0x0000000199D8F8000000"]
    kinds = {r.node.resource_type for r in done.result.results}
    assert {"model", "unit_test", "test"} <= {str(kind) for kind in kinds}
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
    ask_analyses(spark, tmp_path, options, ends[0])


def ask_analyses(spark: SparkSession, folder: Path, options: list[str], batch_end: str) -> None:
    """The analyses compile, and their answers agree with the change tables."""
    names = [path.stem for path in (PACKAGE / "analyses").glob("*.sql")]
    time = spark.sql(f"select {SCHEMA}.fn_cdc_map_lsn_to_time('{batch_end}')").first()[0]
    variables = f"--vars={json.dumps({'since': str(time)})}"
    done = dbtRunner().invoke(["compile", *options[:-2], variables, "--quiet", "--select", *names])
    assert done.success, done.exception
    compiled = folder / "target" / "compiled" / "dbt_cdc" / "analyses"
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
    (lag,) = found["lag"]
    assert lag.high_end == lag.last_commit
    assert lag.seconds_behind_log == 0 < lag.seconds_behind_now
