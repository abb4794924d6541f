"""Schemas with the state tables in them, and tables that go back to an earlier version.

A first run makes all state tables, which takes longer than what most tests are about. Here a
schema gets them once; a project takes it, and gives it back when its tests are over. Going back
means that a Delta table's log is written anew, a few small files, which takes hundredths of a
second; data files are never deleted. (A table of Parquet files gets them all anew.)
"""

from __future__ import annotations

import functools
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import yaml
from pyspark.sql import SparkSession

METADATA = Path(__file__).parents[1] / "models" / "metadata"
STATE_BODY = re.compile(r"dbt_cdc\.(state_table|scan|publication)\(\)")
COMMIT = re.compile(r"(\d{20})\.json")
Log = dict[str, bytes]  # the files of a Delta table's log, or those of a Parquet table
# Views that runs replace; all others have the same text at any time.
LITERAL_VIEWS = ("validity_intervals", "change_tracking_versions")


@dataclass(frozen=True)
class Saved:
    """A schema at one moment: table -> its log, view -> its statement (None: its text stays)."""

    tables: dict[str, Log]
    views: dict[str, str | None]
    functions: frozenset[str]


class Schema:
    """A schema of the test's Spark whose tables are Delta tables, or Parquet files, in the
    warehouse."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        self.spark, self.name = spark, name
        folder = spark.conf.get("spark.sql.warehouse.dir") or ""
        self.folder = Path(folder.removeprefix("file:")) / f"{name}.db"

    def furnish(self) -> None:
        """Makes the schema and the state tables, empty, as their YAML has them."""
        self.spark.sql(f"create schema {self.name}")
        for name, columns in state_tables().items():
            self.spark.sql(f"create table {self.name}.{name} ({columns}) using delta")

    def is_delta(self, table: str) -> bool:
        """Whether it is a Delta table; the others are Parquet."""
        return (self.folder / table / "_delta_log").is_dir()

    def files(self, table: str) -> Path:
        """The folder that says what is in a table: the log of a Delta table, the data of others."""
        return self.folder / table / ("_delta_log" if self.is_delta(table) else "")

    def log(self, table: str) -> Log:
        """The log of a table."""
        return {f.name: f.read_bytes() for f in self.files(table).iterdir() if f.is_file()}

    def save(self) -> Saved:
        """What there is now."""
        rows = self.spark.sql(f"show views in {self.name}").collect()
        views = {row.viewName: None for row in rows if not row.isTemporary}
        for view in views.keys() & set(LITERAL_VIEWS):
            create = self.spark.sql(f"show create table {self.name}.{view}").collect()[0][0]
            views[view] = create.replace("CREATE VIEW", "CREATE OR REPLACE VIEW", 1)
        rows = self.spark.sql(f"show tables in {self.name}").collect()
        names = {row.tableName for row in rows if not row.isTemporary} - views.keys()
        rows = self.spark.sql(f"show user functions in {self.name}").collect()
        functions = {
            row.function.split(".")[-1] for row in rows if f".{self.name}." in row.function
        }
        return Saved({name: self.log(name) for name in names}, views, frozenset(functions))

    def restore(self, saved: Saved) -> None:
        """Goes back to what there was; what has come since is dropped."""
        now = self.save()
        for kind, names in (
            ("function", now.functions - saved.functions),
            ("view", now.views.keys() - saved.views.keys()),
            ("table", now.tables.keys() - saved.tables.keys()),
        ):
            for name in sorted(names):
                self.spark.sql(f"drop {kind} {self.name}.`{name}`")
        for table, log in saved.tables.items():
            if now.tables[table] != log:
                self.go_back(table, log)
        for view, statement in saved.views.items():
            if statement and now.views.get(view) != statement:
                self.spark.sql(statement)

    def go_back(self, table: str, log: Log) -> None:
        """A table as it was when it had this log."""
        folder = self.files(table)
        for file in list(folder.iterdir()):
            if file.is_file() and log.get(file.name) != file.read_bytes():
                file.unlink()
        for name, content in log.items():
            if not (folder / name).exists():
                (folder / name).write_bytes(content)
        if not self.is_delta(table):
            self.spark.sql(f"refresh table {self.name}.{table}")
            return
        java = self.spark.sparkContext._gateway.jvm
        path = java.org.apache.hadoop.fs.Path(str(self.folder / table))
        java.org.apache.spark.sql.delta.DeltaLog.invalidateCache(self.spark._jsparkSession, path)


def changed_rows(before: Log, after: Log) -> bool:
    """Whether a commit of a later log added or removed files; both are of one table."""
    for name in sorted(after):
        if COMMIT.fullmatch(name) and before.get(name) != after[name]:
            actions = map(json.loads, after[name].splitlines())
            if any("add" in action or "remove" in action for action in actions):
                return True
    return False


@functools.cache
def state_tables(of_jobs: bool = False) -> dict[str, str]:
    """The package's state tables: name -> columns; those of jobs are made by operations."""
    read = yaml.safe_load((METADATA / "_metadata.yml").read_text(encoding="utf-8"))
    return {
        model["name"]: ", ".join(f"{c['name']} {c['data_type']}" for c in model["columns"])
        for model in read["models"]
        if (of_jobs or model.get("config", {}).get("meta", {}).get("made_for") != "jobs")
        and STATE_BODY.search((METADATA / f"{model['name']}.sql").read_text(encoding="utf-8"))
    }


class Furniture:
    """Furnished schemas: one is made where none is free."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.free: list[tuple[Schema, Saved]] = []
        self.taken: dict[str, tuple[Schema, Saved]] = {}

    def take(self) -> Schema:
        """An empty, furnished schema."""
        if self.free:
            schema, empty = self.free.pop()
        else:
            schema = Schema(self.spark, f"shop_{os.getpid()}_{len(self.taken) + 1}")
            schema.furnish()
            empty = schema.save()
        self.taken[schema.name] = schema, empty
        return schema

    def clear(self, schema: str) -> None:
        """Takes everything but the furniture out of a schema."""
        taken, empty = self.taken[schema]
        taken.restore(empty)

    def give_back(self, schema: str) -> None:
        """The next one may have it."""
        self.clear(schema)
        self.free.append(self.taken.pop(schema))
