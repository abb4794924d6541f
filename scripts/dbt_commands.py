"""dbt commands in this process, and what the package's macros say in them."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

# What only some scripts need, beside dbt and Spark.
EXTRAS = {"agent": "apscheduler==3.11.3", "report": "matplotlib==3.10.9"}

# Options that say what is run, and where.
OF_A_PROJECT = [
    ("--target", "-t"),
    ("--profile",),
    ("--profiles-dir",),
    ("--project-dir",),
    ("--vars",),
]


class Dbt:
    """dbt commands with the same options, on a manifest that is read once by `read_project`, or
    without that anew by each."""

    def __init__(self, options: list[str]) -> None:
        self.options = options
        self.manifest: Any = None

    def read_project(self) -> None:
        """Parses the project; raises RuntimeError with dbt's words where it cannot."""
        result, lines = self.run("parse", anew=True)
        if not result.success:
            raise RuntimeError(" ".join(lines) or "dbt parse failed")
        self.manifest = result.result

    def run(
        self,
        *arguments: str,
        quiet: bool = True,
        hear: Callable[[str], None] | None = None,
        anew: bool = False,
    ) -> tuple[Any, list[str]]:
        """dbt's result of a command, and the lines that it logged: all but debug, or where `quiet`
        errors and what the macros say. Who wants to `hear` them has each as it comes. `anew`: on
        the project as it is now, whatever was read before."""
        from dbt.cli.main import dbtRunner  # a second to import: not for `agent.py dbt`

        lines: list[str] = []

        def listen(event: Any) -> None:
            line, name, level = event.info.msg, event.info.name, event.info.level
            told = name in ("JinjaLogInfo", "PrintEvent") or line.startswith("cdc ")
            if name == "JinjaLogWarning":
                line = f"cdc: {line}"
            elif level != "error" and not (told if quiet else level != "debug"):
                return
            lines.append(line)
            if hear:
                hear(line)

        options = options_beside(self.options, arguments)
        # a manifest has the schemas and variables of our own options
        manifest = None if anew or options_given(arguments) else self.manifest
        runner = dbtRunner(manifest=manifest, callbacks=[listen])
        with contextlib.redirect_stdout(io.StringIO()):
            result = runner.invoke([*arguments, "--quiet", "--no-use-colors", *options])
        if result.exception and str(result.exception) not in "\n".join(lines):
            lines.append(str(result.exception))
        return result, lines


def options_given(arguments: Sequence[str]) -> list[str]:
    """The names of the options of a project that a command gives itself."""
    given = {name_of(argument) for argument in arguments}
    return [name for names in OF_A_PROJECT if given.intersection(names) for name in names]


def options_beside(options: list[str], arguments: Sequence[str]) -> list[str]:
    """The options without those of a project that a command gives itself; of variables, ours are
    added to the command's, which count."""
    given = options_given(arguments)
    kept, rest = [], iter(options)
    for option in rest:
        if name_of(option) not in given:
            kept.append(option)
        elif option == name_of(option):
            next(rest, None)  # its value
    ours, theirs = (value_of(["--vars"], of) for of in (options, arguments))
    if ours and theirs:
        import yaml

        merged = {**(yaml.safe_load(ours) or {}), **(yaml.safe_load(theirs) or {})}
        kept.append(f"--vars={yaml.safe_dump(merged, default_flow_style=True, width=10**9)}")
    return kept


def value_of(names: Iterable[str], arguments: Sequence[str]) -> str | None:
    """The value of an option, `--name value`, `--name=value` or `-n value`; None without it."""
    for number, argument in enumerate(arguments):
        if (name := name_of(argument)) in names:
            rest = arguments[number + 1 :]
            return argument[len(name) :].removeprefix("=") or (rest[0] if rest else "")
    return None


def name_of(argument: str) -> str:
    """The name of an option; an argument that is none is its own."""
    if argument.startswith("-") and not argument.startswith("--"):
        return argument[:2]
    return argument.partition("=")[0]


def enter_project(folder: str) -> None:
    """Changes into the project's folder: dbt and the embedded Spark take relative folders from
    there. Ends with one line where it cannot."""
    try:
        os.chdir(folder)
    except OSError as error:
        sys.exit(f"--project-dir: {error}")


def needs(script: str) -> str:
    """What to install for a script, as its --help says it."""
    return f"{EXTRAS[script].partition('==')[0]}: pip install '{EXTRAS[script]}'"


def check_extra(script: str) -> None:
    """Ends with what to install where a script lacks it."""
    if importlib.util.find_spec(EXTRAS[script].partition("==")[0]) is None:
        sys.exit(f"{script}: needs {needs(script)}")


def told(lines: list[str], word: str) -> Any:
    """What the package's macros said as `cdc <word>: <JSON>`; none where they said nothing."""
    start = f"cdc {word}: "
    return next((json.loads(x[len(start) :]) for x in lines if x.startswith(start)), None)


def problem(lines: list[str]) -> str:
    """What went wrong, in one line: our error, else the kind that dbt says and its next line."""
    text = "\n".join(line for line in lines if not line.startswith("cdc"))
    ours = re.search(r"CDC \d+: .*", text)
    rest = [
        x.strip()
        for x in text.splitlines()
        if x.strip(" :") not in ("", "Encountered an error", "Runtime Error")
    ]
    found = ours[0] if ours else ": ".join(rest[:2]) or "dbt failed"
    return re.sub(r" SQLSTATE: \w+$", "", found.strip())
