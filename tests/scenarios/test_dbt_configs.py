"""dbt's own configs on this package's materializations: grants, contract, constraints, docs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from capturing import Capture, instance_yaml
from harness import Project
from reference.capture import CaptureInstance
from reference.log import LogRecord, int_to_lsn
from test_schema_changes import GRANTS

pytestmark = pytest.mark.slow

ITEMS = CaptureInstance(
    "dbo", "items", "dbo_items", (("id", "int"), ("name", "string")), ("id",)
)  # fmt: skip
SELECT = "select * from {{ dbt_cdc.new_changes('dbo_items') }}"
SHOW = """
{% macro spark__get_show_grant_sql(relation) %}
    select 'SELECT' as ActionType, 'somebody' as Principal, 'TABLE' as ObjectType
{% endmacro %}
"""


def change(number: int, row: dict[str, Any]) -> list[LogRecord]:
    first = 3 * number
    return [
        LogRecord(int_to_lsn(first), f"t{number}", "BEGIN"),
        LogRecord(int_to_lsn(first + 1), f"t{number}", "INSERT", None, "dbo", "items",
                  after_image=json.dumps(row)),
        LogRecord(int_to_lsn(first + 2), f"t{number}", "COMMIT"),
    ]  # fmt: skip


def consumers(id_type: str) -> str:
    """YAML of a replica and a history with enforced contracts."""
    columns = [
        {"name": "id", "data_type": id_type},
        {"name": "name", "data_type": "string", "description": "what it is called"},
    ]
    valid = [
        {"name": f"valid_{name}", "data_type": kind}
        for name, kind in (("from", "timestamp"), ("to", "timestamp"),
                           ("from_lsn", "string"), ("to_lsn", "string"))
    ]  # fmt: skip
    check = {"type": "check", "name": "positive", "expression": "id > 0"}
    config = {"contract": {"enforced": True}, "persist_docs": {"columns": True},
              "grants": {"select": ["analysts"]}}  # fmt: skip
    return json.dumps({"version": 2, "models": [
        {"name": "now", "config": config, "columns": columns, "constraints": [check]},
        {"name": "then", "config": config, "columns": columns + valid, "constraints": [check]},
    ]})  # fmt: skip


@pytest.fixture(scope="module")
def target(make_project: Callable[..., Project]) -> Capture:
    models = {
        "now.sql": "{{ config(materialized='replica') }}" + SELECT,
        "then.sql": "{{ config(materialized='history') }}" + SELECT,
        "consumers.yml": consumers("int"),
    }
    made = Capture(make_project, [ITEMS], models=models, vars={"cdc_role_gating": "grant"},
                   role_name="readers")  # fmt: skip
    made.sql("create table {schema}.grants (statement string) using delta")
    made.project.write("macros/grants.sql", GRANTS + SHOW)
    captured = json.loads(instance_yaml([ITEMS], role_name="readers"))
    model = captured["models"][0] | {"description": "the items' changes"}
    model["config"] |= {
        "grants": {"select": "auditors"},
        "persist_docs": {"relation": True, "columns": True},
    }
    model["columns"][1]["description"] = "it's a name"
    captured["models"] = [model]
    made.project.write("models/instances.yml", json.dumps(captured))
    made.land(change(1, {"id": 1, "name": "a"}))
    made.run()
    return made


def granted(target: Capture) -> list[str]:
    rows = target.sql("select statement from {schema}.grants")
    target.sql("delete from {schema}.grants")
    names = ("now", "then", "dbo_items_ct")
    texts = [row.statement.lower().replace(f"{target.schema}.", "") for row in rows]
    return sorted(t for t in texts if t.split(" on ")[1].split(" ")[0] in names)


def test_grants(target: Capture) -> None:
    """A new table gets those of the config; one that is there loses what others have. The role of
    an instance keeps its own beside them."""
    assert granted(target) == [
        "grant select on dbo_items_ct to auditors",
        "grant select on dbo_items_ct to readers",
        "grant select on dbo_items_ct to readers",
        "grant select on now to analysts",
        "grant select on then to analysts",
    ]
    target.land(change(2, {"id": 2, "name": "b"}))
    target.run()
    assert granted(target) == [
        "grant select on dbo_items_ct to auditors",
        "grant select on dbo_items_ct to readers",
        "grant select on now to analysts",
        "grant select on then to analysts",
        "revoke select on dbo_items_ct from somebody",
        "revoke select on now from somebody",
        "revoke select on then from somebody",
    ]


@pytest.mark.more
def test_constraints_and_docs(target: Capture) -> None:
    for name in ("now", "then"):
        columns = {row.col_name: row for row in target.sql(f"describe {{schema}}.{name}")}
        assert columns["name"].comment == "what it is called"
        with pytest.raises(Exception, match="positive"):
            target.sql(f"insert into {{schema}}.{name} (id) values (0)")


@pytest.mark.more
def test_docs_of_a_change_table(target: Capture) -> None:
    rows = target.sql("describe extended {schema}.dbo_items_ct")
    columns = {row.col_name: row for row in reversed(rows)}
    assert columns["name"].comment == "it's a name"
    assert columns["Comment"].data_type == "the items' changes"


@pytest.mark.more
def test_a_contract_that_the_model_breaks(target: Capture) -> None:
    """Nothing is written; the run says which column is of another type."""
    target.project.write("models/consumers.yml", consumers("bigint"))
    target.land(change(3, {"id": 3, "name": "c"}))
    result = target.project.dbt("run")
    for name in ("now", "then"):
        message = result.messages[name].message
        assert "enforced contract" in message and "bigint" in message.lower()
        rows = target.sql(f"select id from {{schema}}.{name} order by id")
        assert [row.id for row in rows] == [1, 2]
    target.project.write("models/consumers.yml", consumers("int"))
    target.run()
    assert len(target.sql("select id from {schema}.now")) == 3
