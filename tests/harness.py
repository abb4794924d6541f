"""Temporary dbt projects that use this package, on one warm Spark session.

A `Project` is what a user has: an own folder, an own schema, this repository as an installed
package. dbt runs in this process, so that a command takes a second, not a JVM start.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt import selected_resources
from dbt.cli.main import dbtRunner
from dbt_common.tests import enable_test_caching
from furniture import Furniture, Schema
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, Row, SparkSession

PACKAGE = Path(os.environ.get("DBT_CDC_PACKAGE") or Path(__file__).parents[1])
SHOP = PACKAGE / "examples" / "shop"
SPARK_CONF = {
    "spark.master": "local[2]",
    "spark.driver.memory": "4g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    # Each sort, window and hash join takes a page, and zeroes it: 64 MB by default, for three rows
    "spark.buffer.pageSize": "1m",
    # Delta keeps the plans of each table that it has seen: those of all tests fill the heap
    "spark.databricks.delta.delta.log.cacheSize": "120",
}
# Thousands of small statements: their code needs room, and a heap that need not grow.
JAVA_OPTIONS = (
    "-XX:ReservedCodeCacheSize=400m -XX:MetaspaceSize=400m -XX:+UseParallelGC -Xms4g -Xmn2g"
)
# The same answers without Spark's compiler and its second planning: a run of small statements takes
# two thirds of the time.
INTERPRETED = {
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}
# Commands for which dbt reads the project's files, and what is not one of them.
READ_BEFORE = ("run", "build", "test", "compile", "show", "run-operation", "retry")
MADE_BY_DBT = ("target", "logs", "dbt_packages")
LISTS = ("cdc_capture_instances", "cdc_tracked_tables")
IS_ALL = os.environ.get("DBT_CDC_TESTS") == "all"  # as `make test-all` sets it: more seeds
_numbers = itertools.count(1)
enable_test_caching()  # dbt parses a macro's text once in a process, not in each project


def start_spark(folder: Path, metastore: str | None = None) -> SparkSession:
    """A Spark session whose warehouse lies in `folder`; `metastore` is a Derby database, for Hive's
    catalog as users have it. Without, the catalog is Spark's own in memory, and Delta writes its
    log without links, for which Hadoop starts a process each: a sixth of the time. One per process.
    """
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):  # of whom has started us
        os.environ.pop(name, None)
    os.environ.setdefault("DBT_CDC_HOME", str(folder))  # for Spark's log
    options = f"-Dlog4j2.configurationFile={PACKAGE}/profiles/log4j2.properties"
    options += f" -Dderby.system.home={folder} -Dderby.stream.error.file=/dev/null"
    conf = {**SPARK_CONF, "spark.sql.warehouse.dir": f"{folder}/warehouse"}
    conf["spark.driver.extraJavaOptions"] = f"{options} -Duser.timezone=UTC {JAVA_OPTIONS}"
    if metastore:
        conf["spark.sql.catalogImplementation"] = "hive"
        conf["spark.hadoop.javax.jdo.option.ConnectionURL"] = f"jdbc:derby:{metastore};create=true"
    else:
        conf["spark.delta.logStore.file.impl"] = "io.delta.storage.LocalLogStore"
    builder = SparkSession.builder
    for name, value in conf.items():
        builder = builder.config(name, value)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f"--driver-memory {conf['spark.driver.memory']} "
        f"--driver-java-options '{conf['spark.driver.extraJavaOptions']}' pyspark-shell"
    )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def share(spark: SparkSession) -> None:
    """Lets the processes that this one starts use its Java, by `join_spark`."""
    gateway = spark.sparkContext._gateway.gateway_parameters
    os.environ["PYSPARK_GATEWAY_PORT"] = str(gateway.port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = gateway.auth_token


def is_shared() -> bool:
    """Whether another process shares its Java with this one."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def join_spark() -> SparkSession:
    """A session of one's own (views, settings) in another process's Spark."""
    gateway = launch_gateway()
    spark = gateway.jvm.org.apache.spark
    context = spark.SparkContext.getOrCreate()
    shared = spark.api.java.JavaSparkContext.fromSparkContext(context)
    conf = SparkConf(_jconf=context.conf())
    own = spark.sql.classic.SparkSession.builder().getOrCreate().newSession()
    return SparkSession(SparkContext(gateway=gateway, jsc=shared, conf=conf), own)


def interpret(spark: SparkSession) -> None:
    """From now on the session runs small statements faster and large ones slower."""
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)


@contextlib.contextmanager
def compiled(spark: SparkSession) -> Iterator[None]:
    """Spark as users have it."""
    for name in INTERPRETED:
        spark.conf.unset(name)
    try:
        yield
    finally:
        interpret(spark)


@dataclass(frozen=True)
class NodeResult:
    """What became of a node: 'success', 'error', 'pass', 'fail', 'skipped' ... and dbt's text."""

    status: str
    message: str


@dataclass(frozen=True)
class DbtResult:
    """One dbt invocation. `messages` is by node name; `output` is what dbt logged (info and up);
    `printed` is what went to standard output, as it is under --quiet."""

    success: bool
    messages: dict[str, NodeResult]
    output: str
    printed: str


def new_schema(name: str) -> str:
    """A name that no other project has, in any process."""
    return f"{name}_{os.getpid()}_new_{next(_numbers)}"


class Project:
    """A temporary dbt project; use the fixture `make_project`."""

    def __init__(
        self,
        folder: Path,
        spark: SparkSession | None,
        models: Mapping[str, str] | None = None,
        vars: Mapping[str, Any] | None = None,
        name: str = "shop",
        extra_project: Mapping[str, Any] | None = None,
        macros: Mapping[str, str] | None = None,
        furniture: Furniture | None = None,
        threads: int = 1,
    ) -> None:
        """With `furniture` the project has a schema with state tables in it, else one that is not
        there yet. With one of the `threads` dbt's order is the same each time."""
        self.threads = threads
        self.folder, self.spark, self.name = folder, spark, name
        self.furniture = furniture
        self.schema = furniture.take().name if furniture else new_schema(name)
        self._read: dict[str, tuple[Any, Any]] = {}
        self._listed_by_test = {
            name: value for name, value in (vars or {}).items() if name in LISTS
        }
        self._write_project(dict(vars or {}), dict(extra_project or {}))
        for path, text in (models or {}).items():
            self.write(f"models/{path}", text)
        for path, text in (macros or {}).items():
            self.write(f"macros/{path}", text)
        self._list_what_is_captured()

    def _write_project(self, vars: dict[str, Any], extra: dict[str, Any]) -> None:
        flags = {"send_anonymous_usage_stats": False, "version_check": False}
        target: dict[str, Any] = {"type": "spark", "method": "session", "host": "NA"}
        target["schema"] = self.schema
        project = {"name": self.name, "version": "1.0.0", "profile": "test", "vars": vars}
        project["flags"] = {**flags, **extra.pop("flags", {})}
        target["threads"] = self.threads
        profiles = {"test": {"target": "test", "outputs": {"test": target}}}
        for path, content in {
            "dbt_project.yml": {**project, **extra},
            "profiles.yml": profiles,
            "packages.yml": {"packages": [{"local": str(PACKAGE)}]},
        }.items():
            self.write(path, json.dumps(content, indent=2))
        (self.folder / "dbt_packages").mkdir()
        (self.folder / "dbt_packages" / "dbt_cdc").symlink_to(PACKAGE)

    def _list_what_is_captured(self) -> None:
        """Lists the change tables and tracked tables of the project in dbt_project.yml, as its user
        would; not where a test has listed them."""
        found: dict[str, list[str]] = {"cdc_capture_instances": [], "cdc_tracked_tables": []}
        for file in sorted((self.folder / "models").rglob("*.sql")):
            text = file.read_text(encoding="utf-8")
            if "dbt_cdc.change_table()" in text:
                found["cdc_capture_instances"].append(file.stem.removesuffix("_ct"))
            elif "dbt_cdc.change_tracking_table()" in text:
                found["cdc_tracked_tables"].append(file.stem.removeprefix("change_tracking_"))
        project = json.loads((self.folder / "dbt_project.yml").read_text(encoding="utf-8"))
        listed = {**project["vars"], **found, **self._listed_by_test}
        if project["vars"] != listed:
            self.write("dbt_project.yml", json.dumps({**project, "vars": listed}, indent=2))

    def write(self, path: str, text: str) -> None:
        """Writes a file of the project, e.g. 'models/orders.sql'."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def dbt(self, *args: str, vars: Mapping[str, Any] | None = None) -> DbtResult:
        """Runs a dbt command: `dbt('run', '--select', 'orders', vars={'cdc_scan_until': ...})`. The
        manifest is written only with '--write-json': that takes as long as all else dbt does."""
        self._list_what_is_captured()
        lines: list[str] = []

        def listen(event: Any) -> None:
            if event.info.level in ("info", "warn", "error"):
                lines.append(re.sub(r"\x1b\[\d+m", "", event.info.msg))

        options = [
            f"--project-dir={self.folder}",
            f"--profiles-dir={self.folder}",
            "--no-use-colors",
        ]
        options += [f"--log-path={self.folder}/logs", "--log-level-file=none", "--quiet"]
        if "--write-json" not in args:
            options.append("--no-write-json")
        if vars is not None:
            options.append(f"--vars={json.dumps(vars)}")
        # a process of its own begins so, and `dbt retry` ends so
        selected_resources.set_selected_resources([])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            manifest = self._manifest(options, listen) if args[0] in READ_BEFORE else None
            done = dbtRunner(manifest, callbacks=[listen]).invoke([*args, *options])
        if done.exception and str(done.exception) not in "\n".join(lines):
            lines.append(str(done.exception))
        messages = {
            getattr(r.node, "name", ""): NodeResult(str(r.status), r.message or "")
            for r in getattr(done.result, "results", [])
            if hasattr(r, "node")
        }
        return DbtResult(done.success, messages, "\n".join(lines), printed.getvalue())

    def _manifest(self, options: list[str], listen: Callable[[Any], None]) -> Any:
        """The project as dbt reads it; read again only where files or options differ."""
        files = [path for path in self.folder.iterdir() if path.name not in MADE_BY_DBT]
        files += [file for path in files if path.is_dir() for file in path.rglob("*")]
        stamp = sorted((str(f), f.stat().st_mtime_ns, f.stat().st_size) for f in files)
        read = self._read.get(str(options))
        if read is None or read[0] != stamp:
            done = dbtRunner(callbacks=[listen]).invoke(["parse", *options])
            read = self._read[str(options)] = stamp, done.result if done.success else None
        return read[1]

    def ok(self, *args: str, vars: Mapping[str, Any] | None = None) -> DbtResult:
        """Like `dbt`, but a failure fails the test with dbt's output."""
        result = self.dbt(*args, vars=vars)
        assert result.success, result.output
        return result

    @property
    def furnished(self) -> Schema:
        """The project's schema, where it has furniture."""
        assert self.furniture
        return self.furniture.taken[self.schema][0]

    def clear(self) -> None:
        """Drops what is in the project's schema, except for the furniture."""
        if self.furniture:
            self.furniture.clear(self.schema)
        else:
            self.sql("drop schema if exists {schema} cascade")
            self.sql("create schema {schema}")

    def sql(self, query: str) -> list[Row]:
        """The rows of a query; `{schema}` stands for the project's schema."""
        return self.spark.sql(query.replace("{schema}", self.schema)).collect()

    def table(self, name: str) -> DataFrame:
        """A table or view of the project's schema."""
        return self.spark.table(f"{self.schema}.{name}")
