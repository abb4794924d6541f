"""What the DDL of a log means for a capture instance: columns that follow, and what none can
(G23)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from database import Answer
from reference.log import int_to_lsn, lsn_to_int
from shop import HIGH, INSTANCES, LOW, ORDERS, Shop
from shop import registered as known_of

PLANS = [
    # registered type, source type before, source type now, command -> type after, is_update, number
    ("int", "int", "bigint", "alter table t alter column c bigint", "bigint", True, None),
    ("int", None, "bigint", "ALTER TABLE t MODIFY COLUMN `c` bigint", "bigint", True, None),
    ("int", None, "bigint", "alter table t add d int", "int", False, None),
    ("int", None, "bigint", "alter table t add d int comment 'alter c soon'", "int", False, None),
    ("int", None, "bigint", None, "bigint", True, None),
    ("int", "int", "int", "alter table t alter column c set default 1", "int", False, None),
    ("string", "varchar(10)", "varchar(90)", None, "string", True, None),
    ("bigint", "bigint", "int", None, "bigint", True, None),
    ("int", "int", "text", None, "int", True, None),
    ("string", "text", "int", None, "string", True, None),
    ("decimal(18,4)", "decimal(18,4)", "decimal(20,2)", None, "decimal(18,4)", True, None),
    ("decimal(9,2)", "decimal(9,2)", "numeric(18, 4)", None, "decimal(18,4)", True, None),
    ("int", "int", "decimal(12,2)", None, "decimal(12,2)", True, None),
    ("smallint", "smallint", "decimal(12,2)", None, "decimal(12,2)", True, None),
    ("smallint", "smallint", "numeric(7,2)", None, "smallint", True, None),
    ("bigint", "bigint", "decimal(20,0)", None, "decimal(20,0)", True, None),
    ("bigint", "bigint", "decimal(19,0)", None, "bigint", True, None),
    ("char(5)", "char(5)", "varchar(9)", None, "varchar(9)", True, None),
    ("char(5)", "char(5)", "varchar(5)", None, "varchar(5)", True, None),
    ("char(5)", "char(5)", "varchar(3)", None, "char(5)", True, None),
    ("char(5)", "nchar(5)", "nchar(9)", None, "char(5)", True, None),
    ("varchar(5)", "varchar(5)", "char(9)", None, "varchar(5)", True, None),
    ("int", None, "int", None, "int", False, None),
    ("float", "real", "double precision", None, "double", True, None),
    ("date", "date", "timestamp", None, "date", True, None),
    ("varchar(5)", "nvarchar(5)", "nvarchar(max)", None, "string", True, None),
    ("int", "int", None, "alter table t rename column c to d", None, False, 4928),
    ("int", "int", None, "EXEC sp_rename 'dbo.t.c', 'd', 'COLUMN'", None, False, 4928),
    ("int", "int", None, "alter table t change c d int", None, False, 4928),
    ("int", "int", None, "alter table t rename c to d", None, False, 4928),
    ("int", "int", None, "alter table t drop column c", "int", False, None),
    ("int", "int", "int", "alter table t drop primary key", None, False, 22979),
    ("int", "int", "int", "alter table t rename to u", None, False, 22931),
    ("int", "int", "int", "alter table t add d int, rename to u", None, False, 22931),
    ("int", "int", "int", "sp_rename 'dbo.t', 'u'", None, False, 22931),
    ("int", "int", "int", "sp_rename @objname=N'[dbo].[T]', @newname=N'u'", None, False, 22931),
    *(("int", "int", "int", command, None, False, 22979) for command in (
        "alter table t drop constraint if exists T_PKEY",
        "alter table t drop constraint [PK__t__3213E83F]",
        "drop index concurrently if exists s.u_k",
        "drop index u_k on t",
        "alter table t drop key `U_K`",
        "DROP INDEX `PRIMARY` ON t",
    )),
    *(("int", "int", "int", command, "int", False, None) for command in (
        "alter table t drop constraint fk_primary_contact",
        "alter table t drop constraint fk_shopkeeper",
        "ALTER TABLE t DROP CONSTRAINT CK_BackupKind",
        "drop index u_k_old",
        "DROP INDEX u_k_2",
        'drop index "u_k old"',
        "ALTER INDEX i RENAME TO j",
        "ALTER TRIGGER tr ON t RENAME TO tr2",
        "alter table t comment 'when we drop primary key, say why'",
        "sp_rename 'dbo.PK_t', 'PK_u', 'OBJECT'",
        "sp_rename 'dbo.PK_t', 'PK_u'",
    )),
]  # fmt: skip
RENAMED = [
    ("alter table t #don't rename\n change a b int comment 'x'", {"a": "b"}),
    # what is a text or a comment in one database is none in others
    ('alter table t add n int default "" comment "item # 1", rename column c to d', {"c": "d"}),
    ("alter table t add n int as (data #>> '{k}') stored; alter table t rename c to d", {"c": "d"}),
    (
        "alter table t add n text default 'C:\\'; comment on t is 'a -- b';"
        " alter table t rename c to d",
        {"c": "d"},
    ),
    ("alter table t rename c to d", {"c": "d"}),
    ("ALTER TABLE t RENAME COLUMN IF EXISTS c TO d", {"c": "d"}),
    ('alter table t rename "Cust.Name" to "Client.Name"', {"cust.name": "client.name"}),
    ("alter table t rename column column to d, rename to to e", {"column": "d", "to": "e"}),
    ("alter table t change column if exists c `d` int", {"c": "d"}),
    ("sp_rename 'dbo.t.[Cust.Name]', 'Client.Name', 'COLUMN'", {"cust.name": "client.name"}),
    ("[sp_rename] @objname = N't.c', @newname = N'd', @objtype = N'column'", {"c": "d"}),
    ("EXEC sp_rename 'dbo.t.c', [d e], 'COLUMN'", {"c": "d e"}),
    (
        "exec sys.sp_rename N't.c', d, column; exec sp_rename 't.e', \"f\", 'column'",
        {"c": "d", "e": "f"},
    ),
    ("sp_rename @objtype = 'COLUMN', @newname = d, @objname = 't.[c,]'", {"c,": "d"}),
    ("sp_rename 'dbo.t.i', 'j', 'INDEX'", {}),
    ("sp_rename 'dbo.t', u", {}),
    ("alter table t rename to u", {}),
    ("rename table t to u", {}),
    (' RENAME s.t TO "u"; alter table u rename column c to d', {"c": "d"}),
    ("alter table t rename /* a; b */ column c -- why\n to # new\n d", {"c": "d"}),
    ("alter table t add d int comment '-- it\\'s /*', rename c to d", {"c": "d"}),
    ("alter table t /* rename c to d */ add e int -- , rename f to g", {}),
    ("alter table t rename constraint a to b, rename index c to d, rename key e to f", {}),
    ("alter table t add d int comment 'to change the plan, rename a to b'", {}),
    ('alter table t comment = "to change the plan", add d int default "rename a to b"', {}),
    ('alter table t change "c" `d;e` int', {"c": "d;e"}),
    ("alter table t change comment note text", {"comment": "note"}),
]
ALTERED = [
    ("alter table t add d int", "table", False),
    ("alter online table t modify column c bigint", "table", False),
    ("alter table t modify `table` bigint", "table", True),
    ("alter table t alter column x bigint", "column", False),
    ("alter table t alter column column bigint", "column", True),
    ('alter table t alter "column" type bigint', "column", True),
    ("alter index i rename to j; alter table t alter index i invisible", "index", False),
    ("alter table t alter index type bigint", "index", True),
    ("alter table t modify c bigint invisible", "c", True),
    ("alter table t modify column if exists c bigint", "c", True),
    ("alter table t change if exists `c` c bigint", "c", True),
    ("alter table t alter column if exists c type bigint", "c", True),
    ("alter table t alter column if exists c drop default", "c", False),
    ('ALTER TABLE t MODIFY (a NUMBER(10,2) DEFAULT f(g(1)), "C" VARCHAR2(20))', "c", True),
    ("alter table t modify(b number(10), c number(12))", "c", True),
    ("alter table t modify (b number(10, c)) add (a int, c int)", "c", False),
]
TABLES_RENAMED = [
    ("alter table t add n int comment 'please rename it, see 12'", None),
    ("alter table t add n int comment 'to rename soon', add m int", None),
    ("alter table t add rename int", None),
    ("alter table t nowait rename u", "u"),
    ("alter table t\n#see 1; 2\nrename to u", "u"),
    ("alter table t rename u #done", "u"),
    ('alter table t comment "it\'s", rename u, comment "that\'s"', "u"),
    ("alter table t add n int, rename u", "u"),
    ("alter table t rename to u", "u"),
    ('ALTER TABLE IF EXISTS ONLY s."T" ADD d int, RENAME AS "New.T"', "New.T"),
    ("RENAME TABLE s.t TO s.`t_Old`, t_new TO t", "t_Old"),
    ("rename /* gh-ost */ table `s`.`t` to `s`.`_t_del`, `s`.`_t_gho` to `s`.`t`", "_t_del"),
    ("RENAME TABLES IF EXISTS t WAIT 5 TO u", "u"),
    ("alter online table t rename u, add d int", "u"),
    ("alter /*!50000 ignore */ table t rename u", "u"),
    ("alter table t rename column a to b, rename index c to d, rename e to f", None),
    ("alter table t_new rename to u -- alter table t rename to v", None),
    ("rename table t_old to t", None),
    ('-- Oracle\nRENAME "T" TO t_old', "t_old"),
    ("alter table o add n int; rename table s.t to u", "u"),
    ("rename index t to u", None),
    ("rename t_new to t", None),
    ("alter table other rename to t", None),
    ("alter table t add d int; alter index i rename to j", None),
    ("EXEC sp_rename 'dbo.t', 'New.T'", "New.T"),
    ("EXEC sp_rename 'dbo.t', u", "u"),
    ("EXEC sp_rename @newname = [u v], @objname = t, @objtype = NULL", "u v"),
    ("sp_rename 'dbo.t', 'u', DEFAULT", "u"),
    ("sp_rename 'dbo.t'", None),
    ("alter table t rename = u", "u"),
    ("alter table t add n int, rename=`u v`", "u v"),
    ("sp_rename 'dbo.t.c', 'd', 'COLUMN'", None),
    ("alter table t add n int comment 'please rename to u'", None),
    ('alter table t comment "please rename to u", add n int default "; rename t to u"', None),
    ("alter table t add n text default 'it''s; rename table t to u'", None),
    ("alter table t add n text default 'C:\\'; alter table t rename to u", "u"),
    ('alter table t rename to "rename to, v;w"', "rename to, v;w"),
    (None, None),
]
INSTANCE = {"source_schema": "s", "source_name": "t", "index_columns": ["k"], "name": "i",
            "index_name": "u_k"}  # fmt: skip


def registered(*types: tuple[str, str, str | None], **other: Any) -> dict[str, Any]:
    """What is known of the instance: name, type, source type of its columns."""
    names = ("column_name", "column_type", "source_type")
    return {"columns": [dict(zip(names, column, strict=True)) for column in types], **other}


def change(lsn: str = "0x1", operation: str = "DDL", **other: Any) -> dict[str, Any]:
    """A record of the table's log."""
    record = {"source_schema": "s", "source_name": "t", "commit_lsn": lsn, "operation": operation}
    return {
        **record,
        "lsn": lsn,
        "columns": None,
        "is_dropped": False,
        "ddl_command": None,
        **other,
    }


def listed(**types: str | None) -> list[dict[str, str]]:
    """The columns that a DDL record leaves; those without a type are gone."""
    return [{"name": name, "type": kind} for name, kind in types.items() if kind]


def plans(shop: Shop, *cases: tuple[Any, ...]) -> list[dict[str, Any]]:
    """The plans for what is registered and the changes after it, of a published instance unless
    a third value is false."""
    return shop.values(*(("_plan_schema_changes", INSTANCE, *case) for case in cases))


def test_what_each_change_means(shop: Shop) -> None:
    cases = [
        (registered(("k", "int", "int"), ("c", kind, before)),
         [change(columns=listed(k="int", C=now), ddl_command=command)])
        for kind, before, now, command, *_ in PLANS
    ]  # fmt: skip
    for case, plan in zip(PLANS, plans(shop, *cases), strict=True):
        problem = plan["problem"] and plan["problem"]["number"]
        kind = None if problem else plan["columns"]["c"]["type"]
        assert (kind, plan["history"][0]["is_update"], problem) == case[4:], case


def test_a_char_column_is_outgrown(shop: Shop) -> None:
    """A varchar keeps blanks at the end, a char does not."""
    plan = {"columns": {"c": {"type": "char(5)", "source_type": "varchar(3)"},
                        "d": {"type": "char(5)", "source_type": "nchar(3)"}}}  # fmt: skip
    assert shop.values(("_outgrown_columns", plan)) == [{"c": "varchar(3)"}]


def test_renamed_columns(shop: Shop) -> None:
    found = shop.values(*(("_renamed_columns", command) for command, _ in RENAMED))
    assert list(zip([command for command, _ in RENAMED], found, strict=True)) == RENAMED


def test_altered_columns(shop: Shop) -> None:
    calls = [("_alters_column", command, column) for command, column, _ in ALTERED]
    assert shop.values(*calls) == [is_altered for _, _, is_altered in ALTERED]


def test_renamed_columns_of_a_tracked_table(shop: Shop) -> None:
    """A name that is listed behind the statement was not renamed, unless another column took it."""
    columns = [{"name": "type"}, {"name": "change"}]
    tracked = {"table": "s.t", "model": "t", "columns": columns, "all_columns": columns}

    def said(command: str, *names: str) -> str:
        shown = change(columns=[{"name": name} for name in names], ddl_command=command)
        return shop.operation("ask", calls=[("_check_renamed_columns", tracked, shown)]).output

    altered = "alter table t alter change type bigint"
    assert "22930" not in said(altered, "type", "change")
    assert "22930" not in said("alter table t add n int comment 'to change type later'")
    assert "column type of table s.t, which is tracked, was renamed to 'kind'" in said(
        "alter table t rename type to kind, add type int", "type", "change", "kind"
    )
    assert "was renamed to 'kind'" in said("alter table t change type kind int", "kind", "change")
    assert "was renamed to 'kind'" in said("alter table t change type kind int")


def test_a_column_is_renamed_more_than_once(shop: Shop) -> None:
    """The instance that goes on has the last name of the window; one that a column had again is
    right. What a text of several statements does is one rename."""
    known = registered(("k", "int", "int"), ("c", "int", "int"))

    def renames(*names: str, table: str = "t") -> list[dict[str, Any]]:
        return [
            change(f"0x{n}", columns=listed(k="int", **{new: "int"}), source_name=table,
                   ddl_command=f"alter table {table} rename column {old} to {new}")
            for n, (old, new) in enumerate(itertools.pairwise(names), 2)
        ]  # fmt: skip

    key_dropped = change("0x1", columns=listed(k="int", c="int"),
                         ddl_command="alter table t drop primary key")  # fmt: skip
    moved = change("0x1", ddl_command="alter table t rename to u")
    at_once = change("0x1", columns=listed(k="int", E="int"),
                     ddl_command="exec sp_rename 't.c', 'd', 'column';"
                     " exec sp_rename 't.d', 'E', 'column'")  # fmt: skip
    found = plans(
        shop, (known, renames("c", "d", "e")), (known, renames("c", "d", "c")),
        (known, [key_dropped, *renames("c", "d")]), (known, [moved, *renames("c", "d", table="u")]),
        (known, [at_once]), (known, [key_dropped]), (known, [moved, *renames("c", "d")]),
    )  # fmt: skip
    problems = [plan["problem"] for plan in found]
    assert [p["number"] for p in problems] == [4928, 4928, 22979, 22931, 4928, 22979, 22931]
    assert [p.get("renamed") for p in problems] == [
        {"c": "e"}, {"c": "c"}, {"c": "d"}, {"c": "d"}, {"c": "e", "d": "e"}, None, None,
    ]  # fmt: skip
    asked = [[(r["place"], r["old"], r["new"]) for r in p.get("renames", [])] for p in problems]
    assert asked == [
        [("0x2", "c", "e"), ("0x3", "d", "e")], [("0x3", "d", "c")], [("0x2", "c", "d")],
        [("0x2", "c", "d")], [("0x1", "c", "E")], [], [],
    ]  # fmt: skip


def test_a_key_that_gets_its_name_later_in_the_window(shop: Shop) -> None:
    """It does not stop the new instance that has it."""
    new = {**registered(("no", "int", None)), "lost_lsn": "0x0"}
    instance = {**INSTANCE, "index_columns": ["no"]}
    first = change("0x1", columns=listed(nr="int"), ddl_command="alter table t rename id to nr")
    last = change("0x2", columns=listed(no="int"), ddl_command="alter table t rename nr to no")
    found = shop.values(*(
        ("_plan_schema_changes", instance, new, changes, False)
        for changes in ([first, last], [first])
    ))  # fmt: skip
    assert [(plan["problem"] or {}).get("number") for plan in found] == [None, 22983]


def records_before(shop: Shop, commands: Sequence[str], *listings: Any) -> tuple[str, str, str]:
    """Where dbo.orders is renamed by the commands and dbo_orders_v2 is entered for it: the query
    for records with old names, and what the error says where there are some."""
    shown = {"source_schema": "dbo", "source_name": "orders", "operation": "DDL"}
    lsns = [int_to_lsn(lsn_to_int(LOW) + n) for n in range(len(commands))]
    logged = [
        {"lsn": lsn, **shown, "ddl_command": command, "after_image": json.dumps(columns)}
        for lsn, command, columns in zip(lsns, commands, listings, strict=True)
    ]
    asked = []

    def answer(sql: str) -> list[dict[str, Any]]:
        asked.append(sql)
        return [{"records": 2, "first_lsn": LOW, "last_lsn": HIGH}]

    names = [i.capture_instance for i in INSTANCES]
    window = {
        "previous_lsn": int_to_lsn(lsn_to_int(LOW) - 1), "to_lsn": HIGH, "log": "landed",
        "floor_lsn": LOW, "touched_tables": [],
        "published": [name for name in names if name != "dbo_orders_v2"],
        "schema_changes": [{**shown, "lsn": lsn, "commit_lsn": HIGH, "record_time": None}
                           for lsn in lsns],
    }  # fmt: skip
    (found,) = shop.values(("_plan_instances", window, False), answer={
        "select lsn, source_schema, source_name, ddl_command, after_image": logged,
        r"count\(\*\) as records, min": answer,
    })  # fmt: skip
    problems = [found["plans"][name]["problem"] for name in ("dbo_orders", "dbo_orders_v2")]
    assert problems[0] == problems[1]
    return asked[0], problems[0]["text"], problems[0]["advice"]


def test_records_with_a_name_between_two_renames(shop: Shop) -> None:
    commands = [f"alter table orders rename {names}" for names in ("qty to n", "n to amount")]
    sql, text, advice = records_before(
        shop, commands, listed(id="int", n="int"), listed(id="int", amount="int"))  # fmt: skip
    for n, name in enumerate(("qty", "n")):
        place = int_to_lsn(lsn_to_int(LOW) + n)
        assert f"log.lsn < '{place}' and arrays_overlap(" in sql and f"array('{name}'))" in sql
    assert "was renamed to 'n', behind 2 records of this window that have the old name" in text
    assert "give them the new name, too (qty is amount, n is amount; an UPDATE of landed" in advice


def test_records_whose_name_another_column_takes(shop: Shop) -> None:
    """One that was corrected has both names. Of two columns that swap theirs none tells it, nor of
    images that may lack one."""
    take = "alter table orders rename qty to old_qty, rename n to qty"
    sql, _, advice = records_before(shop, [take], listed(id="int", old_qty="int", qty="int"))
    assert sql.count("json_object_keys(image)") == 2
    assert "json_object_keys(image), 'old_qty'))" in sql
    assert "give them the new name, too (qty is old_qty; an UPDATE of landed" in advice
    swap = "alter table orders rename column qty to n, rename column n to qty"
    sql, _, advice = records_before(shop, [swap], listed(id="int", n="int", qty="int"))
    assert "array('qty'))" in sql and "json_object_keys(image)" not in sql
    assert advice.startswith("other columns have the names qty now, so no record would tell that")
    assert "corrected: capture the table anew, without this window: disable" in advice
    known = registered(("c", "int", "int"), ("b", "int", "int"))
    taken = change(columns=listed(a="int", c="int"), ddl_command="alter table t rename c to a,"
                   " rename b to c")  # fmt: skip
    found = shop.values(*(
        ("_plan_schema_changes", {**INSTANCE, "before_image": images}, known, [taken])
        for images in ("complete", "partial")
    ))  # fmt: skip
    told = [[(r["old"], r["is_taken"], r["is_ambiguous"]) for r in plan["problem"]["renames"]]
            for plan in found]  # fmt: skip
    assert told == [[("c", True, is_partial), ("b", False, False)] for is_partial in (False, True)]


def test_a_column_gets_another_letter_case(shop: Shop) -> None:
    """Images bear the new name then; a statement may spell a name that stays as it is otherwise."""
    known = registered(("k", "int", "int"), ("c", "int", "int"))
    given = [
        ("alter table t change c C int", listed(k="int", C="int"), 4928),
        ("alter table t change C c bigint", listed(k="int", c="bigint"), None),
        ("alter table t rename column k to K", listed(k="int", C="int"), None),
        ("sp_rename 't.c', 'C', 'COLUMN'", listed(k="int", C="int"), 4928),
        ("create table t (k int, C int)", listed(k="int", C="int"), 4928),
    ]
    cases = [(known, [change(columns=names, ddl_command=text)]) for text, names, _ in given]
    for case, plan in zip(given, plans(shop, *cases), strict=True):
        assert (plan["problem"] or {}).get("number") == case[2], case


def test_another_column_takes_the_name(shop: Shop) -> None:
    """In the same statement. A text may be that of another table's column of the name."""
    known = registered(("k", "int", "int"), ("c", "int", "int"))
    given = [
        ("alter table t rename column c to d, add column c int", listed(k="int", d="int", c="int")),
        ("alter table t change c d int, add c int", listed(k="int", d="int", c="int")),
        ("alter table t rename column C to k, rename column k to c", listed(c="int", k="int")),
        ("alter table u rename c to d; alter table t add e int", listed(k="int", c="int", e="int")),
        ('alter table t comment "a;b", change c k int, change k c int', listed(k="int", c="int")),
        ("alter table u rename c to k; alter table t add e int", listed(k="int", c="int", e="int")),
        ("alter table t modify c int comment 'change c k so'", listed(k="int", c="int")),
    ]
    cases = [(known, [change(columns=names, ddl_command=text)]) for text, names in given]
    found = plans(shop, *cases, (*cases[0], False))
    texts = [(plan["problem"] or {}).get("text") for plan in found]
    assert texts == [
        "captured column 'c' was renamed to 'd'",
        "captured column 'c' was renamed to 'd'",
        "captured column 'k' was renamed to 'c'",
        None,
        "captured column 'k' was renamed to 'c'",
        None,
        None,
        None,
    ]
    assert {plan["problem"]["number"] for plan in found[:3]} == {4928}


def test_another_table_takes_the_name(shop: Shop) -> None:
    """As tools that alter a copy do: a second instance is one of the table by its name."""
    text = "RENAME TABLE s.t TO s._t_del, s._t_gho TO s.t"
    known = registered(("k", "int", "int"))
    (plan,) = plans(shop, (known, [change(columns=listed(k="int"), ddl_command=text)]))
    assert plan["problem"]["number"] == 22931
    assert plan["problem"]["text"].startswith("'_t_gho' took its name, and it is '_t_del' now")
    assert "new_name" not in plan["problem"]


def test_another_table_takes_the_name_by_a_record_of_its_own(shop: Shop) -> None:
    """At the same commit, as Debezium's of each clause, or later in the window; a record of the
    renamed table alone says where later changes are."""
    known = registered(("k", "int", "int"))
    gone = change("0x1", ddl_command="RENAME /* a tool */ TABLE s.t TO s._t_old")
    taken = {"columns": listed(k="int"), "ddl_command": "RENAME TABLE s._t_new TO s.t"}
    found = plans(
        shop, (known, [gone, change("0x1", **taken)]), (known, [gone, change("0x3", **taken)]),
        (known, [change("0x1", **taken)]), (known, [gone]), (known, [gone, change(**taken)], False),
    )  # fmt: skip
    both = "'_t_new' took its name, and it is '_t_old' now, as where"
    texts = [(plan["problem"] or {"text": ""})["text"] for plan in found]
    assert [text.startswith(both) for text in texts] == [True, True, False, False, False]
    assert texts[2].startswith("'_t_new' took its name, as where")
    assert [(plan["problem"] or {}).get("new_name") for plan in found] == [
        None, None, None, "_t_old", None,
    ]  # fmt: skip
    assert {plan["problem"]["number"] for plan in found[:4]} == {22931}


def test_another_table_takes_the_name_of_a_dropped_one(shop: Shop) -> None:
    """Its rows are others."""
    known = registered(("k", "int", "int"))
    taken = change("0x2", columns=listed(k="int"), ddl_command="rename table t_new to t")
    found = plans(
        shop, (known, [change("0x1", is_dropped=True), taken]),
        ({**known, "has_drop_pending": True}, [taken]),
    )  # fmt: skip
    for plan in found:
        assert not plan["problem"]
        assert (plan["emptied_lsn"], plan["is_dropped"]) == ("0x2", False)
        assert plan["emptied_by"] == "dropped, and 't_new' took its name"


def test_another_table_takes_the_name_of_a_dropped_one_and_the_publication_dies(shop: Shop) -> None:
    """The low end that it has raised is above the DROP."""
    known = registered(("k", "int", "int"), start_lsn="0x2", lost_lsn="0x2", has_drop_pending=False)
    taken = change("0x2", columns=listed(k="int"), ddl_command="rename table t_new to t")
    more = {**change("0x2", columns=listed(k="int")), "lsn": "0x2a"}
    gone = change("0x1", is_dropped=True)
    again, later = plans(
        shop, (known, [gone, taken, more]), ({**known, "lost_lsn": "0x1"}, [gone, taken])
    )
    assert (again["problem"], again["emptied_lsn"], again["emptied_place"]) == (None, "0x2", "0x2")
    assert later["problem"]["number"] == 22931


def test_what_a_record_says_of_its_table(shop: Shop) -> None:
    """That of a rename has the columns of another name; comments say nothing."""
    commands = {
        "0x1": ("rename /* gh-ost */ table s.t to s._t_del", False, None),
        "0x2": ("rename table s._t_gho to s.t", True, False),
        "0x3": ("drop /* all */ table s.t", None, True),
        "0x4": ("analyze t -- drop table t", None, None),
        "0x5": ("drop database s", None, True),
        "0x6": ("/* all */ create or replace table t (k int)", True, False),
        "0x7": ("#m4;2\ncreate or replace table t (k int)", None, False),
        "0x8": ("create or replace temporary table t (k int)", True, False),
    }
    image = json.dumps(listed(k="int"))
    logged = [
        {"lsn": lsn, "source_schema": "s", "source_name": "t", "ddl_command": command,
         "after_image": None if has_columns is None else image}
        for lsn, (command, has_columns, _) in commands.items()
    ]  # fmt: skip
    answer = {r"select lsn, source_schema, source_name, ddl_command, after_image": logged}
    changes = [change(lsn) for lsn in commands]
    (found,) = shop.values(("_read_schema_changes", changes, "log"), answer=answer)
    assert [(bool(c["columns"]), c["is_dropped"]) for c in found] == [
        (bool(has_columns), is_dropped) for _, has_columns, is_dropped in commands.values()
    ]
    assert [c["lsn"] for c in found if c["is_replaced"]] == ["0x6", "0x7"]


def test_the_new_name_of_a_table(shop: Shop) -> None:
    found = shop.values(*(("_new_name_of_table", command, "t") for command, _ in TABLES_RENAMED))
    assert list(zip([c for c, _ in TABLES_RENAMED], found, strict=True)) == TABLES_RENAMED


def test_a_table_as_a_commit_tells_it(shop: Shop) -> None:
    """The statement that respells one replaces this text."""
    table = {"source_schema": 'a"b', "source_name": "GRÖSSE\\"}
    text = r'"source_schema":"a\"b","source_name":"' + 'GRÖSSE\\\\"'
    assert shop.values(("_table_as_json", table)) == [text]


def test_who_goes_on_with_a_table(shop: Shop) -> None:
    """One of its name, or of the one that it was given, which a statement may spell otherwise."""
    stopped = {"source_schema": "dbo", "source_name": "orders"}
    renamed, retyped = {"new_name": "Bills"}, {}
    given = [
        ("dbo", "orders", retyped), ("dbo", "Orders", retyped), ("dbo", "bills", retyped),
        ("dbo", "orders", renamed), ("dbo", "bills", renamed), ("s", "bills", renamed),
    ]  # fmt: skip
    found = shop.values(*(
        ("_goes_on_with", {"source_schema": schema, "source_name": name}, stopped, problem)
        for schema, name, problem in given
    ))  # fmt: skip
    assert found == [True, False, False, True, True, False]


def test_an_instance_that_was_there_takes_over_what_it_captures(shop: Shop) -> None:
    """Of what the other one cannot follow; one that this window enters takes over as it is."""
    columns = [{"name": name} for name, _ in ORDERS.columns]
    stopped = {"name": "dbo_orders", "source_schema": "dbo", "source_name": "orders"}
    window = {"published": [i.capture_instance for i in INSTANCES], "previous_lsn": LOW}
    given = [
        ({"qty": "quantity"}, False, None), ({"qty": "quantity"}, True, "dbo_orders_v2"),
        ({"qty": "qty"}, False, "dbo_orders_v2"), ({"other": "o"}, False, "dbo_orders_v2"),
        (None, False, "dbo_orders_v2"),
    ]  # fmt: skip
    _, *found = shop.values(
        ("_plan_instances", window, False),
        *(("_successor_of", {**stopped, "columns": columns}, {"lsn": HIGH, "renamed": renamed},
           {"dbo_orders_v2": {"is_new": is_new, "problem": None}}) for renamed, is_new, _ in given),
    )  # fmt: skip
    assert found == [name for *_, name in given]


def test_a_new_instance_is_asked_whatever_the_window_touches(shop: Shop) -> None:
    """Its records may have been given its table since the window was opened; in a first window
    all are new, and in none is one that was published."""
    instance = {"name": "dbo_notes", "source_schema": "dbo", "source_name": "notes"}
    others = [i.capture_instance for i in INSTANCES if i.capture_instance != "dbo_notes"]
    enters = {"previous_lsn": int_to_lsn(lsn_to_int(LOW) - 1), "to_lsn": HIGH, "log": "landed",
              "touched_tables": [], "ends_with_rows": True, "published": others}  # fmt: skip
    later = {**enters, "published": [*others, "dbo_notes"]}
    windows = [enters, later, {**enters, "previous_lsn": int_to_lsn(0), "published": []}]
    seen = shop.values(*(
        ("_instance_window", {**instance, "registered": {"start_lsn": LOW}},
         {**window, "transactions_relation": "transactions"}) for window in windows
    ))  # fmt: skip
    found = shop.values(
        ("_plan_instances", later, False),
        *(("_is_touched", instance, window) for window in seen),
        *(("_mapping_rows", window) for window in windows),
    )[1:]
    assert found[:3] == [True, False, False]
    assert ["dbo_notes_ct" in sql for sql in found[3:]] == [True, False, False]


def test_a_value_that_does_not_fit_is_of_its_column(shop: Shop) -> None:
    """Which whoever goes on has to capture."""
    instance = {
        "name": "dbo_orders", "source_schema": "dbo", "source_name": "orders", "index_columns": [],
        "before_image": "complete", "table": "dbo.orders",
        "columns": [{"name": "Qty", "data_type": "int", "config": {"meta": {}}}],
    }  # fmt: skip
    window = {
        "published": ["dbo_orders"], "previous_lsn": LOW, "to_lsn": HIGH, "log": "landed",
        "touched_tables": [{"source_schema": "dbo", "source_name": "orders"}],
    }  # fmt: skip
    plan = {"columns": {"Qty": {"type": "int", "source_type": "nvarchar(20)"}}}
    answer: dict[str, Answer] = {"from placed where place in": [{"lsn": HIGH, "name": "Qty"}]}
    (found,) = shop.values(("_problem_of_values", instance, plan, window), answer=answer)
    assert (found["number"], found["lsn"]) == (22978, HIGH)
    assert found["renamed"] == {"qty": "qty"}


def test_a_letter_case_is_no_column_of_its_own_across_instances(shop: Shop) -> None:
    """The newer one's counts; each is read as it has it, and its mask by its place."""
    names = ("column_name", "column_type")
    new, old = (
        {"columns": [dict(zip(names, column, strict=True)) for column in columns]}
        for columns in (
            (("id", "int"), ("Email", "varchar(20)")),
            (("id", "int"), ("email", "varchar(9)"), ("ID2", "int")),
        )
    )
    (columns,) = shop.values(("_columns_across", [new, old]))
    assert columns == {"id": "int", "Email": "varchar(20)", "ID2": "int"}
    found = shop.values(
        ("_column_across", "Email", "varchar(20)", new),
        ("_column_across", "Email", "varchar(20)", old),
        ("_column_across", "ID2", "int", new),
        ("_mask_across", columns, old),
    )
    assert found[1].startswith("cast(`email` as ")
    assert found[0::2] == ["`Email`", "cast(null as int)"] and found[3] == "`__$update_mask`"


def test_a_dropped_key_stops(shop: Shop) -> None:
    known = registered(("k", "int", "int"))
    found = plans(
        shop,
        (known, [change(columns=listed(c="int"), ddl_command="")]),
        (known, [change(columns=listed(k="int"), ddl_command="drop index u_k on t")]),
        (known, [change(columns=listed(k="int"), ddl_command="drop index other on t")]),
    )
    assert [plan["problem"] and plan["problem"]["number"] for plan in found] == [22983, 22979, None]


def test_old_ddl_does_not_stop_a_new_instance(shop: Shop) -> None:
    """Nor one whose log began before the key was there; a key that went stops it, as one that was
    there before the instance began."""
    known = registered(("k", "int", None), ("c", "int", None))
    late = {**known, "lost_lsn": "0x0"}
    seen = registered(("k", "int", "int"), ("c", "int", "int"))  # by a run that died
    without, whole = listed(c="int"), listed(k="int", c="int")
    added = [
        change("0x1", columns=without, ddl_command="create table t (c int)"),
        change("0x2", columns=without, ddl_command="alter table t alter c set default 1"),
        change("0x3", columns=whole, ddl_command="alter table t add k int"),
    ]
    undone = [
        change("0x1", columns=whole, ddl_command="alter table t drop primary key"),
        change("0x2", columns=whole, ddl_command="alter table t rename to u"),
        change("0x3", columns=listed(k="bigint", c="int")),
    ]
    dropped = [
        change("0x1", columns=whole),
        change("0x2", columns=without, ddl_command="alter table t drop column k"),
    ]
    found = plans(
        shop,
        (known, added, False), (known, undone, False), (seen, added, False),
        (known, dropped, False), (late, dropped[1:], False), (known, dropped[1:], True),
        (registered(("k", "int", None), ("c", "int", "int")), added[1:], True),
    )  # fmt: skip
    problems = [plan["problem"] and plan["problem"]["number"] for plan in found]
    assert problems == [None, None, None, 22983, 22983, 22983, None]
    assert found[1]["columns"]["k"]["type"] == "bigint"
    assert [len(plan["history"]) for plan in found[:3]] == [3, 3, 3]


def test_the_advised_key_has_the_columns_that_are_left(shop: Shop) -> None:
    """By the table's last DDL record."""
    columns = [{"name": name} for name in ("id", "gone", "qty")]
    table = {"source_schema": "dbo", "source_name": "orders", "name": "dbo_orders"}
    whole, none = shop.values(*(
        ("_second_instance_advice", {**table, "columns": columns, "index_columns": key})
        for key in (["ID", "gone"], ["gone"])
    ))  # fmt: skip
    assert "capture_instance: dbo_orders_2, index_columns: [id]}'" in whole
    assert "capture_instance: dbo_orders_2}'" in none


def test_the_advice_makes_room_for_a_third_instance(shop: Shop) -> None:
    """enable_table refuses it beside two: one that has ended goes first, or one that is not
    stopped, else the older one. The new name is one that nobody has."""
    table = {"source_schema": "dbo", "index_columns": ["id"]}
    orders = {**table, "source_name": "orders", "name": "dbo_orders"}
    lsns = [int_to_lsn(lsn_to_int(LOW) + n) for n in range(3)]
    window = {
        "previous_lsn": LOW, "to_lsn": HIGH, "log": "landed", "touched_tables": [],
        "floor_lsn": LOW, "published": [i.capture_instance for i in INSTANCES],
        "schema_changes": [{"source_schema": "dbo", "source_name": "orders", "operation": "DDL",
                            "lsn": HIGH, "commit_lsn": HIGH, "record_time": None}],
    }  # fmt: skip
    rename = "alter table orders rename column qty to quantity"

    def advice(instance: dict[str, Any], command: str | None = None, **ends: Any) -> str:
        image = json.dumps(listed(id="int", **{"quantity" if command else "qty": "int"}))
        record = {"source_schema": "dbo", "source_name": "orders", "lsn": HIGH}
        rows = [
            known_of(i, start_lsn=lsns[i is ORDERS], **(ends if i is ORDERS else {}))
            for i in INSTANCES
        ]  # fmt: skip
        given: dict[str, Answer] = {
            "select lsn, source_schema, source_name, ddl_command, after_image": [
                {**record, "ddl_command": command, "after_image": image}
            ],
            r"from \S*change_tables as instances": rows,
        }
        calls = ("_plan_instances", window, False), ("_second_instance_advice", instance)
        return str(shop.values(*calls, answer=given)[1])

    v2 = {**orders, "name": "dbo_orders_v2"}
    assert "disable" not in advice({**table, "source_name": "notes", "name": "dbo_notes"})
    found = [
        advice(orders), advice(v2), advice(orders, rename), advice(v2, rename),
        advice(v2, rename, end_lsn=HIGH),
    ]  # fmt: skip
    whom = [text.split("those who read '")[1].split(", to the")[0] for text in found]
    older = "dbo_orders_v2', which is the older of the two that stop here"
    assert whom == [
        "dbo_orders_v2', which goes on", "dbo_orders', which goes on", older, older,
        "dbo_orders', which has ended",
    ]  # fmt: skip
    assert "source_name: orders, capture_instance: dbo_orders_v2, dry_run: false}'; de" in found[2]
    assert "; delete its model, its YAML and its name in cdc_capture_instances; then m" in found[2]
    kept = [text.split("at that commit, ")[1].split(" one ends")[0] for text in found]
    assert kept == ["this", "this", "this", "the other", "this"]
    (named,) = shop.values(("_free_name", {"name": "dbo_Notes"}, {"dbo_notes_2": {}}))
    assert named == "dbo_Notes_3"


def test_only_changes_of_its_table_while_it_captures(shop: Shop) -> None:
    known = registered(("k", "int", "int"), start_lsn="0x2", end_lsn="0x4")
    wide = {"columns": listed(k="bigint")}
    found = plans(
        shop,
        *((known, [change(lsn, **wide)]) for lsn in ("0x1", "0x2", "0x3", "0x4")),
        (known, [change("0x2", source_name="u", **wide)]),
        (known, [change("0x2", source_schema="S", **wide)]),
    )
    types = [plan["columns"]["k"]["type"] for plan in found]
    assert types == ["int", "bigint", "bigint", "int", "int", "int"]
    assert [len(plan["history"]) for plan in found] == [0, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("begins_with", ["log_start", "now"])
def test_what_a_publication_that_died_has_emptied(shop: Shop, begins_with: str) -> None:
    """An instance that begins with the log has the plan of that run."""
    known = registered(("k", "int", None), start_lsn="0x3", lost_lsn="0x2")
    changes = [change("0x1", is_dropped=True), change("0x2", columns=listed(k="int"))]
    instance = {**INSTANCE, "capture_from": begins_with}
    again, published = shop.values(
        *(
            ("_plan_schema_changes", instance, known, changes, is_there)
            for is_there in (False, True)
        )
    )
    assert again["emptied_lsn"] == ("0x2" if begins_with == "log_start" else None)
    assert published["emptied_lsn"] is None


def test_changes_follow_each_other(shop: Shop) -> None:
    """Up to the first that stops the instance; it is the last in the history."""
    changes = [
        change("0x1", columns=listed(k="bigint")),
        change("0x2", operation="TRUNCATE"),
        change("0x3", columns=listed(k="decimal(20,0)")),
        change("0x4", columns=listed(k="text")),
        change("0x5", columns=listed(q="text"), ddl_command="alter table t rename column k to q"),
        change("0x6", columns=listed(k="decimal(30,0)")),
    ]
    (plan,) = plans(shop, (registered(("k", "int", "int")), changes))
    k = {"type": "decimal(20,0)", "source_type": "text", "declared_type": None}
    assert plan["columns"] == {"k": k}
    assert (plan["emptied_lsn"], plan["emptied_by"]) == ("0x2", "truncated")
    assert plan["emptied_place"] == "0x2"
    assert [(c["commit_lsn"], c["is_update"]) for c in plan["history"]] == [
        ("0x1", True), ("0x2", False), ("0x3", True), ("0x4", True), ("0x5", False),
    ]  # fmt: skip
    assert (plan["problem"]["lsn"], plan["problem"]["number"]) == ("0x5", 4928)
    assert "column 'k' was renamed to 'q'" in plan["problem"]["text"]


def test_a_dropped_table_is_pending_until_it_comes_back(shop: Shop) -> None:
    known = registered(("k", "int", "int"))
    gone, back = change("0x1", is_dropped=True), change("0x2", columns=listed(k="int"))
    other = change("0x3", ddl_command="grant select on t to r", is_dropped=None)
    again = change("0x4", is_dropped=True)
    pending = {**known, "has_drop_pending": True}
    found = plans(
        shop, (known, [gone]), (known, [gone, other]), (known, [gone, back, other]), (known, []),
        (pending, [back, other, again]), (pending, [other]), (known, [back]),
    )  # fmt: skip
    assert [plan["is_dropped"] for plan in found] == [True, True, False, None, True, None, False]
    lsns = [plan["emptied_lsn"] for plan in found]
    assert lsns == [None, None, "0x2", None, "0x2", None, None]
    assert found[2]["emptied_by"] == "dropped and made again"


def test_a_replaced_table_is_empty(shop: Shop) -> None:
    """With one statement; what it lists, it has."""
    known = registered(("k", "int", "int"))
    replaced = change("0x2", columns=listed(k="bigint"), is_replaced=True)
    found = plans(shop, (known, [replaced]), (known, [{**replaced, "columns": None}]))
    for plan, kind in zip(found, ("bigint", "int"), strict=True):
        assert (plan["emptied_lsn"], plan["emptied_place"]) == ("0x2", "0x2")
        assert (plan["emptied_by"], plan["is_dropped"]) == ("dropped and made again", False)
        assert plan["columns"]["k"]["type"] == kind


TYPES = [
    ("NVARCHAR(50)", "varchar(50)"), ("nvarchar(max)", "string"),
    ("varchar2 ( 20 )", "varchar(20)"),
    ("character varying", "string"), ("char", "char(1)"), ("bpchar(3)", "char(3)"),
    ("CHAR(10 BYTE)", "char(10)"), ("VARCHAR2(10 CHAR)", "varchar(10)"), ("char(max)", "string"),
    ("long", "bigint"), ("LONG RAW", "binary"),
    ("bit", "boolean"), ("tinyint unsigned", "smallint"), ("int unsigned", "bigint"),
    ("bigint unsigned", "decimal(20,0)"), ("numeric", "decimal(38,18)"),
    ("number(9)", "decimal(9,0)"),
    ("number(*,0)", "decimal(38,0)"), ("number(*, 4)", "decimal(38,4)"),
    ("number(*)", "decimal(38,18)"), ("numeric(5,-2)", "decimal(7,0)"),
    ("number(38,-9)", "decimal(38,0)"), ("numeric(3,5)", "decimal(5,5)"),
    ("numeric(50, 45)", "decimal(38,38)"), ("decimal(65, 30)", "decimal(38,30)"),
    ("money", "decimal(19,4)"), ("float8", "double"),
    ("datetime2(7)", "timestamp"), ("timestamp(6) with time zone", "timestamp"),
    ("timestamp_ntz", "timestamp_ntz"), ("varbinary(16)", "binary"), ("mediumblob", "binary"),
    ("jsonb", "string"), ("uuid", "string"), ("int[]", "string"), ("time", "string"),
    ("bit(8)", "string"), ("int(10) unsigned zerofill", "bigint"), ("int zerofill", "bigint"),
    ("bigint(20) zerofill", "decimal(20,0)"), ("bigint signed", "bigint"), ("year(4)", "int"),
    ("decimal unsigned(10,2)", "decimal(10,2)"), ("fixed zerofill(9,3)", "decimal(9,3)"),
    ("double unsigned", "double"),
]  # fmt: skip
# As docs/sources/mysql.md has them.
BINLOG_TYPES = [
    ("tinyint(1)", "smallint"), ("mediumint unsigned", "int"), ("bigint unsigned", "decimal(20,0)"),
    ("decimal unsigned(10,2)", "decimal(10,2)"), ("float", "float"), ("float(30)", "double"),
    ("float unsigned(7,4)", "float"), ("double unsigned", "double"), ("real", "float"),
    ("int1", "smallint"), ("middleint", "int"),
    ("int2 unsigned", "int"), ("int8 unsigned", "decimal(20,0)"),
    ("datetime(3)", "timestamp"), ("timestamp", "timestamp"), ("time(6)", "bigint"),
    ("time", "bigint"), ("year", "int"), ("enum", "string"), ("json", "string"),
    ("bit", "boolean"), ("bit(1)", "boolean"), ("bit(8)", "binary"), ("varbinary(9)", "binary"),
]  # fmt: skip


def test_types_of_source_databases(shop: Shop) -> None:
    found = shop.values(*(("_spark_type", source_type) for source_type, _ in TYPES))
    assert dict(zip([t for t, _ in TYPES], found, strict=True)) == dict(TYPES)


def test_a_schema_with_a_negative_scale(shop: Shop) -> None:
    column = {"name": "fee", "data_type": "decimal(7,0)"}
    told = "org.apache.kafka.connect.data.Decimal(-2)"
    (found,) = shop.values(("_encoding_of", column, None, told))
    assert found == {"name": "decimal", "scale": -2, "bytes": 16}


def test_times_of_day_in_one_unit(shop: Shop) -> None:
    cases = {
        ("bigint", None, "Time"): ("ms", "us"), ("int", None, "MicroTime"): ("us", "ms"),
        ("bigint", "time(9)", "MicroTime"): ("us", "ns"), ("bigint", "time", "Time"): ("ms", "us"),
        ("bigint", "time(3)", "NanoTime"): ("ns", "ms"), ("string", None, "Time"): (None, None),
        ("bigint", None, "MicroTime"): (None, None), ("bigint", "time(3)", "Time"): (None, None),
        ("bigint", None, "NanoTime"): ("ns", "us"),
    }  # fmt: skip
    calls = (
        ("_encoding_of", {"name": "at", "data_type": kind}, given, f"io.debezium.time.{told}")
        for kind, given, told in cases
    )
    found = [(each.get("unit"), each.get("kept")) for each in shop.values(*calls)]
    assert found == list(cases.values())


def test_steps_of_nanoseconds(shop: Shop) -> None:
    """Numbers that a connector wraps are told by steps of 100, which an own log need not have."""
    column = {"name": "at", "data_type": "timestamp"}
    call = ("_encoding_of", column, None, "io.debezium.time.NanoTimestamp")
    assert shop.values(call) == [{"name": "timestamp", "unit": "ns"}]
    adapter = "{{ config(meta={'cdc_source_types': {}, 'cdc_connector': 'sqlserver'}) }} select 1"
    with shop.with_models({"adapter.sql": adapter}):
        assert shop.values(call) == [{"name": "timestamp", "unit": "100ns"}]


def test_types_of_a_binary_log(shop: Shop) -> None:
    """Columns that are typed so are not outgrown by the first ALTER, nor is one kept as text."""
    columns = {t: {"type": kind, "source_type": t} for t, kind in BINLOG_TYPES}
    text = {t: {"type": "string", "source_type": t} for t, _ in BINLOG_TYPES}
    boolean = {"b": {"type": "boolean", "source_type": "bit(8)"}}
    adapter = "{{ config(meta={'cdc_source_types': {}, 'cdc_connector': 'mysql'}) }} select 1"
    with shop.with_models({"adapter.sql": adapter}):
        found = shop.values(*(("_type_of_ddl", t) for t, _ in BINLOG_TYPES))
        plans = [("_outgrown_columns", {"columns": each}) for each in (columns, text, boolean)]
        assert shop.values(*plans) == [{}, {}, {"b": "bit(8)"}]
    assert dict(zip([t for t, _ in BINLOG_TYPES], found, strict=True)) == dict(BINLOG_TYPES)


def test_bytes_that_are_text_in_another_instance(shop: Shop) -> None:
    """They are base64, as in get_column_changes: read as UTF-8 nothing would turn them back."""
    older = {"columns": [{"column_name": "Payload", "column_type": "binary"}]}
    newer = {"columns": [{"column_name": "payload", "column_type": "string"}]}
    found = shop.values(
        ("_columns_across", [older, newer]),
        ("_column_across", "Payload", "string", older),
        ("_column_across", "Payload", "string", newer),
    )
    assert found[0] == {"Payload": "string"}
    assert [text.strip() for text in found[1:]] == [
        r"replace(base64(`Payload`), '\r\n', '')",
        "`payload`",
    ]
