"""Standing between dbt and Spark: watching, failing and replaying single statements."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from dbt.adapters.spark.session import Cursor
from dbt.task.run import ModelRunner
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession
from scripts import cut_after_writes

WRITES = re.compile(
    r"(insert|create|begin|delete|update|merge|drop|alter|truncate|replace)\b", re.I
)
LSN = re.compile(r"0x[0-9A-F]{20}")
OF_THIS_RUN = re.compile(
    r"'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'|timestamp'[^']*'|\b\d{9}\b"
    r"|(?<=open_lsn\) in )\(.*\)"
)


def without_comment(sql: str) -> str:
    """A statement without the comment that dbt puts before it."""
    return re.sub(r"^\s*/\*.*?\*/\s*", "", sql, flags=re.S).strip()


def is_write(sql: str) -> bool:
    """Whether a statement changes anything."""
    return bool(WRITES.match(without_comment(sql)))


def as_any_run_writes(sql: str) -> str:
    """A statement without the session's number, its invocation, its times, and whose bookmarks."""
    return OF_THIS_RUN.sub("?", without_comment(sql))


def points(sql: str, *, in_scripts: bool) -> list[str]:
    """Where a client can die that sends a write: what it has executed then, all of it the last."""
    if not is_write(sql):
        return []
    return [*cut_after_writes(sql), sql] if in_scripts else [sql]


class Killed(DbtRuntimeError):
    """What the adapter would raise if the connection were lost."""


@contextlib.contextmanager
def around_statements(execute: Callable[[str, Callable[..., Any]], Any]) -> Iterator[None]:
    """Calls `execute(sql, go)` for each statement that dbt sends; `go()` really sends it, and
    `go(text)` another one in its place."""
    original = Cursor.execute

    def patched(self: Cursor, sql: str, *parameters: Any) -> Any:
        return execute(sql, lambda text=sql: original(self, text, *parameters))

    Cursor.execute = patched  # type: ignore[method-assign]
    try:
        yield
    finally:
        Cursor.execute = original  # type: ignore[method-assign]


@contextlib.contextmanager
def recorded(*, with_comments: bool = False) -> Iterator[list[str]]:
    """The statements that are sent, in order; the comments tell for which node."""
    statements: list[str] = []

    def execute(sql: str, go: Callable[..., Any]) -> Any:
        statements.append(sql if with_comments else without_comment(sql))
        return go()

    with around_statements(execute):
        yield statements


@contextlib.contextmanager
def dying_at(is_last: Callable[[str], bool], *, in_scripts: bool = False) -> Iterator[list[str]]:
    """After the first write for which `is_last(sql)` holds, every statement fails, as after a
    kill. Gives the writes that were executed, as any run would write them."""
    writes: list[str] = []
    is_dead: list[bool] = []

    def execute(sql: str, go: Callable[..., Any]) -> Any:
        if is_dead:
            raise Killed("killed")
        ways = points(sql, in_scripts=in_scripts)
        last = next((way for way in ways if is_last(as_any_run_writes(way))), "")
        result = go(last or sql)
        if ways:
            writes.append(as_any_run_writes(last or sql))
        if last:
            is_dead.append(True)
            raise Killed("killed")
        return result

    with around_statements(execute):
        yield writes


@contextlib.contextmanager
def failing_at(number: int, *, executed: bool) -> Iterator[list[str]]:
    """The `number`-th write fails, before or after it is `executed`; dbt goes on."""
    writes: list[str] = []

    def execute(sql: str, go: Callable[..., Any]) -> Any:
        if not is_write(sql):
            return go()
        writes.append(without_comment(sql))
        if len(writes) != number:
            return go()
        if executed:
            go()
        raise Killed("this statement failed")

    with around_statements(execute):
        yield writes


@contextlib.contextmanager
def before_write(number: int, meanwhile: Callable[[], None]) -> Iterator[None]:
    """Others do something before the `number`-th write is sent."""
    writes = itertools.count(1)

    def execute(sql: str, go: Callable[..., Any]) -> Any:
        if is_write(sql) and next(writes) == number:
            meanwhile()
        return go()

    with around_statements(execute):
        yield


def node_of(sql: str) -> str:
    """The node for which dbt sends a statement, by the comment before it."""
    comment = re.search(r'"node_id": "([^"]+)"', sql)
    return comment[1] if comment else ""


def fault_at(kind: str, number: int) -> contextlib.AbstractContextManager[list[str]]:
    """At the `number`-th write the client 'dies', or the write 'fails', or its 'answer is lost'."""
    if kind == "dies":
        left = iter(range(number - 1))
        return dying_at(lambda sql: next(left, None) is None)
    return failing_at(number, executed=kind == "answer is lost")


@contextlib.contextmanager
def fault_at_new(
    kind: str, done: set[str], *, of_each_node: bool = False, in_scripts: bool = False
) -> Iterator[list[str]]:
    """As `fault_at`, at the first write (of each node) that is not in `done`, to which it is added;
    later ones fail. Where the fault falls `in_scripts`, one of several writes stops after each of
    them, before it is had as a whole. Gives those writes."""
    tried: dict[str, str] = {}
    writes: list[str] = []

    def execute(sql: str, go: Callable[..., Any]) -> Any:
        node = node_of(sql) if of_each_node else ""
        new = [s for s in points(sql, in_scripts=in_scripts) if as_any_run_writes(s) not in done]
        if node in tried and (new or kind == "dies"):
            raise Killed("killed")
        if not new:
            return go()
        tried[node] = as_any_run_writes(new[0])
        writes.append(tried[node])
        done.add(tried[node])
        if kind != "fails" or new[0] != sql:
            go(new[0])
        raise Killed("this statement failed")

    with around_statements(execute):
        yield writes


def replay(spark: SparkSession, statements: list[str]) -> None:
    """Executes recorded statements, as another client would."""
    for sql in statements:
        spark.sql(sql)


@contextlib.contextmanager
def rendering() -> Iterator[list[str]]:
    """The writes that are sent while the body of a model is rendered."""
    writes: list[str] = []
    at_work: list[bool] = []
    original = ModelRunner.compile

    def compile_body(self: ModelRunner, *arguments: Any) -> Any:
        at_work.append(True)
        try:
            return original(self, *arguments)
        finally:
            at_work.pop()

    def execute(sql: str, go: Callable[[], Any]) -> Any:
        if at_work and is_write(sql):
            writes.append(sql)
        return go()

    with mock.patch.object(ModelRunner, "compile", compile_body), around_statements(execute):
        yield writes
