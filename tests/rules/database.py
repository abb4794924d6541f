"""Standing in for the database: what is pure Jinja can be asked without Spark.

dbt runs its commands in the project as ever, and sends its statements; they are answered here, by
rows that the test gives. What nobody answers fails the test, so a refusal that wrote anything
before it came would be seen.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

from dbt.adapters.spark.session import Cursor
from dbt_common.exceptions import DbtRuntimeError
from furniture import state_tables
from pyspark.sql.types import StringType, StructField, StructType
from statements import without_comment

Rows = Sequence[Mapping[str, Any]]
Answer = Rows | Callable[[str], Rows]
STATE = (*state_tables(), "cdc_jobs", "job_requests")
SETTINGS: Mapping[str, Answer] = {r"^execute immediate 'set'$": []}
VIEWS = ("validity_intervals", "change_tracking_versions", "viewed")


@dataclass(frozen=True)
class Answered:
    """What dbt-spark asks of a data frame."""

    rows: Rows

    @property
    def schema(self) -> StructType:
        """The columns; dbt sees the types in the values."""
        names = self.rows[0] if self.rows else ()
        return StructType([StructField(name, StringType()) for name in names])

    def collect(self) -> list[tuple[Any, ...]]:
        """All rows."""
        return [tuple(row.values()) for row in self.rows]

    def take(self, count: int) -> list[tuple[Any, ...]]:
        """The first rows."""
        return self.collect()[:count]


def noting(statements: list[str]) -> Callable[[str], Rows]:
    """An answer without rows, which adds the statement to those."""

    def note(sql: str) -> Rows:
        statements.append(sql)
        return []

    return note


@contextlib.contextmanager
def standing_in(
    answers: Mapping[str, Answer], tables: Iterable[str] = (), *, may_lack: bool = False
) -> Iterator[list[str]]:
    """Answers each statement by the first of `answers` (regex: rows, or a function of the
    statement) that is found in it. There are the state tables, and those `tables`. Gives the
    statements that were sent. A statement without an answer fails; unless some `may_lack` one, the
    test too."""
    known = {**SETTINGS, **catalog([*STATE, *tables]), **answers}
    sent: list[str] = []
    unanswered: list[str] = []

    def execute(cursor: Any, sql: str, *_: Any) -> None:
        sql = without_comment(sql)
        sent.append(sql)
        for pattern, answer in known.items():
            if re.search(pattern, sql, re.I | re.S):
                cursor._df = Answered(answer(sql) if callable(answer) else answer)
                return
        unanswered.append(sql)
        raise DbtRuntimeError(f"nothing answers: {sql}")

    with mock.patch.object(Cursor, "execute", execute):
        yield sent
    assert may_lack or not unanswered, unanswered


def catalog(tables: Iterable[str]) -> dict[str, Answer]:
    """What dbt asks of the catalog: the project's schema has these tables and views."""

    def list_tables(sql: str) -> Rows:
        schema = re.split(r"\s+", sql)[4]
        return [
            {
                "namespace": schema,
                "tableName": name,
                "isTemporary": False,
                "information": "Type: VIEW" if name in VIEWS else "Provider: delta",
            }
            for name in tables
        ]

    return {
        r"^show databases": [], r"^create schema": [], r"^show table extended": list_tables,
    }  # fmt: skip
