"""Errors by number: the macros, seeds/cdc_errors.csv and docs/errors.md tell the same."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

import pytest
from harness import PACKAGE
from shop import Shop

END = " (dbt_packages/dbt_cdc/docs/errors.md)"
SOURCES = {
    path.relative_to(PACKAGE): re.sub(
        r"\{#.*?#\}", "", path.read_text(encoding="utf-8"), flags=re.S
    )
    for folder in ("macros", "models", "tests/generic")
    for path in sorted((PACKAGE / folder).rglob("*.sql"))
}
PAGE = (PACKAGE / "docs" / "errors.md").read_text(encoding="utf-8")
QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# A number that stands alone, in Jinja; in a text it follows `CDC `.
NUMBER = r"(?<![\w.'-])(208|313|1222|2714|49\d\d|14261|22[0189]\d\d)(?![\w.'])|(?<=CDC )(\d+)"


def seed() -> dict[str, tuple[str, str]]:
    """number -> meaning, way out."""
    with (PACKAGE / "seeds" / "cdc_errors.csv").open(encoding="utf-8", newline="") as file:
        return {r["error_number"]: (r["meaning"], r["way_out"]) for r in csv.DictReader(file)}


def sections() -> dict[str, str]:
    """number -> what stands below its heading."""
    parts = re.split(r"^## CDC (\d+)\n", PAGE, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def arguments(text: str) -> list[list[str]]:
    """The arguments of a call whose bracket has just been opened, each cut at its `~`."""
    pieces, depth = [[""]], 0
    for token in re.findall(rf"{QUOTED}|\s+|.", text, re.S):
        depth += (token in "([{") - (token in ")]}")
        if depth < 0:
            break
        if depth == 0 and token == ",":
            pieces.append([""])
        elif depth == 0 and token == "~":
            pieces[-1].append("")
        else:
            pieces[-1][-1] += token
    return [[piece.strip() for piece in argument] for argument in pieces]


def pattern(argument: list[str]) -> str:
    """What an argument may give: its texts, and between them whatever values there are."""
    return "".join(
        re.escape(re.sub(r"\\(.)", r"\1", piece[1:-1])) if re.fullmatch(QUOTED, piece) else "(?:.*)"
        for piece in argument
    )


def calls() -> Iterator[tuple[str, list[list[str]]]]:
    """(file, arguments) of each error that is raised by a macro."""
    for path, text in SOURCES.items():
        for call in re.finditer(r"\b(?:raise_cdc_error|_error_text)\(", text):
            given = arguments(text[call.end() :])
            if path.name != "errors.sql" or given[0] != ["number"]:
                yield str(path), given


def raised() -> set[str]:
    """All numbers in the macros."""
    return {a or b for text in SOURCES.values() for a, b in re.findall(NUMBER, text)}


def test_the_seed_has_each_number_that_is_raised_and_no_other() -> None:
    assert sorted(raised(), key=int) == list(seed())


def test_the_page_has_a_heading_for_each_number_of_the_seed() -> None:
    assert list(sections()) == list(seed())


def test_pages_and_scripts_name_no_other_number() -> None:
    for path in (
        PACKAGE / "README.md",
        *PACKAGE.glob("docs/**/*.md"),
        *PACKAGE.glob("scripts/*.py"),
    ):
        assert set(re.findall(r"CDC (\d+)", path.read_text(encoding="utf-8"))) <= seed().keys(), (
            path
        )


def test_each_call_says_what_is_wrong_and_what_to_do() -> None:
    for path, given in calls():
        assert len(given) == 3, (path, given)
        assert all(any(argument) for argument in given), (path, given)
        number = given[0][0]
        assert number in seed() or re.fullmatch(r"[a-z.]+", number), (path, number)


def test_no_error_is_raised_without_its_number() -> None:
    """What else calls dbt's own macro has a text of `_error_text`, which a statement needs, too."""
    found = {
        text.strip()
        for path, source in SOURCES.items()
        if path.name != "errors.sql"
        for text in re.findall(r"raise_compiler_error\(([^)]*)", source)
    }
    assert found == {
        "dbt_cdc._unpublished_text(instance.name", "dbt_cdc._untracked_text(tracked",
    }  # fmt: skip


@pytest.mark.parametrize("number", seed())
def test_a_section_of_the_page(number: str) -> None:
    meaning, way_out = seed()[number]
    text = re.sub(r"\s+", " ", sections()[number])
    assert text.lower().startswith(f" **{meaning.lower()}.** "), text
    assert f" **Way out:** {way_out}." in text
    (example,) = re.findall(r"^```\n(.*)\n```$", sections()[number], re.M)
    assert example.startswith(f"CDC {number}: ")
    assert example.endswith(END)
    message = example.removeprefix(f"CDC {number}: ").removesuffix(END)
    assert is_raised(number, message), "no macro gives the example"


def is_raised(number: str, message: str) -> bool:
    """Whether one of the calls, or a statement, gives the message."""
    for _, (raised_number, problem, advice) in calls():
        if raised_number[0] in (number, "number", "problem.number"):
            texts = f"{pattern(problem)}: {pattern(advice)}"
            if len(re.sub(r"\(\?:\.\*\)", "", texts)) > 15 and re.fullmatch(texts, message):
                return True
    parts = IN_PARTS.get(number, ())
    return bool(parts) and all(
        part in message and any(part in text for text in SOURCES.values()) for part in parts
    )


# Texts of statements, and those that a macro puts together before it raises them.
IN_PARTS = {
    "22022": ("no agent runs", " that could ", "start one with `", "then ask again; or do without"),
    "313": ("to_lsn ", " is above the high end ", "it is not published yet; end at or before"),
    "22859": ("bad log record of table ", " image does not fit ", "nothing of this scan"),
    "22123": ("cleanup of ", " failed", "no query reads these rows any more"),
    "22852": ("rows of ", " could not be removed", "their low ends are raised, so no query reads"),
    "22853": ("rows of ", " could not be removed", "their low ends are raised, so no query reads"),
}  # fmt: skip


def test_the_path_at_the_end_is_there(shop: Shop) -> None:
    (end,) = shop.values(("_error_page",))
    assert end == END
    assert (shop.project.folder / END.strip(" ()")).is_file()


def test_each_error_of_a_statement_ends_with_what_to_do() -> None:
    """Where a statement raises an error, its last text is an advice with the page's name."""
    for path, text in SOURCES.items():
        for call in re.finditer(r"'CDC \d+: ", text):
            rest = text[call.start() :].split("raise_error")[0].split("{% endmacro", 1)[0]
            ends = ("_advice(", "_error_page()")
            assert any(end in rest for end in ends), (path, rest[:200])
