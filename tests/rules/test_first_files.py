"""The files of a first project: what init decides without the database."""

from __future__ import annotations

import json
from typing import Any

import pytest
from harness import PACKAGE
from shop import Shop, described

KEYS = {
    # an event's key: its columns
    '{"id": 1, "no": 2}': ["id", "no"],
    '{"id": 1, "__dbz__physicalTableIdentifier": "pg.public.items"}': ["id"],
    '{"__dbz__sourceIdentifier": "pg.public.items"}': [],
    None: [],
    # a router or another converter has made them; an argument tells the key
    "5": [],
    '"abc"': [],
    "[1]": [],
    "null": [],
    "Struct{order_id=5}": [],
}


def test_the_key_of_an_event(shop: Shop) -> None:
    calls = [("_key_columns_of_event", key) for key in KEYS]
    assert shop.values(*calls) == list(KEYS.values())


@pytest.mark.parametrize("key", ["5", "Struct{id=5}"])
def test_a_key_that_is_no_object(shop: Shop, key: str) -> None:
    """The argument tells the columns; without it there is no key, and a line says why."""
    place = {"kind": "events"}
    table = {"source_schema": "public", "source_name": "t", "key": key, "repeats_key": False,
             "changes": 1, "without_before_image": 0, "schemas": []}  # fmt: skip
    source = {"origin": "here", "columns": [{"name": "id", "data_type": "int"}]}
    found = shop.operation("ask", calls=[("_landed_node", place, table, source, {}, given)
                                         for given in (None, "id")])  # fmt: skip
    assert found.success, found.output
    keys = [json.loads(line)["config"]["meta"]["cdc"].get("index_columns")
            for line in found.printed.splitlines()]  # fmt: skip
    assert keys == [None, ["id"]]
    assert f"no key (the message key is no JSON object: {key}): no net changes" in found.output


def test_the_landing_model_is_that_of_the_page(shop: Shop) -> None:
    page = (PACKAGE / "docs" / "landing.md").read_text(encoding="utf-8")
    (model,) = shop.values(("_landing_model", "landed_files('/landing/shop')"))
    assert f"-- models/landed_events.sql\n{model}\n```" in page


def node(source_schema: str, source_name: str, name: str, *key: str) -> dict[str, Any]:
    """The change table of a landed table."""
    meta = {"source_schema": source_schema, "source_name": source_name, "index_columns": key}
    return {"name": f"{name}_ct", "config": {"meta": {"cdc": meta}}}


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([node("a_b", "c", "a_b_c"), node("a", "b_c", "a_b_c")],
         "the tables a_b.c and a.b_c would both have a model 'a_b_c_ct': leave one of them out by"),
        ([node("a", "t", "a_t", "id"), node("a", "x", "a_x"), node("a", "t_ct", "a_t_ct", "id")],
         "the tables a.t and a.t_ct would both have a model 'a_t_ct'"),
        ([node("landed", "events", "landed_events", "id")],
         "the tables of what has landed and landed.events would both have a model 'landed_events'"),
    ],
)  # fmt: skip
def test_two_tables_of_one_model(shop: Shop, nodes: list[dict[str, Any]], text: str) -> None:
    said = shop.refusal("ask", calls=[("_check_model_names", nodes)])
    assert f"CDC 22926: {text}" in said


OBSTACLES = {
    ("id", "Name"): None,
    ("Id", "name", "ID"): "has the columns 'Id' and 'ID', which Spark does not tell apart",
    ("id", "__$Operation"): "has a column '__$Operation', a name of the change table's own",
    tuple(f"c{n}" for n in range(1025)): "has 1025 columns, and 1024 can be captured",
}


def test_tables_that_cannot_be_captured(shop: Shop) -> None:
    """One is no obstacle for the others."""
    tables = [[{"name": name} for name in names] for names in OBSTACLES]
    table = {"source_schema": "a", "source_name": "t"}
    found = shop.values(*(("_obstacle_to_capture", table, columns) for columns in tables))
    assert [each and each["text"] for each in found] == list(OBSTACLES.values())
    named = [{**table, "source_schema": "CDC"}, {**table, "source_name": "t" * 99},
             {**table, "source_name": "t" * 98}]  # fmt: skip
    of_cdc, long, short = shop.values(*(("_obstacle_to_capture", t, tables[0]) for t in named))
    assert "is in a schema called cdc" in of_cdc["text"] and short is None
    assert "would have a capture instance with a name of 101 characters" in long["text"]
    assert long["way"].endswith("dbt run-operation enable_table with a capture_instance")
    left_out = [{**found[1], "text": "a.t has"}, {**long, "text": "a.u has"}]
    said = shop.operation("ask", calls=[("_tell_left_out", left_out, [1])])
    assert said.success
    assert "cdc: left out a.t has; after dbt run, leave a column out: dbt run-operation" in (
        said.output
    )
    said = shop.refusal("ask", calls=[("_tell_left_out", left_out, [])])
    assert "CDC 22930: no table can be captured as it is: a.t has; a.u has: init begins" in said


def test_a_key_that_is_too_long_for_net_changes(shop: Shop) -> None:
    names = [f"k{n}" for n in range(15)]
    table = {"source_schema": "public", "source_name": "t", "repeats_key": False, "changes": 1,
             "key": json.dumps(dict.fromkeys(names, 1)), "without_before_image": 0,
             "schemas": []}  # fmt: skip
    source = {"origin": "here", "columns": [{"name": n, "data_type": "int"} for n in names]}
    (made,) = shop.values(("_landed_node", {"kind": "events"}, table, source, {}, None))
    place = {"kind": "log", "model": "raw_log", "has_beginning": True}
    (files,) = shop.values(("_first_files", place, [made]))
    assert "          supports_net_changes: false" in files["models/public_t_ct.yml"]
    assert "new_changes('public_t')" in files["models/public_t.sql"]


def test_tables_whose_models_differ(shop: Shop) -> None:
    """A table without a key has no replica, whose name could be that of another change table."""
    nodes = [node("a", "t", "a_t", "id"), node("a", "t_ct", "a_t_ct"), node("b", "t", "b_t", "id")]
    assert shop.operation("ask", calls=[("_check_model_names", nodes)]).success


def test_a_model_is_known_in_a_schema_of_mixed_case(shop: Shop) -> None:
    """Spark lists it in lower case; if it were a source, no run of the log would build it."""
    landed = {"schema": f"{shop.project.schema}_myteam".lower(), "identifier": "landed_log"}
    model = "{{ config(schema='MyTeam') }} select 1 as one"
    with shop.with_models({"landed_log.sql": model}):
        assert shop.values(("_model_of", landed)) == ["landed_log"]


def test_a_replica_of_letters_beyond_ascii(shop: Shop) -> None:
    """It asks for the instance, whose objects bear another name."""
    (name,) = shop.values(("_object_name", "public_größen"))
    made = node("public", "größen", name, "id")
    made.update(origin="", columns=[{"name": "id", "data_type": "int"}])
    place = {"kind": "log", "model": "raw_log", "has_beginning": True}
    (files,) = shop.values(("_first_files", place, [made]))
    assert "dbt_cdc.new_changes('public_größen')" in files[f"models/{name}.sql"]
    assert files["dbt_project.yml"].endswith(f"\n    - {name}")


EXPORT = """{{{{ config(materialized='incremental', incremental_strategy='append') }}}}
{{{{ dbt_cdc.change_table_log({{'dbo.orders': {}}}, {}) }}}}"""
MAPPING = ("start_lsn", "tran_begin_time", "tran_end_time", "tran_id", "tran_begin_lsn")
OWN = "CDC 22906: the export has {}.{}, in the schema where change data capture has a table of that"


def test_an_export_in_the_schema_of_the_target(shop: Shop) -> None:
    """SQL Server's names are those of the tables here; a staging model has another one."""
    schema = shop.project.schema.upper()
    names = ["dbo_orders_CT", "lsn_time_mapping", "change_tables", "stg_orders", "stg_times"]
    source = {"name": "own", "schema": schema, "tables": [{"name": name} for name in names]}
    changes, mapping, known, staged, times = (f"source('own', '{name}')" for name in names)
    said = shop.errors({
        "sources.yml": json.dumps({"sources": [source]}),
        "one.sql": EXPORT.format(changes, times),
        "two.sql": EXPORT.format(staged, mapping),
        "three.sql": EXPORT.format(staged, f"{times}, change_tables={known}"),
        "none.sql": EXPORT.format(staged, times),
    })  # fmt: skip
    for model, name in zip(("one", "two", "three"), names, strict=False):
        assert OWN.format(schema, name) in said[model]
    assert "nothing answers: describe extended" in said["none"]


def test_init_of_an_export_in_the_schema_of_the_target(shop: Shop) -> None:
    variables = {"cdc_log_model": None, "cdc_capture_instances": None}
    said = shop.dbt(
        "run-operation", "init", "--args", json.dumps({"landed": "lsn_time_mapping"}),
        "--vars", json.dumps(variables),
        answer={r"^describe extended \S*lsn_time_mapping": described(*MAPPING)},
    )  # fmt: skip
    assert not said.success
    assert OWN.format(shop.project.schema, "lsn_time_mapping") in said.output
    assert "land the export in another schema, or give the target another" in said.output
