"""Stands in for the package's macros when sqlfluff reads a model: text that parses where it stands.

Only macros that are the whole body of a model need an entry here. All others render as an
identifier, which parses as a relation after `from` and as a value in an expression.
"""

from collections.abc import Callable


class Text(str):
    """A macro's result: text, whose attributes and items are text again (`window.first_lsn`)."""

    __slots__ = ()

    def __getattr__(self, name: str) -> "Text":
        if name.startswith("__"):
            raise AttributeError(name)
        return Text(name)


def _statement(*_arguments: object, **_options: object) -> Text:
    return Text("select 1 as change_row")


change_table = _statement
change_table_log = _statement
change_tracking_table = _statement
debezium_log = _statement
dms_log = _statement
state_table = _statement
wal2json_log = _statement


def __getattr__(name: str) -> Callable[..., Text]:
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *_arguments, **_options: Text(name)
