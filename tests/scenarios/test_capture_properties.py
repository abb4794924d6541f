"""Hundreds of random hostile logs equal the reference: tables, windows, consumers, bad records.

The logs are small and lie one after the other in a big one, which two runs capture. An assertion
names the small log and how to make it; with its number alone in `NUMBERS` it can be looked at.
"""

from __future__ import annotations

import bisect
import itertools
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pytest
from capturing import LOG_COLUMNS, LOG_DDL, Capture, change_row, plain, plain_values
from harness import IS_ALL, Project
from pyspark.sql import Row
from reference.capture import (
    CaptureInstance,
    ChangeRow,
    MappingRow,
    capture,
    lsn_time_mapping,
    transactions,
)
from reference.consumers import Version, history
from reference.log import LogRecord, int_to_lsn, lsn_to_int
from reference.many_logs import INSTANCES, ManyLogs, SmallLog, many_logs
from reference.query import ALL_OPTIONS, NET_OPTIONS, get_all_changes, get_net_changes
from reference.strategies import TABLES, HostileLog, Injected, make_log, spoil

pytestmark = pytest.mark.slow  # the runs of the fixture `captured`

# Those of the first 300 whose keys are updated twice, change and go most often.
BUSY = (3, 18, 27, 30, 49, 54, 59, 63, 89, 98, 118, 122, 126, 127, 147, 155, 167, 174, 189, 192,
        202, 207, 212, 222, 230, 232, 245, 246, 249, 277)  # fmt: skip
NUMBERS, MOST_STEPS, BATCHES = range(300) if IS_ALL else BUSY, 100, 2
WINDOWS = 100  # of each instance
MARGIN = 30  # change rows on both sides of a window that the reference looks at in vain
FOLLOWED = {"dbo_items": "replica", "dbo_p_pairs": "history"}  # instance -> its consumer
SPOILED, MOST_SPOILED_STEPS = range(300), 60
PLACE = re.compile(r"CDC 22859: bad log record of table (\S+), column (.+?), lsn (\S+): ")
KEYED = [instance for instance in INSTANCES if instance.index_columns]
T = TypeVar("T")


@dataclass(frozen=True)
class Captured:
    """The big log after the last run; `followed`: what each consumer held after each run."""

    target: Capture
    many: ManyLogs
    followed: tuple[dict[str, list[Row]], ...]


def consumer(instance: str, kind: str) -> str:
    """The model of a replica or a history."""
    changes = f"{{{{ dbt_cdc.new_changes('{instance}') }}}}"
    return f"{{{{ config(materialized='{kind}') }}}}\nselect * from {changes}\n"


@pytest.fixture(scope="module")
def captured(make_project: Callable[..., Project]) -> Captured:
    """The runs, one for each batch."""
    many = many_logs(NUMBERS, MOST_STEPS, BATCHES)
    models = {f"{name}_consumer.sql": consumer(name, kind) for name, kind in FOLLOWED.items()}
    target = Capture(make_project, INSTANCES, models=models)
    followed = []
    for batch in range(BATCHES):
        target.land(many.batch(batch))
        target.run()
        followed.append(
            {name: target.sql(f"select * from {{schema}}.{name}_consumer") for name in FOLLOWED}
        )
    return Captured(target, many, tuple(followed))


def of_each_log(many: ManyLogs, items: Iterable[tuple[str, T]]) -> dict[int, list[T]]:
    """Items with an LSN -> the items of each small log, by its number."""
    found: dict[int, list[T]] = defaultdict(list)
    for lsn, item in items:
        found[many.log_at(lsn).number].append(item)
    return found


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.capture_instance)
def test_change_tables(captured: Captured, instance: CaptureInstance) -> None:
    rows = captured.target.changes(instance)
    found = of_each_log(captured.many, ((row.start_lsn, row) for row in rows))
    for log in captured.many.logs:
        assert found.pop(log.number, []) == log.changes(instance), str(log)
    assert not found


def test_lsn_time_mapping(captured: Captured) -> None:
    rows = captured.target.sql(
        "select * from {schema}.lsn_time_mapping where tran_id <> '0x00' order by start_lsn"
    )
    found = of_each_log(captured.many, ((row.start_lsn, mapping_row(row)) for row in rows))
    for log in captured.many.logs:
        changes = {i.capture_instance: log.changes(i) for i in log.log.instances}
        assert found.pop(log.number, []) == lsn_time_mapping(log.log.records, changes), str(log)
    assert not found


def mapping_row(row: Row) -> MappingRow:
    times = (plain(row[name], "timestamp") for name in ("tran_begin_time", "tran_end_time"))
    return MappingRow(row.start_lsn, *times, row.tran_id, row.tran_begin_lsn)


@dataclass(frozen=True)
class Window:
    """Arguments of a query function."""

    from_lsn: str
    to_lsn: str
    option: str


def random_windows(
    rng: random.Random, commits: Sequence[str], ends: tuple[str, str], options: Sequence[str]
) -> list[Window]:
    """Windows of some commits, with all options. The ends are commits or the LSNs next to them."""
    windows = []
    for _ in range(WINDOWS):
        first = rng.randrange(len(commits))
        last = min(first + rng.choice((0, 0, 1, 3, 10, 40)), len(commits) - 1)
        low, high = (lsn_to_int(commits[n]) + rng.choice((0, 0, 0, -1, 1)) for n in (first, last))
        from_lsn, to_lsn = (int_to_lsn(lsn) for lsn in (min(low, high), max(low, high)))
        from_lsn, to_lsn = max(from_lsn, ends[0]), min(to_lsn, ends[1])
        windows += [Window(from_lsn, to_lsn, option) for option in options]
    return windows


def ask(target: Capture, function: str, windows: Sequence[Window]) -> list[list[Row]]:
    """The rows of each window, all asked by one query."""
    spark = target.project.spark
    rows = [(number, w.from_lsn, w.to_lsn, w.option) for number, w in enumerate(windows)]
    spark.createDataFrame(
        rows, "window_number int, from_lsn string, to_lsn string, row_filter_option string"
    ).coalesce(1).createOrReplaceTempView("asked_windows")
    found: list[list[Row]] = [[] for _ in windows]
    for row in target.sql(
        "select asked.window_number, changes.* from asked_windows as asked, lateral"
        f" {{schema}}.{function}(asked.from_lsn, asked.to_lsn, asked.row_filter_option) as changes"
    ):
        found[row.window_number].append(row)
    return found


def near(rows: list[ChangeRow], window: Window) -> list[ChangeRow]:
    """The rows of a window and some more: all of them take the reference minutes."""
    first = bisect.bisect_left(rows, window.from_lsn, key=lambda row: row.start_lsn)
    last = bisect.bisect_right(rows, window.to_lsn, key=lambda row: row.start_lsn)
    return rows[max(first - MARGIN, 0) : last + MARGIN]


def ends_of(target: Capture) -> tuple[str, str]:
    """The validity interval, the same for all instances."""
    (row,) = target.sql("select distinct low_end, high_end from {schema}.validity_intervals")
    return row.low_end, row.high_end


def check_windows(
    captured: Captured,
    instance: CaptureInstance,
    kind: str,
    options: Sequence[str],
    expected: Callable[[list[ChangeRow], Window, dict[str, str]], list[tuple[Any, ...]]],
    found: Callable[[Row], tuple[Any, ...]],
) -> None:
    """Random windows of an instance; `expected` and `found` give rows that begin with an LSN."""
    many, target = captured.many, captured.target
    rows = sorted(
        (row for log in many.logs for row in log.changes(instance)), key=lambda row: row.order
    )
    low, high = ends_of(target)
    commits = sorted({row.start_lsn for row in rows})
    windows = random_windows(random.Random(str(instance)), commits, (low, high), options)
    name = f"fn_cdc_get_{kind}_changes_{instance.capture_instance}"
    total = 0
    for window, answer in zip(windows, ask(target, name, windows), strict=True):
        wanted = Counter(expected(near(rows, window), window, {"min_lsn": low, "max_lsn": high}))
        got = Counter(map(found, answer))
        differing = [*(got - wanted), *(wanted - got)]
        logs = {str(many.log_at(row[0])) for row in differing}
        assert got == wanted, (window, sorted(logs))
        total += len(answer)
    assert total > len(windows)


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.capture_instance)
def test_all_changes_of_windows(captured: Captured, instance: CaptureInstance) -> None:
    check_windows(
        captured, instance, "all", ALL_OPTIONS,
        lambda rows, window, ends: [
            (w.start_lsn, w.seqval, w.operation, w.update_mask, repr(w.values))
            for w in get_all_changes(rows, window.from_lsn, window.to_lsn, window.option, **ends)
        ],
        lambda row: (
            row["__$start_lsn"], row["__$seqval"], row["__$operation"], row["__$update_mask"],
            repr(plain_values(row, instance)),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("instance", KEYED, ids=lambda instance: instance.capture_instance)
def test_net_changes_of_windows(captured: Captured, instance: CaptureInstance) -> None:
    check_windows(
        captured, instance, "net", NET_OPTIONS,
        lambda rows, window, ends: [
            (w.start_lsn, w.operation, w.update_mask, repr(w.values))
            for w in get_net_changes(
                rows, instance, window.from_lsn, window.to_lsn, window.option, **ends
            )
        ],
        lambda row: (
            row["__$start_lsn"], row["__$operation"], row["__$update_mask"],
            repr(plain_values(row, instance)),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("name", FOLLOWED)
def test_consumers_after_every_run(captured: Captured, name: str, batch: int) -> None:
    instance = next(i for i in INSTANCES if i.capture_instance == name)
    logs = [log for log in captured.many.logs if instance in log.log.instances]
    owner = {instance.key(row.values): log.number for log in logs for row in log.changes(instance)}
    found: dict[int | None, list[Version]] = defaultdict(list)
    for row in captured.followed[batch][name]:
        version = version_of(row, instance)
        found[owner.get(instance.key(version.values))].append(version)
    for log in logs:
        records = log.landed(batch + 1)
        times = {t.commit_lsn: t.end_time for t in transactions(records)}
        expected = history(instance, capture(records, instance), times)
        if FOLLOWED[name] == "replica":
            expected = [Version(v.values, None, "") for v in expected if v.valid_to_lsn is None]
        assert Counter(map(repr, found.pop(log.number, []))) == Counter(map(repr, expected)), str(
            log
        )
    assert not found


def version_of(row: Row, instance: CaptureInstance) -> Version:
    """A row of a consumer; of a replica without times."""
    values = plain_values(row, instance)
    if FOLLOWED[instance.capture_instance] == "replica":
        return Version(values, None, "")
    return Version(
        values,
        plain(row.valid_from, "timestamp"),
        row.valid_from_lsn,
        plain(row.valid_to, "timestamp"),
        row.valid_to_lsn,
    )


@dataclass(frozen=True)
class Spoiled:
    """A small log with one bad record."""

    small: SmallLog
    record: LogRecord
    log: HostileLog
    injected: Injected


def spoiled_logs() -> list[Spoiled]:
    """Small logs, each with a bad record if it has any to spoil."""
    found = []
    for small in many_logs(SPOILED, MOST_SPOILED_STEPS).logs:
        for attempt in range(5):
            spoiled = spoil(small.log, attempt * len(SPOILED) + small.number)
            if spoiled:
                record = next(r for r in spoiled[0].records if r not in small.log.records)
                found.append(Spoiled(small, record, *spoiled))
                break
    return found


def arguments(instance: CaptureInstance) -> str:
    """Those of the macros that write the statement of an instance, for all of the log."""
    return (
        f"dbt_cdc._find_instance('{instance.capture_instance}'),"
        " dict(dbt_cdc._no_window(), to_lsn='0x' ~ 'F' * 20, log='one_log',"
        " transactions_relation='one_transactions')"
    )


SQL = {
    "log_end": "dbt_cdc._log_end_sql(dbt_cdc._zero_lsn(), none)"
    " | replace(dbt_cdc._log_relation() | string, 'one_log')",
    "transactions": "dbt_cdc._window_transactions('one_log', dbt_cdc._zero_lsn(), '0x' ~ 'F' * 20)",
    **{f"rows_{i.capture_instance}": f"dbt_cdc._change_rows({arguments(i)})" for i in INSTANCES},
    **{
        i.capture_instance: f"dbt_cdc._problems(dbt_cdc._find_instance('{i.capture_instance}'),"
        f" dbt_cdc._checked_changes({arguments(i)}))"
        for i in INSTANCES
    },
}


class Statements:
    """The statements that read a log, over temporary views."""

    def __init__(self, make_project: Callable[..., Project]) -> None:
        models = {
            f"read_{name}.sql": "-- {{ ref('raw_log') }}\n"
            f"{{% if execute %}}{{{{ {sql} }}}}{{% endif %}}"
            for name, sql in SQL.items()
        }
        self.target = Capture(
            make_project, INSTANCES, models=models, vars={"cdc_persistent_functions": False}
        )
        self.target.project.ok("compile", "--select", "read_*")
        folder = self.target.project.folder / "target" / "compiled" / "shop" / "models"
        self.texts = {
            name: (folder / f"read_{name}.sql").read_text(encoding="utf-8") for name in SQL
        }

    def log(self, logs: Iterable[Spoiled]) -> None:
        """The log that is read from now on; its transactions are those of the logs unspoiled."""
        spark, logs = self.target.project.spark, list(logs)
        rows = [tuple(getattr(r, n) for n in LOG_COLUMNS) for s in logs for r in s.log.records]
        spark.createDataFrame(rows, LOG_DDL).coalesce(1).createOrReplaceTempView("one_log")
        spark.createDataFrame(
            [
                ("0x" + "F" * 20, t.tran_id, t.begin_lsn, t.commit_lsn)
                for s in logs
                for t in transactions(s.small.log.records)
                if t.tran_id
            ],
            "window_to_lsn string, tran_id string, begin_lsn string, commit_lsn string",
        ).coalesce(1).createOrReplaceTempView("one_transactions")

    def ask(self, name: str, before: str, query: str) -> list[str]:
        """The texts that `query` gives of the relations of a statement that come `before`."""
        head, *rest = re.split(before, self.texts[name])
        assert len(rest) == 1
        head = head.replace("raise_error(", "(")  # the error becomes a value
        return [row[0] for row in self.target.sql(f"{head} {query}")]

    def problems(self, instance: CaptureInstance) -> list[str]:
        """The errors of an instance's records."""
        return [row.problem for row in self.target.sql(self.texts[instance.capture_instance])]


@pytest.fixture(scope="module")
def statements(make_project: Callable[..., Project]) -> Statements:
    return Statements(make_project)


def test_every_bad_record_is_named(statements: Statements) -> None:
    """In hundreds of logs nothing is called bad but the record that was spoiled."""
    logs = spoiled_logs()
    assert len(logs) > 0.8 * len(SPOILED)
    kinds: dict[str, list[Spoiled]] = defaultdict(list)
    for spoiled in logs:
        kinds[spoiled.injected.kind].append(spoiled)
    bad_lsns, bad_operations = kinds.pop("bad_lsn"), kinds.pop("bad_operation")
    bad_images = list(itertools.chain(*kinds.values()))

    statements.log(logs)
    found = statements.ask(
        "log_end", r"select\s+max\(", "select malformed from records where malformed is not null"
    )
    check_named(bad_lsns, found, lambda s: (
        f"table {s.injected.table}, column lsn, tran_id {s.record.tran_id}:"
        f" the LSN is '{s.injected.lsn}'"
    ))  # fmt: skip

    statements.log([*bad_operations, *bad_images])
    found = statements.ask(
        "transactions", r",\s+numbered as \(", "select lsn from records where lsn like 'CDC%'"
    )
    check_named(bad_operations, map(place, found), lambda s: (
        s.injected.table, "operation", s.injected.lsn
    ))  # fmt: skip

    for instance in INSTANCES:
        table = f"{instance.source_schema}.{instance.source_name}"
        own = [s for s in bad_images if s.injected.table == table]
        check_named(own, map(place, statements.problems(instance)), lambda s: (
            s.injected.table, s.injected.column, s.injected.lsn
        ))  # fmt: skip


def test_the_statement_without_ansi_mode(statements: Statements) -> None:
    """Each statement gives the reference's rows of hundreds of logs."""
    logs = [replace(spoiled, log=spoiled.small.log) for spoiled in spoiled_logs()]
    statements.log(logs)
    spark = statements.target.project.spark
    spark.conf.set("spark.sql.ansi.enabled", False)
    try:
        for instance in INSTANCES:
            found = spark.sql(statements.texts[f"rows_{instance.capture_instance}"]).collect()
            wanted = [row for spoiled in logs for row in spoiled.small.changes(instance)]
            assert len(wanted) > 100
            assert Counter(repr(change_row(row, instance)) for row in found) == Counter(
                map(repr, wanted)
            )
    finally:
        spark.conf.set("spark.sql.ansi.enabled", True)


def place(problem: str) -> tuple[str, str | None, str]:
    """Table, column and LSN; without a column where an image as a whole is bad."""
    named = PLACE.match(problem)
    assert named, problem
    table, column, lsn = named.groups()
    return table, None if column in ("before_image", "after_image") else column, lsn


def check_named(
    logs: Iterable[Spoiled], found: Iterable[T], expected: Callable[[Spoiled], T]
) -> None:
    """Each spoiled record is found once, and nothing else."""
    left = Counter(found)
    for spoiled in logs:
        wanted = expected(spoiled)
        assert left[wanted] == 1, (str(spoiled.small), spoiled.injected, wanted)
        left[wanted] -= 1
    assert not +left


@pytest.mark.parametrize("kind", ["bad_value", "bad_operation", "bad_lsn"])
def test_one_bad_record_stops_the_scan(statements: Statements, kind: str) -> None:
    """The places where a bad record is found: an image, the transactions, the log's end."""
    log, injected = next(
        spoiled
        for seed in itertools.count()
        if (spoiled := spoil(replace(make_log(seed, 60), instances=TABLES[:1]), seed))
        and spoiled[1].kind == kind
    )
    target = statements.target
    target.clear()
    target.land(log.records)
    result = target.project.dbt("run", "--select", "+dbo_items_ct")
    assert not result.success
    assert "CDC 22859" in result.output
    assert injected.lsn in result.output
    assert injected.table in result.output
    assert injected.column is None or injected.column in result.output
    assert "\tat org.apache" not in result.output
    assert "validity_intervals" not in {
        row.tableName for row in target.sql("show tables in {schema}")
    }
