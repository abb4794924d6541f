"""The picture of the lineage in the docs is the graph that dbt has of the example."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
from pathlib import Path

from dbt.cli.main import dbtRunner
from harness import PACKAGE, SHOP


def test_the_picture_shows_what_dbt_knows(tmp_path: Path) -> None:
    """Each model depends on all of the line above; all else between those shown is implied."""
    target = {"type": "spark", "method": "session", "host": "NA", "schema": "example"}
    profiles = {"dbt_cdc": {"target": "test", "outputs": {"test": target}}}
    (tmp_path / "profiles.yml").write_text(json.dumps(profiles), encoding="utf-8")
    options = [f"--project-dir={SHOP}", f"--profiles-dir={tmp_path}"]
    options += [f"--target-path={tmp_path / 'target'}", f"--log-path={tmp_path / 'logs'}"]
    keys = ["--output", "json", "--output-keys", "name depends_on", "--resource-type", "model"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert dbtRunner().invoke(["ls", *keys, *options, "--quiet"]).success
    nodes = [json.loads(line) for line in printed.getvalue().splitlines() if line.startswith("{")]
    known = {n["name"]: {d.split(".")[-1] for d in n["depends_on"]["nodes"]} for n in nodes}

    text = (PACKAGE / "docs" / "lineage.md").read_text(encoding="utf-8")
    lines = text.partition("```\n")[2].partition("```\n")[0].splitlines()
    layers = [names for names in (re.findall(r"\w+", line) for line in lines) if names]
    arrows = {(a, b) for i, j in itertools.pairwise(layers) for a in i for b in j}
    shown = {name for arrow in arrows for name in arrow}
    assert {"shop_log", "scan_transactions", "lsn_time_mapping", "orders"} <= shown
    implied = set(arrows)
    for _ in shown:
        implied |= {(a, d) for a, b in implied for c, d in arrows if b == c}
    for parent, child in arrows:
        assert parent in known[child], (parent, child)
    for child in shown:
        for parent in known[child] & shown:
            assert (parent, child) in implied, (parent, child)
