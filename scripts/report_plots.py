"""The plots of report.py, as SVG to put into its page.

Names of tables and whatever else users write never get here: the page has the legends.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from statistics import median

from matplotlib import dates, rc_context, ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Point = tuple[datetime, float]

# Okabe and Ito's colours, which the colour-blind can tell apart; red is for failures only.
BLUE, RED, GREY = "#0072B2", "#D55E00", "#999999"
TABLE_COLOURS = [BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9"]
STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#777777",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.sans-serif": ["DejaVu Sans"],  # matplotlib's own, for the room that text takes
    "font.size": 10,
    "grid.color": "#E3E3E3",
    "svg.fonttype": "none",  # text stays text, in the page's font
    "svg.hashsalt": "cdc",  # the same data make the same page
    "text.color": "#333333",
    "xtick.color": "#333333",
    "ytick.color": "#333333",
}
# What the page has names for.
PAGE_COLOURS = {"#333333": "ink", "#777777": "soft", "#e3e3e3": "line", "#9cc9e3": "range"}
MOST_POINTS = 300  # more are drawn as ranges
MOST_BARS, FEWEST_BARS = 96, 15
MINUTE, HOUR, DAY = 60, 3600, 86400
WIDE, NARROW = 10, 4.4  # inches: of a plot on a screen, and on a phone
BAR_SECONDS = [
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 14, 28, 91, 364)),
]
UNITS = ((2 * DAY, DAY, "days"), (2 * HOUR, HOUR, "hours"), (2 * MINUTE, MINUTE, "minutes"))
TIME_TICKS = {
    0: "0", 1: "1 s", 10: "10 s", MINUTE: "1 min", 10 * MINUTE: "10 min", HOUR: "1 h",
    6 * HOUR: "6 h", DAY: "1 day", 7 * DAY: "7 days", 30 * DAY: "30 days", 365 * DAY: "1 year",
    3650 * DAY: "10 years",
}  # fmt: skip
COUNT_TICKS = {0: "0", **{10**n: f"{10**n:,}" for n in range(13)}}


@dataclass(frozen=True)
class Timeline:
    """Plots over the same time, `first` to `last` (UTC), with crosses at the top for failed scans.
    Where scans are too many to draw each, a bar of time has their range and median."""

    first: datetime
    last: datetime
    failed: Sequence[datetime] = ()
    has_ranges: bool = False

    @property
    def bar_seconds(self) -> int:
        """How long a bar, or a range of many points, is."""
        span = (self.last - self.first).total_seconds()
        return next((x for x in BAR_SECONDS if span <= x * MOST_BARS), BAR_SECONDS[-1])

    @property
    def bar(self) -> str:
        """The same in words: '1 minute', '6 hours'."""
        units = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"))
        size, unit = next(x for x in units if self.bar_seconds % x[0] == 0)
        count = self.bar_seconds // size
        return f"{count} {unit}{'s' if count > 1 else ''}"

    def start_of_bar(self, time: datetime) -> datetime:
        """Where the bar of a time begins."""
        since = time.replace(tzinfo=timezone.utc).timestamp()
        return time - timedelta(seconds=since % self.bar_seconds)

    def seconds(self, points: Sequence[Point], name: str) -> str:
        """Seconds of each scan, in the unit that suits the largest."""
        if is_wide(points):
            return self._points(points, f"{name} (log scale)", TIME_TICKS)
        largest = max(value for _, value in points)
        size, unit = next((x[1:] for x in UNITS if largest > x[0]), (1, "seconds"))
        return self._points([(time, n / size) for time, n in points], f"{name} ({unit})")

    def counts(self, points: Sequence[Point], name: str) -> str:
        """A whole number of each scan."""
        if is_wide(points):
            return self._points(points, f"{name} (log scale)", COUNT_TICKS)
        return self._points(points, name)

    def sums(self, series: Sequence[tuple[str, Sequence[Point]]], name: str) -> str:
        """A bar of sums for each bar of time, one series (colour, points) on the other."""
        bars = [(colour, self._bars(points)) for colour, points in series]

        def draw(axes: Axes) -> None:
            below: dict[datetime, float] = defaultdict(float)
            width = timedelta(seconds=0.9 * self.bar_seconds)
            for colour, found in bars:
                for start, values in found.items():
                    axes.bar(start, sum(values), width, below[start], align="edge", color=colour)
                    below[start] += sum(values)
            self._time_axis(axes)

        return svg(draw, f"{name} in {self.bar}", height=2.8)

    def _bars(self, points: Sequence[Point]) -> dict[datetime, list[float]]:
        found: dict[datetime, list[float]] = defaultdict(list)
        for time, value in points:
            found[self.start_of_bar(time)].append(value)
        return found

    def _points(
        self, points: Sequence[Point], name: str, ticks: dict[int, str] | None = None
    ) -> str:
        def draw(axes: Axes) -> None:
            values = [value for _, value in points]
            low, top = min(0, *values), 1.15 * max(1, *values)
            if ticks:
                shown = [tick for tick in ticks if tick <= top]
                axes.set_yscale("symlog", linthresh=1, linscale=0.4)
                axes.set_yticks(shown, [ticks[tick] for tick in shown])
                axes.yaxis.set_minor_locator(ticker.NullLocator())
            axes.set_ylim(low - (0.2 if ticks else 0.03 * top), top)
            if self.has_ranges:
                self._draw_ranges(axes, points)
            else:
                axes.plot(*zip(*points, strict=True), "o", color=BLUE, markersize=4)
            axes.plot(
                self.failed, [1.04] * len(self.failed), "x", color=RED, markersize=6,
                markeredgewidth=1.5, transform=axes.get_xaxis_transform(), clip_on=False,
            )  # fmt: skip
            self._time_axis(axes)

        return svg(draw, name)

    def _draw_ranges(self, axes: Axes, points: Sequence[Point]) -> None:
        bars = self._bars(points)
        middle = [start + timedelta(seconds=self.bar_seconds / 2) for start in bars]
        values = bars.values()
        width = 3 if is_on_screen(axes) else 1.5
        axes.vlines(
            middle, [*map(min, values)], [*map(max, values)], color="#9CC9E3", linewidth=width
        )
        axes.plot(middle, [*map(median, values)], "o", color=BLUE, markersize=width + 1)

    def _time_axis(self, axes: Axes) -> None:
        bar = timedelta(seconds=self.bar_seconds)
        end = self.start_of_bar(self.last) + bar
        axes.set_xlim(min(self.start_of_bar(self.first), end - FEWEST_BARS * bar), end)
        most = 9 if is_on_screen(axes) else 4
        axes.xaxis.set_major_locator(dates.AutoDateLocator(minticks=most // 2, maxticks=most))
        axes.xaxis.set_major_formatter(TimeLabels())
        axes.annotate("UTC", (0, 0), (-28, -5.5), "axes fraction", "offset points",
                      ha="right", va="top")  # fmt: skip


class TimeLabels(ticker.Formatter):
    """Times, and below them the day where one begins; of whole days the year."""

    def __call__(self, value: float, place: int | None = None) -> str:
        return self.format_ticks([value])[0]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """The labels of all ticks."""
        step = min((b - a for a, b in pairwise(values)), default=0) * DAY
        above, below = "%H:%M" if step > MINUTE - 1 else "%H:%M:%S", "%d %b %Y"
        if step > DAY - 1:
            above, below = "%d %b", "%Y"
        times = [dates.num2date(value) for value in values]
        parts = [time.strftime(below) for time in times]
        # the first one's needs the room of the second
        is_crowded = len(parts) > 1 and parts[0] != parts[1]
        before = [parts[0] if is_crowded else "", *parts]
        return [
            time.strftime(above) + (f"\n{part}" if part != last else "")
            for time, part, last in zip(times, parts, before, strict=False)
        ]


def is_on_screen(axes: Axes) -> bool:
    """Whether a plot has the room of a screen, or of a phone."""
    return bool(axes.get_figure().get_figwidth() == WIDE)


def is_wide(points: Sequence[Point]) -> bool:
    """Whether a few large values would press all others onto the axis."""
    values = [value for _, value in points]
    return max(values) > 20 * max(median(values), 1)


def per_day(days: dict[datetime, int], name: str) -> str:
    """A bar a day."""

    def draw(axes: Axes) -> None:
        axes.bar(list(days), list(days.values()), timedelta(hours=19), color=RED)
        axes.set_xlim(min(days) - timedelta(hours=12), max(days) + timedelta(hours=12))
        labels = 12 if is_on_screen(axes) else 4
        axes.xaxis.set_major_locator(dates.DayLocator(interval=1 + len(days) // labels))
        axes.xaxis.set_major_formatter(TimeLabels())

    return svg(draw, name, height=1.8)


def svg(draw: Callable[[Axes], None], name: str, height: float = 2.3) -> str:
    """What `draw` draws, `height` inches high, under the name of its values: once for a screen and
    once for a phone. The page shows one of them."""
    return "\n".join(
        embeddable(drawn(draw, name, width, height), kind)
        for kind, width in (("wide", WIDE), ("narrow", NARROW))
    )


def drawn(draw: Callable[[Axes], None], name: str, width: float, height: float) -> str:
    """A plot of this size, in inches, as an SVG file."""
    left, right = 0.75, 0.3
    with rc_context(STYLE):
        figure = Figure(figsize=(width, height), facecolor="none")
        axes = figure.subplots(subplot_kw={"facecolor": "none"})
        figure.subplots_adjust(left / width, 0.5 / height, 1 - right / width, 1 - 0.4 / height)
        axes.yaxis.set_major_locator(ticker.MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.grid(axis="y")
        axes.tick_params(length=3)
        axes.set_title(
            name, loc="left", fontsize=10, fontweight="bold", pad=12,
            x=-0.58 / (width - left - right),
        )  # fmt: skip
        draw(axes)
        text = io.StringIO()
        figure.savefig(text, format="svg")
    return text.getvalue()


def embeddable(text: str, kind: str) -> str:
    """An SVG file as a part of HTML: in the page's colours, without prolog, metadata and ids that
    every plot has, and with its class."""
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for colour, name in PAGE_COLOURS.items():
        text = re.sub(colour, f"var(--{name})", text, flags=re.IGNORECASE)
    return re.sub(r'<g id="\w+">', "<g>", text).replace("<svg ", f'<svg class="{kind}" ', 1)
