"""Says which links of the pages outside docs/ lead nowhere; MkDocs looks at those of docs/."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("*.md", "tests/*.md", "benchmarks/*.md")


def anchors(page: Path) -> set[str]:
    """What the headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def dead_links(page: Path) -> Iterator[str]:
    """Links to files and headings that are not there; what is on the network is not asked."""
    text = page.read_text(encoding="utf-8")
    for target, _, anchor in re.findall(r"\]\(([^)#:]*)(#([^)]+))?\)", text):
        file = page.parent / target if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            yield target + (f"#{anchor}" if anchor else "")


if __name__ == "__main__":
    pages = sorted(page for pattern in PAGES for page in ROOT.glob(pattern))
    dead = [f"{page.relative_to(ROOT)}: {link}" for page in pages for link in dead_links(page)]
    if dead:
        sys.exit("links that lead nowhere:\n" + "\n".join(dead))
