"""Consumers behind commands that died, failed or wrote nothing: each change once, or an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from capturing import Capture
from harness import DbtResult, Project
from reference.capture import CaptureInstance
from statements import dying_at
from transactions import Writer

pytestmark = pytest.mark.slow

ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("name", "string")), ("id",))
LINES = CaptureInstance("dbo", "lines", "dbo_lines", (("id", "int"), ("n", "int")), ("id",))
PLAIN = {"cdc_persistent_functions": False}
REPLICA = (
    "{{ config(materialized='replica') }}\n"
    "select * from {{ dbt_cdc.new_changes('dbo_items') }}\n"
)  # fmt: skip


@pytest.fixture
def capturing(make_project: Callable[..., Project]) -> Capture:
    """A project that captures two tables and has no consumers yet."""
    return Capture(make_project, [ITEMS, LINES], vars=PLAIN)


def operation(capturing: Capture, name: str, **arguments: Any) -> DbtResult:
    return capturing.project.dbt("run-operation", name, "--args", json.dumps(arguments))


def test_a_loss_is_accepted_for_one_beginning(capturing: Capture) -> None:
    """Also where the consumer began anew and died before its bookmark told so."""
    writer, project = Writer(), capturing.project
    project.write("models/items.sql", REPLICA)
    capturing.land(writer.insert("items", id=1, name="a"))
    capturing.run()
    assert operation(capturing, "reset_consumer", consumer="items", dry_run=False).success
    with dying_at(lambda sql: "create or replace table" in sql and ".items" in sql):
        assert not project.dbt("run").success
    capturing.land(writer.insert("items", id=2, name="b"))
    with dying_at(lambda sql: "consumer_bookmarks" in sql and "target_version" in sql):
        assert not project.dbt("run").success
    capturing.land(writer.insert("lines", id=1, n=1))
    capturing.run("--exclude", "items")
    mark = {"capture_instance": "dbo_items", "low_water_mark": writer.last}
    assert operation(capturing, "cleanup_change_table", **mark).success
    message = project.dbt("run").messages["items"].message
    assert "CDC 313: items has consumed up to" in message
    (bookmark,) = capturing.sql("select is_stale from {schema}.cdc_consumers")
    assert bookmark.is_stale
