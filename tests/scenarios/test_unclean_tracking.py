"""Change tracking of keys that are padded, and of keys whose type is edited."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from capturing import instance_yaml
from harness import Project
from reference.capture import CaptureInstance
from reference.change_tracking import TrackedTable
from statements import dying_at
from tracking import Tracking, tracked_models
from transactions import Writer

pytestmark = pytest.mark.slow


@pytest.mark.more
def test_the_version_of_a_char_key(make_project: Callable[..., Project]) -> None:
    """It is found with blanks behind the value and without."""
    codes = TrackedTable("dbo", "codes", (("code", "char(5)"), ("n", "int")), ("code",), True)
    asked = "select sys_change_version from {{ dbt_cdc.changetable_version('dbo.codes', 'abc') }}"
    tracking, writer = Tracking(make_project, [codes], models={"asked.sql": asked}), Writer()
    tracking.land(writer.insert("codes", code="abc", n=1))
    tracking.land(writer.commit("codes", {"code": "abc", "n": 1}, {"code": "abc", "n": 2}))
    tracking.land(writer.insert("codes", code="gone", n=1))
    tracking.land(writer.commit("codes", {"code": "gone", "n": 1}))
    tracking.run()
    call = "select * from {{schema}}.changetable_version_dbo_codes('{}')"
    found = {
        value: [row[0] for row in tracking.sql(call.format(value))]
        for value in ["abc", "abc  ", "gone", "ab"]
    }
    assert found == {"abc": [2], "abc  ": [2], "gone": [], "ab": [None]}
    assert [row[0] for row in tracking.sql("select * from {schema}.asked")] == [2]


@pytest.mark.more
def test_the_version_of_a_binary_key(make_project: Callable[..., Project]) -> None:
    """It is found by the text that images have, and by hexadecimal digits."""
    columns = (("raw", "binary"), ("price", "decimal(9,2)"))
    blobs = TrackedTable("dbo", "blobs", columns, ("raw", "price"), False)
    asked = " union all ".join(
        f"select sys_change_version from {{{{ dbt_cdc.changetable_version('dbo.blobs', {key}) }}}}"
        for key in (["AQI=", "1.50"], ["0x0102", 1.5], ["AQM=", "1.5"])
    )
    tracking, writer = Tracking(make_project, [blobs], models={"asked.sql": asked}), Writer()
    tracking.land(writer.insert("blobs", raw="AQI=", price="1.50"))
    tracking.run()
    found = [row[0] for row in tracking.sql("select * from {schema}.asked")]
    assert sorted(found, key=str) == [1, 1, None]


def test_the_type_of_a_key_is_edited(make_project: Callable[..., Project]) -> None:
    """It is refused where its table would store the values as another one."""
    columns = (("price", "decimal(9,2)"), ("day", "date"), ("id", "int"))
    prices = TrackedTable("dbo", "prices", columns, ("price", "day", "id"), True)
    tracking, writer = Tracking(make_project, [prices]), Writer()
    tracking.land(writer.insert("prices", price="1.25", day="2024-01-01", id=1))
    tracking.run()
    tracking.land(
        writer.insert("prices", price="1.2345", day="2024-01-02T10:11:12", id=5_000_000_000)
    )
    for column, kept, edited in (
        ("price", "decimal(9,2)", "decimal(9,4)"),
        ("day", "date", "timestamp"),
        ("id", "int", "bigint"),
    ):
        types = tuple((name, edited if name == column else given) for name, given in columns)
        files = tracked_models([replace(prices, columns=types)])
        tracking.project.write("models/tracked.yml", files["tracked.yml"])
        message = tracking.project.dbt("run").messages["change_tracking_dbo_prices"].message
        assert f"CDC 4997: the type of key column {column} of change tracking" in message
        assert f"it is {kept}, the YAML says {edited}" in message
    assert tracking.sql("select count(*) from {schema}.change_tracking_dbo_prices")[0][0] == 1


@pytest.mark.more
def test_a_key_is_edited_before_the_table_is_tracked(make_project: Callable[..., Project]) -> None:
    """A side table that was made for the key of then is made anew."""
    items = TrackedTable("dbo", "items", (("id", "int"), ("code", "string")), ("id",))
    tracking, writer = Tracking(make_project, [items]), Writer()
    tracking.land(writer.insert("items", id=1, code="a"))
    tracking.run("--empty")
    edited = replace(items, primary_key=("code",))
    tracking.project.write("models/tracked.yml", tracked_models([edited])["tracked.yml"])
    tracking.run()
    tracking.land(writer.insert("items", id=2, code="b"))
    tracking.run()
    rows = tracking.sql("select code from {schema}.change_tracking_dbo_items order by code")
    assert [row.code for row in rows][-1] == "b"


@pytest.mark.more
def test_columns_keep_their_places_while_they_are_not_tracked(
    make_project: Callable[..., Project],
) -> None:
    """The masks of before are read by them when tracking is on again; without, any will do."""
    columns = (("id", "int"), ("a", "int"), ("b", "int"))
    items = TrackedTable("dbo", "items", columns, ("id",), True)
    notes = replace(items, source_name="notes", track_columns_updated=False)
    tracking, writer = Tracking(make_project, [items, notes]), Writer()
    one = {"id": 1, "a": 1, "b": 1}
    for table in ("items", "notes"):
        tracking.land(writer.insert(table, **one))
    tracking.run()
    for table in ("items", "notes"):
        tracking.land(writer.commit(table, one, {**one, "a": 2}))
    tracking.run()

    def edit(is_on: bool, *shapes: tuple[tuple[str, str], ...]) -> None:
        edited = [
            replace(table, track_columns_updated=is_on, columns=shape)
            for table, shape in zip((items, notes), shapes, strict=True)
        ]
        tracking.project.write("models/tracked.yml", tracked_models(edited)["tracked.yml"])
        tracking.land(writer.insert("others", id=1))

    turned = (columns[0], columns[2], columns[1])
    for shape in (columns, turned):
        edit(False, shape, shape)
        tracking.run()
    edit(True, turned, turned)
    result = tracking.project.dbt("run")
    assert not result.success
    assert "CDC 22930: the columns of change tracking of table dbo.items were" in result.output
    edit(True, columns, turned)
    tracking.run()
    in_mask = "{schema}.change_tracking_is_column_in_mask(2, sys_change_columns)"
    changes = "{schema}.changetable_changes_dbo_items(2)"
    assert [row[0] for row in tracking.sql(f"select {in_mask} from {changes}")] == [True]


@pytest.mark.more
@pytest.mark.parametrize("died", ["drop table", "delete from"])
def test_a_disable_that_dies_is_taken_up_again(
    make_project: Callable[..., Project], died: str
) -> None:
    """No run makes the side table anew, empty, while clients are told of its versions."""
    items = TrackedTable("dbo", "items", (("id", "int"),), ("id",))
    tracking, writer = Tracking(make_project, [items]), Writer()
    tracking.land(writer.insert("items", id=1))
    tracking.run()
    disable = ("run-operation", "disable_change_tracking", "--args")
    arguments = json.dumps({"source_schema": "dbo", "source_name": "items", "dry_run": False})
    with dying_at(lambda sql: died in sql and "change_tracking_" in sql):
        assert not tracking.project.dbt(*disable, arguments).success
    tracking.land(writer.insert("items", id=2))
    if died == "drop table":
        result = tracking.project.dbt("run")
        assert not result.success
        assert "CDC 4997: side table" in result.output
        files = tracked_models([items])
        for path in files:
            (tracking.project.folder / "models" / path).unlink()
        tracking.run()
        tracking.project.ok(*disable, arguments)
        for path, text in files.items():
            tracking.project.write(f"models/{path}", text)
        tracking.run()  # finishes the window that stands open
        tracking.land(writer.insert("items", id=3))
    tracking.run()
    rows = tracking.sql("select id from {schema}.changetable_changes_dbo_items(null)")
    assert [row.id for row in rows] == [2 if died == "delete from" else 3]


@pytest.mark.more
def test_a_table_is_disabled_after_clients_know_of_the_last(
    make_project: Callable[..., Project],
) -> None:
    """A cleanup tells them its version: the second one takes one of its own."""
    items = TrackedTable("dbo", "items", (("id", "int"),), ("id",))
    notes = replace(items, source_name="notes")
    tracking, writer = Tracking(make_project, [items, notes]), Writer()
    tracking.land(writer.insert("notes", id=1))
    tracking.run()
    disable = {"source_schema": "dbo", "dry_run": False}
    tracking.operation("disable_change_tracking", source_name="items", **disable)
    tracking.operation("change_tracking_cleanup")
    version = tracking.value("change_tracking_current_version()")
    tracking.operation("disable_change_tracking", source_name="notes", **disable)
    tracking.land(writer.insert("notes", id=2))
    tracking.run()
    assert version == 2
    with pytest.raises(Exception, match="CDC 313: last_sync_version 2 is below the minimum valid"):
        tracking.asked(notes, version)
    assert [row.id for row in tracking.asked(notes, 3)] == [2]


@pytest.mark.more
def test_the_only_table_is_disabled_while_its_window_is_half_published(
    make_project: Callable[..., Project],
) -> None:
    """Its versions are in syscommittab. Enabled again it begins above them."""
    items = TrackedTable("dbo", "items", (("id", "int"),), ("id",))
    tracking, writer = Tracking(make_project, [items]), Writer()
    tracking.land(writer.insert("items", id=1))
    tracking.run()
    tracking.land([*writer.insert("items", id=2), *writer.insert("items", id=3)])
    with dying_at(lambda sql: re.search(r"insert into \S*syscommittab", sql) is not None):
        assert not tracking.project.dbt("run").success
    disable = {"source_schema": "dbo", "source_name": "items", "dry_run": False}
    tracking.operation("disable_change_tracking", **disable)
    tracking.run()
    begin = tracking.value("change_tracking_min_valid_version('dbo.items')")
    assert begin == tracking.value("change_tracking_current_version()") == 4
    tracking.land(writer.insert("items", id=4))
    tracking.run()
    assert [row.id for row in tracking.asked(items, begin)] == [4]


@pytest.mark.more
@pytest.mark.parametrize("operation", ["INSERT", "TRUNCATE"])
def test_a_cleanup_while_a_window_is_half_published(
    make_project: Callable[..., Project], operation: str
) -> None:
    """Clients are shown its versions, and the run that finishes it counts them once more."""
    items = TrackedTable("dbo", "items", (("id", "int"),), ("id",))
    notes = replace(items, source_name="notes")
    others = CaptureInstance("dbo", "others", "dbo_others", items.columns, ("id",))
    tracking, writer = Tracking(make_project, [items, notes], [others]), Writer()
    tracking.land([*writer.insert("items", id=1), *writer.insert("notes", id=1)])
    tracking.run()
    one, two = {"id": 1}, {"id": 2}
    for table, before, after in (("items", None, two), ("items", two, two), ("items", two, None)):
        tracking.land(writer.commit(table, before, after))
    begin, record, commit = writer.insert("notes", id=2)
    image = {"after_image": None} if operation == "TRUNCATE" else {}
    tracking.land([begin, replace(record, operation=operation, **image), commit])
    for _ in range(2):
        tracking.land(writer.commit("notes", one, one))
    with dying_at(lambda sql: re.search(r"insert into \S*lsn_time_mapping", sql) is not None):
        assert not tracking.project.dbt("run").success
    tracking.operation("set_change_tracking", change_retention="1 minutes")
    tracking.operation("change_tracking_cleanup")
    tracking.run()
    tracking.land(writer.insert("items", id=3))
    tracking.run()
    changes = "select id, sys_change_operation, sys_change_version from {schema}."
    found = tracking.sql(f"{changes}changetable_changes_dbo_items(2) order by id")
    assert [tuple(row) for row in found] == [(2, "D", 5), (3, "I", 9)]
    begin_of_notes = tracking.value("change_tracking_min_valid_version('dbo.notes')")
    assert begin_of_notes == (6 if operation == "TRUNCATE" else 0)


@pytest.mark.more
def test_a_first_publication_that_dies_behind_the_versions(
    make_project: Callable[..., Project],
) -> None:
    """Its window is published by the next run, also where all instances are new later."""
    items = TrackedTable("dbo", "items", (("id", "int"),), ("id",))
    captured = CaptureInstance("dbo", "items", "dbo_items", items.columns, ("id",))
    tracking, writer = Tracking(make_project, [items], [captured]), Writer()

    def die_and_go_on(number: int) -> list[int]:
        tracking.land(writer.insert("items", id=number))
        with dying_at(lambda sql: re.search(r"insert into \S*lsn_time_mapping", sql) is not None):
            assert not tracking.project.dbt("run").success
        tracking.run()
        (row,) = tracking.sql("select high_end, scanned_lsn from {schema}.validity_intervals")
        assert (row.high_end, row.scanned_lsn) == (writer.last, writer.last)
        assert [row[-1] for row in tracking.asked(items, number - 1)] == [number]
        return sorted(row.id for row in tracking.sql("select id from {schema}.dbo_items_ct"))

    assert die_and_go_on(1) == [1]
    tracking.operation(
        "disable_table", source_schema="dbo", source_name="items", capture_instance="dbo_items",
        dry_run=False,
    )  # fmt: skip
    model = tracking.project.folder / "models" / "dbo_items_ct.sql"
    text = model.read_text(encoding="utf-8")
    model.unlink()
    tracking.project.write("models/instances.yml", instance_yaml([]))
    tracking.land(writer.insert("items", id=2))
    tracking.run()
    tracking.project.write("models/dbo_items_ct.sql", text)
    tracking.project.write("models/instances.yml", instance_yaml([captured]))
    assert die_and_go_on(3) == [3]


@pytest.mark.more
def test_names_are_those_of_the_log(make_project: Callable[..., Project]) -> None:
    """A table or column that the log spells otherwise would never have a change."""
    columns = (("id", "int"), ("Name", "string"))
    tracking, writer = Tracking(make_project, []), Writer()
    tracking.land(writer.insert("items", id=1, name="a"))
    for table, text in (
        (TrackedTable("dbo", "Items", columns, ("id",)), "captures table dbo.Items, and the log"),
        (TrackedTable("dbo", "items", columns, ("id",)), "tracks columns that no image has: Name"),
    ):
        for path, content in tracked_models([table]).items():
            tracking.project.write(f"models/{path}", content)
        result = tracking.project.dbt("run")
        assert not result.success
        assert text in result.output


@pytest.mark.more
@pytest.mark.parametrize("how", ["taken out", "disabled"])
def test_a_client_of_a_table_that_was_away(make_project: Callable[..., Project], how: str) -> None:
    """It has the current version, and lacks what came when nobody counted."""
    items = TrackedTable("dbo", "items", (("id", "int"),), ("id",))
    tracking, writer = Tracking(make_project, [items]), Writer()
    tracking.land(writer.insert("items", id=1))
    tracking.run()
    version = tracking.value("change_tracking_current_version()")
    if how == "disabled":
        disable = {"source_schema": "dbo", "source_name": "items", "dry_run": False}
        tracking.operation("disable_change_tracking", **disable)
    for path in tracked_models([items]):
        (tracking.project.folder / "models" / path).unlink()
    other = CaptureInstance("dbo", "items", "dbo_items", items.columns, ("id",))
    tracking.project.write("models/instances.yml", instance_yaml([other]))
    tracking.project.write("models/dbo_items_ct.sql", "{{ dbt_cdc.change_table() }}")
    tracking.land(writer.insert("items", id=2))
    tracking.run()
    for path, text in tracked_models([items]).items():
        tracking.project.write(f"models/{path}", text)
    tracking.land(writer.insert("items", id=3))
    tracking.run()
    with pytest.raises(Exception, match=f"CDC 313: last_sync_version {version} is below"):
        tracking.asked(items, version)
    begin = tracking.value("change_tracking_min_valid_version('dbo.items')")
    assert [row.id for row in tracking.asked(items, begin)] == [3]
    assert tracking.value("change_tracking_current_version()") == begin + 1


@pytest.mark.more
def test_a_name_that_the_log_spells_otherwise_later(make_project: Callable[..., Project]) -> None:
    """When the table was entered the log had no record of it."""
    given = TrackedTable("dbo", "Items", (("id", "int"),), ("id",))
    tracking, writer = Tracking(make_project, [given]), Writer()
    tracking.land(writer.insert("others", id=1))
    tracking.run()
    tracking.land(writer.insert("items", id=1))
    result = tracking.project.dbt("run")
    assert not result.success
    assert "CDC 22931: " in result.output
    for path, text in tracked_models([replace(given, source_name="items")]).items():
        tracking.project.write(f"models/{path}", text)
    result = tracking.project.dbt("run")
    assert not result.success
    assert "CDC 22960: the name of change tracking of table dbo.items was edited" in result.output
    disable = {"source_schema": "dbo", "source_name": "Items", "dry_run": False}
    tracking.operation("disable_change_tracking", **disable)
    tracking.run()
    tracking.land(writer.insert("items", id=2))
    tracking.run()
    rows = tracking.sql("select id from {schema}.changetable_changes_dbo_items(null)")
    assert [row.id for row in rows] == [2]


@pytest.mark.more
def test_names_of_columns_are_compared_whenever_they_come(
    make_project: Callable[..., Project],
) -> None:
    """With the first record of a table, when tracking of columns begins, and when one is added."""

    def table(name: str, *names: str, is_on: bool = True) -> TrackedTable:
        columns = (("id", "int"), *((name, "string") for name in names))
        return TrackedTable("dbo", name, columns, ("id",), is_on)

    items, notes = table("items", "Name"), table("notes", "Text", is_on=False)
    tracking, writer = Tracking(make_project, [items, notes]), Writer()
    tracking.land(writer.insert("notes", id=1, text="a"))
    tracking.run()
    old = {"id": 1, "name": "a", "size": "a"}
    tracking.land(writer.insert("items", **old))
    for given, message in (
        ((items, notes), "dbo.items tracks columns that no image has: Name; the images have id, n"),
        ((table("items", "name"), table("notes", "Text")), "no image has: Text; the images have i"),
        ((table("items", "name"), table("notes", "text")), None),
        ((table("items", "name", "Size"), table("notes", "text")), "no image has: Size; the imag"),
        ((table("items", "name", "size"), table("notes", "text", "later")), None),
    ):
        tracking.project.write("models/tracked.yml", tracked_models(given)["tracked.yml"])
        tracking.land(writer.insert("others", id=1))
        result = tracking.project.dbt("run")
        assert result.success == (message is None), result.output
        assert not message or ("CDC 22930: " in result.output and message in result.output)
        if message and "Name" in message:  # nor does a run go on that leaves the scan out
            part = ["--select", "change_tracking_dbo_items", "lsn_time_mapping"]
            assert message in tracking.project.dbt("run", *part).output
    tracking.land(writer.commit("items", old, {**old, "size": "b"}))
    tracking.run()
    in_mask = "{schema}.change_tracking_is_column_in_mask(3, sys_change_columns)"
    changes = "{schema}.changetable_changes_dbo_items(2)"
    assert [row[0] for row in tracking.sql(f"select {in_mask} from {changes}")] == [True]


@pytest.mark.more
def test_the_log_still_has_images_from_before_a_column(
    make_project: Callable[..., Project],
) -> None:
    """All images are asked for a column that the first hundred lack."""
    items = TrackedTable("dbo", "items", (("id", "int"), ("size", "int")), ("id",))
    tracking, writer = Tracking(make_project, [items]), Writer()
    old = [record for n in range(120) for record in writer.insert("items", id=n, old=1)]
    tracking.land([*old, *writer.insert("items", id=120, size=1)])
    tracking.run()
    assert tracking.value("change_tracking_current_version()") == 121


@pytest.mark.more
def test_a_tracked_table_is_renamed(make_project: Callable[..., Project]) -> None:
    """It, or a column of it: later changes bear names that nobody tracks. Each has a way on."""
    columns = (("id", "int"), ("name", "string"))
    items = TrackedTable("dbo", "items", columns, ("id",))
    notes = TrackedTable("dbo", "notes", columns[:1], ("id",), False)
    longer = replace(items, columns=(*columns, ("title", "string")))
    tracking, writer = Tracking(make_project, [items, notes]), Writer()

    def rename(table: str, command: str) -> None:
        writer.transactions += 1
        begin, command = writer.record("BEGIN"), f"alter table {table} rename {command}"
        ddl = writer.record("DDL", table, ddl_command=command)
        tracking.land([begin, ddl, writer.record("COMMIT")])

    for table in ("items", "notes"):
        tracking.land(writer.insert(table, id=1, name="a"))
    tracking.run()
    rename("items", "column name to title")
    old, new = {"id": 1, "title": "a"}, {"id": 1, "title": "b"}
    tracking.land(writer.commit("items", old, new))
    assert "CDC 22930: column name of table dbo.items" in tracking.project.dbt("run").output
    tracking.project.write("models/tracked.yml", tracked_models([longer, notes])["tracked.yml"])
    tracking.run()
    in_mask = "{schema}.change_tracking_is_column_in_mask(3, sys_change_columns)"
    changes = "{schema}.changetable_changes_dbo_items(2)"
    assert [row[0] for row in tracking.sql(f"select {in_mask} from {changes}")] == [True]
    rename("notes", "to memos")
    assert "CDC 22931: table dbo.notes, which is" in tracking.project.dbt("run").output
    tracking.project.write("models/tracked.yml", tracked_models([longer])["tracked.yml"])
    (tracking.project.folder / "models" / "change_tracking_dbo_notes.sql").unlink()
    tracking.run()
