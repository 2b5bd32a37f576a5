"""The programs that communicate: how to start each one and how to read its output.

training.py has the programs that train.
"""
import json
import os
from dataclasses import dataclass


class Failure(Exception):
    """One sentence: what failed and where."""


@dataclass(frozen=True)
class Settings:
    """The options of the command line; times in seconds, sizes in bytes."""

    out: str
    psbench: str = "bin/psbench"
    python: str = "/usr/bin/python3"
    peers: str = "bench/peers"
    trainers: tuple = ()
    sizes: tuple = ()
    seconds: float = 1.0
    epochs: int = 20
    processes: int = 5
    timeout: float = 600.0
    settle: float = 4.0
    tries: int = 2
    max_foreign: float = 0.1
    resume: bool = False

    def peer(self, script):
        return [self.python, os.path.join(self.peers, script)]

    def psbench_json(self):
        return os.path.join(self.out, "psbench.json")


def size_flag(nbytes):
    """4096 -> '4K', the notation for psbench and the peers."""
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if nbytes % unit == 0:
            return f"{nbytes // unit}{name}"
    return str(nbytes)


def size_name(nbytes):
    """4096 -> '4 KiB'."""
    flag = size_flag(nbytes)
    return f"{flag[:-1]} {flag[-1]}iB" if flag[-1] in "KM" else f"{flag} B"


def size_flags(sizes):
    return ",".join(map(size_flag, sizes))


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def one_row_per_size(name, rows, sizes):
    """The rows in the order of sizes."""
    by_size = {}
    for row in rows:
        if row["bytes"] in by_size:
            raise Failure(f"{name} has two rows of {size_name(row['bytes'])}")
        if not row["p50_us"] > 0:
            raise Failure(f"{name} measured {row['p50_us']} us at {size_name(row['bytes'])}")
        by_size[row["bytes"]] = row
    missing = [size_name(s) for s in sizes if s not in by_size]
    if missing:
        raise Failure(f"{name} has no row of {', '.join(missing)}")
    return [by_size[s] for s in sizes]


@dataclass(frozen=True)
class Program:
    """One side of a comparison. Its name is unique in its work."""

    name: str

    def runs_with(self, _trainers):
        """Whether it takes part at this number of trainers."""
        return True

    def build(self, _settings):
        """The command that builds it; None if there is nothing to build."""
        return None

    def command(self, settings, trainers):
        """The command of one process, for all sizes at one number of trainers."""
        raise NotImplementedError

    def environment(self):
        """Variables in addition to those of all programs."""
        return {}

    def read(self, stdout, settings, trainers):
        """(rows, about): the measurements of one process, and facts for the caption.

        A communication program has one row per size, with bytes and p50_us. A program without sizes has one
        row. Raises Failure if a row is missing, was measured in another mode, or was voided.
        """
        raise NotImplementedError


# ---- psbench -----------------------------------------------------------------


def load_psbench(path, schema):
    """The JSON that psbench wrote; it must be complete."""
    with open(path, encoding="utf-8") as f:
        result = json.load(f)
    if result.get("schema") != schema:
        raise Failure(f"psbench wrote schema {result.get('schema')} instead of {schema}")
    return result


@dataclass(frozen=True)
class PsbenchComm(Program):
    """psbench comm: one operation over one transport."""

    operation: str = ""
    server: str = ""
    transport: str = "shm"
    mode: str = "fresh"
    place: str = "inplace"
    limits: bool = False
    threads: int = 0    # Go threads of every process, hence of the server's reductions; 0: psbench's choice

    def environment(self):
        return {"GOMAXPROCS": str(self.threads)} if self.threads else {}

    def command(self, settings, trainers):
        server = ["--server", self.server] if self.server else []
        limits = [] if self.limits else ["--no-limits"]
        return [
            settings.psbench, "comm", self.operation, *server, "--ntrainer", str(trainers),
            "--transport", self.transport, f"--{self.mode}", "--place", self.place,
            "--sizes", size_flags(settings.sizes), "--seconds", f"{settings.seconds:g}", "--repeat", "1",
            *limits, "--quiet", "--json", settings.psbench_json(),
        ]

    def read(self, _stdout, settings, trainers):
        result = load_psbench(settings.psbench_json(), "psbench.comm/2")
        for row in result["rows"]:
            if row["verified"] not in ("rounds", "lead-in") or row.get("mismatch"):
                raise Failure(
                    f"psbench voided {row['operation']} of {size_name(row['bytes'])}, {row['mode']}, "
                    f"{row['trainers']} trainers: {row.get('mismatch') or 'not verified'}")
        if result.get("complete") is not True:
            raise Failure(f"psbench did not complete: {result.get('error') or 'no reason given'}")
        wanted = {"operation": self.operation, "transport": self.transport, "trainers": trainers,
                  "mode": self.mode, "place": self.place, "sparse": False}
        if self.server:
            wanted["server"] = self.server
        rows = [r for r in result["rows"] if all(r[k] == v for k, v in wanted.items())]
        about = {"environment": result["environment"], "limits": result.get("limits") or []}
        return one_row_per_size(self.name, rows, settings.sizes), about


# ---- peers -------------------------------------------------------------------


def read_peer(name, stdout, settings, expected):
    """Rows of a peer that reports one size per line, in ms."""
    lines = json_lines(stdout)
    for line in lines:
        for key, value in expected.items():
            if line[key] != value:
                raise Failure(f"{name} measured with {key} {line[key]} instead of {value}")
        for quantity in ("p50", "p95", "min"):
            line[f"{quantity}_us"] = line[f"{quantity}_ms"] * 1e3
    rows = one_row_per_size(name, lines, settings.sizes)
    return rows, {"library": rows[0]["library"]}


@dataclass(frozen=True)
class TorchPushPull(Program):
    """Push and pull over TensorPipe RPC, fresh."""

    transports: str = ""
    channels: str = ""

    def command(self, settings, trainers):
        restricted = ["--transports", self.transports, "--channels", self.channels] if self.transports else []
        return [
            *settings.peer("torch_pushpull.py"), "--fresh", "--trainers", str(trainers), *restricted,
            "--sizes", size_flags(settings.sizes), "--budget", f"{settings.seconds:g}",
        ]

    def read(self, stdout, settings, trainers):
        expected = {"trainers": trainers, "fresh": True, "transports": self.transports or "default"}
        return read_peer(self.name, stdout, settings, expected)


@dataclass(frozen=True)
class TorchAllReduce(Program):
    """All-reduce with Gloo."""

    mode: str = "fresh"

    def command(self, settings, trainers):
        return [
            *settings.peer("torch_allreduce.py"), *(["--fresh"] if self.mode == "fresh" else []),
            "--world", str(trainers), "--sizes", size_flags(settings.sizes), "--budget", f"{settings.seconds:g}",
        ]

    def read(self, stdout, settings, trainers):
        return read_peer(self.name, stdout, settings, {"world": trainers, "fresh": self.mode == "fresh"})


@dataclass(frozen=True)
class MPIAllReduce(Program):
    """All-reduce with MPI, built in the folder of results. vendor is a suffix of Debian's program names,
    "openmpi" or "mpich"; without it, the system's mpicc and mpirun are used."""

    mode: str = "fresh"
    vendor: str = ""

    def tool(self, name):
        return f"{name}.{self.vendor}" if self.vendor else name

    def executable(self, settings):
        return os.path.join(settings.out, f"mpi_allreduce{'_' if self.vendor else ''}{self.vendor}")

    def build(self, settings):
        source = os.path.join(settings.peers, "mpi_allreduce.c")
        return [self.tool("mpicc"), "-O2", "-o", self.executable(settings), source]

    def options(self, _trainers):
        """Hardware threads count as slots. With more ranks than slots, Open MPI yields while it waits, and
        by default it may count a core with two threads as one slot."""
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return [*root, "--use-hwthread-cpus", "--oversubscribe"]

    def command(self, settings, trainers):
        return [self.tool("mpirun"), *self.options(trainers), "-n", str(trainers), self.executable(settings),
                f"{settings.seconds:g}", *map(str, settings.sizes)]

    def environment(self):
        return {"FRESH": "1"} if self.mode == "fresh" else {}

    def read(self, stdout, settings, trainers):
        return read_peer(self.name, stdout, settings, {"world": trainers, "fresh": int(self.mode == "fresh")})


@dataclass(frozen=True)
class TunedOpenMPI(MPIAllReduce):
    """The ring in segments of so many bytes, with single copies by the kernel."""

    vendor: str = "openmpi"
    segment: int = 256 << 10

    def options(self, trainers):
        """Each rank has its own core. If there are too few cores, ranks yield while they wait."""
        enough = trainers <= len(os.sched_getaffinity(0))
        place = ["--bind-to", "core"] if enough else ["--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        tuned = {"btl_vader_single_copy_mechanism": "cma", "coll_tuned_use_dynamic_rules": 1,
                 "coll_tuned_allreduce_algorithm": 5, "coll_tuned_allreduce_algorithm_segmentsize": self.segment}
        return [*super().options(trainers), *place, *(word for k, v in tuned.items() for word in ("--mca", k, str(v)))]


@dataclass(frozen=True)
class MPICHAllReduce(MPIAllReduce):
    """All-reduce with MPICH in its default configuration."""

    vendor: str = "mpich"

    def options(self, _trainers):
        return []
