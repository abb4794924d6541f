"""The life of capture instances over runs: DDL and TRUNCATE in the log, two instances, a hand-over,
the run-operations around it (G20 to G24, G28)."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import yaml
from asking import rows
from capturing import Capture, instance_yaml
from examples import Examples
from harness import PACKAGE, DbtResult, Project
from reference.capture import CaptureInstance, capture
from reference.log import UTC, LogRecord, int_to_lsn, lsn_to_int
from reference.schema_changes import captured_since, low_end, schema_changes
from statements import dying_at, recorded

# The image that goes lacks what a dropped column had in the image that came.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("images_may_lack_values")]
START = datetime(2026, 7, 1, 12, tzinfo=UTC)
KEY = ("id",)
OLD_COLUMNS = (
    ("id", "int"), ("customer", "varchar(50)"), ("amount", "decimal(9,2)"), ("qty", "int"),
    ("note", "string"),
)  # fmt: skip
OLD = CaptureInstance("dbo", "orders", "dbo_orders", OLD_COLUMNS, KEY)
NEW = CaptureInstance(
    "dbo", "orders", "dbo_orders_v2", (*OLD_COLUMNS[:4], ("region", "string")), KEY
)
NOTES = CaptureInstance("dbo", "notes", "dbo_notes", (("id", "int"), ("text", "string")), KEY)
SHAPE = {
    "id": "int", "customer": "nvarchar(50)", "amount": "decimal(9,2)", "qty": "int",
    "note": "nvarchar(max)",
}  # fmt: skip


# Stands for a catalog that knows grants.
GRANTS = """
{% macro spark__get_grant_sql(relation, privilege, grantees) %}
    insert into {{ target.schema }}.grants
    values ('grant {{ privilege }} on {{ relation }} to {{ grantees | join }}')
{% endmacro %}
{% macro spark__get_revoke_sql(relation, privilege, grantees) %}
    insert into {{ target.schema }}.grants
    values ('revoke {{ privilege }} on {{ relation }} from {{ grantees | join }}')
{% endmacro %}
"""


def listed(shape: dict[str, str]) -> str:
    return json.dumps([{"name": name, "type": kind} for name, kind in shape.items()])


class Log:
    """Writes log records, each at the next LSN and second."""

    def __init__(self) -> None:
        self.records: list[LogRecord] = []
        self.landed = 0

    @property
    def end(self) -> str:
        return self.records[-1].lsn

    def write(
        self, operation: str, tran_id: str | None, table: str | None = None, **parts: Any
    ) -> str:
        number = len(self.records) + 1
        source = {"source_schema": "dbo", "source_name": table} if table else {}
        time = START + timedelta(seconds=number)
        record = LogRecord(int_to_lsn(number), tran_id, operation, time, **source, **parts)
        self.records.append(record)
        return record.lsn

    def commit(self, *changes: tuple[str, str, Any]) -> str:
        """One transaction of ('INSERT', table, row), ('UPDATE', table, (old, new)),
        ('DELETE', table, row), ('TRUNCATE', table, None), ('DDL', table, (command, shape))."""
        tran_id = f"t{len(self.records)}"
        self.write("BEGIN", tran_id)
        for operation, table, what in changes:
            before, after = {
                "INSERT": (None, what), "DELETE": (what, None), "UPDATE": what,
            }.get(operation, (None, None))  # fmt: skip
            if operation == "DDL":
                self.ddl(table, *what, tran_id=tran_id)
            else:
                self.write(
                    operation, tran_id, table,
                    before_image=None if before is None else json.dumps(before),
                    after_image=None if after is None else json.dumps(after),
                )  # fmt: skip
        return self.write("COMMIT", tran_id)

    def ddl(self, table: str, command: str | None, shape: dict[str, str] | None,
            tran_id: str | None = None) -> str:  # fmt: skip
        image = None if shape is None else listed(shape)
        return self.write("DDL", tran_id, table, ddl_command=command, after_image=image)

    def land(self, target: Capture) -> None:
        target.land(self.records[self.landed :])
        self.landed = len(self.records)


def order(number: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "customer": f"c{number}", "amount": 1.25, "qty": number, **more}


def ends(target: Capture) -> dict[str, tuple[str, str | None]]:
    rows = target.sql("select capture_instance, low_end, high_end from {schema}.validity_intervals")
    return {row[0]: (row[1], row[2]) for row in rows}


def history(target: Capture, name: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in target.sql(
        "select required_column_update, ddl_command, ddl_lsn, ddl_time from {schema}.ddl_history"
        " join {schema}.change_tables using (object_id)"
        f" where capture_instance = '{name}' order by ddl_lsn"
    )]  # fmt: skip


def types(target: Capture, name: str) -> dict[str, str]:
    return {row[0]: row[1] for row in target.sql(
        "select column_name, column_type from {schema}.captured_columns"
        " join {schema}.change_tables using (object_id)"
        f" where capture_instance = '{name}' order by column_ordinal"
    )}  # fmt: skip


def operation(target: Capture, name: str, **args: Any) -> DbtResult:
    return target.project.dbt("run-operation", name, "--args", json.dumps(args))


def check(target: Capture, log: Log, instance: CaptureInstance, start: str | None = None,
          end: str | None = None) -> None:  # fmt: skip
    """The instance's change table is what the reference captures of (start, end]."""
    wanted = capture(log.records, replace(instance, start_lsn=start), to_lsn=end)
    assert target.changes(instance) == captured_since(wanted, log.records, instance)


@dataclass
class Story:
    """A captured project, and what each of its runs left."""

    target: Capture
    log: Log
    seen: dict[str, Any] = field(default_factory=dict)


def first_orders(log: Log) -> None:
    log.commit(*(("INSERT", "orders", order(n, note="n")) for n in range(1, 6)))
    log.commit(("INSERT", "notes", {"id": 1, "text": "one"}))


def put_models(target: Capture, instances: Iterable[CaptureInstance], **meta: Any) -> None:
    for instance in instances:
        name = f"{instance.capture_instance.lower()}_ct"
        target.project.write(f"models/{name}.sql", "{{ dbt_cdc.change_table() }}\n")
        target.project.write(f"models/{name}.yml", instance_yaml([instance], **meta))


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Seven runs; the tests below look at what each of them left."""
    settings = {"cdc_report_new_columns": True, "cdc_role_gating": "grant"}
    target = Capture(make_project, [OLD, NOTES], vars=settings, role_name="readers")
    target.sql("create table {schema}.grants (statement string) using delta")
    target.project.write("macros/grants.sql", GRANTS)
    log = Log()
    story = Story(target, log)
    seen = story.seen

    def compare(*instances: CaptureInstance, end: str | None = None) -> None:
        for instance in instances:
            is_new = instance.capture_instance == NEW.capture_instance
            check(target, log, instance, start=before_new if is_new else None, end=end)

    first_orders(log)
    log.land(target)
    target.run()
    before_new = log.end
    compare(OLD, NOTES)

    # G22: a column is added, a second instance made, a row inserted
    shape = {**SHAPE, "region": "nvarchar(10)"}
    log.ddl("orders", "ALTER TABLE dbo.orders ADD region nvarchar(10)", shape)
    put_models(target, [NEW])
    log.commit(("INSERT", "orders", order(6, note="n", region="eu")))
    log.land(target)
    target.run()
    seen["two"] = {i.capture_instance: target.changes(i) for i in (OLD, NEW)}
    seen["starts"] = before_new, ends(target)
    compare(OLD, NEW, NOTES)

    # G23: types change inside a transaction and between rows, a column goes
    shape = {**shape, "customer": "nvarchar(200)"}
    log.commit(
        ("INSERT", "orders", order(7, note="n", region="eu")),
        ("DDL", "orders", ("ALTER TABLE dbo.orders ALTER COLUMN customer nvarchar(200)", shape)),
        ("UPDATE", "orders", (order(1, note="n"), order(1, note="n", customer="é⭐" * 80))),
    )
    shape = {**shape, "amount": "decimal(18,4)"}
    log.ddl("orders", "alter table orders modify amount decimal(18,4)", shape)
    log.commit(("INSERT", "orders", order(8, amount="12345678901.1234", note="n", region="eu")))
    shape = {name: kind for name, kind in shape.items() if name != "note"}
    log.ddl("orders", "ALTER TABLE dbo.orders DROP COLUMN note", shape)
    log.commit(("DELETE", "orders", order(8, amount="12345678901.1234", region="eu")))
    log.write("BEGIN", "never")
    log.ddl("orders", "ALTER TABLE dbo.orders DROP COLUMN region", {"id": "int"}, tran_id="never")
    log.write("ROLLBACK", "never")
    log.commit(("INSERT", "orders", order(9, region="us")))
    log.commit(("INSERT", "notes", {"id": 4, "text": "four"}))
    seen["lang"] = int_to_lsn(lsn_to_int(log.end) + 2)
    log.commit(("INSERT", "notes", {"id": 5, "text": "five", "lang": "en"}))
    log.commit(("INSERT", "renamed", {"id": 6, "text": "six"}))
    log.land(target)
    seen["types_run"] = target.run().output
    seen["asked"] = target.call(
        "fn_cdc_get_all_changes_dbo_orders_v2", *ends(target)["dbo_orders_v2"], "all"
    )
    seen["types"] = {i.capture_instance: types(target, i.capture_instance) for i in (OLD, NEW)}
    seen["history"] = {i.capture_instance: history(target, i.capture_instance) for i in (OLD, NEW)}

    compare(widened(OLD), widened(NEW), NOTES)

    # both tables are truncated, one in a transaction, one by itself
    log.commit(
        ("INSERT", "orders", order(10)),
        ("TRUNCATE", "orders", None),
        ("INSERT", "orders", order(11)),
    )
    log.write("TRUNCATE", None, "notes")
    log.commit(("INSERT", "orders", order(12, region="eu")))
    log.commit(("INSERT", "notes", {"id": 2, "text": "two", "lang": "en"}))
    log.commit(("INSERT", "renamed", {"id": 7, "text": "seven"}))
    log.land(target)
    seen["truncated_run"] = target.run().output
    seen["truncated"] = ends(target)
    compare(widened(OLD), widened(NEW), NOTES)

    # a type that no instance can follow goes on, until a value does not fit: nothing is published
    before = ends(target)
    seen["published"] = log.end
    shape = {**shape, "qty": "nvarchar(20)"}
    seen["ddl"] = log.ddl("orders", "ALTER TABLE dbo.orders ALTER COLUMN qty nvarchar(20)", shape)
    log.commit(("INSERT", "orders", order(13, region="eu")))
    seen["retyped"] = log.commit(("INSERT", "orders", order(14, qty="many", region="eu")))
    log.commit(("INSERT", "notes", {"id": 3, "text": "three"}))
    log.land(target)
    seen["stopped_run"] = target.project.dbt("run")
    seen["stopped"] = before, ends(target), len(target.changes(NOTES))
    compare(widened(OLD), widened(NEW), end=seen["published"])
    compare(NOTES)

    # the way out: the oldest is disabled, a third instance takes over from the second
    seen["disable_dry"] = operation(target, "disable_table", source_schema="dbo",
        source_name="orders", capture_instance="dbo_orders", dry_run=True).output  # fmt: skip
    seen["after_dry"] = target.sql("select count(*) from {schema}.dbo_orders_ct")[0][0]
    seen["disable"] = operation(target, "disable_table", source_schema="dbo", source_name="ORDERS",
        capture_instance="DBO_orders").output  # fmt: skip
    (target.project.folder / "models/dbo_orders_ct.sql").unlink()
    target.project.write("models/instances.yml", instance_yaml([NOTES]))
    arguments = {
        "source_schema": "dbo", "source_name": "orders", "capture_instance": "dbo_orders_v3",
        "index_columns": "id", "captured_column_list": '[qty], id, "region"',
    }  # fmt: skip
    for file in ("sql", "yaml"):
        result = operation(target, "enable_table", file=file, **arguments)
        assert result.success, result.output
        suffix = {"sql": "sql", "yaml": "yml"}[file]
        target.project.write(f"models/dbo_orders_v3_ct.{suffix}", result.printed)
    seen["handed_over_run"] = target.run().output
    log.commit(("INSERT", "orders", order(15, qty="more", region="us")))
    log.commit(
        (
            "UPDATE",
            "orders",
            (order(15, qty="more", region="us"), order(15, qty="more", region="eu")),
        )
    )
    log.ddl("notes", "DROP TABLE dbo.notes", None)
    log.land(target)
    target.run()
    return story


THIRD = CaptureInstance(
    "dbo",
    "orders",
    "dbo_orders_v3",
    (("id", "int"), ("qty", "varchar(20)"), ("region", "varchar(10)")),
    KEY,
)
WIDENED = {"customer": "varchar(200)", "amount": "decimal(18,4)"}


def widened(instance: CaptureInstance) -> CaptureInstance:
    columns = tuple((name, WIDENED.get(name, kind)) for name, kind in instance.columns)
    return replace(instance, columns=columns)


@pytest.mark.more
def test_g22_both_instances_see_later_changes(story: Story) -> None:
    start, found = story.seen["starts"]
    old, new = (story.seen["two"][i.capture_instance] for i in (OLD, NEW))
    assert [row.values[0] for row in old] == [1, 2, 3, 4, 5, 6]
    assert [(row.values[0], row.values[-1]) for row in new] == [(6, "eu")]
    assert found["dbo_orders_v2"][0] == int_to_lsn(lsn_to_int(start) + 1)


@pytest.mark.more
def test_g23_types_follow_the_source(story: Story) -> None:
    found = story.seen["types"]
    assert found["dbo_orders"] == dict(widened(OLD).columns)
    assert found["dbo_orders_v2"] == dict(widened(NEW).columns)
    assert Decimal("12345678901.1234") in [row.amount for row in story.seen["asked"]]


@pytest.mark.more
def test_g23_the_history_of_each_instance(story: Story) -> None:
    """The second instance has the DDL from before it, too; a rolled back one is nobody's."""
    changes = schema_changes(story.log.records, OLD)[:4]
    wanted = [
        (update, c.ddl_command, c.lsn, c.time.replace(tzinfo=None))
        for update, c in zip([False, True, True, False], changes, strict=True)
    ]
    assert story.seen["history"] == {"dbo_orders": wanted, "dbo_orders_v2": wanted}


@pytest.mark.more
def test_a_column_without_ddl_is_reported_once(story: Story) -> None:
    columns = f"'lang' since LSN {story.seen['lang']}"
    line = f"table dbo.notes has columns that no instance captures: {columns};"
    assert line in story.seen["types_run"]
    assert "'region'" not in story.seen["types_run"]  # a DDL record told of it
    assert "no instance captures" not in story.seen["truncated_run"]


@pytest.mark.more
def test_every_column_that_nobody_captures_is_reported_once(
    make_project: Callable[..., Project],
) -> None:
    """From the first window on, in any batch, by one statement."""
    second = replace(NOTES, capture_instance="notes2", columns=(("id", "int"), ("a", "int")))
    other = replace(NOTES, source_name="others", capture_instance="dbo_others")
    target = Capture(make_project, [NOTES, second, other], vars={"cdc_report_new_columns": True})
    log = Log()

    def said(*rows: dict[str, Any]) -> list[str]:
        """A transaction for each row; what the run says of columns."""
        for row in rows:
            log.commit(("INSERT", "notes", {"id": 1, "text": "x", "a": 2, **row}))
        log.land(target)
        with recorded() as sent:
            found = target.run().output
        assert len([sql for sql in sent if "with found as" in sql]) == 1
        return re.findall("cdc: table (.* has columns that no instance captures: .*);", found)

    log.commit(("INSERT", "others", {"id": 1}))
    first = int_to_lsn(lsn_to_int(log.end) + 2)
    start = "dbo.notes has columns that no instance captures: "
    assert said({"it's": 1, "b": 1}, {"b": 2}) == [
        f"{start}'b' since LSN {first}, 'it's' since LSN {first}"
    ]
    assert said({"b": 1, "it's": 2}) == []
    rows: list[dict[str, Any]] = [{} for _ in range(1200)]
    rows[600] = {"c": 1}
    place = int_to_lsn(lsn_to_int(log.end) + 3 * 600 + 2)
    assert said(*rows) == [f"{start}'c' since LSN {place}"]
    assert said({"c": 2, "b": 1}) == []


@pytest.mark.more
def test_a_table_that_nobody_captures_is_reported_once(story: Story) -> None:
    """A captured one may have got a new name, where the log has no DDL of it."""
    line = "in the log for the first time and not captured: dbo.renamed; dbt run-operation enable"
    assert line in story.seen["types_run"]
    assert "dbo.renamed" not in story.seen["truncated_run"]


@pytest.mark.more
def test_a_truncated_table_starts_anew(story: Story) -> None:
    log, found = story.log, story.seen["truncated"]
    first = log.records[0].lsn
    assert found["dbo_orders"][0] == low_end(log.records, OLD, first)
    assert found["dbo_orders_v2"][0] == low_end(log.records, NEW, first)
    assert found["dbo_notes"][0] == low_end(log.records, NOTES, first)
    assert "dbo.notes was truncated: windows of dbo_notes start at" in story.seen["truncated_run"]
    rows = [r for r in history(story.target, "dbo_notes") if "TRUNCATE" in r[1]]
    assert [r[0] for r in rows] == [False]


@pytest.mark.more
def test_a_role_is_granted_what_a_consumer_reads(story: Story) -> None:
    """And it is revoked where the YAML names it no more, as that of dbo_notes halfway. What is
    shared stays as long as another instance has the role; of dbo_orders all was dropped."""
    shared = {"select": {"validity_intervals", "lsn_time_mapping", "captured_columns",
                         "change_tables", "index_columns", "ddl_history"},
              "execute": {f"fn_cdc_{name}" for name in (
                  "get_min_lsn", "get_max_lsn", "increment_lsn", "decrement_lsn",
                  "map_time_to_lsn", "map_lsn_to_time", "get_column_ordinal", "is_bit_set",
                  "has_column_changed")}}  # fmt: skip
    gated = {"select": "{}_ct", "execute": "fn_cdc_get_all_changes_{} fn_cdc_get_net_changes_{}"}
    found: dict[str, set[str]] = {"grant": set(), "revoke": set()}
    for (text,) in story.target.sql("select statement from {schema}.grants"):
        verb, rest = text.split(" ", 1)
        found[verb].add(rest.replace(f"{story.target.schema}.", "").replace("function ", ""))
    wanted = {
        f"{privilege} on {name}"
        for privilege in shared
        for name in (
            *shared[privilege], *gated[privilege].replace("{}", "dbo_notes").split()
        )
    }  # fmt: skip
    assert found["revoke"] == {f"{text} from readers" for text in wanted}
    assert {text.replace("orders", "notes") for text in found["grant"]} == {
        f"{text} to readers" for text in wanted
    }
    assert "select on dbo_orders_ct to readers" in found["grant"]
    roles = story.target.sql("select distinct role_name from {schema}.change_tables")
    assert [row[0] for row in roles] == [None]


@pytest.mark.more
def test_what_nobody_can_follow_stops_its_instances_only(story: Story) -> None:
    result = story.seen["stopped_run"]
    assert not result.success
    for name in ("dbo_orders", "dbo_orders_v2"):
        message = result.messages[f"{name}_ct"].message
        assert (
            f"CDC 22978: capture instance '{name}' cannot follow table dbo.orders from the commit"
            f" at {story.seen['retyped']} on: column 'qty' is nvarchar(20) by now" in message
        )
        assert "enable_table.py '{source_schema: dbo, source_name: orders, capture_i" in message
        assert f"is nvarchar(20) by now; {name} keeps it as int as long as" in result.output
    assert result.messages["dbo_notes_ct"].status == "success"
    before, after, notes = story.seen["stopped"]
    assert before == after
    assert notes == 5  # captured, not published


@pytest.mark.more
def test_a_dry_run_of_disable_table_removes_nothing(story: Story) -> None:
    dry, real = story.seen["disable_dry"], story.seen["disable"]
    assert "would remove capture instance 'dbo_orders' of dbo.orders" in dry
    assert "fn_cdc_get_net_changes_dbo_orders" in dry and "models/dbo_orders_ct.sql" in dry
    assert story.seen["after_dry"] > 0
    assert "removed: dbo_orders" in real
    schema = story.target.schema
    assert not story.target.project.spark.catalog.tableExists(f"{schema}.dbo_orders_ct")
    for table in ("change_tables", "captured_columns", "index_columns", "ddl_history"):
        assert not story.target.sql(
            f"select 1 from {{schema}}.{table} left anti join {{schema}}.change_tables as present"
            f" using (object_id)"
        )
    functions = [f.function for f in story.target.sql("show user functions in {schema}")]
    assert not [f for f in functions if f.endswith("changes_dbo_orders")]


# A catalog that does not know one role.
CHECKED_GRANTS = (
    GRANTS.replace(
        "grantees) %}\n    insert", "grantees) %}\n    {{ no_such(grantees) }} insert", 1
    )
    + """
{% macro no_such(grantees) %}
    {% do exceptions.raise_compiler_error('no role nobody') if 'nobody' in grantees %}
{% endmacro %}
"""
)


@pytest.mark.more
def test_roles_are_granted_before_anything_is_published(
    make_project: Callable[..., Project],
) -> None:
    """A role that is not there stops the run; functions that a new instance replaces keep their
    grants; disable_table takes from the role what is left."""
    settings = {"cdc_role_gating": "grant"}
    target, log = Capture(make_project, [OLD], vars=settings, role_name="nobody"), Log()
    target.sql("create table {schema}.grants (statement string) using delta")
    target.project.write("macros/grants.sql", CHECKED_GRANTS)

    def sent(text: str) -> int:
        (row,) = target.sql(
            f"select count(*) from {{schema}}.grants where statement like '%{text}'"
        )
        return row[0]

    first_orders(log)
    log.land(target)
    result = target.project.dbt("run")
    assert not result.success and "no role nobody" in result.output
    assert target.sql("select count(*) from {schema}.lsn_time_mapping")[0][0] == 0
    assert ends(target)["dbo_orders"][1] is None
    target.project.write("models/instances.yml", instance_yaml([OLD], role_name="readers"))
    target.run()
    assert ends(target)["dbo_orders"][1] == log.records[-4].lsn
    shared = "fn_cdc_is_bit_set to readers"
    before = sent(shared)
    assert before and sent("_dbo_orders to readers") and not sent("to nobody")

    put_models(target, [NOTES])
    log.commit(("INSERT", "notes", {"id": 2, "text": "two"}))
    log.land(target)
    target.run()
    assert sent(shared) == before + 1

    operation(target, "disable_table", source_schema="dbo", source_name="orders",
              capture_instance="dbo_orders", dry_run=False)  # fmt: skip
    assert sent("revoke execute on function %fn_cdc_is_bit_set from readers") == 1
    assert sent("revoke select on %change_tables from readers") == 1


@pytest.mark.more
def test_a_third_instance_takes_over(story: Story) -> None:
    """G28: the second one ends where the third begins, and no row is lost or doubled."""
    found, log = ends(story.target), story.log
    last = int_to_lsn(lsn_to_int(story.seen["retyped"]) - 1)
    assert found["dbo_orders_v2"][1] == last
    assert found["dbo_orders_v3"] == (story.seen["retyped"], found["dbo_notes"][1])
    check(story.target, log, widened(NEW), start=story.seen["starts"][0], end=last)
    check(story.target, log, THIRD, start=last)
    check(story.target, log, NOTES)
    assert "dbo_orders_v2' ended: its changes up to " + last in story.target.run().output
    asked = operation(
        story.target, "help_change_data_capture", source_schema="dbo", source_name="orders"
    )
    assert "from dbo_orders_v2 to dbo_orders_v3: " + story.seen["retyped"] in asked.output


@pytest.mark.more
def test_changes_across_the_hand_over(story: Story) -> None:
    target, (low, _) = story.target, ends(story.target)["dbo_orders_v2"]
    _, high = ends(story.target)["dbo_orders_v3"]
    border, last = story.seen["retyped"], int_to_lsn(lsn_to_int(story.seen["retyped"]) - 1)
    call = "changes_across('dbo', 'orders', '{}', '{}', 'all update old')"
    windows = [(low, high), (low, last), (border, high)]
    whole, old, new = rows(target, [call.format(*window) for window in windows])
    key = lambda row: (row["__$start_lsn"], row["__$seqval"], row["__$operation"])  # noqa: E731
    assert sorted(map(tuple, whole)) == sorted(map(tuple, old + new))
    assert [(row["id"], row["qty"]) for row in sorted(whole, key=key)] == [
        (11, "11"), (12, "12"), (13, "13"), (14, "many"), (15, "more"), (15, "more"),
        (15, "more"),
    ]  # fmt: skip
    assert list(whole[0].asDict())[4:] == ["id", "qty", "region", "customer", "amount"]
    masks = {row["id"]: row["__$update_mask"] for row in whole if row["__$operation"] == 2}
    # of v2's 0x1F (id, customer, amount, qty, region) and v3's 0x07
    assert masks == {11: "0x1F", 12: "0x1F", 13: "0x1F", 14: "0x07", 15: "0x07"}
    assert {row["__$update_mask"] for row in whole if row["__$operation"] == 4} == {"0x04"}


@pytest.mark.more
def test_a_dropped_table_is_marked(story: Story) -> None:
    rows = story.target.sql(
        "select capture_instance, has_drop_pending from {schema}.change_tables"
        " where has_drop_pending"
    )
    assert [tuple(row) for row in rows] == [("dbo_notes", True)]
    update, command, *_ = history(story.target, "dbo_notes")[-1]
    assert (update, command) == (False, "DROP TABLE dbo.notes")


@pytest.mark.more
def test_help_and_columns(story: Story) -> None:
    shown = operation(story.target, "help_change_data_capture").output
    columns = (
        "source_schema source_table capture_instance object_id source_object_id start_lsn end_lsn "
        "supports_net_changes has_drop_pending role_name index_name filegroup_name create_date "
        "index_column_list captured_column_list"
    )
    assert columns in re.sub(" +", " ", shown) and "[id], [qty], [region]" in shown
    for row in story.target.sql("select start_lsn from {schema}.change_tables"):
        assert row.start_lsn in shown
    shown = operation(story.target, "get_captured_columns", capture_instance="dbo_orders_V2").output
    assert re.search(r"customer +2 +2 +varchar\(200\) +200 ", shown)
    assert re.search(r"amount +3 +3 +decimal\(18,4\) +NULL +18 +10 +4 ", shown)
    shown = operation(
        story.target, "get_source_columns", source_schema="dbo", source_name="orders"
    ).output
    assert re.search(r"4 +qty +nvarchar\(20\) +varchar\(20\)", shown)
    assert "from the DDL record at " + story.seen["ddl"] in shown
    shown = operation(story.target, "get_ddl_history", capture_instance="dbo_orders_v2").output
    assert "ALTER COLUMN qty nvarchar(20)" in shown and "required_column_update" in shown
    views = story.target.sql("select is_cdc_enabled from {schema}.is_cdc_enabled")
    assert [tuple(v) for v in views] == [(True,)]
    tracked = story.target.sql("select * from {schema}.is_tracked_by_cdc order by name")
    assert [tuple(t) for t in tracked] == [
        ("dbo", name, name != "renamed", name) for name in ("notes", "orders", "renamed")
    ]


@pytest.mark.more
def test_g20_enable_table_refuses_what_is_there(story: Story) -> None:
    """By what is entered, and by the log; all other refusals: tests/rules/test_enable_table.py."""
    for text, given in {
        "CDC 22962: table dbo.orders has two capture instances already": "orders",
        "CDC 22931: the log has no record of table dbo.none": "none",
    }.items():
        result = operation(story.target, "enable_table", source_schema="dbo", source_name=given,
                           capture_instance="third")  # fmt: skip
        assert not result.success and text in result.output, result.output


@pytest.mark.more
def test_the_columns_of_images_where_the_log_has_no_ddl(story: Story) -> None:
    result = operation(story.target, "enable_table", source_schema="dbo", source_name="notes",
                       capture_instance="notes2", index_columns=["id"])  # fmt: skip
    assert result.success, result.output
    assert "-- models/notes2_ct.sql\n{{ dbt_cdc.change_table() }}" in result.printed
    assert "{name: id, data_type: int}" in result.printed and "{name: text" in result.printed
    assert "supports_net_changes: true" in result.printed and "images" in result.printed


@pytest.mark.soak
def test_a_late_instance_from_the_log_start_is_as_if_it_had_been_there(story: Story) -> None:
    late = replace(NOTES, capture_instance="notes_late")
    put_models(story.target, [late], capture_from="log_start")
    story.log.commit(("INSERT", "notes", {"id": 9, "text": "nine"}))
    story.log.land(story.target)
    story.target.run()
    assert story.target.changes(late) == story.target.changes(NOTES)
    found = ends(story.target)
    assert found["notes_late"] == found["dbo_notes"]
    assert history(story.target, "notes_late") == history(story.target, "dbo_notes")


@pytest.mark.soak
def test_an_edited_model_is_caught_before_a_row_is_written(story: Story) -> None:
    """All kinds of edits: tests/rules/test_before_a_scan.py."""
    target, edited = story.target, replace(NOTES, columns=(*NOTES.columns, ("extra", "int")))
    before = target.sql("select count(*) from {schema}.dbo_notes_ct")[0][0]
    target.project.write("models/instances.yml", instance_yaml([edited]))
    story.log.commit(("INSERT", "notes", {"id": 20, "text": "x"}))
    story.log.land(target)
    result = target.project.dbt("run")
    assert not result.success and "CDC 22930: the columns of" in result.output
    assert "were edited: it captures (" in result.output
    assert target.sql("select count(*) from {schema}.dbo_notes_ct")[0][0] == before
    target.project.write("models/instances.yml", instance_yaml([NOTES]))
    target.run()
    assert target.sql("select count(*) from {schema}.dbo_notes_ct")[0][0] > before


@pytest.mark.soak
def test_three_instances_and_roles_are_refused(story: Story) -> None:
    target = story.target
    many = replace(NOTES, capture_instance="notes_third")
    put_models(target, [many])
    result = target.project.dbt("run", "--select", "notes_third_ct")
    assert "CDC 22962: table dbo.notes has 3 capture instances" in result.output
    put_models(target, [replace(many, source_name="others")], role_name="readers")
    refuse = {"cdc_log_model": "raw_log", "cdc_role_gating": "refuse"}
    result = target.project.dbt("run", "--select", "notes_third_ct", vars=refuse)
    assert "CDC 22938: " in result.output and "cdc_role_gating: accept" in result.output
    target.run("--select", "notes_third_ct", vars={**refuse, "cdc_role_gating": "accept"})
    for suffix in ("sql", "yml"):
        (target.project.folder / f"models/notes_third_ct.{suffix}").unlink()


@pytest.mark.soak
def test_a_deleted_model_is_reported_and_its_instance_ends(story: Story) -> None:
    target, log = story.target, story.log
    for suffix in ("sql", "yml"):
        (target.project.folder / f"models/notes_late_ct.{suffix}").unlink()
    end = ends(target)["dbo_notes"][1]
    log.commit(("INSERT", "notes", {"id": 30, "text": "x"}))
    log.land(target)
    for _ in range(2):
        assert "capture instance 'notes_late' has no model any more" in target.run().output
    found = ends(target)
    assert found["notes_late"][1] == end < found["dbo_notes"][1] == log.end
    put_models(target, [replace(NOTES, capture_instance="notes_late")])
    log.commit(("INSERT", "notes", {"id": 31, "text": "x"}))
    log.land(target)
    assert "capture instance 'notes_late' ended: its changes up to " + end in target.run().output
    assert ends(target)["notes_late"][1] == end


@pytest.mark.soak
def test_the_last_instance_takes_the_jobs_with_it(story: Story) -> None:
    target = story.target
    for table in ("orders", "notes"):
        result = operation(target, "disable_table", source_schema="dbo", source_name=table,
                           capture_instance="all", dry_run=False)  # fmt: skip
        assert result.success, result.output
    for table in ("change_tables", "lsn_time_mapping", "captured_columns"):
        assert not target.sql(f"select * from {{schema}}.{table}")
    assert target.sql("select * from {schema}.is_cdc_enabled")[0].is_cdc_enabled  # the schema is
    for number, given in {
        22985: {"source_name": "orders", "capture_instance": "all"},
        22963: {"source_name": "orders", "capture_instance": ""},
    }.items():
        result = operation(target, "disable_table", source_schema="dbo", dry_run=False, **given)
        assert f"CDC {number}: " in result.output
    # enabled again: later commits only
    last = story.log.end
    story.log.commit(("INSERT", "notes", {"id": 40, "text": "again"}))
    story.log.land(target)
    for path in (target.project.folder / "models").glob("*_ct.*"):
        path.unlink()
    again = replace(NOTES, capture_instance="notes_again")
    target.project.write("models/instances.yml", instance_yaml([again]))
    target.project.write("models/notes_again_ct.sql", "{{ dbt_cdc.change_table() }}\n")
    target.run()
    check(target, story.log, again, start=last)
    assert "cleanup" in operation(target, "help_jobs").output


def run_printed_command(
    target: Capture, message: str, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Runs the enable_table.py of an error, which lists the instance, too; its arguments."""
    command = shlex.split(message.split("enable_table.py ")[1])[0].rstrip(",")
    monkeypatch.syspath_prepend(str(PACKAGE / "scripts"))
    monkeypatch.chdir(target.project.folder)
    monkeypatch.setattr(sys, "argv", ["enable_table.py", command, "--profiles-dir=."])
    assert importlib.import_module("enable_table").main() == 0
    monkeypatch.setattr(target.project, "_list_what_is_captured", lambda: None)
    return dict(yaml.safe_load(command))


@pytest.mark.more
def test_a_type_goes_on_as_long_as_the_values_fit(
    make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the error has the command that makes the second instance, and that is all it takes: it
    is listed, gated as the first one and captures no column that the first one leaves out."""
    prices = CaptureInstance(
        "dbo", "prices", "dbo_prices", (("id", "int"), ("price", "decimal(9,2)")), KEY
    )
    settings = {"cdc_role_gating": "accept"}
    gated = {"role_name": "the reader's", "index_name": "pk", "supports_net_changes": False}
    target, log = Capture(make_project, [prices], vars=settings, **gated), Log()
    log.ddl("prices", "create", {"id": "int", "price": "decimal(9,2)", "secret": "text"})
    log.commit(("INSERT", "prices", {"id": 1, "price": 1.25, "secret": "x"}))
    log.land(target)
    target.run()
    log.ddl("prices", "alter", {"id": "int", "price": "decimal(9,4)", "secret": "text"})
    log.commit(("INSERT", "prices", {"id": 2, "price": "7.5000"}))
    log.land(target)
    kept = "column 'price' of dbo.prices is decimal(9,4) by now; dbo_prices keeps it as decimal"
    assert kept in target.run().output
    assert types(target, "dbo_prices")["price"] == "decimal(9,2)"
    fitting = target.changes(prices)
    assert [row.values for row in fitting] == [(1, Decimal("1.25")), (2, Decimal("7.50"))]

    log.commit(("INSERT", "prices", {"id": 3, "price": "7.7500"}))
    border = log.commit(("UPDATE", "prices", (
        {"id": 3, "price": "7.7500"}, {"id": 3, "price": "7.7525"})))  # fmt: skip
    log.land(target)
    message = target.project.dbt("run").messages["dbo_prices_ct"].message
    assert "the value 7.7525 of the after image does not fit decimal(9,2), which the so" in message
    arguments = run_printed_command(target, message, monkeypatch)
    assert {name: arguments.get(name) for name in gated} == gated
    assert arguments["captured_column_list"] == ["id", "price"]
    assert "which lists it in cdc_capture_instances of dbt_project.yml" in message
    target.run()
    assert len(target.changes(prices)) == 3
    roles = target.sql("select role_name, index_name from {schema}.change_tables")
    assert [tuple(row) for row in roles] == [("the reader's", "pk")] * 2
    found = ends(target)
    assert found["dbo_prices_2"][0] == border
    assert found["dbo_prices"][1] == int_to_lsn(lsn_to_int(border) - 1)
    new = replace(prices, capture_instance="dbo_prices_2",
                  columns=(("id", "int"), ("price", "decimal(9,4)")))  # fmt: skip
    assert [row.values[1] for row in target.changes(new)] == [Decimal("7.75"), Decimal("7.7525")]


@pytest.mark.more
def test_the_printed_command_is_the_way_out(
    make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a key that was dropped, of one that lost a column, and of a table with a new name: the
    new instance goes on where the old one ends."""
    columns = (("id", "int"), ("code", "int"))
    old = [
        CaptureInstance("dbo", name, f"dbo_{name}", columns, key)
        for name, key in (("orders", KEY), ("items", ("id", "code")), ("bills", KEY))
    ]
    new = [
        replace(old[0], capture_instance="dbo_orders_2"),
        CaptureInstance("dbo", "items", "dbo_items_2", columns[:1], KEY),
        CaptureInstance(
            "dbo", "invoices", "dbo_bills_2", (("id", "bigint"), ("code", "bigint")), KEY
        ),
    ]
    target, log = Capture(make_project, old), Log()
    shape = {"id": "int", "code": "int"}
    log.commit(*(("INSERT", i.source_name, {"id": 1, "code": 1}) for i in old))
    log.land(target)
    target.run()
    borders = [
        log.ddl("orders", "alter table orders drop primary key", shape),
        log.ddl("items", "alter table items drop column code", {"id": "int"}),
        # as in a log whose DDL has transactions of its own
        log.commit(("DDL", "bills", ("alter table bills rename to invoices", shape))),
    ]
    log.commit(*(("INSERT", i.source_name, {"id": 2, "code": 2}) for i in (new[0], new[2])))
    log.commit(("INSERT", "items", {"id": 2}))
    log.land(target)
    result = target.project.dbt("run")
    for instance, number in zip(old, (22979, 22983, 22931), strict=True):
        message = result.messages[f"{instance.capture_instance}_ct"].message
        assert f"CDC {number}: " in message
        run_printed_command(target, message, monkeypatch)
    target.run()
    found = ends(target)
    for before, after, border in zip(old, new, borders, strict=True):
        last = int_to_lsn(lsn_to_int(border) - 1)
        assert found[before.capture_instance][1] == last
        assert found[after.capture_instance] == (border, log.end)
        check(target, log, before, end=last)
        check(target, log, after, start=last)
    log.commit(("INSERT", "invoices", {"id": 3, "code": 3}))
    log.land(target)
    target.run()
    check(target, log, new[2], start=last)


@pytest.mark.more
def test_what_ends_at_a_truncate_stays_readable(make_project: Callable[..., Project]) -> None:
    """Its transaction renames a column, too, and another instance has all of it."""
    new = replace(NOTES, capture_instance="notes_2", columns=(("id", "int"), ("body", "string")))
    target, log = Capture(make_project, [NOTES]), Log()
    log.commit(("INSERT", "notes", {"id": 1, "text": "one"}))
    log.land(target)
    target.run()
    shape = {"id": "int", "body": "nvarchar(max)"}
    border = log.commit(
        ("TRUNCATE", "notes", None),
        ("DDL", "notes", ("alter table notes rename column text to body", shape)),
        ("INSERT", "notes", {"id": 2, "body": "two"}),
    )
    log.land(target)
    put_models(target, [new])
    assert "windows of dbo_notes start at" not in target.run().output
    last = int_to_lsn(lsn_to_int(border) - 1)
    assert ends(target)["dbo_notes"] == (log.records[0].lsn, last)
    check(target, log, NOTES, end=last)
    check(target, log, new, start=last)
    (row,) = target.sql("select lost_lsn from {schema}.change_tables where end_lsn is not null")
    assert row.lost_lsn is None


@pytest.mark.more
def test_a_rename_behind_rows_of_its_transaction(make_project: Callable[..., Project]) -> None:
    """The second instance has them by the new name; until they bear it, nobody takes over."""
    old = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("qty", "int")), KEY)
    new = replace(old, capture_instance="items_2", columns=(("id", "int"), ("quantity", "int")))
    target, log = Capture(make_project, [old, NOTES]), Log()
    log.commit(("INSERT", "items", {"id": 1, "qty": 5}))
    log.land(target)
    target.run()
    border = log.commit(
        ("UPDATE", "items", ({"id": 1, "qty": 5}, {"id": 1, "qty": 7})),
        ("INSERT", "items", {"id": 2, "qty": 3}),
        ("DDL", "items", ("alter table items rename column qty to quantity",
                          {"id": "int", "quantity": "int"})),
        ("DELETE", "items", {"id": 2, "quantity": 3}),
    )  # fmt: skip
    log.commit(("INSERT", "notes", {"id": 1, "text": "one"}))
    log.land(target)
    assert "enable_table.py" in target.project.dbt("run").messages["dbo_items_ct"].message
    put_models(target, [new])
    result = target.project.dbt("run")
    early = [r for r in log.records if r.lsn < border and "qty" in (r.after_image or "")][1:]
    said = f", behind 2 records of this window that have the old name (lsn {early[0].lsn} to"
    for name in ("dbo_items", "items_2"):
        message = result.messages[f"{name}_ct"].message
        assert f"CDC 4928: capture instance '{name}' cannot follow table dbo.items" in message
        assert f"was renamed to 'quantity'{said} {early[1].lsn}): give them the new" in message
        assert "the new name, too (qty is quantity; an UPDATE of " in message
    assert len(target.changes(NOTES)) == 1
    asked = "select count(*) from {schema}.items_2_ct"
    assert (
        not target.sql("show tables in {schema} like 'items_2_ct'") or not target.sql(asked)[0][0]
    )

    for record in early:
        images = {
            side: image.replace("qty", "quantity")
            for side in ("before_image", "after_image")
            if (image := getattr(record, side))
        }
        target.amend(record.lsn, **images)
        log.records[log.records.index(record)] = replace(record, **images)
    target.run()
    last = int_to_lsn(lsn_to_int(border) - 1)
    check(target, log, old, end=last)
    check(target, log, new, start=last)


@pytest.mark.more
def test_a_name_that_another_column_takes_behind_rows(make_project: Callable[..., Project]) -> None:
    """And a second rename behind others: the run goes on once all records have the last names."""
    old = CaptureInstance(
        "dbo", "items", "dbo_items", (("id", "int"), ("a", "int"), ("b", "int")), KEY
    )
    new = replace(old, capture_instance="items_2",
                  columns=(("id", "int"), ("older", "int"), ("a", "int")))  # fmt: skip
    target, log = Capture(make_project, [old]), Log()
    log.commit(("INSERT", "items", {"id": 1, "a": 5, "b": 6}))
    log.land(target)
    target.run()
    border = log.commit(
        ("UPDATE", "items", ({"id": 1, "a": 5, "b": 6}, {"id": 1, "a": 7, "b": 6})),
        ("DDL", "items", ("alter table items rename column a to old_a, rename column b to a",
                          {"id": "int", "old_a": "int", "a": "int"})),
        ("INSERT", "items", {"id": 2, "old_a": 1, "a": 2}),
        ("DDL", "items", ("alter table items rename column old_a to older",
                          {"id": "int", "older": "int", "a": "int"})),
        ("INSERT", "items", {"id": 3, "older": 3, "a": 4}),
    )  # fmt: skip
    log.land(target)
    message = target.project.dbt("run").messages["dbo_items_ct"].message
    assert "capture_instance: items_2" not in message and "captured_column_list" not in message
    put_models(target, [new])
    early = [r for r in log.records if r.operation in ("INSERT", "UPDATE")][1:3]
    for record, names in zip(early, ({"a": "older", "b": "a"}, {"old_a": "older"}), strict=True):
        message = target.project.dbt("run").messages["items_2_ct"].message
        assert f" have the old name (lsn {record.lsn} to {early[1].lsn}): give them the" in message
        assert "(a is older, b is a, old_a is older; an UPDATE of " in message
        images = {
            side: json.dumps({names.get(k, k): v for k, v in json.loads(image).items()})
            for side in ("before_image", "after_image")
            if (image := getattr(record, side))
        }
        target.amend(record.lsn, **images)
        log.records[log.records.index(record)] = replace(record, **images)
    target.run()
    last = int_to_lsn(lsn_to_int(border) - 1)
    check(target, log, old, end=last)
    check(target, log, new, start=last)


@pytest.mark.more
def test_a_table_that_is_renamed_behind_its_own_rows(make_project: Callable[..., Project]) -> None:
    """The window was opened when nothing in it was of the new name."""
    old = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("qty", "int")), KEY)
    new = replace(old, source_name="goods", capture_instance="goods")
    target, log = Capture(make_project, [old]), Log()
    log.commit(("INSERT", "items", {"id": 1, "qty": 5}))
    log.land(target)
    target.run()
    images = {"id": 1, "qty": 5}, {"id": 1, "qty": 7}
    ddl = "alter table items rename to goods", {"id": "int", "qty": "int"}
    border = log.commit(("UPDATE", "items", images), ("DDL", "items", ddl))
    log.land(target)
    assert "enable_table.py" in target.project.dbt("run").messages["dbo_items_ct"].message
    put_models(target, [new])
    message = target.project.dbt("run").messages["goods_ct"].message
    assert "CDC 22931: " in message and ": give them the new name" in message
    (early,) = [record for record in log.records if record.operation == "UPDATE"]
    target.amend(early.lsn, source_name="goods")
    log.records[log.records.index(early)] = replace(early, source_name="goods")
    target.run()
    check(target, log, new)
    assert len(target.changes(new)) == 2
    entered = target.sql("select max(start_lsn) as lsn from {schema}.lsn_time_mapping")
    assert entered[0].lsn == border


@pytest.mark.more
def test_a_rename_without_ddl_behind_rows_of_its_transaction(
    make_project: Callable[..., Project],
) -> None:
    """Also where the table is captured anew: without that transaction, and no key is NULL."""
    old = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("qty", "int")), KEY)
    new = replace(old, capture_instance="items_2", columns=(("no", "int"), ("qty", "int")),
                  index_columns=("no",))  # fmt: skip
    settings = {"cdc_report_new_columns": True}
    target, log = Capture(make_project, [old, NOTES], vars=settings), Log()
    log.commit(("INSERT", "items", {"id": 1, "qty": 5}), ("INSERT", "items", {"id": 2, "qty": 5}))
    log.land(target)
    target.run()
    log.commit(("DELETE", "items", {"id": 1, "qty": 5}), ("DELETE", "items", {"no": 2, "qty": 5}))
    log.land(target)
    put_models(target, [new])
    message = target.project.dbt("run").messages["scan_transactions"].message
    assert "CDC 22930: capture instance 'dbo_items' captures columns that table dbo.item" in message
    place = log.records[-3].lsn
    said = "on: id; behind 1 records of this window that have the old name"
    assert f"{said} (lsn {place} to " in message
    for name in ("dbo_items", "items_2"):
        result = operation(target, "disable_table", source_schema="dbo", source_name="items",
                           capture_instance=name, dry_run=False)  # fmt: skip
        assert result.success, result.output
    target.project.write("models/instances.yml", instance_yaml([NOTES]))
    for path in ("dbo_items_ct.sql", "items_2_ct.sql", "items_2_ct.yml"):
        (target.project.folder / "models" / path).unlink()
    target.run()
    last = log.end
    put_models(target, [new])
    log.commit(("INSERT", "items", {"no": 3, "qty": 1}))
    log.land(target)
    target.run()
    check(target, log, new, start=last)


@pytest.mark.more
@pytest.mark.parametrize("is_told", [True, False], ids=["", "without DDL"])
def test_a_second_instance_that_is_made_anew_before_it_is_published(
    make_project: Callable[..., Project], is_told: bool
) -> None:
    """It takes over where the first one did; while it is away, the window is not published."""
    old = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("name", "string")), KEY)
    new = replace(old, capture_instance="items_2", columns=(("id", "int"), ("title", "string")))
    target = Capture(make_project, [old, NOTES], vars={"cdc_report_new_columns": not is_told})
    log = Log()
    log.commit(("INSERT", "items", {"id": 1, "name": "one"}))
    log.land(target)
    target.run()
    log.commit(("INSERT", "items", {"id": 5, "name": "a"}))
    if is_told:
        border = log.ddl("items", "alter table items rename column name to title",
                         {"id": "int", "title": "text"})  # fmt: skip
    last = log.commit(("INSERT", "items", {"id": 6, "title": "b"}))
    border = border if is_told else last
    log.commit(("INSERT", "notes", {"id": "bad", "text": "one"}))
    log.land(target)
    put_models(target, [new])
    result = target.project.dbt("run")
    assert "CDC 22859" in result.messages["dbo_notes_ct"].message
    assert {row.id for row in target.sql("select id from {schema}.items_2_ct")} == {6}

    bad = log.records[-2]
    log.records[-2] = replace(bad, after_image=json.dumps({"id": 1, "text": "one"}))
    target.amend(bad.lsn, after_image=log.records[-2].after_image)
    result = operation(target, "disable_table", source_schema="dbo", source_name="items",
                       capture_instance="items_2", dry_run=False)  # fmt: skip
    assert result.success, result.output
    for path in ("items_2_ct.sql", "items_2_ct.yml"):
        (target.project.folder / "models" / path).unlink()
    messages = target.project.dbt("run").messages
    if is_told:
        message = messages["dbo_items_ct"].message
        said = (
            "CDC 4928: capture instance 'dbo_items' cannot follow table dbo.items from the commit"
        )
        assert f"{said} at {border} on" in message
        said = target.run("--select", "lsn_time_mapping").output
        assert "not published: dbo_items did not capture the window" in said
    else:
        assert "CDC 22930: capture instance 'dbo_items'" in messages["scan_transactions"].message
        messages = target.project.dbt("run", vars={"cdc_report_new_columns": False}).messages
        message = messages["scan_transactions"].message
        assert "CDC 22985: table dbo.items is not captured any more" in message

    put_models(target, [new])
    target.run()
    end = int_to_lsn(lsn_to_int(border) - 1)
    check(target, log, old, end=end)
    check(target, log, new, start=end)
    (row,) = target.sql("select lost_lsn from {schema}.change_tables where end_lsn is null"
                        " and source_name = 'items'")  # fmt: skip
    assert row.lost_lsn == end


@pytest.mark.more
def test_a_table_that_is_made_again_starts_anew(make_project: Callable[..., Project]) -> None:
    """As a truncated one; what was captured can be read until then. A replica starts over."""
    replica = (
        "{{ config(materialized='replica') }} select * from {{ dbt_cdc.new_changes('dbo_notes') }}"
    )
    target, log = Capture(make_project, [NOTES], models={"now.sql": replica}), Log()
    shape = {"id": "int", "text": "nvarchar(max)"}

    def state() -> tuple[str, bool]:
        (row,) = target.sql("select start_lsn, has_drop_pending from {schema}.change_tables")
        assert ends(target)["dbo_notes"][0] == row[0]
        return tuple(row)

    log.ddl("notes", "CREATE TABLE notes", shape)
    log.commit(("INSERT", "notes", {"id": 1, "text": "one"}))
    log.ddl("notes", "DROP TABLE notes", None)
    log.commit(("INSERT", "others", {"id": 1}))
    log.land(target)
    target.run()
    first = log.records[0].lsn
    assert state() == (first, True)
    assert [row.id for row in target.sql("select id from {schema}.now")] == [1]

    log.ddl("notes", "CREATE TABLE notes", shape)
    log.commit(("INSERT", "notes", {"id": 2, "text": "two"}))
    log.land(target)
    result = target.project.dbt("run")
    assert "dbo.notes was dropped and made again: windows of dbo_notes start at" in result.output
    assert "CDC 313: now has consumed up to" in result.messages["now"].message
    assert state() == (low_end(log.records, NOTES, first), False)
    reset = operation(target, "reset_consumer", consumer="now", dry_run=False)
    assert reset.success, reset.output
    target.run()
    assert [row.id for row in target.sql("select id from {schema}.now")] == [2]

    log.commit(("INSERT", "notes", {"id": 3, "text": "three"}))
    log.ddl("notes", "DROP TABLE notes", None)
    log.ddl("notes", "CREATE TABLE notes", shape)
    log.commit(("INSERT", "notes", {"id": 4, "text": "four"}))
    log.ddl("notes", "DROP TABLE notes", None)
    log.commit(("INSERT", "others", {"id": 2}))
    log.land(target)
    target.project.dbt("run")
    assert state() == (low_end(log.records, NOTES, first), True)
    check(target, log, NOTES)


def test_columns_are_those_of_committed_ddl(make_project: Callable[..., Project]) -> None:
    """Not of a transaction that was rolled back, is open, or did not end: its id came back."""
    target, log = Capture(make_project, [NOTES]), Log()
    for name in ("items", "later"):
        log.ddl(name, "create", {"id": "int", "a": "int"})
        log.commit(("DDL", name, ("alter", {"id": "int", "b": "int"})))
        for tran_id, end in (("undone", "ROLLBACK"), ("lost", None), ("lost", "COMMIT")):
            log.write("BEGIN", tran_id)
            if end != "COMMIT":
                log.ddl(name, "alter", {"id": "int"}, tran_id=tran_id)
            if end:
                log.write(end, tran_id)
    log.commit(("DDL", "later", ("alter", {"id": "int", "c": "int"})))
    log.write("BEGIN", "open")
    log.ddl("later", "alter", {"id": "int"}, tran_id="open")
    log.land(target)
    target.run()
    for name, column in {"items": "b", "later": "c"}.items():
        asked = operation(target, "enable_table", source_schema="dbo", source_name=name)
        assert asked.success, asked.output
        assert re.findall(r"\{name: (\w+), data_type", asked.printed) == ["id", column]


def test_a_second_instance_has_the_types_of_the_first(make_project: Callable[..., Project]) -> None:
    """In a log without DDL, as far as they take the last images."""
    columns = (
        ("id", "int"), ("amount", "decimal(9,2)"), ("day", "date"), ("qty", "int"),
        ("photo", "binary"), ("code", "varchar(2)"), ("name.", "string"),
    )  # fmt: skip
    first = CaptureInstance("dbo", "items", "dbo_items", columns, KEY)
    target, log = Capture(make_project, [first]), Log()
    row = {"id": 1, "amount": "1.25", "day": "2024-01-01", "qty": 1, "photo": "AAE=", "code": "a",
           "name.": 5}  # fmt: skip
    log.commit(("INSERT", "items", row))
    log.land(target)
    target.run()
    kinds = dict(columns)
    for more in ({}, {"qty": "many", "code": "abc"}):
        log.commit(("UPDATE", "items", (row, {**row, **more})))
        log.land(target)
        asked = operation(target, "enable_table", source_schema="dbo", source_name="items",
                          capture_instance="items2")  # fmt: skip
        assert asked.success, asked.output
        kinds.update(dict.fromkeys(more, "string"))
        found = re.findall(r"data_type: '?([\w(),]+)'?[,}]", asked.printed)
        assert found == list(kinds.values())
    assert "# not varchar(2) as in dbo_items" in asked.printed


@pytest.mark.more
def test_old_ddl_stops_neither_a_first_run_nor_a_late_instance(
    make_project: Callable[..., Project],
) -> None:
    """The log begins before the table had its key, and lost and renamed it for a while."""
    first = replace(OLD, columns=OLD_COLUMNS[:2])
    late = replace(first, capture_instance="orders_late")
    target, log = Capture(make_project, [first]), Log()
    shape = {"id": "int", "customer": "nvarchar(50)"}
    log.ddl("orders", "create table orders (customer nvarchar(50))", {"customer": "nvarchar(50)"})
    log.ddl("orders", "alter table orders add id int", shape)
    log.ddl("orders", "alter table orders drop constraint orders_pkey", shape)
    log.ddl("orders", "alter table orders rename to old", shape)
    log.commit(("INSERT", "orders", {"id": 1, "customer": "c1"}))
    log.land(target)
    target.run()
    put_models(target, [late], capture_from="log_start")
    log.commit(("INSERT", "orders", {"id": 2, "customer": "c2"}))
    log.land(target)
    target.run()
    for instance in (first, late):
        check(target, log, instance)
        assert len(history(target, instance.capture_instance)) == 4
        assert ends(target)[instance.capture_instance] == (log.records[0].lsn, log.end)


# A column's type in the source before and after; of the change table before and after.
CHANGED = [
    ("smallint", "int", "smallint", "int"),
    ("smallint", "bigint", "smallint", "bigint"),
    ("smallint", "decimal(12,2)", "smallint", "decimal(12,2)"),
    ("smallint", "numeric(7,2)", "smallint", "smallint"),
    ("smallint", "float8", "smallint", "double"),
    ("int", "bigint", "int", "bigint"),
    ("int", "decimal(10,0)", "int", "decimal(10,0)"),
    ("int", "decimal(9,0)", "int", "int"),
    ("int", "double", "int", "double"),
    ("bigint", "decimal(20,0)", "bigint", "decimal(20,0)"),
    ("bigint", "decimal(19,0)", "bigint", "bigint"),
    ("bigint", "double", "bigint", "bigint"),
    ("real", "double", "float", "double"),
    ("decimal(9,2)", "decimal(18,4)", "decimal(9,2)", "decimal(18,4)"),
    ("decimal(9,2)", "decimal(9,4)", "decimal(9,2)", "decimal(9,2)"),
    ("varchar(5)", "varchar(9)", "varchar(5)", "varchar(9)"),
    ("varchar(5)", "text", "varchar(5)", "string"),
    ("varchar(5)", "char(9)", "varchar(5)", "varchar(5)"),
    ("char(5)", "varchar(9)", "char(5)", "varchar(9)"),
    ("char(5)", "varchar(5)", "char(5)", "varchar(5)"),
    ("char(5)", "varchar(3)", "char(5)", "char(5)"),
    ("char(5)", "text", "char(5)", "string"),
    ("char(5)", "char(9)", "char(5)", "char(5)"),
    ("date", "timestamp_ntz", "date", "timestamp_ntz"),
    ("date", "timestamp", "date", "date"),
]  # fmt: skip


@pytest.mark.more
def test_each_change_of_type(make_project: Callable[..., Project]) -> None:
    """What is planned as wider the table format does alter; the others keep the capture going."""
    names = [f"c{number}" for number in range(len(CHANGED))]
    columns = [(name, kinds[2]) for name, kinds in zip(names, CHANGED, strict=True)]
    many = CaptureInstance("dbo", "many", "dbo_many", (("id", "int"), *columns), KEY)
    target, log = Capture(make_project, [many]), Log()
    values = {"date": "2024-02-29", "varchar(5)": "ab", "char(5)": "ab", "real": 1.5}
    row = {name: values.get(kinds[0], 7) for name, kinds in zip(names, CHANGED, strict=True)}
    before, after = (
        {"id": "int"} | {name: kinds[place] for name, kinds in zip(names, CHANGED, strict=True)}
        for place in (0, 1)
    )
    log.ddl("many", "create", before)
    log.commit(("INSERT", "many", {"id": 1, **row}))
    log.land(target)
    target.run()
    log.ddl("many", "alter", after)
    log.commit(("INSERT", "many", {"id": 2, **row}))
    log.land(target)
    target.run()
    found = types(target, "dbo_many")
    assert [found[name] for name in names] == [kinds[3] for kinds in CHANGED]
    first, second = (change.values[1:] for change in target.changes(many))
    assert first == second


@pytest.mark.more
def test_types_that_no_ddl_tells(make_project: Callable[..., Project]) -> None:
    """The YAML names one that the table can widen to; else a second instance has the new one."""
    first = CaptureInstance(
        "dbo", "sums", "dbo_sums", (("id", "int"), ("n", "int"), ("price", "decimal(9,2)")), KEY
    )
    target, log = Capture(make_project, [first]), Log()
    log.commit(("INSERT", "sums", {"id": 1, "n": 1, "price": "1.25"}))
    log.land(target)
    target.run()
    log.commit(("INSERT", "sums", {"id": 2, "n": 3000000000, "price": "1.25"}))
    log.land(target)
    failed = target.project.dbt("run").messages["dbo_sums_ct"].message
    assert "column n" in failed and "or which type it has by now (data_type)" in failed
    wide = replace(first, columns=(("id", "int"), ("n", "bigint"), ("price", "decimal(9,2)")))
    target.project.write("models/instances.yml", instance_yaml([wide]))
    target.run()
    assert types(target, "dbo_sums")["n"] == "bigint"
    assert [row.values[1] for row in target.changes(wide)] == [1, 3000000000]

    border = log.commit(("INSERT", "sums", {"id": 3, "n": 3, "price": "1.2525"}))
    log.land(target)
    assert "column price" in target.project.dbt("run").messages["dbo_sums_ct"].message
    second = replace(wide, capture_instance="dbo_sums_2",
                     columns=(*wide.columns[:2], ("price", "decimal(9,4)")))  # fmt: skip
    target.project.write("models/instances.yml", instance_yaml([wide, second]))
    target.project.write("models/dbo_sums_2_ct.sql", "{{ dbt_cdc.change_table() }}")
    target.run()
    found = ends(target)
    assert found["dbo_sums"][1] == int_to_lsn(lsn_to_int(border) - 1)
    assert found["dbo_sums_2"][0] == border
    assert [row.values[2] for row in target.changes(second)] == [Decimal("1.2525")]
    assert len(target.changes(wide)) == 2


def ddl_window(log: Log) -> None:
    """A type that widens, a change that one of two instances cannot follow, a TRUNCATE."""
    shape = {**SHAPE, "customer": "nvarchar(200)"}
    log.ddl("orders", "ALTER TABLE dbo.orders ALTER COLUMN customer nvarchar(200)", shape)
    log.commit(("INSERT", "orders", order(21, customer="x" * 99)))
    log.write("TRUNCATE", None, "orders")
    log.commit(("INSERT", "orders", order(22)), ("INSERT", "notes", {"id": 22, "text": "t"}))
    shape = {**shape, "qty": "nvarchar(20)"}
    log.ddl("orders", "ALTER TABLE dbo.orders ALTER COLUMN qty nvarchar(20)", shape)
    log.commit(("INSERT", "orders", order(23, qty="many")))


@pytest.mark.soak
def test_a_window_with_ddl_that_dies_after_every_write(
    make_project: Callable[..., Project],
) -> None:
    columns = (*OLD_COLUMNS[:2], ("qty", "string"))
    other = replace(OLD, capture_instance="orders_ids", columns=columns)
    instances = [OLD, other, NOTES]
    found = []
    for is_calm in (True, False):
        target, log = Capture(make_project, instances), Log()
        first_orders(log)
        log.land(target)
        target.run()
        ddl_window(log)
        log.land(target)
        done: set[str] = set()
        for _ in range(60):
            with dying_at(
                lambda sql, done=done, calm=is_calm: not calm and sql not in done
            ) as writes:
                result = target.project.dbt("run")
            if set(writes) <= done or is_calm:
                break
            done |= set(writes)
        assert result.success, result.output
        found.append([
            (ends(target), history(target, i.capture_instance), types(target, i.capture_instance),
             target.changes(i)) for i in instances
        ])  # fmt: skip
    assert found[0] == found[1]
    assert found[0][0][0]["dbo_orders"][1] < found[0][0][0]["orders_ids"][1]


@pytest.mark.more
def test_the_examples_of_the_reference(make_project: Callable[..., Project]) -> None:
    """Of a table that gets a wider column and a new one, and then a value that does not fit."""
    old = {"id": "int", "amount": "decimal(9,2)"}
    wide = {**old, "amount": "decimal(12,2)"}
    columns = (("id", "int"), ("amount", "decimal(9,2)"))
    target = Capture(make_project, [CaptureInstance("dbo", "orders", "dbo_orders", columns, KEY)])
    log = Log()
    log.commit(("INSERT", "orders", {"id": 1, "amount": 1.25}))
    log.land(target)
    target.run()
    widen = "alter table dbo.orders alter column amount decimal(12,2)"
    log.commit(("DDL", "orders", (widen, wide)))
    add = "alter table dbo.orders add note nvarchar(100)"
    log.commit(("DDL", "orders", (add, {**wide, "note": "nvarchar(100)"})))
    log.land(target)
    target.run()
    log.commit(("INSERT", "orders", {"id": 2, "amount": 12.345, "note": "x"}))
    log.land(target)
    assert not target.project.dbt("run").success
    Examples.of_project(target.project, "instances.md#when-the-source-changes").check()
