"""The link to the host: greeting, frames, and their descriptors."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import struct
import threading

from .faults import encode
from .frames import ACKNOWLEDGE, FAILED, HEADER, HELLO, MAGIC, REFUSE, VERSION, Header

_SECRET_BYTES = 32
_LONGEST_HELLO = _SECRET_BYTES + 3 * (2 + 255)
_LONGEST_SENTENCE = 65536
_WORD = (1 << 64) - 1
_ONE_DESCRIPTOR = socket.CMSG_SPACE(4)


class LinkError(Exception):
    """The host sent something invalid. The sentence describes it."""


class HostGone(Exception):
    """The host no longer listens. This is not the part's fault."""


class Link:
    """A connection to a host for frames. Any thread may send frames."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray(HEADER.size)
        self._view = memoryview(self._buffer)
        self._into = [self._view]
        self._number = 0  # of the host's next frame
        self._sent = 0
        self._held = b""
        self._received = 0
        self._sending = threading.Lock()
        self.descriptor = -1
        """What came with the last frame; -1 if nothing did. Who reads it owns it."""

    def fileno(self) -> int:
        """The socket's descriptor, to wait for a frame."""
        return self._connection.fileno()

    def close(self) -> None:
        """Closes the connection in this process. Another process after a fork keeps its descriptor."""
        self._connection.close()

    def greet(self, secret: bytes, name: str) -> bool:
        """Reads the hello of the host and returns whether it comes from the right host."""
        header = self.receive()
        if header is None:
            return False
        if header[2] != HELLO or not 0 < header[9] <= _LONGEST_HELLO:
            return self._refuse(f"the first frame is operation {header[2]} with {header[9]} bytes, not a hello")
        text = self._fill(header[9])
        names, rest = [], text[_SECRET_BYTES:]
        while len(rest) >= 2:
            (length,) = struct.unpack_from("<H", rest)
            names.append(rest[2:2 + length].decode(errors="replace"))
            rest = rest[2 + length:]
        if not hmac.compare_digest(text[:_SECRET_BYTES], secret):
            return self._refuse("the hello has not the secret of this run")
        if len(names) != 3 or rest:
            return self._refuse(f"the hello has {len(names)} names instead of 3")
        if names[0] != "part" or names[2] != name:
            return self._refuse(f"the hello is for the {names[0]} link of {names[2]}, this is the part link of {name}")
        number = secrets.randbits(64)
        self.send(ACKNOWLEDGE, arg=number - (1 << 64) if number >> 63 else number)
        self._number = number
        return True

    def receive(self) -> Header | None:
        """The next frame without its payload, or None once the host has hung up."""
        n, control, _, _ = self._connection.recvmsg_into(self._into, _ONE_DESCRIPTOR, socket.MSG_CMSG_CLOEXEC)
        if control:
            self.descriptor = struct.unpack("i", control[0][2][:4])[0]
        while n < HEADER.size:
            more = self._connection.recv_into(self._view[n:]) if n else 0
            if not more:
                return None
            n += more
        header: Header = HEADER.unpack_from(self._buffer)
        if header[0] != MAGIC or header[1] != VERSION or header[10] != self._received or header[11] != self._number:
            raise LinkError(
                f"a frame has magic {header[0]:#x}, version {header[1]}, sequence {header[10]} and link {header[11]:#x}, "
                f"want {MAGIC:#x}, {VERSION}, {self._received} and {self._number:#x}")
        self._received += 1
        return header

    def send(self, op: int, flags: int = 0, batch: int = 0, bucket: int = 0, rows: int = 0, arg: int = 0, arg2: int = 0,
             payload: bytes = b"") -> None:
        """Sends a frame, after any held frames."""
        with self._sending:
            frame = self._held + self._frame(op, flags, batch, bucket, rows, arg, arg2, payload)
            self._held = b""
            try:
                self._connection.sendall(frame)
            except OSError as error:
                raise HostGone(f"the host is gone: {error}") from error

    def hold(self, op: int, flags: int = 0, batch: int = 0, bucket: int = 0, rows: int = 0, arg: int = 0, arg2: int = 0) -> None:
        """Holds a frame until the next send, because every send wakes the host."""
        with self._sending:
            self._held += self._frame(op, flags, batch, bucket, rows, arg, arg2, b"")

    def _frame(self, op: int, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int, payload: bytes) -> bytes:
        number = self._number ^ _WORD if self._sent else 0
        header = HEADER.pack(MAGIC, VERSION, op, flags, batch, bucket, rows, arg, arg2, len(payload), self._sent, number)
        self._sent += 1
        return header + payload

    def fail(self, sentence: str) -> None:
        """Sends ``failed``, which ends the run. A text that is too long is cut."""
        self.send(FAILED, payload=encode(sentence)[:_LONGEST_SENTENCE])

    def _refuse(self, sentence: str) -> bool:
        self.send(REFUSE, payload=encode(sentence)[:1024])
        return False

    def _fill(self, n: int) -> bytes:
        out = bytearray()
        while len(out) < n:
            more = self._connection.recv(n - len(out))
            if not more:
                raise LinkError(f"the host hung up after {len(out)} of {n} bytes")
            out += more
        return bytes(out)


def listen(directory: str) -> socket.socket:
    """Opens a Unix socket of this process in a folder."""
    path = os.path.join(directory, f"part.{os.getpid()}.sock")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
    except OSError as error:
        raise OSError(f"cannot listen on {path}: {error}") from error
    listener.listen(4)
    return listener
