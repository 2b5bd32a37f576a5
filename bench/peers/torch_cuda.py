#!/usr/bin/env python3
"""Data-parallel training of psbench's default model on CUDA devices. Model, data, server and measurements
are those of torch_ps.py, with tensors on a device.

  --hook rpc   every bucket goes to an averaging server by TensorPipe RPC, with device maps, so that it
               stays on devices; the server averages there
  --hook ddp   DistributedDataParallel's own all-reduce, over Gloo, or over NCCL on a card for each trainer

Trainers, and after them the server, are assigned to the devices in turn. Each batch is copied from pinned
memory in its iteration. Metrics of phases are host times, and the host does not wait for the device. The
metric of the whole pass waits for each loss. With --device cpu, it runs without a GPU, to check that its
losses equal psbench's.
"""
import argparse

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.rpc as rpc
import torch.multiprocessing as mp

import torch_ps
from peerlib import LOOPBACK, add_rpc_flags, free_port, rpc_options, single_host_env


def place(args, rank):
    """The device of a trainer or of the server; the server's rank follows the trainers' ranks."""
    return torch.device("cpu") if args.device == "cpu" else torch.device("cuda", rank % args.cards)


class Moving:
    """Batches that are copied to the device on access."""

    def __init__(self, batches, device):
        self.device = device
        self.batches = batches if device.type == "cpu" else [(x.pin_memory(), y.pin_memory()) for x, y in batches]

    def __iter__(self):
        for x, y in self.batches:
            yield x.to(self.device, non_blocking=True), y.to(self.device, non_blocking=True)


def draw(model, seed):
    """The initial values are psbench's own for the seed, from its package splitmix."""
    with np.errstate(over="ignore"):
        for k, (name, p) in enumerate(model.named_parameters()):
            x = np.uint64((seed * 1000003 + k) % (1 << 64)) + np.arange(1, p.numel() + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            unit = ((x ^ (x >> np.uint64(31))) >> np.uint64(40)).astype(np.float32) / np.float32(1 << 23) - np.float32(1)
            bound = np.float32(1 if name.startswith("embedding") else model.dense[0].in_features ** -0.5)
            p.data.copy_(torch.from_numpy(unit * bound).view_as(p))


def workload(args, rank):
    model, loss, batches = torch_ps.dummy_workload(args, rank)
    draw(model, args.seed)
    device = place(args, rank)
    return model.to(device), loss.to(device), Moving(batches, device)


class DeviceServer(torch_ps.AveragingServer):
    """An averaging server on a device. RPC runs each call on separate streams. So on the device, the work
    of a call waits for the work of earlier calls in the same slot."""

    def __init__(self, device, *args):
        super().__init__(*args)
        self.device = device

    def future(self):
        return torch.futures.Future(devices=[self.device])

    def enter(self, slot):
        stream = torch.cuda.current_stream(self.device)
        if slot.parts:
            stream.wait_event(slot.ready)
        for part in slot.parts:    # allocated on other streams
            part.record_stream(stream)

    def leave(self, slot):
        slot.ready = torch.cuda.current_stream(self.device).record_event()


def join(args, rank, group_port):
    """Makes a process a trainer, the server or the driver, and returns its name."""
    if rank == args.trainers + args.servers:
        return "driver"
    device = place(args, rank)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if rank < args.trainers:
        dist.init_process_group(args.backend, init_method=f"tcp://{LOOPBACK}:{group_port}",
                                rank=rank, world_size=args.trainers)
        return f"trainer{rank}"
    settings = args.trainers, args.server == "average_batch", True
    torch_ps.SERVER = torch_ps.AveragingServer(*settings) if device.type == "cpu" else DeviceServer(device, *settings)
    return "server0"


def run(rank, args, rpc_port, group_port):
    torch_ps.WORKLOAD = workload
    torch.set_num_threads(args.threads)
    name = join(args, rank, group_port)
    options = rpc_options(rpc_port, args.rpc_timeout, args.transports, args.channels, args.rpc_threads)
    if args.device == "cuda" and args.servers and rank < args.trainers:    # answers return the same way
        options.set_device_map("server0", {place(args, rank): place(args, args.trainers)})
    rpc.init_rpc(name, rank=rank, world_size=args.trainers + args.servers + 1, rpc_backend_options=options)
    if name == "driver":
        torch_ps.drive(args)
    rpc.shutdown()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hook", choices=["rpc", "ddp"], default="rpc")
    p.add_argument("--backend", choices=["gloo", "nccl"], default="gloo", help="of the trainers' group, which hook ddp reduces by")
    p.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    p.add_argument("--server", choices=["average", "average_batch"], default="average")
    p.add_argument("--trainers", type=int, default=2)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch", type=int, default=10, help="samples per batch")
    p.add_argument("--samples", type=int, default=100, help="in an epoch")
    p.add_argument("--width", type=int, default=1024, help="of the table and of each layer")
    p.add_argument("--layers", type=int, default=8)
    p.add_argument("--warmup-passes", type=int, default=1)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--bucket-cap-mb", type=float, default=25)
    p.add_argument("--seed", type=int, default=0, help="of weights and data")
    p.add_argument("--dump", default="", metavar="FILE", help="write losses and checksums as JSON")
    add_rpc_flags(p)
    args = p.parse_args()
    model = {"num_embeddings": 1024, "embedding_dim": args.width, "dense_in": args.width, "dense_out": args.width, "sparse": False,
             "max_val": 100, "sample_length": 100, "sparsity": 20, "embedding_bound": 1, "gain": 1}
    vars(args).update(model, servers=1 if args.hook == "rpc" else 0)
    if args.samples % (args.batch * args.trainers):
        p.error("--samples must be a multiple of --batch times --trainers")
    args.cards, card = 0, "cpu"
    if args.device == "cuda":
        args.cards = torch.cuda.device_count()
        if not args.cards:
            p.error("PyTorch finds no CUDA device: --device cpu runs without one")
        card = torch.cuda.get_device_name(0)
    if args.backend == "nccl" and args.cards < args.trainers:
        p.error(f"NCCL takes a card for each trainer, but there are {args.cards} for {args.trainers} trainers")
    args.labels = {"peer": "torch_cuda", "device": args.device, "card": card, "cards": args.cards, "backend": args.backend}
    single_host_env(args.threads)
    mp.spawn(run, args=(args, free_port(), free_port()), nprocs=args.trainers + args.servers + 1)


if __name__ == "__main__":
    main()
