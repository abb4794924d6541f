"""`make test-versions`: docs/install.md and the tutorial under other versions of Python and dbt.

For each set it makes an environment in .versions/, parses examples/shop with warnings as errors,
and runs the pages' commands (tests/scenarios/test_install.py). An environment that is there is
taken as it is. Arguments name sets: `make test-versions SETS="dbt-1.12"`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".versions"
# name: (Python, dbt-core, dbt-spark). dbt-databricks wants dbt-spark 1.10.
SETS = {
    "python-3.10": ("3.10", "1.11.16", "1.11.0"),
    "python-3.13": ("3.13", "1.11.16", "1.11.0"),
    "dbt-spark-1.10": ("3.11", "1.11.16", "1.10.3"),
    "dbt-1.12": ("3.12", "1.12.6", "1.11.0"),
}
FIRST_CORE, PYSPARK = "1.11.16", "4.2.1"
# dbt-core 1.12 asks for a second parser, which it runs without and which downloads itself.
NEEDS = """
import importlib.metadata
needs = importlib.metadata.requires("dbt-core")
print("\\n".join(n for n in needs if not n.startswith("dbt-core-experimental-parser")))
"""


def run(what: str, *command: str | Path, path: Path | None = None) -> str:
    """What a command prints; it ends the run where it fails. `path`: where the page finds dbt."""
    env = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    if path:
        env["DBT_CDC_TEST_BIN"] = str(path)
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
        sys.exit(f"test-versions: {what} failed")
    return done.stdout


def environment(name: str) -> Path:
    """The folder of its commands."""
    version, core, spark = SETS[name]
    folder = HOME / name
    commands = folder / "bin"
    if (folder / "done").exists():
        return commands
    python = shutil.which(f"python{version}")
    if python is None:
        sys.exit(f"test-versions: no python{version} on the PATH, which {name} needs")
    shutil.rmtree(folder, ignore_errors=True)
    pip = (commands / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(f"making {name}", python, "-m", "venv", folder)
    run(
        f"installing dbt-spark {spark}", *pip,
        f"dbt-core=={FIRST_CORE}", f"dbt-spark[session]=={spark}", f"pyspark=={PYSPARK}",
    )  # fmt: skip
    if core != FIRST_CORE:
        run(f"installing dbt-core {core}", *pip, "--no-deps", f"dbt-core=={core}")
        needs = run("reading its needs", commands / "python", "-c", NEEDS)
        run("installing its needs", *pip, *needs.split("\n")[:-1])
    (folder / "done").touch()
    return commands


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in SETS]
    if unknown:
        sys.exit(f"test-versions: {', '.join(unknown)}: the sets are {', '.join(SETS)}")
    for name in names or SETS:
        commands = environment(name)
        parse = ("--quiet", "--warn-error", "parse", "--target-path", HOME / name / "target")
        run(f"dbt parse under {name}", commands / "dbt", *parse, "--project-dir", "examples/shop")
        run(
            f"docs/install.md and docs/tutorial.md under {name}",
            sys.executable, "-m", "pytest", "-q", "-m", "soak", "tests/scenarios/test_install.py",
            path=commands,
        )  # fmt: skip
        version, core, spark = SETS[name]
        print(f"{name}: Python {version}, dbt-core {core}, dbt-spark {spark}: as the pages say")


if __name__ == "__main__":
    main(sys.argv[1:])
