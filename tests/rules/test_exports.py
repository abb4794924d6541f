"""What an export of SQL Server's change tables is asked before the log's statement is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from database import Answer, Rows
from reference.log import int_to_lsn
from shop import LOW, Shop, described


@pytest.mark.parametrize(
    ("data_type", "is_large"),
    [("string", True), ("varchar(2147483647)", True), ("varchar(8000)", False), ("binary", True)],
)
def test_values_that_may_be_missing_before_an_update(
    shop: Shop, data_type: str, is_large: bool
) -> None:
    """Spark's JDBC lands a varchar(max) with the greatest length, other tools with a short one."""
    column = {"name": "v", "dtype": data_type}
    calls = [("_exported_is_large", column), ("_exported_before", column, 0)]
    large, before = shop.values(*calls)
    assert large == is_large
    assert "= 0, after.`v`, null)" in before


MODEL = """{{ config(materialized='incremental', file_format='delta') }}
{{ dbt_cdc.change_table_log(
    {'dbo.notes': source('cdc', 'dbo_notes_CT')}, source('cdc', 'lsn_time_mapping'),
    change_tables=source('cdc', 'change_tables')
) }}"""
SOURCE = """sources: [{name: cdc, schema: landed, tables: [
    {name: dbo_notes_CT}, {name: lsn_time_mapping}, {name: change_tables}]}]"""
COLUMNS = (
    "lsn", "transaction",
    "__$start_lsn", "__$seqval", "__$operation", "__$update_mask", "id",
    "start_lsn", "tran_begin_time", "tran_end_time", "tran_id", "tran_begin_lsn",
    "capture_instance",
)  # fmt: skip
END = int_to_lsn(70)


def said(
    shop: Shop,
    apart: Rows,
    start_lsn: str | None = LOW,
    types: Mapping[str, str] | None = None,
    columns: Sequence[str] = COLUMNS,
) -> str:
    """What a run of the log says, where some rows of the export are apart; its own statement nobody
    answers. Columns have these types, others are texts."""
    answer: dict[str, Answer] = {
        "^describe": [
            {**column, "data_type": (types or {}).get(column["col_name"], "string")}
            for column in described(*columns)
        ],
        r" as time_zone$": [{"time_zone": "UTC"}],
        r"^select max\(lsn\)": [{"lsn": END}],
        "whole_commits as": apart,
        "group by name": [{"name": "dbo_notes", "start_lsn": start_lsn}],
        "^select 1 from .* source_schema = 'dbo'": [{"there": 1}],
    }
    with shop.with_models({"late_log.sql": MODEL, "cdc.yml": SOURCE}) as selection:
        command = ["run", "--select", selection]
        result = shop.dbt(*command, answer=answer, tables=["late_log"], may_lack=True)
    return result.messages["late_log"].message


def test_a_name_that_begins_with_a_number_sign(shop: Shop) -> None:
    """What Spark tells of a table beside its columns begins so, too, and has no type."""
    assert "nothing answers: create or replace temporary view" in said(
        shop, [], None, columns=[*COLUMNS[:2], "#no", "# x", *COLUMNS[2:]]
    )
    behind = [
        {"col_name": name, "data_type": "", "comment": ""}
        for name in ("", "# Detailed Table Information")
    ]
    rows = [*described("#no", "id"), *behind, *described("Name")]
    tracked = {"columns": [{"name": "id", "data_type": "string"}], "index_columns": ["id"]}
    calls = ("_table_columns", "side"), ("_check_key_types", tracked, "side")
    columns, _ = shop.values(*calls, answer={"^describe extended side$": rows})
    assert [column["name"] for column in columns] == ["#no", "id"]


def test_changes_below_the_end_of_the_log(shop: Shop) -> None:
    """Of a table that comes to the model, or of a second capture instance: to have the log anew
    would lose what only the first one has."""
    late = {"fate": "late", "changes": 2, "commits": 1, "first_lsn": LOW, "tables": "dbo.notes"}
    found = said(shop, [late])
    assert (
        f"2 changes of dbo.notes, the first at __$start_lsn {LOW} landed when the log had their"
        " commits, and are not in it: where the table has come to the argument tables, or another"
        " capture instance has taken the place of its own, name a view of the change table, with"
        f" the rows whose __$start_lsn is above {END}; where they were erased"
    ) in found


def test_an_instance_that_begins_behind_the_log(shop: Shop) -> None:
    """The source's cleanup job has removed what exports that append have landed before."""
    found = said(shop, [])
    assert f"instance dbo_notes of dbo.notes begins at {LOW}, and " in found
    assert (
        "where there were none, or they have landed all the same, as exports append, give vars:"
        " {cdc_log_gap: pass} for one run"
    ) in found


def test_an_instance_that_has_just_been_enabled(shop: Shop) -> None:
    """Its start_lsn is NULL until the capture job has been there."""
    assert "nothing answers: create or replace temporary view late_log" in said(shop, [], None)


@pytest.mark.parametrize("data_type", ["bigint", "decimal(20,0)"])
def test_times_that_land_as_numbers(shop: Shop, data_type: str) -> None:
    """A cast would take milliseconds for seconds."""
    assert (
        f"lsn_time_mapping has tran_end_time as {data_type}: export it as timestamp, date or string"
    ) in said(shop, [], types={"tran_end_time": data_type})


def test_times_that_land_as_times(shop: Shop) -> None:
    types = {"tran_begin_time": "timestamp_ntz", "tran_end_time": "date"}
    assert "nothing answers: create or replace temporary view" in said(shop, [], None, types)
