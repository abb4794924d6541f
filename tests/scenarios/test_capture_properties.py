"""Random hostile logs in random batches equal the reference, in every table and every window."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from capturing import Capture, plain_values
from harness import Project
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from reference import query
from reference.capture import CaptureInstance, ChangeRow, capture, lsn_time_mapping
from reference.strategies import TABLES, HostileLog, batch_borders, make_log, spoil, windows

FIRST, LAST = "0x" + "0" * 19 + "1", "0x" + "F" * 20


@pytest.fixture(scope="module")
def capturing(make_project: Callable[..., Project]) -> Capture:
    """One project for all examples; the kind of before images comes by variable."""
    image = "{{ var('before_image', 'complete') }}"
    keyed = [i for i in TABLES if i.index_columns]
    heap = [i for i in TABLES if not i.index_columns]
    from capturing import instance_yaml

    project = Capture(make_project, TABLES)
    project.project.write("models/instances.yml", instance_yaml(keyed, before_image=image))
    project.project.write("models/heap.yml", instance_yaml(heap))
    return project


def expected(log: HostileLog, instance: CaptureInstance, to_lsn: str) -> list[ChangeRow]:
    return sorted(capture(log.records, instance, None, to_lsn), key=lambda row: row.order)


@pytest.mark.soak
@seed(20261121)
@settings(
    max_examples=4,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # shrinking takes minutes: a log is short, and its seed is printed
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_any_log_in_any_batches(capturing: Capture, data: st.DataObject) -> None:
    partial = data.draw(st.booleans())
    log = make_log(data.draw(st.integers(0, 2**32)), data.draw(st.integers(30, 90)), partial)
    borders = data.draw(batch_borders(log))
    capturing.clear()
    options = {"vars": {"before_image": "partial" if partial else "complete"}}
    done = ""
    for border in [*borders, LAST]:
        capturing.land(r for r in log.records if done < r.lsn <= border)
        done = border
        capturing.run(**options)
    rows = {i: expected(log, i, LAST) for i in log.instances}
    for instance in log.instances:
        assert capturing.changes(instance) == rows[instance]
    mapping = [
        tuple(row)
        for row in capturing.sql(
            "select start_lsn, tran_id, tran_begin_lsn from {schema}.lsn_time_mapping"
            " where tran_id <> '0x00' order by start_lsn"
        )
    ]
    assert mapping == [
        (m.start_lsn, m.tran_id, m.tran_begin_lsn)
        for m in lsn_time_mapping(log.records, {i.capture_instance: rows[i] for i in rows})
    ]
    if mapping:
        check_windows(capturing, log, rows, data)


def check_windows(
    capturing: Capture,
    log: HostileLog,
    rows: dict[CaptureInstance, list[ChangeRow]],
    data: st.DataObject,
) -> None:
    bounds = capturing.sql("select low_end, high_end from {schema}.validity_intervals limit 1")[0]
    low, high = bounds.low_end, bounds.high_end
    for instance in log.instances:
        first, last = data.draw(windows(log))
        window = (max(first, low), max(min(last, high), first, low))
        if window[1] > high:
            continue
        ends = {"min_lsn": low, "max_lsn": high}
        name = instance.capture_instance.lower()
        for option in query.ALL_OPTIONS:
            found = capturing.call(f"fn_cdc_get_all_changes_{name}", *window, option)
            wanted = query.get_all_changes(rows[instance], *window, option, **ends)
            as_tuples = sorted(
                (r["__$start_lsn"], r["__$seqval"], r["__$operation"], r["__$update_mask"])
                + (repr(plain_values(r, instance)),)
                for r in found
            )
            assert as_tuples == sorted(
                (w.start_lsn, w.seqval, w.operation, w.update_mask, repr(w.values)) for w in wanted
            )
        for option in query.NET_OPTIONS if instance.index_columns else ():
            found = capturing.call(f"fn_cdc_get_net_changes_{name}", *window, option)
            wanted = query.get_net_changes(rows[instance], instance, *window, option, **ends)
            as_tuples = sorted(
                (r["__$start_lsn"], r["__$operation"], str(r["__$update_mask"]))
                + (repr(plain_values(r, instance)),)
                for r in found
            )
            assert as_tuples == sorted(
                (w.start_lsn, w.operation, str(w.update_mask), repr(w.values)) for w in wanted
            )


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 4))]
)
def test_one_bad_record_stops_the_scan(capturing: Capture, number: int) -> None:
    rng = random.Random(number)
    spoiled = None
    while spoiled is None:
        spoiled = spoil(make_log(rng.randrange(2**32), 60), rng.randrange(2**32))
    log, injected = spoiled
    capturing.clear()
    capturing.land(log.records)
    result = capturing.project.dbt("run")
    assert not result.success
    assert "CDC 22859" in result.output
    assert injected.lsn in result.output
    assert injected.table in result.output
    assert injected.column is None or injected.column in result.output
    assert "\tat org.apache" not in result.output
    assert "validity_intervals" not in {
        row.tableName for row in capturing.sql("show tables in {schema}")
    }
