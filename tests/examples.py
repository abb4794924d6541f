"""scripts/examples.yml and scripts/settings.yml, asked of a schema; DBT_CDC_WRITE_EXPECTED=1 writes
their results anew."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from dbt.cli.main import dbtRunner
from harness import PACKAGE, Project
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

FILE = PACKAGE / "scripts" / "examples.yml"
SETTINGS = PACKAGE / "scripts" / "settings.yml"


class Examples:
    """Those of the shop, or of a page's story (`of`)."""

    def __init__(
        self,
        spark: SparkSession,
        schema: str,
        options: list[str],
        of: str | None = None,
        folder: str = ".",
        file: Path = FILE,
    ) -> None:
        """`options` of dbt say which project is asked; what has landed lies in its `folder`."""
        self.spark, self.schema, self.options, self.folder = spark, schema, options, folder
        self.file = file
        text = file.read_text(encoding="utf-8")
        self.examples: dict[str, dict[str, Any]] = {
            name: e for name, e in yaml.safe_load(text).items() if "call" in e and e.get("of") == of
        }

    @classmethod
    def of_project(cls, project: Project, of: str | None, file: Path = FILE) -> Examples:
        """Those of a story that a test's project has told."""
        options = [f"--{name}={project.folder}" for name in ("project-dir", "profiles-dir")]
        options += [f"--target-path={project.folder}/target", f"--log-path={project.folder}/logs"]
        options += ["--quiet", "--no-write-json", "--log-level-file=none"]
        return cls(project.spark, project.schema, options, of, str(project.folder), file)

    def check(self, build: Any = ()) -> None:
        """Every call of the reference gives the result that is printed there; so does the function.
        `build` are the results of a build's data tests."""
        self.compare(self.results(self.examples, build))

    def check_in_turn(self, before: Callable[[str], None]) -> None:
        """So does one after the other, `before` each of which something happens."""
        found: dict[str, str] = {}
        for name, example in self.examples.items():
            before(name)
            found |= self.results({name: example})
        self.compare(found)

    def results(self, examples: dict[str, dict[str, Any]], build: Any = ()) -> dict[str, str]:
        """What they give."""
        calls = {n: e["call"] for n, e in examples.items() if not e["call"].startswith("dbt ")}
        refused = {n: calls.pop(n) for n in ("raise_cdc_error",) if n in calls}
        found = self.answers(calls)
        functions = {}
        for name, call in calls.items():
            if function := examples[name].get("function"):
                asked = re.sub(r"{{ dbt_cdc\..*?}}", f"{self.schema}.{function}", call, flags=re.S)
                functions[name] = asked if "select" in asked else f"select {asked}"
        for name, answer in self.answers(functions).items():
            assert answer.endswith(found[name]), name
        for name, call in refused.items():
            found[name] = self.said(["compile", "--inline", call])
        for name, e in examples.items():
            if e["call"].startswith("dbt test"):
                found[name] = outcome(e, build)
            elif e["call"].startswith("dbt "):
                commands = re.split(r"^dbt ", e["call"], flags=re.M)[1:]
                # Java is in another folder than dbt.
                commands = [c.replace("./landing", f"{self.folder}/landing") for c in commands]
                commands = [c.replace("update cdc.", f"update {self.schema}.") for c in commands]
                lines = "\n".join(self.said(shlex.split(c)) for c in commands).split("\n")
                lines = without(e.get("hidden"), lines)
                count = e.get("lines", len(lines))
                found[name] = "\n".join(lines[:count] + ["..."] * (count < len(lines)))
        return found

    def compare(self, found: dict[str, str]) -> None:
        """With what is printed there."""
        if self.file == SETTINGS or "of" in next(iter(self.examples.values())):
            found = {name: text.replace(self.schema, "cdc") for name, text in found.items()}
        if os.environ.get("DBT_CDC_WRITE_EXPECTED"):
            write_results(self.file, found)
        else:
            assert found == {name: e["result"].strip() for name, e in self.examples.items()}

    def answers(self, calls: dict[str, str]) -> dict[str, str]:
        """The rows of SQL, or what else the calls compile to."""
        if not calls:
            return {}
        between = "\n;;\n"
        text = between.join(calls.values())
        done = dbtRunner().invoke(["compile", *self.options, "--inline", text])
        assert done.success, done.exception
        texts = done.result.results[0].node.compiled_code.split(between)
        return {
            name: table(self.spark.sql(text)) if "select" in text else text.strip()
            for name, text in zip(calls, texts, strict=True)
        }

    def said(self, command: list[str]) -> str:
        """What a command prints; of one that is refused, the error."""
        logged, errors = list[str](), list[str]()
        options = list(self.options)
        if "--vars" in command:  # beside those of the project that is asked
            place = command.index("--vars") + 1
            given = yaml.safe_load(command[place])
            for option in [o for o in options if o.startswith("--vars=")]:
                given |= yaml.safe_load(option.removeprefix("--vars="))
                options.remove(option)
            command = [*command[:place], json.dumps(given), *command[place + 1 :]]

        def listen(event: Any) -> None:
            if event.info.name == "JinjaLogInfo":
                logged.append(event.info.msg)
            elif event.info.level == "error":
                errors.append(event.info.msg)

        with contextlib.redirect_stdout(io.StringIO()) as printed:
            done = dbtRunner(callbacks=[listen]).invoke([*command, *options])
        if not done.success:
            said = re.findall(r"CDC \d+: .*?/errors\.md\)", "\n".join(errors))
            assert said, (command, errors, done.exception)
            return said[0]
        if command[0] == "ls":
            return "\n".join(done.result)
        said = "\n".join([*logged, printed.getvalue()]).strip()
        return re.sub(r"heard of at [\d :.-]+", "heard of at 2026-07-01 08:00:00", said)


def table(rows: DataFrame) -> str:
    """As run-operations print rows."""
    texts = rows.select(*(col(f"`{name}`").cast("string") for name in rows.columns)).collect()
    lines = [
        rows.columns,
        *(["NULL" if value is None else value for value in row] for row in texts),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def without(name: str | None, lines: list[str]) -> list[str]:
    """Printed rows with a column's values left out."""
    if not name:
        return lines
    start = lines[0].index(f" {name} ") + 1
    end = start + len(re.match(rf"{name} *", lines[0][start:])[0])
    return [
        line[:start] + (name if n == 0 else "...").ljust(len(name) + 2) + line[end:]
        for n, line in enumerate(lines)
    ]


def outcome(example: dict[str, Any], build: Any) -> str:
    """How a data test ended in a build, on each model that has it."""
    name = example["call"].split("test_name:")[1]
    found = [(r.node.name, r.status, getattr(r.node, "test_metadata", None)) for r in build]
    return "\n".join(
        sorted(
            f"{status.upper()} {node}" for node, status, test in found if test and test.name == name
        )
    )


def write_results(file: Path, results: dict[str, str]) -> None:
    """The file of examples with these results; what has several lines stands as it is."""

    def represent(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    text = file.read_text(encoding="utf-8")
    examples = yaml.safe_load(text)
    for name, result in results.items():
        examples[name]["result"] = result
    yaml.SafeDumper.add_representer(str, represent)
    written = yaml.safe_dump(examples, sort_keys=False, allow_unicode=True, width=1000)
    head = text[: text.index("\n\n") + 2]
    file.write_text(head + re.sub(r"^(?=\w)", "\n", written, flags=re.M).lstrip(), encoding="utf-8")
