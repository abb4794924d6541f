"""Stands in for dbt when sqlfluff reads a model: what a template asks for is text that parses.

sqlfluff knows ref, source, config, var, this and is_incremental itself; here is the rest.
"""

import datetime
import types


class Text(str):
    """A name that parses as a relation after `from` and as a value in an expression.

    Calling it, its attributes and its items give such text again: `run_query(...).rows[0][0]`.
    """

    __slots__ = ()
    # Jinja's sandbox asks for these before it calls.
    alters_data = False
    unsafe_callable = False

    def __call__(self, *_arguments: object, **_options: object) -> "Text":
        return self

    def __getattr__(self, name: str) -> "Text":
        if name.startswith("__"):
            raise AttributeError(name)
        return Text(name)

    def __getitem__(self, _key: object) -> "Text":
        return self


def log(*_arguments: object, **_options: object) -> str:
    return ""


adapter = Text("adapter")
dbt = Text("dbt")
exceptions = Text("exceptions")
run_query = Text("run_query")
target = Text("target")
modules = types.SimpleNamespace(datetime=datetime)
run_started_at = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
