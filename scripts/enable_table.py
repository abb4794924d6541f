"""Writes the two files of a capture instance into the project, as `enable_table` prints them.

    enable_table.py '{source_schema: dbo, source_name: orders, index_columns: id}'
        [--folder models/cdc] [--project-dir DIR] [options of dbt, as --target]

A file that is there already stays as it is, and the other one is not written either.
"""

from __future__ import annotations

import re
import sys

from model_files import printed_files, refuse_to_overwrite, write


def main() -> int:
    """Prints what was written and what is left to do, or why nothing was written."""
    files, lines = printed_files("enable_table", "Writes the files of a capture instance.")
    if len(files) != 2:
        sys.exit("enable_table: leave the argument file out: both files are written")
    refuse_to_overwrite("enable_table", files, may_repeat=False)
    write(files)
    print("\n".join(x.strip() for x in lines if re.match(r"\s*# dbt_project|CDC \d", x)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
