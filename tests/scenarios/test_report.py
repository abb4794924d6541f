"""The page of scripts/report.py: of data made up here, and of a captured project."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from capturing import Capture
from harness import PACKAGE, Project
from pyspark.sql.functions import expr
from reference.capture import CaptureInstance
from reference.log import UTC, LogRecord, int_to_lsn

NOON = datetime(2026, 7, 1, 12)
HOSTILE = "<script>alert('é⭐')</script> \"$x$\" & \\frac\n2"
ESCAPED = "&lt;script&gt;alert(&#39;é⭐&#39;)&lt;/script&gt; &#34;$x$&#34; &amp; \\frac\n2"
JOBS = [
    {"job_type": "capture", "maxtrans": 500, "maxscans": 10, "continuous": True,
     "pollinginterval": 5, "retention": 0, "threshold": 0},
    {"job_type": "cleanup", "maxtrans": 0, "maxscans": 0, "continuous": False,
     "pollinginterval": 0, "retention": 4320,
     "threshold": "5000 (default: 10000000 on Delta)"},
]  # fmt: skip


@pytest.fixture(scope="module")
def report() -> ModuleType:
    """scripts/report.py."""
    sys.path.insert(0, str(PACKAGE / "scripts"))
    try:
        __import__("report_parts")  # which the script imports where it needs it
        return __import__("report")
    finally:
        sys.path.pop(0)


def text_of(page: str) -> str:
    """What a reader sees of a page, without its plots."""
    body = re.sub(r"<svg.*?</svg>|<style>.*?</style>", "", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def titles_of(page: str, kind: str = "wide") -> list[str]:
    """The names above the plots of a screen, or of a phone."""
    return [
        " ".join(re.findall(r"font-weight: 700[^>]*>([^<]*)</text>", svg))
        for svg in re.findall(rf'<svg class="{kind}".*?</svg>', page, flags=re.DOTALL)
    ]


def session(number: int, **given: Any) -> dict[str, Any]:
    """A scan of 3 s, `number` x 10 s after noon, that captured a row of dbo_t0."""
    start = NOON + timedelta(seconds=10 * number)
    return {
        "session_id": 1000 + number, "start_time": f"{start}.25", "scan_phase": "Done",
        "end_time": str(start + timedelta(seconds=3)), "duration": 3, "latency": 4,
        "error_count": 0, "end_lsn": int_to_lsn(number), "tran_count": 1, "command_count": 1,
        "last_commit_cdc_time": str(start), "empty_scan_count": 0, "failed_sessions_count": 0,
        "waiting_for": None,
        "captured_rows": [{"capture_instance": "dbo_t0", "row_count": 1}], **given,
    }  # fmt: skip


def failed_session(number: int) -> dict[str, Any]:
    return session(
        number, error_count=1, scan_phase="Second scan", latency=0, failed_sessions_count=1
    )


def quiet_session(number: int, count: int) -> dict[str, Any]:
    return session(
        number, end_lsn=None, tran_count=0, duration=0, latency=0, last_commit_cdc_time=None,
        empty_scan_count=count, captured_rows=[],
    )  # fmt: skip


def change_table(name: str, **given: Any) -> dict[str, Any]:
    return {
        "capture_instance": name, "change_table": f"{name}_ct", "is_there": True,
        "low_end": int_to_lsn(1), "low_time": str(NOON - timedelta(days=2)),
        "high_end": int_to_lsn(99), "high_time": str(NOON), "row_count": 1234567,
        "bytes": 5_400_000, "files": 12, **given,
    }  # fmt: skip


def made_up(sessions: list[dict[str, Any]], tables: int = 1, **given: Any) -> dict[str, Any]:
    """The data of a page, an hour after the first scan."""
    total = {
        **session(0), "session_id": 0, "scan_phase": "Aggregate",
        "failed_sessions_count": sum(row["failed_sessions_count"] for row in sessions),
    }  # fmt: skip
    return {
        "target": "test", "schema": "cdc", "made": str(NOON + timedelta(hours=1)),
        "sessions": [*sessions, *([total] if sessions else [])],
        "tables": [change_table(f"dbo_t{n}") for n in range(tables)],
        "errors": [], "error_days": [], "jobs": deepcopy(JOBS), "consumers": [], **given,
    }  # fmt: skip


def error(number: int, message: str, **given: Any) -> dict[str, Any]:
    row = {"entry_time": str(NOON + timedelta(seconds=10 * number + 3)), "phase": "Second scan"}
    row |= {"session_id": 1000 + number, "error_number": 22859}
    return {**row, "error_message": message, **given}


def test_a_page_without_anything_says_so(report: ModuleType) -> None:
    page = report.make_page(made_up([], tables=0, jobs=[]))
    assert "Nothing is captured here yet." in text_of(page)
    assert "<svg" not in page and "<h2" not in page


def consumer(name: str, **given: Any) -> dict[str, Any]:
    return {
        "consumer": name, "capture_instance": "dbo_t0", "mode": "net", "last_lsn": int_to_lsn(9),
        "last_time": str(NOON), "lag_seconds": 0, "lag_transactions": 0, "is_stale": False, **given,
    }  # fmt: skip


def test_consumers_and_who_comes_too_late(report: ModuleType) -> None:
    rows = [
        consumer("at_the_end"),
        consumer("behind", lag_seconds=90, lag_transactions=1200),
        consumer("<late>", lag_seconds=7200, lag_transactions=5, is_stale=True),
        consumer("new", last_lsn=None, last_time=None, lag_seconds=60, lag_transactions=2),
    ]
    page = report.make_page(made_up([session(1)], consumers=rows))
    text = text_of(page)
    for fact in (
        "1 problem: Changes that consumers have not read are gone: &lt;late&gt;. reset_consumer",
        f"&lt;late&gt; dbo_t0 net 2026-07-01 12:00:00 {int_to_lsn(9)} too late 5 behind dbo_t0 net",
        "1 min 30 s 1,200",
        "new dbo_t0 net – nothing yet",
        f"at_the_end dbo_t0 net 2026-07-01 12:00:00 {int_to_lsn(9)} none 0",
    ):
        assert fact in text, fact
    assert "Consumers" not in text_of(report.make_page(made_up([session(1)])))


def test_one_scan_is_a_dot_in_each_plot(report: ModuleType) -> None:
    page = report.make_page(made_up([session(1)]))
    assert titles_of(page) == [
        "Latency (seconds)", "Duration of a scan (seconds)", "Transactions in a scan",
        "Rows captured in 1 minute",
    ]  # fmt: skip
    text = text_of(page)
    for fact in (
        "Nothing is wrong. The last scan succeeded.",
        f"Published up to the commit of 2026-07-01 12:00:00 1\xa0h ago {int_to_lsn(99)}",
        "Last scan Done 1 transaction, 1 row ended 2026-07-01 12:00:13, 59\xa0min\xa047\xa0s ago",
        "Latency of the last capture 4\xa0s in the scan that ended 2026-07-01 12:00:13",
        "Failed scans 0 since 2026-07-01 12:00:00",
        "1,234,567 rows, 5.4 MB",
        "1 scan with something to capture (0 failed)",
        "dbo_t0: 1 row",
        "dbo_t0 1,234,567 5.4 MB 12 2026-06-29 12:00:00",
        "There are no errors on record.",
        "capture 500 10 yes 5 s – –",
        "cleanup – – – – 4320 minutes 5000 rows (default: 10000000 on Delta)",
    ):
        assert " ".join(fact.split()) in text, fact


def test_only_empty_scans(report: ModuleType) -> None:
    page = report.make_page(made_up([quiet_session(1, 7)], jobs=[]))
    text = text_of(page)
    assert "<svg" not in page
    assert "No scan has found anything yet." in text
    assert "There are no jobs in cdc_jobs." in text
    assert "There is no cleanup job, so nothing is ever removed." in text


def test_of_fifty_tables_the_first_few_have_a_colour(report: ModuleType) -> None:
    rows = [{"capture_instance": f"dbo_t{n}", "row_count": 100 - n} for n in range(50)]
    text = text_of(report.make_page(made_up([session(1, captured_rows=rows)], tables=50)))
    assert "dbo_t0: 100 rows dbo_t1: 99 rows dbo_t2: 98 rows dbo_t3: 97 rows" in text
    assert f"46 others: {sum(range(51, 97)):,} rows" in text
    assert len(re.findall(r"dbo_t\d+ 1,234,567", text)) == 50


def test_a_window_of_several_runs_counts_once(report: ModuleType) -> None:
    rows = [{"capture_instance": "dbo_t0", "row_count": 5}]
    partly = session(1, end_lsn="0x7", captured_rows=rows, scan_phase="Second scan")
    data = made_up([partly, session(2, end_lsn="0x7", captured_rows=rows)])
    assert "dbo_t0: 5 rows" in text_of(report.make_page(data))
    text = text_of(report.make_page(made_up([partly])))
    assert "The last scan did not capture all change tables" in text


def test_many_scans_are_ranges(report: ModuleType) -> None:
    sessions = [session(n, latency=600 if n == 70 else 4) for n in range(1000) if n != 9]
    data = made_up([*sessions, failed_session(9)], made=str(NOON + timedelta(hours=3)))
    page = report.make_page(data)
    assert titles_of(page)[0] == "Latency (log scale)"
    assert "Dots are the medians of 2 minutes" in text_of(page)
    assert "1,000 scans with something to capture (1 failed)" in text_of(page)
    assert len(page) < 300_000


def test_problems_come_first_and_in_words(report: ModuleType) -> None:
    tables = [
        change_table("dbo_old", low_time=str(NOON - timedelta(days=6))),
        change_table("dbo_gone", is_there=False, row_count=None, bytes=None, files=None),
        change_table(HOSTILE, high_end=None, high_time=None),
    ]
    errors = [error(n, f"CDC 22859: {HOSTILE}") for n in (2, 3)]
    days = [{"entry_day": "2026-06-28", "error_count": 5}]
    days.append({"entry_day": "2026-07-01", "error_count": 2})
    scans = [session(1), failed_session(2), failed_session(3)]
    page = report.make_page(
        made_up(scans, tables=0, errors=errors, error_days=days) | {"tables": tables}
    )
    text, seen = text_of(page), " ".join(ESCAPED.split())
    for words in (
        f"3 problems: The last 2 scans failed, since 2026-07-01 12:00:23: CDC 22859: {seen}",
        "1 change table is not there: dbo_gone_ct.",
        "1 change table holds over 2\xa0d more than the retention of 3\xa0d: dbo_old.",
        f"1 change table is not published yet: {seen}.",
        "Last scan Failed in phase Second scan",
        "7 errors on record, the last 2 shown:",
        f"2026-07-01 12:00:33 1003 Second scan 22859 CDC 22859: {seen}",
        "6\xa0d, too long",
    ):
        assert " ".join(words.split()) in text, words
    assert titles_of(page)[-1] == "Errors a day"
    assert "<script" not in page
    assert ESCAPED in page  # the message keeps its lines


def test_a_scan_that_hangs(report: ModuleType) -> None:
    going = session(2, end_time=None, session_id=1002)
    text = text_of(report.make_page(made_up([session(1), going])))
    assert "Nothing is wrong" in text
    assert "another runs since 2026-07-01 12:00:20" in text
    text = text_of(report.make_page(made_up([going], made=str(NOON + timedelta(hours=2)))))
    assert "A scan began at 2026-07-01 12:00:20 and has not ended" in text


def state_of(page: str) -> tuple[str, str]:
    """The colour of a page, and what it says first."""
    ((colour, body),) = re.findall(r'<section class="status (\w+)".*?>(.*?)</section>', page, re.S)
    return colour, text_of(body)


@pytest.mark.parametrize(
    ("hours", "minutes", "colour"),
    [(0.9, None, "well"), (2, None, "wrong"), (2, 60, "wrong"), (2, 180, "well")],
)
def test_no_scan_for_longer_than_allowed(
    report: ModuleType, hours: float, minutes: int | None, colour: str
) -> None:
    made = str(NOON + timedelta(hours=hours))
    page = report.make_page(made_up([session(1)], made=made), minutes)
    found, text = state_of(page)
    assert found == colour
    said = (
        "1 problem: No scan has run since 2026-07-01 12:00:13, 1 h 59 min ago; the limit is 1 h "
        f"({'--max-minutes' if minutes else 'the default'}"
    )
    assert (said in text.replace("\xa0", " ")) == (colour == "wrong")
    assert page.startswith("<!doctype html>") and ("<title>Wrong: " in page) == (colour == "wrong")


def test_sessions_are_gone_and_no_scan_comes(report: ModuleType) -> None:
    """The cleanup job has removed them, which goes on when the capture job does not."""
    found, text = state_of(report.make_page(made_up([])))
    assert found == "wrong"
    assert "1 problem: No scan is on record: none has run for as long as sessions" in text


DAY = 8640  # numbers of sessions
DAILY = [session(n * DAY) for n in range(4)]
DEVELOPING = [session(n) for n in range(5)]


@pytest.mark.parametrize(
    "sessions",
    [
        DAILY,
        [*DEVELOPING, *[session(n * DAY) for n in range(1, 40)]],
        # four scans that found nothing share a row
        [session(0), quiet_session(DAY, 4) | {"end_time": str(NOON + timedelta(days=4))}],
        # failed ones are tried again at once, and a scheduler runs one table after the other
        [*DAILY[:3], *[failed_session(2 * DAY + n) for n in range(1, 9)], DAILY[3]],
        [*DAILY[:3], *[session(3 * DAY - n, scan_phase="Second scan") for n in range(9, 0, -1)],
         DAILY[3]],
    ],
    ids=["daily", "developed, then daily", "found nothing", "failed", "table by table"],
)  # fmt: skip
def test_the_usual_pause_between_scans_is_allowed(
    report: ModuleType, sessions: list[dict[str, Any]]
) -> None:
    def state(days: float, minutes: int | None = None) -> tuple[str, str]:
        made = datetime.fromisoformat(sessions[-1]["end_time"]) + timedelta(days=days)
        tables = [change_table("dbo_t0", low_time=str(made), high_time=str(made))]
        data = made_up(sessions, made=str(made)) | {"tables": tables}
        return state_of(report.make_page(data, minutes))

    assert state(1.4)[0] == "well"
    colour, text = state(2.9)
    assert colour == "late" and text.startswith("1 delay: No scan has run since ")
    assert "longer than is usual; a problem after " in text
    colour, text = state(3.1)
    assert colour == "wrong" and text.startswith("1 problem: No scan has run since ")
    assert "(three times the usual pause between the last scans)" in text
    assert state(1.1, 1500)[0] == "wrong"


def test_a_pause_of_the_job_is_allowed(report: ModuleType) -> None:
    data = made_up([session(1)], made=str(NOON + timedelta(hours=5)))
    job = data["jobs"][0]
    job["pollinginterval"] = 4 * 3600
    assert state_of(report.make_page(data))[0] == "well"
    data["made"] = str(NOON + timedelta(hours=11))
    assert state_of(report.make_page(data))[0] == "late"
    assert state_of(report.make_page(data, 720))[0] == "well"
    data["made"] = str(NOON + timedelta(hours=13))
    said = "the limit is 12\xa0h (three times the capture job&#39;s pollinginterval)"
    assert said in report.make_page(data)
    data["made"] = str(NOON + timedelta(hours=2))
    job["continuous"] = False  # it does not pause but ends
    assert "the limit is 1\xa0h (the default" in report.make_page(data)


def test_a_scan_that_runs_is_a_sign_of_life(report: ModuleType) -> None:
    going = session(700, end_time=None)
    data = made_up([session(1), going], made=str(NOON + timedelta(hours=2)))
    assert state_of(report.make_page(data))[0] == "well"


def test_scans_run_and_no_commit_comes(report: ModuleType) -> None:
    made = NOON + timedelta(days=4)
    late = [change_table("dbo_t0", low_time=str(NOON)), change_table("dbo_t1", low_time=str(NOON))]
    scans = [session(1), quiet_session(4 * 8640 - 2, 9)]
    data = made_up(scans, made=str(made)) | {"tables": late}
    colour, text = state_of(report.make_page(data))
    assert colour == "late"
    assert "1 delay: The last published commit is of 2026-07-01 12:00:00, 4\xa0d ago".replace(
        "\xa0", " "
    ) in text.replace("\xa0", " ")
    no_job = data | {"jobs": data["jobs"][:1]}
    assert state_of(report.make_page(no_job))[0] == "well"


def test_commits_without_a_time(report: ModuleType) -> None:
    """record_time may be NULL; and where a source's clock was wrong, beyond the years of Python."""
    rows = [consumer("c", last_time=None, lag_seconds=None, lag_transactions=3)]
    for time, shown in (
        (None, "– it has no time"),
        ("+12000-01-01 00:00:00", "+12000-01-01 00:00:00 -"),
        ("-0001-01-01 00:00:00.5", "-0001-01-01 00:00:00 739"),
    ):
        tables = [change_table("dbo_t0", low_time=time, high_time=time)]
        page = report.make_page(made_up([session(1)], consumers=rows) | {"tables": tables})
        text = text_of(page)
        assert f"Published up to the commit of {shown}" in text
        assert f"c dbo_t0 net – {int_to_lsn(9)} – 3" in text


def test_a_consumer_that_is_behind(report: ModuleType) -> None:
    rows = [consumer(f"c{n}", lag_seconds=4000 + n, lag_transactions=5) for n in range(2)]
    rows.append(consumer("quiet", lag_seconds=9000))  # nothing waits for it
    colour, text = state_of(report.make_page(made_up([session(1)], consumers=rows)))
    assert colour == "late"
    assert "2 consumers more than 1\xa0h behind".replace("\xa0", " ") in text.replace("\xa0", " ")
    assert "c0, c1. dbt run" in text
    behind = made_up([failed_session(1)], consumers=rows)
    colour, text = state_of(report.make_page(behind))
    assert colour == "wrong" and "Also late: 2 consumers" in text
    assert state_of(report.make_page(behind | {"sessions": [session(1)]}, 120))[0] == "well"


WAITS = "transaction 7:80800 waits since 2024-05-01: 1 of 3 events have landed"


def test_what_the_log_waits_for(report: ModuleType) -> None:
    """As the last scan that has ended says."""
    waiting, going = session(2, waiting_for=WAITS), session(3, end_time=None)
    colour, text = state_of(report.make_page(made_up([session(1), waiting, going])))
    assert colour == "late"
    assert f"1 delay: At the last scan the log held back what came later: {WAITS}." in text
    assert state_of(report.make_page(made_up([waiting, session(3)])))[0] == "well"


def test_each_problem_links_to_a_page_that_there_is(report: ModuleType) -> None:
    """All kinds of problems at once; each page, and each heading in it, exists."""
    tables = [
        change_table("dbo_old", low_time=str(NOON - timedelta(days=6))),
        change_table("dbo_gone", is_there=False, row_count=None, bytes=None, files=None),
    ]
    rows = [
        consumer("late", is_stale=True),
        consumer("behind", lag_seconds=90000, lag_transactions=5),
    ]
    errors = [error(2, "CDC 22859: x"), error(1, "Java heap space", error_number=None)]
    days = [{"entry_day": "2026-07-01", "error_count": 2}]
    last_scans = failed_session(2), session(2, scan_phase="Second scan")
    for last in (row | {"waiting_for": WAITS} for row in last_scans):
        hung = session(3, end_time=None)
        data = made_up(
            [last, hung], made=str(NOON + timedelta(days=9)), consumers=rows, errors=errors,
            error_days=days,
        )  # fmt: skip
        page = report.make_page(data | {"tables": tables}, docs="https://docs.example/cdc/")
        links = re.findall(r'<li>[^<]* <a href="([^"]*)">', page)
        assert len(links) == 9
        for link in re.findall(r'href="https://docs.example/cdc/([^"]*)"', page):
            path, _, heading = link.partition("#")
            text = (PACKAGE / "docs" / path).read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.*)$", text, re.M)
            assert not heading or heading in {h.lower().replace(" ", "-") for h in headings}
    assert report.DOCS.endswith("/docs") and report.DOCS in report.make_page(data)
    page = report.make_page(data, docs="https://docs.example/cdc/index.html")
    assert 'href="https://docs.example/cdc/jobs.html"' in page
    assert 'href="https://docs.example/cdc/errors.html#cdc-22859"' in page
    assert ".md" not in "".join(re.findall(r'href="([^"]*)"', page))


def test_a_phone_has_plots_of_its_own(report: ModuleType) -> None:
    """As many, with the same names, and no time over another: at most five on the axis."""
    days = [{"entry_day": f"2026-06-{day:02}", "error_count": day} for day in range(1, 31)]
    for sessions in ([session(1)], [session(n, latency=n) for n in range(1000)], DAILY):
        page = report.make_page(made_up(sessions, errors=[error(1, "x")], error_days=days))
        assert titles_of(page, "narrow") == titles_of(page)
        for svg in re.findall(r'<svg class="narrow".*?</svg>', page, flags=re.DOTALL):
            times = re.findall(r">(?:\d\d:\d\d(?::\d\d)?|\d\d \w{3})</text>", svg)
            assert 1 <= len(times) <= 5


def test_light_and_dark(report: ModuleType) -> None:
    """Each name of a colour has a value for both, and plots have no ink of their own."""
    errors, days = [error(1, "x")], [{"entry_day": "2026-07-01", "error_count": 1}]
    page = report.make_page(made_up([session(1)], errors=errors, error_days=days))
    style = page.split("</style>")[0]
    light, dark = (dict(re.findall(r"(--[\w-]+): (#\w+)", part)) for part in (
        style.split("@media screen")[0], style.split("@media screen")[1].split("\n}\n")[0]
    ))  # fmt: skip
    assert light.keys() == dark.keys() >= set(re.findall(r"var\((--[\w-]+)\)", page))
    assert all(light[name] != dark[name] for name in light)
    for svg in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        assert not re.findall(r"#(?:333333|777777|e3e3e3|ffffff)\b", svg, re.I)


def test_nothing_on_the_page_needs_a_network(report: ModuleType) -> None:
    page = report.make_page(made_up([session(1)]))
    assert not re.findall(r"(?:src|href)=\"(?!#|file:///)|url\((?!#)|@import", page)


def test_the_tables_that_were_captured_last(report: ModuleType, tmp_path: Path) -> None:
    """Those of `make run`, until something else was captured."""
    assert report.last_home(tmp_path) == tmp_path
    log = Path("warehouse/cdc.db/scan_sessions/_delta_log")
    for time, home in enumerate((tmp_path / "demo", tmp_path)):
        (home / log).mkdir(parents=True)
        os.utime(home / log, (time, time))
        assert report.last_home(tmp_path) == home


@pytest.mark.parametrize(("script", "extra"), [("agent", "apscheduler"), ("report", "matplotlib")])
def test_help_without_the_extra(script: str, extra: str, tmp_path: Path) -> None:
    """It says what to install, in the version of this project, and so does a start."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules['{extra}'] = None\n")
    pinned = re.findall(rf'"({extra}==.*)"', (PACKAGE / "pyproject.toml").read_text("utf-8"))
    command = [sys.executable, str(PACKAGE / "scripts" / f"{script}.py")]
    for arguments in (["--help"], []):
        done = subprocess.run(
            [*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == (not arguments), done.stderr
        said = done.stdout if arguments else done.stderr
        assert said.splitlines()[-1].lower().endswith(f"needs {extra}: pip install '{pinned[0]}'")


ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"),), ("id",))
NOTES = CaptureInstance("dbo", "notes", "dbo_Notes", (("id", "int"),), ("id",))
TIME = datetime(2024, 5, 1, tzinfo=UTC)


def transaction(lsn: int, table: str, image: str) -> list[LogRecord]:
    """A transaction that inserts a row, its first record at `lsn`."""
    name = f"t{lsn}"
    begin, insert, commit = (int_to_lsn(lsn + n) for n in range(3))
    return [
        LogRecord(begin, name, "BEGIN", TIME),
        LogRecord(insert, name, "INSERT", TIME, "dbo", table, after_image=image),
        LogRecord(commit, name, "COMMIT", TIME + timedelta(seconds=lsn)),
    ]


@pytest.fixture(scope="module")
def captured(make_project: Callable[..., Project]) -> Capture:
    """Two tables, nothing run yet."""
    own = {"cdc_persistent_functions": False}
    return Capture(make_project, [ITEMS, NOTES], fresh=True, vars=own)


def read(report: ModuleType, project: Project) -> dict[str, Any]:
    """What report.py reads of a project."""
    options = [f"--{name}-dir={project.folder}" for name in ("project", "profiles")]
    options += [f"--log-path={project.folder}/logs", "--log-level-file=none"]
    return report.read_data(report.Dbt(options), 2000)


@pytest.mark.slow
def test_a_project_that_has_not_run(report: ModuleType, captured: Capture) -> None:
    data = read(report, captured.project)
    assert data["schema"] == captured.schema
    assert "Nothing is captured here yet." in report.make_page(data)
    names = [row.tableName for row in captured.sql("show tables in {schema}") if row.namespace]
    assert names == ["landed"]  # a report makes nothing


@pytest.mark.slow
def test_a_captured_project(report: ModuleType, captured: Capture) -> None:
    captured.land(transaction(1, "items", '{"id": 1}') + transaction(11, "notes", '{"id": 1}'))
    # the tables that a run of the change tables alone makes are enough
    captured.run("--select", "+lsn_time_mapping")
    table = captured.project.table("scan_sessions")
    failed = {"session_id": "session_id + 60", "scan_phase": "'Second scan'", "error_count": "1"}
    failed |= {name: f"{name} + interval 1 minute" for name in ("start_time", "end_time")}
    failed |= {"end_lsn": "'0x0000000000000000FFFF'", "waiting_for": f"'{WAITS}'"}
    rows = table.withColumns({name: expr(sql) for name, sql in failed.items()})
    rows.write.insertInto(f"{captured.schema}.scan_sessions")
    captured.sql("""insert into {schema}.dm_cdc_errors values
        (0, 0, timestamp'2026-06-30 23:59:59', null, 16, 1, '<script>&é⭐\\n$x$', null, null, null)
        """)
    data = read(report, captured.project)
    json.dumps(data)
    total, *scans = sorted(data["sessions"], key=lambda row: row["session_id"])
    assert (total["scan_phase"], total["failed_sessions_count"]) == ("Aggregate", 1)
    assert [row["scan_phase"] for row in scans] == ["Done", "Second scan"]
    assert [row["waiting_for"] for row in scans] == [None, WAITS]
    assert sorted((x["capture_instance"], x["row_count"]) for x in scans[0]["captured_rows"]) == [
        ("dbo_Notes", 1), ("dbo_items", 1)
    ]  # fmt: skip
    found = {row["capture_instance"]: row for row in data["tables"]}
    assert set(found) == {"dbo_items", "dbo_Notes"}
    items = found["dbo_items"]
    assert (items["row_count"], items["files"], items["is_there"]) == (1, 1, True)
    assert 500 < items["bytes"] < 50_000
    assert (items["low_end"], items["high_end"]) == (int_to_lsn(1), int_to_lsn(13))
    assert (items["low_time"], items["high_time"]) == (
        "2024-05-01 00:00:00", "2024-05-01 00:00:11"
    )  # fmt: skip
    assert {job["job_type"] for job in data["jobs"]} == {"capture", "cleanup"}

    page = report.make_page(data)
    text = text_of(page)
    assert len(titles_of(page)) == 5
    assert "1 problem: The last scan failed at" in text
    assert ": in phase Second scan" in text and f"held back what came later: {WAITS}." in text
    assert "&lt;script&gt;&amp;é⭐\n$x$" in page and "<script" not in page
    assert "1 error on record, all shown:" in text
    assert "2026-06-30 23:59:59 – Cleanup – &lt;script&gt;" in text
    assert "2 scans with something to capture (1 failed)" in text
    assert "dbo_Notes 1 " in text


def test_dbt_s_reason_where_it_fails(report: ModuleType, captured: Capture) -> None:
    captured.project.write("models/instances.yml", "models: [{name: 7}]")
    with pytest.raises(RuntimeError) as failure:
        read(report, captured.project)
    assert "\n" not in str(failure.value) and "instances.yml" in str(failure.value)
