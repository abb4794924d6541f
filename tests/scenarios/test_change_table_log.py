"""SQL Server's change tables as a log: what comes out of the product is what went in."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from capturing import Capture, change_row, instance_yaml
from harness import DbtResult, Project
from reference.capture import CaptureInstance, ChangeRow
from reference.log import int_to_lsn
from reference.strategies import make_log

pytestmark = pytest.mark.slow

LOG = make_log(8, 150)
MAPPING = "start_lsn, tran_begin_time, tran_end_time, tran_id, tran_begin_lsn"
BYTES = "unhex(substr(`{name}`, 3)) as `{name}`"
SPELLINGS = {
    "bytes": BYTES,
    "digits": "lower(substr(`{name}`, 3)) as `{name}`",
    "base64": "base64(unhex(substr(`{name}`, 3))) as `{name}`",
}
LSNS = ("__$start_lsn", "__$end_lsn", "__$seqval", "__$update_mask", "start_lsn", "tran_begin_lsn")


def log_model(tables: dict[str, str], **arguments: str) -> str:
    named = ", ".join(f"'{t}': source('cdc', '{name}')" for t, name in tables.items())
    more = "".join(f", {name}={value}" for name, value in arguments.items())
    return (
        "{{ config(materialized='incremental', file_format='delta') }}\n"
        f"{{{{ dbt_cdc.change_table_log({{{named}}}, source('cdc', 'lsn_time_mapping'){more}) }}}}"
    )


def sources(names: list[str]) -> str:
    tables = [{"name": name} for name in names]
    source = {"name": "cdc", "schema": "{{ target.schema }}_cdc", "tables": tables}
    return json.dumps({"version": 2, "sources": [source]})


class Exported:
    """A project whose log is the export of change tables of another schema, `cdc`."""

    def __init__(
        self, make_project: Callable[..., Project], instances: list[CaptureInstance], **more: str
    ) -> None:
        self.instances = instances
        tables = {
            f"{i.source_schema}.{i.source_name}": f"{i.capture_instance}_CT" for i in instances
        }
        models = {
            "shop_log.sql": log_model(tables, **more),
            "sources.yml": sources(
                [*tables.values(), "lsn_time_mapping", "change_tables", "ddl_history"]
            ),
            "instances.yml": instance_yaml(instances, lob_before_image="when_changed"),
        }
        for instance in instances:
            models[f"{instance.capture_instance}_ct.sql"] = "{{ dbt_cdc.change_table() }}"
        self.project = make_project(models=models, vars={"cdc_log_model": "shop_log"})
        self.project.clear()
        self.sql("drop schema if exists {schema}_cdc cascade")
        self.sql("create schema {schema}_cdc")

    def sql(self, query: str) -> list[Any]:
        return self.project.sql(query)

    def export(self, source: Capture, high: str, spelling: str = BYTES) -> None:
        """What the other project has up to an LSN, as SQL Server would export it."""
        for instance in self.instances:
            name = f"{instance.capture_instance}_CT"
            self.write(
                name,
                source.project.table(f"{instance.capture_instance}_ct"),
                "__$start_lsn",
                high,
                spelling,
            )
        self.write(
            "lsn_time_mapping",
            source.project.table("lsn_time_mapping"),
            "start_lsn",
            high,
            spelling,
        )

    def write(self, name: str, frame: Any, column: str, high: str, spelling: str) -> None:
        rows = frame.where(f"`{column}` <= '{high}'").selectExpr(
            *[spelling.format(name=c) if c in LSNS else f"`{c}`" for c in frame.columns]
        )
        table = f"{self.project.schema}_cdc.`{name}`"
        self.sql(f"drop table if exists {table}")
        rows.write.format("parquet").saveAsTable(table)

    def run(self, *args: str) -> DbtResult:
        return self.project.dbt("run", *args)

    def changes(self, instance: CaptureInstance) -> list[ChangeRow]:
        rows = self.sql(f"select * from {{schema}}.{instance.capture_instance}_ct")
        return sorted((change_row(row, instance) for row in rows), key=lambda row: row.order)


@pytest.fixture(scope="module")
def captured(make_project: Callable[..., Project]) -> Capture:
    """Change tables of interleaved transactions of all types of columns."""
    source = Capture(make_project, LOG.instances, lob_before_image="when_changed")
    source.is_true = False  # large values are NULL in rows before an update
    source.land(LOG.records)
    source.run()
    return source


@pytest.fixture(scope="module")
def exported(make_project: Callable[..., Project]) -> Exported:
    return Exported(make_project, list(LOG.instances))


@pytest.mark.parametrize(
    "spelling", ["digits", *(pytest.param(n, marks=pytest.mark.more) for n in ("bytes", "base64"))]
)
def test_what_comes_out_is_what_went_in(
    exported: Exported, captured: Capture, spelling: str
) -> None:
    """In two batches, LSNs, masks and command ids included; and so has the time of each commit."""
    commits = [
        row.start_lsn
        for row in captured.sql(
            "select start_lsn from {schema}.lsn_time_mapping order by start_lsn"
        )
    ]
    exported.project.clear()
    for high in (commits[len(commits) // 2], commits[-1]):
        exported.export(captured, high, SPELLINGS[spelling])
        result = exported.run()
        assert result.success, result.output
    for instance in LOG.instances:
        assert exported.changes(instance) == captured.changes(instance)
    mapping = (
        f"select {MAPPING} from {{schema}}.lsn_time_mapping where tran_id <> '0x00' order by 1"
    )
    assert exported.sql(mapping) == captured.sql(mapping)


# --- what is wrong with an export -----------------------------------------------------------------

NOTES = CaptureInstance(
    "dbo", "notes", "dbo_notes", (("id", "int"), ("größe", "string"), ("n", "int")), ("id",)
)
CT = (
    "`__$start_lsn` string, `__$end_lsn` string, `__$seqval` string, `__$operation` int, "
    "`__$update_mask` string, id int, `größe` string, n int, `__$command_id` int"
)
TIMES = (
    "start_lsn string, tran_begin_time timestamp, tran_end_time timestamp, tran_id string, "
    "tran_begin_lsn string"
)


@pytest.fixture(scope="module")
def notes(make_project: Callable[..., Project]) -> Exported:
    more = {name: f"source('cdc', '{name}')" for name in ("change_tables", "ddl_history")}
    notes = Exported(make_project, [NOTES], **more)
    notes.sql(
        "create table {schema}_cdc.ddl_history (object_id int, ddl_command string, ddl_lsn string, "
        "ddl_time timestamp) using delta"
    )
    return notes


def begin(notes: Exported, columns: str = CT) -> None:
    notes.project.clear()
    notes.sql(f"create or replace table {{schema}}_cdc.dbo_notes_CT ({columns}) using delta")
    notes.sql(f"create or replace table {{schema}}_cdc.lsn_time_mapping ({TIMES}) using delta")
    notes.sql(
        "create or replace table {schema}_cdc.change_tables using delta as "
        f"select 'dbo_Notes' as capture_instance, '{lsn(1)}' as start_lsn, 7 as object_id"
    )


def lsn(number: int) -> str:
    return int_to_lsn(number)[2:]


def change(
    notes: Exported,
    commit: int,
    seqval: int,
    operation: int,
    id: int,
    text: str | None,
    mask: str = "07",
    n: int | str = 0,
) -> None:
    value = "null" if text is None else f"'{text}'"
    notes.sql(
        f"insert into {{schema}}_cdc.dbo_notes_CT values ('{lsn(commit)}', null, '{lsn(seqval)}', "
        f"{operation}, '{mask}', {id}, {value}, {n}, 1)"
    )


def commit(notes: Exported, number: int, begin_lsn: int | None = None, minute: int = 0) -> None:
    begin_text = "null" if begin_lsn is None else f"'{lsn(begin_lsn)}'"
    time = f"timestamp'2026-03-01 12:{minute:02}:00'"
    notes.sql(
        f"insert into {{schema}}_cdc.lsn_time_mapping values ('{lsn(number)}', {time}, {time}, "
        f"'0x{number:04X}', {begin_text})"
    )


def rows(notes: Exported) -> list[tuple[Any, ...]]:
    found = notes.sql(
        "select `__$start_lsn` as a, `__$seqval` as b, `__$operation` as c, `__$update_mask` as d, "
        "id, `größe` as text "
        "from {schema}.dbo_notes_ct order by 1, 2, 3"
    )
    return [(int(r.a, 16), int(r.b, 16), r.c, r.d, r.id, r.text) for r in found]


@pytest.mark.more
def test_changes_below_commits_that_were_captured(notes: Exported) -> None:
    """A long transaction over a short one: its changes come with its own commit."""
    begin(notes)
    change(notes, 50, 40, 2, 1, "short")
    commit(notes, 50, 39)
    assert notes.run().success
    change(notes, 90, 30, 2, 2, "long")
    change(notes, 90, 60, 2, 3, "later")
    commit(notes, 90, 29, 1)
    assert notes.run().success
    assert rows(notes) == [
        (50, 40, 2, "0x07", 1, "short"), (90, 30, 2, "0x07", 2, "long"),
        (90, 60, 2, "0x07", 3, "later"),
    ]  # fmt: skip
    assert notes.project.dbt("test").success


@pytest.mark.more
@pytest.mark.parametrize("data_type", ["string", "varchar(2147483647)", "varchar(8000)"])
def test_a_large_value_that_did_not_change(notes: Exported, data_type: str) -> None:
    """SQL Server leaves it out of the row before the update; the mask tells that it is the same.
    Spark's JDBC lands varchar(max) as a varchar, Fabric as a short one."""
    begin(notes, CT.replace("`größe` string", f"`größe` {data_type}"))
    change(notes, 50, 40, 2, 1, "large")
    change(notes, 60, 55, 3, 1, None, "04")
    change(notes, 60, 55, 4, 1, "large", "04", n=1)
    change(notes, 70, 65, 3, 1, "large", "02", n=1)
    change(notes, 70, 65, 4, 1, "other", "02", n=1)
    change(notes, 80, 75, 1, 1, "other", n=1)
    change(notes, 80, 75, 2, 9, "other", n=1)
    for minute, number in enumerate((50, 60, 70, 80)):
        commit(notes, number, None, minute)
    assert notes.run().success
    assert rows(notes) == [
        (50, 40, 2, "0x07", 1, "large"), (60, 55, 3, "0x04", 1, None),
        (60, 55, 4, "0x04", 1, "large"), (70, 65, 3, "0x02", 1, "large"),
        (70, 65, 4, "0x02", 1, "other"), (80, 75, 1, "0x07", 1, "other"),
        (80, 75, 2, "0x07", 9, "other"),
    ]  # fmt: skip


@pytest.mark.more
def test_changes_wait_for_their_commits(notes: Exported) -> None:
    begin(notes)
    change(notes, 50, 40, 2, 1, "a")
    commit(notes, 50)
    change(notes, 70, 60, 2, 2, "b")
    result = notes.run()
    assert result.success
    assert "1 changes of dbo.notes, the first at __$start_lsn 0x" in result.output
    assert [row[0] for row in rows(notes)] == [50]
    commit(notes, 70, None, 1)
    assert notes.run().success
    assert [row[0] for row in rows(notes)] == [50, 70]


@pytest.mark.more
def test_changes_wait_for_the_first_commit(notes: Exported) -> None:
    """An export of lsn_time_mapping may come after those of the change tables."""
    begin(notes)
    change(notes, 50, 40, 2, 1, "a")
    result = notes.run("--select", "shop_log")
    assert result.success, result.output
    assert "wait for their rows in" in result.output
    commit(notes, 50)
    assert notes.run().success
    assert [row[0] for row in rows(notes)] == [50]


@pytest.mark.more
def test_the_log_is_needed_from_the_first_open_record(notes: Exported) -> None:
    """Of a transaction that commits behind the captured ones, and began before them."""
    begin(notes)
    change(notes, 40, 30, 2, 1, "a")
    change(notes, 60, 20, 2, 2, "b")
    commit(notes, 40)
    commit(notes, 60, None, 1)
    assert notes.run("--vars", f"{{cdc_scan_until: '0x{lsn(50)}'}}").success
    assert f"0x{lsn(20)}" in notes.project.ok("run-operation", "log_truncation_point").output


def test_a_mapping_with_a_hole_is_an_error(notes: Exported) -> None:
    begin(notes)
    change(notes, 50, 40, 2, 1, "a")
    change(notes, 70, 60, 2, 2, "b")
    commit(notes, 70)
    result = notes.run()
    assert "CDC 22859" in result.output
    assert "lacks the commits of 1 changes of dbo.notes" in result.output


@pytest.mark.more
def test_an_export_that_begins_behind_the_log_is_an_error(notes: Exported) -> None:
    """As when the table has another instance, or the source's cleanup job came first."""
    begin(notes)
    change(notes, 50, 40, 2, 1, "a")
    commit(notes, 50)
    assert notes.run().success
    notes.sql(f"update {{schema}}_cdc.change_tables set start_lsn = '{lsn(60)}'")
    change(notes, 90, 80, 2, 2, "b")
    commit(notes, 90, None, 1)
    result = notes.run()
    said = f"capture instance dbo_notes of dbo.notes begins at 0x{lsn(60)}, and "
    assert f"CDC 22859: change_table_log: {said}" in result.output
    assert f"ends at 0x{lsn(50)}: changes of the table in between are not in it" in result.output
    notes.sql(f"delete from {{schema}}_cdc.lsn_time_mapping where start_lsn < '{lsn(90)}'")
    result = notes.run()
    assert f"lsn_time_mapping begins at 0x{lsn(90)}, and " in result.output
    assert notes.run("--vars", "{cdc_log_gap: pass}").success
    assert [row[0] for row in rows(notes)] == [50, 90]


@pytest.mark.more
def test_changes_that_land_after_their_commit_are_an_error(notes: Exported) -> None:
    begin(notes)
    commit(notes, 50)
    commit(notes, 70, None, 1)
    change(notes, 70, 60, 2, 2, "b")
    assert notes.run().success
    change(notes, 50, 40, 2, 1, "late")
    result = notes.run()
    assert "CDC 22859" in result.output
    assert "landed when the log had their commits" in result.output


@pytest.mark.more
def test_a_view_without_the_changes_below_the_end(notes: Exported) -> None:
    """As for a second capture instance, which alone has the changes of its new column."""
    begin(notes)
    change(notes, 50, 45, 2, 1, "a")
    commit(notes, 50)
    commit(notes, 70, None, 1)
    assert notes.run().success
    change(notes, 70, 65, 2, 2, "the other one lacks it")
    change(notes, 90, 85, 2, 3, "b")
    commit(notes, 90, None, 2)
    assert f"whose __$start_lsn is above 0x{lsn(70)}" in notes.run().output
    table = "{schema}_cdc.dbo_notes_CT"
    notes.sql(f"alter table {table} rename to {{schema}}_cdc.all_notes")
    select = f"select * from {{schema}}_cdc.all_notes where `__$start_lsn` > '{lsn(70)}'"
    notes.sql(f"create view {table} as {select}")
    try:
        for _ in range(2):
            result = notes.run()
            assert result.success, result.output
            assert [row[0] for row in rows(notes)] == [50, 90]
    finally:
        notes.sql(f"drop view {table}")
        notes.sql("drop table {schema}_cdc.all_notes")


@pytest.mark.more
@pytest.mark.parametrize("late", [50, 80])
def test_commits_below_the_end_that_the_log_lacks(notes: Exported, late: int) -> None:
    """As after a late part of an export, or of a database that was restored: above the log's first
    commit by its place, below it by its time."""
    begin(notes)
    for minute, number in enumerate((70, 90)):
        change(notes, number, number - 5, 2, number, "a")
        commit(notes, number, None, minute)
    assert notes.run().success
    change(notes, late, late - 5, 2, 1, "late")
    if late == 80:
        result = notes.run()
        assert "lacks 1 commits below it" in result.output
        assert "with 1 changes of dbo.notes" in result.output
    commit(notes, late, None, 2)
    result = notes.run()
    assert f"ends at 0x{lsn(90)} and lacks 1 commits below it" in result.output
    assert f"the first 0x{lsn(late)}, with" in result.output
    assert "CDC 22859" in result.output


@pytest.mark.more
def test_halves_of_a_key_change_are_two_commands_of_one_lsn(notes: Exported) -> None:
    """As SQL Server writes that of one row; the second half may come late."""
    begin(notes)
    change(notes, 50, 40, 1, 1, "a")
    commit(notes, 50)
    assert notes.run().success
    change(notes, 50, 40, 2, 2, "a")
    late = notes.run()
    assert "CDC 22859: change_table_log: 1 changes of dbo.notes" in late.output
    begin(notes)
    change(notes, 50, 40, 1, 1, "a")
    change(notes, 50, 40, 2, 2, "a")
    notes.sql("update {schema}_cdc.dbo_notes_CT set `__$command_id` = `__$operation`")
    commit(notes, 50)
    assert notes.run("--vars", "{cdc_check_duplicates: true}").success
    assert [row[:3] for row in rows(notes)] == [(50, 40, 1), (50, 40, 2)]


@pytest.mark.more
def test_records_of_the_log_that_are_there_twice(notes: Exported) -> None:
    begin(notes)
    change(notes, 50, 40, 2, 1, "a")
    commit(notes, 50)
    assert notes.run("--select", "shop_log").success
    log = "{schema}.shop_log"
    notes.sql(f"insert into {log} select * from {log} where operation = 'INSERT'")
    result = notes.run("--exclude", "shop_log", "--vars", "{cdc_check_duplicates: true}")
    assert f"bad log record of lsn 0x{lsn(40)}" in result.output
    assert "2 records have this lsn" in result.output


@pytest.mark.more
@pytest.mark.parametrize("operation", [3, 4])
def test_half_of_an_update_is_an_error(notes: Exported, operation: int) -> None:
    begin(notes)
    change(notes, 50, 40, operation, 1, "a")
    commit(notes, 50)
    result = notes.run()
    assert f"it has rows of __$operation {operation} alone" in result.output


@pytest.mark.more
def test_rows_that_are_exported_twice(notes: Exported) -> None:
    """The same row is a copy; another one at its place is an error."""
    begin(notes)
    for _ in range(2):
        change(notes, 50, 40, 2, 1, "a")
        commit(notes, 50)
    assert notes.run().success
    assert len(rows(notes)) == 1
    begin(notes)
    change(notes, 50, 40, 2, 1, "a")
    change(notes, 50, 40, 2, 1, "b")
    commit(notes, 50)
    assert "2 rows of it differ" in notes.run().output


@pytest.mark.more
def test_what_is_no_lsn_or_no_change_table(notes: Exported) -> None:
    begin(notes)
    change(notes, 50, 40, 2, 1, "a")
    commit(notes, 50)
    notes.sql("update {schema}_cdc.dbo_notes_CT set `__$seqval` = '12'")
    assert "__$seqval is 12" in notes.run().output
    notes.sql("update {schema}_cdc.dbo_notes_CT set `__$seqval` = null, `__$start_lsn` = null")
    assert "a row has no __$start_lsn, as a line that was cut" in notes.run().output
    notes.sql(
        "create or replace table {schema}_cdc.dbo_notes_CT using delta as select * except "
        "(`__$command_id`) from {schema}_cdc.dbo_notes_CT"
    )
    assert "lacks __$command_id: the order within a transaction is" in notes.run().output
    table = "{schema}_cdc.dbo_notes_CT (id int, `größe` string)"
    notes.sql(f"create or replace table {table} using delta")
    result = notes.run()
    assert "lacks __$start_lsn, __$seqval, __$operation, __$update_mask" in result.output


@pytest.mark.more
def test_a_time_that_is_none(notes: Exported) -> None:
    begin(notes)
    times = TIMES.replace("timestamp", "string")
    notes.sql(f"create or replace table {{schema}}_cdc.lsn_time_mapping ({times}) using delta")
    change(notes, 50, 40, 2, 1, "a")
    commit(notes, 50)
    assert notes.run().success
    change(notes, 60, 55, 2, 2, "b")
    commit(notes, 60)
    notes.sql("update {schema}_cdc.lsn_time_mapping set tran_end_time = '1.3.2026 12:00'")
    assert "tran_end_time is 1.3.2026 12:00" in notes.run().output


@pytest.mark.more
def test_a_text_of_a_time_may_have_an_offset(make_project: Callable[..., Project]) -> None:
    """One without is of the server; one of a time of day alone is none."""
    notes = Exported(make_project, [NOTES], time_zone="'Europe/Berlin'")
    begin(notes)
    times = TIMES.replace("timestamp", "string")
    notes.sql(f"create or replace table {{schema}}_cdc.lsn_time_mapping ({times}) using delta")
    texts = ["2026-03-01 12:00:00.5+02:00", "2026-03-01 12:00:00", "2026-03-01T12:00:00Z"]

    def land(number: int, text: str) -> DbtResult:
        change(notes, number + 1, number, 2, number, "a")
        notes.sql(
            f"insert into {{schema}}_cdc.lsn_time_mapping values ('{lsn(number + 1)}', '{text}', "
            f"'{text}', '0x{number:04X}', null)"
        )
        return notes.run("--select", "shop_log")

    for number, text in zip((50, 60, 70), texts, strict=True):
        assert land(number, text).success
    query = "select cast(record_time as string) from {schema}.shop_log where operation = 'COMMIT'"
    assert [row[0] for row in notes.sql(f"{query} order by lsn")] == [
        "2026-03-01 10:00:00.5",
        "2026-03-01 11:00:00",
        "2026-03-01 12:00:00",
    ]
    assert "tran_end_time is 12:34:56" in land(80, "12:34:56").output


@pytest.mark.more
@pytest.mark.parametrize("data_type", ["string", "varchar(1073741823)"])
def test_a_value_that_the_first_row_of_an_update_never_has(notes: Exported, data_type: str) -> None:
    """SQL Server leaves text, ntext and image out of it: what was cleared is an error, not a change
    of nothing."""
    begin(notes, CT.replace("`größe` string", f"`größe` {data_type}"))
    change(notes, 50, 40, 2, 1, "a")
    change(notes, 60, 55, 3, 1, None, "02")
    change(notes, 60, 55, 4, 1, None, "02")
    commit(notes, 50)
    commit(notes, 60, None, 1)
    result = notes.run()
    assert "CDC 22859" in result.output
    assert "column größe" in result.output


@pytest.mark.more
def test_columns_that_the_export_leaves_out(notes: Exported) -> None:
    begin(notes)
    change(notes, 50, 40, 2, 1, "a", "0F")
    commit(notes, 50)
    assert "its __$update_mask is 0F, and that of the captured columns" in notes.run().output


@pytest.mark.more
@pytest.mark.parametrize("mask", ["0x08", "0x0002"])
def test_columns_that_the_export_of_an_update_leaves_out(notes: Exported, mask: str) -> None:
    """A bit above the exported columns, or of more bytes than they have."""
    begin(notes)
    change(notes, 50, 40, 3, 1, "a", mask)
    change(notes, 50, 40, 4, 1, "b", mask)
    commit(notes, 50)
    assert f"its __$update_mask is {mask[2:]}, and that of the captured" in notes.run().output


@pytest.mark.more
@pytest.mark.parametrize("before", ["0", "null"])
def test_columns_in_another_order(notes: Exported, before: str) -> None:
    """The mask's bits are of places: a value that changed has none."""
    begin(notes)
    change(notes, 50, 40, 3, 1, "a", "0x01", n=before)
    change(notes, 50, 40, 4, 1, "a", "0x01", n=1)
    commit(notes, 50)
    assert "its __$update_mask is 01, and that of the captured" in notes.run().output


@pytest.mark.more
def test_a_transaction_of_other_tables_that_began_earlier(notes: Exported) -> None:
    """Its beginning is no record of the log."""
    begin(notes)
    change(notes, 50, 45, 2, 1, "a")
    commit(notes, 50, 40)
    assert notes.run().success
    commit(notes, 90, 30, 1)
    assert notes.run().success
    assert notes.run("--empty").success


@pytest.mark.more
def test_a_log_that_was_shortened(notes: Exported) -> None:
    """Changes of commits whose records are gone are not taken for late ones."""
    begin(notes)
    change(notes, 50, 40, 2, 1, "a")
    commit(notes, 50)
    assert notes.run().success
    notes.sql(f"delete from {{schema}}.shop_log where lsn < '0x{lsn(50)}'")
    change(notes, 90, 80, 2, 2, "b")
    commit(notes, 90, None, 1)
    result = notes.run()
    assert result.success, result.output
    assert [row[0] for row in rows(notes)] == [50, 90]


@pytest.mark.more
def test_a_view_would_lose_what_comes_late(notes: Exported) -> None:
    model = log_model({"dbo.notes": "dbo_notes_CT"}).replace("'incremental'", "'view'")
    notes.project.write("models/seen_log.sql", model)
    result = notes.run("--select", "seen_log")
    assert "seen_log is materialized as view" in result.output


@pytest.mark.more
def test_the_statements_of_the_source(notes: Exported) -> None:
    """Between commits and at one, two at one LSN; those of other instances are not the log's."""
    begin(notes)
    statements = [
        (5, 7, "alter table dbo.notes add old int"),
        (15, 7, "alter table dbo.notes add a int"),
        (16, 8, "alter table dbo.other add a int"),
        (17, 7, "alter table dbo.notes add b int"),
        (17, 7, "alter table dbo.notes drop column b"),
        (20, 7, "alter table dbo.notes alter column n bigint"),
        (30, 7, "alter table dbo.notes add c int"),
    ]

    def alter(number: int, object_id: int, command: str) -> None:
        time = "timestamp'2026-03-01 12:00:00'"
        notes.sql(
            "insert into {schema}_cdc.ddl_history values "
            f"({object_id}, '{command}', '{lsn(number)}', {time})"
        )

    for statement in [*statements, statements[0]]:  # an export may hold a row twice
        alter(*statement)
    commit(notes, 10)
    change(notes, 20, 11, 2, 1, "a")
    commit(notes, 20, minute=1)
    shown = "select * from {schema}.ddl_history order by ddl_lsn, ddl_command"
    expected = [
        (15, "alter table dbo.notes add a int", False),
        (17, "alter table dbo.notes add b int; alter table dbo.notes drop column b", False),
        (20, "alter table dbo.notes alter column n bigint", True),
        (30, "alter table dbo.notes add c int", False),
    ]
    for known in (expected[:-1], expected):
        result = notes.run()
        assert result.success, result.output
        found = [
            (int(row.ddl_lsn, 16), row.ddl_command, bool(row.required_column_update))
            for row in notes.sql(shown)
        ]
        assert found == known
        assert "landed when the log had" not in result.output
        change(notes, 40, 31, 2, 2, "b")
        commit(notes, 40, minute=2)
    assert len(notes.changes(NOTES)) == 2
    notes.project.ok("test", "--select", "shop_log")
    alter(35, 7, "alter table dbo.notes add d int")
    assert "1 statements of " in (output := notes.run().output), output
    assert "landed when the log had later commits, and are not in it, the first at" in output
