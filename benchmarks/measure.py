"""Timing side by side: A B B A ..., and the median of the pairwise ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class Result:
    """One line of the table. Times are medians in seconds; without a goal it is for information."""

    what: str
    against: str
    a: float
    b: float
    ratio: float
    goal: float | None
    unit: str = "s"
    part: str = ""

    @property
    def is_met(self) -> bool | None:
        """None where there is no goal."""
        return None if self.goal is None else self.ratio <= self.goal

    def as_dict(self) -> dict[str, Any]:
        """For results.json."""
        return {**asdict(self), "is_met": self.is_met}


def timed(action: Callable[[], Any]) -> float:
    """Seconds that an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def compare(
    what: str,
    against: str,
    a: Callable[[], Any],
    b: Callable[[], Any],
    goal: float | None,
    runs: int,
    prepare_a: Callable[[], Any] | None = None,
    prepare_b: Callable[[], Any] | None = None,
    warm_up: int = 1,
) -> Result:
    """Runs A and B in turn, A B B A, each after its untimed preparation, and puts their medians
    together."""
    times: tuple[list[float], list[float]] = ([], [])
    sides = [(0, prepare_a, a), (1, prepare_b, b)]
    for number in range(warm_up + runs):
        for side, prepare, action in sides if number % 2 == 0 else reversed(sides):
            if prepare:
                prepare()
            seconds = timed(action)
            if number >= warm_up:
                times[side].append(seconds)
    ratios = [x / y for x, y in zip(*times, strict=True)]
    return Result(
        what,
        against,
        statistics.median(times[0]),
        statistics.median(times[1]),
        statistics.median(ratios),
        goal,
    )
