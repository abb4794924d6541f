"""`make setup`, where it cannot go on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from harness import PACKAGE


def test_a_folder_with_a_blank(tmp_path: Path) -> None:
    """Spark's start scripts do not quote it, so that each command ended with a trace of Java's."""
    home = tmp_path / "a b"
    (home / "scripts").mkdir(parents=True)
    script = shutil.copy(PACKAGE / "scripts" / "setup.sh", home / "scripts")
    done = subprocess.run(["bash", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"setup: '{home}' has a blank, at which Spark does not start: move it\n"
    assert [path.name for path in home.iterdir()] == ["scripts"]
