"""The agent: runs the capture job and the cleanup job, for whoever has no scheduler.

    agent.py                             runs the jobs until it gets SIGTERM or SIGINT
    agent.py dbt run-operation stop_job  a dbt command inside the running agent, between scans

It keeps one warm Spark session and does one thing at a time: a scan (`dbt run` of the change
tables, what they are made of, views, replicas and histories), a cleanup, or a command. What it
runs, and how often, is in `cdc_jobs`, read when a job starts; docs/jobs.md has the whole story.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt_commands import Dbt, check_extra, enter_project, needs, problem, told

if TYPE_CHECKING:  # imported where it is used: neither --help nor `agent.py dbt` needs it
    from apscheduler.triggers.base import BaseTrigger

LONGEST_PAUSE = 300.0  # seconds between two tries while scans fail
IDLE_POLL = 5  # seconds between two looks for requests while the capture job is stopped
SOCKET = "agent.sock"  # in dbt's target folder
SELECTED = (
    "+lsn_time_mapping +config.materialized:state_view"
    " +config.materialized:replica +config.materialized:history"
)
TRACKING_CLEANUP_MINUTES = 30
# What profiles.yml asks of the environment, for a process that runs small statements for days:
# Java's second compiler pays, Spark's own does not.
ENVIRONMENT = {"DBT_CDC_JAVA_OPTIONS": "", "DBT_CDC_CODEGEN": "false"}
SINGLE_WRITER = "DBT_CDC_SINGLE_WRITER"  # asked by macros/materializations/change_table.sql
MOST_COMMITS = "DBT_CDC_MOST_COMMITS"  # of a scan; asked by macros/capture/log_end.sql
# What each scan says, and the line of its session has, too.
USUAL = re.compile("cdc: (scan window: |published up to |nothing to capture |captured, in rows: )")
NOTE_MINUTES = 5  # start_job says so after half an hour of silence
log = logging.getLogger("agent")


class Agent:
    """Both jobs, on a scheduler with one worker."""

    def __init__(self, dbt: Dbt, select: str, cleanup_at: BaseTrigger) -> None:
        from apscheduler.executors.pool import ThreadPoolExecutor
        from apscheduler.schedulers.blocking import BlockingScheduler

        self.dbt, self.select, self.cleanup_at = dbt, select, cleanup_at
        self.since: str | None = None
        self.capture: dict[str, Any] | None = None  # parameters of the capture job while it runs
        self.failures = 0
        self.notes: list[str] = []  # of the last scan
        self.is_stopping = False
        self.scheduler = BlockingScheduler(
            executors={"default": ThreadPoolExecutor(1)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=timezone.utc,
        )

    def run(self) -> None:
        """Runs until `stop`."""
        self.scheduler.add_job(self._poll, id="poll")
        self.scheduler.add_job(self.clean_up, self.cleanup_at, id="cleanup")
        self.scheduler.add_job(
            self.clean_up_tracking, "interval", minutes=TRACKING_CLEANUP_MINUTES, id="tracking"
        )
        self.scheduler.add_job(self.note, "interval", ["goes on"], minutes=NOTE_MINUTES, id="note")
        self.scheduler.start()
        self.note("ends")

    def stop(self) -> None:
        """Finishes what is in hand, starts nothing new."""
        if self.is_stopping:
            return
        self.is_stopping = True
        log.info("agent: stopping when the work in hand is done")
        self.scheduler.remove_all_jobs()
        self.scheduler.shutdown(wait=True)

    def note(self, note: str = "runs") -> None:
        """Says that there is an agent, for start_job and stop_job."""
        self.dbt.run("run-operation", "dbt_cdc._note_agent", "--args", json.dumps({"note": note}))

    def do(self, function: Callable[[], None]) -> None:
        """Something else for the one worker."""
        self.scheduler.add_job(function)

    def _again(self, seconds: float) -> None:
        if not self.is_stopping:
            at = datetime.now(timezone.utc) + timedelta(seconds=seconds)
            # it may be due before the worker has counted this one down, and would be dropped
            self.scheduler.add_job(
                self._poll, run_date=at, id="poll", replace_existing=True, max_instances=2
            )

    def _poll(self) -> None:
        """One round, and when the next one is, whatever becomes of this one."""
        try:
            self._round()
        except Exception as error:
            traceback.print_exc()
            self._fail("poll", [f"{type(error).__name__}: {error}"])
        self._again(self._pause())

    def _round(self) -> None:
        """Begins, or obeys requests; then scans where the capture job runs."""
        state = self._state()
        if state is None:
            return
        if self.since is None:
            self.note()
            self._start_capture(state["jobs"])
            self.since = state["latest"]
        else:
            self._obey(state)
        if self.capture:
            self.scan()
        else:
            self.failures = 0

    def _pause(self) -> float:
        if self.failures:
            step = max(1, (self.capture or {}).get("pollinginterval") or 0)
            return min(LONGEST_PAUSE, step * 2.0 ** min(self.failures, 10))
        return self.capture["pollinginterval"] if self.capture else IDLE_POLL

    def _state(self) -> Any:
        """The jobs and the new requests; none where dbt fails."""
        arguments = ["--args", json.dumps({"since": self.since})]
        result, lines = self._dbt("run-operation", "dbt_cdc._agent_state", *arguments)
        if result.success:
            return told(lines, "agent")
        self._fail("poll", lines)
        return None

    def _obey(self, state: Any) -> None:
        self.since = state["latest"]
        last = {asked["job_type"]: asked["request"] for asked in state["requests"]}
        for job_type, request in last.items():
            log.info("%s: %s asked", job_type, request)
            if job_type == "cleanup":
                if request == "start":
                    self.clean_up()
            elif request == "stop":
                self.capture = None
            else:  # one that runs starts anew
                self._start_capture(state["jobs"])

    def _start_capture(self, jobs: dict[str, Any]) -> None:
        self.capture = jobs.get("capture")
        if self.capture is None:
            log.info("capture: there is no such job (add_job makes one)")
            return
        self.dbt.manifest = None  # not the models of before
        self.read_project()
        how = f"pollinginterval {self.capture['pollinginterval']} s"
        log.info("capture: started, %s", how if self.capture["continuous"] else "one pass")

    def read_project(self) -> None:
        """What the next scans know; where the project cannot be read, what they knew before."""
        try:
            self.dbt.read_project()
        except RuntimeError as error:
            log.error("capture: %s", problem([str(error)]))

    def scan(self) -> None:
        """One run of the capture job, and its line in the log."""
        started = time.monotonic()
        own = {
            MOST_COMMITS: str((self.capture or {}).get("most_commits", 0)),
            SINGLE_WRITER: str(is_only_writer()).lower(),
        }
        os.environ.update(own)
        try:
            result, lines = self._dbt("run", "--select", *self.select.split())
        finally:
            for name in own:  # commands of others are not bounded, and may write elsewhere
                os.environ.pop(name, None)
        self._pass_on(lines)
        session = told(lines, "session") or {}
        if not result.success:
            self._fail("capture", lines)
            return
        if not result.result.results:
            self._fail("capture", [f"--select {self.select!r} names no model: nothing is captured"])
            return
        self.failures = 0
        rows = session.get("captured_rows", {})
        log.info(
            "capture: %s transactions, %s rows in %s tables, up to %s, %.1f s",
            session.get("tran_count", 0),
            sum(rows.values()),
            sum(1 for count in rows.values() if count),
            session.get("end_lsn") or session.get("start_lsn"),
            time.monotonic() - started,
        )
        if self.capture and not self.capture["continuous"]:
            self.capture = None
            log.info("capture: done, as it is not continuous; start_job starts it again")

    def _pass_on(self, lines: list[str]) -> None:
        """What a scan says beside its own line in the log, unless the scan before it said the same:
        nothing else may tell of it."""
        notes = [line for line in lines if line.startswith("cdc: ") and not USUAL.match(line)]
        for line in notes:
            if line not in self.notes:
                log.info("capture: %s", line.removeprefix("cdc: "))
        self.notes = notes

    def clean_up(self) -> None:
        """One run of the cleanup job."""
        started = time.monotonic()
        result, lines = self._dbt("run-operation", "dbt_cdc.cleanup")
        for line in lines:  # who holds what, who loses changes, how far it is
            if line.startswith("cdc: "):
                log.info("cleanup: %s", line.removeprefix("cdc: ").removeprefix("cleanup: "))
        if result.success:
            log.info("cleanup: done, %.1f s", time.monotonic() - started)
        else:
            log.error("cleanup: %s", problem(lines))

    def clean_up_tracking(self) -> None:
        """Auto cleanup of change tracking, where it is on."""
        started = time.monotonic()
        arguments = ["--args", json.dumps({"auto": True})]
        result, lines = self._dbt("run-operation", "dbt_cdc.change_tracking_cleanup", *arguments)
        if not result.success:
            log.error("change tracking cleanup: %s", problem(lines))
        elif any(" up to version " in line for line in lines):
            log.info("change tracking cleanup: done, %.1f s", time.monotonic() - started)

    def _dbt(self, *arguments: str) -> tuple[Any, list[str]]:
        result, lines = self.dbt.run(*arguments)
        if not result.success and not is_spark_alive():
            log.critical("agent: Spark is gone, so the agent ends: %s", problem(lines))
            os._exit(1)  # from a worker; nothing is left that could be finished
        return result, lines

    def _fail(self, what: str, lines: list[str]) -> None:
        self.failures += 1
        log.error("%s: %s (next try in %.0f s)", what, problem(lines), self._pause())


def embedded_spark() -> Any:
    """The context of the embedded Spark, if this process has one."""
    pyspark = sys.modules.get("pyspark")  # other targets need none
    return getattr(getattr(pyspark, "SparkContext", None), "_active_spark_context", None)


def is_spark_alive() -> bool:
    """Whether the embedded Spark, if this process has one, still answers."""
    context = embedded_spark()
    if context is None:
        return True
    try:
        return not context._jsc.sc().isStopped()
    except Exception:  # whatever the dead connection raises
        return False


def is_only_writer() -> bool:
    """Whether no other process can write the tables: Spark runs in this one, on an embedded Derby
    metastore, which lets one process in, and with no other catalog."""
    context = embedded_spark()
    if context is None:
        return False
    conf, hadoop = context.getConf(), context._jsc.hadoopConfiguration()
    metastore = hadoop.get("javax.jdo.option.ConnectionURL") or "jdbc:derby:"
    return bool(
        context.master.startswith("local")
        and re.match("jdbc:derby:(?!//)", metastore)
        and not hadoop.get("hive.metastore.uris")
        and conf.get("spark.sql.defaultCatalog", "spark_catalog") == "spark_catalog"
        and conf.get("spark.sql.catalog.spark_catalog", "").endswith(".DeltaCatalog")
    )


class Commands:
    """dbt commands from other processes, done by the agent's worker; for the same user only."""

    def __init__(self, agent: Agent, path: Path) -> None:
        self.agent, self.path = agent, path
        if path.exists():
            with contextlib.suppress(OSError), Client(str(path), "AF_UNIX") as other:
                send(other, [])
                sys.exit("agent: another agent runs this project already")
            path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        mask = os.umask(0o177)
        self.listener = Listener(str(path), "AF_UNIX")
        os.umask(mask)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            connection = self.listener.accept()
            try:
                arguments = json.loads(connection.recv_bytes())
            except (EOFError, OSError, ValueError):
                connection.close()
                continue
            self.agent.do(lambda c=connection, a=arguments: self._answer(c, a))  # type: ignore[misc]

    def _answer(self, connection: Connection, arguments: list[str]) -> None:
        with contextlib.closing(connection), contextlib.suppress(OSError):
            if arguments:
                # what asks the agent works on a project that cannot be read, too
                names = {argument.removeprefix("dbt_cdc.") for argument in arguments}
                anew = not {"start_job", "stop_job"}.intersection(names)
                result, lines = self.agent.dbt.run(*arguments, quiet=False, anew=anew)
                if result.success and anew and "run-operation" in arguments and self.agent.capture:
                    self.agent.read_project()  # a scan would enter anew what was disabled
                shown = [line for line in lines if not line.startswith("cdc ")]
                send(connection, [result.success, "\n".join(shown)])


def send(connection: Connection, value: Any) -> None:
    """JSON, so that nothing but data goes over the socket."""
    connection.send_bytes(json.dumps(value).encode())


def ask(path: Path, arguments: list[str]) -> int:
    """A dbt command in the running agent: prints what it says, returns its exit code."""
    try:
        connection = Client(str(path), "AF_UNIX")
    except OSError:
        print(f"agent: none runs here (no {path})", file=sys.stderr)
        return 2
    with connection:
        send(connection, arguments)
        try:
            success, text = json.loads(connection.recv_bytes())
        except (EOFError, OSError):
            print("agent: it ended before the command was done", file=sys.stderr)
            return 2
    print(text)
    return 0 if success else 1


def parse_arguments() -> tuple[argparse.Namespace, list[str]]:
    """Our options; all others are dbt's (--target, --vars, --profiles-dir ...)."""
    parser = argparse.ArgumentParser(
        description="Runs the capture job and the cleanup job. Other options are dbt's.",
        epilog=f"Needs {needs('agent')}",
    )
    parser.add_argument("--project-dir", default=".", help="the dbt project (here)")
    parser.add_argument("--select", default=SELECTED, help="what a scan runs (%(default)s)")
    parser.add_argument(
        "--cleanup-at", type=crontab, default="0 2 * * *",
        help="crontab of the cleanup job, UTC (%(default)s)",
    )  # fmt: skip
    return parser.parse_known_args()


def crontab(text: str) -> BaseTrigger:
    """When five fields of a crontab are due, in UTC. As in any, days and weekdays are due each by
    themselves where both are given. The scheduler counts weekdays from Monday on, so that they are
    given by name: as everywhere 0 and 7 are Sunday. Each start passes here, --help does not."""
    check_extra("agent")
    from apscheduler.triggers.combining import OrTrigger
    from apscheduler.triggers.cron import CronTrigger

    fields = text.split()
    ways = [fields]
    if len(fields) == 5:
        of_month, of_week = fields[2], fields[4]
        fields[4] = ",".join(map(weekdays, of_week.split(",")))
        if not of_month.startswith("*") and not of_week.startswith("*"):
            ways = [[*fields[:4], "*"], [*fields[:2], "*", *fields[3:]]]
    try:
        return OrTrigger([CronTrigger.from_crontab(" ".join(w), timezone.utc) for w in ways])
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no crontab: {error}") from None


def weekdays(part: str) -> str:
    """The names of the days that a part like 5, 1-5, */2 tells by number; another as it is."""
    every = re.sub(r"^\*/", "0-6/", part)
    numbers = re.fullmatch(r"([0-7])(?:-([0-7]))?(?:/([1-9]))?", every)
    if not numbers:
        return part
    first, last = int(numbers[1]), int(numbers[2] or numbers[1])
    names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
    return ",".join(names[day % 7] for day in range(first, last + 1, int(numbers[3] or 1))) or part


def main() -> int:
    """Runs the agent, or a command in it."""
    if sys.argv[1:2] == ["dbt"]:
        return ask(Path("target") / SOCKET, sys.argv[2:])
    options, dbt_options = parse_arguments()
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    enter_project(options.project_dir)
    shown = logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S")
    shown.converter = time.gmtime
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(shown)
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    agent = Agent(Dbt(dbt_options), options.select, options.cleanup_at)
    commands = Commands(agent, Path("target") / SOCKET)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    log.info("agent: starts")
    agent.run()
    commands.listener.close()
    log.info("agent: stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
