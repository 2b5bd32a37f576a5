"""The main function of a plugin: the handshake, and the end."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from concurrent import futures
from typing import Any

from ..criterion import TARGETS
from ..hook import Hook
from ..parts import DeclarationError, Part
from ..server import Server
from ..settings import declared, describe
from .allocator import keep_freed_memory
from .faults import print_traceback
from .stdout import COOKIE, flush, reopen, shake_hands

# versions of the contract that the package supports; before 2006 there are no traffic plans, and 2001 has no targets
# that are numbers
_CONTRACTS = ("2006", "2005", "2001")
_CALLS = 8  # most calls open at once; Watch stays open during the whole run
_END_SECONDS = 0.05  # time for the reply to the call that ends the process
_LATE_SECONDS = 0.3


def serve(parts: Sequence[type[Part]]) -> None:
    """Serves parts until psbench ends the process; see psbench.serve."""
    script = os.path.basename(sys.argv[0]) or "this script"
    if os.environ.get(COOKIE[0]) != COOKIE[1]:
        sys.exit(f"{script} is a plugin of psbench, which starts it itself: psbench plugin add {script}, or psbench plugin check {script}")
    try:
        checked = check(parts)
    except DeclarationError as error:
        sys.exit(f"{script}: {error}")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the core handles interrupts
    reopen()

    try:
        import grpc

        from .process import Process
        from .service import Service
    except ModuleNotFoundError as error:
        sys.exit(f"{script}: {sys.executable} has no module {error.name}: apt-get install python3-grpcio python3-protobuf python3-numpy, "
                 "or pip install grpcio protobuf numpy for that interpreter")

    keep_freed_memory()
    process = Process()
    service = Service(checked, process)
    pool = futures.ThreadPoolExecutor(_CALLS, "psbench call")
    server = grpc.server(pool, service.handlers(), options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)])
    path = os.path.join(os.environ.get("PSBENCH_PLUGIN_DIR", "."), f"plugin.{os.getpid()}.sock")
    server.add_insecure_port("unix:" + path)
    server.start()
    service.started()
    threading.excepthook = lambda failed: process.fail_thread(failed)
    late = threading.Timer(_LATE_SECONDS, os._exit, (0,))  # in case a part hangs
    late.daemon, late.name = True, "psbench end"
    process.ending = late.start
    offered = os.environ.get("PLUGIN_PROTOCOL_VERSIONS", "").split(",")
    contract = next((version for version in _CONTRACTS if version in offered), _CONTRACTS[-1])
    shake_hands(f"1|{contract}|unix|{path}|grpc")
    try:
        process.run()
    except BaseException as error:  # an error in psbench: without this thread, nothing is served
        print_traceback(error)
        os._exit(1)
    end(server)


def end(server: Any) -> None:
    """Ends the process despite any running threads, cleanly if possible."""
    server.stop(_END_SECONDS).wait()
    flush()
    os._exit(0)


def check(parts: Sequence[type[Part]]) -> list[type[Part]]:
    """The parts, if all are declared correctly; otherwise raises a DeclarationError."""
    if not parts:
        raise DeclarationError("psbench.serve was given no part: give it a class, as in psbench.serve(MyHook)")
    seen: dict[tuple[str, str], type[Part]] = {}
    for part in parts:
        if not isinstance(part, type) or not issubclass(part, Part) or not part.kind:
            given = part if isinstance(part, type) else f"a {type(part).__name__}"
            raise DeclarationError(f"psbench.serve was given {given}: give it classes that derive from psbench.Hook, Model, Criterion, Data or Server")
        if not part.key or not isinstance(part.key, str):
            raise DeclarationError(f'{part.__name__} has no key: write key = "..." in the class, which users choose it by')
        if (part.kind, part.key) in seen:
            raise DeclarationError(f"{part.__name__} and {seen[part.kind, part.key].__name__} are both {part.kind} {part.key}: give one of them another key")
        seen[part.kind, part.key] = part
        links = getattr(part, "links", ())
        if isinstance(links, str) or any(link not in ("server", "group", "default") for link in links):
            raise DeclarationError(f'{part.__name__} has links {links!r}: they are some of ("server", "group", "default")')
        answers = getattr(part, "answers", "")
        if not isinstance(answers, str) or not re.fullmatch(r"|mean|sum|own|as \w+", answers):
            raise DeclarationError(f'{part.__name__} has answers {answers!r}: it is "mean", "sum", "own", or "as KEY", of a built-in {part.kind}')
        if answers == "own" and getattr(part, "answer", None) in (None, Hook.answer, Server.answer):
            raise DeclarationError(f'{part.__name__} has answers "own", but no method answer(self, exchange), which says what it answers')
        targets = getattr(part, "targets", "classes") if part.kind == "criterion" else "classes"
        if targets not in TARGETS:
            raise DeclarationError(f"{part.__name__} has targets {targets!r}: they are one of {TARGETS}")
        smallest = getattr(part, "smallest_batch", 1)
        if type(smallest) is not int or smallest < 1:
            raise DeclarationError(f"{part.__name__} has smallest_batch {smallest!r}: it is a whole number of samples, 1 or more")
        if declared(part) is not None:
            describe(part)
    return list(parts)
