"""A random walk: captures, kills, cleanups, resets, late transactions, instances that come and go,
in any order.

After each step what readers may read is what the reference has, once; and each consumer, and a
client of change tracking, has what the changes up to its bookmark make, or the run that left it
behind has failed with a number.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from capturing import Capture, instance_yaml
from consuming import COLUMNS, consumed
from harness import DbtResult, Project
from reference.capture import (
    AFTER,
    BEFORE,
    DELETE,
    INSERT,
    CaptureInstance,
    ChangeRow,
    capture,
    transactions,
)
from reference.change_tracking import TrackedTable
from reference.log import LogRecord
from statements import fault_at
from steps import FAULTS
from tracking import tracked_models
from transactions import Writer

pytestmark = pytest.mark.slow

KEY = ("id",)
ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("name", "string")), KEY)
NOTES = CaptureInstance("dbo", "notes", "dbo_notes", (("id", "int"), ("name", "string")), KEY)
SECOND = CaptureInstance("dbo", "items", "dbo_items_2", ITEMS.columns, KEY)
TRACKED = TrackedTable("dbo", "items", ITEMS.columns, KEY)
ALL = {instance.capture_instance: instance for instance in (ITEMS, NOTES, SECOND)}
KINDS = {
    "now": "materialized='replica'",
    "notes_now": "materialized='replica'",
    "then": "materialized='history'",
    "feed": "materialized='incremental', incremental_strategy='append', file_format='delta'",
}
READS = {"now": "dbo_items", "then": "dbo_items", "feed": "dbo_items", "notes_now": "dbo_notes"}
COLUMNS_OF = {**COLUMNS, "notes_now": ["id", "name"]}
WAYS_ON = {"313": "start over", "2714": "start over", "22859": "mend", "22985": "disable"}


def model_of(consumer: str, instance: str) -> str:
    changes = f"{{{{ dbt_cdc.new_changes('{instance}') }}}}"
    return f"{{{{ config({KINDS[consumer]}) }}}} select * from {changes}\n"


def rows_of(consumer: str, changes: list[ChangeRow]) -> list[Any]:
    """What a consumer that begins empty has behind these changes, which may begin in the middle of
    a row's life."""
    if consumer == "feed":
        return sorted((r.seqval, r.operation) for r in changes if r.operation != BEFORE)
    present: dict[Any, tuple[Any, str]] = {}
    versions: list[Any] = []
    for row in changes:
        key = row.values[0]
        if row.operation in (DELETE, AFTER) and key in present:
            values, begin = present.pop(key)
            versions.append((*values, begin, row.start_lsn))
        if row.operation in (INSERT, AFTER):
            present[key] = row.values, row.start_lsn
    if consumer != "then":
        return sorted(values for values, _ in present.values())
    return sorted(versions + [(*values, begin, "") for values, begin in present.values()])


def present(records: list[LogRecord], to_lsn: str) -> dict[int, str]:
    """The rows of dbo.items, id -> name, behind the commit at an LSN."""
    rows: dict[int, str] = {}
    for transaction in transactions(r for r in records if r.lsn <= to_lsn):
        for record in transaction.records:
            if record.table != TRACKED.table:
                continue
            if record.operation == "TRUNCATE":
                rows = {}
            if record.before_image:
                del rows[json.loads(record.before_image)["id"]]
            if record.after_image:
                row = json.loads(record.after_image)
                rows[row["id"]] = row["name"]
    return rows


class Source:
    """Two tables, and a log of what its users do; transactions may be rolled back, or held back
    while later ones land."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.writer = rng, Writer()
        self.rows: dict[str, dict[int, dict[str, Any]]] = {"items": {}, "notes": {}}
        self.written: list[LogRecord] = []
        self.held: list[LogRecord] = []
        self.landed = 0

    def hold(self) -> None:
        """One transaction, whose row nobody changes, does not land with the others."""
        table = self.rng.choice(["items", "notes"])
        self.held = self.writer.insert(table, id=1000 + self.writer.transactions, name="late")

    def change(self) -> None:
        """One transaction, of several changes."""
        writer, rng = self.writer, self.rng
        writer.transactions += 1
        writer.time += timedelta(minutes=1)
        records = [writer.record("BEGIN")]
        is_lost = rng.random() < 0.1
        held = {table: dict(rows) for table, rows in self.rows.items()}
        for _ in range(rng.randrange(1, 5)):
            table = rng.choice(["items", "items", "notes"])
            records.append(self._statement(table, held[table]))
        records.append(writer.record("ROLLBACK" if is_lost else "COMMIT"))
        if not is_lost:
            self.rows = held
        self.written += records

    def _statement(self, table: str, rows: dict[int, dict[str, Any]]) -> LogRecord:
        rng, record = self.rng, self.writer.record
        new = {"id": rng.randrange(1, 12), "name": rng.choice("abcdef")}
        if rows and rng.random() < 0.3:
            old = rows.pop(rng.choice(sorted(rows)))
            return record("DELETE", table, before_image=old)
        if new["id"] in rows:
            old, rows[new["id"]] = rows[new["id"]], new
            return record("UPDATE", table, before_image=old, after_image=new)
        if rows and rng.random() < 0.2:  # the key changes
            old = rows.pop(rng.choice(sorted(rows)))
            rows[new["id"]] = new
            return record("UPDATE", table, before_image=old, after_image=new)
        rows[new["id"]] = new
        return record("INSERT", table, after_image=new)

    def truncate(self, table: str) -> None:
        self.rows[table] = {}
        self.written.append(self.writer.record("TRUNCATE", table, tran_id=None))

    def land(self) -> list[LogRecord]:
        """What lands next: all that is written, or less."""
        end = len(self.written)
        if self.rng.random() < 0.3:
            end = self.rng.randrange(self.landed, end + 1)
        new, self.landed = self.written[self.landed : end], end
        return new


@dataclass
class Consumer:
    """Where a consumer began, and which instance it reads; `begin` None: it has to begin (anew)."""

    name: str
    instance: str
    begin: str | None = None
    is_there: bool = True


class Walk:
    """A project, its source, and what is known of both."""

    def __init__(self, make_project: Callable[..., Project], seed: int, threads: int) -> None:
        self.rng = random.Random(seed)
        self.capture = Capture(
            make_project, [ITEMS, NOTES], threads=threads,
            models={f"{name}.sql": model_of(name, READS[name]) for name in KINDS}
            | tracked_models([TRACKED]),
        )  # fmt: skip
        self.project = self.capture.project
        self.source = Source(self.rng)
        self.records: list[LogRecord] = []
        self.declared = {"dbo_items": "dbo_items", "dbo_notes": "dbo_notes"}
        self.consumers = {name: Consumer(name, READS[name]) for name in KINDS}
        self.ends: dict[str, tuple[str, str]] = {}
        self.high_ends: set[str] = set()
        self.bad: LogRecord | None = None
        self.late: list[list[LogRecord]] = []
        self.vars: dict[str, Any] = {}
        self.synced: tuple[int, dict[int, str]] | None = None
        self.done: list[str] = []
        self.failed: dict[str, str] = {}
        self.output = ""
        self.struck = 0
        # random steps seldom meet: first each kind comes once, and a whole run after two of them
        kinds = self.rng.sample(list(self.kinds()), len(self.kinds()))
        self.first: list[Callable[[], object]] = [self.run]
        for number, kind in enumerate(kinds):
            self.first += [kind, self.run] if number % 2 else [kind]

    # --- steps ---------------------------------------------------------------------------------

    def step(self) -> None:
        """The source goes on, or nothing lands; then somebody does something."""
        is_first = bool(self.first)
        if is_first or self.rng.random() < 0.6:
            self.goes_on()
        kinds = self.kinds()
        step = (
            self.first.pop(0)
            if is_first
            else self.rng.choices(list(kinds), list(kinds.values()))[0]
        )
        self.done.append(step.__name__)
        step()
        self.check()

    def kinds(self) -> dict[Callable[[], object], int]:
        """What somebody may do, and how often."""
        return {
            self.run: 6, self.dies: 6, self.runs_a_part: 3, self.runs_empty: 1,
            self.cleans_up: 2, self.starts_over: 1, self.truncates: 1, self.leaves: 1,
            self.comes: 2, self.second_instance: 1, self.respells: 1, self.goes_bad: 1,
            self.disables: 1, self.full_refresh: 1, self.dies_and_retries: 2,
            self.cleans_by_time: 1, self.lands_late: 2,
        }  # fmt: skip

    def goes_on(self) -> None:
        """The source goes on; the log lands."""
        for _ in range(self.rng.randrange(1, 4)):
            self.source.change()
        new = self.source.land()
        self.records += new
        self.capture.land(new)

    def run(self, *args: str, is_whole: bool = True) -> DbtResult:
        """A run of all: all is captured, published and consumed, or the reason is said."""
        result = self.command(self.rng.choice(["run", "run", "build"]), *args)
        if not self.failed and is_whole:
            self.check_all_is_there()
        failed = dict(self.failed)
        for name, message in failed.items():
            self.go_on_behind(name, message)
        if any(self.bad and self.bad.lsn in message for message in failed.values()):
            self.bad = None
        return result

    def command(self, *args: str) -> DbtResult:
        """A command; what fails in it has a number."""
        result = self.project.dbt(*args, vars=self.vars)
        self.done.append(" ".join(args))
        self.output = result.output
        self.failed = {
            name: node.message
            for name, node in result.messages.items()
            if node.status in ("error", "fail")
        }
        assert result.success or self.failed, result.output
        for name, message in self.failed.items():
            assert re.search(r"CDC \d+", message), f"{name}: {message}"
        return result

    def go_on_behind(self, name: str, message: str) -> None:
        """Takes the way on that an error names."""
        number = re.search(r"CDC (\d+)", message)[1]  # type: ignore[index]
        way = WAYS_ON.get(number)
        self.done.append(f"{name}: {message[:300]}")
        assert way, f"{name}: {message}"
        if "landed too late" in message:
            self.vars = {"cdc_late_commits": "pass"}
        elif way == "mend":
            assert self.bad and self.bad.lsn in message, f"{name}: {message}"
            self.capture.amend(self.bad.lsn, after_image=self.bad.after_image)
        elif way == "disable":
            ended = re.search(r"capture instance '(\w+)' ended", message)[1]  # type: ignore[index]
            self.disable(ended.lower())
        else:
            assert name in self.consumers, f"{name}: {message}"
            self.start_over(self.consumers[name])

    def dies(self) -> None:
        """A run that dies, or one of whose writes fails."""
        kind = self.rng.choice(FAULTS)
        command = self.rng.choice(
            [("run",), ("run",), ("build",), ("run", "--select", "+lsn_time_mapping")]
        )
        self.with_fault(kind, *command)

    def with_fault(self, kind: str, *command: str) -> DbtResult:
        """It may come too late; whatever it hits, nobody is shown a stack."""
        number = self.rng.randrange(1, 20)
        with fault_at(kind, number) as writes:
            result = self.project.dbt(*command, vars=self.vars)
        self.struck += len(writes) >= number
        self.done.append(f"{kind}: {command}: write {number} of {len(writes)}, {writes[-1:]}")
        assert "\tat " not in result.output, result.output
        return result

    def dies_and_retries(self) -> None:
        result = self.with_fault(self.rng.choice(FAULTS), "run", "--write-json")
        if not result.success:
            self.command("retry")

    def lands_late(self) -> None:
        """A transaction is held back, or one that was lands behind later ones."""
        if not self.source.held:
            self.source.hold()
            return
        held, self.source.held = self.source.held, []
        self.late.append(held)
        self.records += held
        self.capture.land(held)
        self.run()

    def runs_a_part(self) -> None:
        """Some models of all."""
        some = self.rng.choice([
            ("--select", "+lsn_time_mapping"), ("--exclude", *self.consumers), ("--select", "now+"),
            ("--exclude", "dbo_notes_ct"), ("--select", "+dbo_items_ct"), ("--select", "+now"),
            ("--exclude", "dbo_items_ct"), ("--select", "feed"), ("--exclude", "scan_transactions"),
        ])  # fmt: skip
        self.run(*some, is_whole=False)

    def runs_empty(self) -> None:
        self.run("--empty", is_whole=False)

    def cleans_up(self) -> None:
        """A low-water mark anywhere in the validity interval."""
        intervals = self.capture.intervals()
        if not intervals:
            return
        name, (low, high) = self.rng.choice(sorted(intervals.items()))
        lsns = sorted(
            {r.lsn for r in self.records if low <= r.lsn <= high and r.operation == "COMMIT"}
        )
        if lsns:
            arguments = {"capture_instance": name, "low_water_mark": self.rng.choice(lsns)}
            result = self.operation("cleanup_change_table", **arguments)
            assert result.success or "CDC " in result.output, result.output

    def cleans_by_time(self) -> None:
        """The cleanup job, with a retention that ends at any commit."""
        commits = [r for r in self.records if r.operation == "COMMIT"]
        if not commits or not self.capture.intervals():
            return
        kept = self.rng.choice(commits)
        last = max(r.record_time for r in commits)
        minutes = max(1, (last - kept.record_time) // timedelta(minutes=1))
        self.operation("change_job", job_type="cleanup", retention=minutes)
        result = self.operation("cleanup")
        assert result.success or "CDC " in result.output, result.output
        for name, (low, high) in self.capture.intervals().items():
            was = self.ends.get(name, ("", ""))[0]
            assert low <= max(kept.lsn, was), f"{name}: {low} to {high}, and {kept} is kept"

    def starts_over(self) -> None:
        consumer = self.rng.choice(list(self.consumers.values()))
        if consumer.is_there and self.bookmark(consumer):
            self.start_over(consumer)

    def start_over(self, consumer: Consumer) -> None:
        """Begins a consumer anew, the feed emptied."""
        result = self.operation("reset_consumer", consumer=consumer.name, dry_run=False)
        assert result.success, result.output
        consumer.begin = None
        if consumer.name == "feed":
            self.command("run", "--select", "feed", "--full-refresh")

    def full_refresh(self) -> None:
        """A replica and a history begin anew by reset alone; the feed by this."""
        if self.consumers["feed"].is_there:
            self.consumers["feed"].begin = None
            self.run("--select", "feed", "--full-refresh", is_whole=False)

    def truncates(self) -> None:
        self.source.truncate(self.rng.choice(["items", "notes"]))

    def leaves(self) -> None:
        """A model and its consumers are taken out."""
        name = self.rng.choice(list(self.declared))
        if len(self.declared) > 1:
            self.take_out(name)

    def take_out(self, name: str) -> None:
        del self.declared[name]
        (self.project.folder / f"models/{name}_ct.sql").unlink()
        for consumer in self.consumers.values():
            if consumer.is_there and consumer.instance == name:
                consumer.is_there = False
                (self.project.folder / f"models/{consumer.name}.sql").unlink()
        self.write_instances()

    def comes(self) -> None:
        """A model that is not there comes, or comes back."""
        for name in ("dbo_items", "dbo_notes"):
            if name not in self.declared:
                self.declare(name)
                for consumer in self.consumers.values():
                    if not consumer.is_there and consumer.instance == name:
                        consumer.is_there = True
                        self.write_consumer(consumer)

    def declare(self, name: str) -> None:
        self.declared[name] = name
        self.project.write(f"models/{name}_ct.sql", "{{ dbt_cdc.change_table() }}\n")
        self.write_instances()

    def write_consumer(self, consumer: Consumer) -> None:
        text = model_of(consumer.name, consumer.instance)
        self.project.write(f"models/{consumer.name}.sql", text)

    def write_instances(self) -> None:
        instances = [
            replace(ALL[name], capture_instance=text) for name, text in self.declared.items()
        ]
        self.project.write("models/instances.yml", instance_yaml(instances))

    def second_instance(self) -> None:
        """Where it is not there it comes; where it is there, a consumer is handed over."""
        if "dbo_items_2" not in self.declared:
            self.declare("dbo_items_2")
            return
        consumer = self.consumers[self.rng.choice(["now", "then", "feed"])]
        if consumer.is_there:
            consumer.instance = "dbo_items_2"
            self.write_consumer(consumer)

    def respells(self) -> None:
        """Another letter case of the instance's name."""
        name = self.rng.choice(list(self.declared))
        self.declared[name] = self.declared[name].swapcase()
        self.write_instances()

    def goes_bad(self) -> None:
        """A record that cannot be read lands."""
        if self.bad:
            return
        self.source.change()
        end = len(self.source.written)
        for record in self.source.written[self.source.landed : end]:
            if record.operation in ("INSERT", "UPDATE"):
                self.bad = record
        new, self.source.landed = self.source.written[self.source.landed : end], end
        self.records += new
        self.capture.land(new)
        if self.bad:
            image = json.loads(self.bad.after_image or "")
            self.capture.amend(self.bad.lsn, after_image=json.dumps({**image, "id": "bad"}))

    def disables(self) -> None:
        """An instance is dropped for good; its model may come again."""
        name = self.rng.choice(list(self.declared))
        if len(self.declared) > 1 and name in self.capture.intervals():
            self.take_out(name)
            self.disable(name)

    def disable(self, name: str) -> None:
        given = {"source_schema": "dbo", "source_name": ALL[name].source_name}
        result = self.operation("disable_table", **given, capture_instance=name, dry_run=False)
        assert result.success, result.output
        self.ends.pop(name, None)

    def operation(self, name: str, **arguments: Any) -> DbtResult:
        self.done.append(f"{name} {arguments}")
        return self.project.dbt("run-operation", name, "--args", json.dumps(arguments))

    def told(self) -> list[str]:
        """The way so far, and what there is."""
        tables = ("change_tables", "validity_intervals", "consumer_bookmarks", "scan_transactions")
        state = [
            f"{table}: {row}"
            for table in tables
            if table in self.tables()
            for row in self.capture.sql(f"select * from {{schema}}.{table}")
        ]
        return [*self.done, self.output, *state, *map(str, self.records)]

    # --- checks --------------------------------------------------------------------------------

    def tables(self) -> set[str]:
        return {row.tableName for row in self.capture.sql("show tables in {schema}")}

    def bookmark(self, consumer: Consumer) -> Any:
        if "consumer_bookmarks" not in self.tables():
            return None
        rows = self.capture.sql(
            f"select * from {{schema}}.consumer_bookmarks where consumer = '{consumer.name}'"
            f" and lower(capture_instance) = '{consumer.instance}'"
        )
        return rows[0] if rows else None

    def changes(self, name: str, low: str, high: str) -> list[ChangeRow]:
        """By the reference, the commits from one LSN to another; what landed too late is in none
        of the instance's windows, or in all."""
        lost = {held[0].tran_id for held in self.lost_to(f"{name}_ct", "`__$start_lsn`")}
        records = [r for r in self.records if r.tran_id not in lost]
        return [r for r in capture(records, ALL[name], None, high) if low <= r.start_lsn]

    def lost_to(self, table: str, column: str) -> list[list[LogRecord]]:
        """The late transactions that a table does not have."""
        if not self.late:
            return []
        lsns = {
            row[0] for row in self.capture.sql(f"select distinct {column} from {{schema}}.{table}")
        }
        return [held for held in self.late if held[-1].lsn not in lsns]

    def check(self) -> None:
        """What may be read, and what consumers have."""
        intervals = self.capture.intervals()
        for name, (low, high) in intervals.items():
            before = self.ends.get(name, ("", ""))
            assert low >= before[0] and high >= before[1], f"{name}: {before} to {low, high}"
            self.ends[name] = low, high
            if high:
                self.high_ends.add(high)
                found = [r for r in self.capture.changes(ALL[name], high) if low <= r.start_lsn]
                assert found == self.changes(name, low, high), f"{name} from {low} to {high}"
        if "lsn_time_mapping" in self.tables():
            lsns = [
                r.start_lsn
                for r in self.capture.sql("select start_lsn from {schema}.lsn_time_mapping")
            ]
            assert len(lsns) == len(set(lsns)), "a commit is twice in lsn_time_mapping"
        for consumer in self.consumers.values():
            if consumer.is_there:
                self.check_consumer(consumer, intervals)
        if "dm_tran_commit_table" in self.tables():
            self.check_client()

    def check_client(self) -> None:
        """A client that synchronises its copy of dbo.items by change tracking has its rows, or is
        told to begin anew."""
        sql = self.capture.sql
        versions = {
            row.commit_ts: row.commit_lsn for row in sql("select * from {schema}.syscommittab")
        }
        try:
            current, low = sql(
                "select {schema}.change_tracking_current_version(),"
                " {schema}.change_tracking_min_valid_version('dbo.items')"
            )[0]
        except Exception as error:  # before the first publication there are none
            assert "ROUTINE" in str(error), error
            return
        if not current or low is None:
            return
        assert current in versions, f"version {current} is none of {versions}"
        lost = {held[0].tran_id for held in self.lost_to("syscommittab", "commit_lsn")}
        records = [r for r in self.records if r.tran_id not in lost]
        rows = present(records, versions[current])
        if self.synced and self.synced[0] >= low:
            copy, asked = (
                dict(self.synced[1]),
                f"changetable_changes_dbo_items({self.synced[0]}, false)",
            )
            changes = sql(f"select * from {{schema}}.{asked}")
            for row in changes:
                copy.pop(row.id, None)
                if row.sys_change_operation != "D":
                    copy[row.id] = rows.get(row.id)
            assert copy == rows, (
                f"a client at {self.synced} has {copy} at {current}, not {rows}: {changes}"
            )
        self.synced = current, rows

    def check_consumer(self, consumer: Consumer, intervals: dict[str, tuple[str, str]]) -> None:
        """It has what it has consumed, or, where a run died in it, what it was to consume."""
        mark = self.bookmark(consumer)
        if mark is None or mark.last_lsn is None or consumer.name not in self.tables():
            return
        if consumer.begin is None:
            consumer.begin = intervals[consumer.instance][0]
        found = consumed_rows(consumer.name, self.capture)
        ends = [lsn for lsn in (mark.last_lsn, mark.open_lsn) if lsn]
        changes = [self.changes(consumer.instance, consumer.begin, lsn) for lsn in ends]
        known = [rows_of(consumer.name, rows) for rows in changes]
        # a replica that took what is left: a row counts as unchanged that a window leaves as it was
        older = []
        if KINDS[consumer.name] == "materialized='replica'":
            before = self.changes(consumer.instance, "", consumer.begin)
            older = rows_of(consumer.name, [r for r in before if r.start_lsn < consumer.begin])
        assert any(
            found == [row for row in rows if row in found or row not in older] for rows in known
        ), f"{consumer}: {found}\nis none of {known}\nat {ends}"

    def check_all_is_there(self) -> None:
        """Behind a run without a failure nothing waits but what is behind a window that another run
        had left open, and that is said."""
        commits = [r.lsn for r in self.records if r.operation == "COMMIT"]
        open_window = re.search(r"up to (\w+), .* newer commits wait for the next run", self.output)
        if open_window:
            commits = [lsn for lsn in commits if lsn <= open_window[1]]
        intervals = self.capture.intervals()
        told = re.search(r"(\d+) transactions? of .* landed too late", self.output)
        unsaid = [
            held
            for name, (low, high) in intervals.items()
            for held in self.lost_to(f"{name}_ct", "`__$start_lsn`")
            if low <= held[-1].lsn <= high and held[1].source_name == ALL[name].source_name
        ]
        missing = len({held[0].tran_id for held in unsaid})
        assert missing <= int(told[1] if told else 0), f"{missing} are lost, and {told} is said"
        reached = max((high for _, high in intervals.values()), default="")
        for name in self.declared:
            if name not in intervals:  # in a quiet log a new instance waits for the next commit
                assert not commits or commits[-1] <= reached, f"{name} is not published"
            elif commits:
                changes = self.changes(name, intervals[name][0], commits[-1])
                last = changes[-1].start_lsn if changes else ""
                assert intervals[name][1] >= last, f"{name} lags: {intervals[name]}, not {last}"
        for consumer in self.consumers.values():
            if consumer.is_there and consumer.instance in intervals:
                mark = self.bookmark(consumer)
                assert mark, f"{consumer} has no bookmark"
                assert mark.last_lsn == intervals[consumer.instance][1], f"{consumer} lags: {mark}"


def consumed_rows(name: str, capturing: Capture) -> list[Any]:
    rows = capturing.sql(f"select * from {{schema}}.{name}")
    if name == "notes_now":
        return sorted((row.id, row.name) for row in rows)
    return consumed(name, [row.asDict() for row in rows])


LONGER = [
    pytest.param(2, 50, 4, marks=pytest.mark.more),
    *(pytest.param(n, 80, 1 + n % 4, marks=pytest.mark.soak) for n in range(3, 23)),
    pytest.param(23, 200, 4, marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("seed", "steps", "threads"), [(1, 27, 1), *LONGER])
def test_any_order(
    make_project: Callable[..., Project], seed: int, steps: int, threads: int
) -> None:
    walk = Walk(make_project, seed, threads)
    for _ in range(steps):
        try:
            walk.step()
        except AssertionError as error:
            raise AssertionError("\n".join([*walk.told(), str(error)])) from error
    assert len(walk.high_ends) >= steps // 4, "it captures next to nothing"
    assert walk.struck, "no fault has struck"
