"""A script of SQL that stops in its middle: what a client has done that dies there.

What a run sends as one `begin ... end` is several writes, and nothing keeps them together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Texts, names in backticks and comments; words; all else that matters to the end of a statement.
TOKEN = re.compile(
    r"'(?:[^'\\]|\\.)*'|`[^`]*`|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/|\w+|[();]", re.S
)
WRITE = {
    "insert", "create", "delete", "update", "merge", "drop", "alter", "truncate", "replace",
}  # fmt: skip
COMMENTS = ("--", "/*")
AFTER = {"begin": "", "if": "then", "while": "do"}  # what statements come after


def cut_after_writes(script: str) -> list[str]:
    """The scripts that do the first of its writes and stop, one for each write but the last: there
    nothing is left to do. Handlers are no part of the way; of a condition's branches each one is.
    A plain statement has none."""
    places = list(_ends_of_writes(script))
    return [script[:place].rstrip() + "\n" + rest for place, rest in places[:-1]]


def _ends_of_writes(script: str) -> Iterator[tuple[int, str]]:
    """For each write in a script where it ends, and what closes the blocks it stands in."""
    blocks: list[str] = []  # how each of them ends; one of a handler is 'handler'
    is_start, first, awaits, depth = True, "", "", 0
    for token in TOKEN.finditer(script):
        word = token[0].lower()
        if word.startswith(COMMENTS):
            continue
        if word == ";":
            if first in WRITE and "handler" not in blocks:
                yield token.end(), "".join(f"{end};\n" for end in reversed(blocks[1:])) + "end"
            is_start = True
        elif word in "()":
            depth += 1 if word == "(" else -1
        elif word == awaits and depth == 0:  # `then` of an if, `begin` of a handler
            if awaits == "begin":
                blocks.append("handler")
            is_start, awaits = True, ""
        elif word == "handler" and first == "declare":
            awaits = "begin"
        elif is_start and word in AFTER:
            blocks.append("end" if word == "begin" else f"end {word}")
            is_start, awaits = word == "begin", AFTER[word]
        elif is_start and word != "else":
            if word == "end":
                blocks.pop()
            first, is_start = word, False
