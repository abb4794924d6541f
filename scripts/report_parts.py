"""What report.py's page says, from the data that the macro `_report_data` gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import pairwise, takewhile
from statistics import median
from typing import Any

from markupsafe import Markup
from report_plots import GREY, MINUTE, MOST_POINTS, TABLE_COLOURS, Point, Timeline, per_day
from report_words import at, counted, number, short, size, span

Data = dict[str, Any]
GRACE = 2880 * MINUTE  # beyond the retention, as in the data test within_retention
LEAST = 60 * MINUTE  # a scan or a consumer is not late before
LAST = 30  # scans that tell how often one runs
LONGEST_SCAN = timedelta(minutes=60)  # as in the data test last_scan_succeeded
PARAMETERS = {
    "capture": ("maxtrans", "maxscans", "continuous", "pollinginterval"),
    "cleanup": ("retention", "threshold"),
}
UNITS = {"pollinginterval": " s", "retention": " minutes", "threshold": " rows"}


def verdict(data: Data, longest: int | None) -> Data:
    """Whether anything is wrong, or late by more than `longest` seconds, where they are given;
    beside that what is good to know."""
    stopped, slow = find_pause(data, longest)
    problems, delays = find_problems(data, stopped), [*slow, *find_delays(data, longest)]
    notes = find_notes(data)
    if is_empty(data):
        status, text = "nothing", "Nothing is captured here yet."
        notes = ["The first dbt run with a change table makes the tables that this page reads."]
    elif problems:
        status, text = "wrong", f"{counted(len(problems), 'problem')}:"
    elif delays:
        status, text = "late", f"{counted(len(delays), 'delay')}:"
    else:
        has_ended = any(row["end_time"] for row in scans(data))
        last = "The last scan succeeded." if has_ended else "No scan has ended yet."
        status, text = "well", f"Nothing is wrong. {last}"
    return {
        "status": status, "verdict": text, "problems": problems,
        "delays": delays if status != "nothing" else [], "notes": notes,
    }  # fmt: skip


def is_empty(data: Data) -> bool:
    """Whether nothing was ever captured, nor tried."""
    return not (data["tables"] or data["sessions"] or data["errors"])


def find_pause(data: Data, longest: int | None) -> tuple[list[Data], list[Data]]:
    """That no scan has run for too long, as a problem; or, where `longest` does not say how long
    that is, for half of it, as a delay."""
    last = max((row["end_time"] or row["start_time"] for row in scans(data)), default=None)
    if not last and data["tables"]:
        text = "No scan is on record: none has run for as long as sessions are kept."
        return [trouble(f"{text} Does the capture job run?", "jobs.md")], []
    if not last:
        return [], []
    allowed, why = (longest, "--max-minutes") if longest else longest_pause(data)
    pause = (at(data["made"]) - at(last)).total_seconds()
    text = f"No scan has run since {short(last)}, {since(data, last)}"
    if pause > allowed:
        text = f"{text}; the limit is {span(allowed)} ({why}). Does the capture job run?"
        return [trouble(text, "jobs.md")], []
    if not longest and pause > max(LEAST, allowed / 2):
        text = f"{text}, longer than is usual; a problem after {span(allowed)} ({why})."
        return [], [trouble(text, "jobs.md")]
    return [], []


def find_problems(data: Data, stopped: list[Data]) -> list[Data]:
    """What somebody has to do something about, in plain words; also that scans have `stopped`."""
    made, found = at(data["made"]), []
    ended = [row for row in scans(data) if row["end_time"]]
    failing = list(takewhile(lambda row: row["error_count"], reversed(ended)))
    if failing:
        text = "The last scan failed at"
        if len(failing) > 1:
            text = f"The last {len(failing)} scans failed, since"
        errors = latest_first(data["errors"])
        message = next(
            (e["error_message"] for e in errors if e["session_id"] == failing[0]["session_id"]),
            f"in phase {failing[0]['scan_phase']}",
        )
        text = f"{text} {short(failing[-1]['end_time'])}: {message}"
        found.append(trouble(text, page_of_error(message)))
    elif ended and ended[-1]["scan_phase"] != "Done":
        found.append(trouble(
            "The last scan did not capture all change tables; its window stays open until a run "
            "takes the others.", "jobs.md#schedulers",
        ))  # fmt: skip
    found += stopped
    for row in scans(data):
        if not row["end_time"] and made - at(row["start_time"]) > LONGEST_SCAN:
            found.append(trouble(
                f"A scan began at {short(row['start_time'])} and has not ended: it was killed or "
                "hangs. The next run finishes its window.", "monitoring.md",
            ))  # fmt: skip
    missing = [row["change_table"] for row in data["tables"] if not row["is_there"]]
    if missing:
        text = f"{change_tables(missing)} not there: {names(missing)}."
        found.append(trouble(text, "errors.md#cdc-22981"))
    stale = sorted({row["consumer"] for row in data["consumers"] if row["is_stale"]})
    if stale:
        text = "Changes that consumers have not read are gone"
        text = f"{text}: {names(stale)}. reset_consumer starts them over."
        found.append(trouble(text, "starting-over.md"))
    limit = retention(data)
    over = [row["capture_instance"] for row in data["tables"] if is_over(row, limit)]
    if over:
        found.append(trouble(
            f"{change_tables(over, 'holds', 'hold')} over {span(GRACE)} more than the retention of "
            f"{span(limit)}: {names(over)}. Has the cleanup job run?", "retention.md",
        ))  # fmt: skip
    return found


def find_delays(data: Data, longest: int | None) -> list[Data]:
    """What may be as it should be, or the first sign that it is not."""
    found, limit = [], retention(data)
    waiting = next((row["waiting_for"] for row in reversed(scans(data)) if row["end_time"]), None)
    if waiting:
        found.append(trouble(
            f"At the last scan the log held back what came later: {waiting}.",
            "debezium.md#what-waits",
        ))  # fmt: skip
    ends = [row["high_time"] for row in data["tables"] if row["high_time"]]
    if ends and limit and (at(data["made"]) - at(max(ends))).total_seconds() > limit:
        found.append(trouble(
            f"The last published commit is of {short(max(ends))}, {since(data, max(ends))}: longer "
            f"than the retention of {span(limit)}. Is the log still landed?", "landing.md",
        ))  # fmt: skip
    longest = longest or LEAST
    behind = [
        row
        for row in data["consumers"]
        if row["lag_transactions"] and (row["lag_seconds"] or 0) > longest and not row["is_stale"]
    ]
    if behind:
        late = sorted({row["consumer"] for row in behind})
        most = max(row["lag_seconds"] for row in behind)
        found.append(trouble(
            f"{counted(len(late), 'consumer')} more than {span(longest)} behind what is published, "
            f"{span(most)} at most: {names(late)}. dbt run takes what they lack.", "replica.md",
        ))  # fmt: skip
    return found


def trouble(text: str, page: str) -> Data:
    """What is wrong, and the page of docs/ that says what to do."""
    return {"text": text, "page": page}


def page_of_error(message: str | None) -> str:
    """Where an error's number is explained."""
    number_ = re.match(r"CDC (\d+): ", message or "")
    return f"errors.md#cdc-{number_[1]}" if number_ else "monitoring.md"


def longest_pause(data: Data) -> tuple[float, str]:
    """Seconds without a scan from which on it is late, and where they are from."""
    polling = sum(
        job["pollinginterval"]
        for job in data["jobs"]
        if job["job_type"] == "capture" and job["continuous"]
    )
    if 3 * polling > LEAST:
        return 3 * polling, "three times the capture job's pollinginterval"
    usual = usual_pause(data)
    if 3 * usual > LEAST:
        return 3 * usual, "three times the usual pause between the last scans"
    return LEAST, "the default; --max-minutes gives another"


def usual_pause(data: Data) -> float:
    """The median of the seconds between the last scans; 0 where there are not two."""
    # neither runs of some tables only, nor those that failed and were tried again
    done = [row for row in scans(data) if row["scan_phase"] == "Done"][-LAST:]
    pauses = [
        (at(later["start_time"]) - at(earlier["end_time"])).total_seconds()
        for earlier, later in pairwise(done)
    ]
    for row in done:  # successive scans that found nothing share a row
        if (row["empty_scan_count"] or 0) > 1:
            shared = (at(row["end_time"]) - at(row["start_time"])).total_seconds()
            pauses.append(shared / (row["empty_scan_count"] - 1))
    return median(pauses) if pauses else 0


def find_notes(data: Data) -> list[str]:
    """What one should know, but need not do anything about."""
    ended = [row for row in scans(data) if row["end_time"]]
    found = []
    failed = [row for row in ended if row["error_count"]]
    if failed and not ended[-1]["error_count"]:
        found.append(f"The last failed scan ended at {short(failed[-1]['end_time'])}.")
    unpublished = [row["capture_instance"] for row in data["tables"] if not row["high_end"]]
    if unpublished:
        found.append(f"{change_tables(unpublished)} not published yet: {names(unpublished)}.")
    if data["tables"] and retention(data) is None:
        found.append("There is no cleanup job, so nothing is ever removed.")
    return found


def is_over(table: Data, limit: int | None) -> bool:
    """Whether a change table holds much more than the retention, in seconds."""
    seconds = held(table)
    return limit is not None and seconds is not None and seconds > limit + GRACE


def facts(data: Data) -> list[Data]:
    """The headline figures."""
    if is_empty(data):
        return []
    ended = [row for row in scans(data) if row["end_time"]]
    captured = [row for row in ended if has_latency(row)][-1:]
    summary = next((row for row in data["sessions"] if not row["session_id"]), None)
    tables, limit = data["tables"], retention(data)
    bytes_ = sum(row.get("bytes") or 0 for row in tables)
    rows = sum(row.get("row_count") or 0 for row in tables)
    longest = max((held(row) or 0 for row in tables), default=0)
    keeps = f"the cleanup job keeps {span(limit)}" if limit else "there is no cleanup job"
    return [
        published(data),
        last_scan(data),
        fact(
            "Latency of the last capture",
            span(captured[0]["latency"]) if captured else "–",
            *(f"in the scan that ended {short(row['end_time'])}" for row in captured),
        ),
        fact(
            "Failed scans",
            number(summary["failed_sessions_count"] if summary else 0),
            *([f"since {short(summary['start_time'])}"] if summary else []),
        ),
        fact("Change tables", number(len(tables)), f"{counted(rows, 'row')}, {size(bytes_)}"),
        fact("Changes held, at most", span(longest), keeps),
    ]


def published(data: Data) -> Data:
    """The high end, and how old it is."""
    ends = [(row["high_end"], row["high_time"]) for row in data["tables"] if row["high_end"]]
    if not ends:
        return fact("Published up to", "nothing yet")
    lsn, time = max(ends)
    ago = since(data, time) if time else "it has no time"
    return fact("Published up to the commit of", short(time), ago, lsn)


def last_scan(data: Data) -> Data:
    """How the last scan went, and whether one goes on."""
    going = [
        f"another runs since {short(row['start_time'])}"
        for row in scans(data)
        if not row["end_time"]
    ][-1:]
    ended = [row for row in scans(data) if row["end_time"]]
    if not ended:
        return fact("Last scan", "none has ended yet", *going)
    last = ended[-1]
    counts = counted(last["tran_count"], "transaction"), counted(last["command_count"], "row")
    state, more = last["scan_phase"], "found nothing" if is_quiet(last) else ", ".join(counts)
    if last["error_count"]:
        state, more = "Failed", f"in phase {last['scan_phase']}"
    ago = f"ended {short(last['end_time'])}, {since(data, last['end_time'])}"
    return fact("Last scan", state, more, ago, *going)


def fact(name: str, value: str, *more: str) -> Data:
    """One figure: its name, itself, and what is to know of it."""
    return {"name": name, "value": value, "more": more}


def since(data: Data, time: str) -> str:
    """How long before the page was made."""
    return f"{span((at(data['made']) - at(time)).total_seconds())} ago"


def scan_parts(data: Data) -> Data:
    """The plots over time."""
    ended = [row for row in scans(data) if row["end_time"]]
    busy = [row for row in ended if not is_quiet(row)]
    if not busy:
        text = "No scan has found anything yet." if ended else "No scan has ended yet."
        return {"period": text, "plots": []}
    good = [row for row in busy if not row["error_count"]]
    failed = [at(row["end_time"]) for row in busy if row["error_count"]]
    times = [at(row["end_time"]) for row in busy]
    line = Timeline(min(times), max(times), failed, len(good) > MOST_POINTS)
    latencies = points_of([row for row in good if has_latency(row)], "latency")
    durations, transactions = points_of(good, "duration"), points_of(good, "tran_count")
    name = "Duration of a scan"
    plots = [
        plot("Latency", line.seconds, latencies,
             "From the last captured commit of a scan to the scan's end."),
        plot(name, line.seconds, durations, "From the scan's start to its end."),
        plot("Transactions in a scan", line.counts, transactions,
             "All that were committed in the scan's window, of captured tables or not."),
        row_plot(line, good),
    ]  # fmt: skip
    return {"period": period(line, ended, busy), "plots": plots}


def period(line: Timeline, ended: list[Data], busy: list[Data]) -> str:
    """What the plots are of, and how to read them."""
    quiet = sum(row["empty_scan_count"] or 0 for row in ended)
    words = [
        f"{counted(len(busy), 'scan')} with something to capture",
        f"({number(len(line.failed))} failed) and {counted(quiet, 'scan')} that found nothing,",
        f"from {short(ended[0]['start_time'])} to {short(ended[-1]['end_time'])}.",
    ]
    if line.has_ranges:
        words.append(
            f"Dots are the medians of {line.bar}, lines go from the smallest to the largest value."
        )
    else:
        words.append("Each dot is a scan.")
    if line.failed:
        words.append("A cross at the top is a failed scan.")
    return " ".join(words)


def points_of(rows: list[Data], column: str) -> list[Point]:
    """A value of each scan, at its end."""
    return [(at(row["end_time"]), row[column]) for row in rows]


def plot(
    name: str, draw: Callable[[list[Any], str], str], series: list[Any], text: str,
    legend: Iterable[Data] = (),
) -> Data:  # fmt: skip
    """A plot as the page takes it. Nothing of users is in the SVG itself."""
    if not series:
        return {"name": name, "svg": None, "text": f"{name}: there is nothing to show yet."}
    return {"name": name, "svg": Markup(draw(series, name)), "text": text, "legend": [*legend]}


def row_plot(line: Timeline, good: list[Data]) -> Data:
    """Rows by time and table: those with the most rows, and all others together."""
    series = sorted(captured_points(good).items(), key=lambda item: (-total(item[1]), item[0]))
    if len(series) > len(TABLE_COLOURS):
        most = len(TABLE_COLOURS) - 1
        others = [point for _, points in series[most:] for point in points]
        series = [*series[:most], (f"{len(series) - most} others", others)]
        colours = [*TABLE_COLOURS[:most], GREY]
    else:
        colours = TABLE_COLOURS
    legend = [
        {"colour": colour, "name": name, "rows": counted(total(points), "row")}
        for colour, (name, points) in zip(colours, series, strict=False)
    ]
    bars = [(colour, points) for colour, (_, points) in zip(colours, series, strict=False)]
    text = "What the scans wrote into each change table."
    return plot("Rows captured", line.sums, bars, text, legend)


def captured_points(good: Iterable[Data]) -> dict[str, list[tuple[datetime, float]]]:
    """For each table the rows of each window. Runs that share a window each count all of it, so the
    last one counts."""
    windows = {
        (captured["capture_instance"], row["end_lsn"]): (at(row["end_time"]), captured["row_count"])
        for row in good
        for captured in row["captured_rows"] or []
    }
    found: dict[str, list[tuple[datetime, float]]] = {}
    for (name, _), point in windows.items():
        found.setdefault(name, []).append(point)
    return found


def table_parts(data: Data) -> Data:
    """The change tables."""
    limit = retention(data)
    return {
        "tables": [table_row(row, limit) for row in data["tables"]],
        "retention": f"retention {span(limit)}" if limit else "",
    }


def table_row(table: Data, limit: int | None) -> Data:
    """A change table as the page shows it."""
    seconds = held(table)
    return {
        "name": table["capture_instance"],
        "more": "" if table["is_there"] else f"{table['change_table']} is not there",
        "rows": number(table.get("row_count")),
        "size": size(table.get("bytes")),
        "files": number(table.get("files")),
        "low_time": short(table["low_time"]),
        "low_end": table["low_end"],
        "high_time": short(table["high_time"]),
        "high_end": table["high_end"] or "not published yet",
        "held": span(seconds),
        "share": min(100, round(100 * seconds / limit)) if limit and seconds is not None else None,
        "is_over": is_over(table, limit),
    }


def consumer_rows(data: Data) -> list[Data]:
    """Who has consumed how far, those with the longest lag first."""
    rows = sorted(
        data["consumers"],
        key=lambda row: (-(row["lag_seconds"] or 0), row["consumer"], row["capture_instance"]),
    )
    return [
        {
            "name": row["consumer"],
            "instance": row["capture_instance"],
            "mode": row["mode"],
            "time": short(row["last_time"]),
            "lsn": row["last_lsn"] or "nothing yet",
            "lag": span(row["lag_seconds"]) if row["lag_transactions"] else "none",
            "transactions": number(row["lag_transactions"]),
            "is_stale": row["is_stale"],
        }
        for row in rows
    ]


def error_parts(data: Data) -> Data:
    """The last errors, and how many there were each day."""
    errors = latest_first(data["errors"])
    counts = {at(row["entry_day"]): row["error_count"] for row in data["error_days"]}
    if not errors:
        return {"errors": [], "errors_shown": "", "error_days": None}
    last = max(at(data["made"][:10]), *counts)
    first = min(last - timedelta(days=6), *counts)
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    shown = f"the last {len(errors)}" if sum(counts.values()) > len(errors) else "all"
    return {
        "error_days": Markup(per_day({day: counts.get(day, 0) for day in days}, "Errors a day")),
        "errors_shown": f"{counted(sum(counts.values()), 'error')} on record, {shown} shown:",
        "errors": [
            {
                "time": short(error["entry_time"]),
                "session": error["session_id"] or "–",
                "phase": error["phase"],
                "number": error["error_number"] or "–",
                "message": error["error_message"],
                "page": page_of_error(error["error_message"]),
            }
            for error in errors
        ],
    }


def job_rows(data: Data) -> list[Data]:
    """The jobs, each with its own parameters."""
    return [
        {
            "name": job["job_type"],
            "parameters": [
                parameter(name, job[name]) if name in PARAMETERS.get(job["job_type"], ()) else "–"
                for names in PARAMETERS.values()
                for name in names
            ],
        }
        for job in sorted(data["jobs"], key=lambda job: job["job_type"])
    ]


def parameter(name: str, value: Any) -> str:
    """A job's parameter as help_jobs prints it, and its unit: '4320 minutes', '5000 rows (...)'."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    given, space, beside = str(value).partition(" ")
    return given + UNITS.get(name, "") + space + beside


def scans(data: Data) -> list[Data]:
    """The sessions without the aggregate."""
    return [row for row in data["sessions"] if row["session_id"]]


def is_quiet(row: Data) -> bool:
    """Whether a session is of scans that found nothing."""
    return bool(row["empty_scan_count"])


def has_latency(row: Data) -> bool:
    """Whether a scan published a commit of a captured table."""
    return row["scan_phase"] == "Done" and row["last_commit_cdc_time"] is not None


def latest_first(errors: list[Data]) -> list[Data]:
    """Errors as the page lists them."""
    return sorted(errors, key=lambda row: row["entry_time"], reverse=True)


def retention(data: Data) -> int | None:
    """Seconds that the cleanup job keeps; none without one."""
    jobs = [job for job in data["jobs"] if job["job_type"] == "cleanup"]
    return jobs[0]["retention"] * MINUTE if jobs else None


def held(table: Data) -> float | None:
    """Seconds from the low end to the high end."""
    if not table["low_time"] or not table["high_time"]:
        return None
    return (at(table["high_time"]) - at(table["low_time"])).total_seconds()


def total(points: Iterable[Point]) -> int:
    """The sum of their values."""
    return int(sum(value for _, value in points))


def change_tables(found: list[str], one: str = "is", many: str = "are") -> str:
    """'1 change table is', '2 change tables are'."""
    return f"{counted(len(found), 'change table')} {one if len(found) == 1 else many}"


def names(found: list[str]) -> str:
    """The first few."""
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return ", ".join(found[:5]) + more
