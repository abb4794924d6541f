"""A synthetic canonical log of one wide enough table, made inside Spark.

Ten changes a transaction: five updates, three inserts, two deletes. The history is a true one:
keys below `OLD_KEYS` are there before the log begins, inserts take new keys, and one of the two
deletes of a transaction takes a row that an earlier transaction of the log inserted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from reference.capture import CaptureInstance

CHANGES_PER_TRANSACTION = 10
ROWS_PER_TRANSACTION = 15  # an update leaves two
RECORDS_PER_TRANSACTION = 12
COLUMNS = {
    "id": "int",
    "name": "string",
    "amount": "decimal(18,4)",
    "quantity": "int",
    "total": "bigint",
    "active": "boolean",
    "ratio": "double",
    "updated_at": "timestamp",
}
ORDERS = CaptureInstance("dbo", "orders", "dbo_orders", tuple(COLUMNS.items()), ("id",))
OLD_KEYS = 1_000_000_000
START = datetime(2024, 1, 1)
_RECORDS = """
select
    {lsn} as lsn,
    concat('t', tran) as tran_id,
    case
        when place = 0 then 'BEGIN'
        when place = 11 then 'COMMIT'
        when place <= 5 then 'UPDATE'
        when place <= 8 then 'INSERT'
        else 'DELETE'
    end as operation,
    timestamp'{start}' + make_dt_interval(0, 0, 0, tran * 0.01) as record_time,
    if(place between 1 and 10, 'dbo', null) as source_schema,
    if(place between 1 and 10, {name}, null) as source_name,
    case when place between 1 and 5 or place between 9 and 10 then {before} end as before_image,
    case when place between 1 and 8 then {after} end as after_image,
    cast(null as string) as ddl_command,
    if(place between 1 and 10, place, null) as command_id
from (
    select
        tran,
        place,
        cast(case
            when place <= 4 then pmod(xxhash64(tran, place), {keys})
            when place = 5 then {old} + greatest(tran - 1, 0) * 3 + 1
            when place <= 8 then {old} + tran * 3 + place - 6
            when place = 9 then {keys} + tran
            else {old} + greatest(tran - 2, 0) * 3
        end as int) as id,
        xxhash64(tran, place) as h
    from (select id div 12 as tran, cast(id % 12 as int) as place from {{records}})
)
"""
_IMAGE = """to_json(named_struct(
    'id', id,
    'name', concat('Zoë "', pmod(h, 9973), '" O''Brien – 東京 №', id),
    'amount', cast(cast(pmod(h, 1000000000) + {v} as decimal(18,4)) / 100 as decimal(18,4)) || '',
    'quantity', cast(pmod(h, 1000) + {v} as int),
    'total', pmod(h, 1000000000000) * 1000 + id,
    'active', pmod(h, 3) = 0,
    'ratio', (pmod(h, 1000003) + {v}) / 1000.0D,
    'updated_at', date_format(
        timestamp'2023-06-01 00:00:00' + make_dt_interval(0, 0, 0, tran + {v} / 8.0),
        "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
))"""

# A fifth of the images: an unchanged column left out, a null spelled out or left out, a key change.
_ODD = """case
    when {is_after} and place <= 5 and pmod(h, 20) = 0
        then regexp_replace({image}, '"name":.*"amount"', '"amount"')
    when pmod(h, 20) = 1 then regexp_replace({image}, '"total":-?[0-9]+', '"total":null')
    when pmod(h, 20) = 2 then regexp_replace({image}, '"total":-?[0-9]+,', '')
    when {is_after} and place <= 4 and pmod(h, 20) = 3
        then regexp_replace({image}, '"id":', '"id":1')
    else {image}
end"""


@dataclass(frozen=True)
class Log:
    """`transactions` numbers `first` up to `first + transactions - 1` of the table dbo.`name`, or
    of so many `tables` dbo.t0, dbo.t1 ... in turn; a fifth of the images may be `odd`."""

    transactions: int
    first: int = 0
    name: str = "orders"
    old_keys: int = 500_000
    tables: int = 0
    odd: bool = False

    @property
    def changes(self) -> int:
        """Records that change a row."""
        return self.transactions * CHANGES_PER_TRANSACTION

    @property
    def rows(self) -> int:
        """Rows of the change table."""
        return self.transactions * ROWS_PER_TRANSACTION

    def commit_lsn(self, transaction: int) -> str:
        """The LSN of the COMMIT of a transaction."""
        return f"0x{(transaction + 1) * RECORDS_PER_TRANSACTION:020X}"

    def commit_time(self, transaction: int) -> str:
        """When a transaction committed, as text: a hundred a second."""
        return f"{START + timedelta(seconds=transaction / 100):%Y-%m-%d %H:%M:%S.%f}"

    @property
    def first_lsn(self) -> str:
        """The first record's LSN."""
        return f"0x{self.first * RECORDS_PER_TRANSACTION + 1:020X}"

    @property
    def last_lsn(self) -> str:
        """The last COMMIT's LSN."""
        return self.commit_lsn(self.first + self.transactions - 1)


def write_log(spark: SparkSession, log: Log, table: str, files: int = 8) -> None:
    """Appends the log to a Delta table, in LSN order, in `files` files with LSN statistics."""
    start = log.first * RECORDS_PER_TRANSACTION
    end = start + log.transactions * RECORDS_PER_TRANSACTION
    before, after = _IMAGE.format(v=0), _IMAGE.format(v="if(place <= 5, 1 + tran % 7, 0)")
    if log.odd:
        before, after = (
            _ODD.format(image=before, is_after=False),
            _ODD.format(image=after, is_after=True),
        )
    query = _RECORDS.format(
        lsn="concat('0x', lpad(hex(tran * 12 + place + 1), 20, '0'))",
        name=f"concat('t', tran % {log.tables})" if log.tables else f"'{log.name}'",
        old=OLD_KEYS,
        keys=log.old_keys,
        start=START,
        before=before,
        after=after,
    )
    records = spark.sql(query, records=spark.range(start, end, 1, files))
    records.select(f.expr("*")).write.format("delta").mode("append").saveAsTable(table)
