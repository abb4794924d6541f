"""What is wrong in the YAML of a tracked table, and enable_change_tracking."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from database import STATE, Answer, Rows, catalog, noting
from reference.log import int_to_lsn
from shop import HIGH, INSTANCES, LOG, LOW, TRACKED, Shop, columns_of, described, registered
from shop import tracked as entered
from tracking import tracked_models

COLUMNS = [{"name": "id", "data_type": "int"}, {"name": "name", "data_type": "string"}]
MISTAKES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    # table: the error, what differs in its settings, what differs in its model
    "no_key": ("CDC 4997: change tracking of table dbo.no_key needs a primary key",
               {"primary_key": []}, {}),
    "upper_key": ("CDC 4997: change tracking of table dbo.upper_key has a primary key column 'ID'",
                  {"primary_key": ["ID"]}, {}),
    "no_columns": ("without a type: list it under columns with its data_type, with the same letter"
                   " case; there are none", {}, {"columns": []}),
    "no_source": ("CDC 22963: model 'change_tracking_dbo_no_source' has no config.meta.change_tr",
                  {"source_name": None}, {}),
    "2024": ("source_name is 2024, which YAML does not take for a text: put the name in quotes",
             {"source_name": 2024}, {}),
    "2025": ("change_tracking.primary_key is 2025, which YAML does not take for a text: put",
             {"primary_key": ["id", 2025]}, {}),
    "no": ("change_tracking.primary_key is False, which YAML does not take for a text: put",
           {"primary_key": False}, {}),
    "renamed": ("CDC 22932: change tracking of table dbo.other stands in model ",
                {"source_name": "other"}, {}),
    "unknown": ("CDC 22963: model 'change_tracking_dbo_unknown' has an unknown setting",
                {"keys": 1}, {}),
    "some_columns": ("CDC 22963: change tracking of table dbo.some_columns has 'some' for track",
                     {"track_columns_updated": "some"}, {}),
    "some_image": ("CDC 22963: change tracking of table dbo.some_image has 'some' for before_image",
                   {"before_image": "some"}, {}),
    "reserved": ("CDC 22975: change tracking of table dbo.reserved lists a column called",
                 {}, {"columns": [*COLUMNS, {"name": "SYS_change_x", "data_type": "int"}]}),
    "odd_type": ("CDC 22942: data type 'map<int,int>' cannot be captured",
                 {}, {"columns": [*COLUMNS, {"name": "m", "data_type": "map<int,int>"}]}),
    "twice": ("CDC 22930: change tracking of table dbo.twice lists column 'NAME' twice",
              {}, {"columns": [*COLUMNS, {"name": "NAME", "data_type": "int"}]}),
    "parquet": ("CDC 22938: file_format 'parquet' cannot hold change tables",
                {}, {"config": {"file_format": "parquet"}}),
}  # fmt: skip


def tracked(table: str, settings: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    """The YAML of a sound model, but for what differs."""
    meta = {"source_schema": "dbo", "source_name": table, "primary_key": ["id"], **settings}
    config = {"meta": {"change_tracking": meta}, **model.get("config", {})}
    columns = model.get("columns", COLUMNS)
    return {"name": f"change_tracking_dbo_{table}", "config": config, "columns": columns}


def files(tables: dict[str, tuple[str, dict[str, Any], dict[str, Any]]]) -> dict[str, str]:
    """The models of tables and their YAML."""
    models = [tracked(table, *differs) for table, (_, *differs) in tables.items()]
    return {
        **{f"{m['name']}.sql": "{{ dbt_cdc.change_tracking_table() }}" for m in models},
        "tracked.yml": json.dumps({"version": 2, "models": models}),
    }


def test_what_is_tracked_is_listed(shop: Shop) -> None:
    files_of_two = files({"one": ("", {}, {}), "two": ("", {}, {})})
    listed = {"cdc_tracked_tables": ["dbo_items", "dbo_one"]}
    with shop.with_models(files_of_two) as selection:
        command = ["run", "--select", selection, "--vars", json.dumps(listed)]
        result = shop.dbt(*command, may_lack=True)
    for name in ("one", "two"):
        assert (
            "CDC 22981: tracked table 'dbo_two' of model change_tracking_dbo_two is not listed"
            " among those that are published together: add it in dbt_project.yml: vars:"
            " {cdc_tracked_tables: [dbo_items, dbo_one, dbo_two]}"
        ) in result.messages[f"change_tracking_dbo_{name}"].message


@pytest.fixture(scope="module")
def errors(shop: Shop) -> dict[str, str]:
    """All mistakes in one run."""
    return shop.errors(files(MISTAKES))


@pytest.mark.parametrize("table", MISTAKES)
def test_a_mistake_in_yaml(errors: dict[str, str], table: str) -> None:
    assert MISTAKES[table][0] in errors[f"change_tracking_dbo_{table}"]


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"source_name": "items", "primary_key": "id"},
     "CDC 4996: change tracking is already enabled for table dbo.items"),
    ({"source_name": "ITEMS"}, "CDC 4996"),
    ({"primary_key": []}, "CDC 4997: change tracking of table dbo.notes needs a primary key"),
    ({"primary_key": None}, "CDC 4997: change tracking of table dbo.notes needs a primary key"),
    ({"primary_key": "key"},
     "CDC 4997: the primary key column 'key' is not in table dbo.notes: it has id, text, price"),
    ({"primary_key": '"id'}, "CDC 22965"),
    ({"primary_key": [True]}, "CDC 22963: primary_key is True, which YAML does not take for a te"),
    ({"source_name": "none"}, "CDC 22931: the log has no record of table dbo.none"),
    ({"source_schema": ""}, "CDC 22963: source_schema is NULL or empty"),
    ({"source_name": True}, "CDC 22963: source_name is True, which YAML does not take for a text"),
]  # fmt: skip
GIVEN = {"source_schema": "dbo", "source_name": "notes", "primary_key": ["id"]}


@pytest.mark.parametrize(("arguments", "text"), REFUSALS, ids=lambda value: str(value)[:40])
def test_enable_change_tracking_refuses(shop: Shop, arguments: dict[str, Any], text: str) -> None:
    assert text in shop.refusal("enable_change_tracking", **{**GIVEN, **arguments})


def test_a_column_of_types_without_quotes(shop: Shop) -> None:
    types = "types: {dbo.notes: {2024: int}}"
    arguments = f"{{source_schema: dbo, source_name: notes, primary_key: id, {types}}}"
    said = shop.dbt("run-operation", "enable_change_tracking", "--args", arguments).output
    assert "CDC 22963: a column that types of dbo.notes name is 2024, which YAML does not" in said


def test_the_files_of_a_tracked_table(shop: Shop) -> None:
    """Of images, and of a DDL record; a key that is a text."""
    shown = shop.operation("enable_change_tracking", **{**GIVEN, "primary_key": "ID"}).printed
    assert shown.splitlines() == [
        "-- models/change_tracking_dbo_notes.sql",
        "{{ dbt_cdc.change_tracking_table() }}",
        "",
        "# models/change_tracking_dbo_notes.yml",
        "version: 2",
        "",
        "models:",
        "  - name: change_tracking_dbo_notes",
        "    config:",
        "      meta:",
        "        change_tracking:",
        "          source_schema: dbo",
        "          source_name: notes",
        "          primary_key: [id]",
        "          track_columns_updated: false",
        "    columns:  # from 3 images (the log has no DDL of it): check the types",
        "      - {name: id, data_type: int}",
        "      - {name: text, data_type: string}",
        "      - {name: price, data_type: 'decimal(38,18)'}",
        "      - {name: none, data_type: string}  # no value seen",
        "",
        "# dbt_project.yml: vars: {cdc_tracked_tables: [dbo_items, dbo_notes]}",
    ]
    orders = {**GIVEN, "source_name": "orders", "primary_key": "[id], qty"}
    shown = shop.operation("enable_change_tracking", track_columns_updated=True, **orders).printed
    for line in (
        "          primary_key: [id, qty]",
        "          track_columns_updated: true",
        f"    columns:  # from the DDL record at {LOW}",
        "      - {name: qty, data_type: 'varchar(20)'}  # not int as in dbo_orders",
    ):
        assert line in shown.splitlines()


FITTING: list[tuple[str, Any, str]] = [
    # type of a key column, a value, its SQL
    ("binary", "AQI=", "try_to_binary('AQI=', 'base64')"),
    ("BINARY", "0x0102", "X'0102'"),
    ("decimal(10,2)", "1.500", "try_cast('1.500' as decimal(10,2))"),
    ("decimal(10,2)", 7, "try_cast('7' as decimal(10,2))"),
    ("date", "2024-05-01 00:00", "try_cast('2024-05-01 00:00' as date)"),
    ("timestamp", "2024-05-01", "try_cast('2024-05-01' as timestamp)"),
    ("timestamp_ntz", "2024-05-01T22:00:00+02:00",
     "cast(try_cast('2024-05-01T22:00:00+02:00' as timestamp) as timestamp_ntz)"),
    ("varchar(9)", " a ", "try_cast(' a ' as string)"),
]  # fmt: skip
UNFIT = [
    ("binary", "AQI"), ("binary", "0x012"), ("decimal(10,2)", "1.005"), ("decimal(10,2)", "1e2"),
    ("date", "2024-05-01 22:00"), ("date", "2024"), ("timestamp", "22:00"),
]  # fmt: skip


def key_value(data_type: str, value: Any) -> tuple[Any, ...]:
    """The call for the SQL of a value of a key column."""
    return "_key_literal_of", {"name": "k", "data_type": data_type}, value, {"table": "dbo.t"}


def test_values_of_a_key(shop: Shop) -> None:
    calls = [key_value(data_type, value) for data_type, value, _ in FITTING]
    found = shop.values(*calls, answer={"as time_zone": [{"time_zone": "UTC"}]})
    for (data_type, value, sql), text in zip(FITTING, found, strict=True):
        assert sql in text, (data_type, value)


@pytest.mark.parametrize(("data_type", "value"), UNFIT)
def test_a_value_that_a_key_does_not_hold(shop: Shop, data_type: str, value: str) -> None:
    """A cast would make another key of it, of which nothing is known."""
    said = shop.refusal("ask", calls=[key_value(data_type, value)])
    assert f"CDC 313: changetable_version: '{value}' is no value for key column k of table" in said
    assert f"give one that fits its type, {data_type}" in said


def test_one_table_by_two_models(shop: Shop) -> None:
    """Models of the same name in two schemas."""
    again = tracked("again", {"source_name": "Items", "primary_key": ["id"]}, {})
    again["config"] |= {"alias": "change_tracking_dbo_items", "schema": "elsewhere"}
    found = shop.with_models({
        "change_tracking_dbo_again.sql": "{{ dbt_cdc.change_tracking_table() }}",
        "again.yml": json.dumps({"version": 2, "models": [again]}),
    })  # fmt: skip
    with found:
        shown = shop.refusal("flush_ct_internal_table_on_demand", table="dbo.items")
    assert "CDC 4996: change tracking of table dbo." in shown and "is enabled twice" in shown


@pytest.mark.parametrize("versions", ["{}", '{"dbo.items": 0}'])
def test_create_functions_makes_those_of_published_tables(shop: Shop, versions: str) -> None:
    shown = {"current_version": 0, "scanned_lsn": LOW, "min_valid_versions": versions}
    answer: dict[str, Answer] = {
        r"from \S*change_tracking_versions$": [shown],
        r"^begin\s+create or replace function": [],
    }
    result = shop.dbt("run-operation", "create_functions", answer=answer, may_lack=True)
    made = re.findall(r"created \S+\.(\w+)", result.output)
    assert "fn_cdc_get_all_changes_dbo_items" in made, result.output
    assert ("changetable_changes_dbo_items" in made) == ("items" in versions), made


@pytest.mark.parametrize("makes_functions", [True, False])
def test_functions_follow_an_edit_before_the_state(shop: Shop, makes_functions: bool) -> None:
    """A run that dies in between finds the edit again, and makes them. One that makes none says
    that they stay."""
    made: list[str] = []
    note = noting(made)
    known = entered(is_track_columns_updated_on=True)
    result = shop.dbt(
        "run", "--select", "scan_transactions",
        *("--vars", json.dumps({"cdc_persistent_functions": makes_functions})),
        answer={
            r"^select\s+tables\.\*.* from \S*syscommittab": known,
            r"create or replace function": note,
            r"update \S*change_tracking_tables\b": note,
        },
        may_lack=True,
    )  # fmt: skip
    *functions, update = made
    assert "is_track_columns_updated_on = false" in update, made
    assert ("changetable_changes_dbo_items" in " ".join(functions)) == makes_functions
    assert ("functions of dbo.items stay as they are" in result.output) != makes_functions


TOLD_OF_NINE = {"current_version": 9, "scanned_lsn": LOW, "min_valid_versions": '{"dbo.items": 0}'}


@pytest.mark.parametrize(("version", "scanned_lsn", "stops"), [
    (8, LOW, True), (8, HIGH, True), (9, HIGH, False), (8, int_to_lsn(0x123), False),
])  # fmt: skip
def test_versions_that_were_taken_back(
    shop: Shop, version: int, scanned_lsn: str, stops: bool
) -> None:
    """They would be given again, to other transactions. Those of a window that was published by
    half are counted again."""
    result = shop.dbt(
        "run", "--select", "scan_transactions", may_lack=True,
        answer={
            r"from \S*change_tracking_versions$": [{**TOLD_OF_NINE, "scanned_lsn": scanned_lsn}],
            r"^select\s+tables\.\*.* from \S*syscommittab": entered(version=version),
        },
    )  # fmt: skip
    assert ("CDC 22906: table " in result.output) == stops, result.output
    assert (
        "was taken back to version 8, and clients have been told of 9" in result.output
    ) == stops


def test_a_table_that_is_disabled_takes_a_version_that_nobody_has(shop: Shop) -> None:
    taken: list[str] = []

    def take(sql: str) -> Rows:
        taken.append(sql)
        return []

    source = json.dumps({"source_schema": "dbo", "source_name": "items"})
    shop.dbt(
        "run-operation", "disable_change_tracking", "--args", source, may_lack=True,
        answer={
            r"from \S*change_tracking_versions$": [TOLD_OF_NINE],
            r"^select\s+tables\.\*.* from \S*syscommittab": entered(begin_lsn=LOW),
            r"^select min\(window_to_lsn\)": [{"to_lsn": None}],
            r"insert into \S*syscommittab": take,
            r"^select coalesce\(max\(commit_ts\), 0\)": [{"version": 4, "time": "2024-03-01"}],
        },
    )  # fmt: skip
    assert "10L" in taken[0]


def test_the_last_tracked_table_leaves_the_project(shop: Shop) -> None:
    """Its clients get an error, instead of no changes for ever; the state knows how far it was."""
    replaced: list[str] = []

    def replace_view(sql: str) -> Rows:
        replaced.append(sql)
        return entered(**{**TOLD_OF_NINE, "min_valid_versions": "{}"})

    paths = [shop.project.folder / "models" / name for name in tracked_models([TRACKED])]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    for path in paths:
        path.unlink()
    try:
        shop.dbt(
            "run-operation", "ask", "--args", json.dumps({"calls": [["_publish_versions", {}]]}),
            answer={
                r"create or replace view \S*change_tracking_versions": replace_view,
                r"from \S*change_tracking_versions$": [TOLD_OF_NINE],
            },
            may_lack=True,
        )  # fmt: skip
    finally:
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
    (view,) = replaced
    assert "9L as current_version" in view and f"'{LOW}' as scanned_lsn" in view
    assert "dbo.items" not in view


NO_VERSIONS = [{"commit_ts": None, "commit_lsn": None}]
SHOWN = ("validity_intervals", "change_tracking_dbo_items", "raw_log")


@pytest.mark.parametrize("is_shown", [True, False])
@pytest.mark.parametrize("begin_lsn", [LOW, HIGH])
def test_rows_of_a_window_that_was_published_without_their_table(
    shop: Shop, is_shown: bool, begin_lsn: str
) -> None:
    """They go before it begins anew, whether clients were ever shown a version or not."""
    made: list[str] = []
    note = noting(made)
    answer: dict[str, Answer] = {
        r"^select\s+tables\.\*.* from \S*syscommittab": entered(version=4, begin_lsn=begin_lsn),
        r"^select max\(commit_ts\) as commit_ts": NO_VERSIONS,
        r"delete from \S*change_tracking_dbo_items": note,
        r"insert into \S*syscommittab": note,
        r"update \S*change_tracking_tables\b": note,
        r"^select coalesce\(max\(commit_ts\), 0\)": [{"version": 4, "time": "2024-03-01"}],
        r"^select count\(\*\) as transactions": [{"transactions": 0}],
    }
    if not is_shown:
        answer |= {key: catalog([*STATE, *SHOWN])[key] for key in catalog([]) if "table" in key}
    shop.dbt(
        "run", "--select", "scan_transactions", answer=answer,
        tables=["change_tracking_dbo_items"], may_lack=True,
    )  # fmt: skip
    if begin_lsn == HIGH:
        assert not made
    else:
        delete, taken, update = made
        assert "where sys_change_version > 4" in delete
        assert f"and begin_lsn > '{LOW}'" in delete
        assert "5L" in taken and "begin_version = 4" in update


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"key_json": '["name", "id"]'},
         "CDC 4997: the primary key of change tracking of table dbo.one was edited: it is (name, "),
        ({"columns_json": '["name", "id"]'},
         "CDC 22930: the columns of change tracking of table dbo.one were edited: they are (name"),
    ],
)  # fmt: skip
def test_an_edit_is_refused_without_the_scan(
    shop: Shop, known: dict[str, Any], message: str
) -> None:
    """Rows go into the side table by the places of the key's columns."""
    settings = {"primary_key": ["id", "name"], "track_columns_updated": True}
    sound = {"key_json": '["id", "name"]', "columns_json": '["id", "name"]'}
    both = [*entered(), *entered(**{"source_name": "one", **sound, **known})]
    listed = {"cdc_tracked_tables": ["dbo_items", "dbo_one"]}
    with shop.with_models(files({"one": ("", settings, {})})) as selection:
        result = shop.dbt(
            "run", "--select", selection, "--vars", json.dumps(listed),
            answer={r"^select\s+tables\.\*.* from \S*syscommittab": both},
            tables=["change_tracking_dbo_one"], may_lack=True,
        )  # fmt: skip
    assert message in result.output


ASKED = {
    "changetable_changes": ["dbo.items", 1],
    "changetable_version": ["dbo.items", [1, 2]],
    "change_tracking_column_id": ["dbo.items", "code"],
}


@pytest.mark.parametrize("how", [*ASKED, "create_functions"])
@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"key_json": '["code", "id"]'}, "CDC 4997: the primary key of change tracking of table "),
        ({"columns_json": '["id", "a", "code"]'}, "CDC 22930: the columns of change tracking of t"),
        ({"columns_json": '["id"]'}, None),
    ],
)
def test_what_is_read_by_an_edit_is_refused(
    shop: Shop, how: str, known: dict[str, Any], message: str | None
) -> None:
    """Masks by the places of columns, changes by the key; a longer list keeps all places."""
    answer: dict[str, Answer] = {
        r"from \S*change_tracking_versions$": [TOLD_OF_NINE],
        r"^select\s+tables\.\*.* from \S*syscommittab": entered(**known),
        r"^select 1 from \S*change_tracking_dbo_items": [{"there": 1}],
        r"^begin\s+create or replace function": [],
    }
    settings = {"source_name": "items", "primary_key": ["id", "code"]}
    columns = [{"name": "id", "data_type": "int"}, {"name": "code", "data_type": "string"}]
    model = tracked("items", {**settings, "track_columns_updated": True}, {"columns": columns})
    command = ["create_functions"]
    if how in ASKED:
        command = ["ask", "--args", json.dumps({"calls": [[how, *ASKED[how]]]})]
    usual = shop.project.folder / "models" / "tracked.yml"
    before = usual.read_text(encoding="utf-8")
    shop.project.write("models/tracked.yml", json.dumps({"version": 2, "models": [model]}))
    try:
        result = shop.dbt(
            "run-operation", *command, answer=answer, tables=["change_tracking_dbo_items"],
            may_lack=True,
        )  # fmt: skip
    finally:
        shop.project.write("models/tracked.yml", before)
    assert result.success == (message is None), result.output
    assert not message or message in result.output


def test_create_functions_follows_an_older_version(shop: Shop) -> None:
    """State tables get the columns that they lack; an instance without a table has no functions."""
    altered: list[str] = []

    def alter(sql: str) -> Rows:
        altered.append(sql)
        return []

    columns = [name for name in columns_of("change_tables") if name != "before_image"]
    gone = registered(replace(INSTANCES[0], capture_instance="gone"))
    result = shop.dbt(
        "run-operation", "create_functions",
        answer={
            r"^describe extended \S*\.change_tables$": described(*columns),
            r"^begin declare exit handler .* alter table": alter,
            r"^begin\s+create or replace function": [],
            r"from \S*change_tables as instances": [gone, *map(registered, INSTANCES[1:])],
        },
        may_lack=True,
    )  # fmt: skip
    (statement,) = altered
    assert statement.endswith(".change_tables add columns (before_image string); end"), statement
    made = re.findall(r"created \S+\.(\w+)", result.output)
    name = INSTANCES[0].capture_instance
    assert f"fn_cdc_get_all_changes_{name}" not in made
    assert f"fn_cdc_get_all_changes_{INSTANCES[1].capture_instance}" in made, result.output


ADAPTERS = {
    "debezium_log(ref('exported'))": True,
    "debezium_log(ref('exported'), connector='sqlserver')": False,
    "change_table_log({'dbo.notes': ref('exported')}, ref('exported'))": False,
}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_whether_values_tell_a_row_from_another(shop: Shop, adapter: str) -> None:
    """A delete of SQL Server lacks values that the insert before it had; an adapter that does not
    make the log says nothing of it."""
    two = {"columns": ["id", "text"], "index_columns": ["id"], "before_image": "complete"}
    partial, key_alone = {**two, "before_image": "partial"}, {**two, "columns": ["id"]}
    body = f"{{{{ config(materialized='incremental') }}}}{{{{ dbt_cdc.{adapter} }}}}"
    asked = [("_tells_rows", table) for table in (two, partial, key_alone)]
    for name, is_told in (("adapter", ADAPTERS[adapter]), ("no_log", True)):
        with shop.with_models({f"{name}.sql": body, "exported.sql": LOG}):
            assert shop.values(*asked) == [is_told, False, False], name


AWAY, TAKEN = "alter table items rename to items_old", "alter table items_new rename to items"
SWAP = "rename table items to items_old, items_new to items"
RENAMES = [
    # statements with their commits, whether the run stops
    ([(1, AWAY), (2, TAKEN)], True),
    ([(1, AWAY)], True),
    ([(1, AWAY), (1, TAKEN)], False),
    ([(1, SWAP)], False),
]


@pytest.mark.parametrize(("statements", "stops"), RENAMES)
def test_another_table_takes_the_name(
    shop: Shop, statements: list[tuple[int, str]], stops: bool
) -> None:
    """Its rows are those of the table, copied, only where there was no moment without the name."""
    changes = [
        {
            "source_schema": "dbo", "source_name": "items", "ddl_command": command,
            "commit_lsn": int_to_lsn(commit), "lsn": int_to_lsn(commit), "columns": None,
        }
        for commit, command in statements
    ]  # fmt: skip
    call = ("_check_tracked_renames", changes, {"min_valid_versions": {"dbo.items": 0}})
    result = shop.operation("ask", calls=[call])
    assert result.success != stops, result.output
    assert ("CDC 22931: table dbo.items, which is tracked, was rena" in result.output) == stops


@pytest.mark.parametrize(
    ("statements", "takes"),
    [
        ([(20, "drop table items"), (30, "alter table items_new rename to items")], [30]),
        ([(30, "rename table items_new to items")], [30]),
        ([(30, "rename table items to old, items_new to items")], []),
        ([(30, "rename table items to old"), (30, "rename table items_new to items")], []),
        ([(30, "alter table items rename column a to items")], []),
    ],
)
def test_a_table_brings_its_rows_to_a_name_that_was_free(
    shop: Shop, statements: list[tuple[int, str]], takes: list[int]
) -> None:
    changes = [
        {
            "source_schema": "dbo", "source_name": "items",
            "ddl_command": command, "commit_lsn": commit,
        }
        for commit, command in statements
    ]  # fmt: skip
    (found,) = shop.values(("_takings_of_names", changes))
    assert [change["commit_lsn"] for change in found] == takes


HASHED = "change_tracking_dbo____1daad975"
OTHERS = [
    # a tracked table, its model, one that is not tracked
    ("订单", HASHED, "产品"),
    ("订单", "change_tracking_dbo___", "产品"),
    ("order details", "change_tracking_dbo_order_details", "order_details"),
]


@pytest.mark.parametrize(("table", "name", "other"), OTHERS)
def test_tables_that_differ_in_replaced_characters(
    shop: Shop, table: str, name: str, other: str
) -> None:
    """One is not taken for the other; side tables that earlier versions named keep their names."""
    known: dict[str, Answer] = {
        r"^select\s+tables\.\*.* from \S*syscommittab": [
            *entered(),
            *entered(source_name=table, begin_lsn=int_to_lsn(0x200)),
        ]
    }
    shown = {"current_version": 9, "scanned_lsn": LOW}
    shown["min_valid_versions"] = json.dumps({f"dbo.{table}": 7})
    versions: dict[str, Answer] = {r"from \S*change_tracking_versions$": [shown]}
    models = files({"x": ("", {"source_name": table}, {})})
    source = {"source_schema": "dbo", "source_name": other}
    suffix = name[16:]
    with shop.with_models(
        {k.replace("dbo_x", suffix): v.replace("dbo_x", suffix) for k, v in models.items()}
    ):
        called = (f"dbo.{table}", f"DBO_{table}", name, suffix)
        ids = shop.values(*(("change_tracking_column_id", given, "name") for given in called))
        assert ids == [2] * len(called)
        asked = [("change_tracking_column_id", f"dbo.{other}", "name")]
        assert "CDC 22105" in shop.refusal("ask", calls=asked)
        asked = [("change_tracking_min_valid_version", f"dbo.{of}") for of in (table, other)]
        assert shop.values(*asked, answer=versions) == [7, None]
        refused = shop.operation("disable_change_tracking", known, **source)
        assert f"CDC 4998: change tracking is not enabled on table dbo.{other}" in refused.output
        arguments = {**source, "source_name": table, "dry_run": True}
        would = shop.operation("disable_change_tracking", known, **arguments).output
        assert f"would run: drop table if exists {shop.project.schema}.{name}\n" in would
        enabled = shop.operation("enable_change_tracking", **source, primary_key="id")
        # entered, and its side table was lost
        ((asked, rows),) = known.items()
        lost = {asked: [*rows, *entered(source_name=other, begin_lsn=int_to_lsn(0x300))]}
        would = shop.operation("disable_change_tracking", lost, **source, dry_run=True).output
        assert other.isascii() or ("would run" in would and f".{name}\n" not in would)
    if other.isascii():
        assert f"would be {name}, which is that of table dbo.{table}: track one" in enabled.output
    else:
        assert re.search(
            r"- name: change_tracking_dbo____(?!1daad975)\w{8}$", enabled.printed, re.M
        )
