"""SQL Server's own samples (golden cases G1 to G18 and G30), by macros and functions."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from asking import rows, values
from capturing import Capture
from harness import Project
from pyspark.sql import Row
from reference.capture import CaptureInstance
from reference.log import UTC, LogRecord, int_to_lsn

pytestmark = pytest.mark.slow

ORDERS = CaptureInstance(
    "dbo", "orders", "dbo_orders",
    (("id", "int"), ("customer", "varchar(50)"), ("amount", "decimal(18,4)"),
     ("notes", "string"), ("updated", "timestamp")),
    ("id",),
)  # fmt: skip
SCENARIOS = CaptureInstance(
    "dbo", "scenarios", "dbo_scenarios", (("id", "string"), ("value", "string")), ("id",)
)
MASKS = CaptureInstance(
    "dbo", "masks", "dbo_masks", tuple((f"c{n}", "int") for n in range(1, 61)), ("c1",)
)
USERS = CaptureInstance(
    "dbo", "users", "dbo_users", (("id", "int"), ("name", "string"), ("birthday", "date")), ("id",)
)
SUBSET = CaptureInstance(
    "dbo", "subset", "dbo_subset", (("a", "int"), ("b", "int"), ("e", "int")), ("a",)
)
WIDTHS = {n: CaptureInstance("dbo", f"w{n}", f"dbo_w{n}", tuple((f"c{i}", "int") for i in range(n)))
          for n in (4, 7, 8)}  # fmt: skip
T1, T2, T3 = "0x0000002D00000580001D", "0x0000002D000005880003", "0x0000002D000005900005"
LOW, HIGH = "0x0000002D000005800001", T3
# An order's life, as measured (G1): LSNs of the records and of the commits are SQL Server's.
ACME = {"id": 1, "customer": "acme", "amount": "10.5", "notes": "first", "updated": None}
GLOBEX = {"id": 2, "customer": "globex", "amount": "20", "notes": None, "updated": None}
PAID = {**ACME, "amount": "99.9999"}


class Writer:
    """Writes transactions with LSNs counted up from `start`; each ends at its own hour."""

    def __init__(self, start: int) -> None:
        self.lsn, self.hour, self.records = start, 0, list[LogRecord]()

    def commit(self, *changes: tuple[str, str, Any, Any]) -> str:
        """One transaction of (operation, table, before, after); returns its commit LSN."""
        self.hour += 1
        time = datetime(2024, 1, 2, self.hour, tzinfo=UTC)
        tran_id = f"w{self.hour}"
        for operation, table, before, after in [("BEGIN", "", None, None), *changes]:
            self._log(tran_id, operation, time, table, before, after)
        self._log(tran_id, "COMMIT", time, "", None, None)
        return self.records[-1].lsn

    def _log(self, tran_id: str, operation: str, time: datetime, table: str, *images: Any) -> None:
        source = ("dbo", table) if table else (None, None)
        texts = [None if image is None else json.dumps(image) for image in images]
        self.lsn += 1
        self.records.append(
            LogRecord(int_to_lsn(self.lsn), tran_id, operation, time, *source, *texts)
        )


def orders_log() -> list[LogRecord]:
    """G1: the order table's three transactions, committed at 10:00, 10:00 and 11:00 (G30)."""
    ten, eleven = (datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in (10, 11))

    def change(lsn: str, tran: str, what: str, before: Any, after: Any, command: int) -> LogRecord:
        images = [None if image is None else json.dumps(image) for image in (before, after)]
        return LogRecord(lsn, tran, what, None, "dbo", "orders", *images, None, command)

    return [
        LogRecord(LOW, "t1", "BEGIN", ten),
        change("0x0000002D00000580001B", "t1", "INSERT", None, ACME, 1),
        change("0x0000002D00000580001C", "t1", "INSERT", None, GLOBEX, 2),
        LogRecord(T1, "t1", "COMMIT", ten),
        LogRecord("0x0000002D000005880001", "t2", "BEGIN", ten),
        change("0x0000002D000005880002", "t2", "UPDATE", ACME, PAID, 1),
        LogRecord(T2, "t2", "COMMIT", ten),
        LogRecord("0x0000002D000005900001", "t3", "BEGIN", ten),
        change("0x0000002D000005900002", "t3", "DELETE", GLOBEX, None, 1),
        LogRecord(T3, "t3", "COMMIT", eleven),
    ]


@pytest.fixture(scope="module")
def orders(make_project: Callable[..., Project], ansi: None) -> Capture:
    capture = Capture(make_project, [ORDERS])
    capture.land(orders_log())
    capture.run()
    return capture


@pytest.fixture(scope="module")
def story(
    make_project: Callable[..., Project], ansi: None
) -> tuple[Capture, dict[str, tuple[str, str]]]:
    """The scenarios of G3 to G12 and G14 to G15, and the window of each group."""
    capture = Capture(make_project, [SCENARIOS, MASKS, USERS, SUBSET, *WIDTHS.values()])
    writer, windows = Writer(0x100), {}

    def insert(key: str, value: str) -> tuple[str, str, Any, Any]:
        return "INSERT", "scenarios", None, {"id": key, "value": value}

    def update(key: str, old: str, new: str) -> tuple[str, str, Any, Any]:
        return "UPDATE", "scenarios", {"id": key, "value": old}, {"id": key, "value": new}

    def delete(key: str, value: str) -> tuple[str, str, Any, Any]:
        return "DELETE", "scenarios", {"id": key, "value": value}, None

    writer.commit(*(insert(key, "old") for key in "DEFG"))
    start = int_to_lsn(writer.lsn + 1)
    writer.commit(insert("A", "a"), insert("B", "a"), insert("C", "c"), update("D", "old", "new"))
    writer.commit(delete("E", "old"), delete("F", "old"), update("G", "old", "doomed"))
    writer.commit(update("B", "a", "b"), delete("C", "c"), insert("F", "reborn"))
    writer.commit(insert("H", "h"), insert("I", "i"), delete("I", "i"), delete("G", "doomed"))
    writer.commit(delete("H", "h"))
    windows["scenarios"] = start, writer.commit(insert("H", "again"))
    first = {f"c{n}": 0 for n in range(1, 61)}  # more than a number of 56 bits holds
    mask = [{**first, "c1": key} for key in range(4)]
    writer.commit(*(("INSERT", "masks", None, row) for row in mask[:3]))
    start = int_to_lsn(writer.lsn + 1)
    changed, again = {**mask[0], "c3": 1}, {**mask[0], "c3": 1, "c60": 1}
    writer.commit(("UPDATE", "masks", mask[0], changed), ("DELETE", "masks", mask[1], None))
    writer.commit(
        ("UPDATE", "masks", changed, again),
        ("INSERT", "masks", None, mask[1]),
        ("UPDATE", "masks", mask[2], {**mask[2], "c5": 1}),
        ("INSERT", "masks", None, mask[3]),
    )
    windows["masks"] = (
        start,
        writer.commit(
            ("DELETE", "masks", {**mask[2], "c5": 1}, None),
            ("UPDATE", "masks", mask[3], {**mask[3], "c4": 4}),
        ),
    )
    people = [{"id": n, "name": "x", "birthday": "2000-01-01"} for n in (1, 2)]
    born = {**people[0], "birthday": "2001-01-01"}
    writer.commit(*(("INSERT", "users", None, row) for row in people))
    writer.commit(("UPDATE", "users", people[0], born))
    writer.commit(("DELETE", "users", born, None), ("DELETE", "users", people[1], None))
    row = dict.fromkeys("abcde", 1)
    writer.commit(
        ("UPDATE", "subset", row, {**row, "e": 2}), ("UPDATE", "subset", row, {**row, "c": 2})
    )
    writer.commit(*(("INSERT", f"w{n}", None, {"c0": 1}) for n in WIDTHS))
    capture.land(writer.records)
    capture.run()
    return capture, windows


def in_order(found: list[Row], *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in columns) for row in found)


def test_g1_raw_change_rows(orders: Capture) -> None:
    """Where SQL Server's log leaves out large values of before images, ours has them."""
    found = orders.sql(
        "select `__$start_lsn`, `__$seqval`, `__$operation`, `__$update_mask`, `__$command_id`, id,"
        " customer, amount, notes from {schema}.dbo_orders_ct order by 1, 5, 2, 3"
    )
    seqval = "0x0000002D00000580001"
    old, new, other = Decimal("10.5000"), Decimal("99.9999"), Decimal("20.0000")
    assert [tuple(row) for row in found] == [
        (T1, f"{seqval}B", 2, "0x1F", 1, 1, "acme", old, "first"),
        (T1, f"{seqval}C", 2, "0x1F", 2, 2, "globex", other, None),
        (T2, "0x0000002D000005880002", 3, "0x04", 1, 1, "acme", old, "first"),
        (T2, "0x0000002D000005880002", 4, "0x04", 1, 1, "acme", new, "first"),
        (T3, "0x0000002D000005900002", 1, "0x1F", 1, 2, "globex", other, None),
    ]


def test_g2_query_functions(orders: Capture) -> None:
    low, high = values(orders, ["get_min_lsn('dbo_orders')", "get_max_lsn()"])
    assert (low, high) == (LOW, HIGH)
    options = {"all": ("all update old", "all"), "net": ("all", "all with merge", "all with mask")}
    calls = [
        f"get_{kind}_changes('dbo_orders', '{low}', '{high}', '{option}')"
        for kind in options
        for option in options[kind]
    ]
    by_macro = rows(orders, calls)
    by_function = [
        orders.call(f"fn_cdc_get_{kind}_changes_dbo_orders", low, high, option)
        for kind in options
        for option in options[kind]
    ]
    for both, every, net, merged, masked in (by_macro, by_function):
        assert sorted(row["__$operation"] for row in both) == [1, 2, 2, 3, 4]
        assert sorted(row["__$operation"] for row in every) == [1, 2, 2, 4]
        columns = ("__$operation", "id", "amount", "__$update_mask", "__$start_lsn")
        assert in_order(net, *columns) == [(2, 1, Decimal("99.9999"), None, T2)]
        assert in_order(merged, *columns) == [(5, 1, Decimal("99.9999"), None, T2)]
        assert in_order(masked, *columns) == [(2, 1, Decimal("99.9999"), None, T2)]


def test_g3_to_g11_net_scenarios(story: tuple[Capture, dict[str, tuple[str, str]]]) -> None:
    capture, windows = story
    low, high = windows["scenarios"]
    name = "dbo_scenarios"
    every, net, merged = rows(
        capture,
        [
            f"get_all_changes('{name}', '{low}', '{high}', 'all update old')",
            f"get_net_changes('{name}', '{low}', '{high}')",
            f"get_net_changes('{name}', '{low}', '{high}', 'all with merge')",
        ],
    )
    assert len(every) == 19
    assert in_order(net, "id", "__$operation", "value") == [
        ("A", 2, "a"), ("B", 2, "b"), ("D", 4, "new"), ("E", 1, "old"), ("F", 4, "reborn"),
        ("G", 1, "doomed"), ("H", 2, "again"),
    ]  # fmt: skip
    assert in_order(merged, "id", "__$operation") == [
        ("A", 5), ("B", 5), ("D", 5), ("E", 1), ("F", 5), ("G", 1), ("H", 5),
    ]  # fmt: skip


def test_g12_masks_of_net_changes(story: tuple[Capture, dict[str, tuple[str, str]]]) -> None:
    capture, windows = story
    low, high = windows["masks"]
    (found,) = rows(capture, [f"get_net_changes('dbo_masks', '{low}', '{high}', 'all with mask')"])
    assert in_order(found, "c1", "__$operation") == [(0, 4), (1, 4), (2, 1), (3, 2)]
    masks = {row["c1"]: row["__$update_mask"] for row in found}
    assert masks == {0: "0x0800000000000004", 1: "0x0FFFFFFFFFFFFFFF", 2: None, 3: None}


def test_g13_lsn_arithmetic(orders: Capture) -> None:
    pairs = [
        ("0x0000002D000005900005", "0x0000002D000005900006"),
        ("0x000000000000000000FF", "0x00000000000000000100"),
    ]
    for low, high in pairs:
        calls = [f"increment_lsn('{low}')", f"decrement_lsn('{high.lower()}')"]
        assert values(orders, calls) == [high, low]
        assert [
            orders.sql(f"select {{schema}}.fn_cdc_{call}")[0][0] for call in calls
        ] == [high, low]  # fmt: skip


def test_g14_g15_masks(story: tuple[Capture, dict[str, tuple[str, str]]]) -> None:
    capture, _ = story
    select = "select `__$operation`, `__$update_mask` from {schema}."
    for columns, mask in {4: "0x0F", 7: "0x7F", 8: "0xFF"}.items():
        assert [tuple(r) for r in capture.sql(f"{select}dbo_w{columns}_ct")] == [(2, mask)]
    found = capture.sql(f"{select}dbo_users_ct order by `__$start_lsn`, `__$seqval`, 1")
    assert [tuple(row) for row in found] == [
        (2, "0x07"), (2, "0x07"), (3, "0x04"), (4, "0x04"), (1, "0x07"), (1, "0x07"),
    ]  # fmt: skip
    assert [tuple(r) for r in capture.sql(f"{select}dbo_subset_ct")] == [(3, "0x04"), (4, "0x04")]


def test_g16_bits(orders: Capture) -> None:
    bits = [n for n in range(1, 17) if orders.sql(
        f"select {{schema}}.fn_cdc_is_bit_set({n}, '0x0102')")[0][0]]  # fmt: skip
    assert bits == [2, 9]


def test_g17_window_validation(orders: Capture) -> None:
    below, above = values(orders, [f"decrement_lsn('{LOW}')", f"increment_lsn('{HIGH}')"])
    bad = [
        (None, HIGH, "all", "from_lsn is NULL"),
        (below, HIGH, "all", f"from_lsn {below} is below the low end {LOW}"),
        (LOW, above, "all", f"to_lsn {above} is above the high end {HIGH}"),
        (HIGH, LOW, "all", f"from_lsn {HIGH} is above to_lsn {LOW}"),
        (LOW, HIGH, "all with maks", "row_filter_option 'all with maks' is unknown"),
    ]
    for kind in ("all", "net"):
        for low, high, option, text in bad:
            with pytest.raises(Exception, match=r"CDC 313: .*" + text.replace("(", r"\(")):
                orders.call(f"fn_cdc_get_{kind}_changes_dbo_orders", low, high, option)
    assert orders.call("fn_cdc_get_all_changes_dbo_orders", LOW, LOW, "all") == []
    assert len(orders.call("fn_cdc_get_all_changes_dbo_orders", T1, T1, " ALL ")) == 2


def test_g18_unknown_instance(orders: Capture) -> None:
    zero = "0x00000000000000000000"
    assert values(orders, ["get_min_lsn('nope')", "get_min_lsn(none)"]) == [zero, zero]
    for argument in ("'nope'", "null"):
        assert orders.sql(f"select {{schema}}.fn_cdc_get_min_lsn({argument})")[0][0] == zero


def test_g30_time_mapping(orders: Capture) -> None:
    cases = [
        ("smallest greater than or equal", "2024-01-01 10:00:00", T1),
        ("largest less than or equal", "2024-01-01T10:00:00Z", T2),
        ("smallest greater than", "2024-01-01 10:00:00.000000", T3),
        ("largest less than", "2024-01-01 12:00:00+02:00", None),
        (" Smallest Greater Than ", "2024-01-01 11:00:00", None),
    ]
    assert values(
        orders, [f"map_time_to_lsn('{operator}', '{time}')" for operator, time, _ in cases]
    ) == [lsn for _, _, lsn in cases]
    for operator, time, lsn in cases:
        call = f"fn_cdc_map_time_to_lsn('{operator}', '{time}')"
        assert orders.sql(f"select {{schema}}.{call}")[0][0] == lsn
    calls = [f"map_lsn_to_time('{lsn}')" for lsn in (T1.lower(), T3, LOW)]
    assert values(orders, calls) == ["2024-01-01 10:00:00", "2024-01-01 11:00:00", None]
    found = [orders.sql(f"select {{schema}}.fn_cdc_{call}")[0][0] for call in calls]
    assert found == [datetime(2024, 1, 1, 10), datetime(2024, 1, 1, 11), None]
