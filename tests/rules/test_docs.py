"""What no linter looks at: the length of README, the site, docs/settings.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from harness import PACKAGE


def test_the_readme_can_be_read_aloud_in_two_minutes() -> None:
    """Words beside code, tables and addresses, 150 a minute; one picture, five promises."""
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    code = re.findall(r"^```\n.*?^```", text, re.M | re.S)
    text = re.sub(r"^```\n.*?^```|^\|.*?$", "", text, flags=re.M | re.S)
    prose = re.sub(r"\]\([^)]*\)", "", text)
    assert len(re.findall(r"\w[\w'.-]*", prose)) <= 300
    assert len([block for block in code if "──>" in block]) == 1
    promises = text.partition("## Five promises\n")[2].partition("\n## ")[0]
    assert len(re.findall(r"^\* \*\*", promises, re.M)) == 5


def test_the_site_needs_no_network(tmp_path: Path) -> None:
    """Scripts and styles are its own; a diagram in Mermaid would load a script from elsewhere."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "true"}
    subprocess.run(command, cwd=PACKAGE, env=environment, check=True)
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img)[^>]* src="?(?:https?:)?//[^>]*', text), page
        assert not re.findall(r'<link[^>]*stylesheet[^>]*href="?(?:https?:)?//', text), page
        assert 'class="mermaid"' not in text, page


def test_all_variables_are_explained() -> None:
    """And no other ones."""
    files = [*(PACKAGE / "macros").rglob("*.sql"), *(PACKAGE / "tests" / "generic").glob("*.sql")]
    sql = "\n".join(path.read_text(encoding="utf-8") for path in files)
    read = set(re.findall(r"(?:\bvar|_of_var|_listed|_stop_or_pass)\('(cdc_\w+)'", sql))
    page = (PACKAGE / "docs" / "settings.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(cdc_\w+)`", "\n".join(re.findall(r"^\| ([^|]*)", page, re.M))))
    assert told == read


def test_all_settings_are_explained() -> None:
    """Of a capture instance."""
    text = (PACKAGE / "macros" / "declared" / "capture_instance.sql").read_text(encoding="utf-8")
    read = set(re.findall(r"meta\.get\('(\w+)'", text)) - {"cdc"}
    page = (PACKAGE / "docs" / "settings.md").read_text(encoding="utf-8")
    assert not [name for name in read if f"`{name}`" not in page]


def test_a_client_records_its_version_before_it_reads() -> None:
    """What changes in between would never come to it."""
    page = (PACKAGE / "docs" / "two-clients.md").read_text(encoding="utf-8")
    first_load = page.partition("## The first load")[2].partition("\n## ")[0]
    steps = re.findall(r"change_tracking_current_version\(\)|from shop\.orders", first_load)
    assert steps == ["change_tracking_current_version()", "from shop.orders"] * 2
