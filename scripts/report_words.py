"""Times, spans, numbers and sizes as report.py's page has them."""

from __future__ import annotations

from datetime import datetime

SPACE = "\N{NO-BREAK SPACE}"


def at(text: str) -> datetime:
    """'2026-07-01 12:00:00.5' -> the time, to the second; the nearest that Python has."""
    try:
        return datetime.fromisoformat(text[:19])
    except ValueError:  # Spark's go beyond the years 1 and 9999
        return datetime.max if text.startswith("+") else datetime.min


def short(text: str | None) -> str:
    """The same without fractions."""
    return text.partition(".")[0] if text else "–"


def span(seconds: float | None) -> str:
    """187 -> '3 min 7 s', in one piece. Two units at most."""
    if seconds is None:
        return "–"
    if seconds < 0:
        return "-" + span(-seconds)
    left, words = round(seconds), []
    for name, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        if left >= length or words:
            words.append((left // length, name))
            left %= length
    return SPACE.join(f"{count}{SPACE}{name}" for count, name in words[:2] if count) or f"0{SPACE}s"


def number(value: int | None) -> str:
    """1234567 -> '1,234,567'."""
    return "–" if value is None else f"{value:,}"


def counted(count: int, what: str) -> str:
    """'1 scan', '2 scans'."""
    return f"{number(count)} {what}{'' if count == 1 else 's'}"


def size(value: int | None) -> str:
    """1234567 -> '1.2 MB'."""
    if value is None:
        return "–"
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:,.0f} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"
