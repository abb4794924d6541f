"""Capturing a canonical log of `reference.log.LogRecord`s in a temporary dbt project."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from harness import DbtResult, Project
from pyspark.sql import Row
from reference.capture import CaptureInstance, ChangeRow
from reference.invariants import broken
from reference.log import LogRecord
from reference.values import NAN, read_value

LAST = "0x" + "F" * 20
LOG_COLUMNS = {
    "lsn": "string",
    "tran_id": "string",
    "operation": "string",
    "record_time": "timestamp",
    "source_schema": "string",
    "source_name": "string",
    "before_image": "string",
    "after_image": "string",
    "ddl_command": "string",
    "command_id": "int",
}
LOG_DDL = ", ".join(f"{name} {data_type}" for name, data_type in LOG_COLUMNS.items())


def instance_yaml(instances: Iterable[CaptureInstance], **meta: Any) -> str:
    """The models' YAML (as JSON, which YAML contains); `meta` is added to every instance."""
    models = []
    for instance in instances:
        cdc = {
            "source_schema": instance.source_schema,
            "source_name": instance.source_name,
            "capture_instance": instance.capture_instance,
            "index_columns": list(instance.index_columns),
            "before_image": instance.before_image,
            **meta,
        }
        columns = [{"name": n, "data_type": t, "quote": True} for n, t in instance.columns]
        name = f"{instance.capture_instance.lower()}_ct"
        models.append({"name": name, "config": {"meta": {"cdc": cdc}}, "columns": columns})
    return json.dumps({"version": 2, "models": models}, ensure_ascii=False)


def make_wrappers(project: Project) -> None:
    """The functions by time, by the scripts that generate_wrapper_function prints."""
    printed = project.ok("run-operation", "generate_wrapper_function").output
    for script in re.findall(r"^create function (fn_.*?);$", printed, re.M | re.S):
        project.spark.sql(f"create or replace function {project.schema}.{script}")


class Capture:
    """A project with the log table `landed` (Parquet: quicker than Delta), a view `raw_log` on it
    and one model an instance. `is_true`: the log is what a database may do."""

    is_true = True

    def __init__(
        self,
        make_project: Callable[..., Project],
        instances: Sequence[CaptureInstance],
        vars: dict[str, Any] | None = None,
        models: dict[str, str] | None = None,
        fresh: bool = False,
        threads: int = 1,
        **meta: Any,
    ) -> None:
        self.instances = list(instances)
        files = {"raw_log.sql": "select * from {{ target.schema }}.landed"}
        files["instances.yml"] = instance_yaml(instances, **meta)
        for instance in instances:
            name = f"{instance.capture_instance.lower()}_ct.sql"
            files[name] = "{{ dbt_cdc.change_table() }}\n"
        self.project = make_project(
            fresh=fresh,
            threads=threads,
            models={**files, **(models or {})},
            vars={"cdc_log_model": "raw_log", "cdc_report_new_columns": False, **(vars or {})},
        )
        self.clear()

    @property
    def schema(self) -> str:
        """The schema of the project."""
        return self.project.schema

    def clear(self) -> None:
        """Drops everything that was captured, and the log."""
        self.project.clear()
        self.sql(f"create table {{schema}}.landed ({LOG_DDL}) using parquet")

    def sql(self, query: str) -> list[Row]:
        """The rows of a query; `{schema}` stands for the project's schema."""
        return self.project.sql(query)

    def land(self, records: Iterable[LogRecord]) -> None:
        """Appends records to the log."""
        rows = [tuple(getattr(record, name) for name in LOG_COLUMNS) for record in records]
        if rows:
            frame = self.project.spark.createDataFrame(rows, LOG_DDL)
            frame.coalesce(1).write.insertInto(f"{self.schema}.landed")

    def amend(self, lsn: str, **values: Any) -> None:
        """Changes a record of the log; without values it is removed."""
        rows = [row.asDict() for row in self.sql("select * from {schema}.landed")]
        rows = [{**row, **values} if row["lsn"] == lsn else row for row in rows]
        rows = [row for row in rows if values or row["lsn"] != lsn]
        frame = self.project.spark.createDataFrame([tuple(row.values()) for row in rows], LOG_DDL)
        frame.coalesce(1).write.insertInto(f"{self.schema}.landed", overwrite=True)

    def run(self, *args: str, **options: Any) -> DbtResult:
        """`dbt run` that has to succeed."""
        return self.project.ok("run", *args, **options)

    def changes(self, instance: CaptureInstance, to_lsn: str = LAST) -> list[ChangeRow]:
        """The instance's change table, in the order of changes, and true to its own past: from the
        low end on, which a TRUNCATE raises when it is published."""
        name = instance.capture_instance.lower()
        rows = self.sql(f"select * from {{schema}}.{name}_ct where `__$start_lsn` <= '{to_lsn}'")
        changes = sorted((change_row(row, instance) for row in rows), key=lambda row: row.order)
        if self.is_true:
            low, _ = self.intervals().get(name, ("", ""))
            wrong = broken(instance, [row for row in changes if low <= row.start_lsn])
            assert not wrong, "\n".join(wrong)
        return changes

    def intervals(self) -> dict[str, tuple[str, str]]:
        """What may be read: instance -> its ends; no high end is ''."""
        if not self.sql("show views in {schema} like 'validity_intervals'"):
            return {}
        rows = self.sql("select * from {schema}.validity_intervals")
        return {r.capture_instance.lower(): (r.low_end, r.high_end or "") for r in rows}

    def call(self, function: str, *args: str | None) -> list[Row]:
        """The rows of a persistent table function."""
        literals = ", ".join(
            "null" if a is None else "'" + a.replace("'", "\\'") + "'" for a in args
        )
        return self.sql(f"select * from {{schema}}.{function}({literals})")


def plain(value: Any, data_type: str) -> Any:
    """A value as Spark returns it -> as the reference has it."""
    if value is None:
        return None
    if data_type.startswith("timestamp"):
        return read_value(value.isoformat(), data_type)
    if isinstance(value, float) and value != value:
        return NAN
    if isinstance(value, bytearray):
        return bytes(value)
    if data_type.startswith("char"):
        return value.rstrip(" ")
    return value


def plain_values(row: Row, instance: CaptureInstance) -> tuple[Any, ...]:
    """The captured values of a row, as the reference has them."""
    return tuple(plain(row[name], data_type) for name, data_type in instance.columns)


def change_row(row: Row, instance: CaptureInstance) -> ChangeRow:
    """A change table's row as the reference has it."""
    return ChangeRow(
        row["__$start_lsn"],
        row["__$seqval"],
        row["__$operation"],
        row["__$update_mask"],
        plain_values(row, instance),
        row["__$command_id"],
        row["__$end_lsn"],
    )
