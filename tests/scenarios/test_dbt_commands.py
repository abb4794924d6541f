"""dbt's own commands: before the first publication, after a failure, in a pull request."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace

import pytest
from capturing import Capture, instance_yaml
from harness import Project, new_schema
from reference.log import LogRecord, int_to_lsn
from story import ITEMS, NOTES

pytestmark = pytest.mark.slow

MODELS = {
    "now.sql": "{{ config(materialized='replica') }}"
    " select * from {{ dbt_cdc.new_changes('dbo_items') }} -- as they are now",
    "changes.sql": "select * from {{ dbt_cdc.get_all_changes("
    "'dbo_items', dbt_cdc.get_min_lsn('dbo_items'), dbt_cdc.get_max_lsn()) }}",
}


def insert(number: int, image: str | None = None) -> list[LogRecord]:
    """A transaction that inserts a row."""
    tran_id, lsns = f"t{number}", [int_to_lsn(2 * number + n) for n in (1, 2)]
    image = image or json.dumps({"id": number, "name": "x"})
    change = LogRecord(lsns[0], tran_id, "INSERT", None, "dbo", "items", None, image)
    return [change, LogRecord(lsns[1], tran_id, "COMMIT", None)]


@pytest.fixture(scope="module")
def shop(make_project: Callable[..., Project]) -> Capture:
    """A project that has not run yet, with a replica and a model that asks for all changes."""
    made = Capture(make_project, [ITEMS], models=MODELS)
    made.land(insert(0))
    return made


def published(shop: Capture) -> str:
    """The high end."""
    return shop.sql("select max(high_end) from {schema}.validity_intervals")[0][0]


def test_before_the_first_publication(shop: Capture) -> None:
    for command in (["compile"], ["docs", "generate"], ["run", "--empty"], ["compile"]):
        shop.project.ok(*command)
    assert not shop.sql("select * from {schema}.scan_transactions")
    captured = shop.run("--select", "+dbo_items_ct")  # not published
    assert "has no record_time: no window by time has its changes" in captured.output
    nothing = "CDC 313: nothing is published yet for capture instance dbo_items: dbt run --select"
    result = shop.project.dbt("run", "--select", "changes")
    assert nothing in result.messages["changes"].message
    shop.run()
    assert len(shop.sql("select * from {schema}.now")) == 1
    assert len(shop.sql("select * from {schema}.changes")) == 1


def test_build_recovers_from_a_failed_scan(shop: Capture) -> None:
    """The data test that reports the failure keeps no later scan from running."""
    shop.land(insert(1, '{"id": "bad"}'))
    assert not shop.project.dbt("build").success
    before = published(shop)
    shop.amend(int_to_lsn(3), after_image='{"id": 1}')
    failed = shop.project.dbt("test", "--select", "dm_cdc_log_scan_sessions")
    assert "last_scan_succeeded" in failed.output
    shop.project.ok("build")
    assert published(shop) > before
    shop.project.ok("test", "--select", "dm_cdc_log_scan_sessions")
    assert len(shop.sql("select * from {schema}.now")) == 2


def test_what_is_deferred(shop: Capture) -> None:
    """A query in the schema of a pull request reads production's change table in the bounds
    that are published there; a consumer finds nothing captured, and says so."""
    project = shop.project
    project.ok("parse", "--write-json")
    shutil.copytree(project.folder / "target", project.folder / "state", dirs_exist_ok=True)
    shop.land(insert(2))
    shop.run("--exclude", "now")
    bookmark = "select last_lsn, open_lsn from {schema}.consumer_bookmarks"
    before = shop.sql(bookmark)
    profiles = project.folder / "profiles.yml"
    text = profiles.read_text(encoding="utf-8")
    schema = new_schema("pull_request")
    profiles.write_text(text.replace(project.schema, schema), encoding="utf-8")
    project.ok("run", "--select", "changes", "--defer", "--state", "state")
    assert len(shop.sql(f"select * from {schema}.changes")) == 3
    result = project.dbt("run", "--select", "now", "--defer", "--favor-state", "--state", "state")
    assert not result.success
    assert "CDC 22981: change table pull_request" in result.output
    assert shop.sql(bookmark) == before
    profiles.write_text(text, encoding="utf-8")
    shop.run()
    assert len(shop.sql("select * from {schema}.now")) == 3


@pytest.mark.more
def test_a_new_instance_beside_a_consumer(shop: Capture) -> None:
    """With several threads too, who asks for a new instance does so after its publication."""
    project, yaml = shop.project, json.loads(instance_yaml([NOTES]))
    project.write("models/notes.yml", json.dumps(yaml))
    project.write("models/dbo_notes_ct.sql", "{{ dbt_cdc.change_table() }}")
    project.write("models/notes.sql", MODELS["changes.sql"].replace("dbo_items", "dbo_notes"))
    image = json.dumps({"text": "x"})
    shop.land([replace(r, source_name="notes", after_image=image) for r in insert(3)])
    shop.run("--threads", "4")
    assert len(shop.sql("select * from {schema}.notes")) == 1
    for file in ("notes.yml", "dbo_notes_ct.sql", "notes.sql"):
        (project.folder / "models" / file).unlink()


def test_an_aliased_change_table_is_named(shop: Capture) -> None:
    file = shop.project.folder / "models" / "dbo_items_ct.sql"
    file.write_text("{{ config(alias='items') }}{{ dbt_cdc.change_table() }}", encoding="utf-8")
    result = shop.project.dbt("run", "--select", "dbo_items_ct")
    assert "by model 'dbo_items_ct' with the alias 'items'" in result.output
    assert "leave the alias out" in result.output
