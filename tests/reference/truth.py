"""Real logs and the true table states beside them (the data folder's README.md)."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .apply import State
from .capture import CaptureInstance
from .debezium import Event
from .log import lsn_to_int
from .values import read_value

CHECKPOINTS = range(11)
PG_TYPES = {
    "integer": "int", "bigint": "bigint", "smallint": "smallint", "text": "string",
    "uuid": "string", "jsonb": "string", "boolean": "boolean", "bytea": "binary",
    "real": "float", "double precision": "double", "date": "date",
}  # fmt: skip


def data_dir() -> Path:
    """$DBT_CDC_TRUTH, or the log that ships with the tests (data/README.md)."""
    return Path(os.environ.get("DBT_CDC_TRUTH") or Path(__file__).parents[1] / "data")


def read_lines(path: Path) -> Iterator[Any]:
    """The JSON values of a .jsonl or .jsonl.gz file."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def landed_events(path: Path) -> list[Event]:
    """A Debezium all.jsonl.gz as landed events; key, value and headers keep their JSON text."""
    events = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            parts = _members(line)
            texts = [None if parts.get(n, "null") == "null" else parts[n] for n in NAMES]
            events.append(Event(int(parts["n"]), json.loads(parts["topic"]), *texts))
    return events


NAMES = ("key", "value", "headers")


def _members(line: str) -> dict[str, str]:
    """The members of a JSON object as their own text, unchanged to the last digit."""
    decoder, parts, at = json.JSONDecoder(), {}, line.index("{")
    while line[at] in "{,":
        name, at = decoder.raw_decode(line, at + 1)
        start = at + 1
        _, at = decoder.raw_decode(line, start)
        parts[name] = line[start:at]
    return parts


def pg_lsn(text: str) -> int:
    """'0/1966780' -> 26634112."""
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


def log_position(position: dict[str, str]) -> int:
    """PostgreSQL's insert LSN, or MariaDB's file and position, as the adapter numbers commits."""
    if "insert_lsn" in position:
        return pg_lsn(position["insert_lsn"])
    return int(position["file"].rpartition(".")[2]) << 32 | int(position["pos"])


def spark_type(pg_type: str) -> str:
    """'numeric(18,4)' -> 'decimal(18,4)'; ValueError for types outside the data sets."""
    if match := re.fullmatch(r"(int|bigint|smallint|tinyint)\(\d+\)|(\w*text)", pg_type):
        return {"tinyint": "smallint", None: "string"}.get(match[1], match[1])
    if pg_type.startswith(("decimal(", "varchar(", "char(")) or pg_type in ("double", "float"):
        return pg_type
    if pg_type.startswith("varbinary"):
        return "binary"
    if pg_type in PG_TYPES:
        return PG_TYPES[pg_type]
    if match := re.fullmatch(r"(numeric|character varying|character)(\(.*\))", pg_type):
        names = {"numeric": "decimal", "character varying": "varchar", "character": "char"}
        return names[match[1]] + match[2]
    if pg_type.startswith(("timestamp", "datetime")):
        return "timestamp"
    raise ValueError(pg_type)


@dataclass(frozen=True)
class Checkpoint:
    """`position` is that of the log as a number: commits C <= position are in the state."""

    number: int
    position: int
    columns: dict[str, list[tuple[str, str]]]  # table -> (column, Spark type)
    primary_keys: dict[str, list[str]]
    rows: dict[str, list[dict[str, str | None]]]  # table -> rows, values as text


class Truth:
    """The checkpoints of a data folder, e.g. data/postgres; `schema` is that of its tables."""

    def __init__(self, folder: Path, schema: str = "public") -> None:
        self.schema = schema
        self.checkpoints = [_checkpoint(folder / "truth", n) for n in CHECKPOINTS]
        self.ddl = list(read_lines(folder / "truth" / "ddl.jsonl"))

    def instance(self, table: str, before_image: str = "complete") -> CaptureInstance:
        """An instance of all columns that the table ever had, in their widest types."""
        columns: dict[str, str] = {}
        for checkpoint in self.checkpoints:
            for name, data_type in checkpoint.columns[table]:
                known = columns.setdefault(name, data_type)
                if known != data_type:
                    columns[name] = (
                        "bigint" if (known, data_type) == ("int", "bigint") else "string"
                    )
        keys = tuple(self.checkpoints[0].primary_keys[table])
        name = f"{self.schema}_{table}"
        return CaptureInstance(self.schema, table, name, (*columns.items(),), keys, before_image)

    def differences(self, state: State, number: int, limit: int = 3) -> list[str]:
        """How a state of one table, applied up to checkpoint `number`, differs from the truth.

        LSNs are those of the adapter (commit = C * 2**24). Rows last written before a column was
        added or dropped get what the server gave them without an event. Empty when they agree.
        """
        checkpoint, table = self.checkpoints[number], state.instance.source_name
        columns = checkpoint.columns[table]
        true_rows = Counter(
            tuple(_canonical(_from_pg(row[name], t), t, name) for name, t in columns)
            for row in checkpoint.rows[table]
        )
        rows = Counter(
            tuple(_canonical(row[name], t, name) for name, t in columns)
            for row in self._rows(state, checkpoint)
        )
        return [f"missing {row}"[:500] for row in list((true_rows - rows).elements())[:limit]] + [
            f"too much {row}"[:500] for row in list((rows - true_rows).elements())[:limit]
        ]

    def _rows(self, state: State, checkpoint: Checkpoint) -> Iterator[dict[str, Any]]:
        types, names = dict(state.instance.columns), state.instance.names
        if not state.instance.index_columns:
            yield from (dict(zip(names, row, strict=True)) for row in state.bag.elements())
        for key, values in state.rows.items():
            row = dict(zip(names, values, strict=True))
            commit = lsn_to_int(state.written[key]) >> 24
            for ddl in self.ddl:
                effect, position = ddl["effect"], log_position(ddl["after"])
                table = state.instance.source_name
                if effect["table"] != table or not commit <= position <= checkpoint.position:
                    continue
                if "drop" in effect:
                    row[effect["drop"]] = None
                elif "add" in effect and row[effect["add"]] is None:
                    row[effect["add"]] = read_value(effect["fill"], types[effect["add"]])
            yield row


def _checkpoint(folder: Path, number: int) -> Checkpoint:
    path = folder / f"cp_{number:02}"
    meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
    schema = meta["schema"]
    return Checkpoint(
        number,
        log_position(meta["position"]),
        {t: [(n, spark_type(p)) for n, p in s["columns"]] for t, s in schema.items()},
        {t: s["primary_key"] for t, s in schema.items()},
        {t: list(read_lines(path / f"{t}.jsonl.gz")) for t in schema},
    )


def _from_pg(text: str | None, data_type: str) -> Any:
    """PostgreSQL's text output -> typed value."""
    if text is not None and data_type == "binary":
        return bytes.fromhex(text.removeprefix("\\x"))
    return read_value(text, data_type)


def _canonical(value: Any, data_type: str, name: str) -> Any:
    """Comparable in spite of another type: char right-trimmed, jsonb by content."""
    if value is None:
        return None
    if data_type.startswith("char"):
        return str(value).rstrip(" ")
    if name == "prefs":
        return json.dumps(json.loads(value), sort_keys=True)
    if data_type in ("int", "bigint", "smallint"):
        return int(value)
    return value
