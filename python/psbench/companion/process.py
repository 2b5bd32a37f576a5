"""The main thread of a plugin. It greets the host, serves the host's frames, and runs tasks for the threads
of the set-up calls. So all methods of a part run on this thread, one at a time."""

from __future__ import annotations

import collections
import os
import queue
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from . import frames
from .faults import Fault, last_line, print_traceback
from .link import HostGone, Link, LinkError, listen
from .memory import Memory


_LOOK_S = 200e-6
"""How long the main thread looks for the next frame before it sleeps: a sleep and its wake cost both sides
some 50 µs, and the host often calls again within this."""

_LENT_S = 200e-6
"""Longer than a yield of the core takes that lets nobody run."""

_MOST_BLIND = 1024
"""Bounds the waits that sleep at once, one after the other."""


class _Task:
    """A task for the main thread from another thread, which waits for the result."""

    def __init__(self, what: Callable[[], Any]) -> None:
        self._what = what
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None

    def carry_out(self) -> None:
        try:
            self._result = self._what()
        except BaseException as error:  # every exception goes to the waiting thread
            self._error = error
        self._done.set()

    def result(self, timeout: float | None) -> Any:
        if not self._done.wait(timeout):
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._result


class Process:
    """The process of a part: the link to its host, its memory, and its failures."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.link: Link | None = None
        self.title = "the part"
        """What errors call it: hook topk."""
        self.linked = threading.Event()
        self.failures: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        """What fails outside of calls, for Watch; None: the process ends."""
        self.moved: Callable[[int, int], object] = lambda role, index: None
        """Is told of each tensor that the host announces, by role and index."""
        self.ending: Callable[[], object] = lambda: None
        """Is called when the process is to end, which the main thread may not see."""
        self.core_gone = False
        self.forked = False
        self._handlers: list[tuple[Callable[..., None], str] | None] = [None] * 256
        # waits that must sleep at once; number set by the last yield that let another process run
        self._blind = self._blinded = 0
        self._expected = (b"", "")
        self._listener: socket.socket | None = None
        self._poll = select.poll()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll.register(self._wake, select.POLLIN)
        self._tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self._deferred: collections.deque[frames.Header] = collections.deque()
        self._requested = 0
        self.over = False
        self._failed = False
        self.serve(frames.SEGMENT, self._segment, "segment")
        self.serve(frames.TENSOR, self._tensor, "tensor")
        self.serve(frames.PING, self._ping, "ping")
        os.register_at_fork(after_in_child=self._fork)

    def serve(self, op: int, handler: Callable[..., None], method: str) -> None:
        """Registers handler for frames with op. It gets flags, batch, bucket, rows, arg and arg2 of the
        frame."""
        self._handlers[op] = handler, method

    def ask(self, what: Callable[[], Any], timeout: float | None = None) -> Any:
        """Runs a task on the main thread, from another thread. Raises a TimeoutError if that takes too
        long."""
        task = _Task(what)
        self._tasks.put(task)
        os.eventfd_write(self._wake, 1)
        return task.result(timeout)

    def listen(self, directory: str, secret: bytes, name: str) -> str:
        """Starts to wait for the host at a socket, and returns the socket's path."""
        self._expected = secret, name
        self._listener = listen(directory)
        self._poll.register(self._listener, select.POLLIN)
        return str(self._listener.getsockname())

    def end(self) -> None:
        """Ends run, from any thread."""
        self.over = True
        ending, self.ending = self.ending, lambda: None
        ending()
        self.failures.put(None)
        os.eventfd_write(self._wake, 1)

    def run(self) -> None:
        """The main thread's life."""
        link, wake, poll = -1, self._wake, self._poll
        while not self.over:
            while self._deferred:
                self._dispatch(self._deferred.popleft())
            for descriptor, _ in self._looked(poll) or poll.poll():
                if descriptor == link:
                    self._take()
                elif descriptor == wake:
                    os.eventfd_read(wake)
                    while not self._tasks.empty():
                        self._tasks.get().carry_out()
                    break  # a task that allocated memory has read the link, so the poll result may be outdated
                else:
                    link = self._greet()

    def _looked(self, poll: select.poll) -> list[tuple[int, int]]:
        """Polls for frames for at most _LOOK_S and returns what has come. It returns nothing early if
        another process wants the core. Then sleeping is better, and the next waits sleep at once."""
        if self._blind:
            self._blind -= 1
            return []
        now = time.perf_counter()
        until = now + _LOOK_S
        while now < until:
            ready = poll.poll(0)
            if ready:
                self._blinded = 0
                return ready
            os.sched_yield()
            before, now = now, time.perf_counter()
            if now - before > _LENT_S:
                self._blinded = self._blind = min(max(1, 2 * self._blinded), _MOST_BLIND)
                return []
        return []

    def fail(self, method: str, error: BaseException) -> None:
        """Ends the run: reports the error of a method to the host, or to the core if there is no host."""
        if self.forked:
            print(f"psbench: process {os.getpid()}, a copy of a part that was made by a fork, went on as if it were the part, and ends", file=sys.stderr, flush=True)
            os._exit(1)
        if isinstance(error, HostGone):
            return
        print_traceback(error)
        if self._failed:
            return
        self._failed = True
        sentence = last_line(error) if isinstance(error, (Fault, LinkError)) else f"{self.title}, {method}: {last_line(error)}"
        try:
            if self.link is not None:
                self.link.fail(sentence)
                return
        except HostGone:
            pass  # the core gets the error
        self.failures.put(sentence)

    def allocate(self, size: int) -> int:
        """Requests a segment of so many bytes from the host and returns its number. Calls that arrive
        meanwhile wait."""
        if self.link is None:
            raise RuntimeError("there is no memory of psbench yet: ask for it in bind, or later")
        self._requested += 1
        self.link.send(frames.MEMORY, bucket=self._requested, arg=size)
        while True:
            header = self.link.receive()
            if header is None:
                raise HostGone(f"the host hung up instead of giving {size} bytes of memory")
            op = header[2]
            if op in (frames.SEGMENT, frames.TENSOR):
                self._dispatch(header)
                if op == frames.SEGMENT and header[8] == self._requested:
                    return header[5]
            else:
                self._deferred.append(header)

    def next_failure(self, timeout: float) -> str | None:
        """Waits so many seconds for a failure and returns it, or None."""
        try:
            return self.failures.get(timeout=timeout)
        except queue.Empty:
            return None

    def fail_thread(self, failed: threading.ExceptHookArgs) -> None:
        """Ends the run because an exception ended a thread of the part. SystemExit counts as a normal end
        of the thread."""
        if failed.exc_value is not None and not isinstance(failed.exc_value, SystemExit):
            self.fail(f"thread {failed.thread.name}" if failed.thread else "a thread", failed.exc_value)

    def _take(self) -> None:
        """Serves the next frame of the host, or records that the host is gone."""
        link = self.link
        assert link is not None
        try:
            header = link.receive()
        except (OSError, LinkError) as error:
            header = None
            if not isinstance(error, ConnectionError):
                self.fail("receive", error)
        if header is not None:
            self._dispatch(header)
        else:
            self._poll.unregister(link)
            link.close()
            if self.core_gone:
                self.end()

    def _dispatch(self, header: frames.Header) -> None:
        handler = self._handlers[header[2]]
        try:
            if handler is None:
                raise LinkError(f"the host called operation {header[2]:#x}, which this part does not serve")
            handler[0](header[3], header[4], header[5], header[6], header[7], header[8])
        except BaseException as error:
            self.fail(handler[1] if handler else "", error)

    def _greet(self) -> int:
        """Accepts a caller, which must send a valid hello as the host. Returns the link's descriptor."""
        assert self._listener is not None
        connection, _ = self._listener.accept()
        connection.settimeout(10)  # limit for the greeting
        link = Link(connection)
        try:
            if link.greet(*self._expected):
                connection.settimeout(None)
                self._poll.unregister(self._listener)
                self._listener.close()
                self._poll.register(link, select.POLLIN)
                self.link = link
                self.linked.set()
                return link.fileno()
        except (OSError, LinkError, HostGone) as error:
            print(f"psbench: a caller did not greet: {error}", file=sys.stderr)
        link.close()
        return -1

    def _segment(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        assert self.link is not None
        descriptor, self.link.descriptor = self.link.descriptor, -1
        self.memory.add_segment(bucket, arg, descriptor, flags & 1 != 0)

    def _tensor(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        self.memory.add_tensor(flags, bucket, rows, arg, arg2)
        self.moved(flags, bucket)

    def _ping(self, flags: int, batch: int, bucket: int, rows: int, arg: int, arg2: int) -> None:
        assert self.link is not None
        self.link.send(frames.PING, flags, batch, bucket, rows, arg, arg2)

    def _fork(self) -> None:
        """Prevents a child process from answering in place of this process."""
        self.forked = True
        for ours in (self.link, self._listener):
            if ours is not None:
                ours.close()
