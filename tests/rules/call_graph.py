"""Which macro calls which, read from the text of the macros with Jinja's own lexer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from jinja2 import Environment

LEXER = Environment()
SKIPPED = ("whitespace", "comment_begin", "comment", "comment_end")
# What defines something that can be called, and what dbt puts before its name.
PREFIXES = {"macro": "", "test": "test_", "materialization": "materialization_"}
# In the pattern of a composed name, the part that is known at run time only.
ANYTHING = r"\w*"

# A token of Jinja: line, type, text.
Token = tuple[int, str, str]


@dataclass(frozen=True)
class Macro:
    """A definition: its name, its kind, its file. A model has no macro and is one by itself."""

    name: str
    kind: str
    file: str

    @property
    def folder(self) -> str:
        """`log` of `macros/log/debezium/images.sql`, `models` of any model, `tests/generic`."""
        parts = PurePosixPath(self.file).parts
        if parts[0] == "macros":
            return parts[1] if len(parts) > 2 else "macros"
        return "models" if parts[0] == "models" else "/".join(parts[:2])

    @property
    def is_public(self) -> bool:
        """Whether users call it by its name."""
        return self.kind == "macro" and not self.name.startswith("_")


@dataclass(frozen=True)
class Mention:
    """A call as it is written: who calls, where, a pattern of the names, and the text to show."""

    caller: Macro
    line: int
    pattern: str
    text: str

    @property
    def is_composed(self) -> bool:
        """Whether a part of the name is known at run time only."""
        return ANYTHING in self.pattern

    def __str__(self) -> str:
        return f"{self.caller.file}:{self.line}: {self.caller.name} calls {self.text}"


@dataclass(frozen=True)
class Arrow:
    """A call: from the macro that calls to the one that is called."""

    mention: Mention
    callee: Macro

    @property
    def caller(self) -> Macro:
        """The macro or the model that calls."""
        return self.mention.caller

    @property
    def key(self) -> str:
        """Its line in the list of exceptions: `capture/scan.sql _find_job -> operations`."""
        file = self.caller.file.removeprefix("macros/")
        return f"{file} {self.callee.name} -> {self.callee.folder}"


@dataclass(frozen=True)
class Graph:
    """The macros, the arrows between them, and the calls of which no macro is known."""

    macros: list[Macro]
    arrows: list[Arrow]
    lost: list[Mention]

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Graph:
        """Read files, given by their paths in the package."""
        read = [unit for file, text in texts.items() for unit in units(file, text)]
        macros = {unit.name: unit for unit, _ in read if unit.kind != "file"}
        found = [each for unit, body in read for each in mentions(unit, body, macros)]
        named = {mention.pattern for mention in found if not mention.is_composed}
        callees = [(mention, match(mention, macros, named)) for mention in found]
        return cls(
            list(macros.values()),
            [Arrow(mention, callee) for mention, known in callees for callee in known],
            [mention for mention, known in callees if not known],
        )

    def circle(self) -> set[str]:
        """The files of the largest circle. Each of them calls each other, directly or not."""
        calls: dict[str, set[str]] = {}
        for arrow in self.arrows:
            calls.setdefault(arrow.caller.file, set()).add(arrow.callee.file)
        reached = {file: reach(file, calls) for file in calls}
        circles = (
            {file} | {other for other in reached[file] if file in reached.get(other, ())}
            for file in sorted(calls)
        )
        return max(circles, key=len, default=set())


def package_texts(package: Path) -> dict[str, str]:
    """The SQL files that define or call macros, by their paths."""
    return {
        path.relative_to(package).as_posix(): path.read_text(encoding="utf-8")
        for folder in ("macros", "models", "tests/generic")
        for path in sorted((package / folder).rglob("*.sql"))
    }


def units(file: str, text: str) -> Iterator[tuple[Macro, list[Token]]]:
    """The macros of a file, each with its tokens. What is outside of macros is a unit as well."""
    outside = Macro(PurePosixPath(file).stem, "file", file)
    unit, body = outside, []
    read = [token for token in LEXER.lex(text) if token[1] not in SKIPPED]
    for place, token in enumerate(read):
        word = read[place + 1][2] if token[1] == "block_begin" else ""
        if word in PREFIXES or word.removeprefix("end") in PREFIXES:
            yield unit, body
            unit, body = outside, []
        if word in PREFIXES:
            unit = Macro(PREFIXES[word] + read[place + 2][2], word, file)
        body.append(token)
    yield unit, body


def mentions(unit: Macro, body: list[Token], known: Collection[str]) -> Iterator[Mention]:
    """The calls in a macro: `dbt_cdc.name`, `dbt_cdc['_' ~ kind ~ '_rows']`, `name(`, and the hook
    `'{{ dbt_cdc._name() }}'`, a text that dbt renders. Such a text with a public name is an example
    for users."""
    end = (0, "end", "")
    read = [end, *body, end, end]
    for place, (line, kind, text) in enumerate(read[:-2]):
        before, after, name = read[place - 1][2], read[place + 1][2], read[place + 2][2]
        if kind == "string":
            for hook in re.findall(r"{{-?\s*dbt_cdc\.(_\w+)", text):
                yield Mention(unit, line, hook, hook)
        elif kind != "name" or before == ".":
            continue
        elif text == "dbt_cdc" and after == ".":
            yield Mention(unit, line, name, name)
        elif text == "dbt_cdc" and after == "[":
            inside = read[place + 2 : closing(read, place + 1)]
            written = " ".join(token[2] for token in inside)
            yield Mention(unit, line, composed(inside), f"dbt_cdc[{written}]")
        elif text in known and after == "(" and before not in (*PREFIXES, "|", "is"):
            yield Mention(unit, line, text, text)


def closing(read: list[Token], place: int) -> int:
    """Where the bracket ends that begins at a place."""
    depth = 0
    for number in range(place, len(read)):
        depth += {"[": 1, "]": -1}.get(read[number][2], 0)
        if not depth:
            return number
    raise ValueError(f"line {read[place][0]}: a bracket has no end")


def composed(inside: list[Token]) -> str:
    """The pattern of `'_' ~ table ~ '_values'`: texts stay, and each other part is anything."""
    parts: list[str] = []
    depth = 0
    for _, kind, text in inside:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text, 0)
        if kind == "string" and not depth:
            parts.append(re.escape(text[1:-1]))
        elif text != "~" and parts[-1:] != [ANYTHING]:
            parts.append(ANYTHING)
    return "".join(parts)


def match(mention: Mention, macros: Mapping[str, Macro], named: Collection[str]) -> list[Macro]:
    """The macros that a call can mean. A composed name means those that nobody calls by their full
    name, if there are any. It means none if no part of it is constant."""
    if not mention.is_composed:
        return [macros[mention.pattern]] if mention.pattern in macros else []
    if not mention.pattern.replace(ANYTHING, ""):
        return []
    fit = [macro for name, macro in macros.items() if re.fullmatch(mention.pattern, name)]
    return [macro for macro in fit if macro.name not in named] or fit


def reach(file: str, calls: Mapping[str, set[str]]) -> set[str]:
    """All files that a file calls, directly or not."""
    found: set[str] = set()
    todo = [file]
    while todo:
        new = calls.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found
