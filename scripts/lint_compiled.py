"""Lints compiled SQL, that is what the macros write: `scripts/lint_compiled.py target/compiled`.

The rules are those of .sqlfluff, less the ones that concern text written by hand. Tests that dbt
compiles from YAML are left out (their folder is named after the YAML file).
"""

import argparse
import sys
from pathlib import Path

from sqlfluff.core import FluffConfig, Linter

ROOT = Path(__file__).resolve().parent.parent

NOT_FOR_MACROS = (
    "aliasing.expression",  # the second part of a union takes the names of the first
    "aliasing.required",  # a macro does not know which alias is free
    "aliasing.unused",  # a macro names a relation before it knows what is read from it
    "layout.end_of_file",  # dbt cuts the last line end
    "layout.indent",  # a macro does not know how deep its text will stand
    "layout.long_lines",  # a list of columns is as long as the table is wide
    "layout.spacing",  # data types are as their YAML spells them
    "layout.start_of_file",  # config() leaves an empty line
    "structure.nested_case",
    "structure.subquery",  # what is expanded after `from` is a subquery
)


def compiled_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = path.rglob("*.sql")
    return sorted(file for file in files if all(part.suffix != ".yml" for part in file.parents))


def config(**overrides: str) -> FluffConfig:
    return FluffConfig.from_root(extra_config_path=str(ROOT / ".sqlfluff"), overrides=overrides)


def linter() -> Linter:
    excluded = ",".join((config().get("exclude_rules"), *NOT_FOR_MACROS))
    return Linter(config(templater="raw", exclude_rules=excluded))


def violations(paths: list[Path]) -> list[str]:
    """One line for each finding, `path:line:column: rule: what`; unparsable text is one too."""
    lint = linter()
    found = []
    for path in paths:
        for error in lint.lint_string(path.read_text(), fname=str(path)).get_violations():
            place = f"{path}:{error.line_no}:{error.line_pos}"
            found.append(f"{place}: {error.rule_code()}: {error.desc()}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, help="compiled files or folders of them")
    files = [file for path in parser.parse_args().paths for file in compiled_files(path)]
    if not files:
        print("lint_compiled: no compiled SQL there, run `dbt compile` first", file=sys.stderr)
        return 1
    found = violations(files)
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
