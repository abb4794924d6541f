"""docs/schedulers: what they call is there."""

from __future__ import annotations

import ast
import re
import shlex

import pytest
import yaml
from apscheduler.triggers.cron import CronTrigger
from dbt.cli.main import cli
from harness import PACKAGE
from shop import Shop

FOLDER = PACKAGE / "docs" / "schedulers"
FILES = sorted(path.name for path in FOLDER.iterdir())


def operations() -> dict[str, set[str]]:
    """The run-operations and their arguments."""
    found = {}
    for path in (PACKAGE / "macros").rglob("_*.yml"):
        for macro in yaml.safe_load(path.read_text(encoding="utf-8"))["macros"]:
            if macro.get("description", "").startswith("Run-operation"):
                found[macro["name"]] = {a["name"] for a in macro.get("arguments", [])}
    return found


def commands(name: str) -> list[list[str]]:
    """Those of dbt in a file, a command's first word first."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    if name.endswith(".py"):
        tree = ast.parse(text)
        lists = [n for n in ast.walk(tree) if isinstance(n, ast.List) and n.elts]
        found = [[getattr(x, "value", None) for x in n.elts] for n in lists]
        texts = [p for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for p in n.values[1:]]
        found += [shlex.split(part.value) for part in texts]
        return [x for x in found if x[0] in cli.commands]
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    after = [re.findall(r"/dbt (.*)", line) for line in lines]
    return [shlex.split(x[0].removeprefix("--quiet ")) for x in after if x]


@pytest.mark.parametrize("name", FILES)
def test_commands_are_there(name: str) -> None:
    found = commands(name)
    if name.endswith(".service"):
        text = (FOLDER / name).read_text(encoding="utf-8")
        (script,) = re.findall(r"^ExecStart=\S+ dbt_packages/dbt_cdc/(\S+)$", text, re.M)
        assert (PACKAGE / script).exists()
    else:
        assert {"run-operation"} < {command[0] for command in found}
    known = operations()
    for command in found:
        with cli.commands[command[0]].make_context("dbt", command[1:]) as context:
            given = context.params
        if command[0] == "run-operation":
            assert set(given.get("args") or {}) <= known[given["macro"].removeprefix("dbt_cdc.")], (
                command
            )


def test_the_agent_makes_the_views(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that the package has, with the tables that they read."""
    monkeypatch.syspath_prepend(str(PACKAGE / "scripts"))

    def selected(select: str) -> set[str]:
        names = "--resource-type", "model", "--output", "name", "--select"
        return set(shop.dbt("ls", *names, *select.split()).printed.split())

    views = selected("+config.materialized:state_view")
    assert {"is_cdc_enabled", "cdc_consumers", "consumer_bookmarks"} <= views
    assert views <= selected(__import__("agent").SELECTED)


def test_the_crontab_is_one() -> None:
    for line in (FOLDER / "crontab").read_text(encoding="utf-8").splitlines():
        if not re.match(r"#|\w+=", line):
            CronTrigger.from_crontab(" ".join(line.split()[:5]))
            assert "flock" in line
