"""dbt's own commands: before the first publication, after a failure, in a pull request."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest
from capturing import Capture
from harness import Project, new_schema
from reference.log import LogRecord, int_to_lsn
from story import ITEMS

pytestmark = pytest.mark.slow

MODELS = {
    "now.sql": "{{ config(materialized='replica') }}"
    " select * from {{ dbt_cdc.new_changes('dbo_items') }}",
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
    shop.run()
    assert len(shop.sql("select * from {schema}.now")) == 1
    assert len(shop.sql("select * from {schema}.changes")) == 1


def test_build_recovers_from_a_failed_scan(shop: Capture) -> None:
    """The data test that reports the failure keeps no later scan from running."""
    shop.land(insert(1, '{"id": "bad"}'))
    assert not shop.project.dbt("build").success
    before = published(shop)
    shop.amend(int_to_lsn(3), after_image='{"id": 1}')
    failed = shop.project.dbt("build")
    assert "last_scan_succeeded" in failed.output
    assert published(shop) > before
    shop.project.ok("build")
    assert len(shop.sql("select * from {schema}.now")) == 2


def test_what_is_deferred_moves_no_bookmark(shop: Capture) -> None:
    """A consumer in the schema of a pull request finds nothing captured there, and says so."""
    project = shop.project
    project.ok("parse", "--write-json")
    shutil.copytree(project.folder / "target", project.folder / "state", dirs_exist_ok=True)
    shop.land(insert(2))
    shop.run("--exclude", "now")
    bookmark = "select last_lsn, open_lsn from {schema}.consumer_bookmarks"
    before = shop.sql(bookmark)
    profiles = project.folder / "profiles.yml"
    text = profiles.read_text(encoding="utf-8")
    profiles.write_text(text.replace(project.schema, new_schema("pull_request")), encoding="utf-8")
    result = project.dbt("run", "--select", "now", "--defer", "--favor-state", "--state", "state")
    assert not result.success
    assert "CDC 22981: change table pull_request" in result.output
    assert shop.sql(bookmark) == before
    profiles.write_text(text, encoding="utf-8")
    shop.run()
    assert len(shop.sql("select * from {schema}.now")) == 3


def test_an_aliased_change_table_is_named(shop: Capture) -> None:
    file = shop.project.folder / "models" / "dbo_items_ct.sql"
    file.write_text("{{ config(alias='items') }}{{ dbt_cdc.change_table() }}", encoding="utf-8")
    result = shop.project.dbt("run", "--select", "dbo_items_ct")
    assert "by model 'dbo_items_ct' with the alias 'items'" in result.output
    assert "leave the alias out" in result.output
