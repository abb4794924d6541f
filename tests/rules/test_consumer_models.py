"""Mistakes in models that consume changes: each is named in one line, and makes no table."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from hashlib import md5
from types import SimpleNamespace
from typing import Any

import jinja2
import pytest
from database import Answer, Rows
from harness import PACKAGE
from reference.log import int_to_lsn
from shop import HIGH, ITEMS, LOW, Shop, columns_of, consumed, first_line, published

NO_DELTA = "{{ config(materialized='incremental', incremental_strategy='append') }}\n"
FEED = NO_DELTA.replace(") }}", ", file_format='delta') }}")


def replica(arguments: str, columns: str = "*", config: str = "") -> str:
    """A replica's model; `arguments` are those of new_changes."""
    return (
        f"{{{{ config(materialized='replica'{config}) }}}}\n"
        f"select {columns} from {{{{ dbt_cdc.new_changes({arguments}) }}}}\n"
    )


def versions(arguments: str, columns: str = "*") -> str:
    """A history's model."""
    return replica(arguments, columns).replace("'replica'", "'history'")


def feed(arguments: str) -> str:
    """A model that appends changes."""
    return f"{FEED}select * from {{{{ dbt_cdc.new_changes({arguments}) }}}}\n"


ITEMS_, HEAP = "'dbo_items'", "'dbo_heap'"
INITIAL = f"{ITEMS_}, initial=ref('raw_log')"
BOTH = (
    "{{ config(materialized='replica') }}\n"
    "select * from {{ dbt_cdc.new_changes('dbo_items') }}\n"
    "union all select * from {{ dbt_cdc.new_changes('dbo_notes') }}\n"
)
MISTAKES: dict[str, tuple[str, str, str]] = {
    # model: its text, SQL Server's number, part of the error
    "no_key": (replica(HEAP), "CDC 22938", "has no key"),
    "no_key_history": (versions(HEAP), "CDC 22938", "has no key"),
    "filtered": (
        replica(ITEMS_) + "where id > 0", "CDC 22938",
        "has 'where' in its SQL, so a row whose change it leaves out would stay as it was: say the",
    ),
    "filtered_inside": (
        "{{ config(materialized='replica') }}\nwith found as (\n"
        "    select * from {{ dbt_cdc.new_changes('dbo_items') }} as changes\n    where id > 0\n)\n"
        "select * from found", "CDC 22938", "has 'where' in its SQL",
    ),
    **{
        f"filtered_{place}": (
            "{{ config(materialized='replica') }}\n"
            "with source as (select * from {{ dbt_cdc.new_changes('dbo_items') }}),\n"
            f"some as ({query})\nselect * from some", "CDC 22938", f"has '{word}' in its SQL",
        )
        for place, word, query in [
            ("later", "where", "select * from source as s where id > 0"),
            ("deeper", "where", "select * from ((select * from source)) t where id > 0"),
            ("by_join", "join", "select source.* from names\n inner join source using (id)"),
            ("by_name", "where", "select * from `source` where id > 0"),
            ("by_comma", "from ..., ...", "select source.* from source as s, names"),
            ("by_left_join", "left join",
             "select source.* from names left join source using (id)"),
            ("by_rank", "qualify",
             "select * from source qualify row_number() over (partition by id order by Name) = 1"),
        ]
    },
    "filtered_history": (versions(ITEMS_) + "having true", "CDC 22938", "has 'having' in its SQL"),
    "filtered_loudly": (
        "{{ config(materialized='replica') }}\nWITH C AS (\n"
        "SELECT * FROM {{ dbt_cdc.new_changes('dbo_items') }})\n"
        ", `my k` AS (SELECT * FROM C WHERE id > 0)\nSELECT * FROM `my k` HAVING true",
        "CDC 22938", "has 'where', 'having' in its SQL",
    ),
    "multiplied": (
        replica(ITEMS_, "*, explode(split(Name, ',')) as tag", ", unique_key=['id', 'tag']"),
        "CDC 22938", "has 'explode' in its SQL",
    ),
    "joined": (
        replica(ITEMS_) + "inner join t using (id)", "CDC 22938",
        "config(meta={'may_filter': true})",
    ),
    "no_net": (feed(f"{HEAP}, 'net'"), "CDC 208", "'dbo_heap' has no net changes"),
    "wrong_mode": (replica(f"{ITEMS_}, 'all'"), "CDC 313", "one change a key"),
    "wrong_history": (versions(f"{ITEMS_}, 'net'"), "CDC 313", "states in between"),
    "unknown_mode": (feed(f"{ITEMS_}, 'some'"), "CDC 313", "mode 'some' is unknown: give 'all' or"),
    "unknown": (feed("'dbo_nothing'"), "CDC 22981", "dbo_nothing"),
    "a_view": (replica(ITEMS_).replace("'replica'", "'view'"), "CDC 22938", "'view'"),
    "a_table": (replica(ITEMS_).replace("'replica'", "'table'"), "CDC 22938", "'table'"),
    "no_delta": (feed(ITEMS_).replace("'delta'", "'parquet'"), "CDC 22938", "parquet"),
    "no_format": (feed(ITEMS_).replace(FEED, NO_DELTA), "CDC 22938", "file_format is 'not set'"),
    "overwritten": (
        feed(ITEMS_).replace("'append'", "'insert_overwrite'"), "CDC 22938",
        "incremental_strategy is 'insert_overwrite': each run would replace the whole table by",
    ),
    "overwritten_parts": (
        feed(ITEMS_).replace("'append'", "'insert_overwrite', partition_by='id'"), "CDC 22938",
        "incremental_strategy is 'insert_overwrite': each run would replace its partitions by the",
    ),
    "overwritten_in_part": (
        (feed(ITEMS_) + " where Name in ('a', 'b')").replace(
            "'append'", "'insert_overwrite', partition_by='id'"
        ), "CDC 22938",
        "incremental_strategy is 'insert_overwrite': each run would replace its partitions by the",
    ),
    "overwritten_by_the_last": (
        feed(ITEMS_).replace("'append'", "'insert_overwrite', partition_by='id'").replace(
            "select *", "with source as (select *"
        ) + "), ranked as (select *, row_number() over (partition by id order by Name) as n "
        "from source left join names using (id)) select * from ranked", "CDC 22938",
        "incremental_strategy is 'insert_overwrite': each run would replace its partitions by the",
    ),
    "merged": (
        feed(ITEMS_).replace("'append'", "'merge', unique_key='ID'"), "CDC 22938",
        "model merged merges all changes of capture instance dbo_items by its key (id): a key",
    ),
    "in_a_branch": (
        f"{FEED}-- depends_on: {{{{ ref('dbt_cdc', 'lsn_time_mapping') }}}}\n"
        "select * from {% if execute %}{{ dbt_cdc.new_changes('dbo_items') }}{% endif %}",
        "CDC 22938", "take it outside of {% if is_incremental() %}",
    ),
    "no_changes": (
        "{{ config(materialized='replica') }} select 1 id", "CDC 22938", "new_changes",
    ),
    "no_changes_history": (
        "{{ config(materialized='history') }} select 1 id", "CDC 22938", "history no_changes_hist",
    ),
    "lacks_metadata": (replica(ITEMS_, "id"), "CDC 22938", "lacks __$operation in its rows"),
    "lacks_columns": (replica(ITEMS_, "`__$operation`"), "CDC 22938", "lacks columns in its rows"),
    "lacks_key": (
        replica(ITEMS_, "Name, `__$operation`"), "CDC 22938",
        "key column 'id' is not among the columns of replica lacks_key (Name)",
    ),
    "other_key": (
        replica(ITEMS_, config=", unique_key=['id', 'code']"), "CDC 22938", "key column 'code' is",
    ),
    **{
        f"key_{n}": (
            replica(ITEMS_, config=f", unique_key={key}"), "CDC 22938",
            f"has the unique_key {said}, and the key of capture instance dbo_items is id: leave",
        )
        for n, key, said in [(1, "'name'", "name"), (2, "['id', 'Name']", "id, name")]
    },
    "key_computed": (
        replica(ITEMS_, "*, md5(Name) as sk", ", unique_key='sk'"), "CDC 22938",
        "has the unique_key sk, and the key of capture instance dbo_items is id: leave",
    ),
    "key_alone": (
        replica(ITEMS_, "Name, `__$operation`", ", unique_key='name'"), "CDC 22938",
        "has the unique_key name, and the key of capture instance dbo_items is id: leave",
    ),
    "taken_name": (versions(ITEMS_, "*, 1 valid_to"), "CDC 22938", "'valid_to'"),
    "left_join_of_two": (
        BOTH.replace("union all select * from", "as i left join").replace(
            "'replica'", "'replica', unique_key='id'"
        ),
        "CDC 22938", "has 'left join' in its SQL",
    ),
    "two_instances": (BOTH, "CDC 22938", "takes 2 capture instances and has no unique_key"),
    "no_lsn": (replica(INITIAL), "CDC 313", "initial_lsn is NULL"),
    "bad_lsn": (replica(f"{INITIAL}, initial_lsn='x'"), "CDC 313", "initial_lsn 'x' is not an LSN"),
    "initial_too_late": (
        replica(f"{INITIAL}, initial_lsn='{int_to_lsn(0x123)}'"), "CDC 313",
        f"is above the high end {HIGH} of capture instance dbo_items",
    ),
    "late": (replica(ITEMS_), "CDC 2714", "exists and no bookmark tells what it holds"),
    "late_history": (versions(ITEMS_), "CDC 2714", "--full-refresh --select late_history"),
}  # fmt: skip
METADATA = tuple(
    f"__${name}"
    for name in ("start_lsn", "seqval", "operation", "update_mask", "command_id", "commit_time")
)


def described(sql: str) -> Rows:
    """The columns that a model selects of the items' changes."""
    found = re.match(r"describe query\s*(?:\{.*?\}\s*)?select\s+(.*?)\s+from\b", sql, re.S)
    assert found, sql
    names: list[str] = []
    for column in found[1].split(","):
        name = column.split()[-1].strip("`")
        names += [*METADATA, *ITEMS.names] if name == "*" else [name]
    return [{"col_name": name, "data_type": "int", "comment": None} for name in names]


ANSWERS: dict[str, Answer] = {
    r"^describe query": described,
    "^set spark.sql.sources.partitionOverwriteMode": [],
    r"^describe history \S*late`": [
        {"version": 1, "operation": "CREATE TABLE AS SELECT", "operationMetrics": "numOutputRows 3"}
    ],
    r"^describe history \S*late_history`": [
        {"version": 1, "operation": "DELETE", "operationMetrics": "numDeletedRows 1"}
    ],
    r"^select 1 from \S*late\w* limit 1": [{"1": 1}],
    r"^select cast\(max_by\(tran_end_time": [{"time": "2024-03-01 12:03:00"}],
}
# A model's bookmark says up to where it is about to write.
MAY_WRITE = ("consumer_bookmarks", "scan_sessions", "dm_cdc_errors")


@pytest.fixture(scope="module")
def errors(shop: Shop) -> dict[str, str]:
    """All mistakes in one run."""
    found = shop.errors(
        {f"{name}.sql": model for name, (model, _, _) in MISTAKES.items()},
        answer=ANSWERS,
        tables=["late", "late_history"],
        may_write=MAY_WRITE,
    )
    return {name: first_line(message) for name, message in found.items()}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(errors: dict[str, str], name: str) -> None:
    _, number, text = MISTAKES[name]
    assert f"{number}: " in errors[name] and text in errors[name]


LOST, BEFORE = int_to_lsn(0x110), int_to_lsn(0x10F)
LOSSES: dict[str, tuple[str, dict[str, Any] | None, str]] = {
    # model: its text, its bookmark, part of the error
    "behind": (replica(ITEMS_), {"last_lsn": BEFORE},
               f"behind has consumed up to {BEFORE} of capture instance dbo_items; changes of"),
    "behind_history": (versions(ITEMS_), {"last_lsn": BEFORE},
                       f"up to {LOST} were removed or never captured, its low end is {LOW}"),
    "behind_feed": (feed(ITEMS_), {"last_lsn": BEFORE},
                    "start over with dbt run-operation reset_consumer --args '{consumer: behind_f"),
    "accepted_once": (feed(f"{INITIAL}, initial_lsn='{BEFORE}'"), {"accepts_loss": True},
                      f"initial_lsn {BEFORE} is too old for accepted_once"),
    "new": (replica(ITEMS_), None, "new would start without a part of the table: changes of"),
    "new_history": (versions(ITEMS_), None, "give its content as of a later LSN (new_changes: in"),
    "too_old": (replica(f"{INITIAL}, initial_lsn='{BEFORE}'"), None,
                f"initial_lsn {BEFORE} is too old for too_old"),
}  # fmt: skip


def bookmark(consumer: str, **other: Any) -> dict[str, Any]:
    """The row of a model that has consumed items."""
    row = dict.fromkeys(columns_of("consumer_bookmarks"))
    row.update(consumer=consumer, capture_instance="dbo_items")
    return {**row, "mode": "all", "accepts_loss": False, **other}


def test_a_model_of_batches_is_refused(shop: Shop) -> None:
    """dbt tells no error of a model of batches but what comes while it writes."""
    batches = "'microbatch', event_time='at', begin='2026-01-01', batch_size='year'"
    with shop.with_models({"batches.sql": feed(ITEMS_).replace("'append'", batches)}) as selection:
        result = shop.dbt("run", "--select", selection, answer=ANSWERS, may_write=MAY_WRITE)
    assert not result.success
    assert "its incremental_strategy is 'microbatch': each batch would take all" in result.output


def test_a_snapshot_is_refused(shop: Shop) -> None:
    """It has no bookmark: what cleanup has removed would be gone from it, too."""
    snapshot = (
        "{% snapshot kept %}\n"
        "{{ config(unique_key='id', strategy='check', check_cols='all', file_format='delta') }}\n"
        "select * from {{ dbt_cdc.new_changes('dbo_items') }}{% endsnapshot %}\n"
    )
    with shop.with_models({"kept.sql": snapshot}, "snapshots"):
        result = shop.dbt("snapshot", answer=ANSWERS, may_lack=True)
    line = first_line(result.messages["kept"].message)
    assert "CDC 22938: snapshot kept takes new_changes and is materialized as 'snapshot'" in line


def test_changes_that_are_gone(shop: Shop) -> None:
    """Of items those up to LOST; each model asks for some of them."""
    bookmarks = [bookmark(name, **mark) for name, (_, mark, _) in LOSSES.items() if mark]
    found = shop.errors(
        {f"{name}.sql": model for name, (model, _, _) in LOSSES.items()},
        answer={**ANSWERS, r"\) as bookmarks, ": consumed(bookmarks, dbo_items=LOST)},
        tables=[name for name, (_, mark, _) in LOSSES.items() if mark],
    )
    for name, (_, _, text) in LOSSES.items():
        line = first_line(found[name])
        assert "CDC 313: " in line and text in line, line


@pytest.mark.parametrize("kept", [True, False])
def test_a_model_that_no_full_refresh_replaces(shop: Shop, kept: bool) -> None:
    model = replica(ITEMS_, config=", full_refresh=false" if kept else "")
    message = shop.errors(
        {"late.sql": model}, answer=ANSWERS, tables=["late"], may_write=MAY_WRITE
    )["late"]
    after = " (after full_refresh: false is taken out of its config)" if kept else ""
    assert f": dbt run --full-refresh --select late{after} replaces it" in first_line(message)


@pytest.mark.parametrize("way_on", [None, "RESTORE", "--full-refresh"])
def test_a_table_that_was_made_anew_without_rows(shop: Shop, way_on: str | None) -> None:
    """By an adapter that creates it in one statement and fills it in another, which failed."""
    done = [(5, "RESTORE")] if way_on == "RESTORE" else []
    history = [
        {"version": n, "operation": what, "operationMetrics": "", "operationParameters": ""}
        for n, what in (*done, (4, "CREATE OR REPLACE TABLE"), (3, "WRITE"))
    ]
    mark = bookmark("emptied", last_lsn=LOW, open_lsn=HIGH, target_version=3)
    answer = {
        **ANSWERS,
        r"^describe history \S*emptied`": history,
        r"\) as bookmarks, ": consumed([mark]),
    }
    options = ["--full-refresh"] if way_on == "--full-refresh" else []
    with shop.with_models({"emptied.sql": feed(ITEMS_)}) as selection:
        result = shop.dbt(
            "run", "--select", selection, *options, answer=answer, tables=["emptied"],
            may_write=MAY_WRITE, may_lack=True,
        )  # fmt: skip
    said = f"anew, empty: what it had up to {LOW} of dbo_items is gone"
    assert (said in result.output) == (way_on is None)


def test_a_consumer_whose_model_is_gone(shop: Shop) -> None:
    row = {"consumer": "gone", "capture_instance": "dbo_items", "last_lsn": LOW}
    answer: dict[str, Answer] = {r"^select consumer, capture_instance, last_lsn, mode from": [row]}
    result = shop.operation("reset_consumer", answer, consumer="gone")
    assert result.success, result.output
    assert "its bookmark would go" in result.output


@pytest.mark.parametrize(
    ("given", "reset"),
    [
        ({}, ["dbo_items"]),
        ({"capture_instance": "DBO_notes"}, ["dbo_notes"]),
        ({"lost": BEFORE}, ["dbo_items", "dbo_notes"]),
    ],
)
def test_one_of_several_instances_starts_over(
    shop: Shop, given: dict[str, Any], reset: list[str]
) -> None:
    """An incremental model would repeat the rows of the others."""
    marks = [
        bookmark("fed", last_lsn=BEFORE, capture_instance=name, source_table=f"dbo.{name[4:]}")
        for name in ("dbo_items", "dbo_notes")
    ]
    arguments = {"consumer": "fed", "dry_run": False, **given}
    state = consumed(marks, dbo_items=arguments.pop("lost", LOST))
    two = feed(ITEMS_) + "union all select * from {{ dbt_cdc.new_changes('dbo_notes') }}\n"
    sent: list[str] = []
    answer: dict[str, Answer] = {
        **ANSWERS,
        r"^select consumer, capture_instance, last_lsn, mode from": marks,
        r"\) as bookmarks, ": state,
        r"\bupdate \S*consumer_bookmarks\b": lambda sql: sent.append(sql) or [],
    }
    with shop.with_models({"fed.sql": two}) as selection:
        if "lost" not in given:
            run = shop.dbt("run", "--select", selection, answer=answer, tables=["fed"],
                           may_write=MAY_WRITE, may_lack=True)  # fmt: skip
            said = "reset_consumer --args '{consumer: fed, capture_instance: dbo_items}'"
            assert said in run.messages["fed"].message
        result = shop.dbt(
            "run-operation", "reset_consumer", "--args", json.dumps(arguments), answer=answer,
            may_write=["consumer_bookmarks"],
        )  # fmt: skip
    assert result.success, result.output
    (update,) = sent
    assert f"capture_instance in ({', '.join(map(repr, reset))})" in update
    assert (
        f"with dbo_{'notes' if 'dbo_items' in reset else 'items'} it goes on" in result.output
    ) == (len(reset) == 1)


OPERATION = "* except (`__$operation`), if(id > 0, `__$operation`, 1) as `__$operation`"


@pytest.mark.parametrize(
    "model",
    [
        replica(ITEMS_, OPERATION),
        replica(ITEMS_, "*, sha2(Name, 256) as `where`, 'join' as word -- limit"),
        replica(ITEMS_) + "left outer join names using (id)",
        "{{ config(materialized='replica', unique_key='id') }}\n"
        "with touched as (\n    select id from {{ dbt_cdc.new_changes('dbo_items') }}\n"
        "    union select id from {{ dbt_cdc.new_changes('dbo_items') }}\n),\n"
        "names as (select id, name from names where valid_to is null limit 10)\n"
        "select touched.id, max(name) as name, if(count(names.id) = 0, 1, 4) as `__$operation`\n"
        "from touched left join names on touched.id = names.id group by touched.id",
        replica(ITEMS_, config=", meta={'may_filter': true}") + "where id > 0",
        "{{ config(materialized='replica') }}\n"
        "with names as (select id from names where valid_to is null),\n"
        "source as (select * from {{ dbt_cdc.new_changes('dbo_items') }}),\n"
        "named as (select s.* from source s left join names using (id))\n"
        "select *, (select max(id) from names where id > 0) as top from (select * from named)",
        "{% set found = dbt_cdc.new_changes('dbo_items') %}" + replica(ITEMS_),
        "{{ config(materialized='replica') }}\n"
        "with `some` as (select * from {{ dbt_cdc.new_changes('dbo_items') }}),\n"
        "tops as (select id, max(Name is distinct from stack, `where`) as top from `some`),\n"
        "tags as (select id, explode(tags) as tag from names where id > 0)\n"
        "select `some`.*, (select count(*) from tags, names) as tags\n"
        "from `some` left join tops using (id)",
        replica(ITEMS_, "id, `from` as sender, `to` receiver, a is distinct\n from b, c, *"),
        "{{ config(materialized='replica') }}\n"
        "with source as (select * from {{ dbt_cdc.new_changes('dbo_items') }}),\n"
        "channels as (select id, c.limit from channels c where is_active)\n"
        "select s.*, c.limit from source s left join channels c using (id)",
        replica(ITEMS_, "*, max(id) over w as top")
        + "window w as (order by id), v as (order by a)",
    ],
)
def test_what_leaves_no_change_out_is_taken(shop: Shop, model: str) -> None:
    """new_changes has conditions of its own; words in texts, names and comments are none."""
    assert "in its SQL" not in shop.errors({"whole.sql": model})["whole"]


@pytest.mark.parametrize(
    ("sql", "is_taken"),
    [
        ("select * from {changes}", False),
        ("select id, upper(Name) as n from {changes} where id > 0", False),
        ("select * from orders where id in (select id from {changes})", True),
        ("select id, max(Name) as n from {changes} group by id", True),
        ("select * from {changes} where `__$operation` = 2", True),
        ("select * from {changes} where `__$operation` = 4", False),
        ("select * from {changes} where Name in ('a', 'b') -- over all, in a group", False),
        ("select * from {changes} where id in (select id from orders)", True),
        ("select c.*, n.notes from {changes} as c left join names as n using (id)", False),
        ("select c.id as item, Name from {changes} as c", False),
        ("select c.id item, Name from {changes} as c", False),
        ("select *, `__$seqval` || id as item from {changes}", True),
        ("select c.id as item, 'in (select' as Name from {changes} as c", False),
    ],
)
def test_a_merge_of_one_row_a_key(shop: Shop, sql: str, is_taken: bool) -> None:
    """Only SQL that hands all changes on is known to give several."""
    key = "item" if "item" in sql else "id"
    model = f"{FEED}{sql}".replace("'append'", f"'merge', unique_key=['{key}']")
    model = model.replace("{changes}", "{{ dbt_cdc.new_changes('dbo_items') }}")
    message = shop.errors({"merged.sql": model})["merged"]
    assert ("merges all changes of capture instance" not in message) == is_taken


@pytest.mark.parametrize(
    "columns", ["id as item, Name, `__$operation`", "id as `Name`, 1 as x, `__$operation`"]
)
def test_a_renamed_key_is_taken(shop: Shop, columns: str) -> None:
    key = "item" if "item" in columns else "name"
    model = replica(ITEMS_, columns, f", unique_key='{key}'")
    with shop.with_models({"renamed.sql": model}) as selection:
        result = shop.dbt("run", "--select", selection, answer=ANSWERS, may_lack=True)
    assert "OK created sql replica model" in result.output


def moved(shop: Shop, kind: str, *options: str, published: bool = True, **given: Any) -> str:
    """What a run says of a model that reads the second instance of orders; `mark`: its bookmark of
    the first one."""
    intervals = [
        {**dict.fromkeys(("low_end", "high_end", "scanned_lsn"), HIGH), "low_end": LOW,
         "low_time": None, "high_time": None, "capture_instance": name}
        for name in ("dbo_orders", "dbo_orders_v2") if published or name == "dbo_orders"
    ]  # fmt: skip
    marks = [bookmark("moved", **{"capture_instance": "dbo_orders", "source_table": "dbo.orders",
                                  "target_version": 1, "kind": kind, **given["mark"]})]  # fmt: skip
    answer = {
        **ANSWERS,
        r"^select [^()]*\bhigh_end\b.* from \S*validity_intervals": intervals,
        r"^describe history \S*moved`": [],
        r"\) as bookmarks, ": consumed(marks if given["mark"] else [], **given.get("lost", {})),
        r"\bleft anti join \S*dbo_orders_ct": [{"lsn": given.get("late")}],
    }
    model = f"{{{{ config(materialized='{kind}') }}}}" if kind != "incremental" else FEED
    text = f"{model}\nselect * from {{{{ dbt_cdc.new_changes('dbo_orders_v2') }}}}\n"
    with shop.with_models({"moved.sql": text}) as selection:
        return shop.dbt(
            "run", "--select", selection, *options, answer=answer, may_write=MAY_WRITE,
            tables=["moved"] if given["mark"] else [], may_lack=True,
        ).output  # fmt: skip


NOT_YET = "CDC 313: moved cannot be handed over to dbo_orders_v2 yet: nothing of that is published"


@pytest.mark.parametrize("kind", ["replica", "history", "incremental"])
def test_an_instance_that_is_not_enabled_yet_takes_nobody_over(shop: Shop, kind: str) -> None:
    """Its low end may lie behind changes that the consumer has not had from the other one."""
    mark = {"last_lsn": BEFORE}
    assert NOT_YET in moved(shop, kind, mark=mark, published=False)
    for options in ("--full-refresh",), ("--empty",):
        assert "handed over" not in moved(shop, kind, *options, mark=mark, published=False)
    for other in ({}, {"last_lsn": None}, {**mark, "capture_instance": "dbo_orders_v2"}):
        assert "handed over" not in moved(shop, kind, mark=other, published=False)
    assert "handed over" not in moved(shop, kind, mark=mark)


def test_a_late_commit_that_the_second_instance_has(shop: Shop) -> None:
    """A consumer that goes on behind it would never have it."""
    mark = {"last_lsn": BEFORE}
    said = (
        f"CDC 313: moved has consumed dbo_orders up to {BEFORE}; dbo_orders_v2 has changes before, "
        f"of the commit {LOW}, which dbo_orders lacks, as where it landed too late: dbt run --full"
    )
    assert said in moved(shop, "replica", mark=mark, late=LOW)
    assert "too late" not in moved(shop, "replica", "--full-refresh", mark=mark, late=LOW)
    assert "CDC 313" not in moved(shop, "replica", mark=mark)


def test_a_loss_is_accepted_of_one_instance(shop: Shop) -> None:
    mark = {"last_lsn": None, "accepts_loss": True}
    lost = {"dbo_orders_v2": LOST}
    assert "moved would start without a part" in moved(shop, "replica", mark=mark, lost=lost)
    own = {**mark, "capture_instance": "dbo_orders_v2"}
    assert "would start" not in moved(shop, "replica", mark=own, lost=lost)


STANDING = replica("'dbo_orders'").replace("*", "id, `__$operation`")
READING = replica("'dbo_notes'") + "left join {{ ref('standing') }} as s using (id)\n"


@pytest.mark.parametrize("selected", ["reading", "standing reading"])
@pytest.mark.parametrize(
    ("ended", "reads", "second"),
    [
        ([], ["dbo_orders"], HIGH),
        (["dbo_orders"], ["dbo_orders", "dbo_orders_v2"], HIGH),
        (["dbo_orders"], ["dbo_orders"], BEFORE),
        (["dbo_orders"], ["dbo_orders"], HIGH),
    ],
)
def test_a_parent_that_is_to_be_handed_over(
    shop: Shop, selected: str, ended: Sequence[str], reads: Sequence[str], second: str
) -> None:
    """What its instance ended with, another one goes on from: it is not as far as what it reads."""
    ends = {"dbo_orders": BEFORE, "dbo_orders_v2": second, "dbo_notes": HIGH}
    intervals = [
        {"capture_instance": name, "low_end": LOW, "high_end": end, "scanned_lsn": HIGH,
         "low_time": None, "high_time": None}
        for name, end in ends.items()
    ]  # fmt: skip
    of_version = {"target_version": 1, "kind": "replica"}
    marks = [
        bookmark(name, **{"capture_instance": instance, "last_lsn": lsn, **of_version})
        for name, instance, lsn in [
            *(("standing", instance, ends[instance]) for instance in reads),
            ("reading", "dbo_notes", LOW),
        ]
    ]
    standing = STANDING + "".join(
        f"union all select id, `__$operation` from {{{{ dbt_cdc.new_changes('{name}') }}}}\n"
        for name in reads[1:]
    )
    standing = standing.replace("'replica'", "'replica', unique_key='id'")
    answer: dict[str, Answer] = {
        **ANSWERS,
        r"^select [^()]*\bhigh_end\b.* from \S*validity_intervals": intervals,
        r"^describe history": [],
        r"\) as bookmarks, ": consumed(marks, ended),
    }
    with shop.with_models({"standing.sql": standing, "reading.sql": READING}):
        output = shop.dbt(
            "run", "--select", *selected.split(), answer=answer, may_write=MAY_WRITE,
            tables=["standing", "reading"], may_lack=True,
        ).output  # fmt: skip
    said = (
        f"reading waits for standing, which it reads and which has consumed dbo_orders up to "
        f"{BEFORE}: let standing read dbo_orders_v2, as dbo_orders has ended: dbt run --select stan"
    )
    waits = bool(ended) and len(reads) == 1 and second == HIGH
    assert (said in output) == ("waits for" in output) == waits, output


@pytest.mark.parametrize("hook", [", pre_hook=\"set time zone 'Europe/Berlin'\"", ""])
def test_a_hook_that_sets_another_zone(shop: Shop, hook: str) -> None:
    """The times of its bookmarks and of an initial content would be of that zone."""
    asked: list[str] = []

    def zone(sql: str) -> list[dict[str, Any]]:
        asked.append(sql)
        return [{"time_zone": "Europe/Berlin"}]

    message = shop.errors(
        {"zoned.sql": replica(ITEMS_, config=hook)},
        answer={**ANSWERS, "^set time zone": [], r"^select \S*.* as time_zone$": zone},
        may_write=MAY_WRITE,
    ).get("zoned", "")
    assert ("CDC 22859: the session's time zone is Europe/Berlin" in message) == bool(hook)
    assert len(asked) == bool(hook)


@pytest.mark.parametrize("kind", ["replica", "history"])
@pytest.mark.parametrize("is_back", [True, False])
def test_a_bookmark_that_was_taken_back_alone(shop: Shop, kind: str, is_back: bool) -> None:
    """What the table has since would be taken for new."""
    done = f"dbt_cdc {md5(b'dbo_items').hexdigest()} up to "
    history = [
        {"version": n, "operation": "MERGE", "operationMetrics": "",
         "operationParameters": done + lsn}
        for n, lsn in ((2, LOST), (1, BEFORE))
    ]  # fmt: skip
    mark = bookmark("back", last_lsn=BEFORE if is_back else LOST, target_version=0, kind=kind)
    message = shop.errors(
        {"back.sql": replica(ITEMS_).replace("'replica'", f"'{kind}'")},
        answer={
            **ANSWERS, r"^describe history \S*back`": history,
            r"\) as bookmarks, ": consumed([mark]),
            r"^select 1 from \S*consumer_bookmarks where": [{"1": 1}],
        },
        tables=["back"], may_write=MAY_WRITE,
    )["back"]  # fmt: skip
    said = f"of dbo_items up to {LOST}, and its bookmark says {BEFORE}, as where consumer_bookmarks"
    right = f"set target_version = 2, last_lsn = '{LOST}' where consumer = 'back' and"
    assert (said in message and right in message) == is_back, message


RESET = {"accepts_loss": True}


@pytest.mark.parametrize("on_change", ["ignore", "append_new_columns"])
def test_rows_that_have_not_changed_between_two_runs(shop: Shop, on_change: str) -> None:
    """They are left out, but where the table may have a column that no change has told it."""
    model = replica(ITEMS_, config=f", on_schema_change='{on_change}'")
    marks = [bookmark("kept", target_version=1, last_lsn=LOW)]
    with shop.with_models({"kept.sql": model}) as selection:
        shop.dbt(
            "compile", "--select", selection, tables=["kept"],
            answer={r"\) as bookmarks, ": consumed(marks)},
        )  # fmt: skip
    (path,) = (shop.project.folder / "target" / "compiled").rglob("kept.sql")
    assert ("`__$first`.image" in path.read_text(encoding="utf-8")) == (on_change == "ignore")


@pytest.mark.parametrize("mark", [None, {}, RESET, {"last_lsn": LOW}])
@pytest.mark.parametrize("strategy", ["'merge', unique_key='id'", "'append'"])
def test_rows_of_before_that_have_gone(
    shop: Shop, mark: dict[str, Any] | None, strategy: str
) -> None:
    """After reset_consumer they are still in the model, and their deletes are in its window."""
    model = feed(f"{ITEMS_}, 'net'").replace("'append'", strategy)
    marks = [] if mark is None else [bookmark("fed", target_version=1, **mark)]
    with shop.with_models({"fed.sql": model}) as selection:
        shop.dbt(
            "compile", "--select", selection, tables=["fed"] if marks else [],
            answer={r"\) as bookmarks, ": consumed(marks)},
        )  # fmt: skip
    (path,) = (shop.project.folder / "target" / "compiled").rglob("fed.sql")
    sql = path.read_text(encoding="utf-8")
    assert "__$operation" in sql
    assert ("`__$existed` and" in sql) == (mark != RESET or "append" in strategy), sql


@pytest.mark.parametrize("option", [None, "--empty", "--full-refresh"])
@pytest.mark.parametrize("kind", ["incremental", "replica"])
def test_a_view_in_the_place_of_the_table(shop: Shop, kind: str, option: str | None) -> None:
    """dbt would put a table with the latest changes alone there."""
    mark = bookmark("viewed", last_lsn=LOW, target_version=-1, kind=kind)
    model = feed(ITEMS_) if kind == "incremental" else replica(ITEMS_)
    with shop.with_models({"viewed.sql": model}) as selection:
        output = shop.dbt(
            "run", "--select", selection, *([option] if option else []), tables=["viewed"],
            answer={**ANSWERS, r"\) as bookmarks, ": consumed([mark])}, may_write=MAY_WRITE,
            may_lack=True,
        ).output  # fmt: skip
    said = "viewed exists, and the bookmark of viewed tells of a table of Delta: dbt run --full-re"
    assert ("CDC 2714: view " in output and said in output) == (option != "--full-refresh"), output


KEPT = [
    "select * from {changes}",
    "select * except (notes), 1 as one from {changes} as c",
    "select c.* except (`notes`, date), c.notes, c.`date`, `c`.`pay load` from {changes} c",
    "select\n    id,  -- upper(notes) note\n    notes\n    , `pay load`\n    , date from {changes}",
    "select id, notes as notes, c.date date, status Status from {changes} as c",
    "select distinct notes, 'upper(notes) as note' as text, \"notes\" from {changes}",
    "select *, case when id > 1 and `__$operation` = 2 then 'notes' end as kind from {changes}",
    "select *, cast(day as date) as d, day::date, date(day) f, date '2024-01-01' from {changes}",
    "select *, id + interval 1 year + interval '1' year as later, id date from {changes}",
    "select *, extract(year from id) as year, 1 notes, null as status from {changes}",
    "with notes as (select * from {changes}) select notes.*, notes.id as x from notes",
    "with c as (select id, notes from {changes}), d as (select id, notes from c) select * from d",
    "with a (id, notes) as (select id, notes from {changes}) select * from a",
    "with n as (select id, upper(notes) as note from names where status = 1 group by notes)\n"
    "select c.*, n.note from {changes} c left join n on c.id = n.id and c.status = n.status",
    "select c.id, c.notes, n.notes as other, upper(n.status) s from {changes} as c\n"
    "left outer join `db`.`names` as n on c.id = n.id and n.status = 'x' and status > 1",
    "select c.*, names.notes note from {changes} c left join db.names using (id)",
    "select c.*, n.notes note from {changes} c left join (select id, notes from x) n using (id)",
    "select *, (select max(notes) as notes from names where names.id = c.id) as m from {changes} c",
    "select id, notes from {changes} where status = 1 order by notes",
    "select id, notes from {changes} union all select id, notes from {changes}",
    "select *, count(*) filter (where id > 1) over (partition by id) n from {changes}",
]
COMPUTED = [
    "select id, year as model_year from {changes}",
    "select id, coalesce(year, 0) as y from {changes}",
    "select id, notes note from {changes}",
    "select id, notes as note from {changes}",
    "select c.notes note from {changes} c",
    "select id, upper(notes) note from {changes}",
    "select id, coalesce(upper(notes), '') as notes from {changes}",
    "select id, notes || '' as note from {changes}",
    "select id, notes::string as note from {changes}",
    "select id, case when notes like 'x%' then 1 end as flag from {changes}",
    "select id, case status when 1 then 'x' end status from {changes}",
    "select *, date + 1 as later from {changes}",
    "select *, `year` + 1 as later from {changes}",
    "select *, c.year + 1 from {changes} as c",
    "select *, year(`pay load`) from {changes} as c",
    "select *, notes.part from {changes}",
    "select *, row_number() over (partition by id order by notes) as n from {changes}",
    "select *, count(*) filter (where notes is null) over (partition by id) as n from {changes}",
    "with c as (select * from {changes}) select id, NOTES\nAS note from c",
    "with c as (select id, notes from {changes}), d as (select c.notes x from c) select * from d",
    "select * from (select id, trim(both from notes) from {changes}) as t",
    "select *, upper(notes) as note from {changes} left join names using (id)",
    "select * from {changes} union all select id, notes as note from {changes}",
]


def test_columns_that_a_model_computes_with(shop: Shop) -> None:
    """Over partial images: what an update does not tell would be NULL there."""
    columns = {name: name for name in ("notes", "status", "date", "pay_load", "year", "year_")}
    found: Any = [sql.replace("{changes}", "(\n __changes__ \n)") for sql in KEPT + COMPUTED]
    for macro in ("_without_quotes", "_without_same_names"):
        found = shop.values(*((macro, sql) for sql in found))
    found = shop.values(*(("_computed_column", columns, sql) for sql in found))
    told = dict(zip(KEPT + COMPUTED, found, strict=True))
    assert [sql for sql in KEPT if told[sql]] == []
    assert [sql for sql in COMPUTED if not told[sql]] == []


OPERATIONS = {
    "select c.*, n from {changes} c left join (select id, count(*) as n from x_ct\n"
    "where `__$operation` = 2 group by id) using (id)": False,
    "select *, count(*) filter (where `__$operation` = 2) over (partition by id) n"
    " from {changes}": False,
    "select * from {changes}": False,
    "select id, `__$operation`, c.`__$operation` as `__$operation` from {changes} c": False,
    "select *, if(`__$operation` = 1, 'gone', '') as gone from {changes}": False,
    "select *, case when 1 <> `__$operation` then `__$operation` end as o from {changes}": False,
    "select *, case when id > 1 then 4 else 1 end `__$operation` from {changes}": True,
    "select *, if(id > 1, 4, 1)`__$operation` from {changes}": True,
    "select *, 4 `__$operation` from {changes}": True,
    "select *, id as `__$OPERATION` from {changes}": True,
}


def test_operations_that_a_model_gives(shop: Shop) -> None:
    found: Any = list(OPERATIONS)
    for macro in ("_without_quotes", "_without_same_names", "_gives_operation"):
        found = shop.values(*((macro, sql) for sql in found))
    assert found == list(OPERATIONS.values())


def test_the_clauses_of_dbt_databricks() -> None:
    """Its macros of these names have other arguments than dbt-spark's."""
    source = (PACKAGE / "macros" / "consumers" / "write_consumer_table.sql").read_text()
    macros = SimpleNamespace(
        _model_properties=lambda columns, ours: ours,
        _is_building=lambda: False,
        _file_format=lambda: "delta",
        _while_open=lambda consumer, write: write,
        _write_once=lambda write, rows: write,
    )
    call = "{{ _create_as_sql('t', {}, 'select 1', {'kind': 'replica'}) }}"
    sql = jinja2.Environment(extensions=["jinja2.ext.do"]).from_string(source + call).render({
        "dbt_cdc": macros,
        "target": SimpleNamespace(type="databricks"),
        "config": SimpleNamespace(model="m"),
        "adapter": SimpleNamespace(build_catalog_relation=lambda model: f"catalog of {model}"),
        "partition_cols": lambda label: "",
        "clustered_cols": lambda label: "",
        "comment_clause": lambda: "",
        "liquid_clustered_cols": lambda: "CLUSTER BY (id)",
        "location_clause": lambda relation: f"location '{relation}'",
    })  # fmt: skip
    assert "CLUSTER BY (id)" in sql and "location 'catalog of m'" in sql


def test_all_threads_see_one_end(shop: Shop) -> None:
    """Two ask what is published at once, and another run publishes between."""
    asked, opened = [threading.Event() for _ in range(2)], threading.Event()
    bookmarks: list[str] = []

    def published_meanwhile(_: str) -> Rows:
        first, second = asked
        if not first.is_set():
            first.set()
            assert second.wait(60)
            return published()
        second.set()
        assert opened.wait(60)
        return [{**interval, "high_end": int_to_lsn(0x150)} for interval in published()]

    def note(sql: str) -> Rows:
        bookmarks.append(sql)
        opened.set()
        return []

    answer: dict[str, Answer] = {
        **ANSWERS,
        r"^select [^()]*\bhigh_end\b.* from \S*validity_intervals": published_meanwhile,
        r"\binsert into \S*consumer_bookmarks\b": note,
    }
    models = {f"{name}.sql": replica(f"'dbo_{name}'") for name in ("items", "notes")}
    with shop.with_models(models) as selection:
        shop.dbt("run", "--select", selection, "--threads", "2", answer=answer, may_lack=True)
    assert [HIGH in sql for sql in bookmarks] == [True, True]
