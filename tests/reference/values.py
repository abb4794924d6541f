"""Reading one JSON value as a Spark type (docs/instances.md)."""

from __future__ import annotations

import base64
import binascii
import re
import struct
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from .log import UTC, RawNumber, to_json

NAN = float("nan")  # the only NaN that read_value returns, so that rows compare by identity
INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "integer": 32, "bigint": 64}
_NUMBER = re.compile(r"([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,18}))?", re.ASCII)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?"
    r"(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_TYPE = re.compile(r"(\w+)\s*(?:\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\))?")
_BOOLEANS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


class BadValue(ValueError):
    """The value does not fit the type; the text says why."""


def parse_type(data_type: str) -> tuple[str, tuple[int, ...]]:
    """'decimal(18, 4)' -> ('decimal', (18, 4)); lower case. ValueError for other syntax."""
    match = _TYPE.fullmatch(data_type.strip().lower())
    if not match:
        raise ValueError(f"unknown type {data_type!r}")
    return match[1], tuple(int(n) for n in match.groups()[1:] if n is not None)


def read_value(value: Any, data_type: str) -> Any:
    """A value of parse_json -> bool, int, float, Decimal, str, bytes, date, datetime (UTC) or None.

    Raises BadValue if it does not fit, ValueError for a type that is not one of the contract's.
    """
    name, size = parse_type(data_type)
    if value is None:
        return None
    if name in ("string", "varchar", "char"):
        text = value if isinstance(value, str) else to_json(value)
        if isinstance(value, str) and re.search("[\ud800-\udfff]", value):
            raise BadValue("half a surrogate pair is no character")
        return _sized(str(text), name, size)
    if not isinstance(value, (str, bool)):
        raise BadValue(f"a JSON {type(value).__name__} is no {data_type}")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if name == "boolean":
        if text.lower() not in _BOOLEANS:
            raise BadValue(f"{text!r} is no boolean")
        return _BOOLEANS[text.lower()]
    if isinstance(value, bool):
        raise BadValue(f"a JSON boolean is no {data_type}")
    if name in INTEGER_BITS:
        limit = 1 << (INTEGER_BITS[name] - 1)
        number = _scaled(text, 0)
        if not -limit <= number < limit:
            raise BadValue(f"{text!r} is out of the range of {data_type}")
        return number
    if name == "decimal":
        precision, scale = (*size, 0)[:2] if size else (10, 0)
        number = _scaled(text, scale)
        if abs(number) >= 10**precision:
            raise BadValue(f"{text!r} is out of the range of {data_type}")
        return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
    if name in ("float", "double"):
        return _float(text, single=name == "float")
    if name not in ("binary", "date", "timestamp"):
        raise ValueError(f"unknown type {data_type!r}")
    if isinstance(value, RawNumber):
        raise BadValue(f"a JSON number is no {data_type}")
    return {"binary": _binary, "date": _date, "timestamp": _timestamp}[name](text)


def same(left: Any, right: Any) -> bool:
    """NULL-safe equality of two typed values; NaN equals NaN."""
    return left is right or left == right


def _sized(text: str, name: str, size: tuple[int, ...]) -> str:
    if size and len(text) > size[0]:
        if text[size[0] :].strip(" "):
            raise BadValue(f"{len(text)} characters are too long for {name}({size[0]})")
        text = text[: size[0]]  # only blanks are cut off, as SQL does
    return text.rstrip(" ") if name == "char" else text


def _scaled(text: str, scale: int) -> int:
    """The number in `text` times 10**scale, exactly; BadValue if digits would be lost."""
    match = _NUMBER.fullmatch(text)
    if not match:
        raise BadValue(f"{text!r} is no number")
    sign, whole, fraction, exponent = match[1], match[2], match[3] or "", int(match[4] or 0)
    digits = (whole + fraction).lstrip("0")
    exponent += scale - len(fraction) + len(digits) - len(digits.rstrip("0"))
    digits = digits.rstrip("0")
    if not digits:
        return 0
    if exponent < 0:
        raise BadValue(f"{text!r} has more than {scale} decimal places")
    if len(digits) + exponent > 100:
        raise BadValue(f"{text!r} is out of range")
    return int(sign + digits) * 10**exponent


def _float(text: str, *, single: bool) -> float:
    if text in ("NaN", "Infinity", "-Infinity"):  # as Debezium writes them
        return NAN if text == "NaN" else float(text)
    match = _NUMBER.fullmatch(text)
    if not match:
        raise BadValue(f"{text!r} is no number")
    given = number = float(text)
    try:
        number = struct.unpack("<f", struct.pack("<f", number))[0] if single else number
    except OverflowError:
        number = float("inf")
    if abs(number) == float("inf"):
        raise BadValue(f"{text!r} is out of range")
    roundings = [
        Context(prec=digits, rounding=rounding)
        for digits in range(1, 10)
        for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN)
    ]
    if number != given and all(float(c.create_decimal(number)) != given for c in roundings):
        raise BadValue(f"{text!r} has more digits than 32 bits hold")
    if not single:
        _check_double(number, *match.groups(""))
    return number


def _check_double(number: float, sign: str, whole: str, fraction: str, exponent: str) -> None:
    """BadValue if the digits are more than those that tell a number of 64 bits."""
    digits = (whole + fraction).strip("0")
    if len(whole) > 38 or ((fraction or exponent) and len(digits) > 17):
        raise BadValue("it has more digits than 64 bits hold")
    is_long = len(digits) > 16 or len(digits) == 16 == len(whole.lstrip("0"))
    if is_long and not exponent and not fraction.strip("0"):
        shortest = re.sub(r"e.*|[-.]", "", repr(number)).strip("0")
        is_exact = -(2**63) <= number < 2**63 and int(sign + whole) == number
        if digits != shortest and not is_exact:
            raise BadValue("it is no whole number of 64 bits")


def _binary(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadValue("the text is no base64") from error


def _date(text: str) -> date:
    match = _DATE.fullmatch(text)
    try:
        return date(*map(int, match.groups() if match else (0, 0, 0)))
    except ValueError as error:
        raise BadValue(f"{text!r} is no ISO date") from error


def _timestamp(text: str) -> datetime:
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        raise BadValue(f"{text!r} is no ISO timestamp")
    *parts, fraction, zone = match.groups()
    micros = int(((fraction or "") + "000000")[:6])
    try:
        local = datetime(*(int(part or 0) for part in parts), micros, tzinfo=UTC)  # type: ignore
        return local - _offset(zone)
    except (ValueError, OverflowError) as error:
        raise BadValue(f"{text!r} is no ISO timestamp") from error


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta(0)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 18 or minutes > 59:
        raise ValueError(zone)
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)
