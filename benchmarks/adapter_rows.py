"""What each adapter reads: one history of the shop of debezium_events.py, in the form of each
source. Spark makes it out of numbers.

Ten changes a transaction: three inserts, the others updates, in every other one a delete. A
transaction commits each hundredth of a second. A row's columns depend on its key and a version.
"""

from __future__ import annotations

from collections.abc import Callable

from debezium_events import TABLES
from reference.capture import CaptureInstance

SIZE = 10  # changes of a transaction
NOT_NULL = "map('ignoreNullFields', 'false')"
VALUES = {
    "bigint": "pmod({h}, 1000000)",
    "int": "cast(pmod({h}, 1000000) as int)",
    "boolean": "{h} % 2 = 0",
    "double": "pmod({h}, 9007199254740992) / 9007199254740992D",
    "decimal": "cast(pmod({h}, 1000000000) / 100 as {data_type})",
    "binary": "unhex(left(sha2(cast({h} as string), 256), 48))",
    "date": "date_add(date'1995-01-01', cast(pmod({h}, 10000) as int))",
    "timestamp": "timestamp_micros(1000000000000000 + pmod({h}, 700000000000000))",
    "string": "concat('{name} ', pmod({h}, 1000000))",
    "varchar": "concat('{name} ', pmod({h}, 1000000))",
}
TEXTS = {
    "notes": "if(key % 2 = 0, null, 'said: \"well\", back\\\\slash')",
    "filler": "repeat(' ', 84)",
    "body": "repeat('lorem ipsum dolor sit amet ', cast(1 + pmod({h}, 9) as int))",
}
KEPT = ("notes", "filler")  # no update changes them
KEYS = {"bigint": "key", "int": "cast(key as int)", "string": "lpad(hex(key), 32, '0')"}
DEBEZIUM = {
    "decimal": "base64(unhex(lpad(hex(cast({x} * 100 as bigint)), 16, '0')))",
    "date": "unix_date({x})",
    "timestamp": "date_format({x}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\")",
    "binary": "base64({x})",
}
WAL2JSON = {  # with numeric-data-types-as-string
    **dict.fromkeys(("bigint", "int", "double", "decimal", "date"), "cast({x} as string)"),
    "timestamp": "concat({x}, '+00')",
    "binary": "lower(hex({x}))",
}
POSTGRES = {
    "int": "integer",
    "double": "double precision",
    "decimal": "numeric",
    "binary": "bytea",
    "timestamp": "timestamp with time zone",
    "string": "text",
    "varchar": "character varying",
}
MICROS = "1750000000000000 + id * 10000"


def changes(count: int) -> str:
    """A row for each change: number, transaction and place in it, table, operation, key, versions
    before and after, commit time."""
    tables = ", ".join(f"'{table.source_name}'" for table in TABLES)
    return f"""(
        select *, if(op = 'd', old, new) as last
        from (
            select
                n, id as tx, cast(n % {SIZE} as int) + 1 as place, {MICROS} as micros,
                element_at(array({tables}), cast(pmod(xxhash64(n), {len(TABLES)}) as int) + 1)
                    as name,
                case when n % {SIZE} < 3 then 'c' when n % {2 * SIZE} = {2 * SIZE - 1} then 'd'
                    else 'u' end as op,
                if(n % {SIZE} < 3, n, pmod(xxhash64(n, 'key'), n + 1)) as key,
                -1 - n as old, n as new
            from (select id as n, id div {SIZE} as id from range(0, {count}, 1, 4))
        )
    )"""


def marks(count: int, first: str, last: str) -> str:
    """Two rows for each transaction, one before its changes and one behind."""
    return f"""(
        select id as tx, {MICROS} as micros, mark, if(mark = '{first}', 0, {SIZE + 1}) as place
        from range(0, {count // SIZE}, 1, 4)
        lateral view explode(array('{first}', '{last}')) as mark
    )"""


def value(table: CaptureInstance, name: str, data_type: str, version: str) -> str:
    """A column of a row in a version."""
    kind = data_type.partition("(")[0]
    if name in table.index_columns:
        return KEYS[kind]
    h = f"xxhash64({version}, '{name}')"
    return TEXTS.get(name, VALUES[kind]).format(h=h, name=name, data_type=data_type)


def row(table: CaptureInstance, version: str) -> str:
    """The columns of a row, as they are typed."""
    return ", ".join(f"{value(table, n, t, version)} as {n}" for n, t in table.columns)


def encoded(encodings: dict[str, str], data_type: str, x: str) -> str:
    """A value as JSON has it."""
    return encodings.get(data_type.partition("(")[0], "{x}").format(x=x)


def by_table(made: Callable[[CaptureInstance], str]) -> str:
    """What differs between the tables."""
    cases = (f"when '{table.source_name}' then {made(table)}" for table in TABLES)
    return f"case name {' '.join(cases)} end"


def image(version: str, only_key: bool = False) -> str:
    """A row as Debezium writes it."""

    def made(table: CaptureInstance) -> str:
        columns = (
            f"'{n}', {encoded(DEBEZIUM, t, value(table, n, t, version))}"
            for n, t in table.columns
            if n in table.index_columns or not only_key
        )
        return f"to_json(named_struct({', '.join(columns)}), {NOT_NULL})"

    return by_table(made)


def wal(place: str = f"if(place > {SIZE}, 900, place * 50)") -> str:
    """A place in PostgreSQL's log: a transaction has 1,000 bytes."""
    return f"(100000 + tx * 1000 + {place})"


def sql_server_lsn(is_commit: bool, form: str = "{}:{}:{}") -> str:
    """An LSN of SQL Server; a commit is behind the changes."""
    block, slot = ("tx * 2 + 1", "1") if is_commit else ("tx * 2", "place + 1")
    parts = ("00000027", f"', lpad(hex({block}), 8, '0'), '", f"', lpad(hex({slot}), 4, '0'), '")
    return f"concat('{form.format(*parts)}')"


# by connector: what the source of an event tells besides, and the transaction's id
CONNECTORS = {
    "postgresql": (
        f"""'schema', 'public', 'txId', tx, 'lsn', {wal()}, 'sequence',
        concat('["', {wal("-100")}, '","', {wal()}, '"]')""",
        f"concat(tx, ':', {wal()})",
    ),
    "sqlserver": (
        f"""'schema', 'dbo', 'commit_lsn', {sql_server_lsn(True)}, 'change_lsn',
        {sql_server_lsn(False)}, 'event_serial_no', if(op = 'u', 2, 1)""",
        sql_server_lsn(True),
    ),
    "mysql": (
        f"""'server_id', 77, 'gtid', concat('0-77-', tx), 'file', 'binlog.000003', 'pos', {wal()},
        'row', 0""",
        "concat('0-77-', tx)",
    ),
}
SOURCE = "'ts_ms', micros div 1000, 'snapshot', 'false', 'db', 'shop', 'ts_us', micros"


def debezium(count: int, connector: str, has_metadata: bool = True, is_flat: bool = False) -> str:
    """Debezium's events, in transactions of ten, with BEGIN and END if there is metadata."""
    more, transaction = CONNECTORS[connector]
    source = f"""'version', '3.6.1.Final', 'connector', '{connector}', 'name', 'shop', {SOURCE},
        'ts_ns', micros * 1000, 'table', name, {more}"""
    numbers = f"""'id', {transaction}, 'total_order', place, 'data_collection_order', 1"""
    if is_flat:
        held = f"if(op = 'd', {image('old')}, {image('new')})"
        event = f"""concat(substr({held}, 1, length({held}) - 1), ',',
            substr(to_json(named_struct('__deleted', if(op = 'd', 'true', 'false'), '__op', op,
            '__ts_us', micros + 9001, '__source_db', 'shop', '__source_schema', 'public',
            '__source_table', name, '__source_name', 'shop', '__source_connector', '{connector}',
            '__source_snapshot', 'false', '__source_lsn', {wal()}, '__source_txId', tx,
            '__source_ts_us', micros, '__transaction_id', {transaction},
            '__transaction_total_order', place)), 2))"""
    else:
        event = f"""concat('{{"before":', if(op = 'c', 'null', {image("old")}), ',"after":',
            if(op = 'd', 'null', {image("new")}), ',"source":', to_json(named_struct({source})),
            ',"op":"', op, '","ts_ms":', micros div 1000 + 9, ',"ts_us":', micros + 9001,
            ',"ts_ns":', (micros + 9001) * 1000, ',"transaction":',
            {f"to_json(named_struct({numbers}))" if has_metadata else "'null'"}, '}}')"""
    events = f"""
        select tx * {SIZE + 2} + place + 1 as position, concat('shop.', name) as topic,
            {image("new", only_key=True)} as key, {event} as value, cast(null as string) as headers
        from {changes(count)}"""
    if not has_metadata:
        return events
    return f"""{events}
        union all
        select tx * {SIZE + 2} + place + 1, 'shop.transaction', null, to_json(named_struct(
            'status', mark, 'id', {transaction}, 'ts_ms', micros div 1000, 'event_count',
            if(mark = 'END', {SIZE}, null)), {NOT_NULL}), null
        from {marks(count, "BEGIN", "END")}"""


def wal2json(count: int) -> str:
    """Lines of format version 2."""

    def columns(version: str) -> str:
        def made(table: CaptureInstance) -> str:
            members = []
            for name, data_type in table.columns:
                kind, *size = data_type.partition("(")
                held = encoded(WAL2JSON, data_type, value(table, name, data_type, version))
                head = f'"name":"{name}","type":"{POSTGRES.get(kind, kind)}{"".join(size)}"'
                held = f"to_json(named_struct('value', {held}), {NOT_NULL})"
                members.append(f"concat('{{{head},', substr({held}, 2))")
            return f"concat_ws(',', {', '.join(members)})"

        return by_table(made)

    head = """',"xid":', tx, ',"timestamp":"', timestamp_micros(micros), '+00","lsn":"0/'"""
    return f"""
        select tx * {SIZE + 2} + place + 1 as position, concat('{{"action":"',
            case op when 'c' then 'I' when 'u' then 'U' else 'D' end, '"', {head}, hex({wal()}),
            '","schema":"public","table":"', name, '"',
            if(op = 'd', '', concat(',"columns":[', {columns("new")}, ']')),
            if(op = 'c', '', concat(',"identity":[', {columns("old")}, ']')), '}}') as value
        from {changes(count)}
        union all
        select tx * {SIZE + 2} + place + 1, concat('{{"action":"', mark, '"', {head},
            hex({wal("850")}), '","nextlsn":"0/', hex({wal("900")}), '"}}')
        from {marks(count, "B", "C")}"""


def dms(count: int, table: CaptureInstance) -> str:
    """The rows of a table's files: values after the change, of a delete the last ones."""
    return f"""
        select case op when 'c' then 'I' when 'u' then 'U' else 'D' end as Op,
            concat(date_format(timestamp_micros(micros), 'yyyyMMddHHmmssSS'),
                lpad(cast(n as string), 19, '0')) as AR_H_CHANGE_SEQ,
            {row(table, "last")}
        from {changes(count)} where name = '{table.source_name}'"""


def change_table(count: int, table: CaptureInstance) -> str:
    """The rows of an exported change table, an update's two."""
    names = [name for name, _ in table.columns]
    kept = (*table.index_columns, *KEPT)
    bits = [sum(1 << at for at, n in enumerate(names) if n not in left) for left in ((), kept)]
    masks = [f"{bit:0{2 * ((len(names) + 7) // 8)}X}" for bit in bits]
    return f"""
        select unhex({sql_server_lsn(True, "{}{}{}")}) as `__$start_lsn`,
            cast(null as binary) as `__$end_lsn`,
            unhex({sql_server_lsn(False, "{}{}{}")}) as `__$seqval`, `__$operation`,
            unhex(if(op = 'u', '{masks[1]}', '{masks[0]}')) as `__$update_mask`,
            {row(table, "version")}, 1 as `__$command_id`
        from (
            select *, if(`__$operation` in (1, 3), old, new) as version
            from {changes(count)} lateral view explode(
                case op when 'c' then array(2) when 'd' then array(1) else array(3, 4) end
            ) as `__$operation`
            where name = '{table.source_name}'
        )"""


def lsn_time_mapping(count: int) -> str:
    """A row for each transaction."""
    begin, end = (f"unhex({sql_server_lsn(is_end, '{}{}{}')})" for is_end in (False, True))
    return f"""
        select {end} as start_lsn, timestamp_micros(micros) as tran_begin_time,
            timestamp_micros(micros) as tran_end_time, unhex(lpad(hex(tx), 12, '0')) as tran_id,
            {begin} as tran_begin_lsn
        from {marks(count, "BEGIN", "END")} where mark = 'BEGIN'"""
