"""Parts of `make bench` about the jobs: cleanup, compaction, the agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capturing import LOG_DDL, instance_yaml
from measure import Result, compare, timed
from orders_log import COLUMNS, ORDERS, Log, write_log
from reference.capture import CaptureInstance

if TYPE_CHECKING:
    from bench import Bench

ROOT = Path(__file__).resolve().parents[1]


def cleanup(bench: Bench) -> Iterator[Result]:
    """The cleanup job over 90 % of a table, against one DELETE of the same rows; then with nothing
    to do."""
    project, size = bench.project([ORDERS]), int(33_334 * bench.scale)
    logs = [Log(size, n * size) for n in range(10)]
    for log in logs:
        write_log(bench.spark, log, f"{project.schema}.landed", 2)
        project.ok("run")
    table, state = f"{project.schema}.dbo_orders_ct", ("change_tables", "lsn_time_mapping")
    rows = sum(log.rows for log in logs)
    versions = {
        name: bench.spark.sql(f"describe history {project.schema}.{name}").first().version
        for name in ("dbo_orders_ct", *state)
    }
    minutes = max(1, round(size / 100 / 60))
    job = json.dumps({"job_type": "cleanup", "retention": minutes})
    project.ok("run-operation", "change_job", "--args", job)

    def restore() -> None:
        for name, version in versions.items():
            bench.spark.sql(f"restore table {project.schema}.{name} to version as of {version}")

    def clean() -> None:
        project.ok("run-operation", "cleanup")

    clean()
    (mark,) = bench.spark.sql(f"select min(start_lsn) from {project.schema}.change_tables").first()
    yield compare(
        f"cleanup of 90 % of {rows:,} rows",
        "one plain DELETE of them",
        clean,
        lambda: bench.spark.sql(f"delete from {table} where `__$start_lsn` < '{mark}'"),
        1.3,
        bench.runs,
        prepare_a=restore,
        prepare_b=restore,
    )
    clean()
    seconds = timed(clean)
    yield Result("cleanup with nothing to do, one table", "2 seconds", seconds, 2, seconds / 2, 1.0)


def compaction(bench: Bench) -> Iterator[Result]:
    """A week of captures in small files: a window before and after the cleanup job's compaction."""
    project, log = bench.project([ORDERS]), Log(int(20_000 * bench.scale))
    write_log(bench.spark, log, f"{project.schema}.landed")
    project.ok("run")
    table, files = f"{project.schema}.dbo_orders_ct", max(60, int(2_000 * bench.scale))
    ordered = bench.spark.table(table).repartitionByRange(files, "`__$start_lsn`")
    ordered.write.mode("overwrite").insertInto(table)
    for _ in range(50):  # commits, as of captures; Delta records none without rows
        bench.spark.sql(f"insert into {table} select * from {table} limit 1")
    first = log.commit_lsn(log.transactions - log.transactions // 20)
    window = bench.read(
        bench.asked(project, f"get_all_changes('dbo_orders', '{first}', '{log.last_lsn}')")
    )
    for _ in range(3):
        window()
    many = sorted(timed(window) for _ in range(bench.runs * 3))[bench.runs * 3 // 2]
    seconds = timed(lambda: project.ok("run-operation", "cleanup"))
    (detail,) = bench.spark.sql(f"describe detail {table}").collect()
    assert detail.numFiles == 1, detail
    idle = timed(lambda: project.ok("run-operation", "cleanup"))
    for _ in range(3):
        window()
    few = sorted(timed(window) for _ in range(bench.runs * 3))[bench.runs * 3 // 2]
    name = f"get_all_changes, the last 20th of {files:,} small files, compacted"
    yield Result(name, "the same before", few, many, few / many, 1.0)
    name = f"cleanup that compacts {files:,} files"
    yield Result(name, "cleanup with nothing to do", seconds, idle, seconds / idle, None)


def agent(bench: Bench) -> Iterator[Result]:
    """From commit to visible: five tables, a transaction a second, pollinginterval 1. The agent has
    a process and a Spark of its own, and runs for some minutes before what it does counts."""
    folder = Path(tempfile.mkdtemp(dir=bench.folder))
    instances = [
        CaptureInstance("dbo", f"t{n}", f"dbo_t{n}", tuple(COLUMNS.items()), ("id",))
        for n in range(5)
    ]
    process = Agent(folder, instances)
    try:
        process.wait_for("capture: started")
        process.land(0)
        process.wait_for("capture: 1 transactions")
        process.dbt("run-operation", "change_job", "--args", "{pollinginterval: 1}")
        process.dbt("run-operation", "stop_job")
        process.dbt("run-operation", "start_job")
        process.wait_for("started, pollinginterval 1 s")
        rounds = max(20, int(600 * min(1.0, bench.scale)))
        for number in range(1, rounds):
            process.land(number)
            time.sleep(1)
        process.wait_for(f"up to {process.lsn(rounds - 1, 9)}")
        found = process.ask(
            "select cast(percentile(seconds, 0.5) as double) as middle,"
            " cast(percentile(seconds, 0.95) as double) as worst,"
            " cast(percentile(duration, 0.5) as double) as run from (select"
            " unix_micros(s.end_time) / 1e6 - unix_micros(m.tran_end_time) / 1e6 as seconds,"
            " unix_micros(s.end_time) / 1e6 - unix_micros(s.start_time) / 1e6 as duration"
            " from {{ ref('lsn_time_mapping') }} as m inner join {{ ref('scan_sessions') }} as s"
            " on m.start_lsn > s.start_lsn and m.start_lsn <= s.end_lsn"
            f" where m.start_lsn > '{process.lsn(rounds // 2, 0)}')"
        )
    finally:
        process.kill()
    what = "from commit to visible, agent at pollinginterval 1, five tables"
    middle, worst, run = found["middle"], found["worst"], found["run"]
    yield Result(f"{what}, median", "10 seconds", middle, 10, middle / 10, 1.0)
    yield Result(f"{what}, 95th percentile", "10 seconds", worst, 10, worst / 10, None)
    yield Result(f"{what}, median", "the run that captures it", middle, run, middle / run, None)


class Agent:
    """scripts/agent.py over a project whose log grows file by file."""

    def __init__(self, folder: Path, instances: list[CaptureInstance]) -> None:
        self.folder, self.instances, self.seen = folder, instances, folder / "agent.log"
        (folder / "landing").mkdir()
        self.project = folder / "project"
        self._write("dbt_project.yml", json.dumps(PROJECT))
        self._write("profiles.yml", (ROOT / "profiles.yml").read_text(encoding="utf-8"))
        self._write("models/raw_log.sql", RAW_LOG.replace("{LOG_DDL}", LOG_DDL))
        self._write("models/instances.yml", instance_yaml(instances))
        for instance in instances:
            self._write(
                f"models/{instance.capture_instance}_ct.sql", "{{ dbt_cdc.change_table() }}"
            )
        (self.project / "dbt_packages").mkdir()
        (self.project / "dbt_packages" / "dbt_cdc").symlink_to(ROOT)
        (self.project / "packages.yml").write_text(json.dumps({"packages": [{"local": str(ROOT)}]}))
        home = folder / "home"
        (home / "warehouse").mkdir(parents=True)
        environment = {**os.environ, "DBT_CDC_HOME": str(home)}
        variables = json.dumps({"landing": str(folder / "landing")})
        with self.seen.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "scripts" / "agent.py"), "--vars", variables],
                cwd=self.project, env=environment, stdout=log, stderr=log,
            )  # fmt: skip

    def _write(self, name: str, text: str) -> None:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    @staticmethod
    def lsn(number: int, place: int) -> str:
        """The LSN of a record of the `number`-th transaction; its COMMIT has place 9."""
        return f"0x{number * 10 + place + 1:020X}"

    def land(self, number: int) -> None:
        """A transaction, committed now, that inserts a row into each table."""
        now = datetime.now(timezone.utc).isoformat()
        common = {"tran_id": f"t{number}", "record_time": now}
        image = {
            "id": number, "name": f"row {number}", "amount": "1.5000", "quantity": number,
            "total": number * 100, "active": True, "ratio": 0.25, "updated_at": now[:26],
        }  # fmt: skip
        records: list[dict[str, Any]] = [{"operation": "BEGIN"}]
        for instance in self.instances:
            records.append({
                "operation": "INSERT", "source_schema": "dbo", "source_name": instance.source_name,
                "after_image": json.dumps(image),
            })  # fmt: skip
        lines = [
            json.dumps({**common, **record, "lsn": self.lsn(number, place)})
            for place, record in enumerate(records)
        ]
        lines.append(json.dumps({**common, "operation": "COMMIT", "lsn": self.lsn(number, 9)}))
        file = self.folder / "landing" / f"{number:06}.new"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        file.rename(file.with_suffix(".jsonl"))

    def wait_for(self, text: str) -> None:
        """Until the agent has logged it."""
        while text not in self.seen.read_text(encoding="utf-8"):
            if self.process.poll() is not None:
                raise RuntimeError(self.seen.read_text(encoding="utf-8"))
            time.sleep(0.2)

    def dbt(self, *arguments: str) -> str:
        """A dbt command in the agent."""
        command = [sys.executable, str(ROOT / "scripts" / "agent.py"), "dbt", *arguments]
        done = subprocess.run(command, cwd=self.project, capture_output=True, text=True, check=True)
        return done.stdout

    def ask(self, query: str) -> dict[str, float]:
        """The only row of a query."""
        text = self.dbt("show", "--output", "json", "--inline", query)
        return json.loads(text[text.index("{") :])["show"][0]

    def kill(self) -> None:
        """Ends it."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()


PROJECT = {
    "name": "shop",
    "version": "1.0.0",
    "profile": "dbt_cdc",
    "vars": {
        "cdc_log_model": "raw_log",
        "cdc_capture_instances": [f"dbo_t{number}" for number in range(5)],
    },
    "flags": {"send_anonymous_usage_stats": False},
}
RAW_LOG = """
{{ config(materialized='incremental', incremental_strategy='append', file_format='delta') }}
{% set last = run_query('select max(landed_file) from ' ~ this).rows[0][0] if is_incremental() %}
select record.*, landed_file
from (
    select
        from_json(
            value,
            '{LOG_DDL}'
        ) as record,
        _metadata.file_name as landed_file
    from text.`{{ var('landing') }}`
    where _metadata.file_name > '{{ last or '' }}' and _metadata.file_name like '%.jsonl'
)
"""
