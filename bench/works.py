"""The works: which programs take turns, and what psbench shall reach."""
from dataclasses import dataclass

from programs import (MPIAllReduce, PsbenchComm, PsbenchRun, TorchAllReduce, TorchPushPull, TorchTraining)
from tables import CostTable, RatioTable, ShareTable

KIB, MIB = 1 << 10, 1 << 20
SIZES = (4 * KIB, 64 * KIB, MIB, 4 * MIB, 25 * MIB, 64 * MIB)


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    programs: tuple
    tables: tuple
    trainers: tuple = (2,)
    sizes: tuple = SIZES


def at_every_size(target):
    return lambda trainers, nbytes: target


def from_size(least, target, below=None):
    return lambda trainers, nbytes: target if nbytes >= least else below


def tcp_share(trainers, nbytes):
    return 0.7 if trainers <= 2 and nbytes >= 4 * MIB else None


def reduce_share(trainers, nbytes):
    return 0.6 if trainers >= 2 and nbytes >= MIB else None


def pushpull(places):
    label = {"inplace": "psbench", "copy": "psbench copy"}
    target = {"inplace": 10, "copy": 5}
    return Work(
        "pushpull", "Push-pull with server average, fresh, shared memory",
        (*(PsbenchComm(label[p], "pushpull", server="average", place=p) for p in places), TorchPushPull("TensorPipe")),
        tuple(RatioTable(label[p], "TensorPipe", at_every_size(target[p])) for p in places),
        trainers=(1, 2, 4))


def allreduce(mode):
    ours, mpi = PsbenchComm("psbench", "allreduce", mode=mode), MPIAllReduce("MPI", mode)
    if mode == "warm":
        return Work("allreduce-warm", "All-reduce, warm, shared memory", (ours, mpi),
                    (RatioTable("psbench", "MPI", from_size(64 * KIB, 3, below=1)),), trainers=(2, 4))
    return Work("allreduce-fresh", "All-reduce, fresh, shared memory", (ours, TorchAllReduce("Gloo"), mpi),
                (RatioTable("psbench", "Gloo", at_every_size(8)),
                 RatioTable("psbench", "MPI", from_size(MIB, 1.5, below=1))), trainers=(2, 4))


def tcp():
    return Work(
        "tcp", "Push-pull with server average, fresh, TCP on loopback",
        (PsbenchComm("psbench", "pushpull", server="average", transport="tcp", limits=True),
         TorchPushPull("TensorPipe over TCP", transports="uv", channels="basic")),
        (RatioTable("psbench", "TensorPipe over TCP", at_every_size(1.5)), ShareTable("psbench", tcp_share)),
        trainers=(1, 2, 4))


def reduce():
    return Work(
        "reduce", "Push-pull with server average_batch in place, fresh, shared memory",
        (PsbenchComm("psbench", "pushpull", server="average_batch", limits=True),),
        (ShareTable("psbench", reduce_share),),
        trainers=(2, 4), sizes=SIZES[2:])


def training(hooks):
    programs = []
    for hook in (*hooks, "noop"):
        programs += [PsbenchRun(f"psbench {hook}", hook), TorchTraining(f"PyTorch {hook}", hook)]
    return Work("training", "Training of the default model", tuple(programs), (CostTable(tuple(hooks), 0.15),),
                sizes=())
