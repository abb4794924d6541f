"""What is wrong in the YAML of a change table is said before anything is sent to Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from capturing import instance_yaml
from database import standing_in
from harness import PACKAGE, DbtResult, Project
from reference.capture import CaptureInstance
from shop import Shop
from statements import is_write

INT = {"id": "int"}
MISTAKES: dict[str, tuple[int, str, dict[str, Any]]] = {
    # model name: SQL Server's number, part of the text, what is wrong in a sound declaration
    "no_source_ct": (22963, "source_name", {"source_name": None}),
    "number_ct": (22963, "source_name is 2024, which YAML", {"source_name": 2024}),
    "on_ct": (22963, "source_name is True, which YAML", {"source_name": True}),
    "off_ct": (22963, "source_schema is False, which YAML", {"source_schema": False}),
    "number_name_ct": (22963, "capture_instance is 20240301", {"capture_instance": 20240301}),
    "number_key_ct": (22963, "index_columns is 2024, which YAML", {"index_columns": [2024]}),
    "no_key_ct": (22963, "index_columns is False, which YAML", {"index_columns": False}),
    "long_ct": (22927, "101", {"capture_instance": "x" * 101}),
    "not_a_name_ct": (22932, "identifier", {"capture_instance": "not\na name"}),
    "other_name_ct": (22932, "dbo_other_ct", {"capture_instance": "dbo_other"}),
    "no_columns_ct": (22925, "0 columns", {"columns": {}, "index_columns": []}),
    "many_ct": (
        22925,
        "1025",
        {"columns": {f"c{i}": "int" for i in range(1025)}, "index_columns": []},
    ),
    "no_type_ct": (22942, "data_type", {"columns": {"id": None}}),
    "odd_type_ct": (22942, "map<int,int>", {"columns": {"id": "map<int,int>"}}),
    "reserved_ct": (22975, "__$seqval", {"columns": {**INT, "__$seqval": "int"}}),
    "reserved_case_ct": (22975, "__$SEQVAL", {"columns": {**INT, "__$SEQVAL": "int"}}),
    "twice_ct": (22930, "ID", {"columns": {**INT, "ID": "int"}}),
    "no_key_column_ct": (22943, "code", {"index_columns": ["code"]}),
    "net_without_key_ct": (22939, "key", {"index_columns": [], "supports_net_changes": True}),
    "net_text_ct": (22963, "supports_net_changes: 'y'", {"supports_net_changes": "y"}),
    "wide_key_ct": (22865, "15", {
        "columns": {f"c{i}": "int" for i in range(15)},
        "index_columns": [f"c{i}" for i in range(15)],
    }),
    "capture_from_ct": (22963, "yesterday", {"capture_from": "yesterday"}),
    "before_image_ct": (22963, "some", {"before_image": "some"}),
    "lob_before_image_ct": (22963, "never", {"lob_before_image": "never"}),
    "computed_key_ct": (22943, "id", {"column_meta": {"is_computed": True}}),
    "column_id_ct": (22963, "column_id", {"column_meta": {"column_id": "first"}}),
    "unknown_setting_ct": (22963, "capture_form", {"capture_form": "now"}),
    "parquet_ct": (22938, "parquet", {"file_format": "parquet"}),
    "location_ct": (22938, "has location_root '/data'", {"location_root": "/data"}),
}  # fmt: skip


def declaration(model: str, wrong: dict[str, Any]) -> dict[str, Any]:
    """The YAML of a sound change table, but for what is `wrong`."""
    wrong = dict(wrong)
    columns = wrong.pop("columns", INT)
    meta = {"config": {"meta": wrong.pop("column_meta")}} if "column_meta" in wrong else {}
    config: dict[str, Any] = {}
    for name in ("file_format", "location_root"):
        if name in wrong:
            config[name] = wrong.pop(name)
    name = model.removesuffix("_ct")
    cdc = {"source_schema": "dbo", "source_name": name, "capture_instance": name}
    cdc = {**cdc, "index_columns": ["id"], **wrong}
    return {
        "name": model,
        "config": {**config, "meta": {"cdc": cdc}},
        "columns": [
            {"name": n, **({"data_type": t} if t else {}), "quote": True, **meta}
            for n, t in columns.items()
        ],
    }


def project_of(
    make_project: Callable[..., Project],
    *models: dict[str, Any],
    variables: dict[str, Any] | None = None,
) -> Project:
    """A project of these change tables."""
    files = {"m.yml": json.dumps({"version": 2, "models": models})}
    files["raw_log.sql"] = "select 1 as lsn"
    files |= {f"{model['name']}.sql": "{{ dbt_cdc.change_table() }}" for model in models}
    return make_project(models=files, vars=variables or {"cdc_log_model": "raw_log"})


WRITES = {"^create or replace view": [], "^insert into": [], r"from \S*waiting_transactions": []}


@pytest.fixture(scope="module")
def mistaken(make_project: Callable[..., Project]) -> DbtResult:
    models = [declaration(model, wrong) for model, (_, _, wrong) in MISTAKES.items()]
    with standing_in(WRITES):
        return project_of(make_project, *models).dbt("run", "--select", "shop")


@pytest.mark.parametrize("model", MISTAKES)
def test_mistakes_in_yaml(mistaken: DbtResult, model: str) -> None:
    number, part, _ = MISTAKES[model]
    message = mistaken.messages[model].message
    assert mistaken.messages[model].status == "error"
    assert f"CDC {number}: " in message, message
    assert part in message, message
    assert "\tat " not in message


@pytest.mark.parametrize(("config", "said"), [
    ({"+materialized": "table"}, "captured_columns of dbt_cdc is materialized as 'table'"),
    ({"+location_root": "/data"}, "captured_columns has location_root '/data'"),
])  # fmt: skip
def test_configs_of_all_models(
    make_project: Callable[..., Project], config: dict[str, Any], said: str
) -> None:
    """Those of the root project hold for the package's state, too: nothing of it is written."""
    project = project_of(make_project, declaration("one_ct", {}))
    settings = json.loads((project.folder / "dbt_project.yml").read_text(encoding="utf-8"))
    project.write("dbt_project.yml", json.dumps({**settings, "models": config}))
    with standing_in({}, may_lack=True) as sent:
        result = project.dbt("run", "--select", "captured_columns")
    assert f"CDC 22938: model {said}" in result.messages["captured_columns"].message
    assert not [s for s in sent if is_write(s) and not s.startswith("create schema")]


def test_the_examples_of_the_settings(make_project: Callable[..., Project]) -> None:
    """docs/settings.md shows them all, and they are taken."""
    page = (PACKAGE / "docs" / "settings.md").read_text(encoding="utf-8")
    (model,), variables = (
        next(iter(yaml.safe_load(text).values()))
        for text in re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    )
    settings = {*model["config"]["meta"]["cdc"], *variables}
    settings |= {name for c in model["columns"] for name in c.get("config", {}).get("meta", {})}
    told = re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| ([^|]*)", page, re.M)))
    assert set(told) - settings == {"cdc_log_source", "cdc_scan_until"}
    project = project_of(make_project, model, variables=variables)
    nothing = {"as mapping": [], "commit_ts": [{"commit_ts": None, "commit_lsn": None}]}
    with standing_in({"create table if not exists": [], **nothing}, may_lack=True) as sent:
        result = project.dbt("run", "--select", "shop_orders_ct")
    assert "CDC " not in result.output
    assert any("shop_orders_ct (" in statement for statement in sent)


def test_a_setting_that_is_null_has_its_default(shop: Shop) -> None:
    """As in SQL Server: supports_net_changes NULL is 1 where there is a key."""
    cdc: dict[str, Any] = {"source_schema": "dbo", "source_name": "sent", "index_columns": ["id"]}
    defaults = {
        "supports_net_changes": True, "allow_partition_switch": True, "capture_from": "now",
        "before_image": "complete", "lob_before_image": "always", "role_name": None,
    }  # fmt: skip
    node = {
        "name": "dbo_sent_ct",
        "columns": [{"name": "id", "data_type": "int"}],
        "config": {"meta": {"cdc": {**cdc, **dict.fromkeys(defaults)}}},
    }
    (instance,) = shop.values(("_capture_instance", node))
    assert {name: instance[name] for name in defaults} == defaults


def test_how_a_key_is_written(shop: Shop) -> None:
    """JSON has no raw sign below a blank in a text, and writers escape more than they have to."""
    name = 'a\t\n\r\b\f\x01="\\/é'
    (pattern,) = shop.values(("_name_pattern", {"name": name}))
    written = json.dumps(name)[1:-1]
    all_escaped = "".join(f"\\u{ord(sign):04X}" for sign in name[1:])
    for key in (written, written.replace("/", "\\/").replace("\\u00e9", "é"), "a" + all_escaped):
        assert re.fullmatch(pattern, key), key
    assert not re.fullmatch(pattern, written.replace("=", "-"))


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x85", "\u2028"])
def test_what_ends_a_line_in_unicode(shop: Shop, end: str) -> None:
    """Jinja's indent makes a line break of it: names with one are not indented, texts have none."""
    text = "select 'a' as b,\nc"
    calls: list[tuple[Any, ...]] = [("_literal", f"é{end}"), ("_indent", text, 4)]
    *others, kept = shop.values(*calls, ("_column", f"a{end}b"), ("_indent", text, 4))
    escaped = {"\n": "\\n", "\r": "\\r"}.get(end, f"\\u{ord(end):04x}")
    assert [each.strip() for each in others] == [
        f"'é{escaped}'", text.replace("\n", "\n    "), f"`a{end}b`",
    ]  # fmt: skip
    assert kept.strip() == text
    mine = [("_as_written", f"select 1 -- a{end}b"), ("_indent", text, 4)]
    assert (shop.values(*mine)[1].strip() == text) == (end != "\n")


def test_spark_puts_no_variable_into_a_text(shop: Shop) -> None:
    """It replaces ${...}, also within literals, before it reads the backslash."""
    (literal,) = shop.values(("_literal", "Dear ${name}, it's $5 {x}"))
    assert literal.strip() == r"'Dear $\{name}, it\'s $5 {x}'"


def test_a_type_that_yaml_cuts(shop: Shop) -> None:
    """The comma of a decimal is one of the braces around it."""
    model = """
        models:
          - name: cut_ct
            config: {meta: {cdc: {source_schema: dbo, source_name: cut, capture_instance: cut}}}
            columns:
              - {name: amount, data_type: decimal(12,2)}
    """
    found = shop.errors({"cut_ct.sql": "{{ dbt_cdc.change_table() }}", "cut.yml": model})
    assert (
        "CDC 22942: capture instance 'cut' has for column 'amount' the data_type 'decimal(12': put"
        in found["cut_ct"]
    )


LISTS = {
    # the variable: what a run says of two sound change tables, one_ct and two_ct
    ("One",): "CDC 22981: capture instance 'two' of model two_ct is not listed among those that are"
    " published together: add it in dbt_project.yml: vars: {cdc_capture_instances: [One, two]}",
    ("one", "Two", "three"): "Model 'model.dbt_cdc.lsn_time_mapping' (models/metadata/"
    "lsn_time_mapping.sql) depends on a node named 'three_ct' in package or project 'shop'",
    "one": "CDC 22963: var cdc_capture_instances is 'one': give a list: vars:"
    " {cdc_capture_instances: [one]}",
}


@pytest.mark.parametrize("listed", LISTS, ids=str)
def test_what_is_captured_is_listed(
    make_project: Callable[..., Project], listed: str | tuple[str, ...]
) -> None:
    project = project_of(make_project, declaration("one_ct", {}), declaration("two_ct", {}))
    value = listed if isinstance(listed, str) else list(listed)
    with standing_in(WRITES):
        result = project.dbt("run", "--select", "shop", vars={"cdc_capture_instances": value})
    said = [message.message for name, message in result.messages.items() if name.endswith("_ct")]
    assert said or listed != ("One",)  # the others are known before anything runs
    for text in said or [result.output]:
        assert LISTS[listed] in text


def test_a_model_depends_on_what_is_listed(make_project: Callable[..., Project]) -> None:
    """True refs, whatever files there are; of what is not listed, the query itself complains."""
    project = project_of(make_project, declaration("one_ct", {}), declaration("two_ct", {}))
    for name, call in {
        "all_of_one": "get_all_changes('ONE', '0x01', '0x02')",
        "all_of_none": "get_all_changes('none', '0x01', '0x02')",
        "across": "changes_across('dbo', 'one', '0x01', '0x02')",
    }.items():
        project.write(f"models/{name}.sql", f"select * from {{{{ dbt_cdc.{call} }}}}")
    variables = {"cdc_capture_instances": ["one", "two"]}
    result = project.ok(
        "ls", "--output", "json", "--output-keys", "name depends_on", vars=variables
    )
    nodes = [json.loads(line) for line in result.printed.splitlines() if line.startswith("{")]
    found = {
        node["name"]: {n.split(".")[-1] for n in node["depends_on"]["nodes"] if "_ct" in n}
        for node in nodes
    }
    assert found["all_of_one"] == {"one_ct"}
    assert found["all_of_none"] == set()
    assert found["across"] == {"one_ct", "two_ct"}


@pytest.mark.parametrize("scope", ["shop", "dbt_cdc"])
def test_a_variable_below_a_name(make_project: Callable[..., Project], scope: str) -> None:
    """One of the two, the project's models and the package's, does not see it, and says so."""
    project = make_project(
        models={"raw_log.sql": "select 1 as lsn", "dbo_t_ct.sql": "{{ dbt_cdc.change_table() }}",
                "t.yml": instance_yaml([CaptureInstance("dbo", "t", "dbo_t", (("id", "int"),))])},
        vars={scope: {"cdc_log_model": "raw_log"}},
    )  # fmt: skip
    with standing_in({}, may_lack=True):
        result = project.dbt("compile")
    assert "CDC 22901: no log to capture from: set vars: {cdc_log_model" in result.output
    assert "directly below vars: (the models of the project and of dbt_cdc" in result.output


def test_a_change_table_in_an_installed_package(shop: Shop) -> None:
    """A name in the list for which the project has no model would stop dbt while it parses."""
    names = ["dbo_orders_ct", "scan_transactions"]
    said = [
        shop.refusal("ask", calls=[
            ("_check_listed", "cdc_capture_instances", [], {"n": name}, "capture instance")
        ])
        for name in names
    ]  # fmt: skip
    assert "published together: add it in dbt_project.yml: vars: {cdc_capture_instances" in said[0]
    assert "it is in package dbt_cdc, and the publication finds models of project" in said[1]
    assert "(+enabled: false), and add it in dbt_project.yml: vars: {cdc_capture_inst" in said[1]


def test_a_change_table_has_no_versions(make_project: Callable[..., Project]) -> None:
    """dbt gives their tables other names."""
    model = {**declaration("one_ct", {}), "versions": [{"v": 1, "defined_in": "one_ct"}]}
    with standing_in({}, may_lack=True):
        result = project_of(make_project, model).dbt("run", "--select", "one_ct")
    assert "CDC 22932: " in result.output and "it has no versions: give a second" in result.output
