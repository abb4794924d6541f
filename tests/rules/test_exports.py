"""What an export of SQL Server's change tables is asked before the log's statement is sent."""

from __future__ import annotations

import pytest
from shop import Shop


@pytest.mark.parametrize(
    ("data_type", "is_large"),
    [("string", True), ("varchar(2147483647)", True), ("varchar(8000)", False), ("binary", True)],
)
def test_values_that_may_be_missing_before_an_update(
    shop: Shop, data_type: str, is_large: bool
) -> None:
    """Spark's JDBC lands a varchar(max) with the greatest length, other tools with a short one."""
    column = {"name": "v", "dtype": data_type}
    calls = [("_exported_is_large", column), ("_exported_before", column, 0)]
    large, before = shop.values(*calls)
    assert large == is_large
    assert "= 0, after.`v`, null)" in before
