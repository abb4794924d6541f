"""Writes the files of a first project, as `init` prints them from what has landed.

    init.py '{landed: ./landing}' [--folder models/cdc] [--project-dir DIR] [options of dbt]

No file is overwritten: where one of them is there with another text, none is written. The
variables go to dbt_project.yml, as the last step; run again it does what is missing.
"""

from __future__ import annotations

import re
import sys
import textwrap

from model_files import PROJECT, printed_files, refuse_to_overwrite, write

NEXT, VARIABLES = "cdc: next: ", "# dbt_project.yml\n"


def with_variables(project: str, variables: str) -> str | None:
    """The text of dbt_project.yml with more variables (`vars:` and lines below it); None where it
    has variables already that are no lines."""
    lines = textwrap.dedent(variables.partition("\n")[2]).rstrip("\n")
    if not re.search(r"^vars\s*:", project, re.M):
        return f"{project.rstrip()}\n\nvars:\n{textwrap.indent(lines, '  ')}\n"
    first = re.search(r"^vars\s*:[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*([ \t]+)\S", project, re.M)
    if not first:
        return None
    start = first.start(1)
    return f"{project[:start]}{textwrap.indent(lines, first[1])}\n{project[start:]}"


def main() -> int:
    """Prints what was found, as it is found, what was written and what is next, or why nothing was
    written."""
    shown = sys.stdout  # dbt's own is put aside

    def hear(line: str) -> None:
        if line.startswith("cdc: ") and not line.startswith(NEXT):
            print(line, file=shown, flush=True)

    files, lines = printed_files("init", "Writes the files of a first project.", hear)
    if not files:  # dry_run
        return 0
    refuse_to_overwrite("init", files)
    (variables,) = [line.removeprefix(VARIABLES) for line in lines if line.startswith(VARIABLES)]
    write(files)
    project = with_variables(PROJECT.read_text(encoding="utf-8"), variables)
    if project:
        write({PROJECT: project})
    else:
        print(f"add to {PROJECT}:\n{variables}")
    print("\n".join(line for line in lines if line.startswith(NEXT)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
