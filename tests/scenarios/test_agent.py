"""The agent: jobs that run by themselves, over polling rounds, requests, failures and a signal."""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from multiprocessing import Pipe
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from harness import PACKAGE
from pyspark.sql import SparkSession
from reference.log import UTC, LogRecord, int_to_lsn

SCRIPT = PACKAGE / "scripts" / "agent.py"
START = datetime(2024, 5, 1, tzinfo=UTC)


TOLD = ("MOST_COMMITS", "SINGLE_WRITER")


class FakeDbt:
    """Answers the agent's commands from lists, and keeps them."""

    def __init__(self) -> None:
        self.jobs: dict[str, Any] = {
            "capture": {"continuous": True, "pollinginterval": 7, "most_commits": 12}
        }
        self.told: list[tuple[str | None, ...]] = []
        self.requests: list[dict[str, str]] = []
        self.fails: set[str] = set()
        self.commands: list[str] = []
        self.read_anew: list[str] = []
        self.ran = ["lsn_time_mapping"]
        self.lines: list[str] = []

    def read_project(self) -> None:
        self.commands.append("parse")

    def run(self, *arguments: str, quiet: bool = True, anew: bool = False) -> tuple[Any, list[str]]:
        name = arguments[1] if arguments[0] == "run-operation" else arguments[0]
        self.read_anew += [name] * anew
        self.commands.append(name.removeprefix("dbt_cdc."))
        if arguments[0] == "run":
            self.told.append(tuple(os.environ.get(f"DBT_CDC_{name}") for name in TOLD))
        if self.commands[-1] in self.fails:
            return SimpleNamespace(success=False), ["Database Error\n  CDC 22859: bad: mend it"]
        if name.endswith("_agent_state"):
            state = {"latest": "2024-05-01 00:00:00", "requests": self.requests, "jobs": self.jobs}
            self.requests = []
            return SimpleNamespace(success=True), ["cdc agent: " + json.dumps(state)]
        if name.endswith(".cleanup"):
            return SimpleNamespace(success=True), ["cdc: cleanup: the low end stays", "a table"]
        ran = SimpleNamespace(success=True, result=SimpleNamespace(results=self.ran))
        return ran, [*self.lines, 'cdc session: {"captured_rows": {"a": 2, "b": 0}}']


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An agent on a FakeDbt whose scheduler only writes down when it would go on."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    module: ModuleType = __import__("agent")
    made = module.Agent(FakeDbt(), "x", module.crontab("0 2 * * *"))
    made.pauses = []
    made._again = made.pauses.append
    made._poll()
    for kept in (made.dbt.commands, made.dbt.told, made.pauses):
        kept.clear()
    return made


OPTIONS = ["--target", "prod", "--no-partial-parse", "--vars", "{a: 1, b: 2}"]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["run", "--select", "prod"], OPTIONS),
        (["run", "--target=dev"], ["--no-partial-parse", "--vars", "{a: 1, b: 2}"]),
        (["run", "-tdev"], ["--no-partial-parse", "--vars", "{a: 1, b: 2}"]),
        (["run", "--vars", "{b: 2026-01-01}"], [*OPTIONS[:3], "--vars={a: 1, b: 2026-01-01}\n"]),
    ],
)
def test_a_command_has_its_own_target(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], options: list[str]
) -> None:
    """And the agent's where it gives none; the project is read anew for another."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    commands = __import__("dbt_commands")
    assert commands.options_beside(OPTIONS, arguments) == options
    assert bool(commands.options_given(arguments)) == (options != OPTIONS)
    assert commands.options_beside([], arguments) == []


def ask(agent: Any, job_type: str, request: str) -> None:
    agent.dbt.requests.append({"job_type": job_type, "request": request})
    agent._poll()


def test_what_a_scan_is_told_and_nothing_else(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """maxtrans x maxscans of the job as it was started, and that nobody else writes; commands of
    others drain the log, and may be of another target, where others write."""
    monkeypatch.setattr(sys.modules["agent"], "is_only_writer", lambda: True)
    agent._poll()
    agent.dbt.jobs = {"capture": {"continuous": True, "pollinginterval": 7, "most_commits": 3}}
    agent._poll()
    agent.dbt.run("run", "--target", "prod")
    assert agent.dbt.told == [("12", "true"), ("12", "true"), (None, None)]


def test_what_a_scan_tells_is_passed_on_once(agent: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing else tells of offsets that are missing, or of a table that is gone."""
    caplog.set_level(logging.INFO)
    usual = ["cdc: scan window: after 0x up to 0x1", "cdc: published up to 0x1"]
    agent.dbt.lines = [*usual, "cdc: landed: offsets 3 to 4 are missing"]
    agent._poll()
    agent._poll()
    agent.dbt.lines = ["cdc: instance a has ended"]
    agent.dbt.fails = {"run"}
    agent._poll()
    told = [record.message for record in caplog.records if "transactions," not in record.message]
    assert told[0] == "capture: landed: offsets 3 to 4 are missing"
    assert len(told) == 2 and "22859" in told[1]


def test_a_selection_without_a_model_is_a_failure(
    agent: Any, caplog: pytest.LogCaptureFixture
) -> None:
    agent.dbt.ran = []
    agent._poll()
    assert agent.failures == 1
    assert "--select 'x' names no model: nothing is captured" in caplog.text


def test_a_command_sees_the_project_as_it_is(agent: Any) -> None:
    """And so does a scan behind one that may have disabled a table."""
    commands = object.__new__(sys.modules["agent"].Commands)
    commands.agent = agent
    agent.dbt.fails = {"cleanup"}
    for name in ("disable_table", "cleanup", "stop_job"):
        one, other = Pipe()
        commands._answer(one, ["run-operation", name])
        assert json.loads(other.recv_bytes())[0] == (name != "cleanup")
    assert agent.dbt.read_anew == ["disable_table", "cleanup"]
    assert agent.dbt.commands == ["disable_table", "parse", "cleanup", "stop_job"]


def test_a_project_that_cannot_be_read_for_a_moment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The scans go on with what was read before."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    commands = __import__("dbt_commands")
    dbt = commands.Dbt([])
    dbt.manifest = read = object()
    monkeypatch.setattr(dbt, "run", lambda *_, **__: (SimpleNamespace(success=False), ["bad"]))
    with pytest.raises(RuntimeError, match="bad"):
        dbt.read_project()
    assert dbt.manifest is read


def test_a_round_without_a_pause_follows_before_the_last_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The scheduler drops what is due while as many run as may: then nothing would poll again."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    module: ModuleType = __import__("agent")
    dbt = FakeDbt()
    dbt.jobs["capture"]["pollinginterval"] = 0
    made = module.Agent(dbt, "x", module.crontab("0 2 * * *"))
    again = made._again

    def slowly(seconds: float) -> None:
        again(seconds)
        time.sleep(0.2)

    made._again = slowly
    running = threading.Thread(target=made.run)
    running.start()
    try:
        end = time.monotonic() + 20
        while dbt.commands.count("run") < 4 and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        made.stop()
        running.join()
    assert dbt.commands.count("run") >= 4


def test_what_runs_when(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQL Server's times: cleanup at two in the night, of change tracking every 30 minutes."""
    monkeypatch.setattr(sys, "argv", ["agent.py"])
    agent.cleanup_at = sys.modules["agent"].parse_arguments()[0].cleanup_at
    monkeypatch.setattr(agent.scheduler, "start", lambda: None)
    agent.run()
    triggers = {job.id: job.trigger for job in agent.scheduler.get_jobs()}
    two = datetime(2024, 5, 2, 2, tzinfo=UTC)
    assert triggers["cleanup"].get_next_fire_time(None, START + timedelta(hours=3)) == two
    assert triggers["tracking"].interval == timedelta(minutes=30)
    assert agent.dbt.commands == ["_note_agent"]  # that it ends


def test_weekdays_are_those_of_any_crontab(agent: Any) -> None:
    module = sys.modules["agent"]
    wednesday = datetime(2024, 5, 1, tzinfo=UTC)
    for text, days in {
        "0": "2024-05-05", "7": "2024-05-05", "sun": "2024-05-05", "1-5": "2024-05-01",
        "6,2": "2024-05-04", "0-6/2": "2024-05-02", "5-7": "2024-05-03", "*": "2024-05-01",
    }.items():  # fmt: skip
        due = module.crontab(f"0 2 * * {text}").get_next_fire_time(None, wednesday)
        assert str(due.date()) == days, text
    for text in ("bad", "0 2 * * 8", "0 2 * * 5-1", "0 2 * *"):
        with pytest.raises(argparse.ArgumentTypeError, match="is no crontab"):
            module.crontab(text)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0 2 13 * 5", [3, 10, 13, 17]),  # either
        ("0 2 1,15 * sun", [1, 5, 12, 15]),
        ("0 2 */2 * 5", [3, 17, 31]),  # both: a star does not restrict
        ("0 2 13 * */2", [13 + 31]),  # the first 13th of a Sunday, Tuesday, Thursday, Saturday
        ("0 2 * * */2", [2, 4, 5, 7]),
        ("0 2 13 * *", [13]),
    ],
)
def test_days_and_weekdays(agent: Any, text: str, days: list[int]) -> None:
    """In May 2024, which begins on a Wednesday."""
    trigger, found = sys.modules["agent"].crontab(text), []
    last, now = None, START
    for _ in days:
        last = trigger.get_next_fire_time(last, now)
        found.append((last - START).days + 1)
        now = last + timedelta(minutes=1)
    assert found == days


def test_auto_cleanup_of_change_tracking(agent: Any) -> None:
    agent.clean_up_tracking()
    assert agent.dbt.commands[-1] == "change_tracking_cleanup"
    agent.dbt.fails.add("change_tracking_cleanup")
    agent.clean_up_tracking()
    assert agent.failures == 0  # captures go on as before


def test_a_changed_parameter_counts_when_the_job_next_starts(agent: Any) -> None:
    agent.dbt.jobs["capture"]["pollinginterval"] = 7
    agent._poll()
    agent.dbt.jobs = {"capture": {"continuous": True, "pollinginterval": 9}}
    agent._poll()
    ask(agent, "capture", "start")  # though it runs
    assert agent.dbt.commands[-3:] == ["_agent_state", "parse", "run"]
    assert agent.pauses == [7, 7, 9]
    ask(agent, "capture", "stop")
    assert agent.dbt.commands[-2:] == ["run", "_agent_state"]
    ask(agent, "capture", "start")
    assert agent.dbt.commands[-3:] == ["_agent_state", "parse", "run"]
    assert agent.pauses[3:] == [5, 9]


def test_of_several_requests_the_last_one_counts(agent: Any) -> None:
    """Whoever got no answer has asked again."""
    for request in ("start", "start", "stop", "start"):
        agent.dbt.requests.append({"job_type": "cleanup", "request": request})
    agent.dbt.requests.append({"job_type": "capture", "request": "start"})
    ask(agent, "capture", "stop")
    assert agent.dbt.commands == ["_agent_state", "cleanup"]


def test_a_job_that_is_not_continuous_scans_once(agent: Any) -> None:
    ask(agent, "capture", "stop")
    agent.dbt.jobs = {"capture": {"continuous": False, "pollinginterval": 0}}
    ask(agent, "capture", "start")
    agent._poll()
    assert agent.dbt.commands.count("run") == 1


def test_failures_make_growing_pauses_and_a_success_ends_them(agent: Any) -> None:
    agent.dbt.fails = {"run"}
    for _ in range(8):
        agent._poll()
    assert agent.pauses == [14, 28, 56, 112, 224, 300, 300, 300]
    agent.failures = 5000  # of a week
    agent._poll()
    assert agent.pauses[-1] == 300
    agent.dbt.fails = set()
    agent._poll()
    assert agent.pauses[-1] == 7


def test_failures_end_where_nothing_is_to_scan(agent: Any) -> None:
    """An agent whose capture job is stopped looks for requests as often as before."""
    ask(agent, "capture", "stop")
    agent.dbt.fails = {"_agent_state"}
    agent._poll()
    agent.dbt.fails = set()
    agent._poll()
    assert agent.pauses == [5, 2, 5]


def test_an_agent_without_pyspark(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with dbt-databricks: others may write, and there is no Spark here that could be gone."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    agent._poll()
    agent.dbt.fails = {"run"}
    agent._poll()
    assert agent.dbt.told == [("12", "false")] * 2
    assert agent.pauses == [7, 14]


def test_a_round_that_breaks_is_not_the_last(
    agent: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever breaks it, also the first one, which is begun anew."""
    with monkeypatch.context() as patch:
        patch.setattr(agent.dbt, "run", lambda *_: 1 / 0)
        agent._poll()
        agent.since = None
        agent._poll()
    assert agent.pauses == [14, 28]
    assert caplog.messages[0] == "poll: ZeroDivisionError: division by zero (next try in 14 s)"
    agent._poll()
    assert agent.dbt.commands == ["_agent_state", "_note_agent", "parse", "run"]
    assert agent.pauses[2:] == [7]


def test_cleanup_by_request_and_a_dropped_capture_job(
    agent: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "agent")
    ask(agent, "cleanup", "start")
    assert agent.dbt.commands == ["_agent_state", "cleanup", "run"]
    assert [text for text in caplog.messages if text.startswith("cleanup: ")][1:-1] == [
        "cleanup: the low end stays"
    ]
    agent.dbt.jobs = {}
    ask(agent, "capture", "stop")
    ask(agent, "capture", "start")
    assert agent.capture is None


def test_who_else_can_write(
    agent: Any, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody on an embedded metastore; anywhere else the agent takes no chances."""
    is_only_writer = sys.modules["agent"].is_only_writer
    context = spark.sparkContext
    hadoop = context._jsc.hadoopConfiguration()
    assert is_only_writer()
    own = hadoop.get("javax.jdo.option.ConnectionURL")
    for name, value in (
        ("javax.jdo.option.ConnectionURL", "jdbc:postgresql://db/metastore"),
        ("javax.jdo.option.ConnectionURL", "jdbc:derby://db/metastore"),
        ("hive.metastore.uris", "thrift://db:9083"),
    ):
        hadoop.set(name, value)
        try:
            assert not is_only_writer(), value
        finally:
            hadoop.unset(name)
            if own:
                hadoop.set("javax.jdo.option.ConnectionURL", own)
    monkeypatch.setattr(context, "master", "yarn")
    assert not is_only_writer()
    monkeypatch.setattr(type(context), "_active_spark_context", None)
    assert not is_only_writer()


class Process:
    """The agent as a process; `seen` is what it has logged."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "agent.log"
        (folder / "landing").mkdir()
        (folder / "landing" / "0.jsonl").touch()
        command = [sys.executable, str(PACKAGE / "tests" / "agent_process.py"), str(folder)]
        path = os.pathsep.join([str(PACKAGE / "tests"), *sys.path])
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": path}
            )

    @property
    def seen(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()

    def wait_for(self, pattern: str, after: int = 0, count: int = 1) -> int:
        """Waits until `count` lines after the `after`-th match; the number of lines then."""
        for _ in range(1200):
            lines = self.seen[after:]
            if sum(bool(re.search(pattern, line)) for line in lines) >= count:
                return after + len(lines)
            assert self.process.poll() is None, "\n".join(self.seen)
            time.sleep(0.1)
        raise AssertionError(f"no {pattern!r} in:\n" + "\n".join(self.seen))

    def land(self, number: int, value: Any) -> Path:
        """A transaction that inserts one row into dbo.items."""
        tran_id, image = f"t{number}", json.dumps({"id": value})
        records = [
            LogRecord(int_to_lsn(3 * number + 1), tran_id, "BEGIN", START),
            LogRecord(
                int_to_lsn(3 * number + 2), tran_id, "INSERT", START, "dbo", "items", None, image
            ),
            LogRecord(int_to_lsn(3 * number + 3), tran_id, "COMMIT", START),
        ]
        lines = [
            json.dumps(asdict(record), default=lambda time: time.isoformat()) for record in records
        ]
        file = self.folder / "landing" / f"{number}.jsonl"
        file.with_suffix(".new").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file.with_suffix(".new").rename(file)

    def dbt(self, *arguments: str) -> str:
        """A dbt command in the agent, from another process."""
        done = subprocess.run(
            [sys.executable, str(SCRIPT), "dbt", *arguments],
            cwd=self.folder / "project", capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path)
    yield made
    made.process.kill()


SCAN = r"capture: \d+ transactions"


@pytest.mark.soak
def test_rounds_requests_failures_and_a_signal(process: Process) -> None:
    process.land(1, 1)
    at = process.wait_for(r"capture: started, pollinginterval 5 s")
    at = process.wait_for(r"capture: 1 transactions, 1 rows in 1 tables, up to 0x0+6, ", at)
    process.dbt("run-operation", "change_job", "--args", "{pollinginterval: 1}")
    at = process.wait_for(SCAN, at, count=2)

    stopped = "_capture' stopped successfully"
    assert stopped in process.dbt("run-operation", "stop_job")
    at = process.wait_for("capture: stop asked", at)
    process.land(2, 2)
    shown = process.dbt("run-operation", "start_job", "--args", "{job_type: capture}")
    assert "_capture' started successfully: the agent, heard of at" in shown
    at = process.wait_for("capture: started, pollinginterval 1 s", at)
    assert not [line for line in process.seen[at - 2 : at] if re.search(SCAN, line)]
    at = process.wait_for(r"capture: 1 transactions, 1 rows in 1 tables, up to 0x0+9, ", at)
    at = process.wait_for(SCAN, at, count=3)

    bad = process.land(3, "x")
    failure = r"capture: CDC 22859: bad log record of table dbo.items.* \(next try in {} s\)"
    at = process.wait_for(failure.format(2), at)
    at = process.wait_for(failure.format(4), at)
    bad.unlink()
    process.land(3, 3)
    at = process.wait_for(r"capture: 1 transactions, 1 rows in 1 tables, up to 0x0+C, ", at)

    process.dbt("run-operation", "start_job", "--args", "{job_type: cleanup}")
    at = process.wait_for(r"cleanup: done", at)
    query = "select count(*) as n from {{ ref('dbo_items_ct') }}"
    assert "3" in process.dbt("show", "--inline", query)

    other = subprocess.run(
        [sys.executable, str(SCRIPT)],
        cwd=process.folder / "project", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert other.returncode == 1
    assert "another agent runs this project already" in other.stderr
    process.process.send_signal(signal.SIGTERM)
    assert process.process.wait(60) == 0
    assert process.seen[-1].endswith("agent: stopped")
    assert not (process.folder / "project" / "target" / "agent.sock").exists()
    assert not any("Traceback" in line for line in process.seen)


def test_a_command_without_an_agent(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "dbt", "run-operation", "help_jobs"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "agent: none runs here (no target/agent.sock)\n"
