"""The cost of launching many ranks: time until the first iteration, and CPU time per process."""
from dataclasses import dataclass

from programs import Failure, json_lines
from tables import at_most, by_turn, cell, common_turns, counts, markdown, ratio, spread, verdict
from training import PsbenchRun

COUNTS = (2, 4, 8, 16, 32, 64, 128)
BASE = 8    # trainers; the count that others are compared with


@dataclass(frozen=True)
class Ranks:
    """An mlp of 3,030 parameters and an epoch of 4 batches, so the launch takes most of the run."""

    hook: str
    batches: int = 4    # per trainer and epoch

    def iterations(self, epochs, _trainers):
        return self.batches * epochs

    def flags(self, trainers):
        server = ["--nserver", "1", "--server", "average"] if self.hook == "rpc" else ["--nserver", "0"]
        return ["--ntrainer", str(trainers), *server, "--ddp-hook", self.hook, "--model", "BatchUpdateModel",
                "--data", "dense", "--set", f"data.batches={self.batches}"]


@dataclass(frozen=True)
class PsbenchLaunch(PsbenchRun):
    """psbench run, and the CPU time of all its processes, including the core."""

    def command(self, settings, trainers):
        return [*settings.peer("cpu_time.py"), *super().command(settings, trainers)]

    def row(self, result, _iterations, stdout):
        lines = json_lines(stdout)
        if len(lines) != 1:
            raise Failure(f"cpu_time.py left {len(lines)} lines instead of 1")
        processes = len(result["processes"]) + 1
        return {"start_ms": result["start_ms"], "processes": processes,
                "cpu_ms_per_process": lines[0]["cpu_s"] * 1e3 / processes}


@dataclass(frozen=True)
class LaunchTable:
    """Start and CPU time per process by number of trainers, and the ratio of this CPU time to that with
    BASE trainers. The target, if any, limits the ratio in the turns."""

    program: str
    target: float = None

    def markdown(self, records):
        rows = []
        base = by_turn(records, self.program, BASE, "cpu_ms_per_process")
        for trainers in counts(records):
            start, cpu = (by_turn(records, self.program, trainers, f) for f in ("start_ms", "cpu_ms_per_process"))
            if not cpu:
                continue
            processes = by_turn(records, self.program, trainers, "processes")
            times, reached = "-", "-"
            if base and trainers > BASE:
                mine, theirs = common_turns(cpu, base)
                share = ratio(mine, theirs)
                times = cell(share)
                reached = verdict(share.mid, {t: mine[t] / theirs[t] for t in mine}, self.target, at_most)
            rows.append([str(trainers), self.program, str(max(processes.values())), cell(spread(start.values())),
                         cell(spread(cpu.values())), times, reached])
        target = "-" if self.target is None else f"at most {self.target:g}"
        return markdown(["trainers", "run", "processes", "start, ms", "CPU per process, ms",
                         f"times that of {BASE} trainers", target], rows)
