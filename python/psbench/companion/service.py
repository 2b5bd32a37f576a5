"""The set-up calls of the core, over gRPC."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from ..parts import Part
from ..settings import describe
from . import roles
from .faults import Fault, last_line, print_traceback
from .messages import message, methods
from .process import Process
from .recorded import peak_rss_bytes, pieces

_SERVING = b"\x08\x01"
_HEARTBEAT_SECONDS = 1.0
_ASKED_SECONDS = 1.0  # time that Collect waits for an answer of the part
_LEFT_SECONDS = 0.2  # time for threads to end after the part is closed
_LONGEST_MESSAGE = 4000


class Service:
    """Answers the core. Each call runs on a gRPC thread; calls of the part run on the main thread."""

    def __init__(self, parts: list[type[Part]], process: Process) -> None:
        self._parts, self._process = parts, process
        self._role: roles.Role | None = None
        self._timeout = 60.0
        self._pass = 0
        self._ours: set[threading.Thread] = set()

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """All methods of the server."""
        calls: dict[str, grpc.RpcMethodHandler] = {}
        for name, request, _, streams in methods():
            call = getattr(self, name, None)
            if call is None:
                continue  # unsupported methods return UNIMPLEMENTED
            make = grpc.unary_stream_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
            guard = self._guarded_stream if streams else self._guarded
            calls[name] = make(guard(call), request.FromString, lambda reply: reply.SerializeToString())
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        return [
            grpc.method_handlers_generic_handler("psbench.v1.Part", calls),
            grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": unary(lambda request, context: _SERVING)}),
            grpc.method_handlers_generic_handler("plugin.GRPCStdio", {"StreamStdio": stream(lambda request, context: iter(()))}),
            grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": unary(self._shutdown)}),
        ]

    def started(self) -> None:
        """Records that the threads running now do not belong to the part."""
        self._ours = set(threading.enumerate())

    def Describe(self, request: Any, context: grpc.ServicerContext) -> Any:
        reply = message("DescribeReply")()
        for part in self._parts:
            description = reply.parts.add(kind=part.kind, key=part.key, protocol=True, **roles.described(part))
            for name, typ, default, doc in describe(part):
                description.settings.add(name=name, type=typ, default_json=default.encode(), doc=doc)
        return reply

    def Configure(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._timeout = request.timeout_ns / 1e9
        return self._process.ask(lambda: self._configure(request))

    def _configure(self, request: Any) -> Any:
        if self._role is not None:
            raise Fault("the process is configured already")
        if request.WhichOneof("role") != "companion":
            raise Fault(f"{request.name} was given the role {request.WhichOneof('role')}, but a part in Python has that of a companion alone")
        choice = request.part
        found = [part for part in self._parts if (part.kind, part.key) == (choice.kind, choice.key)]
        if not found:
            raise Fault(f"this plugin has no {choice.kind} {choice.key}")
        self._role = roles.make(self._process, found[0], request)
        reply = message("ConfigureReply")(address=self._process.listen(request.directory, request.secret, request.name))
        self._role.configure(reply)
        return reply

    def Plan(self, request: Any, context: grpc.ServicerContext) -> Any:
        role = self._ready("plan")
        return message("PlanReply")(traffic=self._process.ask(lambda: role.plan(request.buckets)))

    def Connect(self, request: Any, context: grpc.ServicerContext) -> Any:
        role = self._ready("connect")
        if not self._process.linked.wait(self._timeout):
            raise Fault(f"waited {self._timeout:g} s for the link of its host")
        self._process.ask(lambda: role.connect(request.companion))
        return message("ConnectReply")(facts=self._process.ask(role.facts))

    def Reset(self, request: Any, context: grpc.ServicerContext) -> Any:
        role = self._ready("reset")
        self._pass = getattr(request, "pass")
        self._process.ask(role.reset)
        return message("ResetReply")()

    def Collect(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        role = self._ready("collect")
        if self._pass == getattr(request, "pass"):
            try:
                facts = self._process.ask(role.pass_facts, _ASKED_SECONDS)
            except TimeoutError:  # the part is still busy: the pass has failed
                facts = {}
            yield from pieces(role.recorder, facts)
        yield message("CollectReply")(peak_rss_bytes=peak_rss_bytes())

    def Close(self, request: Any, context: grpc.ServicerContext) -> Any:
        limit = request.limit_ns / 1e9
        if self._role is not None:
            try:
                self._process.ask(self._role.close, limit)
            except TimeoutError:
                raise Fault(f"{self._role.title} did not end within {limit:g} s") from None
        return message("CloseReply")(left=self._left())

    def Watch(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        context.add_callback(self._core_gone)
        event = message("Event")
        beat = event(heartbeat=message("Heartbeat")())
        while True:
            yield beat
            failure = self._process.next_failure(_HEARTBEAT_SECONDS)
            while failure:
                yield event(failure=message("Failure")(message=failure))
                failure = self._process.next_failure(_HEARTBEAT_SECONDS)
            if self._process.over:
                return

    def _core_gone(self) -> None:
        """Ends the process if its core and its host are gone."""
        self._process.core_gone = True
        if self._process.link is None or self._process.link.fileno() < 0:
            self._process.end()

    def _shutdown(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self._process.end()
        return b""

    def _ready(self, call: str) -> roles.Role:
        if self._role is None:
            raise Fault(f"{call} was called on a process that is not configured")
        return self._role

    def _sentence(self, error: BaseException) -> str:
        """The error text of a failed call."""
        print_traceback(error)
        return last_line(error)[:_LONGEST_MESSAGE]

    def _guarded(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(request: Any, context: grpc.ServicerContext) -> Any:
            try:
                return call(request, context)
            except BaseException as error:  # otherwise gRPC would not answer
                sentence = self._sentence(error)
            context.abort(grpc.StatusCode.UNKNOWN, sentence)
        return guarded

    def _guarded_stream(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            try:
                yield from call(request, context)
                return
            except Exception as error:
                sentence = self._sentence(error)
            context.abort(grpc.StatusCode.UNKNOWN, sentence)
        return guarded

    def _left(self) -> str:
        """The threads that the part has left running."""
        def running() -> list[threading.Thread]:
            return [t for t in threading.enumerate() if t not in self._ours and not t.name.startswith("psbench")
                    and not isinstance(t, threading._DummyThread)]  # type: ignore[attr-defined]
        deadline = time.monotonic() + _LEFT_SECONDS
        for thread in running():
            thread.join(max(0, deadline - time.monotonic()))
        names = [thread.name for thread in running()]
        if not names:
            return ""
        return f"{len(names)} {'thread' if len(names) == 1 else 'threads'}: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
