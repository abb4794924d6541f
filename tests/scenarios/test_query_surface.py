"""Time, masks, wrappers, old beside new and the change feed, against plain Python."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from asking import compiled, rows, values
from capturing import Capture, make_wrappers, plain_values
from harness import Project
from pyspark.sql import Row
from reference.capture import CaptureInstance, ChangeRow, MappingRow
from reference.log import UTC, LogRecord, int_to_lsn
from reference.query import (
    commits_between,
    decode_mask,
    decrement_lsn,
    encode_mask,
    get_all_changes,
    get_net_changes,
    increment_lsn,
    is_bit_set,
    map_time_to_lsn,
)

pytestmark = pytest.mark.slow

ITEMS = CaptureInstance(
    "dbo", "items", "dbo_items",
    (("id", "int"), ("Name", "string"), ("pay load", "binary"), ("at", "timestamp")), ("id",),
)  # fmt: skip
HEAP = CaptureInstance("dbo", "heap", "dbo_heap", (("v", "string"),))
EMPTY = CaptureInstance("dbo", "empty", "dbo_empty", (("id", "int"),), ("id",))
OPERATORS = [
    "largest less than", "largest less than or equal",
    "smallest greater than", "smallest greater than or equal",
]  # fmt: skip
NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
CODES = {1: "D", 2: "I", 3: "UO", 4: "UN", 5: "M"}


def text(time: datetime | None) -> str:
    """A time as an argument of a macro or, in quotes, of a function."""
    return "null" if time is None else f"'{time:%Y-%m-%d %H:%M:%S.%f}'"


def jinja(time: datetime | None) -> str:
    return "none" if time is None else text(time)


class Commits:
    """Transactions of `items`, `heap` and a table that nobody captures, at given commit times."""

    def __init__(self, seed: int, first_lsn: int = 0x1000) -> None:
        self.random, self.lsns = random.Random(seed), itertools.count(first_lsn)
        self.rows: dict[int, dict[str, Any]] = {}
        self.numbers = itertools.count(1)

    def records(self, times: list[datetime]) -> list[LogRecord]:
        """One transaction for each time."""
        return [record for time in times for record in self._transaction(time)]

    def _transaction(self, time: datetime) -> list[LogRecord]:
        tran_id, source = f"t{next(self.numbers)}", {"source_schema": "dbo"}
        made = [LogRecord(self._lsn(), tran_id, "BEGIN", time - timedelta(seconds=20))]
        for _ in range(self.random.randint(0, 4)):
            operation, before, after = self._change()
            images = {
                f"{name}_image": None if image is None else json.dumps(image)
                for name, image in (("before", before), ("after", after))
            }
            made.append(
                LogRecord(self._lsn(), tran_id, operation, time, source_name="items",
                          **source, **images)
            )  # fmt: skip
        other = self.random.choice(["heap", "nobody"])
        made.append(
            LogRecord(self._lsn(), tran_id, "INSERT", time, source_name=other, **source,
                      after_image='{"v": "x"}')
        )  # fmt: skip
        return [*made, LogRecord(self._lsn(), tran_id, "COMMIT", time)]

    def _lsn(self) -> str:
        return int_to_lsn(next(self.lsns))

    def _change(self) -> tuple[str, Any, Any]:
        key = self.random.randint(1, 6)
        old = self.rows.get(key)
        if old and self.random.random() < 0.3:
            del self.rows[key]
            return "DELETE", old, None
        new = {
            "id": key,
            "Name": self.random.choice(["a", "b", "Zoë 😀", None]),
            "pay load": self.random.choice(["AQID", "/w==", None]),
            "at": self.random.choice(["2024-01-01T00:00:00.5", "2024-01-02", None]),
        }
        self.rows[key] = new
        return ("UPDATE" if old else "INSERT"), old, new


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project], ansi: None) -> Capture:
    """Forty commits whose times have ties and go back, captured in two windows."""
    capture = Capture(make_project, [ITEMS, HEAP, EMPTY])
    commits, seconds = Commits(4), random.Random(5)
    times = [
        NOON + timedelta(seconds=30 * n + seconds.choice([0, 0, -30, -45, 10])) for n in range(40)
    ]
    capture.land(commits.records(times[:20]))
    capture.run()
    capture.land(commits.records(times[20:]))
    capture.run()
    make_wrappers(capture.project)
    return capture


@pytest.fixture(scope="module")
def mapping(story: Capture) -> list[MappingRow]:
    found = story.sql("select * from {schema}.lsn_time_mapping order by start_lsn")
    return [
        MappingRow(r.start_lsn, utc(r.tran_begin_time), utc(r.tran_end_time), r.tran_id,
                   r.tran_begin_lsn)
        for r in found
    ]  # fmt: skip


def utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC)


@pytest.fixture(scope="module")
def changes(story: Capture) -> list[ChangeRow]:
    return story.changes(ITEMS)


@pytest.fixture(scope="module")
def bounds(story: Capture) -> tuple[str, str]:
    low, high = values(story, ["get_min_lsn('dbo_items')", "get_max_lsn()"])
    return low, high


def test_the_story_has_ties_and_times_that_go_back(mapping: list[MappingRow]) -> None:
    times = [row.tran_end_time for row in mapping]
    assert any(a > b for a, b in itertools.pairwise(times))
    assert len(set(times)) < len(times)


def test_time_mapping(story: Capture, mapping: list[MappingRow]) -> None:
    times = sorted({row.tran_end_time for row in mapping})
    second = timedelta(microseconds=1)
    asked = [times[0] - second, times[-1] + second, *(t + d for t in times[::7]
             for d in (-second, timedelta(0), second))]  # fmt: skip
    cases = list(itertools.product(OPERATORS, asked))
    expected = [map_time_to_lsn(mapping, operator, time) for operator, time in cases]
    assert None in expected
    some = list(range(0, len(cases), 5))
    assert values(
        story, [f"map_time_to_lsn('{cases[n][0]}', {text(cases[n][1])})" for n in some]
    ) == [expected[n] for n in some]
    literals = ", ".join(f"({n}, '{o}', timestamp{text(t)})" for n, (o, t) in enumerate(cases))
    found = story.sql(
        "select n, {schema}.fn_cdc_map_time_to_lsn(operator, time) as lsn"
        f" from values {literals} as cases (n, operator, time) order by n"
    )
    assert [row.lsn for row in found] == expected
    found = story.sql(
        "select start_lsn, {schema}.fn_cdc_map_lsn_to_time(lower(start_lsn)) as time"
        " from {schema}.lsn_time_mapping"
    )
    assert {r.start_lsn: utc(r.time) for r in found} == {
        row.start_lsn: row.tran_end_time for row in mapping
    }


def test_lsn_arithmetic(story: Capture) -> None:
    rng = random.Random(6)
    edges = [n for b in (1, 8, 16, 39, 40, 41, 64, 79) for n in (2**b - 1, 2**b, 2**b + 1)]
    lsns = [
        int_to_lsn(n)
        for n in [*edges, 2**80 - 2, *(rng.randrange(1, 2**80 - 1) for _ in range(50))]
    ]
    for name, plainly in (("increment", increment_lsn), ("decrement", decrement_lsn)):
        expected = [plainly(lsn) for lsn in lsns]
        assert values(story, [f"{name}_lsn('{lsn}')" for lsn in lsns]) == expected
        literals = ", ".join(f"({n}, '{lsn}')" for n, lsn in enumerate(lsns))
        found = story.sql(
            f"select {{schema}}.fn_cdc_{name}_lsn(lsn) as lsn"
            f" from values {literals} as t (n, lsn) order by n"
        )
        assert [row.lsn for row in found] == expected
    ends = "'0x00000000000000000000'", f"'0x{'F' * 20}'"
    assert values(story, ["increment_lsn(none)", "decrement_lsn(none)"]) == [None, None]
    for name, end in zip(("decrement", "increment"), ends, strict=True):
        with pytest.raises(Exception, match=r"CDC 313: .*leaves the range of LSNs"):
            story.sql(f"select {{schema}}.fn_cdc_{name}_lsn({end})")


def test_masks_of_any_width(story: Capture) -> None:
    rng = random.Random(7)
    cases = []
    for width in [*range(1, 21), 63, 64, 65, 1023, 1024]:
        bits = {n for n in range(1, width + 1) if rng.random() < 0.5}
        mask = encode_mask(bits, width)
        assert decode_mask(mask) == bits
        ordinals = [0, -1, 1, width, width + 9, *rng.sample(range(1, width + 1), min(width, 6))]
        cases += [(n, mask) for n in ordinals]
    literals = ", ".join(f"({n}, {o}, '{m}')" for n, (o, m) in enumerate(cases))
    (expression,) = compiled(story, ["{{ dbt_cdc.is_bit_set('ordinal', 'lower(mask)') }}"])
    found = story.sql(
        f"select {expression} as a, {{schema}}.fn_cdc_is_bit_set(ordinal, mask) as b"
        f" from values {literals} as cases (n, ordinal, mask) order by n"
    )
    expected = [is_bit_set(ordinal, mask) for ordinal, mask in cases]
    assert [row.a for row in found] == expected
    assert [row.b for row in found] == expected
    nulls = "select {schema}.fn_cdc_is_bit_set(null, '0x01'), {schema}.fn_cdc_is_bit_set(1, null)"
    assert tuple(story.sql(nulls)[0]) == (None, None)
    texts = compiled(
        story, [f"{{{{ dbt_cdc.is_bit_set({a}) }}}}" for a in ("none, \"'0x01'\"", "3, \"'0x05'\"")]
    )
    assert tuple(story.sql("select " + ", ".join(texts))[0]) == (None, True)


def test_ordinals_and_changed_columns(story: Capture, changes: list[ChangeRow]) -> None:
    calls = [
        f"get_column_ordinal({arguments})"
        for arguments in ("'dbo_items', 'pay load'", "'DBO_ITEMS', 'NAME'", "'dbo_items', 'nope'",
                          "'nope', 'id'", "none, none")
    ]  # fmt: skip
    assert values(story, calls) == [3, 2, None, None, None]
    found = [
        story.sql(f"select {{schema}}.fn_cdc_{call.replace('none', 'null')}")[0][0]
        for call in calls
    ]
    assert found == [3, 2, None, None, None]
    mask = '"`__$update_mask`"'
    (query,) = compiled(story, [
        f"select *, {{{{ dbt_cdc.changed_columns('dbo_items', {mask}) }}}} as names,"
        f" {{{{ dbt_cdc.has_column_changed('dbo_items', 'name', {mask}) }}}} as by_macro,"
        " {{ target.schema }}.fn_cdc_has_column_changed('dbo_items', 'Name', `__$update_mask`)"
        " as by_function from {{ ref('dbo_items_ct') }}"
    ])  # fmt: skip
    names = [name for name, _ in ITEMS.columns]
    found = story.sql(query)
    assert len(found) == len(changes) > 50
    for row in found:
        ordinals = decode_mask(row["__$update_mask"])
        assert row.names == [name for n, name in enumerate(names, start=1) if n in ordinals]
        assert row.by_macro == row.by_function == (2 in ordinals)


def all_between(row: Row) -> tuple[Any, ...]:
    return (row["__CDC_STARTLSN"], row["__CDC_SEQVAL"], row["__CDC_OPERATION"],
            plain_values(row, ITEMS))  # fmt: skip


def test_windows_by_time(
    story: Capture, mapping: list[MappingRow], changes: list[ChangeRow], bounds: tuple[str, str]
) -> None:
    """Closed and open, NULL ends, ties, times between commits, and times that go back. Functions
    are closed."""
    rng = random.Random(8)
    times = sorted({row.tran_end_time for row in mapping})
    low_time = NOON - timedelta(seconds=19)
    points = [t + timedelta(seconds=d) for t in times[:-1] for d in (0, 0, 1) if t > low_time]
    windows = [(None, None, True), (times[3], times[3], True), (None, times[0], False)]
    for is_closed in (True, False):
        start, end = sorted(rng.sample(points, 2))
        windows += [(start, end, is_closed), (start, None, is_closed), (None, end, is_closed)]
    calls, expected = [], []
    limits = {"min_lsn": bounds[0], "max_lsn": bounds[1]}
    for start, end, is_closed in windows:
        inside = commits_between(mapping, start, end, is_closed)
        kept = [row for row in changes if row.start_lsn in inside]
        arguments = f"'dbo_items', {jinja(start)}, {jinja(end)}"
        more = f", closed_high_end_point={str(is_closed).lower()}"
        calls.append(
            (
                f"all_changes_between({arguments}, 'all update old'{more})",
                f"fn_all_changes_dbo_items({text(start)}, {text(end)}, 'all update old')",
            )
        )
        expected.append(
            [
                (r.start_lsn, r.seqval, CODES[r.operation], r.values)
                for r in get_all_changes(kept, *bounds, "all update old", **limits)
            ]
        )
        calls.append(
            (
                f"net_changes_between({arguments}{more})",
                f"fn_net_changes_dbo_items({text(start)}, {text(end)})",
            )
        )
        expected.append([
            (CODES[n.operation], n.values)
            for n in get_net_changes(kept, ITEMS, *bounds, **limits)
        ])  # fmt: skip
    assert sum(map(len, expected)) > 100
    assert [] in expected
    by_macro = rows(story, [macro for macro, _ in calls])
    closed = [is_closed for _, _, is_closed in windows for _ in ("all", "net")]
    for (_, function), macro_rows, wanted, is_closed in zip(
        calls, by_macro, expected, closed, strict=True
    ):
        by_function = [story.sql(f"select * from {{schema}}.{function}")] if is_closed else []
        for found in (macro_rows, *by_function):
            shaped = [
                all_between(r) if "all_ch" in function
                else (r["__CDC_OPERATION"], plain_values(r, ITEMS))
                for r in found
            ]  # fmt: skip
            assert sorted(map(repr, shaped)) == sorted(map(repr, wanted)), function


def test_wrapper_columns_and_flags(story: Capture, mapping: list[MappingRow]) -> None:
    flags = "column_list=['ID', 'Name'], update_flag_list='Name, pay load'"
    every, net, merged = rows(
        story,
        [
            f"all_changes_between('dbo_items', row_filter_option='all update old', {flags})",
            f"net_changes_between('dbo_items', row_filter_option='all with mask', {flags})",
            f"net_changes_between('dbo_items', none, none, 'all with merge', {flags})",
        ],
    )
    names = ["id", "Name", "__CDC_OPERATION", "Name_uflag", "pay load_uflag"]
    assert list(every[0].asDict()) == ["__CDC_STARTLSN", "__CDC_SEQVAL", *names]
    assert list(net[0].asDict()) == names
    masks = {
        (r["__$start_lsn"], r["__$seqval"]): decode_mask(r["__$update_mask"])
        for r in story.sql("select * from {schema}.dbo_items_ct where `__$operation` = 4")
    }
    for row in every:
        found = row["Name_uflag"], row["pay load_uflag"]
        mask = masks.get((row["__CDC_STARTLSN"], row["__CDC_SEQVAL"]))
        updated = row["__CDC_OPERATION"] == "UN"
        assert found == ((2 in mask, 3 in mask) if updated else (None, None))
    assert {row["__CDC_OPERATION"] for row in every} == {"D", "I", "UO", "UN"}
    assert {row["__CDC_OPERATION"] for row in net} == {"I"}  # nothing was there before the log
    assert {row["__CDC_OPERATION"] for row in merged} == {"M"}


CHOSEN = {"capture_instance": "dbo_items", "column_list": "pay load, id",
          "update_flag_list": ["Name"], "closed_high_end_point": 0}  # fmt: skip


def generated(story: Capture, **arguments: object) -> str:
    """What generate_wrapper_function prints."""
    return story.project.ok(
        "run-operation", "generate_wrapper_function", "--args", json.dumps(arguments)
    ).output


def test_generated_wrappers_are_functions(story: Capture) -> None:
    """Their scripts run in any schema, and say the same as the macros with these arguments."""
    printed = generated(story, **CHOSEN)
    found = re.findall(r"^-- (fn_\w+)\n(create function \1\(.*?);$", printed, re.M | re.S)
    assert [name for name, _ in found] == ["fn_all_changes_dbo_items", "fn_net_changes_dbo_items"]
    lists = (
        f"column_list={CHOSEN['column_list']!r}, update_flag_list={CHOSEN['update_flag_list']!r}"
    )
    call = f"generate_wrapper_function('dbo_items', false, {lists})"
    (returned,) = values(story, [call])
    assert returned == [{"function_name": n, "create_script": script} for n, script in found]
    end = story.sql("select max(tran_end_time) from {schema}.lsn_time_mapping")[0][0]
    lists = "closed_high_end_point=false, column_list=CHOSEN[0], update_flag_list=['Name']"
    calls = [
        f"{kind}_changes_between('dbo_items', none, '{end}', '{option}', {lists})".replace(
            "CHOSEN[0]", "['pay load', 'id']"
        )
        for kind, option in (("all", "all update old"), ("net", "all with mask"))
    ]
    story.sql("create database {schema}_own")
    story.sql("use {schema}_own")
    try:
        for (name, script), call, option in zip(
            found, calls, ("all update old", "all with mask"), strict=True
        ):
            story.sql(script.replace("{", "{{").replace("}", "}}"))
            rows_of_function = story.sql(
                f"select * from {name}(null, timestamp'{end}', '{option}')"
            )
            (wanted,) = rows(story, [call])
            assert [r.asDict() for r in wanted] and list(rows_of_function[0].asDict()) == list(
                wanted[0].asDict()
            )
            assert sorted(map(repr, rows_of_function)) == sorted(map(repr, wanted))
    finally:
        story.sql("use default")
        story.sql("drop database {schema}_own cascade")
    assert len(re.findall(r"^create function fn_", generated(story), re.M)) == 5


def test_generated_wrapper_runs_as_a_model(story: Capture) -> None:
    printed = generated(story, as_models=True, **CHOSEN)
    models = ["-- models/" + text for text in printed.split("-- models/")[1:]]
    assert [model.split("\n")[0] for model in models] == [
        "-- models/fn_all_changes_dbo_items.sql", "-- models/fn_net_changes_dbo_items.sql",
    ]  # fmt: skip
    columns = [story.sql(query)[0].asDict() for query in compiled(story, models)]
    assert [list(row) for row in columns] == [
        ["__CDC_STARTLSN", "__CDC_SEQVAL", "pay load", "id", "__CDC_OPERATION", "Name_uflag"],
        ["pay load", "id", "__CDC_OPERATION", "Name_uflag"],
    ]
    every = generated(story, as_models=True)
    assert every.count("-- models/fn_all_") == 3
    assert every.count("-- models/fn_net_") == 2
    for arguments, number in [
        ({"capture_instance": "nope"}, "CDC 22920: capture instance 'nope'"),
        ({"capture_instance": "dbo_items", "column_list": "id,x"}, "CDC 22918"),
        ({"capture_instance": "dbo_items", "update_flag_list": "x"}, "CDC 22919"),
        ({"column_list": "id"}, "CDC 22921"),
    ]:
        result = story.project.dbt(
            "run-operation", "generate_wrapper_function", "--args", json.dumps(arguments)
        )
        assert not result.success
        assert number in result.output


def test_old_beside_new(story: Capture, changes: list[ChangeRow], bounds: tuple[str, str]) -> None:
    call = f"get_column_changes('dbo_items', '{bounds[0]}', '{bounds[1]}')"
    (found,) = rows(story, [call])
    names = [name for name, _ in ITEMS.columns]
    images = {(r.start_lsn, r.seqval, r.operation): r for r in changes}
    expected = {}
    for (start, seqval, operation), row in images.items():
        if operation != 3:
            old = images[start, seqval, 3].values if operation == 4 else [None] * 4
            old, new = (row.values, [None] * 4) if operation == 1 else (old, row.values)
            for n in decode_mask(row.update_mask):
                key = start, seqval, operation, row.values[0], names[n - 1]
                expected[key] = shown(old[n - 1]), shown(new[n - 1])
    assert {
        (r["__$start_lsn"], r["__$seqval"], r["__$operation"], r["id"], r["__$column_name"]):
        (r["__$old_value"], r["__$new_value"]) for r in found
    } == expected  # fmt: skip
    assert len(found) == len(expected) > 100
    assert None not in {row["__$commit_time"] for row in found}


def shown(value: Any) -> str | None:
    """A value as get_column_changes shows it."""
    known = {b"\x01\x02\x03": "AQID", b"\xff": "/w=="}
    if value is None:
        return None
    if isinstance(value, bytes):
        return known[value]
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".")
    return str(value)


def test_change_feed_and_commit_times(
    story: Capture, mapping: list[MappingRow], changes: list[ChangeRow], bounds: tuple[str, str]
) -> None:
    window = f"'dbo_items', '{bounds[0]}', '{bounds[1]}'"
    feed, timed, net = rows(
        story,
        [
            f"change_feed({window})",
            f"get_all_changes({window}, 'all update old', with_commit_time=true)",
            f"get_net_changes({window}, with_commit_time=true)",
        ],
    )
    types = {1: "delete", 2: "insert", 3: "update_preimage", 4: "update_postimage"}
    times = {row.start_lsn: row.tran_end_time for row in mapping}
    names = [name for name, _ in ITEMS.columns]
    extra = ["_change_type", "_commit_version", "_commit_timestamp"]
    assert list(feed[0].asDict()) == [*names, *extra]
    assert sorted(
        repr(
            (
                r["_commit_version"],
                r["_change_type"],
                utc(r["_commit_timestamp"]),
                plain_values(r, ITEMS),
            )
        )
        for r in feed
    ) == sorted(
        repr((r.start_lsn, types[r.operation], times[r.start_lsn], r.values)) for r in changes
    )
    assert len(timed) == len(changes)
    for row in [*timed, *net]:
        assert utc(row["__$commit_time"]) == times[row["__$start_lsn"]]


def test_two_sessions_ask_at_once(story: Capture, bounds: tuple[str, str]) -> None:
    """Functions are looked up in the catalog: any session has them, and many may ask."""
    low, high = bounds
    queries = [
        f"select * from {story.schema}.fn_cdc_get_all_changes_dbo_items('{low}', '{high}', 'all')",
        f"select * from {story.schema}.fn_net_changes_dbo_items()",
        f"select {story.schema}.fn_cdc_map_time_to_lsn('largest less than', '{NOON:%Y-%m-%d}')",
    ] * 3

    def ask(query: str) -> list[str]:
        session = story.project.spark.newSession()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        return sorted(map(repr, session.sql(query).collect()))

    with ThreadPoolExecutor(len(queries)) as pool:
        found = list(pool.map(ask, queries))
    assert found[:3] == found[3:6] == found[6:]
    assert found[0] == sorted(map(repr, story.sql(queries[0])))


@pytest.mark.more
def test_when_the_low_end_was_raised(story: Capture, mapping: list[MappingRow]) -> None:
    """As cleanup raises it: by LSN and by time, macros and functions refuse what is below."""
    mark = mapping[20]
    before = max(row.tran_end_time for row in mapping[:20])
    story.sql(f"update {{schema}}.change_tables set start_lsn = '{mark.start_lsn}'")
    story.sql(f"delete from {{schema}}.dbo_items_ct where `__$start_lsn` < '{mark.start_lsn}'")
    story.land(Commits(9, 0x2000).records([NOON + timedelta(hours=1)]))
    story.run()
    low, high, end = values(
        story,
        ["get_min_lsn('dbo_items')", "get_max_lsn()", "map_lsn_to_time(dbt_cdc.get_max_lsn())"],
    )
    assert low == mark.start_lsn
    assert end == "2024-03-01 13:00:00"
    below = decrement_lsn(low)
    function = "select * from {schema}.fn_"
    for query in (
        f"{function}cdc_get_all_changes_dbo_items('{below}', '{high}', 'all')",
        f"{function}all_changes_dbo_items({text(before - timedelta(seconds=1))})",
        f"{function}net_changes_dbo_items({text(before - timedelta(seconds=1))}, '{end}')",
    ):
        with pytest.raises(Exception, match=r"CDC 313: .* low end"):
            story.sql(query)
    kept = [row["__$start_lsn"] for row in story.sql("select * from {schema}.dbo_items_ct")]
    calls = ["all_changes_between('dbo_items', row_filter_option='all update old')",
             f"get_all_changes('dbo_items', '{low}', '{high}', 'all update old')"]  # fmt: skip
    for found in rows(story, calls):
        assert len(found) == len(kept)
    assert len(story.sql(f"{function}all_changes_dbo_items({text(before)})")) <= len(kept)
