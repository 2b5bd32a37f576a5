#!/usr/bin/env python3
"""Stands in for psbench and its peers in test_compare.py.

It accepts the command lines of compare.py and answers in the real formats. The times depend on the number
of its starts, which it counts in $FAKE_LOG. $FAKE_BREAK names one failure to simulate.
"""
import argparse
import json
import os
import sys
import time

ENVIRONMENT = {"psbench": "v1", "commit": "a3139f6", "go": "go1.26", "os": "linux", "arch": "amd64", "kernel": "6", "cpu": "CPU",
               "cores": 2, "memory_mib": 1024}
BREAK = os.environ.get("FAKE_BREAK", "")


def size(text):
    return int(text[:-1]) << {"K": 10, "M": 20}[text[-1]] if text[-1] in "KM" else int(text)


def start(name):
    """Logs this start and returns the number of earlier starts of name."""
    with open(os.environ["FAKE_LOG"], "a+") as log:
        log.seek(0)
        before = log.read().split().count(name)
        log.write(name + "\n")
    return before


def write_json(path, value):
    with open(path, "w") as f:
        json.dump(value, f)


def psbench_comm(argv):
    p = argparse.ArgumentParser()
    p.add_argument("operation", choices=["pushpull", "allreduce"])
    p.add_argument("--server", default="")
    p.add_argument("--ntrainer", type=int)
    p.add_argument("--transport")
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--warm", action="store_true")
    p.add_argument("--place")
    p.add_argument("--sizes")
    p.add_argument("--seconds", type=float)
    p.add_argument("--repeat", type=int)
    p.add_argument("--no-limits", action="store_true")
    p.add_argument("--quiet", action="store_true")
    p.add_argument("--json")
    a = p.parse_args(argv)
    threads = "-one" if os.environ.get("GOMAXPROCS") == "1" else ""
    turn = start(f"psbench-{a.place}{threads}" if a.operation == "pushpull" else "psbench")
    rows = []
    for nbytes in map(size, a.sizes.split(",")):
        us = nbytes / 4096 * (10 + turn)
        rows.append({
            "operation": a.operation, "server": a.server, "transport": a.transport, "trainers": a.ntrainer,
            "servers": 1, "mode": "warm" if a.warm else "fresh", "place": a.place, "sparse": False, "bytes": nbytes,
            "rounds": 20, "p50_us": us, "p95_us": us, "min_us": us, "algbw_gb_per_s": 1.5, "busbw_gb_per_s": 1.5,
            "moved_bytes": nbytes, "share": 0 if a.no_limits else 0.55 + turn / 10,
            "share_of": "" if a.no_limits else "limit", "verified": "lead-in" if a.warm else "rounds", "mismatch": ""})
    result = {"schema": "psbench.comm/2", "complete": True, "environment": ENVIRONMENT, "limits": [], "rows": rows}
    if BREAK == "void":
        rows[-1].update(verified="none", mismatch="element 17 of round 3 on trainer1 is 5.5 instead of 5")
    elif BREAK == "missing":
        rows.pop()
    elif BREAK == "mode":
        rows[-1]["mode"] = "warm"
    elif BREAK == "incomplete":
        result.update(complete=False, error="trainer1 died")
    elif BREAK == "schema":
        result["schema"] = "psbench.comm/3"
    elif BREAK == "crash":
        sys.exit("psbench: no such transport")
    write_json(a.json, result)
    return 1 if BREAK in ("void", "status") else 0


def psbench_run(argv):
    p = argparse.ArgumentParser()
    p.add_argument("--trainer", default="ddp")
    p.add_argument("--ntrainer", type=int)
    p.add_argument("--nserver", type=int)
    p.add_argument("--ncudatrainer", type=int, default=0)
    p.add_argument("--ncudaserver", type=int, default=0)
    p.add_argument("--backend", default="gloo")
    p.add_argument("--server")
    p.add_argument("--model", default="DummyModel")
    p.add_argument("--registry")
    p.add_argument("--no-user-registry", action="store_true")
    p.add_argument("--ddp-hook")
    p.add_argument("--create-criterion")
    p.add_argument("--data")
    p.add_argument("--batch-size", type=int, default=10)
    p.add_argument("--epochs", type=int)
    p.add_argument("--set", action="append", default=[])
    p.add_argument("--quiet", action="store_true")
    p.add_argument("--json")
    a = p.parse_args(argv)
    set_values = dict(s.split("=") for s in a.set)
    blas = set_values.pop("blas", "openblas")
    module = f"-{a.model}" if a.registry else "-cuda" if a.ncudatrainer else ""
    a.ntrainer += a.ncudatrainer
    turn = start(f"psbench-{a.ddp_hook or a.trainer}{'' if blas == 'openblas' else '-' + blas}{module}")
    set_values = {k: float(v) if "." in v else int(v) for k, v in set_values.items()}
    if a.trainer == "hybrid":
        if set_values["server.embedding_dim"] * a.nserver != 512:
            sys.exit("psbench: the columns of the servers do not make up rows of 512")
        batches, batch_ms = 10, 2 + turn / 10
    elif a.data in ("clicks", "dense"):
        batches, batch_ms = set_values["data.batches"], 7 + turn
    elif a.trainer == "batch_update":
        batches, batch_ms = set_values["data.batches"], 0.05
    else:
        batches = set_values.get("data.sample_count", 2000 if a.data == "idx" else 100) // a.batch_size // a.ntrainer
        batch_ms = {"noop": 10, "rpc": 11, "allreduce": 13, "sparse_rpc": 12, "hybrid": 12}[a.ddp_hook] + turn
    iterations = batches * a.epochs - (BREAK == "iterations")
    facts = {"blas": "gonum" if BREAK == "gonum" else blas, "blas_core": "SkylakeX",
             "blas_threads": os.environ["OPENBLAS_NUM_THREADS"]}
    if a.registry:
        with open(a.registry) as f:
            facts = {"torch": "1.13", "torch_threads": "2" if BREAK == "threads" else "1"}
            assert os.path.exists(json.load(f)["plugins"][a.model]["command"][1])
    if a.ncudatrainer:
        facts = {"engine": "host" if BREAK == "host" else "cuda:0", "device": "GPU", "blas": "cuBLAS 12", "buckets": "shared on the device"}
    trainers = [{"name": f"trainer{i}", "kind": "trainer", "pid": 100 + i, "rss_mib": 150 + i + turn, "facts": facts}
                for i in range(a.ntrainer)]
    epochs = [] if BREAK == "epochs" else [{"rank": i, "type": "epoch_metric", "name": "epoch",
                                            "duration_ns": [10 * batch_ms * 1e6]} for i in range(a.ntrainer)]
    write_json(a.json, {
        "schema": "psbench.result/2", "complete": True, "group": "NCCL 2.21.5" if BREAK != "group" and a.backend == "nccl" else "psbench's own", "environment": ENVIRONMENT, "transport": "shm",
        "losses": [[2.0] + [1.5] * (iterations - 1)] * a.ntrainer, "series": epochs if a.trainer == "hybrid" else [],
        "data": {"samples_per_trainer": [100] * a.ntrainer}, "start_ms": 400 + 100 * turn,
        "buckets": [{"elements": 10 << 18, "sparse": False, "parameters": [{"elements": 9 << 18}]},
                    {"elements": 9 << 18, "sparse": True, "parameters": [{"elements": 9 << 18}]}],
        "processes": [{"kind": "data", "facts": {}}, *trainers, *[{"kind": "server", "facts": {}}] * (a.nserver or 0)],
        "throughput": {"seconds": batch_ms * iterations / 1e3, "samples": 1, "samples_per_second": 1e4 / batch_ms}})
    return 0


def shared_memory(argv):
    """Every trainer has 40 MiB of segments."""
    sys.argv = argv
    status = main()
    print(json.dumps({"shared_kib": {str(100 + i): (5 if BREAK == "segments" else 40) << 10 for i in range(8)}}))
    return status


def cpu_time(argv):
    """A process costs 30 ms; with a group, it costs 1 ms more for each trainer."""
    sys.argv = argv
    status, trainers = main(), int(argv[argv.index("--ntrainer") + 1])
    processes = trainers + 2 + ("rpc" in argv)
    each = 30 + (trainers if "allreduce" in argv else 0)
    if BREAK != "cpu":
        print(json.dumps({"cpu_s": processes * each / 1e3}))
    return status


def blas_memory(_argv):
    start("blas")
    print(json.dumps({"threads": int(os.environ["OPENBLAS_NUM_THREADS"]), "rss_kib": 4 << 10}))
    return 0


def peer_rows(name, sizes, **facts):
    """Ten times as long as psbench at every start, in ms."""
    turn = start(name)
    for nbytes in sizes:
        ms = nbytes / 4096 * (100 + 10 * turn) / 1e3
        print(json.dumps({"bytes": nbytes, "p50_ms": ms, "p95_ms": ms, "min_ms": ms, "library": name} | facts))
    return 0


def torch_pushpull(argv):
    p = argparse.ArgumentParser()
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--trainers", type=int)
    p.add_argument("--transports", default="default")
    p.add_argument("--channels", default="default")
    p.add_argument("--sizes")
    p.add_argument("--budget", type=float)
    a = p.parse_args(argv)
    if BREAK == "slow":
        time.sleep(60)
    return peer_rows("torch_pushpull", map(size, a.sizes.split(",")), trainers=a.trainers,
                     fresh=a.fresh and BREAK != "peer mode", transports=a.transports)


def torch_allreduce(argv):
    p = argparse.ArgumentParser()
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--world", type=int)
    p.add_argument("--sizes")
    p.add_argument("--budget", type=float)
    a = p.parse_args(argv)
    return peer_rows("gloo", map(size, a.sizes.split(",")), world=a.world, fresh=a.fresh)


def torch_ps(argv):
    p = argparse.ArgumentParser()
    for flag in ("--hook", "--server"):
        p.add_argument(flag)
    for flag in ("--trainers", "--epochs", "--threads", "--batch", "--samples"):
        p.add_argument(flag, type=int)
    p.add_argument("--sparse", action="store_true")
    a = p.parse_args(argv)
    turn = start(f"torch-{a.hook}")
    batch_ms = {"noop": 20, "rpc": 30, "allreduce": 30, "sparse_rpc": 48, "hybrid": 24}[a.hook] + turn
    iterations = a.samples // a.batch // a.trainers * a.epochs
    head = {"hook": a.hook, "trainers": a.trainers, "sparse": a.sparse != (BREAK == "sparse")}
    print(json.dumps(head | {"metric": "batch_all", "n": iterations * a.trainers}))
    print(json.dumps(head | {"metric": "throughput", "torch": "1.13", "threads": a.threads,
                             "wall_s": batch_ms * iterations / 1e3, "samples_per_s": 1e4 / batch_ms}))
    return 0


def torch_cuda(argv):
    p = argparse.ArgumentParser()
    for flag in ("--hook", "--backend"):
        p.add_argument(flag)
    for flag in ("--trainers", "--epochs", "--threads", "--batch", "--samples"):
        p.add_argument(flag, type=int)
    a = p.parse_args(argv)
    assert a.backend == "nccl" or os.environ["CUDA_VISIBLE_DEVICES"] == "0"
    batch_ms = {"rpc": 30, "ddp": 14}[a.hook] + start(f"torch-cuda-{a.hook}")
    iterations = a.samples // a.batch // a.trainers * a.epochs
    head = {"hook": a.hook, "trainers": a.trainers, "sparse": False, "device": "cpu" if BREAK == "device" else "cuda", "card": "GPU", "backend": a.backend}
    print(json.dumps(head | {"metric": "batch_all", "n": iterations * a.trainers}))
    print(json.dumps(head | {"metric": "throughput", "torch": "2.5", "threads": a.threads,
                             "wall_s": batch_ms * iterations / 1e3, "samples_per_s": 1e4 / batch_ms}))
    return 0


def torch_digits(argv):
    p = argparse.ArgumentParser()
    p.add_argument("plugin")
    p.add_argument("--hook")
    p.add_argument("--lr", type=float)
    for flag in ("--trainers", "--epochs", "--threads", "--batch", "--samples"):
        p.add_argument(flag, type=int)
    a = p.parse_args(argv)
    turn = start(f"torch-{a.hook}-{os.path.basename(a.plugin)}")
    batch_ms = {"none": 10.5, "rpc": 20}[a.hook] + turn
    iterations = a.samples // a.batch // a.trainers * a.epochs
    head = {"hook": a.hook, "trainers": a.trainers, "sparse": False}
    print(json.dumps(head | {"metric": "batch_all", "n": iterations * a.trainers}))
    print(json.dumps(head | {"metric": "throughput", "torch": "1.13", "threads": a.threads,
                             "wall_s": batch_ms * iterations / 1e3, "samples_per_s": 1e4 / batch_ms,
                             "first_loss": 2.0, "last_loss": 1.6 if BREAK == "losses" else 1.5001}))
    return 0


def torch_step(argv):
    p = argparse.ArgumentParser()
    for flag in ("--epochs", "--threads", "--batch", "--samples"):
        p.add_argument(flag, type=int)
    a = p.parse_args(argv)
    batch_ms = 12 + start("torch-step")
    iterations = a.samples // a.batch * a.epochs
    head = {"hook": "none", "trainers": 1, "sparse": False}
    print(json.dumps(head | {"metric": "batch_all", "n": iterations}))
    print(json.dumps(head | {"metric": "throughput", "torch": "1.13", "threads": a.threads,
                             "wall_s": batch_ms * iterations / 1e3, "samples_per_s": 1e4 / batch_ms}))
    return 0


def torch_dlrm(argv):
    p = argparse.ArgumentParser()
    for flag in ("--hook", "--tables"):
        p.add_argument(flag)
    for flag in ("--trainers", "--epochs", "--threads", "--batch", "--samples"):
        p.add_argument(flag, type=int)
    a = p.parse_args(argv)
    turn = start(f"torch-{a.tables}")
    batch_ms = {"each": 40, "stack": 24}[a.tables] + turn
    iterations = a.samples // a.batch // a.trainers * a.epochs
    head = {"hook": a.hook, "trainers": a.trainers, "sparse": True}
    print(json.dumps(head | {"metric": "batch_all", "n": iterations * a.trainers - (BREAK == "iterations")}))
    print(json.dumps(head | {"metric": "throughput", "torch": "1.13", "threads": a.threads,
                             "wall_s": batch_ms * iterations / 1e3, "samples_per_s": 1e4 / batch_ms}))
    return 0


def torch_hybrid(argv):
    """100 samples of each trainer in an epoch."""
    p = argparse.ArgumentParser()
    for flag in ("--trainers", "--servers", "--epochs", "--warmup", "--threads"):
        p.add_argument(flag, type=int)
    p.add_argument("--lookup")
    a = p.parse_args(argv)
    turn = start(f"torch-{a.lookup}")
    seconds = {"serial": 0.3, "parallel": 0.26}[a.lookup] + turn / 100
    head = {"trainers": a.trainers, "servers": a.servers, "lookup": a.lookup, "batches": 10, "library": "PyTorch 1.13"}
    for who in (*(f"trainer{i}" for i in range(a.trainers)), "all"):
        print(json.dumps(head | {"who": who, "n": a.epochs * (a.trainers if who == "all" else 1),
                                 "p50_samples_per_s": 100 * (a.trainers if who == "all" else 1) / seconds}))
    return 0


def torch_batch_update(argv):
    p = argparse.ArgumentParser()
    for flag in ("--trainers", "--batches", "--warmup", "--threads"):
        p.add_argument(flag, type=int)
    p.add_argument("--reply")
    a = p.parse_args(argv)
    turn = start(f"torch-{a.reply}")
    print(json.dumps({"trainers": a.trainers, "batches": a.batches, "reply": a.reply, "metric": "step",
                      "updates_per_s": {"module": 800, "state": 1000}[a.reply] + turn, "library": "PyTorch 1.13"}))
    return 0


def mpicc(argv):
    with open(argv[argv.index("-o") + 1], "w"):
        return 0


def mpirun(argv):
    ranks = int(argv[argv.index("-n") + 1])
    _seconds, *sizes = argv[argv.index("-n") + 3:]
    segment = argv[argv.index("coll_tuned_allreduce_algorithm_segmentsize") + 1] if "--mca" in argv else ""
    return peer_rows(f"mpi{segment}", map(int, sizes), world=ranks, fresh=int("FRESH" in os.environ))


def main():
    """Acts as the program whose name it was called by."""
    name, argv = os.path.basename(sys.argv[0]).removesuffix(".py"), sys.argv[1:]
    name = name.removesuffix(".openmpi").removesuffix(".mpich")
    if name == "psbench":
        name, argv = f"psbench_{argv[0]}", argv[1:]
    return globals()[name](argv)


if __name__ == "__main__":
    sys.exit(main())
