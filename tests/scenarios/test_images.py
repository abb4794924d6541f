"""Every spelling of every type, in single records: the statement reads them as the reference does.

The error that stops it is made false here: the bad image leaves no row.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest
from capturing import LOG_DDL, Capture, change_row
from harness import Project, compiled
from reference.capture import CaptureInstance, ChangeRow, capture
from reference.log import BadRecord, LogRecord, int_to_lsn

pytestmark = pytest.mark.slow

ERROR = "raise_error("
CHECK, BAD = "if(is_misfit, ", "is_misfit and if(is_misfit, "
NUMBERS = [
    "0", "-0", "1", "-1", "12", "007", "12.50", "-0.0", "1.0", "1e2", "1E-2", "127", "128", "-129",
    "255", "32768", "2147483648", "9007199254740993", "9223372036854775807", "9223372036854775808",
    "0.1", "0.125", "0.12345678901234567890", "99999.99", "999999.999", "1e400", "-1e400", "5e-324",
    "12345678901234567890.123456789012345678", "3.4028236e38", "0E-18", "1.5E-7", "1.00000000E-10",
    "1.000000001E-10", "-1.2E-18", "1E-19", "9007199254740994.0", "-1152921504606847000",
    "1152921504606846976", "1152921504606846977", "0.10000000000000001", "9007199254740993e0",
    "0.10000000000000000555", "123456789012345670", "18446744073709552000", "100000000000000000000",
    "1" + "0" * 38, "-9223372036854775808", "432435.62", "432435.63", "2234752.2", "155.26562",
    "155.26563", "5.0E-4", "1.0E-6", "1.0E-7",
]  # fmt: skip
WORDS = [
    "", " ", "a", "true", "false", "null", "NaN", "Infinity", "-Infinity", "{", "[1]",
    '\\"v\\":1.50',
    "\\ud800", "?\\uDFFF\\ud83d", "\\uD83D\\ude00?", "\\\\ud800?",
    "\\u0041", "\\\\", "é", "AP/+", "AP\\/+", "AP8=", "x" * 21, "ab   ", "yes", "0x1F",
    "2024-02-29", "2024-2-9", "2024-02-30", "2024", "12:30", "20:24:00", "2024-02-29T12:00:00",
    "2024-02-29 12:00:00.123456", "2024-02-29T12:00:00Z", "2024-02-29T23:30:00-03:00",
    "2024-02-29T00:00:00", "1000-01-01", "9999-12-31 23:59:59.999999", "now", "today",
    "1,5", "1,234.50", "1.234,50", "1'234", "1\u2019234", "1 5", "1\u00a05", "1\u202f5", " 1.5",
    "1.5 ", "\u221e",
]  # fmt: skip
RAW = [
    "null",
    "true",
    "false",
    "{}",
    "[]",
    '{"v":"x"}',
    '{"v":1.50}',
    '{"a":"\u2028","v":1.50}',
    "[1.5,2]",
    "NaN",
    "Infinity",
    "01",
    "+1",
]
VALUES = [
    *NUMBERS, *(f'"{text}"' for text in NUMBERS), *(f'"{text}"' for text in WORDS), *RAW,
]  # fmt: skip
IMAGES = [
    *(f'{{"id":1,"v":{value}}}' for value in VALUES),
    *(f'{{"id": 1, "v": {value}}}' for value in ("1", '"1.00"', "null", '"a"', '"2024-02-29"')),
    '{"id":1}', '{"id":1,"V":1}', '{"id":1,"v" :1}', '{"v":2.0}', "{}", "[]", "null", "", "1", "{",
    '{"id":1,"x":{"v":"1.00"},"v":1.005}', '{"id":1,"x":{"v":null}}', '{"id":1,"x":[{"v":"a"}]}',
    '{"id":1,"x": {"v":null}}', '{"id":1,"x":"{\\"v\\":null}"}', '{"id":1,"x":"a:{","v":1}',
    '{"id":1,"x\\"v":1}', '{"id":1,"v":1.50,"x":{"v":1.5}}', '{"id":1,"x":{"v":1.5},"v":1.50}',
    '{"id":1,"x":{"v":0},"v":-0}', '{"id":1,"v":{"v":1.5},"x":{"v":{"v":1.50}}}',
    '{"id": 1, "v": {"a": "In progress"}}',
    '{"id":1,"v":1.5 }', '{"id":1,"v":0\n}', '{"id":1,"v":"1.5","x":{"v":1.5}}',
    '{"id":1,"x\\"w":"\\ud800","v":"?\\u0041"}', '{"v":"\\\\","id":1,"x":"\\ud800"}',
    '{"id":1,"v":16777217}', '{"id":1,"v":0.1}', '{"id":1,"v":0.1234567890123}',
    '{"id":10000000,"v":5.0E-4}', '{"id":10000000,"v":1.0E-6}', '{"id":1,"v":5.00000000000001E-4}',
    '{"id":1,"v":5.000000000000001E-4}', '{"id":1,"v":1.0000000000001E-6}', '{"id":1,"v":1.0E-20}',
    '{"id":1,"v":1} ', '{"id":1,"v":1}x', '{"id":1,"v":1},{"id":1,"v":1}', '\n{"id":1,\n"v":1}',
]  # fmt: skip
TYPES = [
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(5,2)",
    "decimal(38,18)", "decimal(10,0)", "decimal(12,4)", "decimal(38,6)", "string", "varchar(20)",
    "char(4)", "binary", "date", "timestamp",
]  # fmt: skip
INSTANCES = {
    data_type: CaptureInstance(
        "dbo", f"t{n}", f"dbo_t{n}", (("id", "int"), ("v", data_type)), ("id",)
    )
    for n, data_type in enumerate(TYPES)
}
# Here the statement reads some spellings that the reference refuses: 2024-2-9, a date with a time
# of midnight, digits as base64.
LENIENT = ("binary", "date", "timestamp")
# What the statement refuses though the reference reads it: numbers in quotes, 1.0 as an integer,
# numbers with a fraction and nested ones as texts, booleans as texts or numbers, some exponents.
REFUSED_TOO = defaultdict(
    lambda: "never",
    {
        **dict.fromkeys(("string", "varchar", "char"), r"(-?\d+[.eE]|-0|[{\[].*\d[.eE])"),
        **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), r'("|-?\d+[.eE])'),
        **dict.fromkeys(("float", "double"), '"'),
        "boolean": '["01]',
        "decimal": r'("-?\d+e|"[+])',
    },
)
GOOD, OTHER = '{"id":1,"v":null}', '{"id":1,"v":1}'


def single_records(table: str) -> list[list[LogRecord]]:
    """One small log for each case: the image inserted, deleted, and on both sides of an update."""
    logs, numbers = [], itertools.count(1)
    for image in IMAGES:
        for operation, before, after in (
            ("INSERT", None, image), ("DELETE", image, None), ("UPDATE", image, GOOD),
            ("UPDATE", GOOD, image), ("UPDATE", image, image), ("UPDATE", image, OTHER),
        ):  # fmt: skip
            lsn, commit = int_to_lsn(next(numbers)), int_to_lsn(next(numbers))
            change = LogRecord(lsn, lsn, operation, None, "dbo", table, before, after)
            logs.append([change, LogRecord(commit, lsn, "COMMIT", None)])
    return logs


def wanted(log: list[LogRecord], instance: CaptureInstance) -> list[ChangeRow] | None:
    """None for a record that stops the scan."""
    try:
        return capture(log, instance)
    except BadRecord:
        return None


def compiled_reads(
    make_project: Callable[..., Project], instances: list[CaptureInstance], **more: str
) -> Iterator[tuple[Capture, dict[str, str]]]:
    """The text of each instance's statement over a view `one_log`; while it is used Spark compiles,
    as it does for users."""
    models = {
        f"read_{instance.capture_instance}.sql": "-- {{ ref('raw_log') }}\n"
        "{% if execute %}{{ dbt_cdc._change_rows("
        f"dbt_cdc._find_instance('{instance.capture_instance}'),"
        " dict(dbt_cdc._no_window(), to_lsn='0x' ~ 'F' * 20, log='one_log',"
        " transactions_relation='one_transactions')"
        ") }}{% endif %}"
        for instance in instances
    }
    target = Capture(make_project, instances, models={**models, **more})
    target.project.ok("compile", "--select", "read_*")
    folder = target.project.folder / "target" / "compiled" / "shop" / "models"
    texts = {name: (folder / name).read_text(encoding="utf-8").rstrip() for name in models}
    with compiled(target.project.spark):
        yield target, texts
    target.project.spark.conf.set("spark.sql.ansi.enabled", True)


@pytest.fixture(scope="module")
def statements(make_project: Callable[..., Project]) -> Iterator[tuple[Capture, dict[str, str]]]:
    yield from compiled_reads(make_project, list(INSTANCES.values()))


def found(
    target: Capture, statement: str, instance: CaptureInstance, logs: list[list[LogRecord]]
) -> list[list[ChangeRow]]:
    """The rows of each of the small logs."""
    spark = target.project.spark
    records = [record for log in logs for record in log]
    rows = [tuple(getattr(r, name.split()[0]) for name in LOG_DDL.split(", ")) for r in records]
    spark.createDataFrame(rows, LOG_DDL).coalesce(1).createOrReplaceTempView("one_log")
    spark.createDataFrame(
        [("0x" + "F" * 20, log[0].lsn, log[0].lsn, log[1].lsn) for log in logs],
        "window_to_lsn string, tran_id string, begin_lsn string, commit_lsn string",
    ).coalesce(1).createOrReplaceTempView("one_transactions")
    by_lsn: dict[str, list[ChangeRow]] = {}
    for row in (change_row(row, instance) for row in spark.sql(statement).collect()):
        by_lsn.setdefault(row.seqval, []).append(row)
    return [sorted(by_lsn.get(log[0].lsn, []), key=lambda row: row.order) for log in logs]


@pytest.mark.parametrize(
    "is_ansi", [pytest.param(False, marks=pytest.mark.more), True], ids=["", "ansi"]
)
@pytest.mark.parametrize("data_type", TYPES)
def test_every_spelling(
    statements: tuple[Capture, dict[str, str]], data_type: str, is_ansi: bool
) -> None:
    """What is read is what the reference reads; else refused, as are some odd spellings."""
    target, texts = statements
    instance = INSTANCES[data_type]
    text = texts[f"read_{instance.capture_instance}.sql"]
    assert text.count(ERROR) == text.count(CHECK) == 1
    logs, read = single_records(instance.source_name), 0
    target.project.spark.conf.set("spark.sql.ansi.enabled", is_ansi)
    rows_of_logs = found(target, text.replace(ERROR, "isnull("), instance, logs)
    bad = text.replace(CHECK, BAD).replace(ERROR, "isnotnull(")
    bad_rows = target.project.spark.sql(f"select `__$seqval` from ({bad})").collect()
    refused = {row[0] for row in bad_rows}
    for log, rows in zip(logs, rows_of_logs, strict=True):
        expected = wanted(log, instance)
        if log[0].lsn in refused:
            spelling = rf'"v"\s*:\s*{REFUSED_TOO[data_type.split("(")[0]]}'
            images = f"{log[0].before_image}{log[0].after_image}"
            assert not expected or re.search(spelling, images), log[0]
        elif expected is not None or data_type not in LENIENT:
            assert rows == expected, log[0]
            read += bool(rows)
    assert read >= 10


def upper_case(text: str) -> str:
    """JSON with escapes in upper-case digits, as .NET writes it; it escapes some signs, too."""
    text = re.sub(r"\\u....", lambda found: "\\u" + found[0][2:].upper(), text)
    return re.sub("[&<>+='`]", lambda found: f"\\u00{ord(found[0]):02X}", text)


@pytest.mark.parametrize(
    "write",
    [
        lambda key: json.dumps(key, ensure_ascii=False),
        json.dumps,
        lambda key: upper_case(json.dumps(key)),
        lambda key: json.dumps(key).replace("/", "\\/").replace('\\"x', "\\u0022x"),
    ],
    ids=["plain", "ascii", "upper", "slashes"],
)
def test_a_key_in_escapes(make_project: Callable[..., Project], write: Callable[..., str]) -> None:
    """However its key is written, a value is read exactly or refused."""
    text, number, ratio = "é🎉&+=\t", 'ü/"x\\', "<ß>\n\x02"
    columns = (("id", "int"), (text, "string"), (number, "decimal(9,2)"), (ratio, "double"))
    instance = CaptureInstance("dbo", "odd", "dbo_odd", columns, ("id",))
    good = ['"1.50"', "1.25", "1e-3"]
    cases = [good, ['{"a":1}', "1.250", '"NaN"'], *(
        [value if n == place else other for n, other in enumerate(good)]
        for place, values in enumerate(
            (["1.50", "-0", "[1.50]", '"\\uD800"'], ["1.00000000000000000001", "1e-30"], ["1e400"])
        )
        for value in values
    )]  # fmt: skip
    logs = []
    for case, values in enumerate(cases):
        pairs = zip((text, number, ratio), values, strict=True)
        image = ", ".join(f"{write(name)}: {value}" for name, value in pairs)
        lsn, commit = int_to_lsn(2 * case + 1), int_to_lsn(2 * case + 2)
        change = LogRecord(lsn, lsn, "INSERT", None, "dbo", "odd", None, f'{{"id": 1, {image}}}')
        logs.append([change, LogRecord(commit, lsn, "COMMIT", None)])
    for target, texts in compiled_reads(make_project, [instance]):
        (statement,) = texts.values()
        rows = found(target, statement.replace(ERROR, "isnull("), instance, logs)
        assert [bool(found_rows) for found_rows in rows] == [True, True] + [False] * 7
        assert rows[:2] == [capture(log, instance) for log in logs[:2]]
