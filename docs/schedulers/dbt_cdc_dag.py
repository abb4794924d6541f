"""Airflow 3 (run with 3.3.2): capture and what follows it every five minutes, cleanup at two.

Both take the only slot of the pool `dbt_cdc` (`airflow pools set dbt_cdc 1 "captures"`), so they
never run at once. The target of the dbt project has to be a cluster or Thrift server.
"""

from __future__ import annotations

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import dag

DBT = "cd /srv/shop && .venv/bin/dbt --quiet"


@dag(schedule="*/5 * * * *", start_date=datetime(2024, 1, 1), catchup=False, max_active_runs=1)
def cdc_capture() -> None:
    """One pass of the capture job, then replicas, histories and other models."""
    BashOperator(
        task_id="capture",
        bash_command=f"{DBT} run",
        pool="dbt_cdc",
    )


@dag(schedule="0 2 * * *", start_date=datetime(2024, 1, 1), catchup=False, max_active_runs=1)
def cdc_cleanup() -> None:
    """The cleanup job."""
    BashOperator(
        task_id="cleanup",
        bash_command=f"{DBT} run-operation dbt_cdc.cleanup",
        pool="dbt_cdc",
        retries=2,
    )


cdc_capture()
cdc_cleanup()
