"""The log of seeds/, as docs/log.md says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
import yaml
from capturing import Capture
from harness import PACKAGE, Project
from reference.capture import CaptureInstance, capture
from reference.log import LogRecord
from test_seeds import seed

pytestmark = pytest.mark.slow

COLUMNS = (("id", "int"), ("status", "string"))
ORDERS = CaptureInstance("dbo", "orders", "dbo_orders", COLUMNS, ("id",))


def record(row: dict[str, str]) -> LogRecord:
    """A row of the seed; what is empty is NULL."""
    values: dict[str, Any] = {name: value or None for name, value in row.items()}
    return LogRecord(**{**values, "record_time": datetime.fromisoformat(row["record_time"])})


def test_the_story_is_captured(make_project: Callable[..., Project]) -> None:
    (model,) = re.findall(
        r"```sql\n-- models/my_log.sql\n(.*?)```",
        (PACKAGE / "docs" / "log.md").read_text(encoding="utf-8"), re.S,
    )  # fmt: skip
    declared = yaml.safe_load((PACKAGE / "seeds" / "_seeds.yml").read_text(encoding="utf-8"))
    (declared["seeds"],) = [[s for s in declared["seeds"] if s["name"] == "story_log"]]
    del declared["seeds"][0]["config"]["enabled"]
    story = Capture(make_project, [ORDERS], vars={"cdc_persistent_functions": False})
    text = (PACKAGE / "seeds" / "story_log.csv").read_text(encoding="utf-8")
    story.project.write("seeds/story_log.csv", text)
    story.project.write("seeds/seeds.yml", json.dumps(declared))
    story.project.write("models/raw_log.sql", model)
    story.project.ok("seed", "--select", "story_log")
    story.run()
    changes = story.changes(ORDERS)
    assert changes == capture([record(row) for row in seed("story_log")], ORDERS)
    assert [row.operation for row in changes] == [2, 3, 4, 1, 2, 1]
