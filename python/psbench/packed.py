"""Compact encoding of records: docs/protocol.md, "What is recorded".

Each value is packed as its difference from the previous value. The value before the first one of a piece
counts as all 0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

Measurement = tuple[int, int, int, int]  # key, start and duration in ns
Observation = tuple[int, int, float]  # key, value

_NEXT_B, _FIRST_B, _NEXT_A, _ANY_KEY = range(4)
_ESCAPED = 7


def measurements(values: Iterable[Measurement]) -> bytes:
    """Packs measurements: key, start in ns and duration in ns of each."""
    out = bytearray()
    last_a = last_b = last_start = 0
    for a, b, start, duration in values:
        key = _key(last_a, last_b, a, b)
        difference = start - last_start
        start_halves, duration_halves = _halves(difference), _halves(duration)
        word, width = key | start_halves << 2 | duration_halves << 5, 8
        if start_halves != _ESCAPED:
            word |= difference << width
            width += 4 * (start_halves + 1)
        if duration_halves != _ESCAPED:
            word |= duration << width
            width += 4 * (duration_halves + 1)
        out += word.to_bytes((width + 7) // 8, "little")
        if key == _ANY_KEY:
            out += _varint(a - last_a) + _varint(b - last_b)
        if start_halves == _ESCAPED:
            out += _varint(difference)
        if duration_halves == _ESCAPED:
            out += _varint(duration)
        last_a, last_b, last_start = a, b, start
    return bytes(out)


def observations(values: Iterable[Observation]) -> bytes:
    """Packs observations: key and value of each."""
    out = bytearray()
    last_a = last_b = 0
    for a, b, value in values:
        key, number = _key(last_a, last_b, a, b), struct.pack(">d", value).rstrip(b"\0")
        out.append(key | len(number) << 2)
        if key == _ANY_KEY:
            out += _varint(a - last_a) + _varint(b - last_b)
        out += number
        last_a, last_b = a, b
    return bytes(out)


def _key(last_a: int, last_b: int, a: int, b: int) -> int:
    """The relation of a key to the previous key."""
    if a == last_a and b == last_b + 1:
        return _NEXT_B
    if a == last_a + 1:
        if b == 0:
            return _FIRST_B
        if b == last_b:
            return _NEXT_A
    return _ANY_KEY


def _halves(x: int) -> int:
    """The number of half bytes of x, less 1, or _ESCAPED."""
    if x < 0:
        return _ESCAPED
    return min(((x | 1).bit_length() - 1) // 4, _ESCAPED)


def _varint(x: int) -> bytes:
    """x as a varint: the sign in the lowest bit, 7 bits per byte, lowest first."""
    x = x << 1 if x >= 0 else (-x << 1) - 1
    out = bytearray()
    while x >= 0x80:
        out.append(x & 0x7F | 0x80)
        x >>= 7
    out.append(x)
    return bytes(out)
