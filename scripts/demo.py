"""`make run`: the shipped log of a real PostgreSQL database, captured in two batches and queried.

Runs examples/shop and starts over each time, in .spark/demo there. Everything shown can be asked
again with the statements that are printed.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHOP = ROOT / "examples" / "shop"
HOME = SHOP / ".spark" / "demo"
LANDING = HOME / "landing"
SCHEMA = "cdc"
os.chdir(SHOP)
os.environ.update(DBT_CDC_HOME=str(HOME), DBT_CDC_SCHEMA=SCHEMA, DBT_CDC_CODEGEN="false")

from dbt.cli.main import dbtRunner  # noqa: E402  (reads the environment)
from pyspark.errors import PySparkException  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

ORDER = "`__$start_lsn`, `__$seqval`, `__$operation`"
COLUMNS = (
    "`__$operation` as op, `__$update_mask` as mask, customer_id, order_no, status, amount, qty"
)


def step(text: str) -> None:
    """A heading."""
    print(f"\n=== {text}", flush=True)


def land(batch: int) -> None:
    """Puts one file of events where the example looks for them."""
    LANDING.mkdir(parents=True, exist_ok=True)
    shutil.copy(SHOP / "data" / f"events_{batch:04d}.jsonl.gz", LANDING)


def dbt(*arguments: str) -> None:
    """One dbt command, quiet; what it says is shown where it fails."""
    started = time.monotonic()
    lines: list[str] = []
    said: list[str] = []

    def listen(event: Any) -> None:
        if event.info.level != "debug":
            lines.append(event.info.msg)
        if event.info.name == "JinjaLogInfo":
            said.append(event.info.msg.removeprefix("cdc: "))

    runner = dbtRunner(callbacks=[listen])
    result = runner.invoke([*arguments, "--quiet", f"--vars={{shop_landing: {LANDING}}}"])
    if not result.success:
        print("\n".join(lines[-30:]), file=sys.stderr)
        sys.exit(1)
    print("\n".join(said))
    print(f"dbt {' '.join(arguments)}: done in {time.monotonic() - started:.0f} s")


def value(query: str) -> str:
    """The only value of a query's only row."""
    return SparkSession.builder.getOrCreate().sql(query).collect()[0][0]


def show(query: str, rows: int = 8) -> None:
    """A statement, its first rows and how many there are."""
    spark = SparkSession.builder.getOrCreate()
    frame = spark.sql(query)
    found = frame.collect()
    count = len(found)
    print(f"\n{query};")
    spark.createDataFrame(found[:rows], frame.schema).show(truncate=24)
    print(f"{count} rows" + (f", the first {rows} of them shown" if count > rows else ""))


def changes(kind: str, window: tuple[str, str], option: str, order: str) -> str:
    """A query of a function of public.orders."""
    low, high = window
    return (
        f"select {COLUMNS}\n"
        f"from {SCHEMA}.fn_cdc_get_{kind}_changes_public_orders('{low}', '{high}', '{option}')\n"
        f"order by {order}"
    )


def main() -> None:
    """The whole way, step by step."""
    shutil.rmtree(HOME, ignore_errors=True)
    (HOME / "warehouse").mkdir(parents=True)
    print(
        f"A part of a PostgreSQL log, four tables. Tables and state go to {HOME.relative_to(ROOT)}"
    )

    step("1. The first batch of events lands; dbt run makes the log and the change tables")
    land(1)
    dbt("run")
    low = value(f"select {SCHEMA}.fn_cdc_get_min_lsn('public_orders')")
    first_end = value(f"select {SCHEMA}.fn_cdc_get_max_lsn()")

    step("2. What was captured")
    show(
        f"select capture_instance, low_end, high_end from {SCHEMA}.validity_intervals"
        " order by capture_instance"
    )

    step("3. All changes of public.orders with both images of updates, after the snapshot")
    after_snapshot = value(
        f"select {SCHEMA}.fn_cdc_increment_lsn(start_lsn) from {SCHEMA}.lsn_time_mapping"
        " where tran_id = 'snapshot'"
    )
    show(changes("all", (after_snapshot, first_end), "all update old", ORDER), 10)

    step("4. Its net changes: one row for each order that changed")
    order = "customer_id, order_no"
    show(changes("net", (after_snapshot, first_end), "all with mask", order))

    step("5. The second batch lands; the same command captures only what is new")
    land(2)
    dbt("run")
    second_end = value(f"select {SCHEMA}.fn_cdc_get_max_lsn()")
    new_window = (value(f"select {SCHEMA}.fn_cdc_increment_lsn('{first_end}')"), second_end)

    step("6. The new window only: all changes, then net changes")
    show(changes("all", new_window, "all", ORDER), 6)
    show(changes("net", new_window, "all", order), 6)

    step("7. Two models that follow tables: a replica, and a history of every version")
    show(
        f"select status, count(*) as orders, sum(amount) as amount from {SCHEMA}.orders"
        " group by status order by status"
    )
    show(
        "select customer_id, balance, date_format(valid_from, 'HH:mm:ss.SSS') as valid_from,\n"
        "    date_format(valid_to, 'HH:mm:ss.SSS') as valid_to\n"
        f"from {SCHEMA}.customers_history\n"
        f"where customer_id = (select mode(customer_id) from {SCHEMA}.customers_history)\n"
        "order by valid_from_lsn"
    )
    show(
        "select consumer, capture_instance, mode, last_lsn, lag_transactions as lag\n"
        f"from {SCHEMA}.cdc_consumers order by consumer, capture_instance"
    )

    step("8. A window outside the validity interval is an error, never a part of the truth")
    beyond = value(f"select {SCHEMA}.fn_cdc_increment_lsn('{second_end}')")
    try:
        show(changes("all", (low, beyond), "all", ORDER))
    except PySparkException as error:
        print(str(error).replace("[USER_RAISED_EXCEPTION] ", "").replace(" SQLSTATE: P0001", ""))

    step("9. Clean up: of public.orders, all changes before the end of the first batch go")
    mark = f"--args={{capture_instance: public_orders, low_water_mark: {first_end}}}"
    dbt("run-operation", "cleanup_change_table", mark)

    print(f"""
Try next (make puts dbt into .venv; the tables of this run are in {HOME.relative_to(ROOT)}):
  make report                                # a page about it: target/cdc_report.html
  cd {SHOP.relative_to(ROOT)} && . ../../.venv/bin/activate
  export DBT_CDC_HOME={HOME.relative_to(SHOP)}
  dbt show --output json --inline "select * from {{{{ ref('lsn_time_mapping') }}}}"
  dbt compile --select public_orders_ct      # the SQL that captures a table
  dbt seed && dbt test""")


if __name__ == "__main__":
    main()
