"""init: a first project out of what has landed, written by scripts/init.py and run as it is."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from capturing import LOG_DDL, plain_values
from examples import Examples
from harness import PACKAGE, SHOP, Project
from reference.apply import State
from reference.log import int_to_lsn
from reference.truth import Truth, data_dir, landed_events

pytestmark = pytest.mark.slow

PROJECT = "name: shop\nversion: 1.0.0\nprofile: test\nflags: {send_anonymous_usage_stats: false}\n"
WIDER = {"int": "bigint", "smallint": "bigint", "float": "double"}
TYPES = {
    "public.customers": {"balance": "decimal(18,4)", "wide": "decimal(38,18)", "avatar": "binary"},
    "public.orders": {"amount": "decimal(12,2)"},
}
ON = {
    "id": {"type": "int64"},
    "kind": {"type": "int16"},
    "price": {
        "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2", "connect.decimal.precision": "12"},
    },
    "paid": {"type": "boolean"},
    "day": {"type": "int32", "name": "io.debezium.time.Date"},
    "at": {"type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    "seen": {"type": "string", "name": "io.debezium.time.ZonedTimestamp"},
    "open time": {"type": "int64", "name": "io.debezium.time.MicroTime"},
    "any": {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"},
    "tags": {"type": "array"},
    "photo": {"type": "bytes"},
}  # fmt: skip
ROW = {
    "id": 1, "kind": 2, "price": "AMgs", "paid": True, "day": 19000, "at": 1650000000000001,
    "seen": "2022-04-15T05:20:00Z", "open time": 5, "any": {"scale": 1, "value": "DA=="},
    "tags": ["a"], "photo": "3q2+",
}  # fmt: skip


class First:
    """A project that has a profile, the package and no more."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.monkeypatch = project, monkeypatch
        monkeypatch.syspath_prepend(str(PACKAGE / "scripts"))
        monkeypatch.chdir(project.folder)
        project.write("dbt_project.yml", PROJECT)

    def init(self, **arguments: Any) -> str | int:
        """What the script returns, or says at its end. Folders are whole: Java is elsewhere."""
        here = f"{self.project.folder}/"
        if str(arguments["landed"]).startswith("./"):
            arguments["landed"] = arguments["landed"].replace("./", here)
        command = ["init.py", json.dumps(arguments), "--profiles-dir=."]
        self.monkeypatch.setattr(sys, "argv", command)
        try:
            return importlib.import_module("init").main()
        except SystemExit as end:
            return str(end.code).replace(here, "./")

    def dbt(self, *command: str) -> str:
        """A dbt command that has to succeed; what it said."""
        dbt = importlib.import_module("dbt_commands").Dbt(["--profiles-dir=."])
        result, lines = dbt.run(*command, quiet=False)
        assert result.success, "\n".join(lines)
        return "\n".join(lines)

    def land(self, *lines: Mapping[str, Any]) -> None:
        """A file of events, in ./landing."""
        texts = [
            {
                n: v if v is None or isinstance(v, (str, int)) else json.dumps(v)
                for n, v in line.items()
            }
            for line in lines
        ]
        self.project.write("landing/a.jsonl", "\n".join(map(json.dumps, texts)))

    def columns(self, name: str) -> dict[str, str]:
        """The columns of a change table, as its YAML has them."""
        text = Path(f"models/{name}_ct.yml").read_text(encoding="utf-8")
        return {c["name"]: c["data_type"] for c in yaml.safe_load(text)["models"][0]["columns"]}

    def files(self) -> set[str]:
        """All models."""
        return {path.name for path in Path("models").glob("*")}


@pytest.fixture
def first(make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch) -> First:
    return First(make_project(fresh=True), monkeypatch)


def event(position: int, op: str, row: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """An event of public.items with its key."""
    value = {
        "op": op, "before": None, "after": row,
        "transaction": {"id": "7:90000000", "total_order": "1"},
        "source": {
            "connector": "postgresql", "schema": "public", "table": "items", "lsn": 90000000,
        },
    } | more  # fmt: skip
    return {"position": position, "topic": "pg.public.items", "key": {"id": 1}, "value": value}


def end(position: int) -> dict[str, Any]:
    """The END of its transaction."""
    value = {"status": "END", "id": "7:100000000", "event_count": 1, "ts_ms": 1650000000000}
    return {"position": position, "topic": "pg.transaction", "key": None, "value": value}


@pytest.mark.more
def test_the_example_of_the_reference(first: First) -> None:
    Path("landing").mkdir()
    shutil.copy(SHOP / "data" / "events_0001.jsonl.gz", "landing")
    Examples.of_project(first.project, "tutorial.md").check()


def test_the_shipped_events(first: First, capsys: pytest.CaptureFixture[str]) -> None:
    """Values without schemas: asked for what they do not tell; the files run as they are, and are
    those of the example."""
    shutil.copytree(SHOP / "data", "landing")
    asked = str(first.init(landed="./landing"))
    assert "public.customers (balance, wide), public.orders (amount): give" in asked
    assert first.files() == set()
    early = capsys.readouterr()
    assert "init: starts dbt and Spark, then looks at what has landed" in early.err
    assert "cdc: found public.orders: " in early.out  # though nothing is written
    assert first.init(landed="./landing", types=TYPES, dry_run=True) == 0
    assert first.files() == set()
    said = capsys.readouterr().out
    assert "would write models/public_orders_ct.sql" in said
    assert "nothing is written: dry_run" in said
    tables = ["public.customers", "public.docs", "public.events_log", "public.orders"]
    assert first.init(landed="./landing", types=TYPES, tables=tables) == 0
    said = capsys.readouterr().out
    assert re.search(r"found public.orders: \d+ changes, key customer_id, order_no$", said, re.M)
    assert "public.customers.birth: date, guessed from its name; if it is not" in said
    assert "found public.events_log: " in said and "no key: no net changes and no replica" in said
    example = yaml.safe_load((SHOP / "models" / "_shop.yml").read_text("utf-8"))
    for model in example["models"]:
        if model["name"].endswith("_ct"):
            columns = first.columns(model["name"][:-3])
            there = {c["name"]: c["data_type"] for c in model["columns"]}
            assert columns.keys() >= there.keys()
            assert {n: t for n, t in columns.items() if n in there} == {
                n: WIDER.get(t, t) for n, t in there.items()
            }
    log_model = Path("models/shop_log.sql").read_text(encoding="utf-8")
    assert 'before_images={"public.docs": "key"}' in log_model
    page = (PACKAGE / "docs" / "landing.md").read_text(encoding="utf-8")
    landing = Path("models/landed_events.sql").read_text(encoding="utf-8")
    assert landing.replace(f"{first.project.folder}/landing", "/landing/shop") in page
    assert "written: dbt_project.yml" in said
    assert "next: dbt run; then dbt show --inline" in said.splitlines()[-1]
    said = first.dbt("run")
    assert re.search(r"cdc: captured, in rows: public_customers \d+, public_docs \d+, ", said)
    others = "in the log and not captured: public.pgbench_accounts, "
    assert others in said and "public.docs" not in said.partition(others)[2].split("\n")[0]
    assert re.search("ask for changes: dbt show --inline .* --output json$", said, re.M)
    said = first.dbt("run")
    assert "captured, in rows" not in said and "ask for changes" not in said
    (row,) = first.project.sql(
        "select count(*) as n, max(updated_at) as at from {schema}.public_customers"
    )
    assert row.n > 50 and str(row["at"]) > "2000"
    # begun, so enable_table goes on
    again = str(first.init(landed="./l"))
    assert "the project has var cdc_log_model already: shop_log" in again
    assert "delete the variables cdc_... in dbt_project.yml and what init wrote in models" in again


@pytest.mark.more
def test_events_with_schemas(first: First, capsys: pytest.CaptureFixture[str]) -> None:
    fields = [{"field": name, **kind} for name, kind in ON.items()]
    fields[0]["default"] = 0  # of a column that takes no NULL
    fields[1] |= {"default": 1, "optional": True}
    schema = {"type": "struct", "fields": [
        {"field": "before", "type": "struct", "fields": fields},
        {"field": "after", "type": "struct", "fields": fields},
    ]}  # fmt: skip
    plain = event(1, "c", ROW)
    key = {"schema": {"type": "struct"}, "payload": {"id": 1}}
    value = {"schema": schema, "payload": plain["value"]}
    first.land({**plain, "key": key, "value": value}, end(2))
    assert first.init(landed="./landing") == 0
    assert "public.items: NULL in kind lands as the DEFAULT of the co" in capsys.readouterr().out
    assert first.columns("public_items") == {
        "id": "bigint", "kind": "smallint", "price": "decimal(12,2)", "paid": "boolean",
        "day": "date", "at": "timestamp", "seen": "timestamp", "open time": "bigint",
        "any": "decimal(38,18)", "tags": "string", "photo": "binary",
    }  # fmt: skip
    assert "types=" not in Path("models/shop_log.sql").read_text(encoding="utf-8")
    first.dbt("run")
    (row,) = first.project.sql("select * from {schema}.public_items")
    assert (row.id, row.photo) == (1, b"\xde\xad\xbe")
    assert (str(row.price), str(row.day)) == ("512.44", "2022-01-08")
    assert str(row["at"]) == "2022-04-15 05:20:00.000001"


@pytest.mark.more
def test_a_key_that_is_none(first: First, capsys: pytest.CaptureFixture[str]) -> None:
    """Debezium's message key may be any columns: rows of a snapshot tell, and inserted ones."""
    rows = [event(n, "c", {"id": 1, "name": name}) for n, name in ((1, "a"), (3, "b"), (4, "b"))]
    # deleted between them, or a copy, it is one
    first.land(rows[0], event(2, "d", None, before={"id": 1, "name": "a"}), *rows[1:], end(5))
    assert first.init(landed="./landing", dry_run=True) == 0
    assert "found public.items: 4 changes, key id\n" in capsys.readouterr().out
    for op in "cr":
        first.land(
            event(1, op, {"id": 1, "name": "a"}), event(2, op, {"id": 1, "name": "b"}),
            event(3, "c", {"id": 2, "name": "c"}), end(4),
        )  # fmt: skip
        assert first.init(landed="./landing", dry_run=op == "c") == 0
        assert "no key (id of two rows is the same, or what" in capsys.readouterr().out
    assert "public_items.sql" not in first.files()
    shutil.rmtree("models")
    first.project.write("dbt_project.yml", PROJECT)
    assert first.init(landed="./landing", keys={"public.items": "id, name"}) == 0
    assert "public_items.sql" in first.files()


@pytest.mark.more
@pytest.mark.parametrize("added", ["__dbz__physicalTableIdentifier", "__dbz__sourceIdentifier"])
def test_a_key_of_a_routed_topic(
    first: First, capsys: pytest.CaptureFixture[str], added: str
) -> None:
    """All topics in one, where the router adds to each key what table it is of."""
    routed = event(1, "c", {"id": 1, "name": "a"})
    first.land({**routed, "topic": "all", "key": {"id": 1, added: "pg.public.items"}}, end(2))
    assert first.init(landed="./landing") == 0
    assert "found public.items: 1 changes, key id\n" in capsys.readouterr().out
    first.dbt("run")
    assert first.project.sql("select id, name from {schema}.public_items") == [(1, "a")]


@pytest.mark.more
def test_lines_that_have_offsets(first: First, capsys: pytest.CaptureFixture[str]) -> None:
    """As Aiven's sinks write them, in files named as those of other sinks."""
    for offset, sent in enumerate((event(1, "c", {"id": 1, "name": "a"}), end(2))):
        line: dict[str, Any] = {"offset": offset, "timestamp": 1650000000000, "headers": None}
        line |= {name: sent[name] and json.dumps(sent[name]) for name in ("key", "value")}
        first.project.write(f"landing/{sent['topic']}+0+{offset}.json", json.dumps(line) + "\n")
    assert first.init(landed="./landing") == 0
    said = capsys.readouterr().out
    assert "found 2 events in 2 files, layout kafka_records" in said
    assert "landing', layout='kafka_records')" in Path("models/landed_events.sql").read_text(
        "utf-8"
    )
    first.dbt("run")
    assert first.project.sql("select id, name from {schema}.public_items") == [(1, "a")]


@pytest.mark.more
def test_tables_whose_models_would_have_one_name(first: First) -> None:
    """Orders and orders in PostgreSQL: neither is left out without a word."""
    lines = [event(1, "c", {"id": 1}), event(2, "c", {"id": 1}), end(3)]
    lines[1]["value"]["source"] = {**lines[1]["value"]["source"], "table": "Items"}
    first.land(*lines)
    said = str(first.init(landed="./landing"))
    assert "CDC 22926: the tables public.Items and public.items would both have a model" in said
    assert first.files() == set()
    assert first.init(landed="./landing", tables="public.items") == 0
    assert "public_items_ct.sql" in first.files()


@pytest.mark.more
def test_tables_of_events_and_logs(first: First) -> None:
    """A source in the place of the landing model; a canonical log has no log model either."""
    schema = first.project.schema
    first.land(event(1, "c", {"id": 1, "name": "a"}), end(2))
    first.project.sql(f"create schema {schema}")
    first.project.sql(
        "create table {schema}.my_events using delta as select event.* from (select from_json("
        "value, 'position bigint, topic string, key string, value string, headers string') as event"
        f" from text.`{first.project.folder}/landing`)"
    )
    assert "there is no table none.such" in str(first.init(landed="none.such"))
    assert first.init(landed=f"{schema}.my_events") == 0
    assert "landed_events.sql" not in first.files()
    assert {"landed.yml", "shop_log.sql", "public_items.sql"} <= first.files()
    first.dbt("run")
    assert first.project.sql("select id, name from {schema}.public_items") == [(1, "a")]
    shutil.rmtree("models")
    first.project.write("dbt_project.yml", PROJECT)
    assert "index column 'no' is no column of table public.items" in str(
        first.init(landed=f"{schema}.shop_log", keys={"public.items": "no"})
    )
    assert first.init(landed=f"{schema}.shop_log", keys={"public.items": "id"}) == 0
    assert first.files() == {
        "landed.yml", "public_items_ct.sql", "public_items_ct.yml", "public_items.sql",
    }  # fmt: skip
    assert "cdc_log_source: [landed, shop_log]" in Path("dbt_project.yml").read_text("utf-8")
    first.dbt("parse")


def test_an_export_of_change_tables(first: First, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables by the names of their instances, keys where their metadata is exported, too."""
    schema = first.project.schema
    first.project.sql("create schema {schema}_cdc")
    for table in (
        "lsn_time_mapping (start_lsn binary, tran_begin_time timestamp, tran_end_time timestamp, "
        "tran_id binary, tran_begin_lsn binary)",
        "dbo_order_lines_CT (`__$start_lsn` binary, `__$end_lsn` binary, `__$seqval` binary, "
        "`__$operation` int, `__$update_mask` binary, id int, line_no int, "
        "price decimal(19,4), at timestamp_ntz, `__$command_id` int)",
        "hr_log_CT (`__$start_lsn` binary, `__$seqval` binary, `__$operation` int, "
        "`__$update_mask` binary, text string)",
        "not_one_CT (id int)",
        "change_tables (object_id int, capture_instance string)",
        "index_columns (object_id int, column_name string, index_ordinal tinyint)",
        "ddl_history (object_id int, ddl_command string, ddl_lsn binary, ddl_time timestamp)",
    ):
        first.project.sql(f"create table {{schema}}_cdc.{table} using delta")
    first.project.sql("insert into {schema}_cdc.change_tables values (7, 'dbo_order_lines')")
    first.project.sql(
        "insert into {schema}_cdc.index_columns values (7, 'line_no', 2), (7, 'id', 1)"
    )
    assert "of SQL Server's change tables name the lsn_time_mapping" in str(
        first.init(landed=f"{schema}_cdc.hr_log_ct")
    )
    assert first.init(landed=f"{schema}_cdc.lsn_time_mapping") == 0
    said = capsys.readouterr().out
    assert "found dbo.order_lines: 0 changes, key id, line_no" in said
    assert "found hr.log: 0 changes, no key" in said
    assert "times are taken for UTC: give the time_zone of the server" in said
    assert first.files() == {
        "landed.yml", "shop_log.sql", "dbo_order_lines_ct.sql", "dbo_order_lines_ct.yml",
        "hr_log_ct.sql", "hr_log_ct.yml",
    }  # fmt: skip
    assert first.columns("dbo_order_lines") == {
        "id": "int", "line_no": "int", "price": "decimal(19,4)", "at": "timestamp",
    }  # fmt: skip
    log = Path("models/shop_log.sql").read_text(encoding="utf-8")
    assert (
        log.partition("dbt_cdc.change_table_log(")[2]
        == """
    {
        "dbo.order_lines": source('landed', "dbo_order_lines_ct"),
        "hr.log": source('landed', "hr_log_ct"),
    },
    source('landed', "lsn_time_mapping"),
    time_zone='UTC',
    change_tables=source('landed', "change_tables"),
    ddl_history=source('landed', "ddl_history"),
) }}
"""
    )
    first.dbt("run")


@pytest.mark.more
def test_a_canonical_log_is_asked_as_events_are(
    first: First, capsys: pytest.CaptureFixture[str]
) -> None:
    """How its values are encoded; a table that cannot be captured is left out."""
    schema = first.project.schema
    first.project.sql(f"create schema {schema}")
    first.project.sql(f"create table {{schema}}.my_log ({LOG_DDL}) using delta")
    lsns = map(int_to_lsn, range(1, 100))

    def commit(*rows: tuple[str, dict[str, Any]]) -> None:
        """A transaction of inserts."""
        changes = [("BEGIN", None, None), *(("INSERT", *row) for row in rows)]
        for operation, table, row in [*changes, ("COMMIT", None, None)]:
            name, image = (f"'{table}'", f"'{json.dumps(row)}'") if table else ("null", "null")
            first.project.sql(
                "insert into {schema}.my_log by name select"
                f" '{next(lsns)}' as lsn, 't' as tran_id, '{operation}' as operation,"
                " timestamp '2024-01-01' as record_time, 'public' as source_schema,"
                f" {name} as source_name, {image} as after_image"
            )

    commit(
        ("items", {"id": 1, "price": "AMgs", "photo": "3q2+7w==", "day_on": 19000}),
        ("items", {"id": 2, "price": "Aw==", "photo": "3q2+7w==", "day_on": 7000}),
        ("twins", {"id": 1, "a": 1, "A": "x"}),
    )
    given: dict[str, Any] = {"landed": f"{schema}.my_log", "keys": {"public.items": "id"}}
    asked = "CDC 22963: bytes in base64 do not tell what they are: public.items (price, photo): "
    assert asked in str(first.init(**given))
    assert first.files() == set()
    types = {"public.items": {"price": "decimal(12,2)", "photo": "binary"}}
    capsys.readouterr()
    assert first.init(**given, types=types) == 0
    said = capsys.readouterr().out
    assert "left out public.twins has the columns 'a' and 'A', which Spark does not tell" in said
    assert "public.items.day_on: date, guessed from its name; if it is not, say so by types" in said
    assert first.columns("public_items") == {
        "id": "bigint", "price": "decimal(12,2)", "photo": "binary", "day_on": "date",
    }  # fmt: skip
    assert first.dbt("run")
    select = "select id, price, photo, day_on from {schema}.public_items order by id"
    assert [(row.id, str(row.price), bytes(row.photo), str(row.day_on)) for row in
            first.project.sql(select)] == [
        (1, "512.44", b"\xde\xad\xbe\xef", "2022-01-08"),
        (2, "0.03", b"\xde\xad\xbe\xef", "1989-03-02"),
    ]  # fmt: skip
    # the other table, without one of the two
    twins = {"source_schema": "public", "source_name": "twins", "captured_column_list": "id, A",
             "index_columns": "id", "capture_from": "log_start"}  # fmt: skip
    first.monkeypatch.setattr(
        sys, "argv", ["enable_table.py", json.dumps(twins), "--profiles-dir=."]
    )
    assert importlib.import_module("enable_table").main() == 0
    commit(("twins", {"id": 2, "a": 1, "A": "y"}))
    first.dbt("run")
    found = first.project.sql("select id, A from {schema}.public_twins_ct order by id")
    assert found == [(1, "x"), (2, "y")]


@pytest.mark.more
def test_refusals(first: First, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is one line, and nothing is written."""
    first.land(
        event(1, "c", {"id": 1, "at": "x", "old_day": 7000, "updated_by": 9}),
        event(2, "u", {"id": 1}), end(3),
    )  # fmt: skip
    first.project.write("nested/a.jsonl", '{"position": 1, "value": {"op": "c"}}')
    text = json.dumps(end(1)["value"])
    first.project.write("ends/a.jsonl", json.dumps({**end(1), "value": text}))
    first.project.write("other/a.jsonl", '{"position": 1, "topic": "t", "value": "{\\"a\\": 1}"}')
    for arguments, text in (
        ({"landed": None}, "CDC 22963: landed is 'None': name a folder"),
        ({"landed": "./none"}, "PATH_NOT_FOUND"),
        ({"landed": "./nested"}, "CDC 22859: bad log record of file a.jsonl, line 1: its key or "),
        ({"landed": "./ends"}, "CDC 22931: ./ends has no change of any table"),
        ({"landed": "./other"}, "CDC 22859: bad log record of event at position 1 of topic t"),
        ({"landed": "./landing", "tables": "dbo.x"}, "CDC 22931: tables names table 'dbo.x'"),
        ({"landed": "./landing", "types": {"items": {}}}, "CDC 22931: types names table 'items'"),
        ({"landed": "./landing", "types": {"public.items": {"no": "int"}}},
         "CDC 22930: types names column 'no', which table public.items has not: it has id, at"),
        ({"landed": "./landing", "types": {"public.items": {"at": "point"}}}, "CDC 22"),
    ):  # fmt: skip
        said = first.init(**arguments)
        assert text in str(said), (arguments, said)
        assert len(str(said).splitlines()) == 1
    assert not first.files()
    capsys.readouterr()
    assert first.init(landed="./landing", tables="public.items") == 0
    said = capsys.readouterr().out
    assert "updates without before image: before_image partial" in said
    assert first.columns("public_items") == {
        "id": "bigint", "at": "string", "old_day": "date", "updated_by": "bigint",
    }  # fmt: skip


@pytest.mark.more
def test_a_death_in_the_middle(first: First) -> None:
    """Run again, it does what is missing; another text is never overwritten."""
    first.land(event(1, "c", {"id": 1}), end(2))
    first.project.write("models/mine/public_items.sql", "select 1 as mine")
    assert "there is already models/mine/public_items.sql" in str(first.init(landed="./landing"))
    assert first.files() == {"mine"}
    shutil.rmtree("models/mine")
    assert first.init(landed="./landing") == 0
    done = first.files()
    Path("models/public_items_ct.yml").unlink()
    first.project.write("dbt_project.yml", PROJECT)
    assert first.init(landed="./landing") == 0
    assert first.files() == done
    first.project.write("dbt_project.yml", PROJECT)
    first.project.write("models/shop_log.sql", "select 1 as mine")
    assert "there is already models/shop_log.sql" in str(first.init(landed="./landing"))


@pytest.mark.more
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("name: a\n\n", "name: a\n\nvars:\n  x: 1\n  y:\n    - z\n"),
        ("vars:\n    # mine\n    b: 2\nname: a\n",
         "vars:\n    # mine\n    x: 1\n    y:\n      - z\n    b: 2\nname: a\n"),
        ("vars: {b: 2}\n", None),
    ],
)  # fmt: skip
def test_variables(first: First, before: str, after: str | None) -> None:
    script = importlib.import_module("init")
    assert script.with_variables(before, "vars:\n  x: 1\n  y:\n    - z\n") == after


@pytest.mark.more
def test_a_real_log_with_schemas(first: First, capsys: pytest.CaptureFixture[str]) -> None:
    """From what has landed to replicas, which are the true tables; one column is dropped and comes
    back with another type."""
    data = data_dir()
    path = data / "postgres" / "debezium_schemas" / "all.jsonl.gz"
    first.land(*map(asdict, landed_events(path)))
    types = {
        "public.customers": {
            "balance": "decimal(18,4)", "wide": "decimal(38,18)", "avatar": "binary(hex)",
        },
        "public.orders": {"amount": "decimal(12,2)"},
    }  # fmt: skip
    assert first.init(landed="./landing", types=types) == 0
    said = capsys.readouterr().out
    told = "changes, no key (kind of two rows is the same, or what removed the"
    assert f"found public.events_log: 199 {told}" in said
    assert "public.customers: NULL in tier lands as the DEFAULT of the column, unless" in said
    assert "public_events_log.sql" not in first.files()
    first.dbt("run")
    truth = Truth(data / "postgres")
    for table in ("customers", "orders", "docs"):
        columns = first.columns(f"public_{table}")
        instance = truth.instance(table)
        instance = replace(instance, columns=tuple((n, columns[n]) for n, _ in instance.columns))
        key = ", ".join(instance.index_columns)
        written = first.project.sql(
            f"select {key}, max(`__$start_lsn`) as lsn from {{schema}}.public_{table}_ct"
            f" group by {key}"
        )
        state = State(instance, written={tuple(row[:-1]): row.lsn for row in written})
        for row in first.project.sql(f"select * from {{schema}}.public_{table}"):
            values = plain_values(row, instance)
            state.rows[instance.key(values)] = values
        assert truth.differences(state, 10) == [], table
