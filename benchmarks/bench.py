"""`make bench`: ratios, each measured side by side in one run on one embedded Spark.

Writes results.md, results.json and results.png beside this file; all tables go to a folder of their
own that is removed at the end. `--scale 0.1` makes everything smaller; `--only capture` measures
one part anew and keeps the lines of the others.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

import adapters  # noqa: E402
import change_tracking  # noqa: E402
import consumers  # noqa: E402
import debezium  # noqa: E402
import harness  # noqa: E402
import jobs  # noqa: E402
import matplotlib  # noqa: E402
from capturing import instance_yaml, make_wrappers  # noqa: E402
from measure import Result, compare  # noqa: E402
from orders_log import COLUMNS, ORDERS, Log, write_log  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from reference.capture import CaptureInstance  # noqa: E402

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

NAMES = ", ".join(COLUMNS)
OUTPUT = f"`__$start_lsn`, `__$seqval`, `__$operation`, `__$update_mask`, {NAMES}"


class Bench:
    """What the parts share: the session, the scale, how often each pair runs."""

    def __init__(self, spark: SparkSession, folder: Path, scale: float, runs: int) -> None:
        self.spark, self.folder, self.scale, self.runs = spark, folder, scale, runs

    def made(self, models: dict[str, str], vars: dict[str, object]) -> harness.Project:
        """A project with a schema of its own."""
        made = harness.Project(
            Path(tempfile.mkdtemp(dir=self.folder)), self.spark, models=models, vars=vars
        )
        made.sql("create schema {schema}")
        return made

    def project(self, instances: list[CaptureInstance]) -> harness.Project:
        """A project with a view `raw_log` on the Delta table `landed`."""
        models = {"raw_log.sql": "select * from {{ target.schema }}.landed"}
        models["instances.yml"] = instance_yaml(instances)
        for instance in instances:
            models[f"{instance.capture_instance}_ct.sql"] = "{{ dbt_cdc.change_table() }}"
        return self.made(models, {"cdc_log_model": "raw_log"})

    def asked(self, project: harness.Project, call: str) -> str:
        """The SQL of a query macro's call, as a model that holds it compiles to."""
        project.write("analyses/asked.sql", f"select * from {{{{ dbt_cdc.{call} }}}}")
        project.ok("compile", "--select", "asked")
        compiled = project.folder / "target/compiled/shop/analyses/asked.sql"
        return compiled.read_text(encoding="utf-8")

    def read(self, query: str) -> Callable[[], None]:
        """Reads a query to the end and keeps nothing."""
        return lambda: self.spark.sql(query).write.format("noop").mode("overwrite").save()


def capture(bench: Bench) -> Iterator[Result]:
    """The capture statement against parsing and writing the same images, and over odd images."""
    log = Log(int(100_000 * bench.scale))
    what = f"capture of {log.changes:,} changes, the statement"
    capture, empty, schema = captured(bench, log)
    shape = ", ".join(f"{name} {data_type}" for name, data_type in COLUMNS.items())
    parse = (
        f"create table {schema}.parsed using delta as select lsn,"
        f" from_json(before_image, '{shape}') as before, from_json(after_image, '{shape}') as after"
        f" from {schema}.landed where source_name = 'orders'"
    )
    yield compare(
        what,
        "from_json of the same images, typed, and writing them",
        capture,
        lambda: bench.spark.sql(parse),
        1.55,
        bench.runs,
        prepare_a=empty,
        prepare_b=lambda: bench.spark.sql(f"drop table if exists {schema}.parsed"),
    )
    odd, empty_odd, _ = captured(bench, replace(log, odd=True))
    yield compare(
        f"{what}, a fifth of the images odd",
        "the same of clean images",
        odd,
        capture,
        1.15,
        bench.runs,
        prepare_a=empty_odd,
        prepare_b=empty,
    )


def captured(bench: Bench, log: Log) -> tuple[Callable[[], object], Callable[[], object], str]:
    """The statement that a run over the log has sent, what empties its table before, its schema."""
    project, spark = bench.project([ORDERS]), bench.spark
    write_log(spark, log, f"{project.schema}.landed")
    project.ok("run")
    rendered = project.folder / "target/run/shop/models/dbo_orders_ct.sql"
    statement, table = rendered.read_text(encoding="utf-8"), f"{project.schema}.dbo_orders_ct"
    spark.sql(f"create table {project.schema}.shape like {table}")

    def empty() -> None:
        spark.sql(f"drop table if exists {table}")
        spark.sql(f"create table {table} like {project.schema}.shape")

    def send() -> None:
        spark.sql(statement)
        assert not spark.table(table).isEmpty(), f"{table}: nothing is captured"

    return send, empty, project.schema


def memory(bench: Bench) -> Iterator[Result]:
    """What the driver still holds after runs over larger and larger windows: the transactions of a
    window up to Spark's limit for broadcasts, beyond it nothing."""
    jvm = bench.spark.sparkContext._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    project, held, first = bench.project([ORDERS]), list[tuple[int, float]](), 0
    for transactions in (int(n * bench.scale) for n in (10_000, 100_000, 300_000)):
        log = Log(transactions, first)
        first += transactions
        write_log(bench.spark, log, f"{project.schema}.landed")
        project.ok("run")
        for _ in range(3):  # Spark drops what is unreachable in the background
            jvm.java.lang.System.gc()
            time.sleep(2)
        held.append((log.changes, (runtime.totalMemory() - runtime.freeMemory()) / 2**20))
    for ((less, before), (more, after)), goal in zip(pairwise(held), (None, 1.2), strict=True):
        what = f"driver memory after a run over {more:,} changes, MiB"
        yield Result(
            what, f"the same after {less:,} changes", after, before, after / before, goal, "MiB"
        )


def queries(bench: Bench) -> Iterator[Result]:
    """All and net changes of a table that 20 runs have made."""
    project, runs = bench.project([ORDERS]), 20
    size = int(55_000 / 15 * bench.scale)
    schema, logs = project.schema, [Log(size, n * size) for n in range(runs)]
    for number, log in enumerate(logs):
        write_log(bench.spark, log, f"{schema}.landed", 2)
        if number == 0:
            project.ok("run", "--empty")
            project.sql(
                "alter table {schema}.dbo_orders_ct"
                " set tblproperties (delta.enableChangeDataFeed = true)"
            )
        project.ok("run")
    versions = [
        row.version
        for row in project.sql("describe history {schema}.dbo_orders_ct")
        if row.operation == "WRITE"
    ]
    rows = f"{sum(log.rows for log in logs):,} rows of {runs} runs"
    whole = (logs[0].first_lsn, logs[-1].last_lsn, min(versions))
    last = (logs[-1].first_lsn, logs[-1].last_lsn, max(versions))
    for what, (low, high, version), goal in ((rows, whole, 1.1), ("their last 20th", last, 1.5)):
        direct = (
            f"select {OUTPUT} from {schema}.dbo_orders_ct where `__$start_lsn` >= '{low}'"
            f" and `__$start_lsn` <= '{high}' and `__$operation` <> 3"
        )
        feed = (
            f"select {OUTPUT} from table_changes('{schema}.dbo_orders_ct', {version},"
            f" {max(versions)}) where `__$operation` <> 3"
        )
        call = f"get_all_changes('dbo_orders', '{low}', '{high}')"
        ask, scan = bench.read(bench.asked(project, call)), bench.read(direct)
        many = {"runs": bench.runs * (3 if goal == 1.1 else 8), "warm_up": 3}
        name = f"get_all_changes, {what}"
        yield compare(name, "direct scan", ask, scan, goal, **many)
        yield compare(name, "Delta's table_changes", ask, bench.read(feed), 1.0, **many)
        function = f"{schema}.fn_cdc_get_all_changes_dbo_orders('{low}', '{high}', 'all')"
        by_name = bench.read(f"select * from {function}")
        yield compare(
            f"{name}, the persistent function", "direct scan", by_name, scan, None, **many
        )
    yield from special(bench, project, logs[-1])
    yield history(bench, ask, logs[-1])
    yield from net(bench, project, rows, whole, max(versions))


def special(bench: Bench, project: harness.Project, log: Log) -> Iterator[Result]:
    """The window of the last run by time, and with a filter on its masks."""
    by_lsn = f"get_all_changes('dbo_orders', '{log.first_lsn}', '{log.last_lsn}')"
    times = ", ".join(f"'{log.commit_time(log.first + n)}'" for n in (-1, log.transactions - 1))
    many = {"runs": bench.runs * 8, "warm_up": 3}
    what, plain = "the last 20th", bench.read(bench.asked(project, by_lsn))
    by_time = bench.read(bench.asked(project, f"all_changes_between('dbo_orders', {times})"))
    yield compare(f"all_changes_between, {what} by time", "by LSN", by_time, plain, 1.2, **many)
    make_wrappers(project)
    function = f"select * from {project.schema}.fn_all_changes_dbo_orders({times})"
    yield compare(
        f"fn_all_changes_dbo_orders, {what} by time",
        "by LSN",
        bench.read(function),
        plain,
        None,
        **many,
    )
    changed = "dbt_cdc.has_column_changed('dbo_orders', 'amount', '`__$update_mask`')"
    masked = bench.asked(project, f"{by_lsn} }}}} where {{{{ {changed}")
    name = f"get_all_changes, {what} where has_column_changed"
    yield compare(name, "without the filter", bench.read(masked), plain, None, **many)


def history(bench: Bench, ask: Callable[[], None], log: Log) -> Result:
    """The window that `ask` reads, and the same one as all that there is."""
    project = bench.project([ORDERS])
    write_log(bench.spark, log, f"{project.schema}.landed", 2)
    project.ok("run")
    call = f"get_all_changes('dbo_orders', '{log.first_lsn}', '{log.last_lsn}')"
    return compare(
        "get_all_changes, the last 20th",
        "the same window without the history before it",
        ask,
        bench.read(bench.asked(project, call)),
        1.2,
        bench.runs * 8,
        warm_up=3,
    )


def net(
    bench: Bench,
    project: harness.Project,
    rows: str,
    window: tuple[str, str, int],
    version: int,
) -> Iterator[Result]:
    """Net changes against the same answer in SQL over table_changes."""
    (low, high, first), schema = window, project.schema
    asked = bench.asked(project, f"get_net_changes('dbo_orders', '{low}', '{high}')")
    ours = f"select `__$start_lsn`, `__$operation`, {NAMES} from ({asked})"
    order = "`__$start_lsn`, `__$command_id`, `__$seqval`, `__$operation`"
    descending = order.replace(",", " desc,") + " desc"
    feed = f"""
        select `__$start_lsn`,
            case when `__$operation` = 1 then 1 when first_operation = 2 then 2 else 4 end
                as `__$operation`, {NAMES}
        from (
            select *,
                row_number() over (partition by id order by {descending}) as place,
                first_value(`__$operation`) over (partition by id order by {order})
                    as first_operation
            from table_changes('{schema}.dbo_orders_ct', {first}, {version})
            where `__$operation` <> 3
        )
        where place = 1 and (`__$operation` <> 1 or first_operation <> 2)"""
    spark = bench.spark
    differences = spark.sql(f"({ours}) except all ({feed})").count()
    assert differences == 0 == spark.sql(f"({feed}) except all ({ours})").count()
    name = f"get_net_changes, {rows}"
    yield compare(
        name,
        "the same in SQL over table_changes",
        bench.read(ours),
        bench.read(feed),
        1.0,
        bench.runs * 2,
    )
    scan = f"select {OUTPUT} from {schema}.dbo_orders_ct"
    yield compare(name, "plain scan", bench.read(ours), bench.read(scan), None, bench.runs * 2)


def many_instances(bench: Bench) -> Iterator[Result]:
    """A small window of 50 instances against 50 trivial append models."""
    count = max(5, int(50 * min(1.0, bench.scale * 4)))
    instances = [
        CaptureInstance("dbo", f"t{n}", f"dbo_t{n}", tuple(COLUMNS.items()), ("id",))
        for n in range(count)
    ]
    project, written = bench.project(instances), [0]

    def land(tables: int) -> None:
        log = Log(2 * tables, written[0], tables=tables)
        write_log(bench.spark, log, f"{project.schema}.landed", 1)
        written[0] += log.transactions

    append = (
        "{{ config(materialized='incremental', incremental_strategy='append',"
        " file_format='delta') }} select 1 as id, current_timestamp() as at"
    )
    trivial = harness.Project(
        Path(tempfile.mkdtemp(dir=bench.folder)),
        bench.spark,
        models={f"m{n}.sql": append for n in range(count)},
    )
    models = [f"m{n}" for n in range(count)]
    land(count)
    project.ok("run")
    trivial.ok("run", "--select", *models)
    for tables in (count // 10, count):
        yield compare(
            f"dbt run, {count} capture instances, a window with changes of {tables}",
            f"dbt run, {count} trivial append models",
            lambda: project.ok("run"),
            lambda: trivial.ok("run", "--select", *models),
            1.5,
            max(2, bench.runs // 2),
            prepare_a=lambda tables=tables: land(tables),
            warm_up=0,
        )


LIKE_USERS = {  # what profiles/profiles.yml sets, where tests have one task for everything
    "spark.driver.memory": "6g",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
    "spark.sql.files.maxPartitionBytes": "16m",
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
}
PARTS = {
    "capture": capture,
    "queries": queries,
    "memory": memory,
    "instances": many_instances,
    "change_tracking": change_tracking.changes,
    "consumers": consumers.follow,
    "debezium": debezium.follow,
    "adapters": adapters.follow,
    "cleanup": jobs.cleanup,
    "compaction": jobs.compaction,
    "agent": jobs.agent,
}


def read_results() -> dict[str, list[Result]]:
    """What the last run has measured, by part."""
    found: dict[str, list[Result]] = {}
    file = HERE / "results.json"
    for line in json.loads(file.read_text(encoding="utf-8")) if file.exists() else []:
        del line["is_met"]
        found.setdefault(line["part"], []).append(Result(**line))
    return found


def write(results: list[Result], scale: float, spark: SparkSession) -> None:
    """The table, the figures and the plot."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    lines = [
        "# Benchmarks",
        "",
        f"{datetime.now(timezone.utc):%Y-%m-%d}, {os.cpu_count()} cores, {memory:.0f} GiB,"
        f" {platform.system()}, Spark {spark.version}, Delta 4.4.0, scale {scale:g}. Both sides of"
        " a line run in turn in one session; times are medians in seconds, the ratio is the median"
        " of the pairwise ratios. `make bench` makes this page.",
        "",
        "| what | against | s (or MiB) | s (or MiB) | ratio | goal | met |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for r in results:
        goal = "" if r.goal is None else f"{r.goal:g}"
        met = {None: "", True: "yes", False: "no"}[r.is_met]
        lines.append(
            f"| {r.what} | {r.against} | {r.a:.2f} | {r.b:.2f} | {r.ratio:.2f} | {goal} | {met} |"
        )
    (HERE / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    figures = json.dumps([r.as_dict() for r in results], indent=2)
    (HERE / "results.json").write_text(figures + "\n", encoding="utf-8")
    plot(results)


def plot(results: list[Result]) -> None:
    """Each ratio as a bar, its goal as a mark."""
    labels = [f"{r.what}\nagainst {r.against}" for r in results]
    figure, axes = plt.subplots(figsize=(10, 1 + 0.75 * len(results)), layout="constrained")
    colors = ["#0072B2" if r.is_met is not False else "#D55E00" for r in results]
    axes.barh(labels, [r.ratio for r in results], color=colors, height=0.6)
    for place, r in enumerate(results):
        axes.text(max(r.ratio, r.goal or 0), place, f" {r.ratio:.2f}", va="center")
        if r.goal is not None:
            axes.plot([r.goal, r.goal], [place - 0.4, place + 0.4], color="black", linewidth=2)
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.set_xlabel("ratio of times; black: the goal; orange: not met")
    figure.savefig(HERE / "results.png", dpi=110)


def main() -> None:
    """Runs the parts and writes what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dbt_cdc_bench_"))
    harness.SPARK_CONF.update(LIKE_USERS)
    for name in ("spark.sql.leafNodeDefaultParallelism", "spark.sql.files.minPartitionNum"):
        del harness.SPARK_CONF[name]
    harness.JAVA_OPTIONS = ""
    results = read_results() if options.only else {}
    try:
        spark = harness.start_spark(folder, "memory:bench")
        bench = Bench(spark, folder, options.scale, options.runs)
        parts = [options.only] if options.only else list(PARTS)
        for number, part in enumerate(parts, start=1):
            print(f"{number} of {len(parts)}: {part}", flush=True)
            results[part] = []
            for result in PARTS[part](bench):
                result.part = part
                results[part].append(result)
                print(f"  {result.ratio:5.2f}  {result.what} / {result.against}", flush=True)
            write([r for name in PARTS for r in results.get(name, [])], options.scale, spark)
        print(f"written: {HERE / 'results.md'}, results.json, results.png")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
