"""Converts records to Markdown tables. It measures nothing.

A cell 'a (b..c)' is the median over the processes, with the smallest and the largest value. A ratio is the
peer's median over psbench's median, or the inverse if more is better. The spread of a ratio is the smallest
and the largest ratio of two processes in the same turn, which ran one after the other. The ratio of medians
always lies within that spread. The same holds for the cost of a hook, which is the difference to noop
within a turn.
"""
from dataclasses import dataclass
from statistics import median
from typing import Callable, NamedTuple

from programs import Failure, size_name


class Spread(NamedTuple):
    mid: float
    low: float
    high: float

    def scaled(self, factor):
        return Spread(*(v * factor for v in self))


def spread(values):
    return Spread(median(values), min(values), max(values))


def ratio(theirs, ours):
    """How many times faster psbench is. Both arguments are {turn: duration} with the same turns."""
    pairs = [theirs[t] / ours[t] for t in ours]
    return Spread(median(theirs.values()) / median(ours.values()), min(pairs), max(pairs))


def number(v):
    """Three significant digits, or all digits before the point."""
    text = f"{v:#.3g}".rstrip(".")
    return f"{v:.0f}" if "e+" in text else text


def cell(s, unit=""):
    return f"{number(s.mid)}{unit} ({number(s.low)}..{number(s.high)})"


def duration(s):
    """A spread given in us, printed in a unit that suits its median."""
    return cell(s, " µs") if s.mid < 1000 else cell(s.scaled(1e-3), " ms")


def percentage(s):
    return f"{s.mid:.1%} ({s.low:.1%}..{s.high:.1%})"


# Largest share of the CPU time used by others during a process before its turn is marked.
LOUD = 0.1


def loud_turns(records, trainers):
    """The turns in which other processes used much of the CPU while one of the programs ran."""
    return {r["turn"] for r in records if r["trainers"] == trainers and r["foreign_share"] > LOUD}


def verdict(mid, turns, target, reaches, loud=()):
    """'yes (4/5)': the median reaches the target, and 4 of 5 turns, a {turn: value}, do too. 'yes (4/5, 2
    loud)': two of the five turns are loud."""
    if target is None:
        return "-"
    count = sum(reaches(v, target) for v in turns.values())
    marked = len(set(turns) & set(loud))
    note = f", {marked} loud" if marked else ""
    return f"{'yes' if reaches(mid, target) else '**no**'} ({count}/{len(turns)}{note})"


def at_least(value, target):
    return value >= target


def at_most(value, target):
    return value <= target


def below(value, target):
    return value < target


def markdown(head, rows):
    """Nothing if there are no rows."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def by_turn(records, program, trainers, field, nbytes=None):
    """{turn: value} of the processes of a program; nbytes picks the row."""
    values = {}
    for record in records:
        if (record["program"], record["trainers"]) != (program, trainers):
            continue
        for row in record["rows"]:
            if nbytes is None or row["bytes"] == nbytes:
                values[record["turn"]] = row[field]
    return values


def common_turns(*series):
    """The series, restricted to their common turns."""
    turns = sorted(set.intersection(*(set(s) for s in series)))
    if not turns:
        raise Failure("no turn has results of all programs: measure again")
    return [{t: s[t] for t in turns} for s in series]


def cases(records, program):
    """The (trainers, bytes) that a program measured, in order."""
    return list(dict.fromkeys((r["trainers"], row["bytes"]) for r in records
                              if r["program"] == program for row in r["rows"]))


@dataclass(frozen=True)
class RatioTable:
    """How many times faster psbench is than a peer, by number of trainers and size."""

    ours: str
    theirs: str
    target: Callable    # (trainers, bytes) -> the lowest accepted ratio, or None

    def markdown(self, records):
        rows = []
        for trainers, nbytes in cases(records, self.ours):
            ours, theirs = common_turns(*(by_turn(records, p, trainers, "p50_us", nbytes)
                                          for p in (self.ours, self.theirs)))
            times, target = ratio(theirs, ours), self.target(trainers, nbytes)
            rows.append([str(trainers), size_name(nbytes), duration(spread(ours.values())),
                         duration(spread(theirs.values())), cell(times), "-" if target is None else f"{target:g}",
                         verdict(times.mid, {t: theirs[t] / ours[t] for t in ours}, target, at_least,
                                 loud_turns(records, trainers))])
        return markdown(["trainers", "size", f"{self.ours}, p50", f"{self.theirs}, p50", "times faster", "target",
                         "reached"], rows)


@dataclass(frozen=True)
class FastestTable:
    """RatioTable with the fastest of several peers at each size, by their medians."""

    ours: str
    theirs: tuple
    target: Callable    # (trainers, bytes) -> the lowest accepted ratio, or None

    def markdown(self, records):
        rows = []
        for trainers, nbytes in cases(records, self.ours):
            peers = {p: by_turn(records, p, trainers, "p50_us", nbytes) for p in self.theirs}
            name = min((p for p in peers if peers[p]), key=lambda p: median(peers[p].values()))
            ours, theirs = common_turns(by_turn(records, self.ours, trainers, "p50_us", nbytes), peers[name])
            times, target = ratio(theirs, ours), self.target(trainers, nbytes)
            rows.append([str(trainers), size_name(nbytes), duration(spread(ours.values())), name,
                         duration(spread(theirs.values())), cell(times), "-" if target is None else f"{target:g}",
                         verdict(times.mid, {t: theirs[t] / ours[t] for t in ours}, target, at_least,
                                 loud_turns(records, trainers))])
        return markdown(["trainers", "size", f"{self.ours}, p50", "fastest peer", "peer, p50", "times faster", "target",
                         "reached"], rows)


@dataclass(frozen=True)
class ShareTable:
    """psbench's result as a share of a limit of the machine, measured in the same process."""

    ours: str
    target: Callable    # (trainers, bytes) -> the lowest accepted share, or None

    def markdown(self, records):
        rows = []
        for trainers, nbytes in cases(records, self.ours):
            target = self.target(trainers, nbytes)
            if target is None:
                continue
            column = {f: by_turn(records, self.ours, trainers, f, nbytes)
                      for f in ("p50_us", "algbw_gb_per_s", "share", "share_of")}
            share = column["share"]
            if not all(isinstance(v, (int, float)) and v > 0 for v in share.values()):
                raise Failure(f"psbench reported shares {list(share.values())} at {trainers} trainers, "
                              f"{size_name(nbytes)}: measure with limits")
            mid = spread(share.values())
            rows.append([str(trainers), size_name(nbytes), duration(spread(column["p50_us"].values())),
                         cell(spread(column["algbw_gb_per_s"].values())), percentage(mid),
                         "; ".join(sorted(set(column["share_of"].values()))), f"{target:.0%}",
                         verdict(mid.mid, share, target, at_least, loud_turns(records, trainers))])
        return markdown(["trainers", "size", f"{self.ours}, p50", "algbw, GB/s", "share", "of", "target", "reached"],
                        rows)


@dataclass(frozen=True)
class CostTable:
    """The cost of a hook: time per batch above noop, psbench's in percent of PyTorch's."""

    hooks: tuple
    target: float

    def markdown(self, records):
        times, costs = [], []
        for trainers in dict.fromkeys(r["trainers"] for r in records):
            hooks = [h for h in self.hooks if any(r["program"] == f"psbench {h}" for r in records)]
            for hook in (*hooks, "noop"):
                sides = [f"psbench {hook}", f"PyTorch {hook}"]
                times.append([str(trainers), hook]
                             + [cell(spread(by_turn(records, s, trainers, "batch_ms").values())) for s in sides]
                             + [cell(spread(by_turn(records, s, trainers, "samples_per_second").values()))
                                for s in sides])
            costs += [self.cost(records, trainers, hook) for hook in hooks]
        return (markdown(["trainers", "hook", "psbench, ms per batch", "PyTorch, ms per batch", "psbench, samples/s",
                          "PyTorch, samples/s"], times) + "\n"
                + markdown(["trainers", "hook", "psbench above noop, ms", "PyTorch above noop, ms",
                            "psbench in percent of PyTorch", "target", "reached"], costs))

    def cost(self, records, trainers, hook):
        names = [f"psbench {hook}", "psbench noop", f"PyTorch {hook}", "PyTorch noop"]
        series = common_turns(*(by_turn(records, n, trainers, "batch_ms") for n in names))
        numbers, turns = list(series[0]), list(zip(*(s.values() for s in series)))
        ours = spread([v[0] - v[1] for v in turns])
        theirs = spread([v[2] - v[3] for v in turns])
        line = [str(trainers), hook, cell(ours), cell(theirs)]
        if theirs.low <= 0:
            return [*line, "undefined: PyTorch is not above its noop in every turn", f"{self.target:.0%}", "**no**"]
        shares = [(v[0] - v[1]) / (v[2] - v[3]) for v in turns]
        mid = Spread(ours.mid / theirs.mid, min(shares), max(shares))
        return [*line, percentage(mid), f"< {self.target:.0%}", verdict(mid.mid, dict(zip(numbers, shares)), self.target, below, loud_turns(records, trainers))]


def counts(records):
    """The numbers of trainers, in the order in which they ran."""
    return list(dict.fromkeys(r["trainers"] for r in records))


@dataclass(frozen=True)
class RateTable:
    """How many times more work psbench does per second than the fastest of its peers.

    Each case has a name, psbench's program and the peers' programs. The fastest peer has the highest median
    at that number of trainers.
    """

    cases: tuple
    field: str
    unit: str
    target: float

    def markdown(self, records):
        rows = [self.row(records, trainers, *case) for trainers in counts(records) for case in self.cases
                if by_turn(records, case[1], trainers, self.field)]
        return markdown(["trainers", "case", f"psbench, {self.unit}", "fastest peer", f"peer, {self.unit}",
                         "times more", "target", "reached"], rows)

    def row(self, records, trainers, case, ours, peers):
        mine, *others = common_turns(*(by_turn(records, p, trainers, self.field) for p in (ours, *peers)))
        best, theirs = max(zip(peers, others), key=lambda peer: median(peer[1].values()))
        times = ratio(mine, theirs)
        return [str(trainers), case, cell(spread(mine.values())), best, cell(spread(theirs.values())), cell(times),
                f"{self.target:g}", verdict(times.mid, {t: mine[t] / theirs[t] for t in mine}, self.target, at_least,
                                           loud_turns(records, trainers))]


@dataclass(frozen=True)
class ValueTable:
    """Measured values of programs, with an upper limit, if any."""

    programs: tuple
    field: str
    unit: str
    target: float = None

    def markdown(self, records):
        rows = []
        for trainers in counts(records):
            for program in self.programs:
                values = by_turn(records, program, trainers, self.field)
                if not values:
                    continue
                mid = spread(values.values())
                target = [] if self.target is None else [f"< {self.target:g}",
                                                         verdict(mid.mid, values, self.target, below,
                                                                 loud_turns(records, trainers))]
                rows.append([str(trainers), program, cell(mid), *target])
        return markdown(["trainers", "program", self.unit, *(["target", "reached"] if self.target else [])], rows)


@dataclass(frozen=True)
class MemoryTable:
    """The peak memory of a trainer beyond its segments, its parameters and the BLAS
    library, which the program blas measured in the same turn; MiB."""

    programs: tuple
    blas: str
    target: float

    def markdown(self, records):
        rows = []
        for trainers in counts(records):
            blas = by_turn(records, self.blas, trainers, "rss_mib")
            for program in self.programs:
                own = [by_turn(records, program, trainers, f"{part}_mib") for part in ("rss", "segments", "parameters")]
                if not all(own):
                    continue
                series = common_turns(*own, blas)
                beyond = {turn: series[0][turn] - sum(s[turn] for s in series[1:]) for turn in series[0]}
                mid = spread(beyond.values())
                rows.append([str(trainers), program, *(cell(spread(s.values())) for s in series), cell(mid),
                             f"< {self.target:g}", verdict(mid.mid, beyond, self.target, below, loud_turns(records, trainers))])
        return markdown(["trainers", "program", "peak, MiB", "segments, MiB", "parameters, MiB",
                         f"{self.blas}, MiB", "beyond them, MiB", "target", "reached"], rows)
