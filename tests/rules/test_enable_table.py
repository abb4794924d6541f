"""enable_table: SQL Server's refusals, default names, and the two files (G20, G21)."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from database import Answer, Rows
from harness import PACKAGE, DbtResult
from shop import (
    HIGH,
    INSTANCES,
    LOW,
    NOTES,
    ORDERS,
    ORDERS_V2,
    Shop,
    described,
    registered,
    seen,
)

EXTENDED = {"enable_extended_ddl_handling": 1}
REFUSALS: list[tuple[str, dict[str, Any]]] = [
    ("CDC 22926: capture instance 'DBO_notes' exists already, of table dbo.notes",
     {"capture_instance": "DBO_notes"}),
    ("CDC 22927: ", {"capture_instance": "x" * 101}),
    ("CDC 22932: capture instance '' is no valid identifier", {"capture_instance": " "}),
    ("is no valid identifier: it has a character", {"capture_instance": "a\nb"}),
    ("CDC 22926: capture instance 'dbo.notes' exists already, as 'dbo_notes', whose objects bear",
     {"capture_instance": "dbo.notes"}),
    ("CDC 22962: table dbo.orders has two capture instances already: dbo_orders",
     {"source_name": "orders", "capture_instance": "third"}),
    ("CDC 22931: the log has no record of table dbo.none", {"source_name": "none"}),
    ("CDC 22963: source_name is NULL or empty", {"source_name": ""}),
    ("CDC 22963: source_schema is NULL or empty", {"source_schema": None}),
    ("CDC 22963: source_name is 2024, which YAML does not take for a text: put the name in quotes",
     {"source_name": 2024}),
    ("CDC 22963: capture_instance is True, which YAML", {"capture_instance": True}),
    ("CDC 22939: capture instance 'notes2' supports_net_changes without a key",
     {"supports_net_changes": 1}),
    ("CDC 22943: capture instance 'notes2' does not capture its index column 'id'",
     {"index_columns": ["id"], "captured_column_list": "text"}),
    ("CDC 22907: capture instance 'notes2' has role_name ''", {"role_name": ""}),
    ("CDC 22938: capture instance 'notes2' has a role_name that is no valid name",
     {"role_name": "a`b"}),
    ("CDC 22963: index_columns is 2024, which YAML", {"index_columns": [2024]}),
    ("CDC 22963: captured_column_list is False, which", {"captured_column_list": ["id", False]}),
    ("CDC 22930: column 'other' of captured_column_list is no column of table dbo.notes: it has id",
     {"captured_column_list": "id, other"}),
    ("CDC 22965: the column list cannot be read from '\"id' on", {"captured_column_list": '"id'}),
    ("CDC 22965: the column list cannot be read from '[id' on", {"index_columns": "[id"}),
    ("CDC 22928: the columns of index 'pk_notes' of table dbo.notes are not known",
     {"index_name": "pk_notes"}),
    ("CDC 22928: index column 'key' is no column of table dbo.notes", {"index_columns": ["key"]}),
    ("CDC 22974: the source table is in schema 'cdc'",
     {"source_schema": "cdc", "capture_instance": "c"}),
    ("CDC 22963: capture instance 'notes2' has meta.cdc.capture_from: 'then'",
     {"capture_from": "then"}),
    ("CDC 22963: file is 'json'", {"file": "json"}),
    ("CDC 22874: capture instance 'other' with enable_extended_ddl_handling asks for what is not "
     "available", {"source_name": "other", "capture_instance": "other", **EXTENDED}),
]  # fmt: skip


def test_a_model_that_disable_table_has_left_takes_room(shop: Shop) -> None:
    """Only its files are left to go; disable_table would remove the other one."""
    known = [registered(each) for each in (ORDERS, NOTES)]
    answer: dict[str, Answer] = {r"from \S*change_tables as instances": known}
    third = {"source_schema": "dbo", "source_name": "orders", "capture_instance": "third"}
    for given, said in (
        (answer, "dbo_orders_v2 is no instance (any more), and has a model: delete its model, its"),
        ({}, "disable one first (dbt run-operation disable_table), and delete its model, its YAML"),
    ):
        result = shop.operation("enable_table", given, **third)
        assert not result.success and said in result.output, result.output


@pytest.mark.parametrize(("text", "arguments"), REFUSALS, ids=lambda value: str(value)[:9])
def test_g20_refusals(shop: Shop, text: str, arguments: dict[str, Any]) -> None:
    given = {"source_schema": "dbo", "source_name": "notes", "capture_instance": "notes2"}
    assert text in shop.refusal("enable_table", **{**given, **arguments})


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("notes", "CDC 22926: capture instance 'dbo_notes' exists already"),
        ("t" * 100, "CDC 22927: capture instance 'dbo_tttt"),
    ],
)
def test_g21_default_names(shop: Shop, table: str, text: str) -> None:
    assert text in shop.refusal("enable_table", source_schema="dbo", source_name=table)


def test_the_files_of_a_table_without_ddl(shop: Shop) -> None:
    """Its columns are those of its images."""
    result = shop.operation(
        "enable_table", source_schema="dbo", source_name="notes", capture_instance="notes2",
        index_columns=["ID"], role_name="a reader's", captured_column_list="PRICE, [Id], none",
        supports_net_changes="true", dry_run="False",
    )  # fmt: skip
    assert result.success, result.output
    assert result.printed.splitlines() == [
        "-- models/notes2_ct.sql",
        "{{ dbt_cdc.change_table() }}",
        "",
        "# models/notes2_ct.yml",
        "version: 2",
        "",
        "models:",
        "  - name: notes2_ct",
        "    data_tests: [dbt_cdc.capture_checks]",
        "    config:",
        "      meta:",
        "        cdc:",
        "          source_schema: dbo",
        "          source_name: notes",
        "          capture_instance: notes2",
        "          index_columns: [id]",
        "          supports_net_changes: true",
        "          capture_from: now",
        "          allow_partition_switch: true",
        "          role_name: 'a reader''s'",
        "    columns:  # from 3 images (the log has no DDL of it): check the types",
        "      - {name: id, data_type: int}",
        "      - {name: price, data_type: 'decimal(38,18)'}",
        "      - {name: none, data_type: string}  # no value seen",
        "",
        "# dbt_project.yml: vars: {cdc_capture_instances: [dbo_heap, dbo_items, dbo_notes,"
        " dbo_orders, dbo_orders_v2, notes2]}",
    ]


PRICED = {
    "dbo_priced_ct.sql": "{{ dbt_cdc.change_table() }}",
    "adapter.sql": """{{ config(meta={'cdc_source_types': {'dbo.priced': {
        'day': 'date', 'at': 'timestamp(6)', 'wide': 'decimal(20,0)', 'rate': 'decimal(9,4)'}}}) }}
        select 1 as one""",
    "priced.yml": json.dumps({"models": [{
        "name": "dbo_priced_ct", "columns": [
            {"name": "id", "data_type": "int"},
            {"name": "price", "data_type": "decimal(12,2)",
             "config": {"meta": {"source_type": "decimal(12,2)"}}},
            {"name": "day", "data_type": "DATE"},
            {"name": "rate", "data_type": "decimal(7,2)"},
            {"name": "code", "data_type": "int"},
            {"name": "photo", "data_type": "binary"},
        ],
        "config": {"meta": {"cdc": {
            "source_schema": "dbo", "source_name": "priced", "before_image": "partial",
            "lob_before_image": "when_changed",
        }}},
    }]}),
}  # fmt: skip
BYTES = {"is_base64": True, "has_padding": True}
PRICED_IMAGES = [
    seen("id", "BIGINT"),
    seen("price", "STRING", **BYTES, is_number=True),
    seen("day", "BIGINT", least=7000, most=19000),
    seen("rate", "STRING", **BYTES, is_number=True),
    seen("at", "BIGINT", least=1650000000000001, most=1650000000000002),
    seen("wide", "STRING", **BYTES, is_number=True),
    seen("code", "STRING"),
    seen("photo", "STRING", **BYTES, is_number=True),
]


@pytest.fixture
def priced(shop: Shop) -> Iterator[Callable[..., DbtResult]]:
    """enable_table of a second instance of dbo.priced, whose last images are these."""

    def enable(images: Rows = PRICED_IMAGES, answer: Any = None, **arguments: Any) -> DbtResult:
        known = {"schema_of_variant_agg": images, r"name\s+from reread": [{"name": "code"}]}
        return shop.operation(
            "enable_table", {**known, **(answer or {})}, source_schema="dbo", source_name="priced",
            capture_instance="priced2", **arguments,
        )  # fmt: skip

    with shop.with_models(PRICED):
        yield enable


def columns_of(result: DbtResult) -> list[str]:
    """The columns that the YAML lists."""
    assert result.success, result.output
    return re.findall("^      - (.*)$", result.printed, re.M)


def test_types_of_a_second_instance(priced: Callable[..., DbtResult]) -> None:
    """What is told comes first, then the types of the first instance that take the last images."""
    made = priced()
    assert columns_of(made) == [
        "{name: id, data_type: int}",
        "{name: price, data_type: 'decimal(12,2)',"
        ' config: {"meta": {"source_type": "decimal(12,2)"}}}',
        "{name: day, data_type: date}",
        "{name: rate, data_type: 'decimal(9,4)'}  # not decimal(7,2) as in dbo_priced",
        "{name: at, data_type: timestamp}",
        "{name: wide, data_type: 'decimal(20,0)'}",
        "{name: code, data_type: string}  # not int as in dbo_priced",
        "{name: photo, data_type: binary}",
    ]
    assert "cdc: dbo.priced.code: string, not int as in dbo_priced; if it is not" in made.output
    assert "          before_image: partial\n          lob_before_image: when_chang" in made.printed


def test_types_that_nothing_tells_are_asked_for(priced: Callable[..., DbtResult]) -> None:
    """As init does; a guess is said to be one."""
    images = [
        *PRICED_IMAGES,
        seen("cost", "STRING", **BYTES, is_number=True),
        seen("made", "BIGINT", least=1650000000001, most=1650000000002),
        seen("seal", "STRING", **BYTES),
        seen("word", "STRING", is_base64=True),
    ]
    asked = priced(images)
    assert "CDC 22963: bytes in base64 do not tell what they are: dbo.priced (cost): give the" in (
        asked.output
    )
    assert not asked.success
    assert priced(images, captured_column_list="id, day").success
    types = {"cost": "decimal(18,4)", "price": "string", "code": "bigint"}
    made = priced(images, types={"dbo.priced": types})
    assert columns_of(made)[1] == "{name: price, data_type: string}"
    assert columns_of(made)[6] == "{name: code, data_type: bigint}"
    assert columns_of(made)[8:] == [
        "{name: cost, data_type: 'decimal(18,4)',"
        ' config: {"meta": {"source_type": "decimal(18,4)"}}}',
        '{name: made, data_type: timestamp, config: {"meta": {"source_type": "timestamp(3)"}}}'
        "  # guessed from its numbers",
        "{name: seal, data_type: binary}",
        "{name: word, data_type: string}  # guessed: it may be bytes in base64",
    ]
    for text in ("made: timestamp(3), guessed from", "word: string, guessed: it may be bytes in"):
        assert f"cdc: dbo.priced.{text}" in made.output
    for wrong, text in {
        "no": "CDC 22930: types names column 'no', which table dbo.priced has not: it has id",
        "dbo.x": "CDC 22931: types names table 'dbo.x', of which nothing has landed",
    }.items():
        given = {"dbo.priced": {"no": "int"}} if wrong == "no" else {wrong: {}}
        assert text in priced(images, types=given).output


def test_types_of_columns_without_a_value(shop: Shop) -> None:
    """In events they are taken as the connector's defaults encode them, but for decimals, which
    may be text, and times without a unit; a time of day is a number or a text."""
    encoded = {
        "date": "date", "timestamp(3)": "timestamp",
        "binary(hex)": "binary", "time(3)": "int", "time": "bigint", "time(9)": "bigint",
    }  # fmt: skip
    plain = {"string": "string", "int": "int", "binary(base64)": "binary",
             "decimal(12,2)": "decimal(12,2)", "decimal": "decimal(38,18)",
             "timestamp": "timestamp", "timestamp_ntz": "timestamp_ntz"}  # fmt: skip
    kinds = (("VOID", True), ("VOID", False), ("STRING", True), ("BIGINT", True))
    unseen, own, *others = shop.values(
        *(("_landed_type", seen("v", kind), is_landed) for kind, is_landed in kinds)
    )
    calls = [(unseen, given) for given in encoded | plain]
    calls += [(own, "decimal(12,2)"), *((column, "time(3)") for column in (own, *others))]
    found = shop.values(*(("_given_type", *call) for call in calls))
    assert [(each["data_type"], each["encoding"]) for each in found] == [
        *((data_type, given) for given, data_type in encoded.items()),
        *((data_type, None) for data_type in plain.values()),
        ("decimal(12,2)", None),
        ("string", None),
        ("string", None),
        ("bigint", "time(3)"),
    ]


def test_columns_that_differ_by_letter_case(shop: Shop) -> None:
    """Of two such one can be captured."""
    known: dict[str, Any] = {"schema_of_variant_agg": [seen("a", "BIGINT"), seen("A", "STRING")]}
    given = {"source_schema": "dbo", "source_name": "notes", "capture_instance": "notes2"}
    refused = shop.operation("enable_table", known, **given).output
    assert "lists column 'A' twice: take one of them out (captured_column_list of" in refused
    made = shop.operation("enable_table", known, **given, captured_column_list="A")
    assert columns_of(made) == ["{name: A, data_type: string}"]


def test_types_of_schemas_in_the_log(priced: Callable[..., DbtResult]) -> None:
    """They tell the scale of a decimal, not its precision, which the first instance knows."""
    told = {
        "id": "int64", "price": "org.apache.kafka.connect.data.Decimal(2)",
        "rate": "org.apache.kafka.connect.data.Decimal(4)", "day": "io.debezium.time.Date",
        "fee": "org.apache.kafka.connect.data.Decimal(-2)",
        "photo": "bytes", "seen": "io.debezium.time.ZonedTimestamp",
    }  # fmt: skip
    rows = [{"encodings": text, "last_lsn": HIGH} for text in (None, json.dumps(told))]
    answer = {
        r"^describe extended \S*raw_log": described("lsn", "encodings", "balance"),
        r"^select encodings, max": rows,
    }
    assert columns_of(priced((), answer)) == [
        "{name: id, data_type: bigint}  # not int as in dbo_priced",
        "{name: price, data_type: 'decimal(12,2)',"
        ' config: {"meta": {"source_type": "decimal(12,2)"}}}',
        "{name: rate, data_type: 'decimal(38,4)'}  # not decimal(7,2) as in dbo_priced",
        "{name: day, data_type: date}",
        "{name: fee, data_type: 'decimal(38,0)'}",
        "{name: photo, data_type: binary}",
        "{name: seen, data_type: timestamp}",
    ]
    # schemas were switched off since: the images tell the columns
    answer[r"^select encodings, max"] = [*rows, {"encodings": None, "last_lsn": HIGH}]
    assert len(columns_of(priced(PRICED_IMAGES, answer))) == 8


def test_encodings_of_some_columns(priced: Callable[..., DbtResult]) -> None:
    """A log of one's own may tell them of what is encoded alone: images have the others."""
    told = {"id": "int64", "price": "org.apache.kafka.connect.data.Decimal(2)", "gone": "int64"}
    answer = {
        r"^describe extended \S*raw_log": described("lsn", "encodings"),
        r"^select encodings, max": [{"encodings": json.dumps(told), "last_lsn": HIGH}],
    }
    images = [seen("id", "BIGINT"), seen("note", "STRING"), seen("price", "STRING")]
    assert columns_of(priced(images, answer)) == [
        "{name: id, data_type: bigint}  # not int as in dbo_priced",
        "{name: note, data_type: string}",
        "{name: price, data_type: 'decimal(12,2)',"
        ' config: {"meta": {"source_type": "decimal(12,2)"}}}',
        "{name: gone, data_type: bigint}",
    ]


@pytest.mark.parametrize("text", [
    '{amount: "decimal"}', '["x"]', '{"amount": {"type": "bytes"}}',
    '{"amount": "org.apache.kafka.connect.data.Decimal"}',
])  # fmt: skip
def test_encodings_that_are_none(shop: Shop, text: str) -> None:
    known: dict[str, Any] = {
        r"^describe extended \S*raw_log": described("lsn", "encodings"),
        r"^select encodings, max": [{"encodings": text, "last_lsn": HIGH}],
        r"select min\(lsn\) as lsn from \S*raw_log": [{"lsn": LOW}],
    }
    given = {"source_schema": "dbo", "source_name": "notes", "capture_instance": "notes2"}
    said = shop.operation("enable_table", known, **given).output
    begun = f"CDC 22859: bad log record of table dbo.notes, column encodings, lsn {LOW}: it is"
    assert f"{begun} '{text}': it is a JSON object, column to type" in said


def test_fractions_in_a_log_with_encodings(shop: Shop) -> None:
    """In Debezium's events they are doubles; in a log of one's own nothing says so."""
    given = {"source_schema": "dbo", "source_name": "notes", "capture_instance": "notes2"}
    for names, data_type in ((("encodings",), "'decimal(38,18)'"),
                             (("encodings", "balance"), "double")):  # fmt: skip
        known: dict[str, Any] = {
            r"^describe extended \S*raw_log": described("lsn", *names),
            r"^select encodings, max": [{"encodings": None, "last_lsn": HIGH}],
            "schema_of_variant_agg": [seen("price", "DECIMAL(3,1)")],
        }
        made = shop.operation("enable_table", known, **given)
        assert columns_of(made) == [f"{{name: price, data_type: {data_type}}}"]


def test_a_model_that_no_run_has_entered(shop: Shop, priced: Callable[..., DbtResult]) -> None:
    """As the script leaves it that dies before it lists the name: the way on is no other name."""
    given = {"source_schema": "dbo", "source_name": "priced"}
    begun = "'dbo_priced' exists already, of table dbo.priced: its model is there: "
    said = shop.refusal("enable_table", **given)
    assert f"CDC 22926: capture instance {begun}dbt run captures it" in said
    listed = ("--vars", json.dumps({"cdc_capture_instances": ["dbo_orders"]}))
    said = shop.dbt("run-operation", "enable_table", "--args", json.dumps(given), *listed).output
    add = "add it in dbt_project.yml: vars: {cdc_capture_instances: [dbo_orders, dbo_priced]}"
    assert f"{begun}{add}" in said and "; then dbt run captures it" in said


def test_a_dry_run_prints_no_file(shop: Shop) -> None:
    given = {"source_schema": "dbo", "source_name": "notes", "capture_instance": "notes2"}
    result = shop.operation("enable_table", **given, dry_run=True)
    assert result.success and result.printed == ""
    said = "cdc: would write the files of model notes2_ct; nothing is written: dry_run"
    assert said in result.output


STORAGE: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"allow_partition_switch": 1}, ["CDC 22855: allow_partition_switch is 1: partitions that"]),
    ({"allow_partition_switch": 0, "filegroup_name": "fg", "enable_extended_ddl_handling": 0},
     ["CDC 22857: allow_partition_switch is 0: it is written down and ignored",
      "CDC 22973: filegroup_name is 'fg': it is written down and ignored"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "warnings"), STORAGE, ids=lambda value: str(value)[:20])
def test_warnings(shop: Shop, arguments: dict[str, Any], warnings: list[str]) -> None:
    """What has no effect is written into the YAML all the same; a file to redirect is clean."""
    given = {"source_schema": "dbo", "source_name": "notes", "capture_instance": "notes2"}
    result = shop.operation("enable_table", **given, **arguments)
    assert result.success, result.output
    assert result.output.count("CDC ") == len(warnings)
    assert not [text for text in warnings if text not in result.output]
    switch = str(bool(arguments.get("allow_partition_switch", 1))).lower()
    assert f"          allow_partition_switch: {switch}\n" in result.printed
    assert "CDC " not in result.printed


FILES = (
    "-- models/n_ct.sql\n{{ dbt_cdc.change_table() }}\n\n"
    "# models/n_ct.yml\nversion: 2\n\nmodels:\n  - name: n_ct"
)


def test_the_script_writes_both_files_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(PACKAGE / "scripts"))
    script: Any = importlib.import_module("enable_table")
    note = "cdc: dbo.n.a: int, guessed from its values; if it is not, say so by types"
    lines = ["Running", FILES, "\n# dbt_project.yml: vars: {cdc_capture_instances: [n]}", note]
    answer = SimpleNamespace(success=True)
    monkeypatch.setattr("model_files.Dbt.run", lambda *_, **__: (answer, lines))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["x", "{source_name: n}", "--folder", "models/cdc"])
    folder = tmp_path / "models" / "cdc"
    assert script.main() == 0
    assert "dbt_project.yml: vars: {cdc_capture_instances: [n]}" in capsys.readouterr().out
    assert (folder / "n_ct.sql").read_text() == "{{ dbt_cdc.change_table() }}\n"
    assert (folder / "n_ct.yml").read_text() == "version: 2\n\nmodels:\n  - name: n_ct\n"
    project = tmp_path / "dbt_project.yml"
    project.write_text("model-paths: [sql]\nvars: {cdc_capture_instances: [a]}\n")
    with monkeypatch.context() as here:
        here.setattr(sys, "argv", ["x", "{source_name: n}"])
        assert script.main() == 0
    assert (tmp_path / "sql" / "n_ct.sql").exists()
    assert "cdc_capture_instances: [a, n]}\n" in project.read_text()
    said = capsys.readouterr().out
    assert "written: dbt_project.yml" in said and "# dbt_project" not in said
    assert said.endswith(f"\n{note}\n")
    project.unlink()
    (folder / "n_ct.yml").unlink()  # as a command leaves it that died between the two
    assert script.main() == 0
    assert (folder / "n_ct.yml").exists()
    (folder / "n_ct.sql").unlink()
    (folder / "n_ct.yml").write_text("version: 2\n")
    with pytest.raises(SystemExit, match=r"nothing was written, .* already models/cdc/n_ct.yml$"):
        script.main()
    assert not (folder / "n_ct.sql").exists()
    (folder / "n_ct.yml").unlink()
    folder.rmdir()
    folder.touch()  # no folder, so that nothing can be written into it
    with pytest.raises(SystemExit, match=r"^cannot be written: .*models/cdc"):
        script.main()
    with monkeypatch.context() as here, pytest.raises(SystemExit, match=r"^--project-dir: .*here"):
        here.setattr(sys, "argv", ["x", "{source_name: n}", "--project-dir", "not_here"])
        script.main()
    capsys.readouterr()
    lines[1] = "cdc: would write the files of model n_ct; nothing is written: dry_run"
    assert script.main() == 0
    assert capsys.readouterr().out == f"{lines[1]}\n{note}\n"
    lines[1] = "{{ dbt_cdc.change_table() }}"
    with pytest.raises(SystemExit, match="leave the argument file out"):
        script.main()
    answer.success, lines[1] = False, "Compilation Error\n  CDC 22931: the log has no record"
    with pytest.raises(SystemExit, match="enable_table: CDC 22931: the log has no record"):
        script.main()


LISTED = [
    # dbt_project.yml with a, and with n too; none where the line to add is printed
    ("vars: {x: 1, cdc_capture_instances: [a]}\n", "vars: {x: 1, cdc_capture_instances: [a, n]}\n"),
    ("vars:\n  cdc_capture_instances: []\n", "vars:\n  cdc_capture_instances: [n]\n"),
    ("vars:\n  shop:\n    cdc_capture_instances: [\n      a,\n    ]\n",
     "vars:\n  shop:\n    cdc_capture_instances: [\n      a, n\n    ]\n"),
    ('{"vars": {"cdc_capture_instances": ["a"]}}',
     '{"vars": {"cdc_capture_instances": ["a", "n"]}}'),
    ("vars:\n  cdc_capture_instances:  # x\n    # y\n    - a # z\n\n  other: 1\n",
     "vars:\n  cdc_capture_instances:  # x\n    # y\n    - a # z\n    - n\n\n  other: 1\n"),
    ("vars:\n  cdc_capture_instances:\n  - a", "vars:\n  cdc_capture_instances:\n  - a\n  - n"),
    ("vars:\n  # cdc_capture_instances: [x]\n  cdc_capture_instances: [a]\n", None),
    ("vars:\n  cdc_capture_instances: &all [a]\n  others: *all\n", None),
    ("vars:\n  cdc_capture_instances: '[a]'\n", None),
    ("vars: {other: [a]}\n", None),
    ("models: {cdc_capture_instances: [a]}\n", None),
    ("{{ not yaml: [}\ncdc_capture_instances: [a]\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), LISTED)
def test_the_script_lists_the_instance(
    monkeypatch: pytest.MonkeyPatch, before: str, after: str | None
) -> None:
    """Only where nothing else changes by it."""
    monkeypatch.syspath_prepend(str(PACKAGE / "scripts"))
    script: Any = importlib.import_module("enable_table")
    assert script.with_listed(before, "n") == after


def test_a_name_that_yaml_takes_for_a_number_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PACKAGE / "scripts"))
    script: Any = importlib.import_module("enable_table")
    listed = script.with_listed("vars: {cdc_capture_instances: [a]}", "123")
    assert listed == 'vars: {cdc_capture_instances: [a, "123"]}'


def test_columns_of_a_ddl_record(shop: Shop) -> None:
    (source,) = shop.values(("_source_columns", "dbo", "orders"))
    assert source["origin"] == f"the DDL record at {LOW}"
    assert [(c["name"], c["source_type"], c["data_type"]) for c in source["columns"]] == [
        ("id", "int", "int"), ("qty", "nvarchar(20)", "varchar(20)"),
    ]  # fmt: skip
    assert HIGH > LOW


def test_columns_that_are_shown(shop: Shop) -> None:
    """What nothing tells is NULL: the source's type of an image, and a type that is asked for."""
    images = [seen("id", "BIGINT"), seen("cost", "STRING", **BYTES, is_number=True)]
    given = {"source_schema": "dbo", "source_name": "notes"}
    shown = shop.operation("get_source_columns", {"schema_of_variant_agg": images}, **given)
    assert re.search(r"1 +id +NULL +int\n2 +cost +NULL +NULL\n", shown.output), shown.output


INDEXED = [
    {"name": "id", "type": "int", "indexes": {"PK": 1, "u": 2}},
    {"name": "qty", "type": "int", "indexes": {"u": 1}},
    {"name": "note", "type": "text", "indexes": {}},
]


def test_an_index_that_the_log_tells(shop: Shop) -> None:
    """Its columns are taken in its order; others are unknown, and index_columns come first."""
    known: dict[str, Any] = {
        "^with ddl as": [{"lsn": LOW, "after_image": json.dumps(INDEXED)}],
    }
    given = {"source_schema": "dbo", "source_name": "notes", "capture_instance": "notes2"}
    calls = [
        ({"index_name": "U"}, "[qty, id]"),
        ({"index_name": "pk"}, "[id]"),
        ({"index_name": "pk", "index_columns": "qty"}, "[qty]"),
        ({"index_name": "other"}, None),
        ({}, "[]"),
    ]
    for arguments, columns in calls:
        result = shop.operation("enable_table", known, **given, **arguments)
        if columns:
            assert f"          index_columns: {columns}\n" in result.printed, result.output
            assert "indexes" not in result.printed
        else:
            assert "CDC 22928: the columns of index 'other' of table dbo.notes" in result.output


LISTS = [
    ("a, b", ["a", "b"]),
    (' "b c" ,[d], e ', ["b c", "d", "e"]),
    ('"say ""hi""", [x]]y]', ['say "hi"', "x]y"]),
    ("[a,b],c", ["a,b", "c"]),
    (["as", "it", "is"], ["as", "it", "is"]),
    ("", []),
    (None, None),
]


def test_lists_of_columns(shop: Shop) -> None:
    found = shop.values(*(("_split_columns", given) for given, _ in LISTS))
    assert found == [names for _, names in LISTS]


def test_which_of_two_instances_is_the_new_one(shop: Shop) -> None:
    """The one that was made later, however far cleanup has raised the low end of the other."""
    known = [
        registered(ORDERS, start_lsn=HIGH),
        registered(ORDERS_V2, create_date="2024-02-01 00:00:00"),
    ]
    answer: dict[str, Answer] = {r"from \S*change_tables as instances": known}
    (parts,) = shop.values(("_parts_of_window", "dbo", "orders", LOW, HIGH), answer=answer)
    assert [i["capture_instance"] for i in parts["instances"]] == ["dbo_orders_v2", "dbo_orders"]
    assert [w["instance"]["capture_instance"] for w in parts["windows"]] == ["dbo_orders_v2"]
    shown = shop.operation("help_change_data_capture", answer, source_schema="dbo",
                           source_name="orders")  # fmt: skip
    assert f"from dbo_orders to dbo_orders_v2: {LOW}" in shown.output


def test_who_reads_an_instance_that_goes(shop: Shop) -> None:
    row = {"consumer": "orders", "capture_instance": "dbo_orders", "last_lsn": LOW, "mode": "net",
           "open_lsn": None, "target_version": 1, "accepts_loss": False}  # fmt: skip
    arguments = {"source_schema": "dbo", "source_name": "orders",
                 "capture_instance": "dbo_orders", "dry_run": True}  # fmt: skip
    said = shop.operation("disable_table", {r"from \S*consumer_bookmarks": [row]}, **arguments)
    assert said.success and "consumed by orders: move each to another instance" in said.output
    assert "consumed by" not in shop.operation("disable_table", **arguments).output


def test_what_readers_are_told_goes_last(shop: Shop) -> None:
    """A disable_table that was killed in front of it is taken up again."""
    left = {"capture_instance": "dbo_orders", "low_end": LOW, "end_lsn": None, "high_end": HIGH,
            "high_time": None, "is_overtaken": False}  # fmt: skip
    written: list[str] = []

    def publish(sql: str) -> Rows:
        written.extend(re.findall("create or replace view", sql))
        return [dict(left)]

    others: dict[str, Answer] = {
        "start_lsn as low_end": publish,
        r"from \S*change_tables as instances": [registered(i) for i in INSTANCES if i != NOTES],
    }
    arguments = {"source_schema": "dbo", "source_name": "notes", "capture_instance": "DBO_Notes"}
    shown = shop.operation("disable_table", others, **arguments, dry_run=True)
    assert shown.success and "nothing was removed: dry_run" in shown.output
    assert not written
    said = shop.dbt("run-operation", "disable_table", "--args", json.dumps(arguments),
                    answer=others, may_lack=True)  # fmt: skip
    assert said.success, said.output
    assert "removed: dbo_notes" in said.output and written


def test_tables_that_differ_in_letter_case(shop: Shop) -> None:
    """Each has its own instances; without the exact name the only one is meant."""
    upper = replace(ORDERS, source_name="Orders", capture_instance="upper")
    answer: dict[str, Answer] = {
        r"from \S*change_tables": [registered(i) for i in (ORDERS, ORDERS_V2, upper)]
    }
    arguments = {"source_schema": "dbo", "capture_instance": "all", "dry_run": True}
    for given, found in {
        "orders": ["dbo_orders", "dbo_orders_v2"],
        "Orders": ["upper"],
        "ORDERS": [],
    }.items():
        said = shop.operation("disable_table", answer, source_name=given, **arguments).output
        assert re.findall("would remove capture instance '(.*?)'", said) == found
        assert ("CDC 22985: table dbo.ORDERS is not captured" in said) == (not found)
    said = shop.operation("disable_table", source_name="NOTES", **arguments).output
    assert "would remove capture instance 'dbo_notes'" in said
    given = {"source_schema": "dbo", "source_name": "Orders", "capture_instance": "third"}
    assert shop.operation("enable_table", answer, **given).success


def test_an_instance_whose_model_is_gone(shop: Shop) -> None:
    """Its change table is looked for where it would be; elsewhere nobody knows of it."""
    gone = replace(ORDERS, source_name="gone", capture_instance="dbo_gone")
    arguments = {"source_schema": "dbo", "source_name": "gone", "capture_instance": "all",
                 "dry_run": True}  # fmt: skip
    answer: dict[str, Answer] = {r"from \S*change_tables": [registered(gone)]}
    said = shop.operation("disable_table", answer, **arguments)
    assert said.success, said.output
    assert "no model of it any more" in said.output
    assert "dbo_gone_ct is not there: where the model had another schema" in said.output
