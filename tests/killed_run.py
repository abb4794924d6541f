"""A process that tells the story in a warehouse of its own, until test_crash.py kills it.

Writes a line before each statement of dbt, and 'as expected' when all windows are captured.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capturing import LOG_DDL, Capture
from harness import Project, interpret, start_spark
from statements import around_statements
from story import Story, window_records


class Kept(Capture):
    """Keeps what the process before it has left."""

    def clear(self) -> None:
        self.sql("create schema if not exists {schema}")
        self.sql(f"create table if not exists {{schema}}.landed ({LOG_DDL}) using delta")


def main(folder: Path, windows: int) -> None:
    """Captures window after window, going on where the last process was killed."""
    spark = start_spark(folder, metastore=f"{folder}/metastore")
    interpret(spark)
    project = Path(tempfile.mkdtemp(dir=folder))

    def execute(sql: str, go: Callable[[], Any]) -> Any:
        print("statement", file=sys.__stdout__, flush=True)  # dbt's own output goes elsewhere
        return go()

    story = Story(lambda fresh, **options: Project(project, spark, **options), Kept)
    present = {row.lsn for row in story.capture.sql("select lsn from {schema}.landed")}
    for number in range(windows):
        new = window_records(number)
        story.records += new
        story.capture.land(r for r in new if r.lsn not in present)
        with around_statements(execute):
            story.capture.run()
        story.check_published_part()
    with around_statements(execute):
        story.capture.run()
    story.check()
    story.check_published_part()
    print("as expected", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
