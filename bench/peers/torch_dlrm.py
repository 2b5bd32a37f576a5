#!/usr/bin/env python3
"""Trains a DLRM on CPU processes of one host, with the servers, hooks and measurements of torch_ps.py.

The model is the one of Naumov et al. 2019: bottom layers over the numbers, one row of each embedding table,
the dot products of every two of these vectors, top layers, binary cross entropy. The hook determines where
sparse embedding gradients go.

  --tables each    an EmbeddingBag for each table, as the published implementation has;
                   each is a sparse bucket of its own
  --tables stack   one EmbeddingBag of all rows: one lookup, one bucket

Numbers, indices and classes are random. The batches are created before the measured time.
"""
import argparse

import torch
import torch.multiprocessing as mp
import torch.nn as nn

import torch_ps
from peerlib import add_rpc_flags, free_port, parse_ints, single_host_env


def layers(sizes, last_relu):
    found = []
    for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        found.append(nn.Linear(inputs, outputs))
        if last_relu or i + 2 < len(sizes):
            found.append(nn.ReLU())
    return nn.Sequential(*found)


class DLRM(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.tables, dim, vectors = args.tables, args.dim, args.table_count + 1
        count, rows = (1, args.table_count * args.rows) if args.tables == "stack" else (args.table_count, args.rows)
        self.embedding = nn.ModuleList(nn.EmbeddingBag(rows, dim, mode="sum", sparse=True) for _ in range(count))
        for table in self.embedding:
            nn.init.uniform_(table.weight, -args.rows ** -0.5, args.rows ** -0.5)
        self.bottom = layers([args.numbers, *args.bottom], True)
        self.top = layers([dim + vectors * (vectors - 1) // 2, *args.top], False)
        lower, left = torch.tril_indices(vectors, vectors, offset=-1)
        self.register_buffer("pairs", lower * vectors + left)

    def forward(self, batch):
        numbers, indices, offsets = batch
        x = self.bottom(numbers)
        if self.tables == "stack":
            rows = self.embedding[0](indices, offsets).view(len(x), -1, x.shape[1])
            vectors = torch.cat([x[:, None], rows], dim=1)
        else:
            rows = [table(i, offsets) for table, i in zip(self.embedding, indices)]
            vectors = torch.cat([x, *rows], dim=1).view(len(x), -1, x.shape[1])
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([x, products.index_select(1, self.pairs)], dim=1)).squeeze(1)


def make_batches(args, rank):
    """The batches of a rank, in the form for the tables."""
    generator, found = torch.Generator().manual_seed(args.seed * 1000 + rank), []
    for _ in range(args.samples // args.batch // args.trainers):
        numbers = torch.rand(args.batch, args.numbers, generator=generator) * 2 - 1
        indices = torch.randint(args.rows, (args.table_count, args.batch), generator=generator)
        if args.tables == "stack":
            indices = (indices + torch.arange(args.table_count)[:, None] * args.rows).t().reshape(-1)
            offsets = torch.arange(len(indices))
        else:
            indices, offsets = list(indices), torch.arange(args.batch)
        classes = torch.randint(2, (args.batch,), generator=generator).float()
        found.append(((numbers, indices, offsets), classes))
    return found


def workload(args, rank):
    return DLRM(args), nn.BCEWithLogitsLoss(), make_batches(args, rank)


def run(rank, args, *ports):
    torch_ps.WORKLOAD = workload
    torch_ps.run(rank, args, *ports)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hook", choices=["allreduce", "rpc", "sparse_rpc", "hybrid", "noop"], default="sparse_rpc")
    p.add_argument("--server", choices=["average", "average_batch"], default="average")
    p.add_argument("--tables", choices=["each", "stack"], default="each")
    p.add_argument("--trainers", type=int, default=2)
    p.add_argument("--servers", type=int, default=1, help="ignored (0) for hooks without a server")
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch", type=int, default=128, help="samples per batch")
    p.add_argument("--samples", type=int, default=2560, help="of all trainers in an epoch")
    p.add_argument("--numbers", type=int, default=13)
    p.add_argument("--table-count", type=int, default=26)
    p.add_argument("--rows", type=int, default=10_000, help="of each table")
    p.add_argument("--dim", type=int, default=16)
    p.add_argument("--bottom", type=parse_ints, default=[512, 256, 64, 16], help="outputs of the bottom layers")
    p.add_argument("--top", type=parse_ints, default=[512, 256, 1], help="outputs of the top layers")
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--bucket-cap-mb", type=float, default=25)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--warmup-passes", type=int, default=1)
    add_rpc_flags(p)
    args = p.parse_args()
    args.sparse, args.dump, args.no_divide = True, "", False
    if args.hook in ("allreduce", "hybrid", "noop"):
        args.servers = 0
    elif args.servers < 1 or args.trainers % args.servers:
        p.error("--trainers must be a multiple of --servers")
    if args.samples % (args.batch * args.trainers):
        p.error("--samples must be a multiple of --batch times --trainers")
    if args.bottom[-1] != args.dim or args.top[-1] != 1:
        p.error("the last of --bottom must equal --dim and the last of --top must be 1")
    single_host_env(args.threads)
    mp.spawn(run, args=(args, free_port(), free_port()), nprocs=args.trainers + args.servers + 1)


if __name__ == "__main__":
    main()
