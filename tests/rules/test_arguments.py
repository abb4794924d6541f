"""Bad arguments of the query macros in models: each is one error, before anything is asked. What
only the published bounds can tell is an error of the query: tests/scenarios/test_query_errors.py.
"""

from __future__ import annotations

import json

import pytest
from shop import HIGH, LOW, Shop, first_line, published

WINDOW = f"'{LOW}', '{HIGH}'"
MASK = "\"'0x01'\""
Case = tuple[str, str]


def of_lsns(name: str) -> list[Case]:
    """Of the functions that take two LSNs."""
    return [
        (f"{name}('dbo_items', none, '{HIGH}')", "CDC 313: from_lsn is NULL: give an LSN"),
        (f"{name}('dbo_items', '{LOW}', none)", "CDC 313: to_lsn is NULL"),
        (f"{name}('dbo_items', '{LOW}', '0x12')", "CDC 313: to_lsn '0x12' is not an LSN: give 0x"),
        (f"{name}('dbo_items', '{LOW}0', '{HIGH}')", f"CDC 313: from_lsn '{LOW}0' is not an LSN"),
        (f"{name}('dbo_items', '{HIGH}', '{LOW}')", f"CDC 313: from_lsn {HIGH} is above to_lsn"),
        (f"{name}('nope', {WINDOW})",
         "CDC 22981: capture instance 'nope' does not exist: this project has dbo_heap, dbo_items"),
        (f"{name}(none, {WINDOW})", "CDC 22981: capture instance 'NULL' does not exist"),
    ]  # fmt: skip


def of_times(name: str) -> list[Case]:
    """Of the functions that take two times."""
    return [
        (f"{name}('dbo_items', 'yesterday')",
         "CDC 313: start_time 'yesterday' is not a time: give yyyy-mm-dd"),
        (f"{name}('dbo_items', none, '2023-02-29')",
         "CDC 313: end_time '2023-02-29' is not a time"),
        (f"{name}('dbo_items', none, none, 'al')", "CDC 313: row_filter_option 'al' is unknown"),
        (f"{name}('nope')", "CDC 22981: capture instance 'nope' does not exist"),
        (f"{name}('dbo_items', column_list=['x'])",
         "CDC 22918: capture instance 'dbo_items' does not capture a column 'x': it captures id"),
        (f"{name}('dbo_items', column_list='id, x')", "CDC 22918: capture instance 'dbo_items'"),
        (f"{name}('dbo_items', closed_high_end_point='open')",
         f"CDC 22963: {name}: closed_high_end_point is 'open': give true or false"),
        (f"{name}('dbo_items', update_flag_list=['x'])",
         "CDC 22919: capture instance 'dbo_items' does not capture a column 'x': it captures id"),
    ]  # fmt: skip


RELATIONS: list[Case] = [
    *of_lsns("get_all_changes"),
    *of_lsns("get_net_changes"),
    *of_lsns("change_feed"),
    *of_lsns("get_column_changes"),
    *of_times("all_changes_between"),
    *of_times("net_changes_between"),
    (f"get_all_changes('dbo_items', {WINDOW}, 'all with mask')",
     "CDC 313: row_filter_option 'all with mask' is unknown: give 'all' or 'all update old'"),
    (f"get_all_changes('dbo_items', {WINDOW}, none)",
     "CDC 313: row_filter_option 'NULL' is unknown"),
    (f"get_net_changes('dbo_items', {WINDOW}, 'all update old')", "CDC 313: 'all with merge'"),
    (f"get_net_changes('dbo_heap', {WINDOW})",
     "CDC 208: capture instance 'dbo_heap' has no net changes"),
    ("net_changes_between('dbo_heap')",
     "CDC 208: capture instance 'dbo_heap' has no net changes: they need"),
    (f"changes_across('dbo', 'none', {WINDOW})", "CDC 22985: table dbo.none is not captured"),
    ("changetable_changes('dbo.none', 1)",
     "CDC 22105: change tracking is not enabled on table 'dbo.none': it is on dbo.items"),
    ("changetable_changes('dbo.items', 'x')",
     "CDC 313: changetable_changes: last_sync_version 'x' is no version: give a whole number"),
    ("changetable_changes('dbo.items', 1, 'no')",
     "CDC 22963: changetable_changes: allow_stale is 'no': give true or false"),
    (f"get_net_changes('dbo_items', {WINDOW}, with_commit_time='yes')",
     "CDC 22963: with_commit_time is 'yes'"),
    ("changetable_changes('dbo.items', true)", "CDC 313: last_sync_version 'True' is no version"),
    ("changetable_version('dbo.items', [1])",
     "CDC 22110: changetable_version: 1 values are given for the primary key of table dbo.items"),
    ("changetable_version('dbo.items', {'id': 1, 'x': 2})",
     "CDC 22111: changetable_version: column 'x' is not part of the primary key"),
    ("changetable_version('dbo.items', {'id': 1, 'ID': 2})",
     "CDC 22112: changetable_version: a column of the primary key of table dbo.items is given"),
    ("changetable_version(none, [1])", "CDC 22105: change tracking is not enabled on table 'null'"),
]  # fmt: skip
VALUES: list[Case] = [
    ("map_time_to_lsn('largest', '2024-01-01')",
     "CDC 313: map_time_to_lsn: relational_operator 'largest' is unknown: give 'largest less"),
    ("map_time_to_lsn(none, '2024-01-01')", "CDC 313: relational_operator 'NULL' is unknown"),
    ("map_time_to_lsn('largest less than', '1 Jan')", "CDC 313: time '1 Jan' is not a time"),
    ("map_lsn_to_time('0x1')", "CDC 313: '0x1' is not an LSN"),
    (f"increment_lsn('0x{'F' * 20}')", "CDC 313: leaves the range of LSNs"),
    ("decrement_lsn('12')", "CDC 313: '12' is not an LSN"),
    (f"has_column_changed('dbo_items', 'x', {MASK})",
     "CDC 22918: capture instance 'dbo_items' does not capture a column 'x': it captures id, Name"),
    (f"has_column_changed('dbo_items', none, {MASK})", "CDC 22918: capture instance 'dbo_items'"),
    (f"has_column_changed('nope', 'x', {MASK})", "CDC 22981: capture instance 'nope'"),
    (f"changed_columns('nope', {MASK})", "CDC 22981: capture instance 'nope'"),
]  # fmt: skip
CASES = [
    *((f"select * from {{{{ dbt_cdc.{call} }}}}", text) for call, text in RELATIONS),
    *((f"select {{{{ dbt_cdc.{call} }}}} as n", text) for call, text in VALUES),
]


@pytest.fixture(scope="module")
def errors(shop: Shop) -> list[str]:
    """All cases in one run, each in a model."""
    found = shop.errors({f"bad_{n}.sql": model for n, (model, _) in enumerate(CASES)})
    return [first_line(found[f"bad_{n}"]) for n in range(len(CASES))]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda n: CASES[n][0][23:60])
def test_an_argument_that_is_wrong(errors: list[str], number: int) -> None:
    code, _, part = CASES[number][1].partition(": ")
    assert f"{code}: " in errors[number] and part in errors[number]


def test_a_switch_may_come_as_text(shop: Shop) -> None:
    """As each of env_var does."""
    by_time = "all_changes_between", "dbo_items", None, None, "all"
    closed, opened = (f"or {word} and mapping.tran_end_time =" for word in ("true", "false"))
    found = shop.values(
        *((*by_time, value) for value in ("1", "True", "0", "false")),
        ("get_all_changes", "dbo_items", LOW, HIGH, "all", "False"),
        answer={"as from_lsn": [{"from_lsn": LOW, "to_lsn": HIGH, "others": 1}]},
    )
    assert [(closed in text, opened in text) for text in found[:4]] == [
        (True, False), (True, False), (False, True), (False, True),
    ]  # fmt: skip
    assert "commit_time" not in found[4]


def test_lists_of_columns(shop: Shop) -> None:
    """A text is read as SQL Server's procedures do."""
    instance = {"name": "x", "columns": [{"name": "id"}, {"name": "a, b"}, {"name": "Name"}]}
    lists = {"id ,  name": ["id", "Name"], '"Name",\n[a, b]': ["Name", "a, b"], "": []}
    calls = [("_listed_columns", instance, given, 22918) for given in (*lists, ["ID"], None)]
    assert shop.values(*calls) == [*lists.values(), ["id"], ["id", "a, b", "Name"]]


def test_an_lsn_without_quotes(shop: Shop) -> None:
    """YAML reads it as a number."""
    number = int(LOW, 16)
    calls = ("_normalize_lsn", number, "lsn"), ("increment_lsn", number - 1)
    assert shop.values(*calls) == [LOW, LOW]
    for lsn in (True, -1, 2**80, 1.5):
        said = shop.refusal("ask", calls=[("_normalize_lsn", lsn, "lsn")])
        assert "' is not an LSN: give 0x and 20 hexadecimal digits" in said, lsn
    until = "--vars", f"{{cdc_scan_until: {LOW}}}", "--args", '{calls: [["_scan_until"]]}'
    said = shop.dbt("run-operation", "ask", *until).output  # 20260701 would be one, too
    assert f"CDC 313: var cdc_scan_until is the number {number}: put it in quotes: '{LOW}'" in said


@pytest.mark.parametrize("rows", [[], published()], ids=["nothing", "announced"])
def test_before_the_first_publication(shop: Shop, rows: list[dict[str, str]]) -> None:
    """Also where a first run died after it had announced its instances; README's own example."""
    intervals = [{**row, "high_end": None, "high_time": None} for row in rows]
    low, high = "dbt_cdc.get_min_lsn('dbo_items')", "dbt_cdc.get_max_lsn()"
    asked = [
        *(f"get_{kind}_changes('dbo_items', {low}, {high})" for kind in ("all", "net")),
        "all_changes_between('dbo_items')",
    ]
    found = shop.errors(
        {
            f"early_{n}.sql": f"select * from {{{{ dbt_cdc.{call} }}}}"
            for n, call in enumerate(asked)
        },
        answer={r"^select [^()]*\bhigh_end\b.* from \S*validity_intervals": intervals},
    )
    for n in range(len(asked)):
        assert first_line(found[f"early_{n}"]).startswith(
            "CDC 313: nothing is published yet for capture instance dbo_items: dbt run --select "
            "+lsn_time_mapping captures and publishes"
        )


@pytest.mark.parametrize("policy", ["ANSI", "LEGACY"])
def test_numbers_that_may_not_fit(shop: Shop, policy: str) -> None:
    """Spark's own error stops a write of those, but where the session is of the old policy."""
    answer = {r"'set spark": [{"key": "spark.sql.storeAssignmentPolicy", "value": policy}]}
    calls = [("_keeps_values", "bigint", "int"), ("_keeps_values", "string", "date")]
    assert shop.values(*calls, ("_keeps_values", "string", "binary"), answer={}) == [
        True, True, False,
    ]  # fmt: skip
    result = shop.operation("ask", answer, calls=[("_keeps_values", "int", "bigint")])
    assert result.success == (policy == "ANSI")
    assert ("spark.sql.storeAssignmentPolicy is LEGACY" in result.output) == (policy == "LEGACY")


def test_times_in_a_session_of_another_zone(shop: Shop) -> None:
    """Text without an offset is UTC there, too, and Spark would read and write it otherwise."""
    calls = [
        "all_changes_between('dbo_items', '2024-01-01')",
        "net_changes_between('dbo_items', none, '2024-01-01')",
        "map_time_to_lsn('largest less than', '2024-01-01')",
        f"map_lsn_to_time('0x{'0' * 20}')",
    ]
    models = {
        f"zone_{n}.sql": f"select '{{{{ dbt_cdc.{call} }}}}' as n" for n, call in enumerate(calls)
    }
    for zone, told in (
        ("Europe/Berlin", "time zone is Europe/Berlin"),
        ("timestamp_ntz", "spark.sql.timestampType is TIMESTAMP_NTZ"),
        ("escaped", "spark.sql.parser.escapedStringLiterals is true: set it to 'false'"),
    ):
        found = shop.errors(models, answer={
            r"^select cast\(.* as string\) as time, case": [
                {"time": "2024-01-01 00:00:00", "time_zone": zone}]
        })  # fmt: skip
        for call, message in zip(calls, found.values(), strict=True):
            assert f"CDC 22859: the session's {told}" in message, call
        asked = [("_key_literal_of", {"name": "at", "data_type": "timestamp"}, "2024-01-01", {})]
        key = shop.refusal("ask", answer={"as time_zone": [{"time_zone": zone}]}, calls=asked)
        assert f"CDC 22859: the session's {told}" in key


def test_the_log_is_the_latest_version_of_its_model(shop: Shop) -> None:
    """Another one, in preparation, says nothing of the types of its columns."""
    model = "{{ config(meta={'cdc_source_types': {'dbo.t': {'a': 'decimal(18,N)'}}}) }} select 1"
    yaml = {"name": "told", "latest_version": 1, "versions": [{"v": 1}, {"v": 2}]}
    files = {f"told_v{n}.sql": model.replace("N", str(n)) for n in (1, 2)}
    with shop.with_models({**files, "told.yml": json.dumps({"models": [yaml]})}):
        result = shop.dbt(
            "run-operation", "ask", "--args", json.dumps({"calls": [["_told_by_adapters"]]}),
            "--vars", json.dumps({"cdc_log_model": "told"}),
        )  # fmt: skip
    assert '"decimal(18,1)"' in result.output and "decimal(18,2)" not in result.output
