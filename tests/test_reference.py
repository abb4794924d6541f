"""The reference implementation against golden cases, properties and real logs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import strategies as hostile
from reference.apply import State, apply_all, apply_net, differences
from reference.capture import CaptureInstance, ChangeRow, MappingRow, capture, lsn_time_mapping
from reference.consumers import history as history_of
from reference.debezium import Event, read_log
from reference.log import UTC, BadRecord, LogRecord, RawNumber, int_to_lsn, lsn_to_int
from reference.permuted import PLACES, Rows, make_permuted_log
from reference.query import (
    NET_OPTIONS,
    Cdc313,
    all_bits,
    decode_mask,
    decrement_lsn,
    encode_mask,
    get_all_changes,
    get_net_changes,
    increment_lsn,
    is_bit_set,
    map_time_to_lsn,
)
from reference.truth import Truth, data_dir, landed_events
from reference.values import NAN, BadValue, read_value

thorough = settings(
    max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
LOW, HIGH = int_to_lsn(0), "0x" + "F" * 20
KV = CaptureInstance("dbo", "t", "dbo_t", (("k", "int"), ("v", "string")), ("k",))
LIMITS = {"min_lsn": LOW, "max_lsn": HIGH}


def log(*lines: tuple[str, str, object, object], table: str = "t") -> list[LogRecord]:
    """Records from (tran_id, operation, before, after), LSN and command_id by position."""
    return [
        LogRecord(
            int_to_lsn(16 * n),
            tran_id,
            operation,
            NOON + timedelta(seconds=n),
            "dbo" if operation in ("INSERT", "UPDATE", "DELETE") else None,
            table if operation in ("INSERT", "UPDATE", "DELETE") else None,
            None if before is None else json.dumps(before),
            None if after is None else json.dumps(after),
            command_id=n,
        )
        for n, (tran_id, operation, before, after) in enumerate(lines, start=1)
    ]


def history(text: str) -> list[ChangeRow]:
    """'IUD' -> the change rows of one key, each change in its own transaction."""
    row, records = None, []
    for n, letter in enumerate(text):
        new = {"k": 1, "v": f"v{n}"}
        row = row or (None if letter == "I" else {"k": 1, "v": "old"})
        operation = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}[letter]
        records += [
            ("a", operation, row, None if letter == "D" else new),
            ("a", "COMMIT", None, None),
        ]
        row = None if letter == "D" else new
    return capture(log(*records), KV)


def brief(rows: list[ChangeRow]) -> list[tuple[object, ...]]:
    return [(row.operation, row.update_mask, *row.values) for row in rows]


# --- values -------------------------------------------------------------------------------------

GOOD = [
    (RawNumber("1.2e1"), "int", 12), ("12.0", "tinyint", 12), ("-128", "tinyint", -128),
    (RawNumber("9223372036854775807"), "bigint", 2**63 - 1), ("+5", "smallint", 5),
    ("10.5", "decimal(18,4)", Decimal("10.5000")), ("1e3", "decimal(4,0)", Decimal(1000)),
    (RawNumber("0.100000"), "decimal(2,1)", Decimal("0.1")), ("0e999999", "decimal(1,0)", 0),
    (RawNumber("1.50"), "string", "1.50"), ({"a": [RawNumber("1.0")]}, "string", '{"a":[1.0]}'),
    (True, "string", "true"), ("ab  ", "char(3)", "ab"), ("ab  ", "varchar(3)", "ab "),
    ("true", "boolean", True), (False, "boolean", False), ("NaN", "double", NAN),
    ("3.4e38", "float", 3.3999999521443642e38), ("-Infinity", "float", -float("inf")),
    ("0.1", "float", 0.10000000149011612), ("16777216", "float", 16777216.0),
    ("0.100000001", "float", 0.10000000149011612), ("5.684342e-14", "float", 2.0**-44),
    ("1e-45", "float", 2.0**-149), ("1.8E-44", "float", 13 * 2.0**-149),
    ("0.10000000000000001", "double", 0.1), ("1152921504606847000", "double", 2.0**60),
    ("9007199254740994.0", "double", 2.0**53 + 2), ("1152921504606846976", "double", 2.0**60),
    (None, "int", None), ("AAE=", "binary", b"\x00\x01"), ("2024-02-29", "date", date(2024, 2, 29)),
    ("2024-01-01T12:00:00.0000009", "timestamp", NOON), ("2024-01-01 12:00Z", "timestamp", NOON),
    ("2024-01-01T14:30:00+02:30", "timestamp", NOON), ("2024-01-01 10:00:00-02", "timestamp", NOON),
]  # fmt: skip
BAD = [
    (RawNumber("12.5"), "int"), ("", "int"), ("12 ", "int"), ("0x1", "int"), (True, "int"),
    ("128", "tinyint"), ("2147483648", "int"), ("1e99999999999", "bigint"), ("\u0661", "int"),
    ("1.00001", "decimal(18,4)"), ("100", "decimal(2,0)"), ("NaN", "decimal(9,2)"),
    ("16777217", "float"), ("0.1234567890123", "float"), ("123456789.12", "float"),
    ("1e-46", "float"), ("1e39", "float"), ("1e309", "double"), ("nan", "double"),
    ("1_0", "double"), ("9007199254740993", "double"), ("0.10000000000000000555", "double"),
    ("123456789012345670", "double"),
    ("abcd", "char(3)"), ("abcd", "varchar(3)"), ("maybe", "boolean"), ("AAE", "binary"),
    ("2024-02-30", "date"), ("2024-2-3", "date"), (RawNumber("19782"), "date"), ([], "int"),
    ("2024-01-01T24:00:00", "timestamp"), ("yesterday", "timestamp"), ({}, "boolean"),
    (RawNumber("1704110400"), "timestamp"), ("0001-01-01T00:00:00+01:00", "timestamp"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "data_type", "expected"), GOOD)
def test_value_is_read(value, data_type, expected):
    found = read_value(value, data_type)
    assert found is expected or (found == expected and type(found) is not RawNumber)


@pytest.mark.parametrize(("value", "data_type"), BAD)
def test_bad_value_is_refused(value, data_type):
    with pytest.raises(BadValue):
        read_value(value, data_type)


# --- capture ------------------------------------------------------------------------------------


def test_g1_g2_raw_rows_and_queries():
    columns = (("id", "int"), ("customer", "string"), ("amount", "decimal(18,4)"),
               ("notes", "string"), ("updated", "timestamp"))  # fmt: skip
    orders = CaptureInstance("dbo", "t", "dbo_orders", columns, ("id",))
    acme = {"id": 1, "customer": "acme", "amount": 10.5, "notes": "first", "updated": None}
    globex = {"id": 2, "customer": "globex", "amount": "20", "notes": None, "updated": None}
    rows = capture(
        log(
            ("a", "BEGIN", None, None),
            ("a", "INSERT", None, acme),
            ("a", "INSERT", None, globex),
            ("a", "COMMIT", None, None),
            ("b", "UPDATE", acme, acme | {"amount": "99.9999"}),
            ("b", "COMMIT", None, None),
            ("c", "DELETE", globex, None),
            ("c", "COMMIT", None, None),
        ),
        orders,
    )
    found = [
        (r.start_lsn[-2:], r.seqval[-2:], r.operation, r.update_mask, r.values[2]) for r in rows
    ]
    assert found == [
        ("40", "20", 2, "0x1F", Decimal("10.5")), ("40", "30", 2, "0x1F", Decimal(20)),
        ("60", "50", 3, "0x04", Decimal("10.5")), ("60", "50", 4, "0x04", Decimal("99.9999")),
        ("80", "70", 1, "0x1F", Decimal(20)),
    ]  # fmt: skip
    assert rows[3].values[3] == "first"
    assert len(get_all_changes(rows, LOW, HIGH, " ALL update old ", **LIMITS)) == 5
    assert [r.operation for r in get_all_changes(rows, LOW, HIGH, **LIMITS)] == [2, 2, 4, 1]
    for option, operation in zip(NET_OPTIONS, (2, 2, 5), strict=True):
        (net,) = get_net_changes(rows, orders, LOW, HIGH, option, **LIMITS)
        assert (net.operation, net.update_mask, net.start_lsn[-2:]) == (operation, None, "60")
        assert net.values[:3] == (1, "acme", Decimal("99.9999"))


NET_TABLE = {
    "I": (2, None), "IU": (2, None), "IUU": (2, None), "ID": None, "IUD": None, "IDI": (2, None),
    "IDIU": (2, None), "IDID": None, "U": (4, "0x02"), "UU": (4, "0x02"), "UD": (1, None),
    "UDI": (4, "0x03"), "UDIU": (4, "0x03"), "UDID": (1, None), "D": (1, None), "DI": (4, "0x03"),
    "DIU": (4, "0x03"), "DID": (1, None),
}  # fmt: skip


@pytest.mark.parametrize("text", NET_TABLE)
def test_g3_to_g12_table_of_net_histories(text):
    rows, expected = history(text), NET_TABLE[text]
    nets = [get_net_changes(rows, KV, LOW, HIGH, option, **LIMITS) for option in NET_OPTIONS]
    if expected is None:
        assert nets == [[], [], []]
        return
    ((plain,), (mask,), (merge,)) = nets
    assert (plain.operation, plain.update_mask) == (expected[0], None)
    assert (mask.operation, mask.update_mask) == expected
    assert (merge.operation, merge.update_mask) == (1 if expected[0] == 1 else 5, None)
    last = rows[-1]
    assert {net.values for net in (plain, mask, merge)} == {last.values}
    assert plain.start_lsn == last.start_lsn


def test_g11_insert_and_delete_in_one_transaction_is_nothing():
    row = {"k": 1, "v": "a"}
    lines = [("a", "INSERT", None, row), ("a", "DELETE", row, None), ("a", "COMMIT", None, None)]
    assert get_net_changes(capture(log(*lines), KV), KV, LOW, HIGH, **LIMITS) == []


def key_change(old: int, new: int, v: str) -> tuple[str, str, object, object]:
    return "b", "UPDATE", {"k": old, "v": v}, {"k": new, "v": v}


def test_keys_that_go_round_are_all_there():
    lines = [key_change(1, 2, "a"), key_change(2, 3, "b"), key_change(3, 1, "c")]
    rows = capture(log(*lines, ("b", "COMMIT", None, None)), KV)
    assert [(r.operation, r.values[0]) for r in rows] == [
        (1, 1), (2, 2), (1, 2), (2, 3), (1, 3), (2, 1)
    ]  # fmt: skip
    nets = get_net_changes(rows, KV, LOW, HIGH, "all with mask", **LIMITS)
    assert sorted((n.values, n.operation, n.update_mask) for n in nets) == [
        ((1, "c"), 4, "0x03"), ((2, "a"), 4, "0x03"), ((3, "b"), 4, "0x03"),
    ]  # fmt: skip


def test_g13_increment_and_decrement():
    assert increment_lsn("0x0000002d000005900005") == "0x0000002D000005900006"
    assert increment_lsn("0x000000000000000000FF") == "0x00000000000000000100"
    assert decrement_lsn("0x00000000000000000100") == "0x000000000000000000FF"
    assert increment_lsn(None) is decrement_lsn(None) is None
    with pytest.raises(OverflowError):
        increment_lsn(HIGH)
    with pytest.raises(OverflowError):
        decrement_lsn(LOW)


def test_g14_g15_g16_masks():
    assert [all_bits(n) for n in (3, 4, 5, 7, 8, 9, 10)] == [
        "0x07", "0x0F", "0x1F", "0x7F", "0xFF", "0x01FF", "0x03FF",
    ]  # fmt: skip
    assert [n for n in range(-1, 20) if is_bit_set(n, "0x0102")] == [2, 9]
    assert is_bit_set(None, "0x01") is is_bit_set(1, None) is None
    subset = CaptureInstance("dbo", "t", "s", (("a", "int"), ("b", "int"), ("e", "string")))
    before = {"a": 1, "b": 2, "c": 3, "d": 4, "e": "x"}
    lines = [("a", "UPDATE", before, before | {"e": "y"}), ("a", "COMMIT", None, None)]
    assert brief(capture(log(*lines), subset)) == [(3, "0x04", 1, 2, "x"), (4, "0x04", 1, 2, "y")]


@pytest.mark.parametrize(
    ("from_lsn", "to_lsn", "option", "reason"),
    [
        (None, "9", "all", "null"), ("1", None, "all", "null"), ("0", "9", "all", "range"),
        ("1", "A", "all", "range"), ("9", "1", "all", "reversed"),
        ("1", "9", "all with maks", "option"), ("1", "9", None, "option"),
    ],
)  # fmt: skip
def test_g17_window_validation(from_lsn, to_lsn, option, reason):
    low, high = (lsn and "0x" + lsn.zfill(20) for lsn in (from_lsn, to_lsn))
    limits = {"min_lsn": int_to_lsn(1), "max_lsn": int_to_lsn(9)}
    for call in (
        lambda: get_all_changes([], low, high, option, **limits),
        lambda: get_net_changes([], KV, low, high, option, **limits),
    ):
        with pytest.raises(Cdc313) as error:
            call()
        assert error.value.reason == reason
    assert get_all_changes([], int_to_lsn(1), int_to_lsn(1), **limits) == []


def test_g25_to_g27_update_key_change_delete():
    lines = [("a", "INSERT", None, {"k": k, "v": "b"}) for k in range(10, 15)]
    lines += [("a", "UPDATE", {"k": k, "v": "b"}, {"k": k, "v": "z"}) for k in range(10, 15)]
    lines += [
        ("a", "COMMIT", None, None),
        ("b", "UPDATE", {"k": 10, "v": "z"}, {"k": 100, "v": "z"}),
    ]
    lines += [("b", "COMMIT", None, None), ("c", "DELETE", {"k": 11, "v": "z"}, None)]
    rows = capture(log(*lines, ("c", "COMMIT", None, None)), KV)
    assert [r.operation for r in rows] == [2] * 5 + [3, 4] * 5 + [1, 2, 1]
    old, new = rows[15:17]
    assert brief([old, new]) == [(1, "0x03", 10, "z"), (2, "0x03", 100, "z")]
    assert old.order[:3] == new.order[:3]
    nets = get_net_changes(rows, KV, old.start_lsn, old.start_lsn, **LIMITS)
    assert [(n.operation, n.values[0]) for n in nets] == [(1, 10), (2, 100)]
    assert brief(rows[17:]) == [(1, "0x03", 11, "z")]


def test_g29_department_example():
    columns = (("DepartmentID", "smallint"), ("Name", "string"), ("GroupName", "string"))
    department = CaptureInstance("dbo", "t", "HR_Department", columns, ("Name",))
    mine = {"DepartmentID": 17, "Name": "MyDept", "GroupName": "MyNewGroup"}
    old = {"DepartmentID": 5, "Name": "Purchasing", "GroupName": "Inventory Management"}
    new = old | {"GroupName": "Resource Control"}
    operations = (("INSERT", None, mine), ("UPDATE", old, new), ("DELETE", mine, None))
    lines = [line for op in operations for line in (("a", *op), ("a", "COMMIT", None, None))]
    rows = capture(log(*lines), department)
    (net,) = get_net_changes(rows, department, LOW, HIGH, "all with mask", **LIMITS)
    assert (net.operation, net.update_mask, net.values[2]) == (4, "0x04", "Resource Control")


def test_g30_map_time():
    one, two, three = (
        MappingRow(int_to_lsn(n), NOON, NOON + timedelta(hours=h), "a", int_to_lsn(n))
        for n, h in ((1, 0), (2, 0), (3, 1))
    )
    mapping = [three, one, two]

    def find(operator: str, hours: float) -> str | None:
        return map_time_to_lsn(mapping, operator, NOON + timedelta(hours=hours))

    found = {
        operator: [find(operator, hours) for hours in (-1, 0, 0.5, 1, 2)]
        for operator in (
            "largest less than", "largest less than or equal",
            "smallest greater than", " SMALLEST greater than or equal ",
        )
    }  # fmt: skip
    a, b, c = (row.start_lsn for row in (one, two, three))
    assert list(found.values()) == [
        [None, None, b, b, c], [None, b, b, c, c], [a, c, c, None, None], [a, a, c, c, None],
    ]  # fmt: skip
    with pytest.raises(Cdc313):
        find("largest less than or equal to", 0)


def test_transactions_of_a_hostile_log():
    def insert(tran_id: str, key: int) -> tuple[str, str, None, dict[str, object]]:
        return tran_id, "INSERT", None, {"k": key, "v": None}

    records = log(
        insert("a", 1), ("b", "BEGIN", None, None), insert("b", 2), ("a", "COMMIT", None, None),
        ("b", "BEGIN", None, None), insert("b", 3), ("a", "BEGIN", None, None), insert("a", 4),
        ("b", "COMMIT", None, None), ("a", "ROLLBACK", None, None), ("x", "COMMIT", None, None),
        insert("b", 5), ("b", "COMMIT", None, None), insert("b", 6),
    )  # fmt: skip
    rows = capture(records, KV)
    assert [row.values[0] for row in rows] == [1, 3, 5]
    mapping = lsn_time_mapping(records, {"dbo_t": rows})
    found = [
        (m.tran_id, int(m.start_lsn, 16) // 16, int(m.tran_begin_lsn, 16) // 16) for m in mapping
    ]
    assert found == [("a", 4, 1), ("b", 9, 5), ("b", 13, 12)]
    assert (mapping[1].tran_begin_time, mapping[1].tran_end_time) == (
        NOON + timedelta(seconds=5), NOON + timedelta(seconds=9),
    )  # fmt: skip
    assert [r.values[0] for r in capture(records, KV, int_to_lsn(64), int_to_lsn(144))] == [3]


def test_rows_are_in_order_of_command_then_seqval():
    lines = [("a", "INSERT", None, {"k": 1}), ("a", "INSERT", None, {"k": 2})]
    records = log(*lines, ("a", "COMMIT", None, None))
    records[0] = replace(records[0], command_id=3)
    assert [row.values[0] for row in capture(records, KV)] == [2, 1]


def test_lsns_are_unique_commits():
    records = log(("a", "INSERT", None, {"k": 1}), ("a", "COMMIT", None, None))
    with pytest.raises(BadRecord, match="two transactions"):
        capture([*records, replace(records[1], tran_id="b")], KV)


OLD, NO_V = {"k": 1, "v": "a"}, {"k": 1}
IMAGES = [  # operation, before, after, complete mode, partial mode; None = bad record
    ("UPDATE", OLD, {"k": "1.0", "v": "a", "V": 1}, [], []),
    ("UPDATE", OLD, NO_V, [], []),
    ("UPDATE", NO_V, NO_V, [], []),
    ("UPDATE", OLD, {"v": None}, [(3, "0x02", 1, "a"), (4, "0x02", 1, None)], ...),
    ("UPDATE", NO_V, OLD, None, [(3, "0x02", 1, None), (4, "0x02", 1, "a")]),
    ("UPDATE", None, OLD, None, [(3, "0x02", 1, None), (4, "0x02", 1, "a")]),
    ("UPDATE", None, NO_V, None, []),
    ("UPDATE", NO_V, {"k": 2}, [(1, "0x03", 1, None), (2, "0x03", 2, None)], ...),
    ("UPDATE", OLD, None, None, None),
    ("INSERT", None, NO_V, [(2, "0x03", 1, None)], ...),
    ("INSERT", None, None, None, None),
    ("DELETE", NO_V, None, [(1, "0x03", 1, None)], ...),
    ("DELETE", None, NO_V, None, [(1, "0x03", 1, None)]),
    ("DELETE", None, None, None, None),
]


@pytest.mark.parametrize(("operation", "before", "after", "complete", "partial"), IMAGES)
def test_images(operation, before, after, complete, partial):
    records = log(("a", operation, before, after), ("a", "COMMIT", None, None))
    for mode, expected in (("complete", complete), ("partial", partial)):
        instance = CaptureInstance("dbo", "t", "dbo_t", KV.columns, ("k",), mode)
        if (complete if expected is ... else expected) is None:
            with pytest.raises(BadRecord):
                capture(records, instance)
        else:
            assert brief(capture(records, instance)) == (complete if expected is ... else expected)


def test_without_index_columns_a_key_change_is_an_update():
    keyless = CaptureInstance("dbo", "t", "dbo_t", KV.columns)
    records = log(("a", "UPDATE", OLD, {"k": 2, "v": "a"}), ("a", "COMMIT", None, None))
    assert [row.operation for row in capture(records, keyless)] == [3, 4]


# --- properties ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(1, 21))
def test_mask_round_trip(count):
    for ordinal in range(1, count + 1):
        mask = encode_mask([ordinal], count)
        assert len(mask) == 2 + 2 * -(-count // 8) and decode_mask(mask) == {ordinal}
    assert decode_mask(all_bits(count)) == set(range(1, count + 1))


@thorough
@given(st.integers(0, 2**80 - 2), st.integers(0, 2**80 - 1))
def test_lsn_arithmetic(number, other):
    lsn = int_to_lsn(number)
    assert decrement_lsn(increment_lsn(lsn)) == lsn
    assert lsn_to_int(lsn.lower().replace("0X", "0x")) == number
    assert (lsn < int_to_lsn(other)) == (number < other)


def test_net_of_two_windows_is_net_of_one():
    legal = [h for n in range(1, 5) for h in map("".join, product("IUD", repeat=n)) if is_legal(h)]
    assert len(legal) == 29
    for text in legal:
        rows = history(text)
        lsns = sorted({row.start_lsn for row in rows})
        whole = replay(text, rows, [(lsns[0], lsns[-1])])
        assert whole == apply_all(start(text), rows).content()
        for cut in range(1, len(lsns)):
            assert replay(text, rows, [(lsns[0], lsns[cut - 1]), (lsns[cut], lsns[-1])]) == whole


def is_legal(text: str) -> bool:
    exists = text[0] != "I"
    for letter in text:
        if exists == (letter == "I"):
            return False
        exists = letter != "D"
    return True


def start(text: str) -> State:
    state = State(KV)
    if text[0] != "I":
        state.upsert((1, "old"), LOW, None)
    return state


def replay(text: str, rows: list[ChangeRow], windows: list[tuple[str, str]]) -> Counter:
    state = start(text)
    for low, high in windows:
        apply_net(state, get_net_changes(rows, KV, low, high, **LIMITS))
    return state.content()


@thorough
@given(hostile.hostile_logs())
def test_all_changes_lead_from_state_to_state(hostile_log):
    for instance in hostile_log.instances:
        rows, state = capture(hostile_log.records, instance), hostile_log.state(instance)
        for commit, _ in hostile_log.states:
            apply_all(state, [row for row in rows if row.start_lsn == commit])
            assert not differences(state, hostile_log.state(instance, commit))


def as_state(rows: Rows) -> State:
    state = State(PLACES)
    for values in rows.items():
        state.upsert(values, LOW, None)
    return state


@thorough
@given(st.integers(0, 2**32 - 1), st.data())
def test_changes_of_permuted_keys_lead_from_state_to_state(seed, data):
    """The truth is what the table held at each commit."""
    permuted = make_permuted_log(seed)
    rows, times = capture(permuted.records, PLACES), dict.fromkeys(commits(permuted.states), NOON)
    versions = history_of(PLACES, rows, times, permuted.states[0][1].items(), LOW)
    for (low, before), (high, after) in pairwise(permuted.states):
        changes = [row for row in rows if low < row.start_lsn <= high]
        assert not differences(apply_all(as_state(before), changes), as_state(after))
        there = [
            v.values for v in versions
            if v.valid_from_lsn <= high and (v.valid_to_lsn is None or v.valid_to_lsn > high)
        ]  # fmt: skip
        assert sorted(there) == sorted(after.items())
    first, last = sorted(data.draw(st.permutations(range(len(permuted.states))))[:2])
    low, high = increment_lsn(permuted.states[first][0]), permuted.states[last][0]
    nets = get_net_changes(rows, PLACES, low, high, **LIMITS)
    assert len({PLACES.key(net.values) for net in nets}) == len(nets)
    state = apply_net(as_state(permuted.states[first][1]), nets)
    assert not differences(state, as_state(permuted.states[last][1]))


def commits(states: list[tuple[str, Rows]]) -> list[str]:
    return [lsn for lsn, _ in states]


@thorough
@given(hostile.hostile_logs(), st.data())
def test_batches_add_up(hostile_log, data):
    borders = [LOW, *data.draw(hostile.batch_borders(hostile_log)), HIGH]
    for instance in hostile_log.instances:
        rows = []
        for low, high in pairwise(borders):
            landed = [record for record in hostile_log.records if record.lsn <= high]
            rows += capture(landed[::-1], instance, low, high)
        assert rows == capture(hostile_log.records, instance)


@thorough
@given(hostile.hostile_logs().filter(lambda found: found.states), st.data())
def test_net_changes_lead_from_state_to_state(hostile_log, data):
    low, high = data.draw(hostile.windows(hostile_log))
    for instance in hostile_log.instances:
        rows = capture(hostile_log.records, instance)
        window = get_all_changes(rows, low, high, "all update old", **LIMITS)
        assert window == [row for row in rows if low <= row.start_lsn <= high]
        plain = [row for row in window if row.operation != 3]
        assert get_all_changes(rows, low, high, **LIMITS) == plain
        if not instance.index_columns:
            continue
        net, mask, merge = (
            get_net_changes(rows, instance, low, high, option, **LIMITS) for option in NET_OPTIONS
        )
        assert [(n.start_lsn, n.values) for n in net] == [(n.start_lsn, n.values) for n in merge]
        assert [1 if n.operation == 1 else 5 for n in net] == [n.operation for n in merge]
        assert [n.operation for n in net] == [n.operation for n in mask]
        assert all((n.update_mask is not None) == (n.operation == 4) for n in mask)
        if instance.before_image == "complete":
            for changes in (net, merge):
                state = hostile_log.state(instance, decrement_lsn(low))
                apply_net(state, changes)
                assert not differences(state, hostile_log.state(instance, high))


@thorough
@given(hostile.bad_logs())
def test_a_bad_record_is_named(found):
    hostile_log, injected = found
    with pytest.raises(BadRecord) as error:
        for instance in hostile_log.instances:
            capture(hostile_log.records, instance)
    bad = error.value
    assert (bad.table, bad.column, bad.lsn) == (injected.table, injected.column, injected.lsn)


# --- Debezium's PostgreSQL events -----------------------------------------------------------------


def event(op: str, xid: str, order: int, lsn: int, /, **more: object) -> dict[str, object]:
    """A data event's value; table public.t, commit time 12:00 and as many microseconds as lsn."""
    source = {"schema": "public", "table": "t", "lsn": lsn, "snapshot": "false"}
    source["ts_us"] = int(NOON.timestamp()) * 10**6 + lsn
    transaction = {"id": f"{xid}:{lsn}", "total_order": order}
    return {"op": op, "source": source, "transaction": transaction, **more}


def status(status: str, xid: str, lsn: int, count: int | None = None) -> dict[str, object]:
    time = int(NOON.timestamp()) * 1000
    return {"status": status, "id": f"{xid}:{lsn}", "event_count": count, "ts_ms": time}


def snapshot(key: int, lsn: int, mark: str = "true") -> dict[str, object]:
    row = event("r", "0", 0, lsn, after={"k": key}) | {"transaction": None, "ts_us": 1}
    row["source"] |= {"snapshot": mark}
    return row


def decode(*values: object) -> list[tuple[int, int, str, str, object, object]]:
    """(LSN >> 24, LSN's last 24 bits, tran_id, operation, before, after) of each record."""
    events = []
    for n, value in enumerate(values):
        value, headers = value if isinstance(value, tuple) else (value, None)
        text = None if value is None else json.dumps(value)
        events.append(Event(n, "t", None, text, headers and json.dumps({headers: {}})))
    return [
        (
            *divmod(lsn_to_int(r.lsn), 1 << 24), r.tran_id, r.operation,
            r.before_image and json.loads(r.before_image),
            r.after_image and json.loads(r.after_image),
        )
        for r in read_log(events, before_images=None).records
    ]  # fmt: skip


def test_debezium_transactions_wait_for_their_events_and_for_earlier_ones():
    first = event("c", "7", 1, 70000, after={"k": 1}), status("END", "7", 80000, 1)
    later = event("c", "7", 1, 90000, after={"k": 2}), status("END", "7", 96000, 1)
    whole = [
        (65536, 1, "7", "BEGIN", None, None), (65536, 2, "7", "INSERT", None, {"k": 1}),
        (80000, 0, "7", "COMMIT", None, None), (80000, 1, "7", "BEGIN", None, None),
        (80000, 2, "7", "INSERT", None, {"k": 2}), (96000, 0, "7", "COMMIT", None, None),
    ]  # fmt: skip
    assert decode(*first, *later) == decode(*later, *first) == whole
    assert decode(*first, later[0]) == whole[:3]
    assert decode(first[1], *later) == []
    changed = event("c", "7", 1, 70000, after={"k": 9})
    assert decode(*first, changed, *later, *first) == whole


def test_debezium_operations():
    placeholder = "__debezium_unavailable_value"
    old, new = (
        {"k": 1, "v": "a", "w": None},
        {"k": 2, "v": placeholder, "w": True, "x": placeholder},
    )
    found = decode(
        status("BEGIN", "7", 70000),
        event("t", "7", 1, 70000),
        event("m", "7", 2, 70000),
        (event("d", "7", 3, 70008, before=old), "__debezium.newkey"),
        None,
        (event("c", "7", 4, 70008, after=new), "__debezium.oldkey"),
        event("d", "7", 5, 70016, before={"k": 2}),
        event("c", "7", 6, 70016, after={"k": 3, "v": placeholder}),
        status("END", "7", 80000, 6),
    )
    new = {"k": 2, "w": True}  # v: unchanged
    assert [(k, op, before, after) for _, k, _, op, before, after in found[1:-1]] == [
        (2, "TRUNCATE", None, None), (5, "UPDATE", old, new), (7, "UPDATE", {"k": 2}, {"k": 3}),
    ]  # fmt: skip


def test_debezium_snapshots():
    half = snapshot(1, 60000), snapshot(2, 60000)
    again = snapshot(1, 61000), snapshot(3, 61000), snapshot(4, 61000, "last")
    assert decode(*half) == decode(*half, *again[:2]) == []
    rows = [(0, n, "snapshot", "INSERT", None, {"k": k}) for n, k in ((2, 1), (3, 3), (4, 4))]
    begin = (0, 1, "snapshot", "BEGIN", None, None)
    whole = [begin, *rows, (65536, 0, "snapshot", "COMMIT", None, None)]
    assert decode(*half, *again, *again) == whole
    stream = event("c", "7", 1, 70000, after={"k": 5})
    assert decode(*half, stream)[1][5] == {"k": 1}
    assert decode(*half, *again, stream, status("END", "7", 80000, 1))[5][:4] == (
        65536, 1, "7", "BEGIN",
    )  # fmt: skip


# --- real logs ----------------------------------------------------------------------------------

DATA = data_dir()
TYPES = {
    "public.customers": {
        "balance": "decimal(18,4)", "wide": "decimal(38,18)", "birth": "date", "avatar": "binary",
        "created_at": "timestamp(6)", "updated_at": "timestamp(3)",
    },
    "public.orders": {
        "amount": "decimal(12,2)", "ordered_at": "timestamp(6)", "shipped_at": "timestamp(6)",
    },
    "public.pgbench_history": {"mtime": "timestamp(6)"},
    "public.events_log": {"ts": "timestamp(6)"},
}  # fmt: skip
TABLES = ("customers", "docs", "events_log", "orders", "pgbench_accounts", "pgbench_branches",
          "pgbench_history", "pgbench_tellers")  # fmt: skip
BEFORE_IMAGES = {"public.docs": "key"}


@pytest.fixture(scope="module")
def truth() -> Truth:
    return Truth(DATA / "postgres")


@pytest.fixture(scope="module")
def landed() -> dict[str, list[Event]]:
    folders = ("debezium", "debezium_schemas")
    return {name: landed_events(DATA / "postgres" / name / "all.jsonl.gz") for name in folders}


@pytest.fixture(scope="module")
def logs(landed) -> dict[str, list[LogRecord]]:
    return {name: read_log(events, TYPES, BEFORE_IMAGES).records for name, events in landed.items()}


@pytest.mark.parametrize("encoding", ["debezium", "debezium_schemas"])
@pytest.mark.parametrize("table", TABLES)
def test_real_log_gives_the_true_states(truth, logs, encoding, table):
    instance = truth.instance(table, "partial" if table == "docs" else "complete")
    rows = capture(logs[encoding], instance)
    state, net_state, low = State(instance), State(instance), LOW
    for checkpoint in truth.checkpoints:
        high = int_to_lsn(checkpoint.position << 24)
        apply_all(state, [row for row in rows if low <= row.start_lsn <= high])
        assert truth.differences(state, checkpoint.number) == []
        if instance.index_columns:
            net = get_net_changes(rows, instance, low, high, "all with mask", **LIMITS)
            apply_net(net_state, net)
            distant = apply_net(
                State(instance),
                get_net_changes(rows, instance, LOW, high, "all with mask", **LIMITS),
            )
            assert truth.differences(net_state, checkpoint.number) == []
            assert truth.differences(distant, checkpoint.number) == []
        low = increment_lsn(high)


def test_both_encodings_give_one_log(logs):
    plain, schemas = ([r for r in log if r.tran_id != "snapshot"] for log in logs.values())
    assert plain == schemas
    images = [[r.after_image for r in log if r.tran_id == "snapshot"] for log in logs.values()]
    assert images[0] == images[1]
    assert len({r.lsn for r in plain}) == len(plain)
    moved = [r for r in plain if r.operation == "UPDATE" and is_key_change(r)]
    assert len(moved) == 64
    (gone,) = (r for r in plain if (r.source_name, r.operation) == ("docs", "DELETE"))
    assert json.loads(gone.before_image).keys() == {"doc_id"}


def is_key_change(record: LogRecord) -> bool:
    before, after = json.loads(record.before_image or "{}"), json.loads(record.after_image)
    keys = ("customer_id", "order_no") if record.source_name == "orders" else ("customer_id",)
    return any(before.get(key) != after.get(key) for key in keys)


@settings(thorough, max_examples=10)
@given(seed=st.integers(0, 1000))
def test_at_least_once_delivery_and_late_events(landed, logs, seed):
    """Repeated stretches change nothing; a log that ends early is a prefix of the whole one."""
    events, whole = landed["debezium"], logs["debezium"]
    cut = 400 + seed * 2
    again = events[:cut] + events[max(0, cut - 50 - seed) : cut]
    again = [
        Event(n, e.topic, e.key, e.value, e.headers) for n, e in enumerate(again + events[cut:])
    ]
    assert read_log(again, TYPES, BEFORE_IMAGES).records == whole
    part = read_log(again[:cut], TYPES, BEFORE_IMAGES).records
    assert part == whole[: len(part)] and part[-1].operation == "COMMIT"
