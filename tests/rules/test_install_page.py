"""docs/install.md names what this repository itself is made with."""

from __future__ import annotations

import ast
import re
import runpy

import yaml
from harness import PACKAGE

PAGE = (PACKAGE / "docs" / "install.md").read_text(encoding="utf-8")
# Where a project of one's own lies elsewhere.
OTHERS = ("spark.driver.extraJavaOptions", "spark.sql.warehouse.dir")


def files() -> dict[str, str]:
    """The files that the page shows, by their paths."""
    return dict(re.findall(r"^```\w+\n(?:#|--) (\S+\.(?:yml|sql))\n(.*?)^```", PAGE, re.M | re.S))


def settings(profiles: str, name: str) -> dict[str, str]:
    """What an embedded Spark is given."""
    return yaml.safe_load(profiles)[name]["outputs"]["embedded"]["server_side_parameters"]


def test_python_packages() -> None:
    pinned = re.findall(
        r'"([\w-]+(?:\[\w+\])?)==([\d.]+)"', (PACKAGE / "pyproject.toml").read_text("utf-8")
    )
    versions = dict(pinned)
    installed = dict(re.findall(r"'([\w-]+(?:\[\w+\])?)==([\d.]+)'", PAGE))
    assert installed.keys() == {"dbt-core", "dbt-spark[session]", "pyspark"}
    assert installed == {name: versions[name] for name in installed}
    assert (
        f"| `matplotlib`, `apscheduler` | {versions['matplotlib']}, {versions['apscheduler']} |"
        in PAGE
    )


def test_the_profile_to_copy() -> None:
    text = (PACKAGE / "profiles" / "own_project.yml").read_text("utf-8")
    assert text.partition("\n")[2] == files()["profiles.yml"]


def test_the_tutorial_installs_the_same() -> None:
    tutorial = (PACKAGE / "docs" / "tutorial.md").read_text("utf-8")
    for name, version in re.findall(r"'([\w-]+(?:\[\w+\])?)==([\d.]+)'", PAGE):
        assert f"'{name}=={version}'" in tutorial


def test_the_profile() -> None:
    shown = settings(files()["profiles.yml"], "shop")
    own = settings((PACKAGE / "profiles" / "profiles.yml").read_text("utf-8"), "dbt_cdc")
    assert {n: v for n, v in shown.items() if n not in OTHERS} == {
        n: v for n, v in own.items() if n not in OTHERS
    }
    assert all(isinstance(value, str) for value in shown.values())
    options = [s["spark.driver.extraJavaOptions"].partition("-XX:")[2] for s in (shown, own)]
    assert options[0] == options[1]


def test_the_jars() -> None:
    fetched = runpy.run_path(str(PACKAGE / "scripts" / "fetch_jars.py"))
    assert f"        spark.jars.packages: {fetched['PACKAGES']}\n" in PAGE
    assert f"        spark.jars.excludes: {','.join(fetched['EXCLUDED'])}\n" in PAGE
    assert f"| Delta's jars | {fetched['VERSION']}, " in PAGE


def test_the_profile_takes_what_the_agent_sets() -> None:
    """Each variable has a default, for a run without the agent."""
    agent = (PACKAGE / "scripts" / "agent.py").read_text("utf-8")
    (set_by_agent,) = re.findall(r"^ENVIRONMENT = (.*)$", agent, re.M)
    named = dict(re.findall(r"env_var\('(\w+)',\s*'([^']*)'\)", files()["profiles.yml"]))
    java = "-XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=0.3 -XX:+UseSerialGC"
    assert named == {"DBT_CDC_JAVA_OPTIONS": java, "DBT_CDC_CODEGEN": "true"}
    assert ast.literal_eval(set_by_agent).keys() == named.keys()
