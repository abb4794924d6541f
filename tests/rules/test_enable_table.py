"""enable_table: SQL Server's refusals, default names, and the two files (G20, G21)."""

from __future__ import annotations

from typing import Any

import pytest
from shop import HIGH, LOW, Shop

REFUSALS: list[tuple[str, dict[str, Any]]] = [
    ("CDC 22926: capture instance 'DBO_notes' exists already, of table dbo.notes",
     {"capture_instance": "DBO_notes"}),
    ("CDC 22927: ", {"capture_instance": "x" * 101}),
    ("CDC 22932: capture instance 'my notes' is no valid identifier",
     {"capture_instance": "my notes"}),
    ("CDC 22962: table dbo.orders has two capture instances already: dbo_orders",
     {"source_name": "orders", "capture_instance": "third"}),
    ("CDC 22962: table DBO.Orders has two capture instances already",
     {"source_schema": "DBO", "source_name": "Orders", "capture_instance": "third"}),
    ("CDC 22931: the log has no record of table dbo.none", {"source_name": "none"}),
    ("CDC 22963: source_name is NULL or empty", {"source_name": ""}),
    ("CDC 22963: source_schema is NULL or empty", {"source_schema": None}),
    ("CDC 22939: capture instance 'notes2' supports_net_changes without a key",
     {"supports_net_changes": 1}),
    ("CDC 22943: capture instance 'notes2' does not capture its index column 'id'",
     {"index_columns": ["id"], "captured_column_list": "text"}),
    ("CDC 22907: capture instance 'notes2' has role_name ''", {"role_name": ""}),
    ("CDC 22938: capture instance 'notes2' has a role_name that is no valid name",
     {"role_name": "a`b"}),
    ("CDC 22930: column 'other' of captured_column_list is no column of table dbo.notes: it has id",
     {"captured_column_list": "id, other"}),
    ("CDC 22965: the column list cannot be read from '\"id' on", {"captured_column_list": '"id'}),
    ("CDC 22965: the column list cannot be read from '[id' on", {"index_columns": "[id"}),
    ("CDC 22928: the columns of index 'pk_notes' of table dbo.notes are not known",
     {"index_name": "pk_notes"}),
    ("CDC 22928: index column 'ID' is no column of table dbo.notes", {"index_columns": ["ID"]}),
    ("CDC 22974: the source table is in schema 'cdc'",
     {"source_schema": "cdc", "capture_instance": "c"}),
    ("CDC 22963: capture instance 'notes2' has meta.cdc.capture_from: 'then'",
     {"capture_from": "then"}),
    ("CDC 22963: file is 'json'", {"file": "json"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "arguments"), REFUSALS, ids=lambda value: str(value)[:9])
def test_g20_refusals(shop: Shop, text: str, arguments: dict[str, Any]) -> None:
    given = {"source_schema": "dbo", "source_name": "notes", "capture_instance": "notes2"}
    assert text in shop.refusal("enable_table", **{**given, **arguments})


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("notes", "CDC 22926: capture instance 'dbo_notes' exists already"),
        ("t" * 100, "CDC 22927: capture instance 'dbo_tttt"),
    ],
)
def test_g21_default_names(shop: Shop, table: str, text: str) -> None:
    assert text in shop.refusal("enable_table", source_schema="dbo", source_name=table)


def test_the_files_of_a_table_without_ddl(shop: Shop) -> None:
    """Its columns are those of its images."""
    result = shop.operation(
        "enable_table", source_schema="dbo", source_name="notes", capture_instance="notes2",
        index_columns=["id"], role_name="a reader's", captured_column_list="price, id, none",
    )  # fmt: skip
    assert result.success, result.output
    assert result.printed.splitlines() == [
        "-- models/notes2_ct.sql",
        "{{ dbt_cdc.change_table() }}",
        "",
        "# models/notes2_ct.yml",
        "version: 2",
        "",
        "models:",
        "  - name: notes2_ct",
        "    config:",
        "      meta:",
        "        cdc:",
        "          source_schema: dbo",
        "          source_name: notes",
        "          capture_instance: notes2",
        "          index_columns: [id]",
        "          supports_net_changes: true",
        "          capture_from: now",
        "          allow_partition_switch: true",
        "          role_name: 'a reader''s'",
        "    columns:  # from 3 images (the log has no DDL of it): check the types",
        "      - {name: id, data_type: bigint}",
        "      - {name: price, data_type: 'decimal(38,18)'}",
        "      - {name: none, data_type: string}",
        "",
        "# dbt_project.yml: vars: {cdc_capture_instances: [dbo_heap, dbo_items, dbo_notes,"
        " dbo_orders, dbo_orders_v2, notes2]}",
    ]


def test_columns_of_a_ddl_record(shop: Shop) -> None:
    assert shop.values(("_source_columns", "dbo", "orders"))[0] == {
        "origin": f"the DDL record at {LOW}",
        "columns": [
            {"name": "id", "source_type": "int", "data_type": "int"},
            {"name": "qty", "source_type": "nvarchar(20)", "data_type": "varchar(20)"},
        ],
    }
    assert HIGH > LOW


LISTS = [
    ("a, b", ["a", "b"]),
    (' "b c" ,[d], e ', ["b c", "d", "e"]),
    ('"say ""hi""", [x]]y]', ['say "hi"', "x]y"]),
    ("[a,b],c", ["a,b", "c"]),
    (["as", "it", "is"], ["as", "it", "is"]),
    ("", []),
    (None, None),
]


def test_lists_of_columns(shop: Shop) -> None:
    found = shop.values(*(("_split_columns", given) for given, _ in LISTS))
    assert found == [names for _, names in LISTS]
