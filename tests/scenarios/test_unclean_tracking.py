"""Change tracking of keys that are padded, and of keys whose type is edited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from harness import Project
from reference.change_tracking import TrackedTable
from tracking import Tracking, tracked_models
from transactions import Writer

pytestmark = pytest.mark.slow


@pytest.mark.more
def test_the_version_of_a_char_key(make_project: Callable[..., Project]) -> None:
    """It is found with blanks behind the value and without."""
    codes = TrackedTable("dbo", "codes", (("code", "char(5)"), ("n", "int")), ("code",), True)
    asked = "select sys_change_version from {{ dbt_cdc.changetable_version('dbo.codes', 'abc') }}"
    tracking, writer = Tracking(make_project, [codes], models={"asked.sql": asked}), Writer()
    tracking.land(writer.insert("codes", code="abc", n=1))
    tracking.land(writer.commit("codes", {"code": "abc", "n": 1}, {"code": "abc", "n": 2}))
    tracking.land(writer.insert("codes", code="gone", n=1))
    tracking.land(writer.commit("codes", {"code": "gone", "n": 1}))
    tracking.run()
    call = "select * from {{schema}}.changetable_version_dbo_codes('{}')"
    found = {
        value: [row[0] for row in tracking.sql(call.format(value))]
        for value in ["abc", "abc  ", "gone", "ab"]
    }
    assert found == {"abc": [2], "abc  ": [2], "gone": [], "ab": [None]}
    assert [row[0] for row in tracking.sql("select * from {schema}.asked")] == [2]


def test_the_type_of_a_key_is_edited(make_project: Callable[..., Project]) -> None:
    """It is refused where its table would store the values as another one."""
    columns = (("price", "decimal(9,2)"), ("day", "date"), ("id", "int"))
    prices = TrackedTable("dbo", "prices", columns, ("price", "day", "id"), True)
    tracking, writer = Tracking(make_project, [prices]), Writer()
    tracking.land(writer.insert("prices", price="1.25", day="2024-01-01", id=1))
    tracking.run()
    tracking.land(
        writer.insert("prices", price="1.2345", day="2024-01-02T10:11:12", id=5_000_000_000)
    )
    for column, kept, edited in (
        ("price", "decimal(9,2)", "decimal(9,4)"),
        ("day", "date", "timestamp"),
        ("id", "int", "bigint"),
    ):
        types = tuple((name, edited if name == column else given) for name, given in columns)
        files = tracked_models([replace(prices, columns=types)])
        tracking.project.write("models/tracked.yml", files["tracked.yml"])
        message = tracking.project.dbt("run").messages["change_tracking_dbo_prices"].message
        assert f"CDC 4997: the type of key column {column} of change tracking" in message
        assert f"it is {kept}, the YAML says {edited}" in message
    assert tracking.sql("select count(*) from {schema}.change_tracking_dbo_prices")[0][0] == 1
