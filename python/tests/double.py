"""A double of psbench: the core's calls, and the host at the other end of the link. It follows
docs/protocol.md and shares only the messages with the package."""

from __future__ import annotations

import array
import mmap
import os
import select
import socket
import struct
import tempfile
import threading
from concurrent import futures
from typing import Any, NamedTuple

import numpy as np

import psbench
from psbench.companion.messages import message
from psbench.companion.process import Process
from psbench.companion.service import Service

SECRET = bytes(range(32))
HEADER = struct.Struct("<IHBBqiiqqQQQ")


class Frame(NamedTuple):
    """The fields of a frame that tests check."""

    op: int
    flags: int = 0
    batch: int = 0
    bucket: int = 0
    rows: int = 0
    arg: int = 0
    arg2: int = 0
    payload: bytes = b""


class Host:
    """The host's end of a link. It provides the segments that the part requests automatically."""

    def __init__(self, address: str, name: str = "trainer0.hook", secret: bytes = SECRET, purpose: str = "part") -> None:
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.connection.settimeout(10)
        self.connection.connect(address)
        self.sent = self.received = 0
        self.link = 0
        self.segments: list[mmap.mmap] = []
        self.tensors: dict[tuple[int, int], Frame] = {}
        names = b"".join(struct.pack("<H", len(n)) + n.encode() for n in (purpose, "host", name))
        self.send(0x01, payload=secret + names)
        self.greeting = self.read()
        if self.greeting.op == 0x02:
            self.link = self.greeting.arg % 2**64

    def send(self, op: int, flags: int = 0, batch: int = 0, bucket: int = 0, rows: int = 0, arg: int = 0, arg2: int = 0,
             payload: bytes = b"", descriptor: int = -1) -> None:
        frame = HEADER.pack(0x66627370, 2, op, flags, batch, bucket, rows, arg, arg2, len(payload), self.sent, self.link) + payload
        self.sent += 1
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))] if descriptor >= 0 else []
        self.connection.sendmsg([frame], passed)

    def read(self) -> Frame:
        """The next frame, of any kind."""
        header = HEADER.unpack(self._exactly(64))
        assert header[:2] == (0x66627370, 2), header
        assert header[10] == self.received and header[11] in (0, self.link ^ (2**64 - 1)), header
        self.received += 1
        return Frame(*header[2:9], self._exactly(header[9]))  # type: ignore[arg-type]

    def next(self) -> Frame:
        """The next frame that is not about memory."""
        while True:
            frame = self.take()
            if frame.op not in (0x64, 0x61):
                return frame

    def take(self) -> Frame:
        """The next frame; a request for memory is answered."""
        frame = self.read()
        if frame.op == 0x64:
            self.segment(frame.arg, wanted=frame.bucket)
        elif frame.op == 0x61:
            self.tensors[frame.flags, frame.bucket] = frame
        return frame

    def call(self, *args: Any, **fields: Any) -> Frame:
        self.send(*args, **fields)
        return self.next()

    def segment(self, size: int, wanted: int = 0, read_only: bool = False) -> int:
        """Sends a segment and returns its number."""
        descriptor = os.memfd_create("segment")
        os.ftruncate(descriptor, size)
        self.segments.append(mmap.mmap(descriptor, size))
        number = len(self.segments) - 1
        self.send(0x60, flags=int(read_only), bucket=number, arg=size, arg2=wanted, descriptor=descriptor)
        os.close(descriptor)
        return number

    def tensor(self, role: int, index: int, values: Any, read_only: bool = False) -> Any:
        """Announces a tensor with these values in a new segment, and returns the memory."""
        values = np.asarray(values)
        number = self.segment(max(values.nbytes, 64), read_only=read_only)
        self.send(0x61, flags=role, bucket=index, rows=number, arg=0, arg2=values.size)
        view = np.ndarray(values.shape, values.dtype, self.segments[number])
        view[...] = values
        return view

    def announced(self, role: int, index: int = 0, dtype: str = "float32") -> Any:
        """A tensor of the part."""
        frame = self.tensors[role, index]
        return np.ndarray((frame.arg2,), dtype, self.segments[frame.rows], frame.arg)

    def close(self) -> None:
        self.connection.close()

    def _exactly(self, n: int) -> bytes:
        out = b""
        while len(out) < n:
            more = self.connection.recv(n - len(out))
            assert more, "the part hung up"
            out += more
        return out


class Companion:
    """A configured and connected part in this process, with a host."""

    def __init__(self, part: type[psbench.Part], settings: str = "{}", buckets: Any = (), trainers: int = 2, seed: int = 7,
                 model: Any = None, batch_size: int = 0, rank: int = 0, connect: bool = True) -> None:
        self.process = Process()
        self.service = Service([part], self.process)
        self.service.started()
        self.thread = threading.Thread(target=self.process.run, name="psbench main", daemon=True)
        self.thread.start()
        self.directory = tempfile.TemporaryDirectory(prefix="psb")
        request = message("ConfigureRequest")(
            name="trainer0.hook", rank=rank, part={"kind": part.kind, "key": part.key, "settings": settings.encode()},
            timeout_ns=10**10, secret=SECRET, directory=self.directory.name,
            companion={"trainers": trainers, "seed": seed, "model": model or {}, "batch_size": batch_size})
        try:
            self.configured = self.service.Configure(request, None)
            self.host = Host(self.configured.address)
            self.buckets = buckets
            if connect:
                self.connect()
        except BaseException:
            self.end()
            raise

    def connect(self) -> Any:
        """Connects, and meanwhile answers the part's requests for memory."""
        request = message("ConnectRequest")(companion={"buckets": self.buckets})
        with futures.ThreadPoolExecutor(1) as pool:
            reply = pool.submit(self.service.Connect, request, None)
            while not reply.done():
                if select.select([self.host.connection], [], [], 0.01)[0]:
                    self.host.take()
        return reply.result()

    def reset(self, which: int = 2) -> None:
        self.service.Reset(message("ResetRequest")(**{"pass": which}), None)

    def collect(self, which: int = 2) -> list[Any]:
        return list(self.service.Collect(message("CollectRequest")(**{"pass": which}), None))

    def shut(self, seconds: float = 1.0) -> str:
        return self.service.Close(message("CloseRequest")(limit_ns=int(seconds * 1e9)), None).left

    def __enter__(self) -> "Companion":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        if hasattr(self, "host"):
            self.host.close()
        self.process.end()
        self.thread.join(5)
        self.directory.cleanup()


def dense(elements: int) -> dict[str, Any]:
    """A dense bucket of one parameter."""
    return {"elements": elements, "parameters": [{"parameter": 0, "offset": 0, "elements": elements}]}


def sparse(table: int, width: int, capacity: int) -> dict[str, Any]:
    """A sparse bucket."""
    return {"elements": table * width, "sparse": True, "table_rows": table, "width": width, "capacity": capacity}
