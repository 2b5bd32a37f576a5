#!/usr/bin/env python3
"""Raw push-pull over TensorPipe RPC on one host.

T trainer processes each send one float32 tensor of S bytes to one server
process. The server waits for all T, averages, and answers all of them. One
JSON line per (trainers, size): latency of a round as seen by the trainers, and
aggregate GB/s = T * 2 * S * rounds / wall time (bytes pushed and pulled).

--fresh writes new values into every tensor before each round and lines the trainers up at a barrier, both
outside the timed part, as a training step does; without it, the same warm tensor is sent again and again.
With --fresh, GB/s uses the sum of the slowest trainer's latency in each round instead of wall time.
"""
import argparse
import threading
import time

import torch
import torch.distributed.rpc as rpc
import torch.multiprocessing as mp

from peerlib import (add_rpc_flags, emit, free_port, parse_ints, parse_sizes,
                     rpc_options, single_host_env, summary)


class Reducer:
    """Collects one tensor per trainer, then resolves every waiting future."""

    def __init__(self):
        self.lock = threading.Lock()
        self.expect = 0
        self.total = None
        self.waiting = []

    def add(self, tensor):
        fut = torch.futures.Future()
        with self.lock:
            if self.total is None:
                self.total = tensor
            else:
                self.total += tensor
            self.waiting.append(fut)
            if len(self.waiting) == self.expect:
                if self.expect > 1:
                    self.total /= self.expect
                done, result = self.waiting, self.total
                self.waiting, self.total = [], None
                for f in done:
                    f.set_result(result)
        return fut


REDUCER = Reducer()
GATE = None     # a barrier of the trainer processes, set in run()


@rpc.functions.async_execution
def push_pull(tensor):
    return REDUCER.add(tensor)


def trainer_rounds(index, nbytes, rounds, check, group):
    x = torch.full((nbytes // 4,), float(index + 1))
    lat = []
    begin = time.perf_counter()
    for _ in range(rounds):
        if group:
            x.fill_(float(index + 1))
            GATE.wait()
        t = time.perf_counter()
        y = rpc.rpc_sync("server", push_pull, args=(x,))
        lat.append(time.perf_counter() - t)
    end = time.perf_counter()
    if check is not None and (y.numel() != x.numel() or abs(y[0].item() - check) > 1e-6
                              or abs(y[-1].item() - check) > 1e-6):
        raise RuntimeError(f"wrong average: {y[0].item()} instead of {check}")
    return lat, begin, end


def phase(trainers, nbytes, rounds, fresh):
    REDUCER.expect = trainers
    want = sum(range(1, trainers + 1)) / trainers
    futs = [rpc.rpc_async(f"trainer{i}", trainer_rounds, args=(i, nbytes, rounds, want, fresh), timeout=0)
            for i in range(trainers)]
    return torch.futures.wait_all(futs)


def run(rank, args, trainers, port, gate):
    global GATE
    GATE = gate
    torch.set_num_threads(args.threads)
    rpc.init_rpc(
        "server" if rank == 0 else f"trainer{rank - 1}", rank=rank, world_size=trainers + 1,
        rpc_backend_options=rpc_options(port, args.rpc_timeout, args.transports, args.channels, args.rpc_threads),
    )
    if rank == 0:
        for nbytes in parse_sizes(args.sizes):
            pilot = phase(trainers, nbytes, args.warmup, args.fresh)
            per = min(x for lat, _, _ in pilot for x in lat)
            rounds = max(args.min_rounds, min(args.max_rounds, int(args.budget / per)))
            out = phase(trainers, nbytes, rounds, args.fresh)
            wall = max(e for _, _, e in out) - min(b for _, b, _ in out)
            if args.fresh:
                wall = sum(max(one) for one in zip(*(lat for lat, _, _ in out)))
            rec = {"peer": "torch_pushpull", "trainers": trainers, "servers": 1, "bytes": nbytes,
                   "fresh": args.fresh, "rounds": rounds, "wall_s": round(wall, 6),
                   "GBps": round(trainers * 2 * nbytes * rounds / wall / 1e9, 4),
                   "transports": args.transports or "default", "channels": args.channels or "default",
                   "library": f"PyTorch {torch.__version__}"}
            rec.update(summary([x for lat, _, _ in out for x in lat]))
            emit(rec)
    rpc.shutdown()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--trainers", default="1,2,4", help="comma-separated trainer counts (default 1,2,4)")
    p.add_argument("--sizes", default="4K,64K,1M,4M,25M,64M", help="tensor sizes in bytes, K and M are powers of two")
    p.add_argument("--budget", type=float, default=2.0, help="seconds aimed at per size")
    p.add_argument("--warmup", type=int, default=5, help="rounds before measuring")
    p.add_argument("--min-rounds", type=int, default=20)
    p.add_argument("--max-rounds", type=int, default=3000)
    p.add_argument("--fresh", action="store_true", help="new values and a barrier before each round, untimed")
    add_rpc_flags(p)
    args = p.parse_args()
    single_host_env(args.threads)
    for t in parse_ints(args.trainers):
        mp.spawn(run, args=(args, t, free_port(), mp.get_context("spawn").Barrier(t)), nprocs=t + 1)


if __name__ == "__main__":
    main()
