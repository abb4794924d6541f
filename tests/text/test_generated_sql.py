"""The text of the SQL that the macros write: as expected, and clean by the linter's rules.

A change of a macro shows in `expected/`; with DBT_CDC_WRITE_EXPECTED=1 these tests write it anew.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from capturing import instance_yaml
from harness import PACKAGE, SHOP, Project
from reference.capture import CaptureInstance

EXPECTED = Path(__file__).parent / "expected"
ORDERS = CaptureInstance(
    "dbo", "orders", "dbo_orders",
    (("id", "int"), ("note", "varchar(20)"), ("amount", "decimal(9,2)"), ("at", "timestamp")),
    ("id",),
)  # fmt: skip
TYPES = (
    "bigint", "smallint", "varchar(40)", "string", "decimal(12,2)", "boolean", "date", "double",
    "timestamp", "binary",
)  # fmt: skip
TEN = CaptureInstance(
    "dbo", "ten", "dbo_ten",
    tuple((f"column_{n}", name) for n, name in enumerate(TYPES)),
    ("column_0",),
)  # fmt: skip
LONG = CaptureInstance(
    "dbo", "long", "dbo_long",
    tuple((f"a_long_name_{n}", name) for n, name in enumerate((*TYPES, "decimal(18,6)"))),
    ("a_long_name_0",),
)  # fmt: skip
PAGE = PACKAGE / "docs" / "change-table.md"
WINDOW = "'dbo_orders', '0x00000000000000000001', '0x000000000000000000FF'"


def example_yaml(name: str) -> str:
    """What the example's YAML says of a model, without its tests."""
    models = yaml.safe_load((SHOP / "models" / "_shop.yml").read_text(encoding="utf-8"))["models"]
    (model,) = (model for model in models if model["name"] == name)
    del model["data_tests"]
    return json.dumps({"models": [model]})


MODELS = {
    "raw_log.sql": "-- depends_on: {{ ref('shop_log') }}\nselect * from {{ target.schema }}.landed",
    "instances.yml": instance_yaml([ORDERS, TEN, LONG]),
    "dbo_orders_ct.sql": "{{ dbt_cdc.change_table() }}",
    "dbo_ten_ct.sql": "{{ dbt_cdc.change_table() }}",
    "dbo_long_ct.sql": "{{ dbt_cdc.change_table() }}",
    "public_orders_ct.sql": "{{ dbt_cdc.change_table() }}",
    "public_orders_ct.yml": example_yaml("public_orders_ct"),
    "shop_log.sql": (SHOP / "models" / "shop_log.sql").read_text(encoding="utf-8"),
    "shop_events.sql": "select 1 as id",
    "all_changes.sql": f"select * from {{{{ dbt_cdc.get_all_changes({WINDOW}) }}}}",
    "net_changes.sql": f"select * from {{{{ dbt_cdc.get_net_changes({WINDOW}, 'all') }}}}",
}
NAMES = [
    Path(name).stem
    for name in MODELS
    if name.startswith(("dbo", "all", "net", "public")) and name.endswith("sql")
]


@pytest.fixture(scope="module")
def texts(make_project: Callable[..., Project]) -> dict[str, str]:
    project = make_project(models=MODELS, vars={"cdc_log_model": "raw_log"})
    project.ok("compile")
    folder = project.folder / "target" / "compiled" / "shop" / "models"
    return {
        name: (folder / f"{name}.sql").read_text(encoding="utf-8").strip().replace(
            project.schema, "schema_of_target"
        ) + "\n"
        for name in NAMES
    }  # fmt: skip


@pytest.fixture(scope="module")
def lint_compiled() -> ModuleType:
    path = PACKAGE / "scripts" / "lint_compiled.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_statement_of_orders(texts: dict[str, str]) -> None:
    before, sql, after = re.split(r"(?s)(?<=```sql\n)(.*)(?=```)", PAGE.read_text(encoding="utf-8"))
    if os.environ.get("DBT_CDC_WRITE_EXPECTED"):
        sql = texts["public_orders_ct"]
        PAGE.write_text(before + sql + after, encoding="utf-8")
    assert sql == texts["public_orders_ct"]
    steps = re.findall(r"(?m)^(?:with )?(\w+) as \($", sql)
    assert re.findall(r"(?m)^\| `(\w+)` \|", before) == steps


def test_a_change_table_can_be_read(texts: dict[str, str]) -> None:
    assert texts["dbo_ten_ct"].count("\n") <= 134
    for name in ("dbo_ten_ct", "dbo_long_ct", "public_orders_ct"):
        assert [line for line in texts[name].splitlines() if len(line) > 100] == []


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("dbo_long_ct", "public_orders_ct")])
def test_text(texts: dict[str, str], name: str) -> None:
    file = EXPECTED / f"{name}.sql"
    if os.environ.get("DBT_CDC_WRITE_EXPECTED"):
        file.write_text(texts[name], encoding="utf-8")
    assert texts[name] == file.read_text(encoding="utf-8")


def test_lint(texts: dict[str, str], lint_compiled: ModuleType, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.sql" for name in NAMES]
    for path in paths:
        path.write_text(texts[path.stem], encoding="utf-8")
    assert lint_compiled.violations(paths) == []
