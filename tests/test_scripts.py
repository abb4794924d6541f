"""Where a script can be cut."""

from __future__ import annotations

from scripts import cut_after_writes

SCRIPT = """/* {"node": "begin; end"} */ begin
begin
    declare exit handler for sqlexception
    begin
        select 1;
        merge into a using b on true when matched then delete;
    end;
    merge into a using (select case when x then ';' else '\\'' end as `end;` from b) -- begin;
    on true when matched then delete;
end;
if exists (select case when x then 1 end from b) then
    select 'failed' as outcome;
else
    delete from a;
    select 'done' as outcome;
end if;
update b set x = case when y then 1 else 2 end;
select count(*) from b;
end"""


def test_a_script_is_cut_after_each_write_but_the_last() -> None:
    merged, deleted = cut_after_writes(SCRIPT)
    handler = SCRIPT[: SCRIPT.index("    merge into a using (")]
    merge = "    merge into a using (select case when x then ';' else '\\'' end as `end;` from b)"
    assert merged.startswith(handler + merge)
    assert merged.endswith("on true when matched then delete;\nend;\nend")
    assert deleted.endswith("else\n    delete from a;\nend if;\nend")


def test_one_write_has_no_middle() -> None:
    for text in (
        "insert into a select 1; ",
        "begin\n insert into a select 1;\n select count(*) from a;\nend",
        "begin declare exit handler for sqlexception begin delete from a; delete from b; end;"
        " delete from a; end",
        "begin declare a int default 0; while a < 1 do delete from a; set a = 1; end while; end",
    ):
        assert cut_after_writes(text) == []
