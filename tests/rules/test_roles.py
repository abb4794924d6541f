"""What a role is granted and loses, as the statements that the catalog gets."""

from __future__ import annotations

import json
from typing import Any

from database import standing_in
from shop import THERE, Shop, answers

SHARED = {
    "select": ["validity_intervals", "change_tables", "captured_columns", "index_columns",
               "ddl_history", "lsn_time_mapping"],
    "execute": ["fn_cdc_get_max_lsn", "fn_cdc_is_bit_set", "fn_cdc_map_time_to_lsn"],
}  # fmt: skip


def sent(shop: Shop, *call: Any, gating: str = "grant") -> list[str]:
    """The GRANTs and REVOKEs that a macro sends."""
    told = {"^(grant|revoke) ": [], **answers()}
    with standing_in(told, THERE) as statements:
        shop.project.ok(
            "run-operation", "ask", "--args", json.dumps({"calls": [call]}),
            vars={"cdc_role_gating": gating},
        )  # fmt: skip
    return [sql for sql in statements if sql.startswith(("grant", "revoke"))]


def test_a_role_loses_what_no_other_instance_of_it_needs(shop: Shop) -> None:
    own = [["select", "cdc.dbo_notes_ct"], ["execute", "function cdc.fn_cdc_get_all_changes_n"]]
    last = sent(shop, "_revoke_from_role", "the readers", own, ["others", None])
    assert last[:2] == [
        "revoke select on cdc.dbo_notes_ct from `the readers`",
        "revoke execute on function cdc.fn_cdc_get_all_changes_n from `the readers`",
    ]
    schema = shop.project.schema
    wanted = {f"revoke select on {schema}.{t} from `the readers`" for t in SHARED["select"]}
    wanted |= {
        f"revoke execute on function {schema}.{f} from `the readers`" for f in SHARED["execute"]
    }
    assert wanted <= set(last[2:]) and len(last) == 2 + 6 + 9
    assert sent(shop, "_revoke_from_role", "the readers", own, ["the readers"]) == last[:2]


def test_where_nobody_enforces_roles_nothing_is_sent(shop: Shop) -> None:
    own = [["select", "cdc.dbo_notes_ct"]]
    assert not sent(shop, "_revoke_from_role", "readers", own, [], gating="accept")
    assert not sent(shop, "_revoke_from_role", None, own, [])
