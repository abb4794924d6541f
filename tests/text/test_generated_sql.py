"""The text of the SQL that the macros write: as expected, and clean by the linter's rules.

A change of a macro shows in `expected/`; with DBT_CDC_WRITE_EXPECTED=1 these tests write it anew.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from capturing import instance_yaml
from harness import PACKAGE, Project
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
WINDOW = "'dbo_orders', '0x00000000000000000001', '0x000000000000000000FF'"
MODELS = {
    "raw_log.sql": "select * from {{ target.schema }}.landed",
    "instances.yml": instance_yaml([ORDERS, TEN]),
    "dbo_orders_ct.sql": "{{ dbt_cdc.change_table() }}",
    "dbo_ten_ct.sql": "{{ dbt_cdc.change_table() }}",
    "all_changes.sql": f"select * from {{{{ dbt_cdc.get_all_changes({WINDOW}) }}}}",
    "net_changes.sql": f"select * from {{{{ dbt_cdc.get_net_changes({WINDOW}, 'all') }}}}",
}
NAMES = [Path(name).stem for name in MODELS if name.startswith(("dbo", "all", "net"))]


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


@pytest.mark.parametrize("name", NAMES)
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
