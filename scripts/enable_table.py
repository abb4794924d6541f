"""Writes the two files of a capture instance into the project, as `enable_table` prints them.

    enable_table.py '{source_schema: dbo, source_name: orders, index_columns: id}'
        [--folder models/cdc] [--project-dir DIR] [options of dbt, as --target]

A file that is there already stays as it is, and the other one is not written either.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from dbt_commands import Dbt, problem

FILE = r"^(?:--|#) models/(\w+\.(?:sql|yml))\n(.*?)(?=\n\n# models/|\Z)"


def main() -> int:
    """Prints what was written and what is left to do, or why nothing was written."""
    parser = argparse.ArgumentParser(description="Writes the files of a capture instance.")
    parser.add_argument("arguments", help="those of the run-operation enable_table, in YAML")
    parser.add_argument("--folder", default="models", help="where to (%(default)s)")
    parser.add_argument("--project-dir", default=".", help="the dbt project (here)")
    options, dbt_options = parser.parse_known_args()
    os.chdir(options.project_dir)
    command = ["run-operation", "dbt_cdc.enable_table", "--args", options.arguments]
    result, lines = Dbt(dbt_options).run(*command, quiet=False)
    if not result.success:
        sys.exit(f"enable_table: {problem(lines)}")
    files = {
        Path(options.folder) / name: text
        for line in lines
        for name, text in re.findall(FILE, line, re.M | re.S)
    }
    if len(files) != 2:
        sys.exit("enable_table: leave the argument file out: both files are written")
    there = [str(path) for path in files if path.exists()]
    if there:
        sys.exit(f"enable_table: nothing was written, as there is already {', '.join(there)}")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text.rstrip("\n") + "\n")
        print(f"written: {path}")
    print("\n".join(x.strip() for x in lines if re.match(r"\s*# dbt_project|CDC \d", x)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
