"""Writes the two files of a capture instance into the project, as `enable_table` prints them, and
adds its name to the list of those that are published together.

    enable_table.py '{source_schema: dbo, source_name: orders, index_columns: id}'
        [--folder models/cdc] [--project-dir DIR] [options of dbt, as --target]

No file is overwritten: where one of them is there with another text, none is written. A list that
is not to be found, or not to be edited for certain, is left alone: the line to add is printed.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from typing import Any

import yaml
from model_files import PROJECT, printed_files, refuse_to_overwrite, write

LIST = "cdc_capture_instances"
INLINE = rf"""({LIST}["']?\s*:\s*\[)([^\]#]*?)(,?\s*\])"""
BLOCK = (
    rf"""({LIST}["']?\s*:[ \t]*(?:#.*)?\n(?:[ \t]*(?:-[ \t].*|#.*)?\n)*([ \t]*)-[ \t].*)(\n|\Z)"""
)


def lists_of(settings: Any) -> list[list[Any]]:
    """All lists of that name in the project's variables."""
    if not isinstance(settings, dict):
        return []
    own = [settings[LIST]] if isinstance(settings.get(LIST), list) else []
    return own + [found for value in settings.values() for found in lists_of(value)]


def with_listed(project: str, name: str) -> str | None:
    """The text of dbt_project.yml with one more capture instance in its list; None where that
    cannot be said to be the only thing that changes."""
    found = [match for pattern in (INLINE, BLOCK) for match in re.finditer(pattern, project)]
    if len(found) != 1:
        return None
    (place,) = found
    is_bare = yaml.safe_load(name) == name and '"' not in place[0]
    item = name if is_bare else json.dumps(name)
    if place.re.pattern == BLOCK:
        longer = f"{place[1]}\n{place[2]}- {item}{place[3]}"
    else:
        longer = (
            f"{place[1]}{place[2]}{', ' if place[2].strip() else ''}{item}{place[3].lstrip(',')}"
        )
    text = project[: place.start()] + longer + project[place.end() :]
    try:
        before, after = yaml.safe_load(project), yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    wanted = copy.deepcopy(before)
    lists = lists_of(wanted.get("vars"))
    for names in lists:
        names.append(name)
    return text if len(lists) == 1 and after == wanted else None


def main() -> int:
    """Prints what was written and what is left to do, or why nothing was written."""
    files, lines = printed_files("enable_table", "Writes the files of a capture instance.")
    notes = [line for line in lines if line.startswith("cdc: ")]  # as of types that are guesses
    if any(note.endswith(": dry_run") for note in notes):
        print("\n".join(notes))
        return 0
    if len(files) != 2:
        sys.exit("enable_table: leave the argument file out: both files are written")
    refuse_to_overwrite("enable_table", files)
    write(files)
    name = min(file.stem for file in files).removesuffix("_ct")
    project = with_listed(PROJECT.read_text("utf-8"), name) if PROJECT.exists() else None
    if project:
        write({PROJECT: project})
    wanted = r"CDC \d|cdc: " if project else r"\s*# dbt_project|CDC \d|cdc: "
    print("\n".join(x.strip() for x in lines if re.match(wanted, x)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
