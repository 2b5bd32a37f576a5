"""The records of a pass, in pieces for the core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..recorder import Counter, Gauge, Recorder, Series
from .messages import message


def pieces(recorder: Recorder, facts: dict[str, str]) -> Iterator[Any]:
    """All records of a recorder, and the facts of the pass."""
    reply = message("CollectReply")
    for metric in recorder:
        if isinstance(metric, Series):
            for packed in metric._pieces():
                yield reply(series={"type": metric.type, "name": metric.name, "measurements": packed})
            continue
        head = {"type": metric.type, "name": metric.name, "unit": metric.unit}
        if isinstance(metric, Gauge):
            for packed in metric._pieces():
                yield reply(gauge={"head": head, "observations": packed})
        elif isinstance(metric, Counter):
            yield reply(counter={"head": head, "value": metric.value})
        else:
            yield reply(histogram={"head": head, "bounds": metric.bounds, "counts": list(metric.counts), "nan": metric.nan})
    if facts:
        yield reply(facts={"values": facts})


def peak_rss_bytes() -> int:
    """The peak memory of this process; 0 if the kernel does not report it."""
    try:
        with open("/proc/self/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0
