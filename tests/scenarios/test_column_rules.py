"""Columns as SQL Server has them where the YAML says so: the source's column_id, computed columns,
large values of before images (G1)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from capturing import Capture, instance_yaml
from harness import Project
from reference.capture import CaptureInstance
from reference.log import LogRecord, int_to_lsn

# A before image lacks large values that stay as they are, and computed columns.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("images_may_lack_values")]

TABLE = [
    {"name": "name", "type": "nvarchar(10)", "column_id": 1},
    {"name": "id", "type": "int", "column_id": 2},
    {"name": "total", "type": "decimal(9,2)", "column_id": 4, "is_computed": True},
    {"name": "body", "type": "nvarchar(max)", "column_id": 5},
    {"name": "photo", "type": "varbinary(max)", "column_id": 8},
]
FIRST = {"name": "a", "id": 1, "body": "text", "photo": "AQI=", "total": 7}
SECOND = {**FIRST, "name": "b", "total": "eight"}
THIRD = {**SECOND, "body": "new"}
NOW = "select * from {{ dbt_cdc.new_changes('dbo_docs') }}"


KEYED = CaptureInstance(
    "dbo", "tags", "dbo_tags", (("tag", "string"), ("id", "int"), ("body", "string")), ("tag",)
)


def change(number: int, before: dict | None, after: dict | None) -> list[LogRecord]:
    """A transaction of one change."""
    operation = "INSERT" if before is None else "DELETE" if after is None else "UPDATE"
    images = [None if image is None else json.dumps(image) for image in (before, after)]
    lsn, end = int_to_lsn(10 * number), int_to_lsn(10 * number + 1)
    return [
        LogRecord(lsn, f"t{number}", operation, None, "dbo", "docs", *images),
        LogRecord(end, f"t{number}", "COMMIT", None),
    ]


@pytest.fixture(scope="module")
def docs(make_project: Callable[..., Project]) -> Capture:
    """A captured table, made of what its DDL record tells."""
    capture = Capture(make_project, [])
    ddl = LogRecord(int_to_lsn(1), None, "DDL", None, "dbo", "docs", None, json.dumps(TABLE), "x")
    capture.land([ddl, *change(1, None, FIRST)])
    project = capture.project
    project.ok("run")
    given = {"source_schema": "dbo", "source_name": "docs", "index_columns": "id"}
    for file, name in (("sql", "dbo_docs_ct.sql"), ("yaml", "dbo_docs_ct.yml")):
        arguments = json.dumps({**given, "file": file})
        text = project.ok("run-operation", "enable_table", "--args", arguments).printed
        rule = "capture_from: now\n          lob_before_image: when_changed"
        project.write(f"models/{name}", text.replace("capture_from: now", rule))
    project.write("models/docs.sql", "{{ config(materialized='replica') }} " + NOW)
    lacks_total = {name: value for name, value in SECOND.items() if name != "total"}
    capture.land([
        *change(2, FIRST, SECOND), *change(3, lacks_total, THIRD),
        *change(4, THIRD, {**THIRD, "total": 9}),
    ])  # fmt: skip
    project.ok("run")
    return capture


def rows(capture: Capture) -> list[tuple]:
    return [tuple(row) for row in capture.sql(
        "select `__$operation`, `__$update_mask`, name, id, body, hex(photo), total"
        " from {schema}.dbo_docs_ct order by `__$start_lsn`, `__$operation`"
    )]  # fmt: skip


@pytest.mark.more
def test_ids_and_computed_columns_are_those_of_the_source(docs: Capture) -> None:
    columns = docs.sql(
        "select column_name, column_id, column_ordinal, is_computed from {schema}.captured_columns"
        " order by column_ordinal"
    )
    assert [tuple(row) for row in columns] == [
        (column["name"], column["column_id"], n, column.get("is_computed", False))
        for n, column in enumerate(TABLE, 1)
    ]
    assert docs.sql("select column_id from {schema}.index_columns")[0][0] == 2
    shown = docs.project.ok(
        "run-operation", "get_captured_columns", "--args", "{capture_instance: dbo_docs}"
    )
    assert "total        4          3" in shown.output


def test_computed_columns_are_null_and_large_values_where_they_changed(docs: Capture) -> None:
    """An update of a computed column alone leaves no row, whatever the log has for a value."""
    assert rows(docs) == [
        (2, "0x1F", "a", 1, "text", "0102", None),
        (3, "0x01", "a", 1, None, None, None),
        (4, "0x01", "b", 1, "text", "0102", None),
        (3, "0x08", "b", 1, "text", None, None),
        (4, "0x08", "b", 1, "new", "0102", None),
    ]


@pytest.mark.more
def test_a_replica_does_not_take_a_hidden_value_for_null(docs: Capture) -> None:
    """Two updates that undo each other, but for a large value that the first does not show."""
    last = {**THIRD, "body": None}
    docs.land([*change(5, THIRD, {**THIRD, "name": "c"}), *change(6, {**THIRD, "name": "c"}, last)])
    docs.run()
    found = docs.sql("select name, id, body, hex(photo), total from {schema}.docs")
    assert [tuple(row) for row in found] == [("b", 1, None, "0102", None)]
    docs.land(change(7, last, None))
    docs.run()
    assert rows(docs)[-1] == (1, "0x1F", "b", 1, None, "0102", None)
    assert not docs.sql("select * from {schema}.docs")


@pytest.mark.more
def test_a_key_is_no_large_value(make_project: Callable[..., Project]) -> None:
    """Whatever its type: rows 3 and 4 of an update bear the same one."""
    capture = Capture(make_project, [KEYED], lob_before_image="when_changed")
    old = {"tag": "a", "id": 1, "body": "text"}
    images = json.dumps(old), json.dumps({**old, "id": 2})
    capture.land([
        LogRecord(int_to_lsn(1), "t", "UPDATE", None, "dbo", "tags", *images),
        LogRecord(int_to_lsn(2), "t", "COMMIT", None),
    ])  # fmt: skip
    capture.run()
    found = capture.sql("select `__$operation`, tag, id, body from {schema}.dbo_tags_ct order by 1")
    assert [tuple(row) for row in found] == [(3, "a", 1, None), (4, "a", 2, "text")]


@pytest.mark.more
def test_an_instance_is_not_edited(docs: Capture) -> None:
    path = docs.project.folder / "models" / "dbo_docs_ct.yml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"is_computed": true', '"is_computed": false'), encoding="utf-8")
    docs.land(change(8, None, FIRST))
    message = docs.project.dbt("run").output
    assert "CDC 22930: the columns of capture instance 'dbo_docs' were edited" in message
    assert "total decimal(9,2) computed" in message
    path.write_text(text, encoding="utf-8")


@pytest.mark.more
def test_names_are_those_of_the_images(make_project: Callable[..., Project]) -> None:
    """In any letter case; none for one is an error where an image has one that is not captured."""
    columns = (("ID", "int"), ("Name", "string"), ("late", "string"))
    right = CaptureInstance("dbo", "docs", "dbo_docs", columns, ("ID",))
    wrong = replace(right, capture_instance="wrong", columns=(columns[0], ("lat", "string")))
    target = Capture(make_project, [right, wrong])
    early = [change(n, None, {"id": n, "name": "a"}) for n in range(1, 102)]
    last = change(102, None, {"id": 102, "name": "b", "late": "c"})
    target.land(record for records in (*early, last) for record in records)
    message = target.project.dbt("run").messages["scan_transactions"].message
    assert (
        "CDC 22930: capture instance 'wrong' captures columns that no image of table dbo.docs has:"
        " lat; the images have id, late, name: name them as the source does" in message
    )
    assert target.sql("select * from {schema}.change_tables") == []
    right_too = replace(right, capture_instance="wrong")
    target.project.write("models/instances.yml", instance_yaml([right, right_too]))
    target.run()
    for name in ("dbo_docs", "wrong"):
        rows = target.sql(f"select id, name, late from {{schema}}.{name}_ct order by id")
        assert len(rows) == 102
        assert (tuple(rows[0]), tuple(rows[-1])) == ((1, "a", None), (102, "b", "c"))
    found = target.sql("select distinct column_name from {schema}.captured_columns order by 1")
    assert [row[0] for row in found] == ["id", "late", "name"]
    target.land(change(103, {"id": 1, "name": "a"}, {"id": 1, "name": "z"}))
    target.run()
    (net,) = target.sql("select ID, Name from {schema}.dbo_docs_ct where `__$operation` = 4")
    assert tuple(net) == (1, "z")


ONE = CaptureInstance("dbo", "docs", "dbo_docs", (("id", "int"), ("qty", "int")), ("id",))
TWO = replace(ONE, capture_instance="docs_v2", columns=(("id", "int"), ("quantity", "int")))


@pytest.mark.more
def test_a_rename_beside_a_new_column(make_project: Callable[..., Project]) -> None:
    """In one window: the images behind the new column still had the old name."""
    target = Capture(make_project, [ONE], vars={"cdc_report_new_columns": True})
    target.land(change(1, None, {"id": 1, "qty": 1}))
    target.run()
    target.land(change(2, None, {"id": 2, "qty": 2, "added": 1}))
    target.land(change(3, None, {"id": 3, "quantity": 3, "added": 1}))
    message = target.project.dbt("run").messages["scan_transactions"].message
    assert "CDC 22930: capture instance 'dbo_docs' captures columns that no image" in message


@pytest.mark.more
def test_a_rename_that_is_first_seen_in_an_open_transaction(
    make_project: Callable[..., Project],
) -> None:
    """The instance ends with the first commit that has it; renamed back, the other one ends."""
    target = Capture(make_project, [ONE], vars={"cdc_report_new_columns": True})
    target.land(change(1, None, {"id": 1, "qty": 1}))
    target.run()
    target.project.write("models/instances.yml", instance_yaml([ONE, TWO]))
    target.project.write("models/docs_v2_ct.sql", "{{ dbt_cdc.change_table() }}")
    opened, committed = change(2, None, {"id": 2, "quantity": 2})
    target.land([opened, *change(3, None, {"id": 3, "quantity": 3})])
    output = target.run().output
    assert "dbo_docs ends before that commit" in output, output
    target.land(
        [replace(committed, lsn=int_to_lsn(40)), *change(5, None, {"id": 5, "quantity": 5})]
    )
    target.run()
    rows = target.sql("select id, qty from {schema}.dbo_docs_ct order by id")
    assert [tuple(row) for row in rows] == [(1, 1)]
    rows = target.sql("select id, quantity from {schema}.docs_v2_ct order by id")
    assert [tuple(row) for row in rows] == [(2, 2), (3, 3), (5, 5)]
    target.land(change(6, None, {"id": 6, "qty": 6}))
    message = target.project.dbt("run").messages["scan_transactions"].message
    assert "CDC 22930: capture instance 'docs_v2' captures columns that no image" in message


@pytest.mark.more
def test_a_rename_in_a_transaction_that_stays_open(make_project: Callable[..., Project]) -> None:
    """Until its commit both instances are published: the older one ends there all the same."""
    target = Capture(make_project, [ONE], vars={"cdc_report_new_columns": True})
    target.land(change(1, None, {"id": 1, "qty": 1}))
    target.run()
    target.project.write("models/instances.yml", instance_yaml([ONE, TWO]))
    target.project.write("models/docs_v2_ct.sql", "{{ dbt_cdc.change_table() }}")
    opened, committed = change(3, None, {"id": 3, "quantity": 3})
    other = LogRecord(int_to_lsn(32), "other", "COMMIT", None)
    target.land([*change(2, None, {"id": 2, "qty": 2}), opened, other])
    for task in ("+scan_transactions", "dbo_docs_ct docs_v2_ct", "lsn_time_mapping"):
        target.run("--select", *task.split())
    target.land([replace(committed, lsn=int_to_lsn(40))])
    assert "dbo_docs ends before that commit, and docs_v2 goes on" in target.run().output
    rows = target.sql("select id, qty from {schema}.dbo_docs_ct order by id")
    assert [tuple(row) for row in rows] == [(1, 1), (2, 2)]
    rows = target.sql("select id, quantity from {schema}.docs_v2_ct order by id")
    assert [tuple(row) for row in rows] == [(3, 3)]


@pytest.mark.more
def test_a_column_that_is_renamed(make_project: Callable[..., Project]) -> None:
    """In a log without DDL: an error, until a second instance captures the new name. A column that
    was dropped before, and one that comes beside all others, stop nothing."""
    old = CaptureInstance(
        "dbo", "docs", "dbo_docs", (("id", "int"), ("name", "string"), ("gone", "int")), ("id",)
    )
    new = replace(old, capture_instance="docs_v2", columns=(("id", "int"), ("full_name", "string")))
    target = Capture(make_project, [old], vars={"cdc_report_new_columns": True})
    target.land(change(1, None, {"id": 1, "name": "a", "gone": 1}))
    target.run()
    target.land(change(2, None, {"id": 2, "name": "b"}))
    target.run()
    target.land(change(3, None, {"id": 3, "name": "c", "added": 1}))
    assert "has columns that no instance captures: 'added'" in target.run().output
    target.land(change(4, None, {"id": 4, "name": "d", "added": 1}))
    target.land(change(5, None, {"id": 5, "full_name": "e", "added": 1}))
    message = target.project.dbt("run").messages["scan_transactions"].message
    assert (
        "CDC 22930: capture instance 'dbo_docs' captures columns that no image of table dbo.docs"
        " has: name; the images have added, full_name, id: make a second instance" in message
    )
    rest = target.project.dbt("run", "--select", "dbo_docs_ct", "lsn_time_mapping")
    assert "CDC 22930: capture instance 'dbo_docs'" in rest.messages["dbo_docs_ct"].message
    target.project.write("models/instances.yml", instance_yaml([old, new]))
    target.project.write("models/docs_v2_ct.sql", "{{ dbt_cdc.change_table() }}")
    rest = target.project.dbt("run", "--select", "dbo_docs_ct")
    assert "dbt run enters docs_v2, which goes on from there" in rest.output
    target.project.write(
        "models/docs.sql",
        "{{ config(materialized='replica') }} select * from {{ dbt_cdc.new_changes('dbo_docs') }}",
    )
    output = target.run().output
    assert "dbo_docs ends before that commit, and docs_v2 goes on" in output
    assert "has columns that no instance captures" not in output
    rows = target.sql("select id, name from {schema}.dbo_docs_ct order by id")
    assert [tuple(row) for row in rows][3:] == [(4, "d")]
    rows = target.sql("select id, full_name from {schema}.docs_v2_ct order by id")
    assert [tuple(row) for row in rows] == [(5, "e")]  # the first one has what was before
    target.land(change(6, None, {"id": 6, "full_name": "f", "added": 1}))
    assert "docs stands still: capture instance dbo_docs ended" in target.run().output
    assert [row.id for row in target.sql("select id from {schema}.docs_v2_ct order by id")] == [
        5, 6
    ]  # fmt: skip


@pytest.mark.more
def test_a_column_in_two_letter_cases(make_project: Callable[..., Project]) -> None:
    one = CaptureInstance("dbo", "docs", "dbo_docs", (("id", "int"), ("qty", "int")), ("id",))
    target = Capture(make_project, [one], vars={"cdc_report_new_columns": True})
    row, other = {"id": 1, "qty": 1}, {"Id": 1, "Qty": 2}
    target.land([*change(1, None, row), *change(2, other | {"Qty": 1}, other)])
    target.land(change(3, None, {"id": 2, "qty": 1}))
    message = target.project.dbt("run").messages["scan_transactions"].message
    assert "CDC 22859: bad log record of table dbo.docs, column Id, lsn" in message
    assert f"lsn {int_to_lsn(20)}: other images spell it 'id'" in message
    lower = {name: json.dumps(row) for name in ("before_image", "after_image")}
    target.amend(int_to_lsn(20), **lower)
    target.run()
    # an instance that begins with the log compares what it reads
    target.amend(int_to_lsn(20), before_image=json.dumps(other), after_image=json.dumps(other))
    late = replace(one, capture_instance="docs_v2")
    target.project.write("models/more.yml", instance_yaml([late], capture_from="log_start"))
    target.project.write("models/docs_v2_ct.sql", "{{ dbt_cdc.change_table() }}")
    target.land(change(4, None, {"id": 3, "qty": 1}))
    assert "column Id, lsn" in target.project.dbt("run").output


KEYED_BY_ID = CaptureInstance(
    "dbo", "docs", "dbo_docs", (("id", "int"), ("name", "string"), ("body", "string")), ("id",)
)
KEYED_ANEW = replace(
    KEYED_BY_ID, capture_instance="docs_v2",
    columns=(("doc_id", "int"), ("name", "string"), ("body", "string")), index_columns=("doc_id",),
)  # fmt: skip


@pytest.mark.more
@pytest.mark.parametrize("before_image", ["complete", "partial"])
def test_a_key_that_is_renamed_before_an_insert(
    make_project: Callable[..., Project], before_image: str
) -> None:
    """Deletes tell it, and updates that may lack other columns: no row has a NULL for a key."""
    old, new = (replace(i, before_image=before_image) for i in (KEYED_BY_ID, KEYED_ANEW))
    target = Capture(make_project, [old], vars={"cdc_report_new_columns": True})
    for number in (1, 2):
        target.land(change(number, None, {"id": number, "name": "a", "body": "b"}))
    target.run()
    if before_image == "complete":
        target.land(change(3, {"doc_id": 1, "name": "a", "body": "b"}, None))
        wanted = [(1, 1, "a")]
    else:
        record, commit = change(3, None, {"doc_id": 1, "name": "c"})
        target.land([replace(record, operation="UPDATE"), commit])
        target.land(change(4, {"doc_id": 1}, None))
        wanted = [(3, 1, None), (4, 1, "c"), (1, 1, None)]
    message = target.project.dbt("run").messages["scan_transactions"].message
    assert "captures columns that no image of table dbo.docs has: id; the images have " in message
    target.project.write("models/instances.yml", instance_yaml([old, new]))
    target.project.write("models/docs_v2_ct.sql", "{{ dbt_cdc.change_table() }}")
    assert "dbo_docs ends before that commit, and docs_v2 goes on" in target.run().output
    found = target.sql(
        "select `__$operation`, doc_id, name from {schema}.docs_v2_ct"
        " order by `__$start_lsn`, `__$operation`"
    )
    assert [tuple(row) for row in found] == wanted
    ids = target.sql("select id from {schema}.dbo_docs_ct order by id")
    assert [row.id for row in ids] == [1, 2]


@pytest.mark.more
def test_a_record_that_does_not_name_the_key(make_project: Callable[..., Project]) -> None:
    """It stops its instance, renamed back or not; a NULL that it has is one of a unique key."""
    target = Capture(make_project, [KEYED_BY_ID], vars={"cdc_report_new_columns": True})
    target.land(change(1, None, {"id": 1, "name": "a", "body": "b"}))
    target.land(change(2, None, {"name": "older", "body": "than the key"}))
    target.run()
    lost = change(3, {"doc_id": 1, "name": "a", "body": "b"}, None)
    target.land([*lost, *change(4, None, {"id": None, "name": "b", "body": "b"})])
    message = target.project.dbt("run").messages["dbo_docs_ct"].message
    place = f"CDC 22859: bad log record of table dbo.docs, column id, lsn {lost[0].lsn}: the record"
    assert f"{place} names no such column, which is of the key: nothing of this scan" in message
    assert "an update to NULL is lost without, or give vars: {cdc_rep" in message
    target.amend(lost[0].lsn, before_image=json.dumps({"id": 1, "name": "a", "body": "b"}))
    target.run()
    found = target.sql("select `__$operation`, id, name from {schema}.dbo_docs_ct")
    assert sorted(map(tuple, found), key=str) == [
        (1, 1, "a"), (2, 1, "a"), (2, None, "b"), (2, None, "older"),
    ]  # fmt: skip


@pytest.mark.more
def test_a_rename_to_a_name_that_was_seen_before(make_project: Callable[..., Project]) -> None:
    """Where it is known it stops the run, too; a drop beside a known column never does, also where
    before images lack large values."""
    columns = (("id", "int"), ("name", "string"), ("gone", "int"))
    old = CaptureInstance("dbo", "docs", "dbo_docs", columns, ("id",))
    new = replace(old, capture_instance="docs_v2", columns=(("id", "int"), ("note", "string")))
    target = Capture(
        make_project, [old], vars={"cdc_report_new_columns": True}, lob_before_image="when_changed"
    )
    row = {"id": 1, "name": "a", "gone": 1, "note": "n", "body": "b"}
    target.land(change(1, None, row))
    assert "columns that no instance captures: 'body' since" in target.run().output
    row = {**row, "gone": 2}
    target.land(change(2, {"id": 1, "name": "a", "gone": 1, "note": "n"}, row))
    target.run()
    row = {"id": 1, "name": "a", "body": "b"}
    target.land(change(3, row, {**row, "name": "c"}))
    assert "no instance captures" not in target.run().output
    target.land(change(4, {"id": 1, "name": "c"}, {**row, "name": "d", "body": "c"}))
    assert "no instance captures" not in target.run().output
    target.land(change(5, None, {"id": 5, "note": "e", "body": "b"}))
    message = target.project.dbt("run").messages["scan_transactions"].message
    assert (
        "CDC 22930: capture instance 'dbo_docs' captures columns that no image of table dbo.docs"
        " has: name; the images have body, id, note: make a second instance" in message
    )
    instances = instance_yaml([old, new], lob_before_image="when_changed")
    target.project.write("models/instances.yml", instances)
    target.project.write("models/docs_v2_ct.sql", "{{ dbt_cdc.change_table() }}")
    assert "dbo_docs ends before that commit, and docs_v2 goes on" in target.run().output
    rows = target.sql("select id, note from {schema}.docs_v2_ct")
    assert [tuple(row) for row in rows] == [(5, "e")]


@pytest.mark.more
def test_images_that_leave_nulls_out_tell_of_no_rename(
    make_project: Callable[..., Project],
) -> None:
    """Where a column comes that is known and another one is NULL, both were there before."""
    instance = CaptureInstance(
        "dbo", "docs", "dbo_docs", (("id", "int"), ("note", "string")), ("id",)
    )
    target = Capture(make_project, [instance], vars={"cdc_report_new_columns": True})
    for number, image in enumerate(
        ({"note": "n", "memo": "m"}, {"memo": "m"}, {"note": "n"}, {"memo": "m"}), 1
    ):
        target.land(change(number, None, {"id": number, **image}))
        target.run()
    assert [row.id for row in target.sql("select id from {schema}.dbo_docs_ct order by id")] == [
        1, 2, 3, 4
    ]  # fmt: skip


@pytest.mark.more
def test_names_are_those_of_the_ddl_where_there_is_no_image_yet(
    make_project: Callable[..., Project],
) -> None:
    """A name in another letter case, or misspelt, would be NULL in each row to come."""
    made = [{"name": "ID", "type": "int"}, {"name": "Name", "type": "nvarchar(10)"}]
    ddl = LogRecord(int_to_lsn(1), None, "DDL", None, "dbo", "docs", None, json.dumps(made), "x")
    columns = (("id", "int"), ("name", "string"))
    right = CaptureInstance("dbo", "docs", "dbo_docs", columns, ("id",))
    wrong = replace(right, columns=(columns[0], ("nmae", "string")))
    target = Capture(make_project, [wrong])
    target.land([ddl, LogRecord(int_to_lsn(2), "t", "COMMIT", None)])
    message = target.project.dbt("run").messages["scan_transactions"].message
    assert "that no image of table dbo.docs has: nmae; the images have ID, Name" in message
    target.project.write("models/instances.yml", instance_yaml([right]))
    target.run()
    target.land(change(1, None, {"ID": 1, "Name": "a"}))
    target.run()
    (row,) = target.sql("select id, name from {schema}.dbo_docs_ct")
    assert tuple(row) == (1, "a")
    anew = [{"name": "id", "type": "int"}, {"name": "name", "type": "nvarchar(10)"}]
    target.land([
        replace(ddl, lsn=int_to_lsn(20), after_image="[]", ddl_command="drop table docs"),
        replace(ddl, lsn=int_to_lsn(21), after_image=json.dumps(anew),
                ddl_command="create table docs (id int, name nvarchar(10))"),
        *change(3, None, {"id": 1, "name": "b"}),
    ])  # fmt: skip
    message = target.project.dbt("run").messages["dbo_docs_ct"].message
    assert "CDC 4928" in message and "captured column 'ID' was renamed to 'id'" in message
