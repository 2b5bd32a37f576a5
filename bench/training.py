"""The programs that train, psbench run and PyTorch, and their memory use.

Both sides of a comparison get the same case. It defines the training and the number of iterations of each
trainer in the measured pass.
"""
from dataclasses import dataclass

from peers.peerlib import quantile
from programs import Failure, Program, json_lines, load_psbench

MIB = 1 << 20
COLUMNS = 512    # of all embedding tables of the hybrid system together
NAMES = {"openblas": "OpenBLAS", "native": "its own"}


# ---- what is trained ---------------------------------------------------------


@dataclass(frozen=True)
class Ddp:
    """The default model, data-parallel with one hook."""

    hook: str
    sparse: bool = False
    samples: int = 100
    batch: int = 10
    blas: str = "openblas"    # psbench's matrix library; PyTorch uses OpenBLAS
    threads: int = 1          # compute threads of each trainer

    def iterations(self, epochs, trainers):
        return self.samples // self.batch // trainers * epochs

    def flags(self, trainers):
        server = ["--nserver", "1", "--server", "average"] if "rpc" in self.hook else ["--nserver", "0"]
        model = ["--model", "DummyModelSparse"] if self.sparse else []
        sizes = ["--batch-size", str(self.batch), "--set", f"data.sample_count={self.samples}"]
        own = sizes if (self.samples, self.batch) != (Ddp.samples, Ddp.batch) else []
        own += ["--set", f"blas={self.blas}"] if self.blas != Ddp.blas else []
        return ["--ntrainer", str(trainers), *server, "--ddp-hook", self.hook, *model, *own]


@dataclass(frozen=True)
class Dlrm:
    """The recommendation model. A server averages its tables' gradients; all-reduce averages the others."""

    batches: int = 10    # per trainer and epoch
    batch: int = 128
    blas: str = "openblas"    # psbench's matrix library; PyTorch uses OpenBLAS

    def iterations(self, epochs, _trainers):
        return self.batches * epochs

    def flags(self, trainers):
        native = ["--set", f"blas={self.blas}"] if self.blas != Dlrm.blas else []
        return ["--ntrainer", str(trainers), "--nserver", "1", "--server", "average", "--ddp-hook", "sparse_rpc",
                "--model", "DLRM", "--create-criterion", "bce", "--data", "clicks",
                "--set", f"data.batches={self.batches}", "--batch-size", str(self.batch), *native]


@dataclass(frozen=True)
class Hybrid:
    """The hybrid system, with one server of an embedding table per trainer of the dense layers."""

    batches: int = 10    # per trainer and epoch; the default of both sides

    def iterations(self, epochs, _trainers):
        return self.batches * epochs

    def flags(self, trainers):
        if COLUMNS % trainers:
            raise Failure(f"{trainers} servers cannot share {COLUMNS} columns evenly: choose a power of two")
        return ["--trainer", "hybrid", "--ntrainer", str(trainers), "--nserver", str(trainers),
                "--set", f"server.embedding_dim={COLUMNS // trainers}"]


@dataclass(frozen=True)
class BatchUpdate:
    """The batch-update system, whose server owns the model and answers with it."""

    batches: int = 1000    # per trainer and epoch

    def iterations(self, epochs, _trainers):
        return self.batches * epochs

    def flags(self, trainers):
        return ["--trainer", "batch_update", "--ntrainer", str(trainers), "--set", f"data.batches={self.batches}"]


# ---- psbench -----------------------------------------------------------------


@dataclass(frozen=True)
class PsbenchRun(Program):
    """psbench run. Its warm-up pass is as long as the measured one."""

    case: object = None
    counts: tuple = ()    # numbers of trainers at which it takes turns; empty: all

    def runs_with(self, trainers):
        return not self.counts or trainers in self.counts

    def command(self, settings, trainers):
        threads = ["env", f"OPENBLAS_NUM_THREADS={self.threads()}"] if self.threads() != 1 else []
        return [*threads, settings.psbench, "run", *self.case.flags(trainers), "--epochs", str(settings.epochs),
                "--quiet", "--json", settings.psbench_json()]

    def threads(self):
        return getattr(self.case, "threads", 1)

    def read(self, stdout, settings, trainers):
        result = load_psbench(settings.psbench_json(), "psbench.result/2")
        if result["complete"] is not True:
            raise Failure(f"psbench did not complete: {result.get('error') or 'no reason given'}")
        ran, wanted = {len(losses) for losses in result["losses"]}, self.case.iterations(settings.epochs, trainers)
        if ran != {wanted}:
            raise Failure(f"psbench's trainers ran {sorted(ran)} iterations instead of {wanted}")
        return [self.row(result, wanted, stdout)], {"environment": result["environment"], "library": self.facts(result)}

    def facts(self, result):
        """The libraries of its computation, in words. Raises Failure if they differ from PyTorch's."""
        facts = next(p["facts"] for p in result["processes"] if p["kind"] == "trainer")
        blas = getattr(self.case, "blas", "openblas")
        if facts.get("blas") != blas or facts.get("blas_threads") != str(self.threads()):
            raise Failure(f"psbench's trainers computed with {facts}, not with {blas} on as many threads as PyTorch, "
                          f"{self.threads()}")
        return f"psbench run over {result['transport']} with {facts.get('blas_core')} kernels of {NAMES[blas]}"

    def row(self, result, iterations, _stdout):
        """The measurements of one process, from its result and a trainer's number of iterations."""
        throughput = result["throughput"]
        return {"batch_ms": throughput["seconds"] * 1e3 / iterations,
                "samples_per_second": throughput["samples_per_second"],
                "updates_per_second": iterations / throughput["seconds"],
                "start_ms": result["start_ms"]}


@dataclass(frozen=True)
class PsbenchHybrid(PsbenchRun):
    """psbench run, with the result of the hybrid benchmark: the samples of all trainers in an epoch,
    divided by the median time of an epoch."""

    def row(self, result, iterations, stdout):
        epochs = sorted(ns / 1e9 for s in result["series"] if s["type"] == "epoch_metric" for ns in s["duration_ns"])
        if not epochs:
            raise Failure("psbench's result has no time of an epoch")
        samples = sum(result["data"]["samples_per_trainer"])
        return super().row(result, iterations, stdout) | {
            "p50_samples_per_second": samples / quantile(epochs, 0.5)}


@dataclass(frozen=True)
class PsbenchMemory(PsbenchRun):
    """psbench run, and the components of its largest trainer's memory, in MiB."""

    def command(self, settings, trainers):
        return [*settings.peer("shared_memory.py"), *super().command(settings, trainers)]

    def row(self, result, _iterations, stdout):
        shared = {pid: kib / 1024 for line in json_lines(stdout) for pid, kib in line["shared_kib"].items()}
        largest = max((p for p in result["processes"] if p["kind"] == "trainer"), key=lambda p: p["rss_mib"])
        dense = sum(b["elements"] for b in result["buckets"] if not b["sparse"]) * 4 / MIB
        segments = shared.get(str(largest["pid"]), 0.0)
        if result["transport"] != "shm" or segments < dense:
            raise Failure(f"{largest['name']} had {segments:.1f} MiB of segments over {result['transport']}, "
                          f"less than its buckets of {dense:.1f} MiB")
        parameters = sum(p["elements"] for b in result["buckets"] for p in b["parameters"]) * 4 / MIB
        return {"rss_mib": largest["rss_mib"], "segments_mib": segments, "parameters_mib": parameters}


# ---- peers -------------------------------------------------------------------


def last_line(name, stdout, **expected):
    """The last line of a peer's output with these values."""
    lines = [line for line in json_lines(stdout) if all(line.get(k) == v for k, v in expected.items())]
    if not lines:
        raise Failure(f"{name} reported nothing with " + ", ".join(f"{k} {v}" for k, v in expected.items()))
    return lines[-1]


@dataclass(frozen=True)
class TorchDdp(Program):
    """DDP with one hook. Its warm-up pass is as long as the measured one, too."""

    case: Ddp = None

    def command(self, settings, trainers):
        return [
            *settings.peer("torch_ps.py"), "--hook", self.case.hook, "--server", "average",
            *(["--sparse"] if self.case.sparse else []), "--trainers", str(trainers),
            "--batch", str(self.case.batch), "--samples", str(self.case.samples),
            "--epochs", str(settings.epochs), "--threads", str(self.case.threads),
        ]

    def read(self, stdout, settings, trainers):
        mode = self.mode(trainers)
        iterations = self.case.iterations(settings.epochs, trainers)
        last_line(self.name, stdout, metric="batch_all", n=iterations * trainers, **mode)
        throughput = last_line(self.name, stdout, metric="throughput", threads=self.case.threads, **mode)
        row = {"batch_ms": throughput["wall_s"] * 1e3 / iterations,
               "samples_per_second": throughput["samples_per_s"]}
        return [row], {"library": f"PyTorch {throughput['torch']}"}

    def mode(self, trainers):
        return {"hook": self.case.hook, "trainers": trainers, "sparse": self.case.sparse}


@dataclass(frozen=True)
class TorchStep(TorchDdp):
    """The same training without DDP, in one process."""

    def command(self, settings, trainers):
        return [
            *settings.peer("torch_step.py"), "--batch", str(self.case.batch), "--samples", str(self.case.samples),
            "--epochs", str(settings.epochs), "--threads", str(self.case.threads),
        ]

    def mode(self, trainers):
        return super().mode(trainers) | {"hook": "none"}


@dataclass(frozen=True)
class TorchDlrm(Program):
    """The recommendation model by DDP with the same hook. Its warm-up pass is as long as
    the measured one."""

    case: Dlrm = None
    tables: str = "each"

    def command(self, settings, trainers):
        return [
            *settings.peer("torch_dlrm.py"), "--hook", "sparse_rpc", "--tables", self.tables,
            "--trainers", str(trainers), "--batch", str(self.case.batch),
            "--samples", str(self.case.batches * self.case.batch * trainers),
            "--epochs", str(settings.epochs), "--threads", "1",
        ]

    def read(self, stdout, settings, trainers):
        iterations = self.case.iterations(settings.epochs, trainers)
        last_line(self.name, stdout, metric="batch_all", n=iterations * trainers)
        throughput = last_line(self.name, stdout, metric="throughput", hook="sparse_rpc", trainers=trainers, threads=1)
        return [{"samples_per_second": throughput["samples_per_s"]}], {"library": f"PyTorch {throughput['torch']}"}


@dataclass(frozen=True)
class TorchHybrid(Program):
    """The hybrid benchmark, with 5 epochs of warm-up."""

    case: Hybrid = None
    lookup: str = "serial"

    def command(self, settings, trainers):
        return [
            *settings.peer("torch_hybrid.py"), "--trainers", str(trainers), "--servers", str(trainers),
            "--lookup", self.lookup, "--epochs", str(settings.epochs), "--warmup", "5", "--threads", "1",
        ]

    def read(self, stdout, settings, trainers):
        every = last_line(self.name, stdout, who="all", trainers=trainers, servers=trainers, lookup=self.lookup,
                          batches=self.case.batches, n=settings.epochs * trainers)
        return [{"p50_samples_per_second": every["p50_samples_per_s"]}], {"library": every["library"]}


@dataclass(frozen=True)
class TorchBatchUpdate(Program):
    """The batch-updating server, with an epoch of warm-up."""

    case: BatchUpdate = None
    reply: str = "module"

    def command(self, settings, trainers):
        return [
            *settings.peer("torch_batch_update.py"), "--trainers", str(trainers), "--reply", self.reply,
            "--batches", str(self.case.iterations(settings.epochs, trainers)), "--warmup", str(self.case.batches),
            "--threads", "1",
        ]

    def read(self, stdout, settings, trainers):
        step = last_line(self.name, stdout, metric="step", trainers=trainers, reply=self.reply,
                         batches=self.case.iterations(settings.epochs, trainers))
        return [{"updates_per_second": step["updates_per_s"]}], {"library": step["library"]}


@dataclass(frozen=True)
class BlasMemory(Program):
    """The additional memory of a process that uses the BLAS library, in MiB."""

    def command(self, settings, _trainers):
        return settings.peer("blas_memory.py")

    def read(self, stdout, _settings, _trainers):
        line = last_line(self.name, stdout, threads=1)
        return [{"rss_mib": line["rss_kib"] / 1024}], {}
