"""Torch modules: trained by psbench, by DistributedDataParallel, and by torch alone."""
import json
import os
from dataclasses import dataclass

from programs import Failure
from tables import by_turn, cell, common_turns, counts, markdown, spread
from training import PsbenchRun, TorchDdp, TorchStep, last_line

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True)
class Module:
    """A plugin's module and its training data. The reference model uses the batches of torch_ps.py. Any
    other module uses the built-in digits, on which both sides have the same batches and so the same
    losses."""

    script: str    # in this file's folder
    hook: str
    batch: int
    samples: int
    sparse: bool = False
    threads: int = 1    # compute threads of each trainer

    @property
    def key(self):
        return os.path.splitext(os.path.basename(self.script))[0]

    @property
    def path(self):
        return os.path.normpath(os.path.join(HERE, self.script))

    @property
    def digits(self):
        return self.key != "reference_model"

    @property
    def lr(self):
        """The learning rate for the digits; torch_ps.py defines the other one."""
        return 0.01 if self.digits else 0.0001

    def iterations(self, epochs, trainers):
        return self.samples // self.batch // trainers * epochs

    def flags(self, trainers):
        server = ["--nserver", "1", "--server", "average"] if "rpc" in self.hook else ["--nserver", "0"]
        data = ["--data", "idx", "--set", "data.held_out=0"] if self.digits else ["--set", f"data.sample_count={self.samples}"]
        return ["--ntrainer", str(trainers), *server, "--ddp-hook", self.hook, "--model", self.key, *data,
                "--batch-size", str(self.batch), "--set", f"trainer.lr={self.lr}"]


@dataclass(frozen=True)
class PsbenchModule(PsbenchRun):
    """psbench run with a module of a plugin."""

    def command(self, settings, trainers):
        registry = os.path.join(settings.out, "modules.json")
        os.makedirs(settings.out, exist_ok=True)
        with open(registry, "w", encoding="utf-8") as f:
            json.dump({"plugins": {self.case.key: {"command": [settings.python, self.case.path]}},
                       "model_map": {self.case.key: {"plugin": self.case.key}}}, f)
        command = super().command(settings, trainers)
        run = command.index("run") + 1
        return [*command[:run], "--registry", registry, "--no-user-registry", *command[run:]]

    def facts(self, result):
        """Torch and its threads, as in the facts of all models."""
        found = {(f.get("torch"), f.get("torch_threads")) for f in (p["facts"] for p in result["processes"]) if "torch" in f}
        if len(found) != 1 or next(iter(found))[1] != str(self.threads()):
            raise Failure(f"psbench's models computed with {sorted(found)} of torch and threads, not with {self.threads()} "
                          "threads as PyTorch")
        return f"psbench run over {result['transport']} with torch {next(iter(found))[0]}"

    def row(self, result, iterations, stdout):
        losses = result["losses"][0]
        return super().row(result, iterations, stdout) | {"first_loss": losses[0], "last_loss": losses[-1]}


@dataclass(frozen=True)
class TorchModule(TorchDdp):
    """The same module by DistributedDataParallel."""

    def command(self, settings, trainers):
        if not self.case.digits:
            return super().command(settings, trainers)
        return [*settings.peer("torch_digits.py"), os.path.relpath(self.case.path), "--lr", str(self.case.lr), "--hook", self.case.hook, "--trainers", str(trainers),
                "--batch", str(self.case.batch), "--samples", str(self.case.samples), "--epochs", str(settings.epochs),
                "--threads", str(self.case.threads)]

    def read(self, stdout, settings, trainers):
        (row,), about = super().read(stdout, settings, trainers)
        line = last_line(self.name, stdout, metric="throughput")
        return [row | {k: line[k] for k in ("first_loss", "last_loss") if k in line}], about


@dataclass(frozen=True)
class TorchModuleAlone(TorchModule):
    """The same module in one process, without DistributedDataParallel: torch's own step."""

    def command(self, settings, trainers):
        if self.case.digits:
            command = super().command(settings, trainers)
            command[command.index("--hook") + 1] = "none"
            return command
        return TorchStep.command(self, settings, trainers)

    def mode(self, trainers):
        return super().mode(trainers) | {"hook": "none"}


@dataclass(frozen=True)
class LossTable:
    """First and last loss of trainer 0 on both sides. They must be the same: otherwise, the sides trained
    differently, and there is no table."""

    cases: tuple    # (name, psbench's program, the peer's)
    rel: float = 1e-3

    def markdown(self, records):
        rows = []
        for trainers in counts(records):
            for case, *programs in self.cases:
                line = [str(trainers), case]
                for which in ("first_loss", "last_loss"):
                    series = common_turns(*(by_turn(records, p, trainers, which) for p in programs))
                    values = [v for s in series for v in s.values()]
                    if max(values) - min(values) > self.rel * max(values):
                        raise Failure(f"{case} has a {which.replace('_', ' ')} from {min(values):.6g} to {max(values):.6g} "
                                      "on the two sides: they do not compute the same")
                    line.append(cell(spread(values)))
                rows.append(line)
        return markdown(["trainers", "case", "first loss of both", "last loss of both"], rows)
