"""Plugins as started by psbench: processes, the handshake, and the gRPC calls."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import grpc
import numpy as np

from psbench.companion.messages import message, methods

from .double import SECRET, Frame, Host, dense

BAD = pathlib.Path(__file__).with_name("bad.py")


class Plugin:
    """A process of bad.py, as seen by the core."""

    def __init__(self, mode="", parts=("Bad",)):
        self.directory = tempfile.TemporaryDirectory(prefix="psb")
        env = dict(os.environ, PSBENCH_PLUGIN="parameter-server-benchmark", PSBENCH_PLUGIN_DIR=self.directory.name,
                   PLUGIN_PROTOCOL_VERSIONS="2000,2001", PYTHONPATH=str(BAD.parents[1]), PYTHONUNBUFFERED="", MODE=mode)
        self.process = subprocess.Popen([sys.executable, str(BAD), *parts], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.line = self.process.stdout.readline()
        if self.line:
            self.channel = grpc.insecure_channel("unix:" + self.line.split("|")[3])

    def call(self, name, timeout=10, /, **fields):
        for method, request, reply, streams in methods():
            if method == name:
                make = self.channel.unary_stream if streams else self.channel.unary_unary
                return make(f"/psbench.v1.Part/{name}", lambda m: m.SerializeToString(), reply.FromString)(request(**fields), timeout=timeout)
        raise AssertionError(name)

    def configure(self):
        reply = self.call("Configure", name="trainer0.hook", part={"kind": "hook", "key": "bad", "settings": b"{}"},
                          timeout_ns=10**10, secret=SECRET, directory=self.directory.name, companion={"trainers": 1})
        self.host = Host(reply.address)
        return self.call("Connect", companion={"buckets": [dense(1)]})

    def reduce(self):
        self.host.tensor(4, 0, np.float32([1]))
        return self.host.call(0x68, bucket=0)

    def end(self):
        self.channel.unary_unary("/plugin.GRPCController/Shutdown")(b"")
        return self.log()

    def log(self):
        """Its standard error output, after it has ended."""
        log = self.process.stderr.read()
        self.process.wait(10)
        return log

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.line:
            self.channel.close()
        if hasattr(self, "host"):
            self.host.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close(), self.process.stderr.close()
        self.directory.cleanup()


class PluginTest(unittest.TestCase):
    def test_the_handshake_and_the_end(self):
        with Plugin() as p:
            path = f"{p.directory.name}/plugin.{p.process.pid}.sock"
            self.assertEqual(p.line, f"1|2001|unix|{path}|grpc\n")  # the newest of the offered versions
            self.assertEqual(p.channel.unary_unary("/grpc.health.v1.Health/Check")(b"\n\x06plugin"), b"\x08\x01")
            self.assertEqual(list(p.channel.unary_stream("/plugin.GRPCStdio/StreamStdio")(b"")), [])
            parts = p.call("Describe").parts
            self.assertEqual([(d.kind, d.key, d.protocol) for d in parts], [("hook", "bad", True)])
            with self.assertRaises(grpc.RpcError) as raised:
                p.call("Train")
            self.assertEqual(raised.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
            start = time.monotonic()
            self.assertEqual(p.end(), "")
            self.assertEqual(p.process.returncode, 0)
            self.assertLess(time.monotonic() - start, 5)

    def test_started_by_hand(self):
        for command, want in (
            ([BAD, "Bad"], "bad.py is a plugin of psbench, which starts it itself: psbench plugin add bad.py, or psbench plugin check bad.py\n"),
        ):
            env = dict(os.environ, PYTHONPATH=str(BAD.parents[1]), PSBENCH_PLUGIN="")
            run = subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stdout, run.stderr), (1, "", want))

    def test_an_interpreter_without_grpc(self):
        code = 'import sys; sys.modules["grpc"] = None; sys.argv = ["bad.py"]; from tests import bad; bad.psbench.serve(bad.Bad)'
        env = dict(os.environ, PYTHONPATH=str(BAD.parents[1]), PSBENCH_PLUGIN="parameter-server-benchmark")
        run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (
            1, "", f"bad.py: {sys.executable} has no module grpc: apt-get install python3-grpcio python3-protobuf python3-numpy, "
                   "or pip install grpcio protobuf numpy for that interpreter\n"))

    def test_parts_that_are_declared_wrongly(self):
        for parts, want in (
            ((), "psbench.serve was given no part: give it a class, as in psbench.serve(MyHook)"),
            (("Keyless",), 'Keyless has no key: write key = "..." in the class, which users choose it by'),
            (("Bad", "Twin"), "Twin and Bad are both hook bad: give one of them another key"),
            (("Unset",), "Unset.Settings must be a dataclass: put @dataclasses.dataclass above it"),
            (("Averge",), "Averge has answers 'averge': it is \"mean\", \"sum\", \"own\", or \"as KEY\", of a built-in hook"),
            (("Wordless",), 'Wordless has answers "own", but no method answer(self, exchange), which says what it answers'),
            (("os",), "psbench.serve was given a module: give it classes that derive from psbench.Hook, Model, Criterion, Data or Server"),
        ):
            with self.subTest(want), Plugin(parts=parts) as p:
                self.assertEqual((p.line, p.log(), p.process.returncode), ("", f"bad.py: {want}\n", 1))

    def test_what_setup_raises_fails_the_call(self):
        with Plugin("setup") as p:
            with self.assertRaises(grpc.RpcError) as raised:
                p.configure()
            self.assertEqual((raised.exception.code(), raised.exception.details()), (grpc.StatusCode.UNKNOWN, "hook bad, setup: ValueError: not today"))
            log = p.end()
            self.assertEqual(log.count("ValueError: not today"), 1, log)

    def test_an_exit_in_setup_fails_the_call(self):
        with Plugin("exit in setup") as p:
            with self.assertRaises(grpc.RpcError) as raised:
                p.configure()
            self.assertEqual(raised.exception.details(), "hook bad, setup: SystemExit: usage")
            p.end()

    def test_a_thread_may_end_by_an_exit(self):
        with Plugin("exit of a thread") as p:
            p.configure()
            self.assertEqual(p.reduce(), Frame(0x71))

    def test_what_was_printed_is_there_however_a_process_ends(self):
        with Plugin("print and exit") as p:
            p.configure()
            with self.assertRaises((AssertionError, ConnectionError)):
                p.reduce()
            self.assertEqual(p.log(), "the last words\n")

    def test_what_is_printed_goes_to_standard_error(self):
        for mode in ("print", "closed"):
            with self.subTest(mode), Plugin(mode) as p:
                p.configure()
                log = p.end()
                self.assertEqual(sorted(log.splitlines()), ["printed by setup", "written to 1"])
                self.assertEqual(p.process.stdout.read(), "")

    def test_threads_that_stay_are_named(self):
        with Plugin("left") as p:
            p.configure()
            self.assertEqual(p.call("Close", limit_ns=10**9).left, "1 thread: lingerer")
            p.end()
            self.assertEqual(p.process.returncode, 0)

    def test_a_close_that_hangs_has_a_limit(self):
        with Plugin("close") as p:
            p.configure()
            with self.assertRaises(grpc.RpcError) as raised:
                p.call("Close", limit_ns=10**8)
            self.assertEqual(raised.exception.details(), "hook bad did not end within 0.1 s")
            p.end()
            self.assertEqual(p.process.returncode, 0)

    def test_a_thread_that_fails_ends_the_run(self):
        with Plugin("thread") as p:
            p.configure()
            self.assertEqual(p.host.next(), Frame(0x63, payload=b"hook bad, thread divider: ZeroDivisionError: division by zero"))

    def test_heartbeats_go_on_while_a_part_works_and_it_dies_with_the_core(self):
        with Plugin("hang") as p:
            p.configure()
            watch = p.call("Watch", None)
            p.host.tensor(4, 0, np.float32([1]))
            p.host.send(0x68, bucket=0)
            for _ in range(2):
                self.assertEqual(next(watch).WhichOneof("event"), "heartbeat")

    def test_a_plugin_ends_with_its_core_and_host(self):
        with Plugin() as p:
            p.configure()
            watch = p.call("Watch", None)
            next(watch)
            p.host.close()
            watch.cancel()
            p.channel.close()
            p.log()
            self.assertEqual(p.process.returncode, 0)

    def test_a_fork_answers_nothing(self):
        with Plugin("fork") as p:
            p.configure()
            self.assertEqual(p.reduce(), Frame(0x71))
            self.assertEqual(p.host.call(0x62, arg=5), Frame(0x62, arg=5))
            log = p.end()
            self.assertRegex(log, r"^psbench: process \d+, a copy of a part that was made by a fork, went on as if it were the part, and ends\n$")

    def test_a_plugin_that_exits_hangs_up(self):
        with Plugin("exit") as p:
            p.configure()
            with self.assertRaises((AssertionError, ConnectionError)):
                p.reduce()
            p.log()
            self.assertEqual(p.process.returncode, 7)

    def test_a_process_does_not_outlive_its_main_thread(self):
        with Plugin("lost") as p:
            p.configure()
            watch = p.call("Watch", None)
            next(watch)
            with self.assertRaises((AssertionError, ConnectionError)):
                p.reduce(), p.reduce()
            self.assertIn("TypeError: 'NoneType' object is not callable", p.log())
            self.assertEqual(p.process.returncode, 1)

    def test_an_interrupt_is_the_business_of_the_core(self):
        with Plugin() as p:
            p.process.send_signal(signal.SIGINT)
            p.configure()
            self.assertEqual(p.end(), "")
            self.assertEqual(p.process.returncode, 0)
