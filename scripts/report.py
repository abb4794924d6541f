"""`make report`: the state of capture as one HTML page, for a browser or a ticket.

    report.py [--output FILE] [--max-minutes N] [--sessions N] [--docs URL] [--project-dir DIR]
              [options of dbt, as --target]

In examples/shop it is of the tables that were captured last, those of `make run` too, unless
DBT_CDC_HOME says which.

The page needs no network and no script. What it shows is asked through dbt, by the macro
`_report_data`, so any target does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from dbt_commands import Dbt, check_extra, enter_project, needs, problem, told

if TYPE_CHECKING:
    from report_parts import Data

ROOT = Path(__file__).resolve().parents[1]
DOCS = (ROOT / "docs").as_uri()


def read_data(dbt: Dbt, sessions: int) -> Data:
    """What the page shows; raises RuntimeError with the reason where dbt fails."""
    arguments = ["--args", json.dumps({"sessions": sessions})]
    result, lines = dbt.run("run-operation", "dbt_cdc._report_data", *arguments)
    data = told(lines, "report")
    if not result.success or data is None:
        raise RuntimeError(problem(lines))
    return data


def make_page(data: Data, max_minutes: int | None = None, docs: str = DOCS) -> str:
    """The page. Its order is the reader's: is anything wrong, how far is it, what has happened.

    A scan or a consumer is late after `max_minutes`; without them a scan is by what its job or the
    scans before say, a consumer after an hour. `docs` is where the links of problems lead: a folder
    of Markdown, or the index.html of the site.
    """
    from report_parts import (  # with matplotlib, which --help does without
        consumer_rows,
        error_parts,
        facts,
        job_rows,
        scan_parts,
        table_parts,
        verdict,
    )

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["link"] = lambda page: link(docs, page)
    data = {**data, "sessions": sorted(data["sessions"], key=lambda row: row["start_time"])}
    return environment.get_template("report.html").render(
        schema=data["schema"],
        made=data["made"][:19],
        target=data["target"],
        **verdict(data, max_minutes and max_minutes * 60),
        facts=facts(data),
        **scan_parts(data),
        **table_parts(data),
        consumers=consumer_rows(data),
        **error_parts(data),
        jobs=job_rows(data),
    )


def link(docs: str, page: str) -> str:
    """Where a page, `errors.md#cdc-313`, is found."""
    if docs.endswith(".html"):
        return f"{docs.rpartition('/')[0]}/{page.replace('.md', '.html', 1)}"
    return f"{docs.rstrip('/')}/{page}"


def last_home(spark: Path) -> Path:
    """Where the tables are that were captured last: .spark/, or the folder of `make run` in it."""
    database = f"{os.environ.get('DBT_CDC_SCHEMA', 'cdc').lower()}.db"
    logs = [
        log
        for home in (spark, spark / "demo")
        if (log := home / "warehouse" / database / "scan_sessions" / "_delta_log").is_dir()
    ]
    newest = max(logs, key=lambda log: log.stat().st_mtime, default=None)
    return newest.parents[3] if newest else spark


def parse_arguments() -> tuple[argparse.Namespace, list[str]]:
    """Our options; all others are dbt's (--target, --vars, --profiles-dir ...)."""
    parser = argparse.ArgumentParser(
        description="Makes an HTML page of the state of capture. Other options are dbt's.",
        epilog=f"Needs {needs('report')}",
    )
    parser.add_argument("--project-dir", default=".", help="the dbt project (here)")
    parser.add_argument("--output", type=Path, help="the page (target/cdc_report.html)")
    parser.add_argument(
        "--sessions", type=int, default=2000, help="the last scans shown (%(default)s)"
    )
    parser.add_argument(
        "--max-minutes", type=int,
        help="the longest time without a scan (the page says which, and why), and behind for a "
        "consumer (60)",
    )  # fmt: skip
    parser.add_argument(
        "--docs", default=DOCS,
        help="where links lead (docs/ of this package); of the site, the address of index.html",
    )  # fmt: skip
    return parser.parse_known_args()


def main() -> int:
    """Makes the page, and says where it is."""
    options, dbt_options = parse_arguments()
    check_extra("report")
    output = options.output.resolve() if options.output else Path("target/cdc_report.html")
    enter_project(options.project_dir)
    if Path.cwd() == ROOT / "examples" / "shop":
        os.environ.setdefault("DBT_CDC_HOME", str(last_home(Path(".spark"))))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        data = read_data(Dbt(dbt_options), options.sessions)
        page = make_page(data, options.max_minutes, options.docs)
        output.write_text(page, encoding="utf-8", errors="replace")
    except (RuntimeError, OSError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    print(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
