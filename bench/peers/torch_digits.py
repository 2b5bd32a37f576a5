#!/usr/bin/env python3
"""Trains the module of a psbench plugin on psbench's built-in digits. It uses the servers, hooks and
measurements of torch_ps.py, or one process without DistributedDataParallel (--hook none).

Module, initial values and batches are those of psbench with the same seed, so the losses are the same too.
The last line has the first and the last loss.
"""
import argparse
import gzip
import os
import runpy
import sys
import time

import numpy as np
import torch
import torch.multiprocessing as mp
import torch.nn as nn

import torch_ps
from peerlib import add_rpc_flags, emit, free_port, single_host_env, summary

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DIGITS = os.path.join(ROOT, "plugins", "data", "generated", "digits-{}-ubyte.gz")


def make_module(args):
    """The plugin's module, as psbench creates it from the seed."""
    sys.path.insert(0, os.path.join(ROOT, "python"))
    plugin = runpy.run_path(args.plugin)
    torch.manual_seed(args.seed)
    return plugin["build_model"](plugin["Settings"]())


def make_batches(args):
    """All batches of an epoch, in order."""
    def read(name, head):
        with gzip.open(DIGITS.format(name)) as f:
            return np.frombuffer(f.read()[head:], np.uint8)[:]

    images, labels = read("images-idx3", 16), read("labels-idx1", 8)
    x = torch.from_numpy(images.astype(np.float32) / np.float32(255)).view(-1, 1, 28, 28)
    y = torch.from_numpy(labels.astype(np.int64))
    return [(x[i:i + args.batch], y[i:i + args.batch]) for i in range(0, args.samples, args.batch)]


def workload(args, rank):
    return make_module(args), nn.CrossEntropyLoss(), make_batches(args)[rank::args.trainers]


def run(rank, args, *ports):
    torch_ps.WORKLOAD = workload
    torch_ps.run(rank, args, *ports)


def train(args, batches):
    """(seconds of each step, seconds of the pass, losses)"""
    model, criterion = make_module(args), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), args.lr)
    steps, losses, begin = [], [], time.perf_counter()
    for _ in range(args.epochs):
        for x, y in batches:
            start = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            steps.append(time.perf_counter() - start)
            losses.append(loss.item())
    return steps, time.perf_counter() - begin, losses


def run_alone(_rank, args):
    torch.set_num_threads(args.threads)
    batches = make_batches(args)
    train(args, batches)
    steps, wall, losses = train(args, batches)
    head = {"hook": "none", "trainers": 1, "sparse": False}
    emit(head | {"metric": "batch_all"} | summary(steps))
    emit(head | {"metric": "throughput", "threads": args.threads, "wall_s": wall, "torch": torch.__version__,
                 "samples_per_s": args.samples * args.epochs / wall, "first_loss": losses[0], "last_loss": losses[-1]})


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("plugin", help="a script with build_model and Settings, such as wide_mlp.py")
    p.add_argument("--hook", choices=["none", "allreduce", "rpc", "noop"], default="rpc")
    p.add_argument("--server", choices=["average", "average_batch"], default="average")
    p.add_argument("--trainers", type=int, default=2)
    p.add_argument("--servers", type=int, default=1, help="ignored (0) for hooks without a server")
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--batch", type=int, default=50, help="samples per batch")
    p.add_argument("--samples", type=int, default=2000, help="in an epoch, 2,000 at most")
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--bucket-cap-mb", type=float, default=25)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--warmup-passes", type=int, default=1)
    add_rpc_flags(p)
    args = p.parse_args()
    args.sparse, args.dump, args.no_divide = False, "", False
    single_host_env(args.threads)
    if args.hook == "none":
        mp.spawn(run_alone, args=(args,), nprocs=1)
        return
    if args.hook in ("allreduce", "noop"):
        args.servers = 0
    elif args.servers < 1 or args.trainers % args.servers:
        p.error("--trainers must be a multiple of --servers")
    if args.samples % (args.batch * args.trainers):
        p.error("--samples must be a multiple of --batch times --trainers")
    mp.spawn(run, args=(args, free_port(), free_port()), nprocs=args.trainers + args.servers + 1)


if __name__ == "__main__":
    main()
