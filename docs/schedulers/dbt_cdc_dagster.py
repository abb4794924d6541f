"""Dagster with dagster-dbt: capture every five minutes, cleanup at two.

Each model is an asset, in the order of dbt's graph. The target of the dbt project has to be a
cluster or Thrift server; `max_concurrent_runs: 1` of the run coordinator keeps the jobs apart.
`dagster dev` parses the project itself; elsewhere `dbt parse` has to have written its manifest.
Run with dagster 1.13.27 and dagster-dbt 0.29.27, both jobs in process. A module of Dagster's has
no `from __future__ import annotations`: it looks at the types of `context`.
"""

from collections.abc import Iterator
from typing import Any

from dagster import (
    AssetExecutionContext,
    Definitions,
    OpExecutionContext,
    ScheduleDefinition,
    define_asset_job,
    job,
    op,
)
from dagster_dbt import DbtCliResource, DbtProject, dbt_assets

PROJECT = DbtProject(project_dir="/srv/shop")
PROJECT.prepare_if_dev()


@dbt_assets(manifest=PROJECT.manifest_path)
def shop(context: AssetExecutionContext, dbt: DbtCliResource) -> Iterator[Any]:
    """One pass of the capture job, with its consumers."""
    yield from dbt.cli(["build"], context=context).stream()


@op
def remove_what_nobody_needs(context: OpExecutionContext, dbt: DbtCliResource) -> None:
    """The cleanup job."""
    dbt.cli(["run-operation", "dbt_cdc.cleanup"]).wait()
    context.log.info("cleanup is done")


@job
def cleanup() -> None:
    """As a job of its own."""
    remove_what_nobody_needs()


capture = define_asset_job("capture", selection=[shop])
defs = Definitions(
    assets=[shop],
    jobs=[capture, cleanup],
    schedules=[
        ScheduleDefinition(job=capture, cron_schedule="*/5 * * * *"),
        ScheduleDefinition(job=cleanup, cron_schedule="0 2 * * *"),
    ],
    resources={"dbt": DbtCliResource(project_dir=PROJECT)},
)
