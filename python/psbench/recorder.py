"""A part's records in a pass: durations, gauges, counters and histograms."""

from __future__ import annotations

import bisect
import math
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from . import packed

Key = tuple[int, int]
"""Places a number: batch and bucket, or epoch and index."""

_MOST_COUNT = 1 << 53


class Series:
    """Durations, each with a key and a start. Create it once, in ``setup``: ``recorder.series``."""

    def __init__(self, type: str, name: str) -> None:
        self.type, self.name = type, name
        self._numbers = array("q")

    def record(self, key: Key, start_ns: int, end_ns: int) -> None:
        """Records a duration from start to end, both times from psbench.now."""
        self._numbers.extend((key[0], key[1], start_ns, end_ns - start_ns))

    def __iter__(self) -> Iterator[tuple[Key, int, int]]:
        """Key, start and duration in ns of each, in the order of recording."""
        for a, b, start, duration in _rows(self._numbers, 4):
            yield (a, b), start, duration

    def _reset(self) -> None:
        self._numbers = array("q")

    def _pieces(self) -> Iterator[bytes]:
        return _packed(self._numbers, 4, packed.measurements)


class Gauge:
    """Observed numbers, each with a key: a norm, a ratio. ``recorder.gauge``."""

    def __init__(self, type: str, name: str, unit: str) -> None:
        self.type, self.name, self.unit = type, name, unit
        self._keys, self._values = array("q"), array("d")

    def record(self, key: Key, value: float) -> None:
        """Records a number, which may be NaN or infinite."""
        self._values.append(value)
        self._keys.extend((key[0], key[1]))

    def __iter__(self) -> Iterator[tuple[Key, float]]:
        """Key and value of each, in the order of recording."""
        for (a, b), value in zip(_rows(self._keys, 2), self._values):
            yield (a, b), value

    def _reset(self) -> None:
        self._keys, self._values = array("q"), array("d")

    def _pieces(self) -> Iterator[bytes]:
        values = [(key[0], key[1], value) for key, value in self]
        for first in range(0, len(values), _PIECE):
            yield packed.observations(values[first:first + _PIECE])


class Counter:
    """A growing sum, such as bytes sent or rows dropped. ``recorder.counter``."""

    def __init__(self, type: str, name: str, unit: str) -> None:
        self.type, self.name, self.unit = type, name, unit
        self.value = 0
        """The sum so far, at most 2**53."""

    def add(self, n: int) -> None:
        """Adds n, a whole number of 0 or more."""
        if n < 0:
            raise ValueError(f"counter {self.type}, {self.name} cannot add {n}: a counter cannot shrink, so use a gauge")
        if self.value + n > _MOST_COUNT:
            raise ValueError(f"counter {self.type}, {self.name} is {self.value} and cannot add {n}: the sum must be at most 2^53")
        self.value += int(n)

    def _reset(self) -> None:
        self.value = 0


class Histogram:
    """Counts of values in buckets, in fixed memory. ``recorder.histogram``."""

    def __init__(self, type: str, name: str, unit: str, bounds: Sequence[float]) -> None:
        self.type, self.name, self.unit = type, name, unit
        self.bounds = tuple(float(b) for b in bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        """Of the buckets: bucket i ends with bounds[i], the last one is above all bounds."""
        self.nan = 0

    def record(self, value: float) -> None:
        """Counts a value. NaN is counted separately, in no bucket."""
        if math.isnan(value):
            self.nan += 1
        else:
            self.counts[bisect.bisect_left(self.bounds, value)] += 1

    def _reset(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)
        self.nan = 0


_M = TypeVar("_M", Series, Gauge, Counter, Histogram)


class Recorder:
    """Creates series, gauges, counters and histograms. The same type and name give the same object.

    A type and a name are 1 to 100 letters, digits and signs without a comma; a unit is a short word such as
    ``1``, ``B``, ``rows`` or ``%``. All records belong to one pass: the reset before the pass clears them.
    """

    def __init__(self) -> None:
        self._metrics: dict[tuple[str, str], Any] = {}

    def series(self, type: str, name: str) -> Series:
        """Finds or creates a series of durations. Tables show them in ms."""
        return self._find(Series(type, name))

    def gauge(self, type: str, name: str, unit: str) -> Gauge:
        """Finds or creates a gauge."""
        return self._find(Gauge(type, name, unit))

    def counter(self, type: str, name: str, unit: str) -> Counter:
        """Finds or creates a counter."""
        return self._find(Counter(type, name, unit))

    def histogram(self, type: str, name: str, unit: str, bounds: Sequence[float]) -> Histogram:
        """Finds or creates a histogram. The bounds are 1 to 1,000 ascending finite numbers."""
        return self._find(Histogram(type, name, unit, bounds))

    def __iter__(self) -> Iterator[Series | Gauge | Counter | Histogram]:
        """All created objects, in order of creation."""
        return iter(list(self._metrics.values()))

    def reset(self) -> None:
        """Clears all records. psbench calls it before each pass."""
        for metric in self:
            metric._reset()

    def _find(self, made: _M) -> _M:
        before = self._metrics.get((made.type, made.name))
        if before is not None:
            if _title(before) != _title(made):
                raise ValueError(f"{_title(before)} is recorded, and also {_title(made)}: give one of them another name")
            return before  # type: ignore[no-any-return]
        _check(made)
        self._metrics[made.type, made.name] = made
        return made


_PIECE = 4096  # values per piece


def _rows(numbers: array[int], width: int) -> Iterator[tuple[int, ...]]:
    return zip(*[iter(numbers)] * width)


def _packed(numbers: array[int], width: int, pack: Any) -> Iterator[bytes]:
    numbers = numbers[:]  # a copy, because recording may continue
    for first in range(0, len(numbers), _PIECE * width):
        yield pack(_rows(numbers[first:first + _PIECE * width], width))


def _title(metric: Any) -> str:
    title = f"{type(metric).__name__.lower()} {metric.type}, {metric.name}"
    if getattr(metric, "unit", ""):
        title += f" in {metric.unit}"
    if getattr(metric, "bounds", ()):
        title += f" with {len(metric.bounds)} bounds from {metric.bounds[0]:g} to {metric.bounds[-1]:g}"
    return title


def _check(metric: Any) -> None:
    """Raises an error if a metric's declaration is invalid."""
    for what, text in (("type", metric.type), ("name", metric.name)):
        odd = any(c == "," or c != " " and unicodedata.category(c)[0] in "CZ" for c in text)
        if odd or text != text.strip() or not 1 <= len(text) <= 100:
            raise ValueError(
                f"{what} {text!r} must be 1 to 100 letters, digits and signs, without commas, control characters and spaces at its ends")
    if isinstance(metric, Series):
        return
    if not 1 <= len(metric.unit) <= 12 or any(unicodedata.category(c)[0] != "L" and unicodedata.category(c) != "Nd" and c not in "%/^_-" for c in metric.unit):
        raise ValueError(f"unit {metric.unit!r} must be a short word such as 1, B, rows, steps or %: at most 12 letters, digits and % / ^ _ -")
    if isinstance(metric, Histogram):
        bounds = metric.bounds
        rising = all(x < y for x, y in zip(bounds, bounds[1:])) and all(map(math.isfinite, bounds))
        if not 1 <= len(bounds) <= 1000 or not rising:
            raise ValueError(f"a histogram has 1 to 1,000 finite bounds that ascend, not {list(bounds[:10])}")
