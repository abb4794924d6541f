"""Values that JSON does not tell, in each type that may hold them, as the reference reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest
from capturing import Capture, instance_yaml
from harness import Project
from reference.capture import CaptureInstance
from reference.debezium import decode_value, encode_unscaled
from reference.log import LogRecord, int_to_lsn, parse_json
from reference.values import read_value
from scenarios.test_images import BAD, CHECK, ERROR, compiled_reads, found, wanted
from transactions import Writer

pytestmark = pytest.mark.slow


LARGEST = 10**38 - 1
NUMBERS = [
    0, 1, -1, 127, 128, -128, -129, 99999, 10**6, 12345678901234, 12345678901234567,
    1234567890123456789, 2**53 + 1, 2**53 + 2, 2**63, -(2**63) - 1, 2**64, -(2**64), 2**120,
    LARGEST, -LARGEST,
]  # fmt: skip
TOO_LONG = [f'"{encode_unscaled(n)}"' for n in (10**38, 2**127, 2**140, -(2**135))]
BYTES = [
    '"AAE="',
    '"//8="',
    '"AIA="',
    '"/38="',
    '""',
    '"AA="',
    '"12.50"',
    '"A A="',
    "12",
    "1234",
    '"1234"',
    "123456789012",
    f'"{"A" * 28}"',
    '"x"',
]
DECIMALS = [*(f'"{encode_unscaled(n)}"' for n in NUMBERS), *BYTES]
SCALED = [
    json.dumps({"scale": scale, "value": encode_unscaled(n)})
    for n, scales in (
        *((n, (0, 3, 18)) for n in NUMBERS[:8]),
        (0, (19, 60)), (10**19, (19, 20, 37)), (-15 * 10**20, (20, 22)), (10**18 + 1, (18, 20)),
        (123456789012345678, (6, 18)),
    )
    for scale in scales
]  # fmt: skip
NUMBERED = '{"scale":0,"value":1234}'
TIMES = [
    "0", "-1", "1", "999", '"2008-08-07T14:11:06Z"', '"2008-08-07T14:11:06.5"', "1.5", "1.50",
    "true", '"2008-08-07T14:11:06.1234567+02:00"', '"now"', '"infinity"', '"x5"',
    '"+294247-01-10T04:00:25.200Z"', '"-290308-12-21T19:59:27.6Z"', '"-infinity"',
    '"12:34:56"', '"2008-08"', '"T12:34"',
]  # fmt: skip
MILLIS = [
    *TIMES, "-30610224000000", "253402300799999", "9223372036854775807", "9223372036825200",
    "-9223372036832400",
]  # fmt: skip
MICROS = [
    *TIMES, "-30610224000000000", "253402300799999999", "1795252512226769", "9223372036825200000",
    "-9223372036832400000",
]  # fmt: skip
NANOS = [
    *TIMES, "1795252512226769999", "-1795252512226769999", "9223372036854775807",
    "-9223372036854775808",
]  # fmt: skip
INFINITIES = {
    "2147483647", "-2147483648", "9223372036825200", "-9223372036832400", "9223372036825200000",
    "-9223372036832400000",
}  # fmt: skip
DATES = [
    "2147483647",
    "-2147483648",
    '"infinity"',
    '"+5881580-07-11"',
    "0",
    "-354285",
    "19000",
    "2932896",
    '"1947-10-16Z"',
    '"1947-10-16"',
    '"1947-1-1x"',
    '"1947-10"',
    '"1947-10-16 x"',
    '"1947-10-16T23:30:00"',
    '"1947-10-16T23:30:00Z"',
    '"1947-10-16 14:05"',
    "1.5",
    "true",
    "{}",
]
HEX = ['"00ff"', '"00FF"', '""', '"0"', '"xy"', f'"{"00ff" * 60}"', "12", "[1]"]
QUOTED = [
    '"1"', '"-12"', '"1.5"', '"12345678901234567.1234"', '"9223372036854775807"', '"NaN"',
    '"1e400"', '"true"', '"0"', '"x"', '""', '"Infinity"', "1", "1.5", "true", '"1e-30"',
    '"1.50000000000000000000001"',
    "12345678901234567.1234",
]  # fmt: skip
CASES = {
    "decimal(9,2)": (
        ("decimal(9,2)", "decimal(18,4)", "decimal(5,1)", "double", "float", "string"), DECIMALS,
    ),
    "decimal(9,-2)": (("decimal(11,0)", "decimal(13,2)", "bigint", "string"), DECIMALS),
    "decimal(38,0)": (
        ("decimal(38,0)", "bigint", "int", "decimal(20,4)", "double"), DECIMALS + TOO_LONG,
    ),
    "decimal(38,18)": (("decimal(38,18)", "decimal(10,2)"), DECIMALS + TOO_LONG),
    "decimal": (
        ("decimal(38,18)", "decimal(20,3)", "decimal(38,6)", "bigint", "double"),
        [*SCALED, NUMBERED, *BYTES],
    ),
    "date": (("date", "timestamp", "string"), DATES),
    "timestamp(0)": (("timestamp",), MILLIS),
    "timestamp(3)": (("timestamp", "string"), MILLIS),
    "timestamp": (("timestamp", "varchar(30)"), MICROS),
    "timestamp(9)": (("timestamp", "string"), NANOS),
    "binary(hex)": (("binary", "string"), HEX),
    "text": (("double", "float", "int", "bigint", "decimal(20,4)", "boolean"), QUOTED),
}  # fmt: skip
INSTANCES = {
    (source_type, data_type): CaptureInstance(
        "dbo", f"t{n}", f"dbo_t{n}", (("id", "int"), ("v", data_type)), ("id",)
    )
    for n, (source_type, data_type) in enumerate(
        (source_type, data_type) for source_type, (types, _) in CASES.items() for data_type in types
    )
}


def with_source_types(text: str) -> str:
    """The YAML of the instances, column v with its encoding."""
    models = json.loads(text)
    for model, (source_type, _) in zip(models["models"], INSTANCES, strict=True):
        model["columns"][1]["config"] = {"meta": {"source_type": source_type}}
    return json.dumps(models)


@pytest.fixture(scope="module")
def statements(make_project: Callable[..., Project]) -> Iterator[tuple[Capture, dict[str, str]]]:
    instances = list(INSTANCES.values())
    models = {"instances.yml": with_source_types(instance_yaml(instances))}
    yield from compiled_reads(make_project, instances, **models)


def canonical(value: str, source_type: str, data_type: str) -> str:
    """The JSON of a value as the canonical log has it; ValueError where it is none."""
    if source_type == "text":
        if not value.startswith('"'):
            raise ValueError(f"{value} is not in quotes")
        return value
    is_text = data_type.startswith(("string", "varchar"))
    is_time = source_type.startswith(("date", "timestamp"))
    if is_text and is_time and not value.lstrip("-").isdigit():
        return value
    if is_text and (value in INFINITIES or (source_type == "timestamp(9)" and value in NANOS[-2:])):
        return '"-infinity"' if value.startswith("-") else '"infinity"'
    if value in NANOS[-2:]:
        raise ValueError(f"{value} is no time")
    text = decode_value(parse_json(value), source_type)
    if is_time:
        read_value(text, source_type.partition("(")[0])
    return json.dumps(text)


def records(values: list[str], table: str) -> list[list[LogRecord]]:
    logs: list[list[LogRecord]] = []
    for number, value in enumerate(values):
        for operation in ("INSERT", "DELETE", "UPDATE"):
            lsn, commit = int_to_lsn(len(logs) * 2 + 1), int_to_lsn(len(logs) * 2 + 2)
            image = f'{{"id":{number},"v":{value}}}'
            before = None if operation == "INSERT" else image
            after = f'{{"id":{number},"v":null}}' if operation == "UPDATE" else image
            change = LogRecord(
                lsn, lsn, operation, None, "dbo", table, before,
                None if operation == "DELETE" else after,
            )  # fmt: skip
            logs.append([change, LogRecord(commit, lsn, "COMMIT", None)])
    return logs


@pytest.mark.parametrize(
    "is_ansi", [pytest.param(False, marks=pytest.mark.more), True], ids=["", "ansi"]
)
@pytest.mark.parametrize("source_type", CASES)
def test_every_encoded_value(
    statements: tuple[Capture, dict[str, str]], source_type: str, is_ansi: bool
) -> None:
    """What is read is what the reference reads of the decoded value, else it is refused."""
    target, texts = statements
    target.project.spark.conf.set("spark.sql.ansi.enabled", is_ansi)
    for data_type in CASES[source_type][0]:
        instance = INSTANCES[source_type, data_type]
        text = texts[f"read_{instance.capture_instance}.sql"]
        assert text.count(ERROR) == text.count(CHECK) == 1
        values, plain = CASES[source_type][1], {}
        for value in values:
            try:
                plain[value] = canonical(value, source_type, data_type)
            except (ValueError, OverflowError, KeyError, TypeError):
                plain[value] = "{bad"
        logs = records(values, instance.source_name)
        decoded = records([plain[value] for value in values], instance.source_name)
        rows_of_logs = found(target, text.replace(ERROR, "isnull("), instance, logs)
        bad = text.replace(CHECK, BAD).replace(ERROR, "isnotnull(")
        refused = {
            row[0] for row in target.project.spark.sql(f"select `__$seqval` from ({bad})").collect()
        }
        read = 0
        for log, same, rows in zip(logs, decoded, rows_of_logs, strict=True):
            expected = wanted(same, instance)
            case = (data_type, log[0], same[0])
            if log[0].lsn in refused:
                assert (
                    expected is None or ":1.50" in f"{log[0].before_image}{log[0].after_image}"
                ), case
            else:
                assert rows == expected, case
            read += bool(expected)
        assert read >= 3


@pytest.mark.more
def test_numbers_that_stay_numbers_and_times_without_a_zone(
    make_project: Callable[..., Project],
) -> None:
    """An integer column under a time's encoding has the number; a text's offset counts for
    timestamp_ntz, too."""
    columns = (("id", "int"), ("born", "int"), ("changed", "bigint"), ("seen", "timestamp_ntz"))
    instance = CaptureInstance("dbo", "t", "dbo_t", columns, ("id",))
    models = json.loads(instance_yaml([instance]))
    for place, source_type in ((1, "date"), (2, "timestamp(3)")):
        models["models"][0]["columns"][place]["config"] = {"meta": {"source_type": source_type}}
    target = Capture(make_project, [instance], models={"instances.yml": json.dumps(models)})
    values = {"id": 1, "born": 19782, "changed": 1709249400000, "seen": "2024-02-29T23:30:00-03:00"}
    image = json.dumps(values)
    target.land([
        LogRecord(int_to_lsn(1), "t", "INSERT", None, "dbo", "t", None, image),
        LogRecord(int_to_lsn(2), "t", "COMMIT"),
    ])  # fmt: skip
    target.run()
    found = target.sql("select born, changed, cast(seen as string) from {schema}.dbo_t_ct")
    assert [tuple(row) for row in found] == [(19782, 1709249400000, "2024-03-01 02:30:00")]


@pytest.mark.more
def test_a_number_of_many_digits_beside_encoded_ones(make_project: Callable[..., Project]) -> None:
    """Where records of one window are encoded and others not, it is read exactly or refused."""
    columns = (("id", "int"), ("v", "decimal(30,3)"))
    instance = CaptureInstance("dbo", "t", "dbo_t", columns, ("id",))
    log = """select *, if(get_json_object(after_image, '$.id') = 1,
        '{"v":"org.apache.kafka.connect.data.Decimal(2)"}', null) as encodings
        from {{ target.schema }}.landed"""
    target = Capture(make_project, [instance], models={"raw_log.sql": log})

    def land(number: int, value: str) -> None:
        lsn, commit = int_to_lsn(2 * number - 1), int_to_lsn(2 * number)
        image = f'{{"id":{number},"v":{value}}}'
        target.land([
            LogRecord(lsn, lsn, "INSERT", None, "dbo", "t", None, image),
            LogRecord(commit, lsn, "COMMIT"),
        ])  # fmt: skip

    values = ['"AJY="', "1234567890123.45", "1.5e3", "12345678901234567", '"12345678901234567.89"']
    for number, value in enumerate([*values, "0.20000000000000001"], 1):
        land(number, value)
    for value in ("12345678901234567.89", '"12345678901234567.89"'):
        assert "a number of more than 15 digits in quotes only" in target.project.dbt("run").output
        target.amend(int_to_lsn(11), after_image=f'{{"id":6,"v":{value}}}')
    target.run()
    found = target.sql("select cast(v as string) from {schema}.dbo_t_ct order by id")
    assert [row[0] for row in found] == [
        "1.500", "1234567890123.450", "1500.000", "12345678901234567.000",
        "12345678901234567.890", "12345678901234567.890",
    ]  # fmt: skip


@pytest.mark.more
def test_encodings_that_are_none(make_project: Callable[..., Project]) -> None:
    instance = CaptureInstance("dbo", "t", "dbo_t", (("id", "int"), ("v", "decimal(9,2)")), ("id",))
    log = """select *, if(operation = 'INSERT', '{"v": "org.apache.kafka.connect.data.Decimal"}',
        null) as encodings from {{ target.schema }}.landed"""
    target = Capture(make_project, [instance], models={"raw_log.sql": log})
    target.land(Writer().commit("t", after={"id": 1, "v": "AfQ="}))
    output = target.project.dbt("run").output
    lsn = int_to_lsn(2)
    assert f"CDC 22859: bad log record of table dbo.t, column encodings, lsn {lsn}: it is" in output
    target.project.write("models/raw_log.sql", log.replace("Decimal", "Decimal(2)"))
    target.run()
    assert [row.values for row in target.changes(instance)] == [(1, Decimal("5.00"))]
