#!/usr/bin/env python3
"""Trains the default model of torch_ps.py in one process without DistributedDataParallel, as a lower bound
of a step's time. A warm-up pass comes first, then a measured pass with fresh weights.
"""
import argparse
import time

import torch
import torch.multiprocessing as mp
import torch.nn as nn

import torch_ps
from peerlib import emit, single_host_env, summary


def train(args, batches):
    """(seconds of each step, seconds of the pass)"""
    model, criterion = torch_ps.Dummy(args), nn.CrossEntropyLoss()
    torch_ps.fill_reference(model, args)
    optimizer = torch.optim.SGD(model.parameters(), args.lr)
    steps, begin = [], time.perf_counter()
    for _ in range(args.epochs):
        for x, y in batches:
            start = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            criterion(model(x), y).backward()
            optimizer.step()
            steps.append(time.perf_counter() - start)
    return steps, time.perf_counter() - begin


def run(_rank, args):
    torch.set_num_threads(args.threads)
    batches = torch_ps.make_batches(args)
    train(args, batches)
    steps, wall = train(args, batches)
    head = {"hook": "none", "trainers": 1, "sparse": False}
    emit(head | {"metric": "batch_all"} | summary(steps))
    emit(head | {"metric": "throughput", "threads": args.threads, "wall_s": wall,
                 "samples_per_s": args.samples * args.epochs / wall, "torch": torch.__version__})


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--batch", type=int, default=10, help="samples per batch")
    p.add_argument("--samples", type=int, default=100, help="in an epoch")
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--lr", type=float, default=1e-4)
    args = p.parse_args()
    args.sparse, args.seed, args.gain, args.embedding_bound = False, 0, 1.0, 1.0
    args.num_embeddings = args.embedding_dim = args.dense_in = args.dense_out = 1024
    args.layers, args.max_val, args.sparsity, args.sample_length = 8, 100, 20, 100
    single_host_env(args.threads)
    mp.spawn(run, args=(args,), nprocs=1)


if __name__ == "__main__":
    main()
