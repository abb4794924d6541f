"""The writes of one command, one after the other, and the schema after each of them.

Exactly once is a property of these statements. A run that dies has executed the first of them and
nothing else, so every death can be had by executing that many; and two runs at the same time are an
order of their statements. The runs that go on from there are real ones. What Delta refuses where
two statements really overlap, the tests with threads show.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from furniture import LITERAL_VIEWS, Saved, Schema, changed_rows
from harness import Project
from pyspark.sql import SparkSession
from statements import (
    as_any_run_writes,
    fault_at,
    fault_at_new,
    is_write,
    points,
    recorded,
    without_comment,
)

Contents = dict[str, list[dict[str, Any]]]
# What a run tells of itself; each run adds to it, and nobody's changes depend on it.
OF_RUNS = {
    "scan_sessions", "scan_progress", "dm_cdc_errors", "observed_columns",
    "mschange_tracking_history",
}  # fmt: skip
WRITTEN = re.compile(
    r"(?:insert into|update|merge into|delete from|create or replace \w+) \S+\.(\w+)"
)
KNOWN: dict[Any, list[dict[str, Any]]] = {}  # table, columns and log -> its rows
FAULTS = ["answer is lost", "fails", "dies"]
PLAIN = {"cdc_persistent_functions": False}
CAPTURED = {
    "dbo_items_ct": "*",
    "dbo_notes_ct": "*",
    "lsn_time_mapping": "*",
    "validity_intervals": "*",
    "change_tables": "* except (create_date)",
    "captured_columns": "*",
    "index_columns": "*",
    "scan_transactions": "* except (opened_at)",
}


def is_among(write: str, done: set[str]) -> bool:
    """Behind a run that died with its bookmark open a replica's MERGE has other net changes."""
    merge = re.search(r"merge into \S+", write)
    is_of_net_changes = merge and "`__$existed`" in write
    return write in done or bool(is_of_net_changes and any(merge[0] in other for other in done))


class Steps:
    """A run from here, executed and recorded: `writes` are its statements, `end` what it leaves."""

    def __init__(
        self, schema: Schema, run: Callable[[], object], contents: Callable[[], Contents]
    ) -> None:
        self.schema, self.contents = schema, contents
        self.saved = [schema.save()]
        with recorded() as statements:
            run()
        self.writes = [sql for sql in statements if is_write(sql)]
        self.end = contents()
        self.after = schema.save()

    @property
    def spark(self) -> SparkSession:
        """The tests' session."""
        return self.schema.spark

    def go_to(self, number: int, part: str = "") -> None:
        """The schema as it is when the first `number` writes are done, and a part of the next."""
        known = min(number, len(self.saved) - 1)
        self.schema.restore(self.saved[known])
        for write in self.writes[known:number]:
            self.spark.sql(write)
            self.saved.append(self.schema.save())
        if part:
            self.spark.sql(part)

    def deaths(self) -> Iterator[tuple[int, str]]:
        """Where the run can die: after so many writes, and a part of the next one."""
        for number, write in enumerate(self.writes):
            yield number, ""
            for part in points(write, in_scripts=True)[:-1]:
                yield number, part
        yield len(self.writes), ""

    def do(self, first: int = 0, last: int | None = None) -> None:
        """Another run does its writes from the one after the `first`."""
        self.send(self.writes[first:last])

    def send(self, writes: list[str]) -> None:
        """Somebody does these."""
        for write in writes:
            self.spark.sql(write)

    def finish(self) -> None:
        """The schema as the run left it."""
        self.schema.restore(self.after)

    def repeat(self, number: int) -> set[str]:
        """Another run does the first `number` writes here; gives the tables that change by it."""
        saved = self.schema.save()
        self.do(0, number)
        return changed(self.schema, saved) - OF_RUNS


def contents(project: Project, tables: dict[str, str]) -> Contents:
    """The rows of tables, {table: columns}. What a Delta table's log holds is read once."""
    schema, found, asked = project.furnished, Contents(), {}
    for table, columns in tables.items():
        log = schema.log(table) if schema.is_delta(table) else None
        key = (table, columns, frozenset(log.items())) if log else None
        if key in KNOWN:
            found[table] = KNOWN[key]
        else:
            asked[table] = key
    if asked:
        rows = project.sql(" union all ".join(
            f"select '{table}' as name,"
            " to_json(struct(*), map('ignoreNullFields', 'false')) as text"
            f" from (select {tables[table]} from {{schema}}.{table})"
            for table in asked
        ))  # fmt: skip
        for table, key in asked.items():
            found[table] = [json.loads(text) for name, text in sorted(rows) if name == table]
            if key:
                KNOWN[key] = found[table]
    return {table: found[table] for table in tables}


def ends(found: Contents) -> dict[str, Any]:
    """The ends of all validity intervals: name -> LSN."""
    return {
        f"the {end} of {interval['capture_instance']}": interval[end] or ""
        for interval in found["validity_intervals"]
        for end in ("low_end", "high_end")
    }


def changed(schema: Schema, saved: Saved) -> set[str]:
    """The tables whose rows are others than they were, views with another text, and new ones."""
    now = schema.save()
    names = {
        name
        for name, log in now.tables.items()
        if name not in saved.tables or changed_rows(saved.tables[name], log)
    }
    names |= now.views.keys() - saved.views.keys()
    return names | {v for v in LITERAL_VIEWS if now.views.get(v) != saved.views.get(v)}


def is_account(sql: str) -> bool:
    """Whether a write tells of the run itself: a run that finds all done has nothing to tell."""
    written = set(WRITTEN.findall(without_comment(sql)))
    return bool(written) and written <= OF_RUNS


class Work:
    """A command that has work to do, its steps, and `tables`: all that must not depend on how it
    went (and the window that is open). Its nodes are `independent` where each of them writes what
    no other reads."""

    independent = False

    def __init__(
        self, project: Project, tables: dict[str, str], *command: str, is_whole: bool = True
    ) -> None:
        self.project, self.tables, self.command = project, tables, command
        self.before = self.contents() if is_whole else {}
        self.reached: dict[str, Any] = {}
        self.steps = Steps(project.furnished, self.run, self.contents)

    def run(self) -> None:
        """The command, which has to succeed."""
        self.project.ok(*self.command)

    def contents(self) -> Contents:
        """What there is."""
        return contents(self.project, self.tables)

    def marks(self, found: Contents) -> dict[str, Any]:
        """What never moves back: name -> how far it is."""
        raise NotImplementedError

    def check_readers(self, found: Contents) -> None:
        """Whether readers may see this, between any two writes."""
        raise NotImplementedError

    def check(self) -> Contents:
        """Looks at the state after others, which may be one between two writes; gives all there
        is."""
        found = self.contents()
        marks = self.marks(found)
        for name, mark in marks.items():
            last = self.reached.get(name, mark)
            assert mark >= last, f"{name} moved back from {last} to {mark}"
        assert marks.keys() >= self.reached.keys()
        self.reached = marks
        self.check_readers(found)
        return found

    def go_to(self, number: int, part: str = "") -> Contents:
        """After so many writes, and a part of the next."""
        self.steps.go_to(number, part)
        self.reached = {}
        return self.check()

    def check_deaths(self) -> None:
        """It dies after any of its writes, and others do them again: what is done changes nothing
        more, so all is as if it had not died."""
        for number, part in self.steps.deaths():
            self.go_to(number, part)
            assert self.steps.repeat(number) == set(), f"died after write {number}, {part}"

    def check_each_death(self) -> list[str]:
        """The same with real runs after each write. Gives the writes of the second ones that the
        first one does not have."""
        known, others = set(map(as_any_run_writes, self.steps.writes)), []
        for number, part in self.steps.deaths():
            self.go_to(number, part)
            with recorded() as statements:
                self.run()
            assert self.check() == self.steps.end, f"died after write {number}, {part}"
            others += [s for s in statements if is_write(s) and as_any_run_writes(s) not in known]
        return others

    def check_faults(self, *kinds: str, in_scripts: bool = False) -> None:
        """Each run goes on where the one before it was stopped, and comes to the next write, which
        fails before or after it is executed, or after which it dies, the kinds in turn. The last
        run comes to the end, and all is as if there had been no other. Where faults fall
        `in_scripts`, one of several writes stops in its middle, and the next run knows."""
        self.go_to(0)
        done: set[str] = set()
        for kind in itertools.cycle(kinds):
            with fault_at_new(
                kind, done, of_each_node=self.independent, in_scripts=in_scripts
            ) as stopped:
                result = self.project.dbt(*self.command)
            self.check()
            if not stopped:
                break
            assert not result.success, (kind, stopped)
            assert "\tat " not in result.output
        assert result.success, result.output
        assert self.check() == self.steps.end
        for write in itertools.filterfalse(is_account, self.steps.writes):
            ways = points(write, in_scripts=in_scripts)
            for way in ways[:-1] or ways:  # the rest of a script may be done in another way
                assert is_among(as_any_run_writes(way), done), f"never tried: {way}"

    def check_each_fault(self, *kinds: str) -> None:
        """Each write of a run from the start, the kinds in turn, and dbt goes on with what it can.
        What is left is as after a death, or the next run mends it."""
        count = len(self.steps.writes)
        known = [self.go_to(number) for number in range(count + 1)]
        for number in range(1, count + 1):
            kind = kinds[number % len(kinds)]
            self.go_to(0)
            with fault_at(kind, number):
                result = self.project.dbt(*self.command)
            assert not result.success, (kind, number)
            assert "\tat " not in result.output
            if self.check() not in known:
                self.run()
                assert self.check() == self.steps.end, (kind, number)
