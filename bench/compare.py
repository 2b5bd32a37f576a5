#!/usr/bin/env python3
"""Compares psbench with its peers.

Both sides run in turn, at least five processes of each, in the same mode. Every process writes one JSON
line to the folder --out. The Markdown tables use only those lines. tables.py defines median, spread and
ratio.

The exit status is 1, without a table, if anything failed to run or was incomplete, or if psbench voided a
row. A missed target is not a failure.
"""
import argparse
import dataclasses
import glob
import os
import sys

import works
from measure import measure
from peers.peerlib import parse_sizes
from programs import Failure, Settings, size_flags
from report import load, section

HERE = os.path.dirname(os.path.abspath(__file__))


def sizes(text):
    """'4K,1M' -> (4096, 1048576); whole float32 elements only."""
    try:
        found = tuple(parse_sizes(text))
    except ValueError:
        found = ()
    if not found or any(s <= 0 or s % 4 for s in found):
        raise argparse.ArgumentTypeError(f"{text} is not a list such as 4K,64K,1M of multiples of 4 bytes")
    return found


def counts(text):
    try:
        found = tuple(int(x) for x in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a list such as 1,2,4 of counts")
    return found


def choices(*known):
    def parse(text):
        found = tuple(text.split(","))
        if not set(found) <= set(known):
            raise argparse.ArgumentTypeError(f"{text} is not a list of {', '.join(known)}")
        return found
    return parse


def count(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 1")
    return int(text)


def amount(text):
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of at least 0")
    return value


def share(text):
    value = amount(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to 1")
    return value


BATCHES = (10, 128)

# The measurement of each subcommand, built from its options.
SUBCOMMANDS = {
    "pushpull": ("push-pull over shared memory and TensorPipe RPC", lambda o: [works.pushpull(o.place)]),
    "allreduce": ("all-reduce over shared memory, Gloo and MPI", lambda o: [works.allreduce(m) for m in o.mode]),
    "copies": ("all-reduce of gradients in ordinary memory, tuned Open MPI and MPICH", lambda o: [works.copies()]),
    "tcp": ("push-pull over TCP and TensorPipe over TCP, and the share of loopback TCP", lambda o: [works.tcp()]),
    "reduce": ("average_batch in place as a share of memcpy", lambda o: [works.reduce()]),
    "training": ("what a hook costs per batch, and PyTorch's", lambda o: [works.training(o.hooks)]),
    "ddp": ("samples per second of DDP training, batch 10, and PyTorch's", lambda o: [works.ddp(o.hooks, 10)]),
    "ddp128": ("samples per second of DDP training, batch 128, and PyTorch's", lambda o: [works.ddp(o.hooks, 128)]),
    "cuda": ("samples per second on one CUDA device, batch 10 and 128, and PyTorch's", lambda o: [works.cuda(b) for b in BATCHES]),
    "cudanccl": ("samples per second on a CUDA device for each trainer, over NCCL, and PyTorch's", lambda o: [works.cuda(b, "nccl") for b in BATCHES]),
    "step": ("samples per second without OpenBLAS, and PyTorch's with it", lambda o: [works.step(b) for b in BATCHES]),
    "module": ("samples per second of modules of torch, data-parallel, and PyTorch's", lambda o: [works.module_ddp()]),
    "modulestep": ("samples per second of modules of torch in one trainer, and PyTorch's", lambda o: [works.module_step()]),
    "dlrm": ("samples per second of the recommendation model, and PyTorch's", lambda o: [works.dlrm()]),
    "hybrid": ("samples per second of the hybrid system, and PyTorch's", lambda o: [works.hybrid()]),
    "batchupdate": ("updates per second of the batch-updating server, and PyTorch's", lambda o: [works.batchupdate()]),
    "start": ("how long psbench takes to its first iteration", lambda o: [works.start()]),
    "launch": ("what a process costs with up to 128 trainers", lambda o: [works.launch()]),
    "memory": ("what memory a trainer process needs beside its data", lambda o: [works.memory()]),
    "all": ("everything but what needs a GPU, into one Markdown file", lambda o: [
        works.pushpull(o.place), *(works.allreduce(m) for m in o.mode), works.copies(), works.tcp(),
        works.reduce(),
        works.training(o.hooks), *trained()]),
}
COMMUNICATION = ("pushpull", "allreduce", "copies", "tcp", "reduce", "all")


def trained():
    """The works that train whole systems, with all hooks."""
    return [works.ddp(works.HOOKS, 10), works.ddp(works.HOOKS, 128), works.step(10), works.step(128), works.module_ddp(), works.module_step(), works.dlrm(), works.hybrid(), works.batchupdate(),
            works.start(), works.launch(), works.memory()]


def parser():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(dest="subcommand", required=True)
    for name, (text, _) in SUBCOMMANDS.items():
        s = sub.add_parser(name, help=text, description=f"Measures {text}.")
        s.add_argument("--out", required=True, metavar="DIR", help="folder for the results")
        if name not in ("start", "memory", "step", "modulestep"):
            s.add_argument("--trainers", type=counts, help="counts of trainers or ranks, e.g. 1,2,4")
        if name in COMMUNICATION:
            s.add_argument("--sizes", type=sizes, help="sizes of the gradient, e.g. 4K,1M")
            s.add_argument("--seconds", type=amount, default=Settings.seconds,
                           help="aimed at per size and process (default %(default)s)")
        if name not in COMMUNICATION or name == "all":
            s.add_argument("--epochs", type=count, help="epochs of a training pass (default: the work's own)")
        if name in ("training", "all"):
            s.add_argument("--hooks", type=choices("rpc", "allreduce"), default=("rpc", "allreduce"),
                           help="hooks beside noop (default rpc,allreduce)")
        if name in ("ddp", "ddp128"):
            s.add_argument("--hooks", type=choices(*works.HOOKS), default=works.HOOKS,
                           help=f"default {','.join(works.HOOKS)}")
        if name in ("pushpull", "all"):
            s.add_argument("--place", type=choices("inplace", "copy"), default=("inplace", "copy"),
                           help="where psbench's gradients are (default inplace,copy)")
        if name in ("allreduce", "all"):
            s.add_argument("--mode", type=choices("fresh", "warm"), default=("fresh", "warm"),
                           help="new values before each round or not (default fresh,warm)")
        s.add_argument("--processes", type=count, default=Settings.processes,
                       help="processes of each program per count of trainers (default %(default)s)")
        s.add_argument("--resume", action="store_true", help="go on with the results that are in DIR")
        s.add_argument("--psbench", default=Settings.psbench, metavar="BIN", help="default %(default)s")
        s.add_argument("--python", default=Settings.python, metavar="BIN",
                       help="a Python that has PyTorch (default %(default)s)")
        s.add_argument("--peers", default=os.path.relpath(os.path.join(HERE, "peers")), metavar="DIR",
                       help="folder of the peers (default %(default)s)")
        s.add_argument("--timeout", type=amount, default=Settings.timeout,
                       help="seconds that one process may take (default %(default)s)")
        s.add_argument("--settle", type=amount, default=Settings.settle,
                       help="seconds to wait at most for an idle machine before each process (default %(default)s)")
        s.add_argument("--max-foreign", type=share, default=Settings.max_foreign,
                       help="share of the CPU time that others may use during a process (default %(default)s)")
        s.add_argument("--tries", type=count, default=Settings.tries,
                       help="tries to stay below it; then the quietest counts (default %(default)s)")
    table = sub.add_parser("table", help="the tables of an earlier measurement",
                           description="Prints the tables of results that are there already.")
    table.add_argument("--out", required=True, metavar="DIR", help="folder of the results")
    return p


def settings_for(work, options):
    known = {f.name for f in dataclasses.fields(Settings)}
    given = {k: v for k, v in vars(options).items() if k in known and v is not None}
    if work.fixed:
        given.pop("trainers", None)
    return Settings(**({"trainers": work.trainers, "sizes": work.sizes, "epochs": work.epochs} | given))


def known_works():
    places, hooks = ("inplace", "copy"), ("rpc", "allreduce")
    every = [works.pushpull(places), works.allreduce("fresh"), works.allreduce("warm"), works.copies(), works.tcp(), works.reduce(),
             works.training(hooks), *trained(), *(works.cuda(b, backend) for backend in ("gloo", "nccl") for b in BATCHES)]
    return {w.name: w for w in every}


def compare(options):
    """The Markdown for the options."""
    if options.subcommand == "table":
        paths = glob.glob(os.path.join(glob.escape(options.out), "*.jsonl"))
        found = {os.path.splitext(os.path.basename(p))[0]: p for p in paths}
        sections = [section(w, load(found[name])) for name, w in known_works().items() if name in found]
        if not sections:
            raise Failure(f"{options.out} has no results")
        return "\n".join(sections)
    return "\n".join(section(work, load(measure(work, settings_for(work, options))))
                     for work in SUBCOMMANDS[options.subcommand][1](options))


def main(argv=None):
    options = parser().parse_args(argv)
    try:
        text = compare(options)
    except Failure as e:
        print(f"compare.py: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.subcommand == "all":
        with open(os.path.join(options.out, "comparison.md"), "w", encoding="utf-8") as f:
            f.write(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
