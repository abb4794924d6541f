"""Odd shapes: of tables, names, values, JSON, logs and declarations."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from capturing import Capture, instance_yaml, plain_values
from harness import Project, compiled
from pyspark.sql import SparkSession
from reference import query
from reference.capture import CaptureInstance, capture
from reference.log import UTC, LogRecord, int_to_lsn
from statements import dying_at, recorded

pytestmark = pytest.mark.slow

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
FIRST, LAST = int_to_lsn(1), "0x" + "F" * 20


class Log:
    """A log that is written record by record; images are JSON text or dictionaries."""

    def __init__(self, start: int = 1) -> None:
        self.next, self.records, self.landed = start, [], 0

    def write(self, operation: str, tran_id: str | None = "t", **columns: Any) -> str:
        """Appends a record; gives its LSN."""
        columns.setdefault("lsn", int_to_lsn(self.next))
        columns.setdefault("record_time", NOON)
        for which in ("before_image", "after_image"):
            if isinstance(columns.get(which), dict):
                columns[which] = json.dumps(columns[which], ensure_ascii=False)
        self.next += 1
        self.records.append(LogRecord(tran_id=tran_id, operation=operation, **columns))
        return columns["lsn"]

    def change(self, table: str, before: Any = None, after: Any = None, tran_id: str = "t") -> str:
        """One row change of table 'dbo.<table>'."""
        operation = "INSERT" if before is None else "DELETE" if after is None else "UPDATE"
        return self.write(
            operation, tran_id, source_schema="dbo", source_name=table,
            before_image=before, after_image=after,
        )  # fmt: skip

    def commit(self, seconds: float = 0, tran_id: str = "t") -> str:
        """Commits so many seconds after noon."""
        return self.write("COMMIT", tran_id, record_time=NOON + timedelta(seconds=seconds))

    def land(self, target: Capture) -> None:
        """What is new goes into the project's log."""
        new, self.landed = self.records[self.landed :], len(self.records)
        target.land(new)


def instance(table: str, columns: dict[str, str], *key: str, name: str | None = None):
    return CaptureInstance("dbo", table, name or f"dbo_{table}", (*columns.items(),), key)


def check(target: Capture, log: Log, instances: list[CaptureInstance] | None = None) -> None:
    """The change tables are those of the reference."""
    for each in instances or target.instances:
        wanted = capture(log.records, each)
        assert wanted
        assert target.changes(each) == wanted


# --- tables, names and values: one project, one run ---------------------------------------------

ODD = ["a b", "$x", "select", "Upper", "naïve", "🎉", "a.b", "back`tick", 'quo"te', "it's",
       "back\\slash", "a,b", "a;b", "{b}", "(p)", "a=b", "tab\tx", "new\nline", "日本",
       "__$x", "#x", "\x0b\x0c\u2028x"]  # fmt: skip
SIZES = {n: instance(f"wide{n}", {f"c{i}": "int" for i in range(n)}, "c0") for n in (1, 8, 9)}
NAMES = instance(
    "odd", {name: ("string", "decimal(9,2)", "int")[i % 3] for i, name in enumerate(ODD)},
    "select", "a b",
)  # fmt: skip
VALUES = instance(
    "vals",
    {"id": "int", "s": "string", "d": "decimal(38,18)", "big": "bigint", "ts": "timestamp",
     "f": "float", "g": "double", "raw": "binary", "v": "varchar(10)"},
    "id",
)  # fmt: skip
HEAP = instance("heap", {"s": "string", "n": "int"})
PAIRS = instance("pairs", {"a": "int", "b": "string", "n": "int"}, "b", "a")
UPPER = CaptureInstance(
    "HumanResources", "Department", "HumanResources_Department", (("DepartmentID", "int"),),
    ("DepartmentID",),
)  # fmt: skip
TEXTS = ["", " ", "'", '"', "\\", "\\n", "a\nb\r\nc\td", "🎉👩‍👩‍👧é日本語", "null",
         "\u0000\u0001\u2028",
         "{}", "\\u0041", "%s $1 {{ x }}", "x" * 1_000_000]  # fmt: skip
JSONS = [
    '{"id": 100, "s": "\\u00e9\\ud83c\\udf89\\/\\b"}',
    '{"\\u0069d": 101, "\\u0073": "by an escaped key"}',
    ' {\n\t"id" :\r101000 , "s":"white space"  } ',
    '{"v": "x", "s": "other order", "id": 102}',
    '{"id": 1, "s": "first", "id": 103, "s": "the last of two counts"}',
    '{"id": 104, "s": {"b": [1, {"c": null}], "a": "é \\" }"}}',
    '{"id": 105, "s": [1, 2, [], {}]}',
    '{"id": 106, "s": "12.50", "v": 1}',
    '{"id": 107, "s": "1e5", "v": 100}',
    '{"id": 108, "s": 12345678901234567890123456789, "v": true}',
    '{"id": 109, "s": "{\\"id\\": 1.50}", "v": "\\"d\\":1.50"}',
    '{"id": 110, "big": 9007199254740993, "d": "1E2"}',
    '{"id": 111, "s": null, "other": {"id": 12.50}, "S": "another column"}',
    '{"id": 112 , "s": "whole", "d": 1E2}',
]


def as_is(row: dict[str, Any]) -> dict[str, Any]:
    return row


@pytest.fixture(scope="module")
def shapes(make_project: Callable[..., Project]) -> tuple[Capture, Log]:
    instances = [*SIZES.values(), NAMES, VALUES, HEAP, PAIRS, UPPER]
    target, log = Capture(make_project, instances), Log()
    for size in SIZES:
        row = {f"c{i}": i for i in range(size)}
        changed = {**row, f"c{size - 1}": -1}
        log.change(f"wide{size}", None, row)
        log.change(f"wide{size}", row, changed)
        log.change(f"wide{size}", changed)
    odd = {name: i if i % 3 else f"text {i}" for i, name in enumerate(ODD)}
    odd["select"] = 7
    log.change("odd", None, odd)
    for name in ODD:  # each bit of the mask, and changes of the key
        new = {**odd, name: "new" if NAMES.columns[ODD.index(name)][1] == "string" else 1000}
        log.change("odd", odd, {name: new[name]})
        odd = new
    log.change("odd", odd)
    for number, text in enumerate(TEXTS):
        row = {"id": number, "s": text}
        log.change("vals", None, row)
        log.change("vals", row, {**row, "s": text + "!"})
    for text in JSONS:
        log.change("vals", None, text)
    exact = "12345678901234567890.123456789012345678"
    for number, (column, values) in enumerate({
        "d": [exact, f'"{exact}"', f"-{exact}", "0.000000000000000001", "99999999999999999999.5"],
        "big": ["9007199254740993", "-9223372036854775808", "9223372036854775807"],
        "ts": ['"2024-02-29T12:00:00.123456Z"', '"1969-12-31 23:59:59.999999"',
               '"2024-02-29T12:00:00.120000+02:00"', '"1900-01-01"'],
        "f": ["3.25", '"NaN"', '"Infinity"', '"-Infinity"', "1e-45", "0", "-0.0"],
        "g": ["0.1", '"NaN"', "5e-324", "1.7976931348623157e308", '"-Infinity"',
              "9007199254740992"],
        "raw": ['""', '"AP/+"'],
    }.items()):  # fmt: skip
        for index, value in enumerate(values):
            row = f'{{"id": {200 + 20 * number + index}, "{column}": {value}}}'
            log.change("vals", None, row)
            log.change("vals", row, row.replace(value, "null"))
    for n in (1, 1, None):
        log.change("heap", None, {"s": "twice", "n": n})
        log.change("heap", None, {"s": "twice", "n": n})
    log.change("heap", {"s": "twice", "n": 1}, {"s": "twice", "n": 2})
    log.change("heap", {"s": "twice", "n": 1})
    for key in ({"a": 1, "b": "x"}, {"a": None, "b": "x"}, {"a": None, "b": None}):
        log.change("pairs", None, {**key, "n": 1})
        log.change("pairs", {**key, "n": 1}, {**key, "n": 2})
    log.change("pairs", {"a": None, "b": None, "n": 2}, {"a": None, "b": "", "n": 2})
    source = {"source_schema": "HumanResources", "source_name": "Department"}
    log.write("INSERT", after_image={"DepartmentID": 1}, **source)
    log.write("INSERT", after_image={"departmentid": 2}, **source)  # another key, so none
    log.commit()
    log.land(target)
    with compiled(target.project.spark):
        target.run()
    return target, log


@pytest.mark.parametrize(
    "each", [*SIZES.values(), NAMES, VALUES, HEAP, PAIRS, UPPER], ids=lambda i: i.source_name
)
def test_change_tables_of_any_shape(shapes: tuple[Capture, Log], each: CaptureInstance) -> None:
    target, log = shapes
    found, wanted = target.changes(each), capture(log.records, each)
    for row, wanted_row in zip(found, wanted, strict=True):
        assert row == wanted_row


@pytest.mark.more
@pytest.mark.parametrize("each", [SIZES[9], NAMES, PAIRS, UPPER], ids=lambda i: i.source_name)
def test_functions_of_any_shape(shapes: tuple[Capture, Log], each: CaptureInstance) -> None:
    target, log = shapes
    rows = capture(log.records, each)
    end, name = rows[-1].start_lsn, each.capture_instance.lower()
    ends = {"min_lsn": FIRST, "max_lsn": end}
    found = target.call(f"fn_cdc_get_all_changes_{name}", FIRST, end, "all update old")
    assert sorted(repr(plain_values(row, each)) for row in found) == sorted(
        repr(row.values) for row in rows
    )
    assert list(found[0].asDict())[4:] == list(each.names)
    found = target.call(f"fn_cdc_get_net_changes_{name}", FIRST, end, "all with mask")
    wanted = query.get_net_changes(rows, each, FIRST, end, "all with mask", **ends)
    assert sorted(
        (r["__$operation"], str(r["__$update_mask"]), repr(plain_values(r, each))) for r in found
    ) == sorted((w.operation, str(w.update_mask), repr(w.values)) for w in wanted)
    low = target.sql(f"select {{schema}}.fn_cdc_get_min_lsn('{each.capture_instance.upper()}')")
    assert low[0][0] == FIRST


def test_files_have_statistics_of_start_lsn_alone(shapes: tuple[Capture, Log]) -> None:
    """Windows skip files by it; nobody reads those of the other columns."""
    target, _ = shapes
    location = target.project.sql("describe detail {schema}.dbo_vals_ct")[0].location
    actions = target.project.spark.read.json(f"{location}/_delta_log/*.json")
    added = actions.where("add is not null").select("add.stats").collect()
    statistics = [json.loads(row.stats) for row in added]
    assert statistics
    for found in statistics:
        assert found["numRecords"] > 0
        for part in ("minValues", "maxValues", "nullCount"):
            assert list(found[part]) == ["__$start_lsn"], found


@pytest.mark.more
def test_metadata_of_odd_names(shapes: tuple[Capture, Log]) -> None:
    target, _ = shapes
    for table, names in {
        "captured_columns": list(NAMES.names),
        "index_columns": ["select", "a b"],
    }.items():
        ordinal = "column_ordinal" if table == "captured_columns" else "index_ordinal"
        rows = target.sql(
            f"select column_name from {{schema}}.{table} where object_id = (select object_id"
            f" from {{schema}}.change_tables where source_name = 'odd') order by {ordinal}"
        )
        assert [row.column_name for row in rows] == names
    rows = target.sql("select capture_instance from {schema}.change_tables")
    assert "HumanResources_Department" in {row.capture_instance for row in rows}


@pytest.fixture
def compiled_statements(spark: SparkSession) -> Iterator[None]:
    """Spark compiles, as it does for users: wide code meets Java's limits."""
    with compiled(spark):
        yield


@pytest.mark.soak
def test_1024_columns(make_project: Callable[..., Project], compiled_statements: None) -> None:
    types = ("int", "string", "decimal(9,2)")
    wide = instance("wide", {f"column {i}": types[i % 3] for i in range(1024)}, "column 0")
    target, log = Capture(make_project, [wide]), Log()
    row = {f"column {i}": i for i in range(1024)}
    log.change("wide", None, row)
    changed = {**row, "column 7": 8, "column 1023": -1}
    log.change("wide", row, changed)
    log.change("wide", changed, {"column 0": 5})
    log.commit()
    log.land(target)
    started = time.monotonic()
    target.run()
    print(f"\n1024 columns: first run {time.monotonic() - started:.0f} s")
    check(target, log)
    log.change("wide", {**changed, "column 0": 5})
    last = log.commit()
    log.land(target)
    started = time.monotonic()
    target.run()
    print(f"1024 columns: next run {time.monotonic() - started:.0f} s")
    check(target, log)
    started = time.monotonic()
    net = target.call("fn_cdc_get_net_changes_dbo_wide", FIRST, last, "all with mask")
    print(f"1024 columns: net changes {time.monotonic() - started:.0f} s")
    assert [r["__$operation"] for r in net] == []


# --- bad records: a table each, one run ---------------------------------------------------------

GOOD = '{"id": 1}'
BAD: dict[str, tuple[str | None, str | None, str]] = {
    "garbage": (None, '{"id": 1} x', "no JSON object"),
    "twice": (None, '{"id": 1}{"id": 2}', "no JSON object"),
    "list": (None, '[{"id": 1}]', "no JSON object"),
    "cut": (GOOD, '{"id": 1, "s": "x', "no JSON object"),
    "quotes": (None, "{'id': 1}", "no JSON object"),
    "digits": (None, '{"id": 1, "d": 1.001}', "1.001"),
    "nested": (None, '{"id": 1, "s": {"x": 1.50}}', "as JSON strings only"),
    "range": (None, '{"id": 2147483648}', "2147483648"),
    "nan": (None, '{"id": 1, "d": "NaN"}', "NaN"),
    "lacks": ('{"s": "x"}', '{"id": 1, "s": "y"}', "lacks"),
    "date": (None, '{"id": 1, "day": "2024-02-30"}', "2024-02-30"),
}


@pytest.mark.soak
def test_bad_records_name_table_column_and_lsn(make_project: Callable[..., Project]) -> None:
    columns = {"id": "int", "s": "string", "d": "decimal(9,2)", "day": "date"}
    instances = [instance(name, columns, "id") for name in [*BAD, "gone"]]
    target, log = Capture(make_project, instances), Log()
    lsns = {name: log.change(name, before, after) for name, (before, after, _) in BAD.items()}
    source = {"source_schema": "dbo", "source_name": "gone"}
    lsns["gone"] = log.write("DELETE", **source)
    log.commit()
    log.land(target)
    result = target.project.dbt("run")
    assert not result.success
    for name, text in {
        **{n: t for n, (_, _, t) in BAD.items()},
        "gone": "replica identity full",
    }.items():
        message = result.messages[f"dbo_{name}_ct"].message
        for part in ("CDC 22859", f"dbo.{name}", lsns[name], "column ", text, "run again"):
            assert part in message, message
    assert "\tat " not in result.output
    assert "validity_intervals" not in {r.tableName for r in target.sql("show tables in {schema}")}
    for name in [*BAD, "gone"]:
        assert not target.sql(f"select * from {{schema}}.dbo_{name}_ct")


# --- SQL around change_table() ------------------------------------------------------------------

FILES = "{{ config(tblproperties={'delta.dataSkippingStatsColumns': 'id', 'by': 'us'}) }}"
EDITS = {
    "few": FILES + "select * from ({{ dbt_cdc.change_table() }}) where n > 1",
    "more": "select *, 1 as extra from ({{ dbt_cdc.change_table() }})",
    "less": "select * except (n) from ({{ dbt_cdc.change_table() }})",
    "moved": "select n, * except (n) from ({{ dbt_cdc.change_table() }})",
    "rounded": "select * except (n), n * 1.5 as n from ({{ dbt_cdc.change_table() }})",
    "masked": "select * except (n), null as n from ({{ dbt_cdc.change_table() }})",
}
EDITED = [instance(name, {"id": "int", "n": "int"}, "id") for name in EDITS]


@pytest.mark.more
def test_sql_around_change_table(make_project: Callable[..., Project]) -> None:
    """A filter counts, an order of columns does not; other columns, and types that would be cut,
    are refused, nothing written."""
    models = {f"dbo_{name}_ct.sql": text for name, text in EDITS.items()}
    target, log = Capture(make_project, EDITED, models=models), Log()
    for name in EDITS:
        for n in (1, 2):
            log.change(name, None, {"id": n + 10, "n": n})
    log.commit()
    log.land(target)
    result = target.project.dbt("run")
    rows = {i.source_name: [row.values for row in target.changes(i)] for i in EDITED}
    refused = {name: [] for name in ("more", "less", "rounded")}
    masked = [(11, None), (12, None)]
    assert rows == {"few": [(12, 2)], **refused, "moved": [(11, 1), (12, 2)], "masked": masked}
    properties = {
        row.key: row.value for row in target.sql("show tblproperties {schema}.dbo_few_ct")
    }
    assert (properties["delta.dataSkippingStatsColumns"], properties["by"]) == ("id", "us")
    for name, found in {"more": "id, n, __$command_id, extra", "less": "id, __$command_id"}.items():
        message = result.messages[f"dbo_{name}_ct"].message
        for part in ("CDC 22942", f"__$update_mask, {found} where", "_mask, id, n, __$command_id"):
            assert part in message, message
    message = result.messages["dbo_rounded_ct"].message
    assert "CDC 22942" in message and "gives column n as decimal(13,1)" in message, message
    for name in list(EDITS)[1:]:
        (target.project.folder / "models" / f"dbo_{name}_ct.sql").unlink()
    target.project.write("models/instances.yml", instance_yaml(EDITED[:1]))
    target.run()
    published = mapping(target)
    for n in (1, 3):  # a transaction of which the filter leaves nothing has no entry
        log.change("few", None, {"id": n + 20, "n": n})
        log.commit()
    log.land(target)
    target.run()
    assert len(mapping(target)) == len(published) + 1


# --- logs ---------------------------------------------------------------------------------------

T = instance("t", {"id": "int", "n": "int"}, "id")


@pytest.fixture(scope="module")
def plain(make_project: Callable[..., Project]) -> Capture:
    return Capture(make_project, [T])


def mapping(target: Capture) -> list[tuple[str, str]]:
    rows = target.sql("select start_lsn, tran_id from {schema}.lsn_time_mapping order by start_lsn")
    return [(row.start_lsn, row.tran_id) for row in rows]


def high_end(target: Capture) -> str:
    return target.sql("select {schema}.fn_cdc_get_max_lsn()")[0][0]


@pytest.mark.soak
def test_quiet_logs_and_heartbeats(plain: Capture) -> None:
    plain.clear()
    log = Log()
    assert "nothing to capture" in plain.run().output  # an empty log
    log.write("BEGIN")
    log.change("t", None, {"id": 1})
    log.land(plain)
    assert "nothing to capture" in plain.run().output  # a log without commits
    assert mapping(plain) == []
    first = log.commit(0)
    log.land(plain)
    plain.run()
    assert mapping(plain) == [(first, "t")]
    assert "nothing to capture" in plain.run().output  # a quiet database
    # Only other tables' commits. Golden sample G31: last entry 12:00:00, none at 12:04:59 nor
    # 12:05:00, one at 12:05:01.
    for seconds in (299, 300):
        log.change("other", None, "{broken")
        log.commit(seconds)
        log.land(plain)
        plain.run()
        assert mapping(plain) == [(first, "t")]
        assert high_end(plain) == first
    log.change("other", None, {"x": 1})
    heartbeat = log.commit(301)
    log.land(plain)
    plain.run()
    assert mapping(plain) == [(first, "t"), (heartbeat, "0x00")]
    assert high_end(plain) == heartbeat
    row = plain.sql(f"select * from {{schema}}.lsn_time_mapping where start_lsn = '{heartbeat}'")[0]
    assert (
        row.tran_end_time
        == row.tran_begin_time
        == NOON.replace(tzinfo=None) + timedelta(seconds=301)
    )
    assert row.tran_begin_lsn == int_to_lsn(0)
    assert plain.call("fn_cdc_get_all_changes_dbo_t", heartbeat, heartbeat, "all") == []
    assert "nothing to capture" in plain.run().output
    instant = []
    for number in (2, 3):  # several commits at one instant
        log.change("t", None, {"id": number})
        instant.append((log.commit(400), "t"))
    log.land(plain)
    plain.run()
    assert mapping(plain)[2:] == instant
    check(plain, log)


def test_commits_of_other_tables_are_heartbeats_each_300_seconds(plain: Capture) -> None:
    """As where the source writes to a heartbeat table every 100 seconds."""
    plain.clear()
    log = Log()
    log.change("t", None, {"id": 1})
    expected = [(log.commit(0), "t")]
    for seconds in range(200, 1200, 200):
        log.change("other", None, {"x": 1})
        log.commit(seconds - 100)
        log.change("other", None, {"x": 2})
        end = log.commit(seconds)
        log.land(plain)
        plain.run()
        if seconds % 400 == 0:
            expected.append((end, "0x00"))
        assert mapping(plain) == expected
        assert high_end(plain) == expected[-1][0]


@pytest.mark.soak
def test_a_log_of_other_tables_only(plain: Capture) -> None:
    plain.clear()
    log = Log()
    log.change("other", None, {"x": 1})
    heartbeat = log.commit()
    log.land(plain)
    with recorded() as statements:
        plain.run()
    assert not [sql for sql in statements if "insert into" in sql and "dbo_t_ct" in sql]
    assert mapping(plain) == [(heartbeat, "0x00")]
    assert plain.call("fn_cdc_get_all_changes_dbo_t", FIRST, heartbeat, "all") == []


@pytest.mark.soak
def test_scan_until(plain: Capture) -> None:
    plain.clear()
    log, commits = Log(0xABC), []
    for number in range(5):
        log.change("t", None, {"id": number})
        commits.append(log.commit(number))
    log.land(plain)
    bounds = {
        commits[0]: commits[0],
        int_to_lsn(int(commits[2], 16) - 1).lower(): commits[1],  # no commit's own LSN
        "2024-02-29 12:00:02": commits[2],
        "2024-02-29T14:00:03.5+02:00": commits[3],
    }
    for bound, end in bounds.items():
        plain.run(vars={"cdc_scan_until": bound})
        assert high_end(plain) == end
    assert "nothing to capture" in plain.run(vars={"cdc_scan_until": commits[0]}).output
    for bad in ("0x12", "yesterday", "2024-02-30", "2024-02-29T12:00:03 PM"):
        result = plain.project.dbt("run", vars={"cdc_scan_until": bad})
        assert not result.success
        assert "CDC 313" in result.output
        assert bad in result.output
    assert high_end(plain) == commits[3]
    plain.run()
    check(plain, log)


@pytest.mark.soak
def test_duplicates(plain: Capture) -> None:
    plain.clear()
    log = Log()
    for number in (1, 2):
        log.change("t", None, {"id": number}, tran_id=f"t{number}")
    twice = log.commit(tran_id="t1")
    log.write("COMMIT", "t2", lsn=twice)
    log.land(plain)
    result = plain.project.dbt("run")
    assert not result.success
    assert "CDC 22859" in result.output
    assert twice in result.output
    assert "commits have this lsn" in result.output
    assert "\tat " not in result.output
    plain.clear()
    log = Log()
    lsn = log.change("t", None, {"id": 1})
    log.records.append(log.records[-1])
    end = log.commit()
    log.land(plain)
    result = plain.project.dbt("run", vars={"cdc_check_duplicates": True})
    assert not result.success
    assert "CDC 22859" in result.output
    assert lsn in result.output
    assert not plain.sql("select * from {schema}.scan_transactions")
    plain.run()  # not asked for, the check is left to the data test
    assert high_end(plain) == end


@pytest.mark.more
def test_backslashes_of_literals_must_be_read(plain: Capture) -> None:
    plain.clear()
    log = Log()
    log.change("t", None, {"id": 1})
    log.commit()
    log.land(plain)
    conf = plain.project.spark.conf
    conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        result = plain.project.dbt("run")
    finally:
        conf.set("spark.sql.parser.escapedStringLiterals", "false")
    assert not result.success
    assert "spark.sql.parser.escapedStringLiterals is true: set it to 'false'" in result.output


@pytest.mark.parametrize("zone", [pytest.param("Europe/Berlin", marks=pytest.mark.more), "+01:00"])
def test_session_time_zone_must_be_utc(plain: Capture, zone: str) -> None:
    plain.clear()
    log = Log()
    log.change("t", None, {"id": 1})
    log.commit()
    log.land(plain)
    if zone == "+01:00":  # also where a window stands open
        plain.run("--select", "+scan_transactions")
    conf = plain.project.spark.conf
    conf.set("spark.sql.session.timeZone", zone)
    try:
        result = plain.project.dbt("run")
    finally:
        conf.set("spark.sql.session.timeZone", "UTC")
    assert not result.success
    assert zone in result.output
    assert "spark.sql.session.timeZone" in result.output
    plain.run()
    check(plain, log)


@pytest.mark.soak
def test_the_log_may_be_a_table_a_view_or_a_source(make_project: Callable[..., Project]) -> None:
    sources = {
        "sources": [
            {"name": "land", "schema": "{{ target.schema }}", "tables": [{"name": "landed"}]}
        ]
    }
    target = Capture(make_project, [T], models={
        "sources.yml": json.dumps(sources),
        "table_log.sql": "{{ config(materialized='table', file_format='delta') }}"
        " select * from {{ target.schema }}.landed",
    })  # fmt: skip
    log = Log()
    for number, vars in enumerate([
        {"cdc_log_model": "raw_log"},
        {"cdc_log_model": None, "cdc_log_source": ["land", "landed"]},
        {"cdc_log_model": "table_log"},
    ]):  # fmt: skip
        log.change("t", None, {"id": number})
        log.commit(number)
        log.land(target)
        target.run(vars=vars)
        check(target, log)
    result = target.project.dbt("run", vars={"cdc_log_model": None})
    assert not result.success
    assert "CDC 22901" in result.output


@pytest.mark.more
@pytest.mark.parametrize("after_a_death", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_late_instances(make_project: Callable[..., Project], after_a_death: bool) -> None:
    """One that starts now, and one that is as if it had been there from the beginning; also in a
    window that a run without them had entered into lsn_time_mapping before it died."""
    target, log = Capture(make_project, [T]), Log()
    commits = []

    def window(number: int) -> None:
        row = {"id": number, "n": 1}
        log.change("t", None, row)
        log.change("t", row, {**row, "n": 2})
        commits.append(log.commit(number))
        log.change("u", None, {"id": number})  # captured by nobody at first
        commits.append(log.commit(number))
        log.change("u", {"id": number}, tran_id=f"long{number}")
        if number:
            commits.append(log.commit(number, tran_id=f"long{number - 1}"))
        log.land(target)

    for number in range(2):
        window(number)
        target.run()
    assert [m[0] for m in mapping(target)] == [commits[0], commits[2]]
    before = high_end(target)
    now = instance("t", {"id": "int"}, "id", name="dbo_t_now")
    late = instance("u", {"id": "int"}, "id")
    if after_a_death:
        window(2)
        with dying_at(lambda sql: "insert into" in sql and "lsn_time_mapping" in sql):
            assert not target.project.dbt("run").success
        assert commits[-3] in [m[0] for m in mapping(target)] and high_end(target) == before
    for each, capture_from in ((now, "now"), (late, "log_start")):
        name = each.capture_instance
        target.project.write(f"models/{name}_ct.sql", "{{ dbt_cdc.change_table() }}")
        target.project.write(f"models/{name}.yml", instance_yaml([each], capture_from=capture_from))
    if not after_a_death:
        window(2)
    target.run()
    assert target.changes(late) == capture(log.records, late)
    assert target.changes(T) == capture(log.records, T)
    found = target.changes(now)
    assert found == [r for r in capture(log.records, now) if r.start_lsn > before]
    assert found
    lows = {
        r.capture_instance: r.low_end
        for r in target.sql("select * from {schema}.validity_intervals")
    }
    assert lows["dbo_t"] == lows["dbo_u"] == FIRST
    assert before < lows["dbo_t_now"] <= found[0].start_lsn
    used = {r.start_lsn for each in (T, late) for r in capture(log.records, each)}
    assert [m[0] for m in mapping(target)] == sorted(used)
    assert len(target.call("fn_cdc_get_all_changes_dbo_u", FIRST, high_end(target), "all")) == len(
        target.changes(late)
    )
    window(3)
    target.run()
    check(target, log, [T, late])
    edited = instance("u", {"id": "smallint"}, "id")
    target.project.write("models/dbo_u.yml", instance_yaml([edited], capture_from="log_start"))
    window(4)
    result = target.project.dbt("run")
    assert not result.success
    for part in ("CDC 22930", "dbo_u", "id int", "id smallint"):
        assert part in result.output
    assert high_end(target) < commits[-1]
    target.project.write("models/dbo_u.yml", instance_yaml([late], capture_from="log_start"))
    target.run()
    check(target, log, [T, late])
