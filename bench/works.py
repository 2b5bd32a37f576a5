"""The works: the programs that take turns, and the targets for psbench."""
from dataclasses import dataclass

from devices import OnDevices, PsbenchOnDevices, TorchOnDevices
from launching import COUNTS, LaunchTable, PsbenchLaunch, Ranks
from modules import LossTable, Module, PsbenchModule, TorchModule, TorchModuleAlone
from programs import MPICHAllReduce, MPIAllReduce, PsbenchComm, TorchAllReduce, TorchPushPull, TunedOpenMPI
from tables import CostTable, FastestTable, MemoryTable, RateTable, RatioTable, ShareTable, ValueTable
from training import (BatchUpdate, BlasMemory, Ddp, Dlrm, Hybrid, PsbenchHybrid, PsbenchMemory, PsbenchRun,
                      TorchBatchUpdate, TorchDdp, TorchDlrm, TorchHybrid, TorchStep)

KIB, MIB = 1 << 10, 1 << 20
HOOKS = ("allreduce", "rpc", "sparse_rpc", "hybrid")
SIZES = (4 * KIB, 64 * KIB, MIB, 4 * MIB, 25 * MIB, 64 * MIB)


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    programs: tuple
    tables: tuple
    trainers: tuple = (2,)
    sizes: tuple = SIZES
    epochs: int = 20
    fixed: bool = False    # the work fixes the numbers of trainers
    mixed: bool = False    # a turn contains all numbers of trainers, which are compared with each other


def at_every_size(target):
    return lambda trainers, nbytes: target


def from_size(least, target, below=None):
    return lambda trainers, nbytes: target if nbytes >= least else below


def tcp_share(trainers, nbytes):
    return 0.7 if trainers <= 2 and nbytes >= 4 * MIB else None


def reduce_share(trainers, nbytes):
    return 0.6 if trainers >= 2 and nbytes >= MIB else None


def pushpull(places):
    """psbench's server reduces with all cores, TensorPipe's with one, so there is also a row for one
    core."""
    label = {"inplace": "psbench", "copy": "psbench copy"}
    target = {label["inplace"]: 10, label["copy"]: 5, "psbench, server of one thread": None}
    programs = [PsbenchComm(label[p], "pushpull", server="average", place=p) for p in places]
    if "inplace" in places:
        programs.append(PsbenchComm("psbench, server of one thread", "pushpull", server="average", threads=1))
    return Work(
        "pushpull", "Push-pull with server average, fresh, shared memory",
        (*programs, TorchPushPull("TensorPipe")),
        tuple(RatioTable(p.name, "TensorPipe", at_every_size(target[p.name])) for p in programs),
        trainers=(1, 2, 4))


def allreduce(mode):
    ours, mpi = PsbenchComm("psbench", "allreduce", mode=mode), MPIAllReduce("MPI", mode)
    if mode == "warm":
        return Work("allreduce-warm", "All-reduce, warm, shared memory", (ours, mpi),
                    (RatioTable("psbench", "MPI", from_size(64 * KIB, 3, below=1)),), trainers=(2, 4))
    return Work("allreduce-fresh", "All-reduce, fresh, shared memory", (ours, TorchAllReduce("Gloo"), mpi),
                (RatioTable("psbench", "Gloo", at_every_size(8)),
                 RatioTable("psbench", "MPI", from_size(MIB, 1.5, below=1))), trainers=(2, 4))


def copies():
    """With gradients in ordinary memory, as for MPI."""
    ours = [PsbenchComm("psbench copy", "allreduce", place="copy"), PsbenchComm("psbench in place", "allreduce")]
    tuned = [TunedOpenMPI(f"Open MPI, {kib} KiB", segment=kib * KIB) for kib in (128, 256, 512)]
    mpich = MPICHAllReduce("MPICH")
    peers, target = tuple(p.name for p in tuned), {"psbench copy": from_size(64 * KIB, 1.2), "psbench in place": at_every_size(1)}
    return Work("allreduce-copy", "All-reduce of gradients in ordinary memory, fresh", (*ours, *tuned, mpich),
                (*(FastestTable(p.name, peers, target[p.name]) for p in ours),
                 RatioTable("psbench copy", mpich.name, at_every_size(None))),
                trainers=(2, 4), sizes=(4 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 25 * MIB, 64 * MIB))


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
        programs += [PsbenchRun(f"psbench {hook}", Ddp(hook)), TorchDdp(f"PyTorch {hook}", Ddp(hook))]
    return Work("training", "Training of the default model", tuple(programs), (CostTable(tuple(hooks), 0.15),),
                sizes=())


def ddp(hooks, batch):
    """Batches of 128 take long, so there are fewer."""
    samples, target, epochs = {10: (100, 3, 20), 128: (2560, 1.3, 5)}[batch]
    programs, cases = [], []
    for hook in hooks:
        case = Ddp(hook, sparse=hook in ("sparse_rpc", "hybrid"), samples=samples, batch=batch)
        programs += [PsbenchRun(f"psbench {hook}", case), TorchDdp(f"PyTorch {hook}", case)]
        cases.append((f"{hook}, sparse" if case.sparse else hook, f"psbench {hook}", (f"PyTorch {hook}",)))
    return Work("ddp" if batch == 10 else f"ddp{batch}", f"Data-parallel training of the default model, batch {batch}",
                tuple(programs), (RateTable(tuple(cases), "samples_per_second", "samples/s", target),),
                sizes=(), epochs=epochs)


def cuda(batch, backend="gloo"):
    """On one card: with a server, and in a group. Over NCCL: only in a group, with one card per trainer."""
    samples, epochs = {10: (100, 100), 128: (2560, 20)}[batch]
    programs, tables = [], []
    for hook, peer, target in (("rpc", "PyTorch RPC hook", 1.5), ("allreduce", f"PyTorch DDP over {backend}", 1)):
        if hook == "rpc" and backend == "nccl":
            continue
        case = OnDevices(hook, samples=samples, batch=batch, backend=backend)
        programs += [PsbenchOnDevices(f"psbench {hook}", case), TorchOnDevices(peer, case)]
        tables.append(RateTable(((hook, f"psbench {hook}", (peer,)),), "samples_per_second", "samples/s", target))
    return Work(f"cuda{'' if backend == 'gloo' else backend}{batch}",
                f"Data-parallel training of the default model on {'one card' if backend == 'gloo' else 'cards, over NCCL'}, batch {batch}",
                tuple(programs), tuple(tables), sizes=(), epochs=epochs)


def step(batch):
    """One trainer without communication: psbench's own matrix product compared with PyTorch's OpenBLAS."""
    samples, epochs = {10: (100, 10), 128: (1280, 3)}[batch]
    programs, cases = [], []
    for threads, label in ((1, "one thread"), (2, "two threads")):
        case = Ddp("noop", samples=samples, batch=batch, blas="native", threads=threads)
        ours, peer = PsbenchRun(f"psbench native {threads}", case), TorchStep(f"PyTorch {threads}", case)
        programs += [ours, peer]
        cases.append((label, ours.name, (peer.name,)))
    return Work(f"step{batch}", f"A step of the default model without OpenBLAS, batch {batch}", tuple(programs),
                (RateTable(tuple(cases), "samples_per_second", "samples/s", 1 / 1.3),),
                trainers=(1,), sizes=(), epochs=epochs, fixed=True)


MODULES = (("reference", "../python/examples/reference_model.py", 10, 100),
           ("wide mlp", "peers/wide_mlp.py", 50, 2000), ("convnet", "../python/examples/convnet.py", 50, 2000))


def modules(hook, peer, title, name, target, counts):
    """Torch modules under psbench, compared with peer, which trains the same modules."""
    programs, cases, losses = [], [], []
    for module, script, batch, samples in MODULES:
        case = Module(script, hook, batch, samples)
        ours, theirs = PsbenchModule(f"psbench {module}", case), peer(f"PyTorch {module}", case)
        programs += [ours, theirs]
        cases.append((f"{module}, batch {batch}", ours.name, (theirs.name,)))
        if case.digits:
            losses.append((module, ours.name, theirs.name))
    return Work(name, title, tuple(programs),
                (RateTable(tuple(cases), "samples_per_second", "samples/s", target), LossTable(tuple(losses))),
                trainers=counts, sizes=(), epochs=10, fixed=len(counts) == 1)


def module_ddp():
    return modules("rpc", TorchModule, "Data-parallel training of torch modules, hook rpc", "module", 1.5, (2,))


def module_step():
    """One trainer without communication: the overhead of psbench over torch's own step."""
    return modules("noop", TorchModuleAlone, "A step of torch modules", "modulestep", 1 / 1.1, (1,))


def dlrm():
    peers = [TorchDlrm(f"PyTorch {tables}", Dlrm(), tables) for tables in ("each", "stack")]
    ours = [PsbenchRun(f"psbench {blas}", Dlrm(blas=blas)) for blas in ("openblas", "native")]
    cases = tuple((f"sparse_rpc, {p.case.blas}", p.name, (q.name,)) for q in peers for p in ours)
    return Work("dlrm", "Data-parallel training of the recommendation model, batch 128",
                (*ours, *peers), (RateTable(cases, "samples_per_second", "samples/s", 3),),
                sizes=(), epochs=20)


def hybrid():
    peers = [TorchHybrid(f"PyTorch {lookup}", Hybrid(), lookup) for lookup in ("serial", "parallel")]
    cases = (("all trainers, median epoch", "psbench", tuple(p.name for p in peers)),)
    return Work("hybrid", "Hybrid training, as many servers as trainers", (PsbenchHybrid("psbench", Hybrid()), *peers),
                (RateTable(cases, "p50_samples_per_second", "samples/s", 12),
                 ValueTable(("psbench",), "samples_per_second", "whole pass, samples/s")),
                trainers=(2, 8), sizes=(), epochs=50)


def batchupdate():
    peers = [TorchBatchUpdate(f"PyTorch {reply}", BatchUpdate(), reply) for reply in ("module", "state")]
    cases = (("every trainer reports", "psbench", tuple(p.name for p in peers)),)
    return Work("batchupdate", "Batch update", (PsbenchRun("psbench", BatchUpdate()), *peers),
                (RateTable(cases, "updates_per_second", "updates/s", 20),), trainers=(1, 3), sizes=(), epochs=5)


def start():
    """Uses the original's number of batches, because creating more takes time."""
    programs = (PsbenchRun("ddp rpc", Ddp("rpc"), (2,)), PsbenchRun("hybrid", Hybrid(), (2, 8)),
                PsbenchRun("batch_update", BatchUpdate(4), (3,)))
    return Work("start", "From the start of psbench to the first warm-up iteration", programs,
                (ValueTable(tuple(p.name for p in programs), "start_ms", "ms", 500),),
                trainers=(2, 3, 8), sizes=(), epochs=1, fixed=True)


def launch():
    """Without a group, a process should cost about the same as at 8 trainers. With a group, every pair of
    trainers shares memory, so there is no target."""
    cases = (("noop", 1.5), ("rpc", 1.5), ("allreduce", None))
    return Work("launch", "Launching many ranks", tuple(PsbenchLaunch(hook, Ranks(hook)) for hook, _ in cases),
                tuple(LaunchTable(hook, target) for hook, target in cases), trainers=COUNTS, sizes=(), epochs=1, mixed=True)


def memory():
    """Enough epochs to sample the segments more than once."""
    programs = (PsbenchMemory("ddp rpc", Ddp("rpc"), (2,)), PsbenchMemory("ddp allreduce", Ddp("allreduce"), (2,)),
                PsbenchMemory("hybrid", Hybrid(), (2, 8)), PsbenchMemory("batch_update", BatchUpdate(), (3,)))
    return Work("memory", "Memory of a trainer process", (*programs, BlasMemory("BLAS")),
                (MemoryTable(tuple(p.name for p in programs), "BLAS", 40),),
                trainers=(2, 3, 8), sizes=(), epochs=5, fixed=True)
