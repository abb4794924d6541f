"""Keeps pyspark from printing each failed statement as a line of JSON with a stack trace.

The same error reaches the caller as an exception. setup.sh puts this module into .venv, where
Python imports it when it starts.
"""

import logging


class _Silent(logging.Logger):
    def exception(self, *_args: object, **_context: object) -> None:
        pass


_usual = logging.getLoggerClass()
logging.setLoggerClass(_Silent)
for _name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
    logging.getLogger(_name)
logging.setLoggerClass(_usual)
