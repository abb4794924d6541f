"""A project to ask rules of, and what its database would answer."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from capturing import instance_yaml
from database import Answer, Rows, standing_in
from furniture import state_tables
from harness import DbtResult, Project
from reference.capture import CaptureInstance
from reference.change_tracking import TrackedTable
from reference.log import int_to_lsn
from statements import is_write
from tracking import tracked_models

LOW, HIGH = int_to_lsn(0x100), int_to_lsn(0x122)
LOW_TIME, HIGH_TIME = "2024-03-01 12:01:00", "2024-03-01 12:03:00"
ORDERS_COLUMNS = (("id", "int"), ("qty", "int"))
ORDERS, ORDERS_V2 = (
    CaptureInstance("dbo", "orders", name, ORDERS_COLUMNS, ("id",))
    for name in ("dbo_orders", "dbo_orders_v2")
)
NOTES = CaptureInstance("dbo", "notes", "dbo_notes", (("id", "int"), ("text", "string")), ("id",))
ITEMS = CaptureInstance(
    "dbo", "items", "dbo_items", (("id", "int"), ("Name", "string"), ("pay load", "binary")),
    ("id",),
)  # fmt: skip
HEAP = CaptureInstance("dbo", "heap", "dbo_heap", (("v", "string"),))
INSTANCES = (ORDERS, ORDERS_V2, NOTES, ITEMS, HEAP)
TRACKED = TrackedTable("dbo", "items", (("id", "int"), ("code", "string")), ("id", "code"), False)
# What a source table's records in the log tell; notes has no DDL record.
DDL_COLUMNS = [{"name": "id", "type": "int"}, {"name": "qty", "type": "nvarchar(20)"}]
IMAGE_COLUMNS = {"id": "BIGINT", "text": "STRING", "price": "DECIMAL(3,1)", "none": "VOID"}
THERE = (
    "raw_log", "validity_intervals", "change_tracking_versions",
    *(f"{instance.capture_instance}_ct" for instance in INSTANCES),
)  # fmt: skip
NOTES_OF_RUNS = ("scan_sessions", "dm_cdc_errors")
LOG = "select 1 as placeholder"
ASK = """
{% macro ask(calls) %}
    {% for call in calls %}
        {% do print(tojson(dbt_cdc[call[0]](*call[1:]))) %}
    {% endfor %}
{% endmacro %}
{% macro clean_versions() %}
    {% do print(dbt_cdc._clean_versions(
        dbt_cdc._state_relation('syscommittab'), 'commit_ts', mark=9, threshold=2)) %}
{% endmacro %}
{% macro persistent_functions(instance, table) %}
    {% for functions in [
        dbt_cdc._lsn_functions(), dbt_cdc._mask_functions(), dbt_cdc._version_functions(),
        dbt_cdc._query_functions(dbt_cdc._find_instance(instance)),
        dbt_cdc._changetable_functions(dbt_cdc._find_tracked_table(table)),
    ] %}
        {% do print(functions | join(' ')) %}
    {% endfor %}
{% endmacro %}
"""


def columns_of(table: str) -> list[str]:
    """The columns of a state table."""
    return [column.split()[0] for column in state_tables(of_jobs=True)[table].split(", ")]


def registered(instance: CaptureInstance, **other: Any) -> dict[str, Any]:
    """What the metadata tables hold of an instance, in one row; `other` differs."""
    columns = other.pop("columns", instance.columns)
    keys = other.pop("index_columns", instance.index_columns)
    return {
        **dict.fromkeys(columns_of("change_tables")),
        "capture_instance": instance.capture_instance,
        "source_schema": instance.source_schema,
        "source_name": instance.source_name,
        "object_id": 1,
        "supports_net_changes": bool(instance.index_columns),
        "has_drop_pending": False,
        "before_image": instance.before_image,
        "lob_before_image": "always",
        "start_lsn": LOW,
        "end_lsn": None,
        "create_date": "2024-01-01 00:00:00",
        "columns": json.dumps([
            {"column_name": n, "column_type": t, "declared_type": t, "source_type": None}
            for n, t in columns
        ]),
        "index_columns": json.dumps([{"column_name": name} for name in keys]),
        **other,
    }  # fmt: skip


def tracked(**other: Any) -> Rows:
    """What is known of the tracked table; it is entered, and nothing of it is published."""
    return [
        {
            "version": 0, "source_schema": "dbo", "source_name": "items", "object_id": 1,
            "is_track_columns_updated_on": False, "begin_version": 0, "min_valid_version": 0,
            "begin_lsn": HIGH, "key_json": '["id", "code"]', "columns_json": '["id", "code"]',
            **other,
        }
    ]  # fmt: skip


def low_ends(sql: str) -> Rows:
    """The entered instances, all or the one that is asked for."""
    asked = re.search(r"lower\(capture_instance\) = '([^']*)'", sql)
    return [
        {
            "capture_instance": i.capture_instance,
            "low_end": LOW,
            "source_schema": i.source_schema,
            "source_name": i.source_name,
            "lost_lsn": None,
        }
        for i in INSTANCES
        if asked is None or asked[1] == i.capture_instance
    ]


def consumed(bookmarks: Rows = (), ended: Sequence[str] = (), **lost_lsns: str) -> Rows:
    """What consumers start from: their bookmarks, and the entered instances, of which some have
    `ended`; up to `lost_lsns` (by instance) changes are gone."""
    instances = [
        registered(
            instance,
            lost_lsn=lost_lsns.get(instance.capture_instance),
            end_lsn=HIGH if instance.capture_instance in ended else None,
        )
        for instance in INSTANCES
    ]
    return [{"bookmarks": json.dumps(bookmarks), "instances": json.dumps(instances)}]


def published() -> Rows:
    """The rows of validity_intervals."""
    ends = {"low_end": LOW, "high_end": HIGH, "scanned_lsn": HIGH}
    times = {"low_time": LOW_TIME, "high_time": HIGH_TIME}
    return [{"capture_instance": i.capture_instance, **ends, **times} for i in INSTANCES]


def jobs() -> Rows:
    """The rows of cdc_jobs: the defaults, but no cleanup job."""
    return [
        {
            "job_id": "1", "job_type": "capture", "maxtrans": 500, "maxscans": 10,
            "continuous": True, "pollinginterval": 5, "retention": 0, "threshold": 0,
            "is_threshold_given": False,
        }
    ]  # fmt: skip


def last_records(sql: str) -> Rows:
    """The last record of a source table; what is called 'none' has none."""
    return [{"last_lsn": None if "source_name = 'none'" in sql else HIGH}]


def last_ddl(sql: str) -> Rows:
    """The last DDL record of a source table: that of orders."""
    row = {"lsn": LOW, "after_image": json.dumps(DDL_COLUMNS)}
    return [row] if "source_name = 'orders'" in sql else []


def seen_in_images() -> Rows:
    """The columns of notes."""
    return [seen(name, kind) for name, kind in IMAGE_COLUMNS.items()]


def seen(name: str, kind: str, **found: Any) -> dict[str, Any]:
    """A column of images."""
    return {
        "name": name, "variant_type": kind, "is_date": False, "is_time": False, "images": 3,
        "least": 1, "most": 3, "is_base64": False, "has_padding": False, "is_number": False,
        **found,
    }  # fmt: skip


def described(*columns: str) -> Rows:
    """The columns of a table, as the catalog tells them."""
    return [{"col_name": name, "data_type": "string", "comment": None} for name in columns]


def of_state(sql: str) -> Rows:
    """The columns of a state table, as this version makes it."""
    return described(*columns_of(sql.rsplit(".", 1)[1]))


def cast_time(sql: str) -> Rows:
    """A text as Spark reads it: NULL where there is no such time."""
    text = re.search(r"try_cast\('([^']*)'", sql)
    assert text
    try:
        time = str(datetime.fromisoformat(text[1]).replace(tzinfo=None))
    except ValueError:
        time = None
    return [{"time": time, "time_zone": "UTC"}]


def work(**found: Any) -> Rows:
    """The query for work, where a window is open that has changes of all tables."""
    tables = [{"source_schema": "dbo", "source_name": i.source_name} for i in INSTANCES]
    return [
        {
            "log_end": None, "malformed": None, "time_zone": "UTC", "most_commits": None,
            "to_lsn": int_to_lsn(0x200), "floor_lsn": int_to_lsn(0x123), "transactions": 1,
            "record_count": 3, "schema_changes": "[]", "updated_tables": "[]",
            "touched_tables": json.dumps(tables), "ends_with_rows": True, **found,
        }
    ]  # fmt: skip


def answers() -> dict[str, Answer]:
    """What the database answers where a test does not say otherwise."""
    no_versions = {"current_version": None, "scanned_lsn": LOW, "min_valid_versions": "{}"}
    return {
        "left join .*observed_columns": [],
        r"try_cast\('[^']*' as timestamp\)": cast_time,
        r"\) as log_end\b": work(),
        r"^select 1 from \S*raw_log where lsn <=? ": [{"there": 1}],
        r"\) as bookmarks, .*\) as instances": consumed(),
        r"from \S*change_tables as instances": [registered(i) for i in INSTANCES],
        r"start_lsn as low_end, .* from \S*change_tables ": low_ends,
        r"^select [^()]*\bhigh_end\b.* from \S*validity_intervals": published(),
        r"^select [^()]* from \S*cdc_jobs\b": jobs(),
        r"from \S*consumer_bookmarks\b": [],
        r"from \S*job_requests\b": [],
        r"from \S*waiting_transactions\b": [],
        r"from \S*change_tracking_versions": [no_versions],
        r"from \S*change_tracking_databases": [],
        r"^select\s+tables\.\*.* from \S*syscommittab": tracked(),
        r"lateral view explode\(schema_changes\)": [],
        r"^select max\(lsn\) as last_lsn": last_records,
        r"^with ddl as": last_ddl,
        r"schema_of_variant_agg": seen_in_images(),
        r"^describe extended \S*raw_log": described("lsn", "after_image"),
        rf"^describe extended \S*\.({'|'.join(state_tables(of_jobs=True))})$": of_state,
        r"select distinct name\s+from reread": [],
    }


class Shop:
    """The project: capture instances and a tracked table, all of them known and published."""

    def __init__(self, folder: Path) -> None:
        models = {"raw_log.sql": LOG, "m.yml": instance_yaml(INSTANCES)}
        for instance in INSTANCES:
            models[f"{instance.capture_instance}_ct.sql"] = "{{ dbt_cdc.change_table() }}"
        self.project = Project(
            folder, None, models={**models, **tracked_models([TRACKED])},
            vars={"cdc_log_model": "raw_log"}, macros={"ask.sql": ASK},
        )  # fmt: skip

    def dbt(
        self,
        *command: str,
        answer: Mapping[str, Answer] | None = None,
        tables: Sequence[str] = (),
        may_write: Sequence[str] = NOTES_OF_RUNS,
        may_lack: bool = False,
    ) -> DbtResult:
        """A dbt command; `answer` comes before what the database answers anyway, `tables` are there
        beside the state. Nothing is written but to the tables that it `may_write`: a refusal comes
        first."""
        allowed = rf"\b(insert into|update) \S*\.({'|'.join(may_write)})\b"
        given = {**(answer or {}), allowed: []}
        usual = {k: v for k, v in answers().items() if k not in given}
        with standing_in({**given, **usual}, [*THERE, *tables], may_lack=may_lack) as sent:
            result = self.project.dbt(*command)
        written = [s for s in sent if is_write(s) and not s.startswith("create schema")]
        assert may_lack or not [s for s in written if not re.search(allowed, s)]
        return result

    def operation(
        self, name: str, answer: Mapping[str, Answer] | None = None, **arguments: Any
    ) -> DbtResult:
        """A run-operation."""
        return self.dbt("run-operation", name, "--args", json.dumps(arguments), answer=answer)

    def refusal(self, name: str, **arguments: Any) -> str:
        """What a run-operation says that is refused."""
        result = self.operation(name, **arguments)
        assert not result.success, result.printed
        return result.output

    def values(
        self, *calls: tuple[Any, ...], answer: Mapping[str, Answer] | None = None
    ) -> list[Any]:
        """What macros return: `values(('_spark_type', 'bit'), ...)`, in one command."""
        result = self.operation("ask", answer, calls=calls)
        assert result.success, result.output
        return [json.loads(line) for line in result.printed.splitlines()]

    @contextlib.contextmanager
    def with_models(self, files: Mapping[str, str], folder: str = "models") -> Iterator[str]:
        """More models, for a while; gives the selection of them. `adapter` makes the log."""
        told = "-- depends_on: {{ ref('adapter') }}\n" if "adapter.sql" in files else ""
        self.project.write("models/raw_log.sql", told + LOG)
        for path, text in files.items():
            self.project.write(f"{folder}/more/{path}", text)
        try:
            yield f"path:{folder}/more"
        finally:
            shutil.rmtree(self.project.folder / folder / "more")
            self.project.write("models/raw_log.sql", LOG)

    def errors(self, files: Mapping[str, str], **options: Any) -> dict[str, str]:
        """What a run says of more models, {model: error}; of one that is not refused, the first
        statement that nobody answers, e.g. its `create table`."""
        with self.with_models(files) as selection:
            result = self.dbt("run", "--select", selection, may_lack=True, **options)
        names = [path.removesuffix(".sql") for path in files if path.endswith(".sql")]
        assert result.messages.keys() >= set(names), result.output
        return {name: result.messages[name].message for name in names}


def first_line(message: str) -> str:
    """The line of an error that is ours; it is among the first, and no Java follows."""
    lines = [line.strip() for line in message.split("\n") if line.strip()]
    places = [n for n, line in enumerate(lines) if line.startswith("CDC ")]
    if places != places[:1] or not places or places[0] > 2:
        return f"no error of ours: {message}"
    assert not [line for line in lines if line.startswith("at ") or "Exception" in line], message
    return lines[places[0]]
