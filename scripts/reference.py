"""Writes docs/reference.md and the pages of docs/reference/ out of the YAML of macros and models,
the heads of data tests and materializations, and examples.yml, and what docs/settings.md has out of
settings.yml; with --check it only says whether the pages are as they would be written."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SETTINGS_PAGE = ROOT / "docs" / "settings.md"
EXAMPLES = yaml.safe_load((ROOT / "scripts" / "examples.yml").read_text(encoding="utf-8"))
SETTINGS = yaml.safe_load((ROOT / "scripts" / "settings.yml").read_text(encoding="utf-8"))
HEAD = """# Reference

These pages describe every public macro, run-operation, materialization, data test and table.
`scripts/reference.py` writes them from the package's own YAML and comments. Each entry has its
arguments or columns, a call and its result. The examples run on the shop that `make run` captures,
after its two batches, or on what they name: [two clients](two-clients.md) before the first client's
round, or a [table that changes](instances.md#when-the-source-changes) and then gets a value that
does not fit. Tests compare the results.

[What corresponds to what](correspondences.md) lists everything that has a name in SQL Server, with
the persistent functions. [Settings and variables](settings.md) and [errors by number](errors.md)
have pages of their own.
"""
BELOW = """The examples run on the shop of `examples/shop`, or on what they name.
[The index](../reference.md) lists all entries.
"""
MATERIALIZATION = r"{% materialization (\w+), (default) %}"
# What only this package's own models, hooks and unit tests call.
OWN = ("captured_model", "finish_scan", "publication", "scan", "scan_window", "state_table")
# What is asked where it is not the shop after its two batches.
STORIES = {
    "tutorial.md": "the tutorial, before it writes the files",
    "two-clients.md": "two clients",
    "two-clients.md#a-client-that-comes-back-too-late": "two clients, after the cleanup",
    "landing.md#the-landing-model": "a folder of Kafka Connect's sink",
    "landing.md#a-table": "a table of Spark's Kafka source",
    "instances.md#when-the-source-changes": "a table that changes",
    "debezium.md#what-waits": "a log with a waiting transaction",
    "#enable_db": "a project that has never run",
    "#change_job": "a shop whose retention was changed",
    "jobs.md#the-agent": "a shop with an agent",
}
# The macros of each page.
SECTIONS = {
    "The log": [
        "debezium_log", "wal2json_log", "change_table_log", "dms_log",
        "unflattened_events", "landed_files", "landed_table",
    ],
    "Capture": ["change_table", "log_tables"],
    "Queries": [
        "get_all_changes", "get_net_changes", "changes_across", "all_changes_between",
        "net_changes_between", "change_feed", "get_column_changes", "create_functions",
    ],
    "LSNs and times": [
        "get_min_lsn", "get_max_lsn", "increment_lsn", "map_time_to_lsn", "map_lsn_to_time",
        "get_column_ordinal", "decrement_lsn", "lsn_number",
    ],
    "Update masks": ["is_bit_set", "has_column_changed", "changed_columns"],
    "Consumers": ["new_changes", "reset_consumer"],
    "Change tracking": [
        "change_tracking_table", "changetable_changes", "changetable_version",
        "change_tracking_current_version", "change_tracking_min_valid_version",
        "change_tracking_column_id", "change_tracking_is_column_in_mask", "change_tracking_cleanup",
        "flush_ct_internal_table_on_demand", "flush_commit_table_on_demand", "set_change_tracking",
        "enable_change_tracking", "disable_change_tracking",
    ],
    "Capture instances": [
        "enable_db", "disable_db", "enable_table", "init", "disable_table",
        "help_change_data_capture", "get_captured_columns", "get_source_columns", "get_ddl_history",
    ],
    "Jobs and cleanup": [
        "generate_wrapper_function", "cleanup", "cleanup_change_table", "log_truncation_point",
        "add_job", "change_job", "drop_job", "help_jobs", "start_job", "stop_job",
    ],
    "Errors": ["raise_cdc_error", "run_statement"],
}  # fmt: skip


def documented(path: Path, kind: str) -> list[dict[str, Any]]:
    """What a YAML file documents, without what is the package's own."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))[kind]
    return [
        x
        for x in found
        if x["name"] not in OWN and not x.get("description", "").startswith("Internal.")
    ]


def signatures() -> dict[str, str]:
    """How each macro is called, with its defaults."""
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "macros").rglob("*.sql"))
    )
    found = re.findall(r"{%-? macro (\w+)(\(.*?\)) -?%}", text, re.S)
    return {
        name: re.sub(r"\s+", " ", call).replace("( ", "(").replace(" )", ")")
        for name, call in found
    }


def line(text: Any) -> str:
    """A text in one line; what looks like HTML, and is none, as code."""
    text = re.sub(r"\s+", " ", str(text or "")).strip()
    parts = re.split(r"(`[^`]*`)", text)
    for n, part in enumerate(parts[::2]):
        parts[2 * n] = re.sub(r"(?<![\w<.])([\w.]*<\w+>(?:[\w<>.]*[\w>])?)", r"`\1`", part)
    return "".join(parts)


def described(item: dict[str, Any]) -> str:
    """Its description, of one paragraph or more."""
    return "\n\n".join(line(part) for part in re.split(r"\n\n+", item["description"]))


def cell(text: Any) -> str:
    """A table's cell."""
    return line(text).replace("|", "\\|")


def slug(title: str) -> str:
    """The name of a section's page, in docs/reference/."""
    return title.lower().replace(" ", "-") + ".md"


def linked(text: str, name: str, pages: dict[str, str]) -> str:
    """A link to an entry, by the page that has it; what the package keeps to itself has none."""
    return f"[{text}]({pages[name]}#{name})" if name in pages else f"`{text}`"


def story(of: str, pages: dict[str, str] | None) -> str:
    """A link to what an example is asked of: a place of another page, or `#` and an entry. Without
    `pages` it stands on a page of docs/ itself, else on one of docs/reference/."""
    if of.startswith("#") and pages:
        return linked(STORIES[of], of[1:], pages)
    return f"[{STORIES[of]}]({'../' if pages else ''}{of})"


def example(name: str, pages: dict[str, str] | None = None) -> str:
    """A call and its result, or where there is one."""
    found = EXAMPLES.get(name) or SETTINGS.get(name, {})
    if "call" not in found:
        return f"Example: {found['instead']}\n" if found else ""
    language = "" if found["call"].startswith("dbt ") else "sql"
    text = f"Example, on {story(found['of'], pages)}" if "of" in found else "Example"
    if "model" in found:
        path = ROOT / "examples" / "shop" / "models" / f"{found['model']}.sql"
        model = path.read_text(encoding="utf-8").strip()
        text += f", the model {found['model']}:\n\n```sql\n{model}\n```\n\nThis query"
    else:
        text += f": {found['given']}." if "given" in found else ":"
    text += f"\n\n```{language}\n{found['call'].strip()}\n```\n\n"
    text += f"{'returns' if language else 'prints'}\n\n```\n{found['result'].strip()}\n```\n"
    if "function" in found:
        text += f"\nThe persistent function `{found['function']}` returns the same.\n"
    return text


class Entry(NamedTuple):
    """What the reference has of one macro, data test, materialization or table."""

    name: str
    description: str
    text: str  # without its heading and its example


def table(head: str, rows: Iterable[tuple[Any, Any, Any]]) -> str:
    """Arguments or columns."""
    lines = [f"| `{name}` | {cell(kind)} | {cell(text)} |" for name, kind, text in rows]
    return "\n".join([f"| {head} | type | |", "|---|---|---|", *lines, ""])


def macros() -> Iterator[tuple[str, list[Entry]]]:
    """The macros of each section; run-operations as one calls them."""
    calls = signatures()
    files = sorted((ROOT / "macros").rglob("_*.yml"))
    items = {item["name"]: item for path in files for item in documented(path, "macros")}
    missing = items.keys() ^ {name for names in SECTIONS.values() for name in names}
    if missing:
        sys.exit(f"in SECTIONS of scripts/reference.py or in YAML, not in both: {sorted(missing)}")
    for title, section in SECTIONS.items():
        entries = []
        for name in section:
            item, arguments = items[name], items[name].get("arguments", [])
            call = f"{{{{ dbt_cdc.{name}{calls[name]} }}}}"
            if item["description"].startswith("Run-operation"):
                names = ", ".join(f"{a['name']}: ..." for a in arguments)
                call = f"dbt run-operation {name}" + (f" --args '{{{names}}}'" if names else "")
            text = f"```\n{call}\n```\n\n{described(item)}\n"
            if arguments:
                rows = ((a["name"], a["type"], a["description"]) for a in arguments)
                text += "\n" + table("argument", rows)
            entries.append(Entry(name, item["description"], text))
        yield title, entries


def heads(folder: str, pattern: str) -> Iterator[tuple[str, str, str]]:
    """Name, arguments and comment of what a pattern finds below a comment."""
    for path in sorted((ROOT / folder).rglob("*.sql")):
        text = path.read_text(encoding="utf-8")
        for comment, name, call in re.findall(rf"{{#-((?:(?!-#}}).)*)-#}}\s*{pattern}", text, re.S):
            yield name, call, line(comment)


def own_models(materialization: str, pages: dict[str, str]) -> str:
    """The tables and views that it makes."""
    signs = (f"materialized='{materialization}'", f"dbt_cdc.{materialization}(")
    files = sorted((ROOT / "models" / "metadata").glob("*.sql"))
    texts = {path.stem: path.read_text(encoding="utf-8") for path in files}
    return ", ".join(linked(n, n, pages) for n, x in texts.items() if any(s in x for s in signs))


def materializations() -> list[Entry]:
    """Those with a model as an example; `own_materializations` has the others."""
    return [
        Entry(name, comment, f"{comment}\n")
        for name, _, comment in heads("macros", MATERIALIZATION)
        if "model" in EXAMPLES.get(name, {})
    ]


def own_materializations(pages: dict[str, str]) -> str:
    """Those of the package's own models, in a line each."""
    lines = []
    for name, _, comment in heads("macros", MATERIALIZATION):
        if "model" not in EXAMPLES.get(name, {}):
            models = f"models with {linked(name, name, pages)}" if name in EXAMPLES else ""
            lines.append(f"* `{name}`, for {models or own_models(name, pages)}: {comment}\n")
    return "".join(lines)


def data_tests() -> Iterator[Entry]:
    """The generic tests."""
    for name, call, comment in heads("tests/generic", r"{% test (\w+)\(model(.*?)\) %}"):
        arguments = f" ({call[2:]})" if call else ""
        yield Entry(name, comment, f"`dbt_cdc.{name}`{arguments}: {comment}\n")


def tables() -> Iterator[Entry]:
    """The package's own tables and views."""
    for model in documented(ROOT / "models" / "metadata" / "_metadata.yml", "models"):
        columns = (
            (c["name"], c.get("data_type"), c.get("description")) for c in model.get("columns", [])
        )
        text = f"{described(model)}\n\n{table('column', columns)}"
        yield Entry(model["name"], model["description"], text)


def in_short(description: str) -> str:
    """The first sentence of a description, without what stands in brackets; of a long one what
    stands before its colon."""
    text = re.sub(r" \((?:[^()]|\([^()]*\))*\)", "", line(description))
    text = re.sub(r"^(Run-operation(, [^.]*)?|SQL)\. ", "", text)
    text = re.split(r"\.(?= [A-Z(]|$)|; (?=[^`]*(?:`[^`]*`[^`]*)*$)", text)[0]
    before = text.partition(": ")[0]
    if len(before) > 60 and len(text) > 130:
        text = before
    return text[0].upper() + text[1:]


def listed(title: str, entries: list[Entry]) -> Iterator[str]:
    """A section of the index."""
    page = f"reference/{slug(title)}"
    yield f"## [{title}]({page})\n"
    for entry in entries:
        kind = " (run-operation)" if entry.description.startswith("Run-operation") else ""
        text = in_short(entry.description)
        yield f"* {linked(entry.name, entry.name, {entry.name: page})}{kind}: {text}"
    yield ""


def reference_pages() -> dict[Path, str]:
    """The index, and a page for each section."""
    sections = dict(macros())
    sections["Materializations"] = materializations()
    sections["Data tests"] = list(data_tests())
    sections["Tables and views"] = list(tables())
    pages = {e.name: slug(title) for title, entries in sections.items() for e in entries}
    index, written = [HEAD], {}
    for title, entries in sections.items():
        index += listed(title, entries)
        heading = title if title[1].isupper() else title[0].lower() + title[1:]
        lines = [f"# Reference: {heading}\n", BELOW]
        if title == "Materializations":
            lines.append(own_materializations(pages))
        for entry in entries:
            lines.append(f"## {entry.name}\n\n{entry.text}")
            if text := example(entry.name, pages):
                lines.append(text)
        written[DOCS / "reference" / slug(title)] = "\n".join(lines).rstrip() + "\n"
    return {DOCS / "reference.md": "\n".join(index).rstrip() + "\n", **written}


def settings_page() -> str:
    """The page of settings, with its tables and examples written anew."""
    text = SETTINGS_PAGE.read_text(encoding="utf-8")
    for kind in ("settings", "variables"):
        names = [name for name in SETTINGS if name.startswith("cdc_") == (kind == "variables")]
        rows = [f"| {kind.removesuffix('s')} | default | meaning |", "|---|---|---|"]
        for name in names:
            what = SETTINGS[name]
            of = ", of a column" if "of_column" in what else ""
            rows.append(f"| `{name}`{of} | {cell(what['default'])} | {cell(what['meaning'])} |")
        shown = [f"### {name}\n\n{example(name)}" for name in names]
        for what, written in ((kind, "\n".join(rows)), (f"examples of {kind}", "\n".join(shown))):
            start, end = f"<!-- {what} -->\n", "\n<!-- end -->"
            before, _, rest = text.partition(start)
            text = before + start + written.rstrip() + end + rest.partition("<!-- end -->")[2]
    return text


if __name__ == "__main__":
    written = {**reference_pages(), SETTINGS_PAGE: settings_page()}
    stale = set((DOCS / "reference").glob("*.md")) - written.keys()
    if "--check" not in sys.argv:
        (DOCS / "reference").mkdir(exist_ok=True)
        for path, text in written.items():
            path.write_text(text, encoding="utf-8")
        for path in stale:
            path.unlink()
    else:
        for path, text in written.items():
            if not path.exists() or text != path.read_text(encoding="utf-8"):
                stale.add(path)
        for path in sorted(stale):
            print(f"{path.relative_to(ROOT)} is not what the YAML says")
        if stale:
            sys.exit("run .venv/bin/python scripts/reference.py")
