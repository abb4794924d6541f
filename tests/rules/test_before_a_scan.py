"""What stops a scan before a row is written: edits of an instance, models that are too many, a
session that is not in UTC, a malformed log."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from typing import Any

import pytest
from capturing import instance_yaml
from database import STATE, Answer, Rows, catalog, noting
from reference.capture import CaptureInstance
from reference.log import int_to_lsn
from shop import (
    HIGH,
    INSTANCES,
    LOW,
    NOTES,
    ORDERS,
    THERE,
    TRACKED,
    Shop,
    first_line,
    published,
    registered,
    tracked,
    work,
)

# What is registered of dbo_notes (id int, text string; key id) -> number, part of the text.
EDITS: list[tuple[dict[str, Any], str, str]] = [
    ({"columns": NOTES.columns[:1]}, "CDC 22930: the columns of",
     "it captures (id int), its YAML lists (id int, text string)"),
    ({"columns": (*NOTES.columns, ("more", "int"))}, "CDC 22930: the columns of",
     "it captures (id int, text string, more int)"),
    ({"columns": (("id", "bigint"), NOTES.columns[1])}, "CDC 22930: the columns of",
     "it captures (id bigint, text string)"),
    ({"columns": NOTES.columns[::-1]}, "CDC 22930: the columns of", "(text string, id int)"),
    ({"index_columns": ("text",)}, "CDC 22983: the index_columns of",
     "it captures (text), its YAML lists (id)"),
    ({"index_columns": ()}, "CDC 22983: the index_columns of", "it captures (), its YAML"),
    ({"source_name": "letters"}, "CDC 22960: the source table of",
     "it captures (dbo.letters), its YAML lists (dbo.notes)"),
    ({"supports_net_changes": False}, "CDC 22939: the supports_net_changes of",
     "it captures (False), its YAML lists (True)"),
]  # fmt: skip


def scan(shop: Shop, answer: dict[str, Answer]) -> str:
    """The line of ours in the error of the scan."""
    result = shop.dbt("run", "--select", "scan_transactions", answer=answer)
    assert result.messages["scan_transactions"].status == "error", result.output
    return first_line(result.messages["scan_transactions"].message)


@pytest.mark.parametrize(("known", "text", "part"), EDITS, ids=[edit[2] for edit in EDITS])
def test_an_edited_model(shop: Shop, known: dict[str, Any], text: str, part: str) -> None:
    others = [registered(i) for i in INSTANCES if i != NOTES]
    line = scan(shop, {
        r"from \S*change_tables as instances": [*others, registered(NOTES, **known)]
    })  # fmt: skip
    assert f"{text} capture instance 'dbo_notes' were edited: " in line and part in line
    assert "take the edit back, or make a second instance of the table" in line


STAY = "functions of dbo_notes stay as they are: where you have some, dbt run-operation create_f"


@pytest.mark.parametrize(
    ("what", "makes_functions"),
    [("before_image", True), ("before_image", False), ("lob_before_image", True)],
)
def test_an_edit_that_lacks_values_comes_behind_the_scan(
    shop: Shop, what: str, makes_functions: bool
) -> None:
    """It is noted before a row comes, and functions read the rows by it, or the run says so."""
    made: list[str] = []
    note = noting(made)
    less = {"before_image": "partial", "lob_before_image": "when_changed"}[what]
    usual = (shop.project.folder / "models" / "m.yml").read_text(encoding="utf-8")
    models = json.loads(usual)
    (model,) = (model for model in models["models"] if model["name"] == "dbo_notes_ct")
    model["config"]["meta"]["cdc"][what] = less
    shop.project.write("models/m.yml", json.dumps(models))
    try:
        result = shop.dbt(
            "run", "--select", "dbo_notes_ct",
            *("--vars", json.dumps({"cdc_persistent_functions": makes_functions})),
            may_lack=True,
            answer={
                r"^begin\s+create or replace function": note,
                r"update \S*change_tables\b": note,
                r"^select count\(\*\) as row_count from": [{"row_count": 0}],
                r"^with parsed as": [],
                r"insert into \S*dbo_notes_ct\b": note,
            },
        )  # fmt: skip
    finally:
        shop.project.write("models/m.yml", usual)
    *functions, update, insert = made
    assert f"set {what} = '{less}'" in update and "in ('dbo_notes')" in update
    assert "insert into" in insert
    follow = "fn_cdc_get_net_changes_dbo_notes" in " ".join(functions)
    assert follow == (less == "partial" and makes_functions)
    assert (STAY in result.output) != makes_functions


@pytest.mark.parametrize("makes_functions", [True, False])
def test_a_type_is_wider_and_no_functions_are_made(shop: Shop, makes_functions: bool) -> None:
    """Those of other runs cut values to the type of before."""
    others = [registered(i) for i in INSTANCES if i != NOTES]
    known = registered(NOTES, columns=(("id", "smallint"), ("text", "string")))
    made, altered = list[str](), list[str]()
    note = noting(made)
    result = shop.dbt(
        "run", "--select", "scan_transactions",
        *("--vars", json.dumps({"cdc_persistent_functions": makes_functions})),
        answer={
            r"from \S*change_tables as instances": [*others, known],
            r"^alter table \S*dbo_notes_ct": noting(altered),
            r"^begin\s+create or replace function": note,
        },
        may_lack=True,
    )  # fmt: skip
    assert (STAY in result.output) != makes_functions, result.output
    assert bool(made) == makes_functions
    assert altered[-1].endswith("dbo_notes_ct alter column `id` type int")


def without(name: str) -> Rows:
    """What is published, but for one instance."""
    return [row for row in published() if row["capture_instance"] != name]


@pytest.mark.parametrize(("name", "scanned_lsn"), [("dbo_notes", LOW), (None, HIGH)])
def test_versions_say_how_far_the_log_was_scanned_where_nothing_is_captured(
    shop: Shop, name: str | None, scanned_lsn: str
) -> None:
    """Those of a first publication that died are ahead of its instances."""
    row = dict.fromkeys(("low_end", "high_end", "low_time", "high_time"))
    versions = {"current_version": 1, "scanned_lsn": HIGH, "min_valid_versions": "{}"}
    (state,) = shop.values(("_published_state",), answer={
        r"^select [^()]*\bhigh_end\b.* from \S*validity_intervals":
            [{**row, "capture_instance": name, "scanned_lsn": LOW}],
        r"from \S*change_tracking_versions": [versions],
    })  # fmt: skip
    assert state["scanned_lsn"] == scanned_lsn


@pytest.mark.parametrize("known", [{"columns": (("id", "int"), ("text", "int"))}, EDITS[4][0]])
def test_an_edit_before_the_first_publication(shop: Shop, known: dict[str, Any]) -> None:
    """Of what has captured rows, or its key: nobody has read it yet, so it can begin anew."""
    others = [registered(i) for i in INSTANCES if i != NOTES]
    line = scan(shop, {
        r"from \S*change_tables as instances": [*others, registered(NOTES, **known)],
        r"^select [^()]*\bhigh_end\b.* from \S*validity_intervals": without("dbo_notes"),
        r"^\(select \S+ as name from \S*dbo_notes_ct limit 1": [{"name": "dbo_notes_ct"}],
    })  # fmt: skip
    assert "take the edit back, or as nothing of it is published yet, begin anew: " in line
    assert "{source_schema: dbo, source_name: notes, capture_instance: dbo_notes, dry_" in line


@pytest.mark.parametrize(("name", "value", "reason"), [
    ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS", "lose microseconds"),
    ("spark.databricks.delta.stalenessLimit", "10m", "pass over what was captured since"),
    ("spark.sql.files.ignoreMissingFiles", "TRUE", "in a file that is gone would be missing"),
    ("spark.sql.files.ignoreCorruptFiles", "true", "in a broken file would be missing"),
    ("spark.sql.parser.quotedRegexColumnNames", "true", "would be a pattern, not a name"),
    ("spark.sql.legacy.json.allowEmptyString.enabled", "true", "of a number would be NULL"),
])  # fmt: skip
def test_settings_of_a_session_that_alter_data(
    shop: Shop, name: str, value: str, reason: str
) -> None:
    line = scan(shop, {"^execute immediate 'set'$": [{"key": name, "value": value}]})
    assert f"CDC 22859: the session's {name} is {value}: set it to " in line and reason in line


def test_settings_of_a_session_that_alter_nothing(shop: Shop) -> None:
    harmless = {
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.databricks.delta.stalenessLimit": "0s",
        "spark.sql.files.ignoreCorruptFiles": "false",
    }
    rows = [{"key": name, "value": value} for name, value in harmless.items()]
    shop.values(("_check_session_settings",), answer={"^execute immediate 'set'$": rows})


def test_a_log_that_begins_behind_what_was_captured(shop: Shop) -> None:
    """How far the log was scanned outlives disable_table. An instance that is new where the run
    passes over the gap says that it lacks what was in it."""
    line = scan(shop, {r"\) as log_end\b": work(reaches_back=False, first_lsn=int_to_lsn(0x150))})
    assert "CDC 22859: the log begins at 0x00000000000000000150 and was captured up to" in line
    assert (
        "else begin anew: disable_table of the instances, disable_change_tracking of the tracked"
        in line
    )
    instance, window = {"capture_from": "now", "columns": []}, {"previous_lsn": HIGH}
    found = shop.values(
        *(("_new_registration", instance, window, int_to_lsn(start), {}) for start in (0x50, 0x150))
    )
    assert [(row["start_lsn"], row["lost_lsn"]) for row in found] == [
        (int_to_lsn(0x123), HIGH), (int_to_lsn(0x150), int_to_lsn(0x14F)),
    ]  # fmt: skip


def test_an_instance_that_was_being_removed(shop: Shop) -> None:
    """A kill between the last two DELETEs of disable_table: no edit can be taken back."""
    others = [registered(i) for i in INSTANCES if i != NOTES]
    line = scan(shop, {
        r"from \S*change_tables as instances": [*others, registered(NOTES, columns=())]
    })  # fmt: skip
    assert "CDC 22981: capture instance 'dbo_notes' has no columns in captured_columns" in line
    assert "let it end, and begin anew: dbt run-operation disable_table --args '{" in line


def test_an_edited_capture_from(shop: Shop) -> None:
    """Before the first publication, where the instance would lack what the log's start has."""
    late = replace(NOTES, source_name="late", capture_instance="dbo_late")
    known = registered(late, start_lsn=int_to_lsn(0x110), lost_lsn=int_to_lsn(0x10F))
    others = [registered(each, lost_lsn=None) for each in INSTANCES]
    with shop.with_models(further("dbo_late", late, meta={"capture_from": "log_start"})):
        line = scan(shop, {
            r"from \S*change_tables as instances": [*others, known],
            r"as changes from \(select transform": [{"changes": "[]"}],
        })  # fmt: skip
    assert "CDC 22963: capture instance 'dbo_late' was entered with capture_from: now and" in line
    assert "begins at 0x00000000000000000110, its YAML says log_start" in line


def test_an_edited_key_of_a_tracked_table(shop: Shop) -> None:
    new_window = work(to_lsn=None, log_end="0x00000000000000000200")
    line = scan(shop, {
        r"\) as log_end\b": new_window,
        r"^select\s+tables\.\*.* from \S*syscommittab": tracked(key_json='["code", "id"]'),
    })  # fmt: skip
    assert (
        f"CDC 4997: the primary key of change tracking of table {TRACKED.table} was edited: it is"
        " (code, id), the YAML lists (id, code)" in line
    )


SOURCES: list[tuple[dict[str, Any], str]] = [
    ({"time_zone": "Europe/Berlin"}, "CDC 22859: the session's time zone is Europe/Berlin: set"),
    ({"time_zone": "+01:00"}, "spark.sql.session.timeZone: 'UTC'"),
    ({"knows_windows": False}, "scan_transactions is lost or empty, and the log is captured up to"),
    ({"malformed": "table dbo.t, column lsn: the LSN is 'x'"},
     "CDC 22859: bad log record of table dbo.t, column lsn: the LSN is 'x': an LSN is 0x and 20"),
]  # fmt: skip


@pytest.mark.parametrize(("found", "text"), SOURCES)
def test_a_log_that_cannot_be_read(shop: Shop, found: dict[str, Any], text: str) -> None:
    row = work(to_lsn=None, log_end="0x00000000000000000200", **found)
    assert text in scan(shop, {r"\) as log_end\b": row})


def further(name: str, instance: CaptureInstance, **config: Any) -> dict[str, str]:
    """The files of one more change table, called `name`_ct; `config` is added to its model."""
    meta = config.pop("meta", {})
    yaml = json.loads(instance_yaml([instance], **meta))
    yaml["models"][0]["name"] = f"{name}_ct"
    yaml["models"][0]["config"] |= config
    return {f"{name}_ct.sql": "{{ dbt_cdc.change_table() }}", f"{name}.yml": json.dumps(yaml)}


OTHER = replace(NOTES, capture_instance="notes_other", source_name="letters")
TOO_MANY: dict[str, tuple[dict[str, str], str]] = {
    "twice": (
        further("twice", replace(NOTES, capture_instance="DBO_Notes"), alias="dbo_notes_ct",
                schema="elsewhere"),
        "CDC 22926: capture instance '",
    ),
    "orders_third": (
        further("orders_third", replace(ORDERS, capture_instance="orders_third")),
        "CDC 22962: table dbo.orders has 3 capture instances: ",
    ),
    "notes_other": (
        further("notes_other", OTHER, meta={"role_name": "readers"}),
        "CDC 22938: capture instance 'notes_other' is gated by role_name 'readers', and target",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_MANY)
def test_a_model_too_many(shop: Shop, name: str) -> None:
    """An instance twice, a third one of a table, a role that nobody enforces."""
    files, text = TOO_MANY[name]
    others = [*map(registered, INSTANCES), registered(OTHER, start_lsn=int_to_lsn(0x200))]
    errors = shop.errors(files, answer={r"from \S*change_tables as instances": others})
    assert text in first_line(errors[f"{name}_ct"])


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "GMT", "Z", "+00:00", "Etc/GMT"])
def test_names_of_utc(shop: Shop, zone: str) -> None:
    assert shop.values(("_check_time_zone", zone))[0].strip() == ""


STORES = {  # the location of the tables, and the log store that is named: whether something is said
    ("s3a://lake/cdc.db/t", "<undefined>"): True,
    ("s3://lake/cdc.db/t", "<undefined>"): True,
    ("s3a://lake/cdc.db/t", "io.delta.storage.S3SingleDriverLogStore"): False,
    ("file:/tmp/s3a/t", None): False,
    ("abfss://lake@account.dfs.core.windows.net/t", None): False,
}


@pytest.mark.parametrize(("place", "store"), STORES)
def test_tables_on_s3_are_for_one_spark_at_a_time(
    shop: Shop, place: str, store: str | None
) -> None:
    """What dbt knows of the tables tells the location: elsewhere no statement is sent for it."""
    scheme = place.partition(":")[0]
    setting = f"spark.delta.logStore.{scheme}.impl"
    asked = "^show table extended"
    usual = catalog([*STATE, *THERE])[asked]

    def list_tables(sql: str) -> Rows:
        told = {"information": f"Provider: delta\nLocation: {place}\nSerde Library: x"}
        return [row if "VIEW" in row["information"] else {**row, **told} for row in usual(sql)]

    answer: dict[str, Answer] = {asked: list_tables}
    if store:
        answer[f"'set {re.escape(setting)}'$"] = [{"key": setting, "value": store}]
    result = shop.dbt("run", "--select", "scan_transactions", answer=answer, may_lack=True)
    said = re.findall(
        r"cdc: the tables are on (\w+)://, .* write, (\S+) \(.*#two-runs-at-once\)", result.output
    )
    assert said == ([(scheme, setting)] if STORES[place, store] else [])
    assert "nothing answers: set " not in result.output
    assert "scan window: after" in result.output


@pytest.mark.parametrize(("before", "there", "message"), [(0, 6, "INSERT 6"), (6, 6, "OK")])
def test_dbt_shows_what_the_run_has_written(
    shop: Shop, before: int, there: int, message: str
) -> None:
    """Not what one that died has left there, of the window that stands open."""
    asked = r"^select count\(\*\) as row_count from \S*dbo_orders_ct"
    result = shop.dbt(
        "run", "--select", "scan_transactions", "dbo_orders_ct",
        answer={asked: [{"row_count": before}], "^begin.*row_count": [{"row_count": there}]},
        may_lack=True,
    )  # fmt: skip
    said = re.findall(r"OK created \S+ change_table .*\[(.*) in ", result.output)
    assert said == [message], result.output


@pytest.mark.parametrize(
    "body",
    [
        "select * from ({{ dbt_cdc.change_table() }}) where id > 0",
        "select * except (text), sha2(text, 256) as text from ({{ dbt_cdc.change_table() }})",
    ],
    ids=["filter", "mask"],
)
@pytest.mark.parametrize("rows", [0, 6])
def test_an_edit_beside_rows_of_the_open_window_is_said(shop: Shop, body: str, rows: int) -> None:
    """They stay as they are."""
    path = shop.project.folder / "models" / "dbo_notes_ct.sql"
    text = path.read_text(encoding="utf-8")
    types = dict.fromkeys(["__$start_lsn", "__$end_lsn", "__$seqval", "__$update_mask", "text"])
    types |= dict.fromkeys(["__$operation", "id", "__$command_id"], "int")
    path.write_text(body, encoding="utf-8")
    try:
        result = shop.dbt(
            "run", "--select", "scan_transactions", "dbo_notes_ct",
            answer={
                "^describe query": [
                    {"col_name": name, "data_type": kind or "string"}
                    for name, kind in types.items()
                ],
                "row_count": [{"row_count": rows}],
            },
            may_lack=True,
        )  # fmt: skip
    finally:
        path.write_text(text, encoding="utf-8")
    said = "dbo_notes_ct has rows of the open window already; SQL around change_table() that was"
    assert "OK created sql change_table" in result.output, result.output
    assert (said in result.output) == bool(rows)


INCREMENTAL = "{{ config(materialized='incremental', file_format='delta') }}"


def test_a_sample_is_not_captured(shop: Shop) -> None:
    """Rows that dbt leaves out would be missing for good; other models may be samples."""
    files = {
        "orders.sql": "{{ config(materialized='replica') }}"
        " select * from {{ dbt_cdc.new_changes('dbo_orders') }}",
        "events_log.sql": INCREMENTAL + "{{ dbt_cdc.debezium_log(ref('raw_log')) }}",
        "lines.sql": INCREMENTAL + "{{ dbt_cdc.landed_table(ref('raw_log')) }}",
        "mine.sql": "select 1 as id",
    }
    said = {}
    with shop.with_models(files) as selection:
        for selected in (selection, "scan_transactions lsn_time_mapping"):
            sample = ("--sample", "3 days", "--select", *selected.split())
            messages = shop.dbt("run", *sample, may_lack=True).messages
            said.update({name: found.message for name, found in messages.items()})
    for name in ("orders", "events_log", "lines", "scan_transactions"):
        assert "CDC 22938: a run with --sample" in said.pop(name)
    assert not [message for message in said.values() if "--sample" in message]
    assert messages["lsn_time_mapping"].status == "skipped"


def test_the_view_of_many_instances_fits_into_derby(shop: Shop) -> None:
    """The embedded target's metastore keeps 32,700 characters of a view."""
    time = "2024-05-01 00:00:00.123456"
    ends = {"low_end": LOW, "high_end": HIGH, "low_time": time, "high_time": time}
    rows = [{"capture_instance": f"public_table_of_some_name_{n}", **ends} for n in range(2000)]
    (text,) = shop.values(("_validity_intervals_sql", rows[:700], HIGH))
    assert len(text) < 32700 and text.count("public_table_of_some_name_") == 700
    versions = {row["capture_instance"]: 2**32 for row in rows}
    few = dict(list(versions.items())[:600])
    (text,) = shop.values(("_tracking_versions_sql", 1, HIGH, few))
    assert len(text) < 32700 and text.count("public_table_of_some_name_") == 600
    calls = [("_validity_intervals_sql", rows, HIGH)]
    embedded = "-Dderby.system.home=x"
    for options, url in ((embedded, "<undefined>"), (embedded, "jdbc:mysql:x"), ("", "")):
        answer = {
            r"'set spark\.driver": [{"key": "", "value": options}],
            r"'set spark\.hadoop": [{"key": "", "value": url}],
        }
        output = shop.operation("ask", answer, calls=calls).output
        is_refused = "CDC 22938: 2000 capture instances make a view of" in output
        assert is_refused == (url == "<undefined>")
        output = shop.operation(
            "ask", answer, calls=[("_tracking_versions_sql", 1, HIGH, versions)]
        ).output
        assert ("CDC 22938: 2000 tracked tables make a view of" in output) == is_refused


@pytest.mark.parametrize("hook", ["set time zone 'Europe/Berlin'", ""])
def test_a_hook_that_sets_another_zone(shop: Shop, hook: str) -> None:
    """Behind the look of the scan, which has a connection of its own over a Thrift server."""
    asked: list[str] = []

    def zone(sql: str) -> Rows:
        asked.append(sql)
        return [{"time_zone": "Europe/Berlin"}]

    config = f"{{{{ config(pre_hook={hook!r}) }}}}\n" if hook else ""
    shop.project.write("models/dbo_notes_ct.sql", config + "{{ dbt_cdc.change_table() }}")
    result = shop.dbt(
        "run", "--select", "dbo_notes_ct", may_lack=True,
        answer={"^set time zone": [], r"^select \S*.* as time_zone$": zone},
    )  # fmt: skip
    shop.project.write("models/dbo_notes_ct.sql", "{{ dbt_cdc.change_table() }}")
    assert ("CDC 22859: the session's time zone is Europe/Berlin" in result.output) == bool(hook)
    assert len(asked) == bool(hook)


def test_all_threads_see_one_window(shop: Shop) -> None:
    """Without the scan two change tables ask at once, and another run opens a window between."""
    asked, captured = [threading.Event() for _ in range(2)], threading.Event()
    rows: list[str] = []

    def open_meanwhile(_: str) -> Rows:
        first, second = asked
        if not first.is_set():
            first.set()
            assert second.wait(60)
            return work()
        second.set()
        assert captured.wait(60)
        return work(to_lsn=int_to_lsn(0x300))

    def note(sql: str) -> Rows:
        rows.append(sql)
        captured.set()
        return [{"row_count": 1}]

    answer: dict[str, Answer] = {
        r"\) as log_end\b": open_meanwhile, r"^select count.* from \S*_ct where": note,
    }  # fmt: skip
    models = ["dbo_orders_ct", "dbo_notes_ct", "--threads", "2"]
    shop.dbt("run", "--select", *models, answer=answer, may_lack=True)
    assert [int_to_lsn(0x200) in sql for sql in rows] == [True, True]
