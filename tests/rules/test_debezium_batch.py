"""What a batch of landed events is asked before the log's statement is sent."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from database import Rows, noting
from shop import Shop

MODEL = """{{ config(materialized='incremental', file_format='delta') }}
{{ dbt_cdc.debezium_log(source('kafka', 'landed')) }}"""
SOURCE = "sources: [{name: kafka, schema: '{{ target.schema }}', tables: [{name: landed}]}]"
LATE = "left anti join logged_rows"
COLUMNS = [
    {"col_name": name, "data_type": "string", "comment": None}
    for name in (
        "lsn",
        "encodings",
        "source_lsn",
        "source_database",
        "events",
        "balance",
        "transaction",
    )
]
ANSWERS = {
    r"max\(resume_position\)": [{"position": 4}],
    "as has_snapshot from": [
        {"snapshot_wal": 70000, "first_lsn": "0x00000000013880000000", "has_snapshot": 1}
    ],
    LATE: [{"name": "s:1", "source_schema": "public", "source_name": "t", "late_rows": 2}],
    r"^describe": COLUMNS,
}


IS_EARLY = "record_time > .* - interval '1' hour"


def seen(transactions: list[str]) -> Rows:
    """That the snapshot holds these."""
    return [{
        "transactions": json.dumps(transactions), "last_lsn": None, "key": None, "table_name": None,
    }]  # fmt: skip


def said(
    shop: Shop,
    has_snapshot_rows: bool | None,
    *options: str,
    end_position: int = 9,
    connector: str = "postgresql",
    told: dict[str, Any] | None = None,
    **answers: Any,
) -> str:
    """What a run of the log says; its own statement nobody answers."""
    news = {
        "last_position": 9, "last_lsn": "0x00000001988078000000", "database": "pg.d",
        "first_change": 80000, "has_snapshot_rows": has_snapshot_rows, "has_old_ends": False,
        "old_xids": "[]", "last_snapshot_wal": 70000, "landed_since": 0, "landed_below": 4,
        "low_position": 1, "has_removed": False,
        "copies_below": 0, "read_position": 4, "end_position": end_position,
        "first_time": "2026-11-01 00:00:00", **(told or {}),
    }  # fmt: skip
    answer = {**ANSWERS, "as has_snapshot_rows": [news], **answers}
    model = MODEL.replace("'landed')", f"'landed'), connector='{connector}'")
    with shop.with_models({"late_log.sql": model, "kafka.yml": SOURCE}) as selection:
        command = ["run", "--select", selection, *options]
        result = shop.dbt(*command, answer=answer, tables=["late_log"], may_lack=True)
    return result.messages["late_log"].message


@pytest.mark.parametrize(("strategy", "is_refused"), [("insert_overwrite", True), ("merge", False)])
def test_a_strategy_that_would_replace_the_log(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, strategy: str, is_refused: bool
) -> None:
    """As one of the whole project; the run before the first capture would begin at its batch."""
    given = f"='delta', incremental_strategy='{strategy}'"
    monkeypatch.setitem(globals(), "MODEL", MODEL.replace("='delta'", given))
    line = said(shop, False, **{"^with images as": []})
    refused = "CDC 22963: late_log appends what is new, and its incremental_strategy is "
    assert (f"{refused}'{strategy}'" in line) == is_refused


def test_late_rows_of_the_snapshot(shop: Shop) -> None:
    line = said(shop, True)
    assert (
        "CDC 22859: rows of the snapshot landed when the log was past it, and it lacks them:"
        " public.t (2): land the whole snapshot before what follows it; to have them, write the log"
        " anew (dbt run --full-refresh --select late_log)"
    ) in line
    assert 'to go on without them, give vars: {cdc_give_up_transactions: ["s:1"]}' in line


@pytest.mark.parametrize("has_rows", [False, None])
def test_a_batch_without_rows_of_a_snapshot_is_not_asked(shop: Shop, has_rows: bool | None) -> None:
    assert "nothing answers" in said(shop, has_rows)


def test_what_is_given_up_is_a_list(shop: Shop) -> None:
    given_up = json.dumps({"cdc_give_up_transactions": "571:53195832"})
    assert (
        "CDC 22963: var cdc_give_up_transactions is '571:53195832': give a list: vars: "
        '{cdc_give_up_transactions: ["571:53195832"]}'
    ) in said(shop, True, "--vars", given_up)


def test_lsns_that_are_given_up_without_quotes(shop: Shop) -> None:
    """YAML reads them as numbers; xids and change_seqs of DMS are numbers, too."""
    lsns = ["0x00000027000003E80001", "0x0001002700002FE80001"]
    seq = "20260701120000000000000000000000001"
    given_up = f"{{cdc_give_up_transactions: [{', '.join(lsns)}, 864, {seq}, '8:1']}}"
    calls = json.dumps({"calls": [["_given_up"], ["_give_up", ["s"]]]})
    result = shop.dbt("run-operation", "ask", "--args", calls, "--vars", given_up)
    names = [*lsns, "864", seq, "8:1"]
    found = [json.loads(line) for line in result.printed.splitlines()]
    assert found == [names, f"vars: {{cdc_give_up_transactions: {json.dumps([*names, 's'])}}}"]


def test_transactions_to_give_up_beside_those_that_are(shop: Shop) -> None:
    """The variable takes the place of the one before; without quotes an LSN would be a number."""
    given_up = json.dumps({"cdc_give_up_transactions": ["0x00000027000003E80001"]})
    more = ["0x00000027000004E80001", "0x00000027000005E80001"]
    found = said(
        shop, False, "--vars", given_up, connector="sqlserver",
        **{IS_EARLY: [{"there": 1}], "last_seen as": seen(more)},
    )  # fmt: skip
    names = json.dumps(["0x00000027000003E80001", *more])
    assert f"go on without them, vars: {{cdc_give_up_transactions: {names}}}; else take" in found
    found = said(
        shop, False, "--vars", given_up, connector="sqlserver", told={"has_old_ends": True},
        **{
            "as is_late": [{"tran_id": name, "is_late": True, "tables": "dbo.t"} for name in more],
            "as cut_lsn from": [{"cut_lsn": None}],
        },
    )  # fmt: skip
    assert f"without what is named, give vars: {{cdc_give_up_transactions: {names}}}" in found


@pytest.mark.parametrize("is_early", [True, False])
def test_what_the_snapshot_holds_is_looked_for_in_its_first_hour(
    shop: Shop, is_early: bool
) -> None:
    """Those of the log are captured, whatever the snapshot has seen."""
    asked: list[str] = []

    def last_seen(sql: str) -> Rows:
        asked.append(sql)
        return seen(["0x00000027000004E80001"])

    found = said(
        shop, False, connector="sqlserver",
        **{IS_EARLY: [{"there": 1}] if is_early else [], "last_seen as": last_seen},
    )  # fmt: skip
    says = (
        "0x00000027000004E80001, as their LSNs are at or below its own; those up to"
        " 0x00000001988078000000 are captured: nothing of this batch is in the log"
    )
    assert (says in found) == is_early
    assert ["commit_lsn <= '0x00000001988078000000'" in sql for sql in asked] == (
        [True] if is_early else []
    )


@pytest.mark.parametrize(
    ("connector", "says"), [("postgresql", "was cut"), ("sqlserver", "has no snapshot")]
)
def test_events_that_come_again_behind_a_cut(shop: Shop, connector: str, says: str) -> None:
    """A log of SQL Server may have begun without a snapshot, too."""
    found = said(
        shop, False, connector=connector, told={"has_old_ends": True},
        **{
            "as is_late": [{"tran_id": "u:1", "is_late": True, "tables": "dbo.t"}],
            "as cut_lsn from": [{"cut_lsn": "0x00000027000003E80001"}],
        },
    )  # fmt: skip
    assert (
        f"; the log {says} and begins at 0x00000027000003E80001: what is named may be in the part"
        " that was removed; to go on without what is named, give vars:"
    ) in found


@pytest.mark.parametrize("connector", ["postgresql", "sqlserver"])
def test_deletes_that_tell_the_key_alone(shop: Shop, connector: str) -> None:
    """Those of SQL Server tell all but text, ntext and image, which it leaves NULL."""
    bare = {"is_bare": True, "is_same": False, "lacks_keys": False, "names": None}
    bare |= {"source_table": "dbo.t", "topic": "t", "deletes": 1, "first_position": 1}
    found = said(
        shop, False, connector=connector,
        **{
            IS_EARLY: [], r"having\s+max": [bare],
            "as deletes": [{"source_table": "dbo.t", "deletes": 1}],
        },
    )  # fmt: skip
    assert ("CDC 22859: deletes tell the key alone" in found) == (connector == "postgresql"), found


def test_late_rows_that_are_given_up(shop: Shop) -> None:
    given_up = json.dumps({"cdc_give_up_transactions": ["snapshot"]})
    asked: list[str] = []
    assert "nothing answers" in said(shop, True, "--vars", given_up, **{LATE: noting(asked)})
    assert "where not name in ('snapshot')" in asked[0]


@pytest.mark.parametrize("choice", ["compare", "take", "anew"])
def test_a_later_snapshot_of_a_log_that_was_cut(shop: Shop, choice: str) -> None:
    """What it lacks it may have had."""
    cut = {"cut_lsn": "0x00000000013880000000", "snapshot_wal": None, "first_lsn": None}
    snapshot = {"snapshot_lsn": "0x00000000017070000000", "snapshot_name": "s:1"}
    tables = [{**snapshot, "name": f"public.{table}"} for table in ("a", "b")]
    found = said(
        shop, True, "--vars", json.dumps({"cdc_later_snapshots": choice}),
        **{
            "^execute immediate 'set spark": [], LATE: [],
            "as has_snapshot from": [{**cut, "has_snapshot": 0}],
            "where not is_whole": tables,
        },
    )  # fmt: skip
    says = (
        "CDC 22859: a later snapshot of the source, at 0x00000000017070000000, cannot be compared"
        " with the log, which was cut: it begins at 0x00000000013880000000, and no longer reaches"
        " back to the beginning of public.a, public.b: nothing of this batch is in the log; to"
        " begin all tables of the snapshot anew, as after a TRUNCATE, give vars:"
        " {cdc_later_snapshots: anew}; to go on without the snapshot, vars:"
        ' {cdc_give_up_transactions: ["s:1"]}'
    )
    assert (says in found) == (choice != "anew"), found


@pytest.mark.parametrize(
    ("cut_lsn", "given_up", "stops"),
    [
        ("0x00000001988078000000", [], True),
        ("0x00000001988078000000", ["u:10"], True),
        ("0x00000001988078000000", ["u:8:4711", "u:9", "u:10"], False),
        (None, [], False),
    ],
)
def test_a_failover_behind_a_cut(
    shop: Shop, cut_lsn: str | None, given_up: list[str], stops: bool
) -> None:
    """What comes before a transaction that comes again may have been in the log, too."""

    def left(names: list[str]) -> list[str]:
        return [n for n in names if not any(g.startswith(n) for g in given_up)]

    found = said(
        shop, False, "--vars", json.dumps({"cdc_give_up_transactions": given_up}),
        connector="mysql",
        **{
            r"^select 1 from .* tran_id <> 'snapshot' limit 1": [{"1": 1}],
            "as cut_lsn from": [{"cut_lsn": cut_lsn}],
            "as is_known": [{
                "last_known": "u:10", "known": json.dumps(left(["u:10"])),
                "before": json.dumps(left(["u:8", "u:9"])),
            }],
        },
    )  # fmt: skip
    says = (
        "CDC 22859: transaction u:10 comes again at another place (a failover), and before it"
        " transactions u:8, u:9: the log was cut, begins at 0x00000001988078000000, and no longer"
        " tells whether it had these: nothing of this batch is in the log; where it had them, as"
        " lsn_time_mapping may tell, give all of them up: vars: {cdc_give_up_transactions:"
        f" {json.dumps(given_up + left(['u:8', 'u:9', 'u:10']))}}}; else put back what was removed"
    )
    assert (says in found) == stops, found


@pytest.mark.parametrize(
    ("holes", "says"),
    [
        ("tell", "of a transaction that is lost as a whole nothing else tells but a later snap"),
        ("refuse", "CDC 22859: bad log record of table "),
        ("pass", ""),
    ],
)
def test_offsets_that_are_missing(shop: Shop, holes: str, says: str) -> None:
    """What they may hide nothing else shows."""
    model = MODEL.replace("debezium_log", "landed_table").replace("d')", f"d'), holes='{holes}'")
    group = {
        "mark_topic": "pg.transaction", "mark_partition": 0, "unplaced": 0, "unlike_landed": 0,
        "events": 2, "places": 2, "first_mark": 0, "last_mark": 9, "landed_mark": None, "print": 0,
    }  # fmt: skip
    hole = {"mark_topic": "pg.transaction", "mark_partition": 0, "holes": 1}
    names = ("topic", "partition", "offset", "key", "value")
    answer = {
        r"^describe": [{"col_name": n, "data_type": "string", "comment": None} for n in names],
        "as unlike_landed": [group],
        "as holes": [{**hole, "first_offset": 3, "last_offset": 8}],
    }
    files = {"lands.sql": model, "kafka.yml": SOURCE}
    with shop.with_models(files) as selection:
        result = shop.dbt("run", "--select", selection, answer=answer, may_lack=True)
    told = "1 hole in the offsets: pg.transaction partition 0, offsets 3 to 8"
    assert (told in result.output) == (holes != "pass"), result.output
    assert says in result.output


def test_rows_without_a_place(shop: Shop) -> None:
    """The query that finds them has the table's own names."""
    columns = {"topic": "t", "partition": "p", "offset": "o"}
    model = MODEL.replace("debezium_log", "landed_table").replace("d')", f"d'), columns={columns}")
    names = ("t", "p", "o", "key", "value")
    answer = {
        r"^describe": [{"col_name": n, "data_type": "string", "comment": None} for n in names],
        "as unlike_landed": [{"mark_topic": "x", "mark_partition": 0, "unplaced": 1}],
    }
    with shop.with_models({"lands.sql": model, "kafka.yml": SOURCE}) as selection:
        result = shop.dbt("run", "--select", selection, answer=answer, may_lack=True)
    assert "landed where `t` is null or `p` is null or `o` is null; nothing of" in result.output


@pytest.mark.parametrize("where", ["raw_log", "observed_columns", None])
def test_a_table_that_the_log_had(shop: Shop, where: str | None) -> None:
    """An export that lacks changes of it is told, also where its records were removed."""
    answer = {
        rf"^select 1 from \S*{name} where source_schema = 'dbo' and source_name = 't' limit 1": (
            [{"there": 1}] if name == where else []
        )
        for name in ("raw_log", "observed_columns")
    }
    assert shop.values(("_log_knows_table", "raw_log", "dbo.t"), answer=answer) == [bool(where)]


@pytest.mark.parametrize("has", [1, 2, 6])
def test_a_log_of_an_older_version(shop: Shop, has: int) -> None:
    message = said(shop, None, **{"^describe": COLUMNS[:has]})
    assert "CDC 22901: debezium_log: " in message
    assert "dbt run --full-refresh --select late_log" in message
    assert ("`transaction` string); or once all of it is captured" in message) == (has > 1)


def test_transactions_that_come_again_are_joined(shop: Shop) -> None:
    """Their names, which may be millions, do not pass through dbt."""
    asked: list[str] = []

    def sent_again(sql: str) -> list[dict[str, Any]]:
        asked.append(sql)
        return [{"last_known": "u:10", "known": '["u:10"]', "before": "[]"}]

    found = said(
        shop, False, connector="mysql",
        **{
            r"^select 1 from \S* where operation = 'COMMIT' and record_time": [{"there": 1}],
            "as is_known": sent_again,
        },
    )  # fmt: skip
    assert "nothing answers" in found
    assert "left join (select distinct tran_id from" in asked[0]


def test_another_connector(shop: Shop) -> None:
    """Which one is read, and what to do with another."""
    model = MODEL.replace("'landed')", "'landed'), connector='oracle'")
    with shop.with_models({"other_log.sql": model, "kafka.yml": SOURCE}):
        result = shop.dbt("parse")
    assert (
        "CDC 22988: debezium_log: connector 'oracle' is not supported: debezium_log reads "
        "'postgresql', 'mysql', 'mariadb' and 'sqlserver', as its argument connector says; of "
        "another source write the canonical log in a model of your own, as "
        "dbt_packages/dbt_cdc/docs/log.md has it"
    ) in result.output


def test_a_statement(shop: Shop) -> None:
    """It is sent as it is, and what it gives is printed."""
    update = "update cdc.my_log\nset after_image = '{\"id\": 1}'\nwhere lsn = '0x1'"
    answer = {f"^{re.escape(update)}$": [{"num_affected_rows": 1}]}
    result = shop.dbt(
        "run-operation", "run_statement", "--args", json.dumps({"statement": update}),
        answer=answer, may_write=["my_log"],
    )  # fmt: skip
    assert result.success and "num_affected_rows\n1" in result.output
    assert "CDC 22963: statement is ' ': give one SQL" in shop.refusal(
        "run_statement", statement=" "
    )


def test_positions_that_begin_anew(shop: Shop) -> None:
    """As of a landing that is written anew: the log would never read what lies below."""
    found = said(shop, False, end_position=3)
    assert "began anew: the last one is 3, and the log has read up to 4" in found


@pytest.mark.parametrize(
    ("log_model", "noted"), [("captured", ("captured", "captured")), ("both", ("None", "other"))]
)
def test_the_log_that_is_captured_tells_what_waits(
    shop: Shop, log_model: str, noted: tuple[str, str]
) -> None:
    """Not another adapter's model in the same run, which does not make the log."""
    adapter = "{% if false %}{{ dbt_cdc.wal2json_log('lines') }}{% endif %}"
    note = "{% do dbt_cdc._note_adapter({'log': model.name}) if execute %}"
    shown = "select '{{ dbt_cdc._invocation_cache().get('adapter', {}).get('log') }}' as noted"
    models = {f"{name}.sql": adapter + note + shown for name in ("captured", "other")}
    models["both.sql"] = "-- depends_on: {{ ref('other') }}\nselect 1 as placeholder"
    given = json.dumps({"cdc_log_model": log_model})
    with shop.with_models(models):
        result = shop.dbt(
            "run", "--select", "captured", "other", "--vars", given, may_lack=True
        )  # fmt: skip
    found = [result.messages[name].message for name in ("captured", "other")]
    assert all(f"'{name}' as noted" in text for name, text in zip(noted, found, strict=True))
