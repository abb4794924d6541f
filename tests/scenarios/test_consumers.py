"""Consumers: bookmarks, replicas and histories, against the reference after every run."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from capturing import Capture, instance_yaml, plain, plain_values
from harness import PACKAGE, DbtResult, Project
from pyspark.sql import SparkSession
from reference.capture import CaptureInstance, capture, transactions
from reference.consumers import Version, history
from reference.log import UTC, LogRecord, int_to_lsn
from reference.strategies import TABLES, HostileLog, make_log
from statements import dying_at, is_write, recorded

pytestmark = pytest.mark.slow

LAST = "0x" + "F" * 20
KEYED = [instance for instance in TABLES if instance.index_columns]
FEED = (
    "{{ config(materialized='incremental', incremental_strategy='append', file_format='delta') }}\n"
)


def replica(instance: str, arguments: str = "") -> str:
    """A replica's model."""
    return (
        "{{ config(materialized='replica') }}\n"
        f"select * from {{{{ dbt_cdc.new_changes('{instance}'{arguments}) }}}}\n"
    )


def versions(instance: str, arguments: str = "") -> str:
    """A history's model."""
    return replica(instance, arguments).replace("'replica'", "'history'")


def feed(*instances: str) -> str:
    """A model that appends the changes of several instances: which, where and what."""
    parts = [
        f"select '{i}' as source, `__$start_lsn` as lsn, `__$seqval` as seqval,"
        f" `__$operation` as op from {{{{ dbt_cdc.new_changes('{i}', 'all update old') }}}}"
        for i in instances
    ]
    return FEED + "\nunion all\n".join(parts)


class Following:
    """A project with a replica and a history of each keyed table and one feed of all tables."""

    def __init__(
        self, make_project: Callable[..., Project], initial: bool = False, image: str = "complete"
    ) -> None:
        models = {"feed.sql": feed(*(i.capture_instance for i in TABLES))}
        for instance in KEYED:
            name = instance.capture_instance
            arguments = ""
            if initial:
                before = f"source('before', '{name}_before')"
                arguments = f", initial={before}, initial_lsn='{int_to_lsn(0)}'"
            models[f"{name}_now.sql"] = replica(name, arguments)
            models[f"{name}_then.sql"] = versions(name, arguments)
        if initial:
            tables = [{"name": f"{i.capture_instance}_before"} for i in KEYED]
            schema = "{{ target.schema }}"
            source = {"name": "before", "schema": schema, "tables": tables}
            models["before.yml"] = json.dumps({"version": 2, "sources": [source]})
        self.capture = Capture(
            make_project, TABLES, models=models, vars={"cdc_persistent_functions": False}
        )
        heap = [i for i in TABLES if not i.index_columns]
        self.capture.project.write("models/instances.yml", instance_yaml(KEYED, before_image=image))
        self.capture.project.write("models/heap.yml", instance_yaml(heap))

    def land_initial(self, log: HostileLog) -> None:
        """The tables as they were before the log."""
        for instance in KEYED:
            columns = ", ".join(f"`{n}` {t}" for n, t in instance.columns)
            name = f"{{schema}}.{instance.capture_instance}_before"
            mapping = "tblproperties ('delta.columnMapping.mode' = 'name')"
            self.capture.sql(f"create table {name} ({columns}) using delta {mapping}")
            rows = list(log.initial[instance.source_name].elements())
            if rows:
                table = self.capture.project.table(f"{instance.capture_instance}_before")
                frame = self.capture.project.spark.createDataFrame(rows, table.schema)
                frame.write.insertInto(f"{self.capture.schema}.{instance.capture_instance}_before")

    def check(self, log: HostileLog, end: str, initial: bool = False) -> None:
        """All consumers hold what the log up to `end` says."""
        times = {t.commit_lsn: t.end_time for t in transactions(log.records)}
        fed = Counter(tuple(row) for row in self.capture.sql("select * from {schema}.feed"))
        wanted: Counter[tuple[Any, ...]] = Counter()
        for instance in log.instances:
            rows = capture(log.records, instance, None, end)
            name = instance.capture_instance
            wanted.update((name, r.start_lsn, r.seqval, r.operation) for r in rows)
            if instance.index_columns:
                before = list(log.initial[instance.source_name].elements()) if initial else []
                expected = history(instance, rows, times, before, int_to_lsn(0))
                self.check_versions(instance, expected)
                self.check_state(instance, expected)
        assert fed == wanted

    def check_versions(self, instance: CaptureInstance, expected: list[Version]) -> None:
        found = Counter(
            repr((
                plain_values(row, instance), row.valid_from_lsn, row.valid_to_lsn,
                plain(row.valid_to, "timestamp"),
            ))
            for row in self.capture.project.table(f"{instance.capture_instance}_then").collect()
        )  # fmt: skip
        assert found == Counter(
            repr((v.values, v.valid_from_lsn, v.valid_to_lsn, v.valid_to)) for v in expected
        )

    def check_state(self, instance: CaptureInstance, expected: list[Version]) -> None:
        found = Counter(
            repr(plain_values(row, instance))
            for row in self.capture.sql(f"select * from {{schema}}.{instance.capture_instance}_now")
        )
        assert found == Counter(repr(v.values) for v in expected if v.valid_to_lsn is None)


def published(capture: Capture) -> str:
    """The published high end; empty before the first publication."""
    tables = {row.tableName for row in capture.sql("show tables in {schema}")}
    if "validity_intervals" not in tables:
        return ""
    return capture.sql("select max(high_end) as lsn from {schema}.validity_intervals")[0].lsn or ""


def follow(
    following: Following,
    seed: int,
    steps: int,
    kills: int,
    *,
    batches: int = 4,
    initial: bool = False,
    partial: bool = False,
) -> None:
    """A random log in random batches; some runs are killed after one of their writes. After each
    run that succeeds, all consumers hold what is published."""
    rng = random.Random(seed)
    log = make_log(seed, steps, partial, has_late=True)  # a first batch may be short
    borders = sorted(rng.sample([r.lsn for r in log.records], batches - 1))
    target = following.capture
    target.clear()
    if initial:
        following.land_initial(log)
    options = {"vars": {"cdc_persistent_functions": False}}
    done = ""
    for number, border in enumerate([*borders, LAST]):
        target.land(r for r in log.records if done < r.lsn <= border)
        done = border
        for _ in range(kills if number else 0):
            left = iter(range(rng.randrange(1, 40)))
            with dying_at(lambda sql, left=left: next(left, None) is None):
                target.project.dbt("run", **options)
        target.run(**options)
        end = published(target)
        if end:
            following.check(log, end, initial)


@pytest.fixture(scope="module")
def following(make_project: Callable[..., Project]) -> Following:
    return Following(make_project)


@pytest.mark.soak
def test_all_consumers_equal_the_reference_after_every_run(following: Following) -> None:
    follow(following, 7, 80, 1, batches=3)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20, 24))
def test_more_logs_and_kills(following: Following, seed: int) -> None:
    follow(following, seed, 120, 3)


@pytest.mark.soak
@pytest.mark.parametrize("image", ["complete", "partial"])
def test_from_initial_content(make_project: Callable[..., Project], image: str) -> None:
    """Rows that were there before the log; with partial images, values that only they tell."""
    following = Following(make_project, initial=True, image=image)
    for seed in (3, 4):
        follow(following, seed, 100, 1, initial=True, partial=image == "partial")


ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("name", "string")), ("id",))
LINES = CaptureInstance("dbo", "lines", "dbo_lines", (("id", "int"), ("n", "int")), ("id",))
HEAP = CaptureInstance("dbo", "heap", "dbo_heap", (("text", "string"),))
START = datetime(2024, 5, 1, tzinfo=UTC)
# Delta has a statement that says history.
CONSUMERS = {
    "items.sql": replica("dbo_items"),
    "history.sql": versions("dbo_items"),
    "feed.sql": feed("dbo_items", "dbo_lines"),
}


class Writer:
    """Transactions of one change each, a minute apart."""

    def __init__(self) -> None:
        self.lsn = self.minutes = 0

    def commit(self, table: str, operation: str = "INSERT", **images: Any) -> list[LogRecord]:
        self.minutes += 1
        time, tran_id = START + timedelta(minutes=self.minutes), f"t{self.minutes}"
        texts = {f"{which}_image": json.dumps(image) for which, image in images.items()}
        return [
            LogRecord(self._next(), tran_id, "BEGIN", time),
            LogRecord(self._next(), tran_id, operation, time, "dbo", table, **texts),
            LogRecord(self._next(), tran_id, "COMMIT", time),
        ]

    def _next(self) -> str:
        self.lsn += 1
        return int_to_lsn(self.lsn)


@pytest.fixture(scope="module")
def shop(make_project: Callable[..., Project]) -> tuple[Capture, Writer]:
    """A project whose log grows from test to test; two consumers of items, one of both tables."""
    capturing = Capture(
        make_project, [ITEMS, LINES, HEAP], models=CONSUMERS,
        vars={"cdc_persistent_functions": False},
    )  # fmt: skip
    tested = {"name": "feed", "data_tests": [{"dbt_cdc.consumer_lag": {"arguments": {}}}]}
    capturing.project.write("models/consumers.yml", json.dumps({"version": 2, "models": [tested]}))
    path = capturing.project.folder / "models" / "instances.yml"
    yaml = json.loads(path.read_text(encoding="utf-8"))
    for model in yaml["models"]:
        model["data_tests"] = [{"dbt_cdc.within_retention": {"arguments": {"grace_minutes": 0}}}]
    path.write_text(json.dumps(yaml), encoding="utf-8")
    writer = Writer()
    capturing.land(writer.commit("items", after={"id": 1, "name": "one"}))
    capturing.land(writer.commit("lines", after={"id": 1, "n": 1}))
    capturing.run()
    return capturing, writer


def consumers(capturing: Capture) -> dict[tuple[str, str], Any]:
    return {
        (row.consumer, row.capture_instance): row
        for row in capturing.sql("select * from {schema}.cdc_consumers")
    }


def operation(capturing: Capture, name: str, **arguments: Any) -> DbtResult:
    return capturing.project.dbt("run-operation", name, "--args", json.dumps(arguments))


NO_RETENTION = ("--exclude", "test_name:within_retention")


def within_retention(capturing: Capture, **variables: int) -> bool:
    """Whether the data test finds no change too old."""
    return capturing.project.dbt(
        "test", "--select", "test_name:within_retention", vars=variables
    ).success


@pytest.fixture(scope="module")
def held(make_project: Callable[..., Project]) -> tuple[Capture, Writer]:
    """A replica that has read one row."""
    capturing = Capture(
        make_project, [ITEMS, LINES], models={"items.sql": replica("dbo_items")},
        vars={"cdc_persistent_functions": False},
    )  # fmt: skip
    writer = Writer()
    capturing.land(writer.commit("items", after={"id": 1, "name": "one"}))
    capturing.run()
    return capturing, writer


@pytest.mark.more
def test_an_update_that_is_taken_back_is_not_written(held: tuple[Capture, Writer]) -> None:
    capturing, writer = held
    one, two = {"id": 1, "name": "one"}, {"id": 1, "name": "two"}
    capturing.land(writer.commit("items", "UPDATE", before=one, after=two))
    capturing.land(writer.commit("items", "UPDATE", before=two, after=one))
    capturing.run()
    commits = capturing.sql("describe history {schema}.items")
    assert [c.operation for c in commits] == ["CREATE OR REPLACE TABLE AS SELECT"]
    assert consumers(capturing)["items", "dbo_items"].last_lsn == int_to_lsn(writer.lsn)


@pytest.fixture(scope="module")
def behind(held: tuple[Capture, Writer]) -> tuple[Capture, str, str]:
    """The replica has read up to one LSN, and not the row of another one."""
    capturing, writer = held
    read, unread = int_to_lsn(writer.lsn), int_to_lsn(writer.lsn + 3)
    capturing.land(writer.commit("items", after={"id": 2, "name": "two"}))
    for n in range(4):
        capturing.land(writer.commit("lines", after={"id": n, "n": n}))
    capturing.run("--exclude", "items")
    assert operation(capturing, "change_job", job_type="cleanup", retention=1).success
    return capturing, read, unread


def test_cleanup_holds_what_a_consumer_has_not_read(behind: tuple[Capture, str, str]) -> None:
    capturing, read, unread = behind
    row = consumers(capturing)["items", "dbo_items"]
    assert (row.last_lsn, row.lag_lsn, row.lag_transactions) == (read, 15, 5)
    result = operation(capturing, "cleanup")
    (needed,) = capturing.sql(
        "select tran_end_time + interval 7 days as until from {schema}.lsn_time_mapping"
        f" where start_lsn = '{unread}'"
    )
    assert f"items has consumed dbo_items up to {read}" in result.output
    assert f"needs {unread}, until there is a commit after {needed.until}" in result.output
    intervals = capturing.sql("select * from {schema}.validity_intervals")
    lows = {row.capture_instance: row.low_end for row in intervals}
    assert lows["dbo_items"] == unread < lows["dbo_lines"]


@pytest.mark.soak
def test_a_consumer_that_was_held_too_long_starts_over(behind: tuple[Capture, str, str]) -> None:
    capturing, read, _ = behind
    few = {"cdc_consumer_hold_minutes": 2}
    result = capturing.project.dbt("run-operation", "cleanup", vars=few)
    assert "which is held no longer" in result.output
    (error,) = capturing.sql("select error_message from {schema}.dm_cdc_errors")
    assert "items has consumed dbo_items up to" in error.error_message
    text = capturing.project.dbt("run").messages["items"].message
    assert f"CDC 313: items has consumed up to {read}" in text
    assert "reset_consumer --args '{consumer: items}'" in text
    assert "\tat " not in text
    assert [row.id for row in capturing.sql("select id from {schema}.items")] == [1]
    assert consumers(capturing)["items", "dbo_items"].is_stale
    assert (
        "Nothing is changed yet" in operation(capturing, "reset_consumer", consumer="items").output
    )
    assert operation(capturing, "reset_consumer", consumer="items", dry_run=False).success
    capturing.run()
    assert not any(row.is_stale for row in consumers(capturing).values())


@pytest.mark.soak
def test_cdc_consumers_tells_who_has_consumed_how_far(shop: tuple[Capture, Writer]) -> None:
    capturing, writer = shop
    found = consumers(capturing)
    assert {key: row.mode for key, row in found.items()} == {
        ("items", "dbo_items"): "net",
        ("history", "dbo_items"): "all",
        ("feed", "dbo_items"): "all update old",
        ("feed", "dbo_lines"): "all update old",
    }
    assert {(r.last_lsn, r.lag_lsn, r.lag_transactions) for r in found.values()} == {
        (int_to_lsn(6), 0, 0)
    }
    capturing.land(writer.commit("lines", after={"id": 2, "n": 2}))
    capturing.run("--exclude", "feed")
    found = consumers(capturing)
    row = found["feed", "dbo_lines"]
    assert (row.last_lsn, row.published_lsn, row.open_lsn) == (int_to_lsn(6), int_to_lsn(9), None)
    assert (row.lag_lsn, row.lag_seconds, row.lag_transactions) == (3, 60, 1)
    assert not row.is_stale
    assert found["items", "dbo_items"].lag_transactions == 0
    capturing.project.ok("test")
    capturing.land(writer.commit("lines", after={"id": 3, "n": 3}))
    capturing.run("--exclude", "feed")
    text = json.dumps(
        {"version": 2, "models": [{"name": "feed", "data_tests": [
            {"dbt_cdc.consumer_lag": {"arguments": {"max_minutes": 1}}}]}]}
    )  # fmt: skip
    capturing.project.write("models/consumers.yml", text)
    assert not capturing.project.dbt("test").success
    # of a source whose clock was wrong: the first commit that waits tells
    capturing.sql("update {schema}.consumer_bookmarks set last_time = timestamp'2999-01-01'")
    assert consumers(capturing)["feed", "dbo_lines"].lag_seconds == 60
    capturing.sql(
        "update {schema}.consumer_bookmarks set last_time = current_timestamp() + interval '1' hour"
    )
    assert consumers(capturing)["feed", "dbo_lines"].lag_seconds == 60
    capturing.sql("update {schema}.consumer_bookmarks set last_time = timestamp'1999-01-01'")
    assert consumers(capturing)["feed", "dbo_lines"].lag_seconds > 10**8
    capturing.run()
    capturing.project.ok("test")
    assert len(capturing.sql("select * from {schema}.feed")) == 4


@pytest.mark.soak
def test_a_run_without_news_writes_nothing(shop: tuple[Capture, Writer]) -> None:
    capturing, _ = shop
    with recorded() as statements:
        capturing.run("--select", "items", "history")
    assert [sql for sql in statements if is_write(sql)] == []


@pytest.mark.soak
def test_unchanged_rows_are_not_written_anywhere(shop: tuple[Capture, Writer]) -> None:
    """An update that is taken back, and a row that is deleted and comes again."""
    capturing, writer = shop
    one = {"id": 1, "name": "one"}
    capturing.land(writer.commit("items", "UPDATE", before=one, after={**one, "name": "two"}))
    capturing.land(writer.commit("items", "UPDATE", before={**one, "name": "two"}, after=one))
    capturing.run()
    capturing.land(writer.commit("items", "DELETE", before=one))
    capturing.land(writer.commit("items", after=one))
    capturing.run()
    commits = capturing.sql("describe history {schema}.items")
    assert [c.operation for c in commits] == ["CREATE OR REPLACE TABLE AS SELECT"]
    names = capturing.sql("select name, valid_to is null from {schema}.history order by valid_from")
    ended = [("one", False), ("two", False), ("one", False)]
    assert [tuple(row) for row in names] == [*ended, ("one", True)]


@pytest.mark.soak
def test_cleanup_holds_what_is_unread_and_a_quiet_table_is_never_stale(
    shop: tuple[Capture, Writer],
) -> None:
    capturing, writer = shop
    ends = {c: r.last_lsn for c, r in consumers(capturing).items()}
    items = {"id": 10, "name": "ten"}
    unread = int_to_lsn(writer.lsn + 3)
    capturing.land(writer.commit("items", after=items))
    for n in range(10, 14):
        capturing.land(writer.commit("lines", after={"id": n, "n": n}))
    capturing.run("--exclude", "items", "history")
    operation(capturing, "change_job", job_type="cleanup", retention=1)
    dry = operation(capturing, "cleanup", dry_run=True)
    assert dry.success
    result = operation(capturing, "cleanup")
    assert result.success
    assert f"items has consumed dbo_items up to {ends['items', 'dbo_items']}" in result.output
    lows = {
        r.capture_instance: r.low_end
        for r in capturing.sql("select * from {schema}.validity_intervals")
    }
    assert lows["dbo_items"] == unread
    assert lows["dbo_lines"] == lows["dbo_heap"] > unread
    assert within_retention(capturing)
    capturing.run()  # the hold was enough
    assert {r.last_lsn for r in consumers(capturing).values()} == {int_to_lsn(writer.lsn)}
    for n in range(20, 24):  # only lines move; then all low ends pass the bookmark of items
        capturing.land(writer.commit("lines", after={"id": n, "n": n}))
    capturing.run("--exclude", "items", "history")
    bookmark = consumers(capturing)["items", "dbo_items"].last_lsn
    assert operation(capturing, "cleanup").success
    low = capturing.sql(
        "select low_end from {schema}.validity_intervals where capture_instance = 'dbo_items'"
    )[0].low_end
    assert low > bookmark
    capturing.run()
    assert not any(row.is_stale for row in consumers(capturing).values())


@pytest.mark.soak
def test_a_consumer_that_comes_too_late_starts_over(shop: tuple[Capture, Writer]) -> None:
    capturing, writer = shop
    behind = consumers(capturing)["items", "dbo_items"].last_lsn
    for n in (30, 31):
        capturing.land(writer.commit("items", after={"id": n, "name": "late"}))
    capturing.run("--exclude", "items", "history", "feed")
    high = int_to_lsn(writer.lsn)
    result = operation(
        capturing, "cleanup_change_table", capture_instance="dbo_items", low_water_mark=high
    )
    assert result.success
    assert "CDC 313: cleanup removes changes that a consumer has not read: items" in result.output
    lost = int_to_lsn(writer.lsn - 3)
    before = capturing.sql("select * from {schema}.items order by id")
    result = capturing.project.dbt("run")
    for name in ("items", "history", "feed"):
        text = result.messages[name].message
        assert f"CDC 313: {name} has consumed up to {behind}" in text
        assert f"up to {lost} were removed" in text
        of = ", capture_instance: dbo_items" if name == "feed" else ""
        assert f"reset_consumer --args '{{consumer: {name}{of}}}'" in text
        assert "	at " not in text
    assert capturing.sql("select * from {schema}.items order by id") == before
    assert consumers(capturing)["items", "dbo_items"].is_stale
    assert not capturing.project.dbt("test", *NO_RETENTION).success
    full = capturing.project.dbt("run", "--full-refresh", "--select", "items")
    assert "would start without a part of the table" in full.messages["items"].message
    assert capturing.sql("select * from {schema}.items order by id") == before
    dry = operation(capturing, "reset_consumer", consumer="ITEMS")
    assert dry.success
    assert "Nothing is changed yet" in dry.output
    assert capturing.project.dbt("run").messages["items"].status == "error"
    for name in ("items", "history", "feed"):
        assert operation(capturing, "reset_consumer", consumer=name, dry_run=False).success
    fed = capturing.sql("select count(*) as n from {schema}.feed")[0].n
    capturing.run()
    assert [row.id for row in capturing.sql("select id from {schema}.items")] == [31]
    assert [tuple(r) for r in capturing.sql("select id, valid_to from {schema}.history")] == [
        (31, None)
    ]
    assert capturing.sql("select count(*) as n from {schema}.feed")[0].n >= fed + 1
    capturing.project.ok("test", *NO_RETENTION)


@pytest.mark.soak
def test_the_maximum_hold(shop: tuple[Capture, Writer]) -> None:
    """What nobody reads for too long goes, and everybody hears of it."""
    capturing, writer = shop
    capturing.land(writer.commit("items", after={"id": 40, "name": "held"}))
    for n in range(40, 45):
        capturing.land(writer.commit("lines", after={"id": n, "n": n}))
    capturing.run("--exclude", "items", "history", "feed")
    assert operation(capturing, "cleanup").success
    assert within_retention(capturing)
    assert not within_retention(capturing, cdc_consumer_hold_minutes=2)
    result = capturing.project.dbt(
        "run-operation", "cleanup", vars={"cdc_consumer_hold_minutes": 2}
    )
    assert result.success
    assert within_retention(capturing, cdc_consumer_hold_minutes=2)
    assert "which is held no longer" in result.output
    errors = capturing.sql("select error_message from {schema}.dm_cdc_errors")
    assert any("items has consumed dbo_items up to" in row.error_message for row in errors)
    assert "CDC 313" in capturing.project.dbt("run").messages["items"].message


OPEN = (
    "{{ config(materialized='replica') }}\n"
    "select * except (`__$operation`),\n"
    "    case when tag = 'open' then `__$operation` else 1 end as `__$operation`\n"
    "from {{ dbt_cdc.new_changes('dbo_items') }}\n"
)
VERSIONED = {
    "models": [{"name": "seen", "latest_version": 2, "versions": [{"v": 1}, {"v": 2}]}],
    "version": 2,
}  # fmt: skip


@pytest.mark.more
def test_what_follows_an_edited_change_table(make_project: Callable[..., Project]) -> None:
    """One that keeps no images from before: an update of a window is not taken for none. Texts may
    widen, a condition is said by the operation, each version of a model has its own bookmark. Line
    breaks within a text stay what they are."""
    instance = CaptureInstance(
        "dbo", "items", "dbo_items", (("id", "int"), ("name", "varchar(5)"), ("tag", "char(4)")),
        ("id",),
    )  # fmt: skip
    capturing = Capture(
        make_project, [instance],
        models={
            "items.sql": replica("dbo_items"), "then.sql": versions("dbo_items"), "open.sql": OPEN,
            "seen_v1.sql": replica("dbo_items"), "seen_v2.sql": replica("dbo_items"),
            "seen.yml": json.dumps(VERSIONED),
            "dbo_items_ct.sql": "select * from ({{ dbt_cdc.change_table() }})"
            " where `__$operation` <> 3 -- it's one\n and name is distinct from 'no\n  '",
            "label.sql": replica("dbo_items").replace("*", "*, 'a\n  b' as label"),
            "labels.sql": versions("dbo_items").replace("*", "*, \"a\n  b's\" as label"),
        },
        vars={"cdc_persistent_functions": False},
    )  # fmt: skip
    writer = Writer()
    first = {"id": 1, "name": "one", "tag": "open"}
    capturing.land(writer.commit("items", after=first))
    capturing.land(writer.commit("items", after={**first, "id": 2, "tag": "shut"}))
    capturing.land(writer.commit("items", after={**first, "id": 3, "name": "no\n  "}))
    capturing.run("--exclude", "seen.v2")
    names = [{"name": "id", "type": "int"}, {"name": "name", "type": "varchar(20)"},
             {"name": "tag", "type": "varchar(9)"}]  # fmt: skip
    capturing.land([
        LogRecord(writer._next(), None, "DDL", START, "dbo", "items", after_image=json.dumps(names),
                  ddl_command=None)
    ])  # fmt: skip
    wide = {"id": 1, "name": "one and only", "tag": "shut down"}
    capturing.land(writer.commit("items", "UPDATE", before=first, after=wide))
    capturing.run()

    def rows(table: str, columns: str = "id, name, rtrim(tag)") -> list[tuple[Any, ...]]:
        found = capturing.sql(f"select {columns} from {{schema}}.{table} order by 1, 2")
        return [tuple(row) for row in found]

    now = [(1, "one and only", "shut down"), (2, "one", "shut")]
    for table in ("items", "seen_v1", "seen_v2"):
        assert rows(table) == now, table
    assert rows("open") == []
    assert rows("label", "id, label") == [(1, "a\n  b"), (2, "a\n  b")]
    assert {label for _, label in rows("labels", "id, label")} == {"a\n  b's"}
    assert rows("then", "id, name, valid_to_lsn is null") == [
        (1, "one", False), (1, "one and only", True), (2, "one", True),
    ]  # fmt: skip
    capturing.land(writer.commit("items", "UPDATE", before=wide, after={**wide, "tag": "open"}))
    capturing.run()
    assert rows("open") == [(1, "one and only", "open")]
    consumers = {
        row.consumer for row in capturing.sql("select consumer from {schema}.cdc_consumers")
    }
    assert consumers == {"items", "then", "open", "label", "labels", "seen.v1", "seen.v2"}


@pytest.mark.soak
def test_the_types_of_a_source_may_widen(make_project: Callable[..., Project]) -> None:
    instance = CaptureInstance(
        "dbo", "items", "dbo_items", (("id", "int"), ("price", "decimal(9,2)")), ("id",)
    )
    capturing = Capture(
        make_project, [instance], models={"items.sql": replica("dbo_items")},
        vars={"cdc_persistent_functions": False},
    )  # fmt: skip
    writer = Writer()
    capturing.run("--empty")
    capturing.run()  # an empty log: nothing is published, nothing fails
    assert capturing.sql("select * from {schema}.items") == []
    capturing.land(writer.commit("items", after={"id": 1, "price": "1.25"}))
    capturing.run()
    ddl = json.dumps([{"name": "id", "type": "int"}, {"name": "price", "type": "decimal(18,4)"}])
    command = "ALTER TABLE dbo.items ALTER COLUMN price decimal(18,4)"
    capturing.land([
        LogRecord(writer._next(), None, "DDL", START, "dbo", "items", after_image=ddl,
                  ddl_command=command)
    ])  # fmt: skip
    capturing.land(writer.commit("items", after={"id": 2, "price": "10000000.0625"}))
    capturing.run()
    rows = capturing.sql(
        "select id, cast(price as string) as price from {schema}.items order by id"
    )
    assert [tuple(row) for row in rows] == [(1, "1.2500"), (2, "10000000.0625")]


@pytest.mark.soak
def test_a_consumer_moves_to_a_second_instance(make_project: Callable[..., Project]) -> None:
    """The hand-over to an instance with one more column loses nothing, and asks for nothing."""
    capturing = Capture(
        make_project, [ITEMS, HEAP], models={"items.sql": replica("dbo_items")},
        vars={"cdc_persistent_functions": False},
    )  # fmt: skip
    writer, project = Writer(), capturing.project
    capturing.land(writer.commit("items", after={"id": 1, "name": "one"}))
    capturing.land(writer.commit("uncaptured", after={"id": 1}))
    capturing.run()
    second = CaptureInstance(
        "dbo", "items", "dbo_items_2", (*ITEMS.columns, ("extra", "int")), ("id",)
    )
    project.write("models/instances.yml", instance_yaml([ITEMS, HEAP, second]))
    project.write("models/dbo_items_2_ct.sql", "{{ dbt_cdc.change_table() }}")
    added = "'replica', on_schema_change='append_new_columns'"
    moved = replica("dbo_items_2").replace("'replica'", added)
    project.write("models/items.sql", moved)
    capturing.land(writer.commit("items", after={"id": 2, "name": "two", "extra": 2}))
    with dying_at(lambda sql: sql.startswith("merge") or "merge into" in sql):
        assert not project.dbt("run").success
    capturing.run()
    rows = capturing.sql("select id, name, extra from {schema}.items order by id")
    assert [tuple(row) for row in rows] == [(1, "one", None), (2, "two", 2)]
    assert set(consumers(capturing)) == {("items", "dbo_items_2")}


# What Spark tells of a model's columns and of a table; all others: tests/rules/.
BAD = {
    "no_key": (replica("dbo_heap"), "CDC 22938", "has no key"),
    "lacks_metadata": (replica("dbo_items").replace("*", "id"), "CDC 22938", "__$operation"),
    "lacks_key": (replica("dbo_items").replace("*", "name, `__$operation`"),
                  "CDC 22938", "'id' is not among"),
    "taken_name": (versions("dbo_items").replace("*", "*, 1 valid_to"), "CDC 22938", "'valid_to'"),
    "late": (replica("dbo_items"), "CDC 2714", "exists"),
}  # fmt: skip


@pytest.mark.more
def test_mistakes_are_named(make_project: Callable[..., Project]) -> None:
    """Each model fails by itself, with one line that says what to do, and none makes a table."""
    models = {"items.sql": replica("dbo_items"), **{f"{n}.sql": m[0] for n, m in BAD.items()}}
    capturing = Capture(
        make_project, [ITEMS, HEAP], models=models, vars={"cdc_persistent_functions": False}
    )
    writer = Writer()
    capturing.sql("create table {schema}.late using delta as select 1 as id")
    capturing.land(writer.commit("items", after={"id": 1, "name": "one"}))
    result = capturing.project.dbt("run")
    assert result.messages["items"].status == "success"
    for name, (_, number, text) in BAD.items():
        message = result.messages[name].message
        assert number in message and text in message, (name, message)
        assert "	at " not in message
    tables = {row.tableName for row in capturing.sql("show tables in {schema}")}
    assert not tables & (BAD.keys() - {"late"})
    capturing.project.write("models/items.sql", replica("dbo_items").replace("*", "*, 1 as more"))
    capturing.land(writer.commit("items", after={"id": 2, "name": "two"}))
    capturing.run("--select", "+lsn_time_mapping")
    edited = capturing.project.dbt("run", "--select", "items").messages["items"].message
    assert "CDC 22930" in edited and "--full-refresh" in edited
    capturing.run("--select", "items", "--full-refresh")
    rows = capturing.sql("select id, more from {schema}.items order by id")
    assert [tuple(row) for row in rows] == [(1, 1), (2, 1)]


def transaction(writer: Writer, *changes: tuple[str, Any, Any]) -> list[LogRecord]:
    """(operation, before, after) of items, in one transaction."""
    records = writer.commit("items", "TRUNCATE")
    begin, first, _ = records
    writer.lsn -= 2
    found = [begin]
    for operation, *images in changes:
        texts = [None if image is None else json.dumps(image) for image in images]
        found.append(replace(
            first, lsn=writer._next(), operation=operation,
            before_image=texts[0], after_image=texts[1],
        ))  # fmt: skip
    return [*found, replace(records[2], lsn=writer._next())]


DDL_IMAGE = [{"name": "id", "type": "int"}, {"name": "name", "type": "nvarchar(max)"}]


@pytest.mark.parametrize(
    "how", ["truncated", pytest.param("dropped and made again", marks=pytest.mark.more)]
)
def test_what_is_behind_a_truncate_in_its_transaction_counts(
    make_project: Callable[..., Project], how: str
) -> None:
    models = {name: CONSUMERS[name] for name in ("items.sql", "history.sql")}
    capturing = Capture(
        make_project, [ITEMS, LINES], models=models, vars={"cdc_persistent_functions": False}
    )
    writer = Writer()
    one, two, three, four = ({"id": n, "name": f"n{n}"} for n in range(1, 5))
    capturing.land(writer.commit("items", after=one))
    capturing.run()
    read = int_to_lsn(writer.lsn)
    empty = [("TRUNCATE", None, None)] if how == "truncated" else [
        ("DDL", None, None), ("DDL", None, DDL_IMAGE)
    ]  # fmt: skip
    capturing.land(transaction(
        writer, ("UPDATE", one, {"id": 1, "name": "late"}), ("INSERT", None, two), *empty,
        ("INSERT", None, three), ("UPDATE", three, {"id": 3, "name": "three"}),
    ))  # fmt: skip
    commit = int_to_lsn(writer.lsn)
    result = capturing.project.dbt("run")
    assert f"was {how}: windows of dbo_items start at {commit} or later" in result.output
    for name in ("items", "history"):
        text = result.messages[name].message
        assert f"CDC 313: {name} has consumed up to {read}" in text and commit in text
        assert operation(capturing, "reset_consumer", consumer=name, dry_run=False).success
    capturing.land(writer.commit("items", after=four))
    for _ in range(2):
        capturing.run()
        found = capturing.sql("select id, name from {schema}.items order by id")
        assert [tuple(row) for row in found] == [(3, "three"), (4, "n4")]
        current = capturing.sql(
            "select id, name, valid_from_lsn from {schema}.history where valid_to_lsn is null"
            " order by id"
        )
        assert [tuple(row) for row in current] == [
            (3, "three", commit), (4, "n4", int_to_lsn(writer.lsn))
        ]  # fmt: skip
    (low,) = capturing.sql(
        "select low_end from {schema}.validity_intervals where capture_instance = 'dbo_items'"
    )
    assert low.low_end == commit
    # a column that the source calls otherwise, and no DDL tells
    capturing.land(writer.commit("items", after={"id": 5, "nom": "n5"}))
    told = ("--select", "+scan_transactions", "--vars", "{cdc_report_new_columns: true}")
    assert "CDC 22930" in capturing.project.dbt("run", *told).output


@pytest.mark.more
def test_no_window_goes_on_at_the_commit_of_a_truncate(
    make_project: Callable[..., Project],
) -> None:
    """Another transaction commits right before it: what was published ends there."""
    capturing = Capture(
        make_project, [ITEMS, LINES], models={"items.sql": replica("dbo_items")},
        vars={"cdc_persistent_functions": False},
    )  # fmt: skip
    writer = Writer()
    capturing.land(writer.commit("items", after={"id": 1, "name": "one"}))
    *truncated, commit = transaction(
        writer, ("TRUNCATE", None, None), ("INSERT", None, {"id": 2, "name": "two"})
    )
    between = writer.commit("lines", after={"id": 1, "n": 1})
    between = [replace(r, lsn=int_to_lsn(int(r.lsn, 16) - 1)) for r in between]
    capturing.land([*truncated, *between])
    capturing.run()
    after = int_to_lsn(writer.lsn + 1)
    capturing.land([replace(commit, lsn=int_to_lsn(writer.lsn))])
    result = capturing.project.dbt("run")
    assert f"windows of dbo_items start at {after} or later" in result.output
    assert "no window may begin there" in result.output
    assert "CDC 313: items has consumed up to" in result.messages["items"].message


@pytest.mark.more
def test_the_table_at_noon_as_the_page_says(spark: SparkSession) -> None:
    """With the rows of `initial` before the first known commit, whose valid_from is NULL."""
    page = (PACKAGE / "docs" / "history.md").read_text(encoding="utf-8")
    query = re.findall(r"select \* from customers_history +-- the table at noon\n.*?;", page, re.S)
    spark.sql(
        "create or replace temporary view customers_history as"
        " select id, timestamp(f) as valid_from, timestamp(t) as valid_to"
        " from values (1, null, null), (2, null, '2026-06-01'), (3, '2026-06-01', null),"
        " (4, '2026-06-01', '2026-07-01 12:00:00'), (5, '2026-08-01', null) as history (id, f, t)"
    )
    try:
        assert sorted(row.id for row in spark.sql(query[0].rstrip(";")).collect()) == [1, 3]
    finally:
        spark.catalog.dropTempView("customers_history")
