"""Stands in for the package's macros: a statement where one is the whole body of a model."""

from sqlfluff_libs import Text

_STATEMENT = Text("select 1 as change_row")

change_table = _STATEMENT
change_tracking_table = _STATEMENT
debezium_log = _STATEMENT
log_tables = _STATEMENT
publication = _STATEMENT
scan = _STATEMENT
state_table = _STATEMENT
wal2json_log = _STATEMENT


def __getattr__(name: str) -> Text:
    if name.startswith("__"):
        raise AttributeError(name)
    return Text(name)
