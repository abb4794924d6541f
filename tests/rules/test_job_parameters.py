"""Parameters of the jobs and of what they do: ranges, unknown names, unfit marks (G40)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from database import Answer, Rows, noting
from reference.log import int_to_lsn
from shop import HIGH, LOW, ORDERS, Shop, consumed, jobs, low_ends, published, registered

CLEANUP = {"job_type": "cleanup"}
REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("change_job", {"pollinginterval": 86400}, "CDC 22990: pollinginterval is 86400"),
    ("change_job", {"pollinginterval": -1}, "CDC 22990"),
    ("change_job", {"maxtrans": 0}, "CDC 22991: maxtrans is 0: give a whole number from 1"),
    ("change_job", {"maxtrans": 1.5}, "CDC 22991: maxtrans is 1.5"),
    ("change_job", {"maxtrans": True}, "CDC 22991: maxtrans is True"),
    ("change_job", {"maxtrans": 5.0}, "CDC 22991: maxtrans is 5.0"),
    ("change_job", {"maxtrans": "5"}, "CDC 22991: maxtrans is 5"),
    ("change_job", {"maxtrans": 2147483648}, "CDC 22991"),
    ("change_job", {"maxscans": -1}, "CDC 22970"),
    ("change_job", {"maxscans": 0}, "CDC 22970"),
    ("change_job", {"continuous": 2}, "CDC 22998: continuous is 2"),
    ("change_job", {"retention": 1}, "CDC 22995: retention is no parameter of the capture job"),
    ("change_job", {"threshold": 1}, "CDC 22995: threshold is no parameter of the capture job"),
    ("change_job", {**CLEANUP, "maxtrans": 5}, "CDC 22996: maxtrans is no parameter of the cle"),
    ("change_job", {**CLEANUP, "continuous": 1}, "CDC 22996"),
    ("change_job", {**CLEANUP, "retention": 0}, "CDC 22994: retention is 0"),
    ("change_job", {**CLEANUP, "retention": 52594801}, "CDC 22994"),
    ("change_job", {**CLEANUP, "threshold": 0}, "CDC 22850: threshold is 0"),
    ("change_job", {"job_type": "scan"}, "CDC 22992: job_type 'scan' is unknown"),
    ("change_job", CLEANUP, "CDC 22997: the job 'cleanup' does not exist"),
    ("add_job", {"job_type": "capture"}, "CDC 14261: the job 'capture' already exists"),
    ("add_job", {"job_type": None}, "CDC 22992: job_type 'NULL' is unknown"),
    ("add_job", {**CLEANUP, "retention": 0}, "CDC 22994"),
    ("add_job", {**CLEANUP, "retention": True}, "CDC 22994: retention is True"),
    ("drop_job", {"job_type": "x"}, "CDC 22992"),
    ("drop_job", CLEANUP, "CDC 22997: the job 'cleanup' does not exist: make it with add_job"),
    ("start_job", {"job_type": "x"}, "CDC 22992"),
    ("start_job", CLEANUP, "CDC 22997: the job 'cleanup' does not exist"),
    ("stop_job", {"job_type": None}, "CDC 22992"),
    ("stop_job", CLEANUP, "CDC 22997"),
    ("start_job", {}, "CDC 22022: no agent runs that could start job 'cdc."),
    ("start_job", {}, "agent.py`, then ask again; or do without an agent: `dbt run`"),
    ("stop_job", {}, "_capture': there is nothing to stop (dbt_packages"),
    ("cleanup", {"vacuum_hours": 24}, "CDC 22850: vacuum_hours is 24: give 168 (a week) or more"),
    ("cleanup", {}, "CDC 22997: the job 'cleanup' does not exist"),
    ("set_change_tracking", {"change_retention": "0 days"},
     "CDC 22963: change_retention is '0 days': give a whole number from 1"),
    ("set_change_tracking", {"change_retention": "2"}, "CDC 22963: change_retention is '2'"),
    ("set_change_tracking", {"change_retention": "2 weeks"}, "CDC 22963"),
    *(("set_change_tracking", {"change_retention": text}, f"CDC 22963: change_retention is '{text}")
      for text in ("2147483648 days", "36525 days", "876581 hours", "52594801 minutes")),
    ("change_job", {"dry_run": "never"}, "CDC 22963: dry_run is 'never': give true or false"),
    ("cleanup", {"compact": 2}, "CDC 22963: compact is '2'"),
    ("set_change_tracking", {"auto_cleanup": "x"}, "CDC 22963: auto_cleanup is 'x'"),
    ("flush_commit_table_on_demand", {"numrows": 0}, "CDC 22850: numrows is 0"),
    ("flush_commit_table_on_demand", {"numrows": "many"}, "CDC 22850: numrows is many"),
    ("flush_ct_internal_table_on_demand", {"table": "dbo.x"},
     "CDC 22105: change tracking is not enabled on table 'dbo.x': it is on dbo.items"),
    ("flush_ct_internal_table_on_demand", {"table": "dbo.items"},
     "CDC 22105: nothing is published yet of the changes of table dbo.items"),
    ("help_change_data_capture", {"source_schema": "dbo"}, "CDC 22972"),
    ("help_change_data_capture", {"source_schema": "dbo", "source_name": "x"}, "CDC 22985"),
    ("get_ddl_history", {"capture_instance": "no"}, "CDC 22981"),
    ("reset_consumer", {"consumer": "nobody"}, "CDC 313: consumer 'nobody' does not exist"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "text"), REFUSALS, ids=lambda value: str(value)[:40])
def test_refusals(shop: Shop, name: str, arguments: dict[str, Any], text: str) -> None:
    assert text in shop.refusal(name, **arguments)


# Retention is in minutes; what is None is not given.
DEFAULT = {"maxtrans": 500, "maxscans": 10, "continuous": True, "pollinginterval": 5,
           "is_threshold_given": False}  # fmt: skip
NOTHING = dict.fromkeys([*list(DEFAULT)[:4], "threshold"])
CHANGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"maxtrans": 2}, {**DEFAULT, "maxtrans": 2}),
    ({"continuous": 0, "maxtrans": 2}, {**DEFAULT, "maxtrans": 2, "continuous": False,
                                        "pollinginterval": 0}),
    ({"continuous": False, "pollinginterval": 9}, {**DEFAULT, "continuous": False,
                                                   "pollinginterval": 0}),
    ({"pollinginterval": 86399}, {**DEFAULT, "pollinginterval": 86399}),
    ({"pollinginterval": 0}, {**DEFAULT, "pollinginterval": 0}),
    ({"threshold": 5000}, {**DEFAULT, "threshold": 5000, "is_threshold_given": True}),
]  # fmt: skip


def test_defaults(shop: Shop) -> None:
    """SQL Server's; the names have the schema in the place of the database."""
    asked = [("_default_jobs",), ("_job_name", "capture"), ("_job_name", "cleanup")]
    jobs, *names = shop.values(*asked)
    assert {name: jobs["capture"][name] for name in DEFAULT} == DEFAULT
    assert (jobs["cleanup"]["retention"], jobs["cleanup"]["threshold"]) == (3 * 24 * 60, 5000)
    schema = shop.project.schema
    assert names == [f"cdc.{schema}_capture", f"cdc.{schema}_cleanup"]


def test_what_a_change_makes_of_a_job(shop: Shop) -> None:
    """G40: one that does not run on and on has no pauses."""
    calls = [("_changed_job", DEFAULT, {**NOTHING, **given}) for given, _ in CHANGES]
    assert shop.values(*calls) == [job for _, job in CHANGES]
    stopped = {**DEFAULT, "continuous": False, "pollinginterval": 0}
    (job,) = shop.values(("_changed_job", stopped, {**NOTHING, "pollinginterval": 3}))
    assert job == {**DEFAULT, "pollinginterval": 3}
    again = {**NOTHING, "continuous": 1}
    jobs = shop.values(
        *(("_changed_job", job, again) for job in (stopped, {**stopped, "continuous": True}))
    )
    assert [job["pollinginterval"] for job in jobs] == [5, 0]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("reset_consumer", {"consumer": "orders"}),
        ("log_truncation_point", {}),
        ("set_change_tracking", {"change_retention": "2 days", "dry_run": True}),
        ("disable_change_tracking",
         {"source_schema": "dbo", "source_name": "items", "dry_run": True}),
        ("flush_commit_table_on_demand", {"dry_run": True}),
        ("flush_ct_internal_table_on_demand", {"table": "dbo.items", "dry_run": True}),
    ],
)  # fmt: skip
def test_a_schema_that_is_not_enabled(shop: Shop, name: str, arguments: dict[str, Any]) -> None:
    """An operation that made its state tables would tell the next ones that it is."""
    result = shop.operation(name, {"^show table extended": []}, **arguments)
    assert not result.success
    assert "is not enabled for change data capture: check the target" in result.output


def test_a_change_table_that_disable_db_does_not_find(shop: Shop) -> None:
    """The model that told its schema is gone, and with the state its last trace goes."""
    answer: dict[str, Answer] = {
        r"start_lsn as low_end, .* from \S*change_tables ":
            lambda sql: [*low_ends(sql), {**low_ends(sql)[0], "capture_instance": "far"}],
        "^show user functions": [],
    }  # fmt: skip
    result = shop.operation("disable_db", answer, schema_name=shop.project.schema)
    assert result.success, result.output
    told = re.findall(r"(\w+)`? is not there: where the model had another schema", result.output)
    assert told == ["far_ct", "change_tracking_dbo_items"]


AGENT = r"from \S*job_requests where job_type = 'agent'"
NOTE = {"request": "runs", "time": "2024-05-01 00:00:00", "is_silent": False}
AGENT_RUNS = {AGENT: [NOTE]}
AGENT_IS_SILENT = {AGENT: [{**NOTE, "is_silent": True}]}


def test_a_job_is_tried_without_a_write(shop: Shop) -> None:
    shown = shop.operation("change_job", continuous=0, maxtrans=2, dry_run=True).output
    assert "_capture  2         10        False       0 " in shown
    shown = shop.operation("drop_job", job_type="capture", dry_run=True).output
    assert "(no rows)" in shown
    shown = shop.operation("start_job", AGENT_RUNS, dry_run=True).output
    assert "_capture' would be started: the agent, heard of at 2024-05-01" in shown
    ended = shop.operation("stop_job", {AGENT: [{**NOTE, "request": "ends"}]})
    assert not ended.success and "CDC 22022: no agent runs that could stop job" in ended.output
    silent = shop.operation("start_job", AGENT_IS_SILENT, dry_run=True)
    assert not silent.success and "the request would be written down: one that is" in silent.output


WAYS = {
    "start": "start one with `python dbt_packages/dbt_cdc/scripts/agent.py`, then ask again; or do "
    "without an agent: `dbt run`",
    "stop": "there is nothing to stop",
}


@pytest.mark.parametrize("request_", WAYS)
def test_an_agent_that_is_silent_is_asked_all_the_same(shop: Shop, request_: str) -> None:
    """It may be in a scan of more than half an hour, and obeys after it."""
    written: list[str] = []

    def write(sql: str) -> Rows:
        written.append(sql)
        return []

    answer = {**AGENT_IS_SILENT, r"insert into \S*job_requests": write}
    said = shop.dbt("run-operation", f"{request_}_job", answer=answer, may_write=["job_requests"])
    assert not said.success
    assert len(written) == 1 and f"'{request_}'" in written[0]
    since = f"no agent has been heard of since {NOTE['time']}, that could {request_} job '"
    assert f"CDC 22022: {since}" in said.output
    way = "the request is written down: one that is in a long scan obeys after it; if none runs, "
    assert way + WAYS[request_] in said.output


def test_the_bounds_of_a_run(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """sp_cdc_scan's parameters come before what the agent says; bad ones are refused."""

    def bound(**variables: Any) -> Any:
        calls = ("--args", json.dumps({"calls": [["_most_commits_of_run"]]}))
        return shop.dbt("run-operation", "ask", *calls, "--vars", json.dumps(variables))

    assert bound().printed == "0\n"
    monkeypatch.setenv("DBT_CDC_MOST_COMMITS", "77")
    assert bound().printed == "77\n"
    assert bound(cdc_maxtrans=3).printed == "30\n"
    assert bound(cdc_maxtrans=3, cdc_maxscans=2).printed == "6\n"
    assert "CDC 22991: maxtrans is 0" in bound(cdc_maxtrans=0).output
    assert bound(cdc_maxtrans="3", cdc_maxscans=None).printed == "30\n"
    assert "CDC 22963: var cdc_maxscans is 'x': give a whole" in bound(cdc_maxscans="x").output


def test_variables_that_come_as_text(shop: Shop) -> None:
    """As each of env_var does; what is no number is not taken for 0."""

    def asked(*call: Any, **variables: Any) -> Any:
        return shop.dbt("run-operation", "ask", "--args", json.dumps({"calls": [call]}),
                        "--vars", json.dumps(variables))  # fmt: skip

    held = "_minutes_to_hold", {"retention": 5}
    for given, minutes in ((7, 7), ("30", 30), (0, 5), (None, 10080)):
        assert asked(*held, cdc_consumer_hold_minutes=given).printed == f"{minutes}\n"
    for given in ("7 days", "", -1, 1.5, True):
        said = asked(*held, cdc_consumer_hold_minutes=given).output
        assert f"CDC 22963: var cdc_consumer_hold_minutes is '{given}': give a whole number" in said
    for given in (52594800, 10**12):
        assert asked(*held, cdc_consumer_hold_minutes=given).printed == "52594800\n"
    days = "_number_of_var", "cdc_monitoring_days", 30, 36524
    assert asked(*days, cdc_monitoring_days=10**9).printed == "36524\n"
    made = "_functions_of_cdc", [], {}
    for given in ("false", "0", False):
        assert asked(*made, cdc_persistent_functions=given).printed == "{}\n"
    said = asked(*made, cdc_persistent_functions="off").output
    assert "CDC 22963: var cdc_persistent_functions is 'off': give true or false" in said


RETENTIONS = [
    ("2 days", (2, 3, "DAYS")), ("1 day", (1, 3, "DAYS")), (" 90 Minutes ", (90, 1, "MINUTES")),
    ("3hours", (3, 2, "HOURS")), ("876580 hours", (876580, 2, "HOURS")),
    ("36524 days", (36524, 3, "DAYS")), ("52594800 minutes", (52594800, 1, "MINUTES")),
]  # fmt: skip


def test_retentions(shop: Shop) -> None:
    found = shop.values(*(("_checked_retention", text) for text, _ in RETENTIONS))
    names = ("retention_period", "retention_period_units", "retention_period_units_desc")
    assert found == [dict(zip(names, wanted, strict=True)) for _, wanted in RETENTIONS]
    (default,) = shop.values(("_tracking_settings",))
    assert [default[name] for name in names] == [2, 3, "DAYS"]


MID, INSIDE = int_to_lsn(0x110), int_to_lsn(0x10F)
MARKS: list[tuple[dict[str, Any], str]] = [
    ({"threshold": 0}, "CDC 22850: threshold is 0"),
    ({"threshold": "x"}, "CDC 22850: threshold is x"),
    ({"threshold": 1.5}, "CDC 22850: threshold is 1.5: give a whole number of rows above 0"),
    ({"threshold": True}, "CDC 22850: threshold is True"),
    ({"capture_instance": None}, "CDC 22963: capture_instance is NULL"),
    ({"capture_instance": "nope"},
     "CDC 22981: capture instance 'nope' does not exist: there are dbo_heap, dbo_items, dbo_notes"),
    ({"low_water_mark": "0x1"}, "CDC 22964: low_water_mark 0x1 is not the start_lsn of an entry"),
    ({"low_water_mark": INSIDE}, f"CDC 22964: low_water_mark {INSIDE} is not the start_lsn"),
    ({"low_water_mark": int_to_lsn(0xFF)},
     f"CDC 22957: low_water_mark {int_to_lsn(0xFF)} lies outside the validity interval {LOW} to"),
    ({"low_water_mark": int_to_lsn(0x123)}, f"CDC 22957: low_water_mark {int_to_lsn(0x123)} lies"),
    ({"low_water_mark": 0xFF}, f"CDC 22957: low_water_mark {int_to_lsn(0xFF)} lies outside"),
]  # fmt: skip


def first_of_time(sql: str) -> list[dict[str, Any]]:
    """The first entry of the mark's commit time; INSIDE is none, MID one of several."""
    mark = sql.split("start_lsn = '")[1][:22]
    return [{"lsn": {INSIDE: None, MID: int_to_lsn(0x10C)}.get(mark, mark)}]


LSN_OF_TIME = {r"^select coalesce\(min\(ties.* from \S*lsn_time_mapping": first_of_time}


@pytest.mark.parametrize(("arguments", "text"), MARKS, ids=lambda value: str(value)[:40])
def test_unfit_marks(shop: Shop, arguments: dict[str, Any], text: str) -> None:
    given = {"capture_instance": "dbo_notes", "low_water_mark": MID, **arguments}
    result = shop.operation("cleanup_change_table", answer=LSN_OF_TIME, **given)
    assert not result.success and text in result.output, result.output


def test_a_mark_is_lowered_to_the_first_of_its_time(shop: Shop) -> None:
    """But not below the low end; letter case does not count."""
    for mark, start_lsn, wanted in (
        (MID, LOW, int_to_lsn(0x10C)),
        (MID.lower(), INSIDE, INSIDE),
        (f" {HIGH} ", LOW, HIGH),
        (0x122, LOW, HIGH),
    ):
        instance = {"start_lsn": start_lsn, "capture_instance": "dbo_notes"}
        found = shop.values(("_checked_mark", instance, mark), answer=LSN_OF_TIME)
        assert found == [wanted]


def test_a_cleanup_that_stops_early_says_so(shop: Shop) -> None:
    """Jinja has no loop without an end."""
    answer: dict[str, Any] = {
        "^select min\\(position\\)": [{"low": "a", "high": "b", "rows": 2}],
        "delete from cdc.t where": [{"outcome": "done"}],
    }
    call = ("_remove_rows", "cdc.t", "x < 9", 7, "x", 2, None, 3)
    result = shop.dbt(
        "run-operation", "ask", "--args", json.dumps({"calls": [call]}), answer=answer,
        may_lack=True,
    )  # fmt: skip
    assert result.success, result.output
    assert "cleanup: t: 6 of 7 rows removed" in result.output
    assert (
        "cleanup: t: stopped after 3 DELETEs; the next cleanup removes the other 1" in result.output
    )


LATE = {"consumer": "late", "last_lsn": LOW, "mode": "all"}


@pytest.mark.parametrize("is_job", [True, False])
def test_a_cleanup_advises_what_it_obeys(shop: Shop, is_job: bool) -> None:
    """cleanup_change_table waits for no consumer, whatever the variable says."""
    relation = {"database": None, "schema": shop.project.schema, "identifier": "dbo_notes_ct"}
    instance = {
        "capture_instance": "dbo_notes", "low_end": LOW, "new_low_end": HIGH, "relation": relation,
    }  # fmt: skip
    answer: dict[str, Any] = {
        r"\) as bookmarks, ": consumed([{**LATE, "capture_instance": "dbo_notes"}]),
        "as question, min": [{"question": 0, "lsn": int_to_lsn(0x110)}],
        r"from \S*cdc_jobs\b": [{**jobs()[0], "job_type": "cleanup"}],
        r"tran_end_time\s+>=": [{"lsn": HIGH}],
    }
    call = ("_hold_for_consumers", [instance], is_job)
    ((text,),) = shop.values(call, answer=answer)
    assert ("raise vars: {cdc_consumer_hold_minutes}" in text) == is_job
    assert (f"give a low_water_mark up to {int_to_lsn(0x110)}, as" in text) != is_job


@pytest.mark.parametrize(
    ("ended", "others", "is_held"),
    [
        (["dbo_orders"], [], True),
        ([], [], False),
        (["dbo_orders"], [("late", "dbo_orders_v2")], False),
        (["dbo_orders"], [("late", "dbo_notes"), ("other", "dbo_orders_v2")], True),
    ],
)
def test_a_cleanup_waits_for_who_is_to_be_handed_over(
    shop: Shop, ended: list[str], others: list[tuple[str, str]], is_held: bool
) -> None:
    """It stands at the end of one instance, and goes on with the other one of the table."""
    relation = {
        "database": None, "schema": shop.project.schema, "identifier": "dbo_orders_v2_ct",
    }  # fmt: skip
    instance = {
        "capture_instance": "dbo_orders_v2", "low_end": LOW, "new_low_end": HIGH,
        "relation": relation,
    }  # fmt: skip
    marks = [
        {**LATE, "capture_instance": "dbo_orders"},
        *({**LATE, "consumer": c, "capture_instance": i, "last_lsn": HIGH} for c, i in others),
    ]
    answer: dict[str, Any] = {
        r"\) as bookmarks, ": consumed(marks, ended),
        "as question, min": [{"question": 0, "lsn": int_to_lsn(0x110)}],
    }
    (found,) = shop.values(("_waiting_consumers", [instance]), answer=answer)
    assert [(w["name"], w["consumed"], w["needed_lsn"]) for w in found] == [
        ("late", "dbo_orders", int_to_lsn(0x110))
    ] * is_held


def test_what_is_held_for_a_hand_over_is_not_too_old(shop: Shop) -> None:
    """Of the data test within_retention."""
    instance = {"name": "dbo_orders_v2", "interval": {"high_end": HIGH}}
    marks = [{**LATE, "capture_instance": "dbo_orders"}]
    for ended, wanted in ([], HIGH), (["dbo_orders"], LOW):
        found = iter([[{"lsn": HIGH}], [{"lsn": LOW}]])
        answer: dict[str, Any] = {
            r"\) as bookmarks, ": consumed(marks, ended),
            r"from \S*consumer_bookmarks\b": [],
            r"from \S*cdc_jobs\b": [{**jobs()[0], "job_type": "cleanup"}],
            r"tran_end_time\s+>=": lambda _, found=found: next(found),
        }
        assert shop.values(("_oldest_lsn_to_keep", instance, 0), answer=answer) == [wanted]


def test_a_cleanup_that_dies_has_told_whose_changes_go(shop: Shop) -> None:
    """Once the low end is raised, no other cleanup would."""
    told: list[str] = []
    answer: dict[str, Answer] = {
        **LSN_OF_TIME,
        r"\) as bookmarks, ": consumed([{**LATE, "capture_instance": "dbo_notes"}]),
        "as question, min": [{"question": 0, "lsn": int_to_lsn(0x110)}],
        r"max\(`__\$start_lsn`\) as lsn": [{"capture_instance": "dbo_notes", "lsn": LOW}],
        r"insert into \S*dm_cdc_errors": noting(told),
    }
    given = json.dumps({"capture_instance": "dbo_notes", "low_water_mark": HIGH})
    result = shop.dbt(
        "run-operation", "cleanup_change_table", "--args", given, answer=answer, may_lack=True
    )
    assert not result.success and "update" in result.output
    assert len(told) == 1 and "late has consumed dbo_notes up to" in told[0]


def test_the_retention_counts_from_what_has_been(shop: Shop) -> None:
    (sql,) = shop.values(("_retention_mark_sql", {"high_end": HIGH}, 60))
    last = "coalesce(max(tran_end_time) filter (where tran_end_time <= current_timestamp()"
    assert sql.count(last) == 4
    assert sql.count(f"start_lsn <= '{HIGH}'") == 3 + 4


@pytest.mark.parametrize(
    ("known", "now", "later"),
    [
        (None, None, None),
        (None, "2026-01-02 00:00:00", "2026-01-02 00:00:00"),
        ("2026-01-03 00:00:00", "2026-01-02 00:00:00", "2026-01-03 00:00:00"),
        ("2999-01-01 00:00:00", "2026-01-02 00:00:00", "2026-01-02 00:00:00"),
        (None, "2999-01-01 00:00:00", "2999-01-01 00:00:00"),
    ],
)
def test_a_high_end_has_a_time_that_has_been(
    shop: Shop, known: str | None, now: str | None, later: str | None
) -> None:
    """A commit of a source whose clock was wrong would make all windows by time legal for good."""
    assert shop.values(("_later_time", known, now)) == [later]


def test_versions_that_are_left_are_not_taken_for_removed(shop: Shop) -> None:
    """As where there were too many batches; where another cleanup removed them, they are gone."""
    for left, outcome in ((2, "failed"), (0, "0")):
        counts = iter([[{"dead": 7}], [{"dead": left}]])
        answer: dict[str, Any] = {
            "^select count": lambda _, counts=counts: next(counts),
            r"^select min\(position\)": [{"low": None, "high": None, "rows": 0}],
            "^(insert into|update) .*mschange_tracking_history": [],
        }
        result = shop.dbt(
            "run-operation",
            "clean_versions",
            answer=answer,
            may_write=["mschange_tracking_history"],
        )
        assert result.success, result.output
        assert result.printed.strip() == outcome


def test_a_change_table_that_somebody_dropped(shop: Shop) -> None:
    """Its rows cannot be removed, and where it is the only one, nothing is counted."""
    gone = replace(ORDERS, capture_instance="gone")
    low_end = {
        "capture_instance": "gone", "low_end": LOW, "source_schema": "dbo",
        "source_name": "orders", "lost_lsn": None,
    }  # fmt: skip
    result = shop.dbt(
        "run-operation", "cleanup_change_table",
        "--args", json.dumps({"capture_instance": "gone", "low_water_mark": None}),
        answer={
            r"from \S*change_tables as instances": [registered(gone)],
            r"start_lsn as low_end, .* from \S*change_tables ": [low_end],
            r"^select [^()]*\bhigh_end\b.* from \S*validity_intervals": [
                {**published()[0], "capture_instance": "gone"}
            ],
        },
    )  # fmt: skip
    assert "CDC 22852: rows of gone could not be removed: " in result.output
    assert "gone_ct is not there; to take the instance out: dbt run-operation disable_table" in (
        result.output
    )
    assert "the next cleanup removes them" not in result.output
