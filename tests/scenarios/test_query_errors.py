"""Every bad argument of every macro and function is one clear error: number, values, what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from capturing import Capture, instance_yaml, make_wrappers
from harness import Project
from reference.capture import CaptureInstance
from reference.log import UTC, LogRecord, int_to_lsn

pytestmark = pytest.mark.slow

ITEMS = CaptureInstance(
    "dbo",
    "items",
    "dbo_items",
    (("id", "int"), ("Name", "string"), ("pay load", "binary")),
    ("id",),
)
HEAP = CaptureInstance("dbo", "heap", "dbo_heap", (("v", "string"),))
EMPTY = CaptureInstance("dbo", "empty", "dbo_empty", (("id", "int"),), ("id",))
LATE = CaptureInstance("dbo", "late", "dbo_late", (("id", "int"),), ("id",))
NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
ENDS = [NOON + timedelta(minutes=n) for n in (1, 2, 3)]
LOW, BELOW = int_to_lsn(0x100), int_to_lsn(0xFF)
HIGH, ABOVE = int_to_lsn(0x122), int_to_lsn(0x123)
WINDOW = f"'{LOW}', '{HIGH}'"


def transaction(number: int) -> list[LogRecord]:
    """An insert into `items`, committed at ENDS[number]; the first one begins the log at NOON."""
    lsns = [int_to_lsn(0x100 + 0x10 * number + n) for n in range(3)]
    images: dict[str, Any] = {"after_image": json.dumps({"id": number})}
    return [
        LogRecord(lsns[0], f"t{number}", "BEGIN", NOON),
        LogRecord(lsns[1], f"t{number}", "INSERT", NOON, "dbo", "items", **images),
        LogRecord(lsns[2], f"t{number}", "COMMIT", ENDS[number]),
    ]


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Capture:
    """Two transactions; then `late` comes in, with a third."""
    capture = Capture(make_project, [ITEMS, HEAP, EMPTY])
    capture.land([*transaction(0), *transaction(1)])
    capture.run()
    capture.project.write("models/dbo_late_ct.sql", "{{ dbt_cdc.change_table() }}")
    capture.project.write("models/late.yml", instance_yaml([LATE]))
    capture.land(transaction(2))
    capture.run()
    make_wrappers(capture.project)
    return capture


def bad_relations() -> list[tuple[str, str, str]]:
    """What only the published bounds can tell, of what stands after `from`: call, number, a part of
    the text. All other bad arguments: tests/rules/test_arguments.py."""
    calls = []
    for name in ("get_all_changes", "get_net_changes", "change_feed", "get_column_changes"):
        calls += [
            (f"{name}('dbo_items', '{BELOW}', '{HIGH}')", "313", f"below the low end {LOW}"),
            (f"{name}('dbo_items', '{LOW}', '{ABOVE}')", "313", f"above the high end {HIGH}"),
            (f"{name}('dbo_empty', '{BELOW}', '{HIGH}')", "313", "is below the low end"),
        ]
    for name in ("all_changes_between", "net_changes_between"):
        calls += [
            (
                f"{name}('dbo_items', '2024-02-29')",
                "313",
                "start_time 2024-02-29 00:00:00 is before",
            ),
            (
                f"{name}('dbo_items', none, '2024-03-01 12:03:01')",
                "313",
                "is after 2024-03-01 12:03:00",
            ),
            (f"{name}('dbo_items', '{ENDS[1]}', '{ENDS[0]}')", "313", "is after end_time"),
            (
                f"{name}('dbo_empty', none, '2024-03-02')",
                "313",
                "not published yet; end at or before",
            ),
            (
                f"{name}('dbo_late', '{ENDS[0]}', none)",
                "313",
                "never captured; start at or after it",
            ),
        ]
    return [
        *calls,
        (f"get_all_changes('dbo_items', '{LOW}', '0x12')", "313", "'0x12' is not an LSN: give 0x"),
        ("all_changes_between('dbo_items', none, '2023-02-29')", "313", "'2023-02-29' is not a ti"),
    ]


BAD_VALUES = [("is_bit_set(1, \"'zz'\")", "313", "'zz' is not an update mask: give 0x and")]
BAD_FUNCTIONS = [
    (f"* from {{schema}}.fn_cdc_get_all_changes_dbo_items('{LOW}', 'x', 'all')",
     "CDC 313: to_lsn 'x' is not an LSN"),
    (f"* from {{schema}}.fn_cdc_get_net_changes_dbo_empty('{LOW}', '{ABOVE}', 'all')",
     "CDC 313: to_lsn .* is above the high end"),
    ("* from {schema}.fn_all_changes_dbo_items('2020-01-01')", "CDC 313: start_time 2020-"),
    ("* from {schema}.fn_net_changes_dbo_items(null, '2030-01-01')", "CDC 313: end_time 2030-"),
    ("* from {schema}.fn_all_changes_dbo_items('2030-01-01')", "CDC 313: start_time .* is after"),
    ("* from {schema}.fn_net_changes_dbo_items(null, '2020-01-01')", "CDC 313: end_time .* before"),
    ("* from {schema}.fn_all_changes_dbo_empty(null, '2030-01-01')", "CDC 313: end_time 2030-"),
    ("* from {schema}.fn_all_changes_dbo_items('2024-03-01 12:02:00', '2024-03-01 12:01:00')",
     "CDC 313: start_time .* is after end_time"),
    ("* from {schema}.fn_all_changes_dbo_items(row_filter_option => 'x')",
     "CDC 313: row_filter_option 'x'"),
    ("{schema}.fn_cdc_map_time_to_lsn('x', timestamp'2024-01-01')", "CDC 313: .*'x' is unknown"),
    ("{schema}.fn_cdc_map_lsn_to_time('x')", "CDC 313: .*'x' is not an LSN"),
    (f"* from {{schema}}.fn_cdc_get_all_changes_dbo_items('{LOW}\\n', '{HIGH}', 'all')",
     "CDC 313: from_lsn '0x[0-9A-F]{20}\n' is not an LSN"),
    (f"* from {{schema}}.fn_cdc_get_net_changes_dbo_items('{LOW}', '{LOW}\\n', 'all')",
     "CDC 313: to_lsn '0x[0-9A-F]{20}\n' is not an LSN"),
    (f"{{schema}}.fn_cdc_map_lsn_to_time('{LOW}\\n')", "CDC 313: [^']*'0x.{20}\n' is not an LSN"),
    (f"{{schema}}.fn_cdc_decrement_lsn('0x{'0' * 20}')", "CDC 313: .* there is none before it"),
    (f"{{schema}}.fn_cdc_increment_lsn('{LOW}\\n')", "CDC 313: [^']*'0x.{20}\n' is not an LSN"),
    ("{schema}.fn_cdc_has_column_changed('dbo_items', 'x', '0x01')", "CDC 22918: .*'x'"),
    ("{schema}.fn_cdc_is_bit_set(1, 'zz')", "CDC 313: .*'zz' is not an update mask"),
    ("* from {schema}.fn_cdc_get_net_changes_dbo_heap('0x', '0x', 'all')", "[Cc]ould not"),
]  # fmt: skip


def test_of_macros_in_models(story: Capture) -> None:
    """All in one run, each in a table model: the error comes first, without a Java stack."""
    table = "{{ config(materialized='table') }}\nselect "
    cases = [
        *((f"{table} count(*) as n from {{{{ dbt_cdc.{c[0]} }}}}", c) for c in bad_relations()),
        *((f"{table} {{{{ dbt_cdc.{case[0]} }}}} as n", case) for case in BAD_VALUES),
    ]
    for number, (model, _) in enumerate(cases):
        story.project.write(f"models/bad/bad_{number}.sql", model)
    result = story.project.dbt("run", "--select", "path:models/bad")
    shutil.rmtree(story.project.folder / "models" / "bad")
    for number, (_, (call, code, problem)) in enumerate(cases):
        outcome = result.messages[f"bad_{number}"]
        assert outcome.status == "error", call
        lines = [line.strip() for line in outcome.message.split("\n") if line.strip()]
        (line,) = [n for n, line in enumerate(lines) if f"CDC {code}: " in line]
        assert line <= 2, outcome.message
        assert problem in lines[line], (call, outcome.message)
        assert not [line for line in lines if line.startswith("at ") or "Exception" in line]


def test_of_functions(story: Capture) -> None:
    for query, problem in BAD_FUNCTIONS:
        with pytest.raises(Exception, match=problem):
            story.sql(f"select {query}")
    assert story.sql("select * from {schema}.fn_all_changes_dbo_empty()") == []
    assert story.sql("select * from {schema}.fn_all_changes_dbo_late('2024-03-01 12:02:00')") == []


FILTERS = [
    "where id = 1",
    "where `__$operation` = 2 and id > 0",
    "where `__$start_lsn` is not null",
    "where `__$update_mask` = '0x01'",
    "as c join (select 1 as id) as k using (id)",
    "as c left semi join (select explode(array(1, 2)) as id) as k on c.id = k.id",
    "as c join {schema}.dbo_items_ct as t on c.id = t.id",
]


def test_no_filter_passes_over_the_guard(story: Capture) -> None:
    """What is pushed down to the rows would leave out the one that is to fail."""
    calls = [f"{{schema}}.fn_cdc_get_{kind}_changes_dbo_items({{ends}}, 'all')"
             for kind in ("all", "net")]  # fmt: skip
    macros = [f"{{{{ dbt_cdc.get_{kind}_changes('dbo_items', {{ends}}) }}}}"
              for kind in ("all", "net")]  # fmt: skip
    for ends in (f"'{BELOW}', '{HIGH}'", f"'{LOW}', '{ABOVE}'"):
        texts = []
        for number, call in enumerate(macros):
            name = f"asking_{number}"
            text = call.replace("{ends}", ends)
            story.project.write(f"models/{name}.sql", f"select * from {text}")
            story.project.dbt("compile", "--select", name)
            compiled = next(story.project.folder.glob(f"target/compiled/*/models/{name}.sql"))
            texts.append(compiled.read_text().replace("select * from", "", 1))
            (story.project.folder / "models" / f"{name}.sql").unlink()
        for call in [*(call.replace("{ends}", ends) for call in calls), *texts]:
            for condition in FILTERS:
                with pytest.raises(Exception, match=r"CDC 313: (from|to)_lsn 0x"):
                    story.sql(f"select count(*) from {call} {condition}")
        lateral = f"{{schema}}.fn_cdc_get_all_changes_dbo_items(e.low, '{ABOVE}', 'all')"
        with pytest.raises(Exception, match="CDC 313: to_lsn 0x"):
            story.sql(f"select * from (select '{LOW}' as low) as e, lateral {lateral} where id = 1")
    # of ends that are subqueries Spark knows nothing before it reads, and a LIMIT reads little
    low = "(select max(low_end) from {schema}.validity_intervals)"
    for kind in ("all", "net"):
        call = f"{{schema}}.fn_cdc_get_{kind}_changes_dbo_items({low}, '{ABOVE}', 'all')"
        with pytest.raises(Exception, match="CDC 313: to_lsn 0x"):
            story.sql(f"select * from {call} limit 1")


def test_a_function_in_a_table_model_shows_no_java_stack(story: Capture) -> None:
    story.project.write(
        "models/bad.sql",
        "{{ config(materialized='table') }} select count(*) as n"
        " from {{ target.schema }}.fn_all_changes_dbo_items('2020-01-01')",
    )
    result = story.project.dbt("run", "--select", "bad")
    (story.project.folder / "models" / "bad.sql").unlink()
    assert "CDC 313: start_time 2020-01-01 00:00:00 is before" in result.messages["bad"].message
    assert "\tat " not in result.output


def test_of_an_instance_that_no_run_has_published(story: Capture) -> None:
    fresh = CaptureInstance("dbo", "fresh", "dbo_fresh", (("id", "int"),), ("id",))
    story.project.write("models/dbo_fresh_ct.sql", "{{ dbt_cdc.change_table() }}")
    story.project.write("models/fresh.yml", instance_yaml([fresh]))
    story.project.write(
        "models/early.sql",
        f"select * from {{{{ dbt_cdc.get_all_changes('dbo_fresh', {WINDOW}) }}}}",
    )
    result = story.project.dbt("run", "--select", "early")
    for name in ("dbo_fresh_ct.sql", "fresh.yml", "early.sql"):
        (story.project.folder / "models" / name).unlink()
    assert "CDC 313: nothing is published yet for capture instance dbo_fresh" in result.output


def test_of_functions_before_the_publication_that_makes_them_has_ended(story: Capture) -> None:
    """The view has their instance, without a high end; that comes before NULL arguments."""
    view = story.sql("select * from {schema}.validity_intervals")
    story.sql("create table {schema}.kept using delta as select * from {schema}.validity_intervals")
    columns = ", ".join(
        "cast(null as string) as high_end" if name == "high_end" else name
        for name in view[0].__fields__
    )
    story.sql(f"alter view {{schema}}.validity_intervals as select {columns} from {{schema}}.kept")
    problem = "CDC 313: nothing is published yet for capture instance dbo_items: dbt run"
    for kind in ("all", "net"):
        with pytest.raises(Exception, match=problem):
            story.call(f"fn_cdc_get_{kind}_changes_dbo_items", None, None, "all")
    story.sql("alter view {schema}.validity_intervals as select * from {schema}.kept")
