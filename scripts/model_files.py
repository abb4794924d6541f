"""Writes the files that a run-operation prints, each below a line with its path."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

import yaml
from dbt_commands import Dbt, enter_project, problem

PROJECT = Path("dbt_project.yml")
FILE = r"^(?:--|#) models/([\w-]+\.(?:sql|yml))\n(.*?)(?=\n\n(?:--|#) models/|\Z)"


def printed_files(
    operation: str, description: str, hear: Callable[[str], None] | None = None
) -> tuple[dict[Path, str], list[str]]:
    """The files of the run-operation that the command line gives the arguments of, by where they
    belong, and all that was said, which one may `hear` as it comes; changes into the project's
    folder. Ends with what went wrong."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("arguments", help=f"those of the run-operation {operation}, in YAML")
    parser.add_argument("--folder", help="where to (the first of the project's model-paths)")
    parser.add_argument("--project-dir", default=".", help="the dbt project (here)")
    options, dbt_options = parser.parse_known_args()
    enter_project(options.project_dir)
    command = ["run-operation", f"dbt_cdc.{operation}", "--args", options.arguments]
    begins = "starts dbt and Spark, then looks at what has landed: half a minute or more"
    print(f"{operation}: {begins}", file=sys.stderr, flush=True)
    result, lines = Dbt(dbt_options).run(*command, hear=hear)
    if not result.success:
        sys.exit(f"{operation}: {problem(lines)}")
    found = [part for line in lines for part in re.findall(FILE, line, re.M | re.S)]
    folder = Path(options.folder or model_paths()[0])
    return {folder / name: text.rstrip("\n") + "\n" for name, text in found}, lines


def model_paths() -> list[str]:
    """The folders of the project in this folder that have its models."""
    project = PROJECT.read_text(encoding="utf-8") if PROJECT.exists() else ""
    return (yaml.safe_load(project) or {}).get("model-paths") or ["models"]


def refuse_to_overwrite(operation: str, files: dict[Path, str]) -> None:
    """Ends if one of the files is there, in any folder of models. One with the same text, in its
    own place, is none: a command that has died may be repeated."""
    models = [
        path for folder in model_paths() for path in Path(folder).rglob("*") if path.is_file()
    ]
    there = [
        str(path)
        for path in sorted({*models, *(file for file in files if file.exists())})
        if path.name in {file.name for file in files}
        and path.read_text(encoding="utf-8") != files.get(path)
    ]
    if there:
        sys.exit(f"{operation}: nothing was written, as there is already {', '.join(there)}")


def write(files: dict[Path, str]) -> None:
    """Writes them, and says so."""
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            sys.exit(f"cannot be written: {error}")
        print(f"written: {path}")
