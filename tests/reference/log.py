"""The canonical raw log (docs/log.md) and LSN arithmetic."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

UTC = timezone.utc
LSN_LIMIT = 1 << 80
_LSN = re.compile(r"0[xX][0-9a-fA-F]{20}")


@dataclass(frozen=True)
class LogRecord:
    """One log record. `record_time` is an aware UTC datetime; images are JSON text or None."""

    lsn: str
    tran_id: str | None
    operation: str
    record_time: datetime | None = None
    source_schema: str | None = None
    source_name: str | None = None
    before_image: str | None = None
    after_image: str | None = None
    ddl_command: str | None = None
    command_id: int | None = None

    @property
    def table(self) -> str:
        """`schema.name` of the source table, '' on BEGIN, COMMIT and ROLLBACK."""
        return f"{self.source_schema}.{self.source_name}" if self.source_name else ""


class BadRecord(Exception):
    """A record that can't be read: stops the scan. `column` is None for a whole image."""

    def __init__(self, table: str, column: str | None, lsn: str, reason: str) -> None:
        super().__init__(f"{table or 'log'}, column {column}, LSN {lsn}: {reason}")
        self.table, self.column, self.lsn, self.reason = table, column, lsn, reason


def lsn_to_int(lsn: str) -> int:
    """'0x' + 20 hex digits, any letter case -> 80-bit number. ValueError for anything else."""
    if not isinstance(lsn, str) or not _LSN.fullmatch(lsn):
        raise ValueError(f"{lsn!r} is not an LSN: '0x' and 20 hexadecimal digits")
    return int(lsn, 16)


def int_to_lsn(number: int) -> str:
    """80-bit number -> '0x' + 20 upper-case hex digits. OverflowError outside 0 .. 2**80 - 1."""
    if not 0 <= number < LSN_LIMIT:
        raise OverflowError(f"{number} is outside the 80 bits of an LSN")
    return f"0x{number:020X}"


class RawNumber(str):
    """A JSON number, kept as its text."""


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def parse_json(text: str) -> Any:
    """JSON text -> dict, list, str, bool, None, RawNumber. ValueError if it is not JSON."""
    number: Callable[[str], Any] = RawNumber
    try:
        return json.loads(text, parse_int=number, parse_float=number, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error


def to_json(value: Any) -> str:
    """The inverse of parse_json: compact, numbers as they were, non-ASCII kept."""
    if isinstance(value, RawNumber):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{to_json(str(k))}:{to_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(to_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
