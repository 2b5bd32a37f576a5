#!/usr/bin/env python3
"""Gloo allreduce (sum, float32, in place) between processes of one host.

One JSON line per (world, size): latency over all ranks, algorithm bandwidth
S / t and bus bandwidth 2 (n-1)/n S / t, both from the median.  --fresh writes
new values before each round and lines the ranks up at a barrier, both untimed.
"""
import argparse
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from peerlib import LOOPBACK, emit, free_port, parse_ints, parse_sizes, single_host_env, summary


def timed(x, rounds, barrier, fresh):
    lat = []
    dist.barrier()
    for i in range(rounds):
        if fresh:
            x.fill_(float(i & 7))
        if barrier or fresh:
            dist.barrier()
        t = time.perf_counter()
        dist.all_reduce(x)
        lat.append(time.perf_counter() - t)
    return lat


def run(rank, world, args, port):
    torch.set_num_threads(args.threads)
    dist.init_process_group("gloo", init_method=f"tcp://{LOOPBACK}:{port}", rank=rank, world_size=world)
    for nbytes in parse_sizes(args.sizes):
        x = torch.full((nbytes // 4,), float(rank + 1))
        dist.all_reduce(x)
        want = world * (world + 1) / 2
        if x[0].item() != want or x[-1].item() != want:
            raise RuntimeError("wrong sum")
        x.zero_()
        per = min(timed(x, args.warmup, args.barrier, args.fresh))
        n = torch.tensor([max(args.min_rounds, min(args.max_rounds, int(args.budget / per)))])
        dist.broadcast(n, 0)
        lat = timed(x, int(n.item()), args.barrier, args.fresh)
        every = [None] * world
        dist.all_gather_object(every, lat)
        if rank == 0:
            s = summary([v for one in every for v in one])
            t = s["p50_ms"] / 1e3
            rec = {"peer": "torch_allreduce", "backend": "gloo", "world": world, "bytes": nbytes, "fresh": args.fresh,
                   "library": f"PyTorch {torch.__version__}",
                   "algbw_GBps": round(nbytes / t / 1e9, 4),
                   "busbw_GBps": round(2 * (world - 1) / world * nbytes / t / 1e9, 4)}
            rec.update(s)
            emit(rec)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--world", default="2,4", help="comma-separated process counts (default 2,4)")
    p.add_argument("--sizes", default="4K,64K,1M,4M,25M,64M", help="tensor sizes in bytes, K and M are powers of two")
    p.add_argument("--budget", type=float, default=2.0, help="seconds aimed at per size")
    p.add_argument("--warmup", type=int, default=5, help="rounds before measuring")
    p.add_argument("--min-rounds", type=int, default=20)
    p.add_argument("--max-rounds", type=int, default=3000)
    p.add_argument("--barrier", action="store_true", help="a barrier before every round (default: back to back)")
    p.add_argument("--fresh", action="store_true", help="new values and a barrier before each round, untimed")
    p.add_argument("--threads", type=int, default=1, help="compute threads per process")
    args = p.parse_args()
    single_host_env(args.threads)
    for w in parse_ints(args.world):
        mp.spawn(run, args=(w, args, free_port()), nprocs=w)


if __name__ == "__main__":
    main()
