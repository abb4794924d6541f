"""docs/install.md and docs/tutorial.md, executed as they stand: a folder of its own, dbt as a
process, its Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import PACKAGE

pytestmark = pytest.mark.soak

# Where `make test-versions` has dbt under other versions.
BIN = os.environ.get("DBT_CDC_TEST_BIN")
PAGES = [(PACKAGE / "docs" / name).read_text(encoding="utf-8") for name in ("install.md", "log.md")]
SHOWN = r"^```\w+\n(?:#|--) (\S+\.(?:yml|sql))\n(.*?)^```"


def test_a_project_elsewhere(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    files = dict(re.findall(SHOWN, PAGES[0], re.M | re.S))
    files |= {n: t for n, t in re.findall(SHOWN, PAGES[1], re.M | re.S) if n == "models/my_log.sql"}
    for name, text in files.items():
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text(text.replace("../dbt_cdc", str(PACKAGE)), encoding="utf-8")
    (commands,) = re.findall(r"^```\n(dbt deps\n.*?)^```", PAGES[0], re.M | re.S)
    path = f"{BIN or Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-ec", commands], cwd=shop, env={"PATH": path, "HOME": str(Path.home())},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (said,) = re.findall(r"^```\n(cdc: scan window.*?)^```", PAGES[0], re.M | re.S)
    for line in said.splitlines():
        assert re.sub(r"\d+ s$", "", line) in done.stdout
    assert "Completed successfully" in done.stdout
    assert "__$operation" in done.stdout  # what dbt show shows
    # quiet: a warning of Spark's vector module, which not each Java gives, and on a slow machine
    # how far a statement is
    told = r"WARNING: Using incubator|\d\d:\d\d:\d\d  cdc: at work"
    assert [x for x in done.stderr.splitlines() if not re.match(told, x)] == []
    assert sorted(x.name for x in shop.iterdir() if x.name.startswith(".")) == [
        ".spark",
        ".user.yml",
    ]
    shutil.rmtree(shop)


def test_the_tutorial(tmp_path: Path) -> None:
    """Every command, in one shell; what it says is what the page has below it, but for seconds. It
    installs Python's packages anew, so it wants the package registries; under other versions they
    are there."""
    page = (PACKAGE / "docs" / "tutorial.md").read_text(encoding="utf-8")
    if BIN:
        page = re.sub(r"^(python3 -m venv|pip install) .*\n", "", page, flags=re.M)
    blocks = re.findall(r"^```sh\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", page, re.M | re.S)
    assert len(blocks) > 6
    (tmp_path / "dbt_cdc").symlink_to(PACKAGE)
    script = "\n".join(f'{commands}\necho "== $?" >&2; echo ==' for commands, _ in blocks)
    kept = ("HOME", "PIP_", "SSL_", "http", "HTTP", "REQUESTS_")
    env = {name: value for name, value in os.environ.items() if name.startswith(kept)}
    env["PATH"] = f"{BIN or '/usr/local/bin'}:{os.defpath}"
    env["JAVA_HOME"] = str(PACKAGE / ".venv/java/home")
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    said = re.split(r"^==\n", done.stdout, flags=re.M)
    wrong = re.split(r"^== (\d+)\n", done.stderr, flags=re.M)
    for n, (commands, text) in enumerate(blocks):
        assert int(wrong[2 * n + 1]) == ("CDC " in text), (commands, wrong[2 * n], said[n])
        there = without_seconds(said[n] + wrong[2 * n])
        for line in text.splitlines():
            assert line == "..." or without_seconds(line) in there, (commands, line, there)


def without_seconds(text: str) -> str:
    """Nor colours."""
    return re.sub(r"\x1b\[\d+m|\b\d+ s$", "", text, flags=re.M)
