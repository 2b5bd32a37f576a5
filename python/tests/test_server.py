import contextlib
import io
import select
import threading
import unittest
from concurrent import futures

import numpy as np

import psbench

from .double import Companion, Frame, dense, sparse


class Median(psbench.SynchronousServer):
    key = "median"

    def combine(self, gradients):
        return np.median(gradients, axis=0)


class Echo(psbench.Server):
    key = "echo"
    asynchronous = True

    def setup(self):
        self.kept = None
        self.own = self.memory(self.env.buckets[0])

    def receive(self, push):
        if push.batch == 0:
            push.values += 1
            push.answer()
        elif push.batch == 1:
            push.answer(np.full(push.values.shape, 7.0), rows=push.rows)
        elif push.batch == 2:
            self.own.values[...] = 9
            push.answer(self.own)
        elif push.trainer == 0:
            self.kept = push
        else:
            push.answer(self.kept)
            self.kept.answer()


class ServerTest(unittest.TestCase):
    def test_a_call_that_comes_while_a_task_waits_for_memory(self):
        busy, free = threading.Event(), threading.Event()
        with futures.ThreadPoolExecutor(1) as pool, Companion(Echo, buckets=[dense(2)], trainers=1) as c:
            # until both the call and the task are waiting
            c.process.serve(0x7F, lambda *_: (busy.set(), free.wait(5)), "hold")
            c.host.send(0x7F)
            busy.wait(5)
            c.host.send(0x62, arg=5)
            asked = pool.submit(c.process.ask, lambda: c.process.allocate(64))
            select.select([c.process._wake], [], [], 5)
            free.set()
            seen = set()
            while not seen >= {0x62, 0x64}:  # the answer to the ping, and the request
                seen.add(c.host.take().op)
            self.assertEqual(asked.result(5), len(c.host.segments) - 1)

    def push(self, c, trainer, values, rows=None, batch=0, bucket=0, number=1):
        index = trainer * len(c.buckets) + bucket
        c.memory[index] = c.host.tensor(13, index, np.float32(values))
        if rows is not None:
            room = c.buckets[bucket]["capacity"]
            c.memory[-1 - index] = c.host.tensor(14, index, np.int32(rows + [0] * (room - len(rows))))
        c.host.send(0x90, batch=batch, bucket=bucket, rows=len(rows or ()), arg=trainer, arg2=number)

    def test_a_synchronous_server_answers_all(self):
        with Companion(Median, buckets=[dense(1), dense(2)], trainers=3) as c:
            c.memory = {}
            self.push(c, 1, [5, 6], bucket=1)
            self.push(c, 2, [1, 2], bucket=1)
            self.assertEqual([c.host.next() for _ in range(2)], [Frame(0x91, bucket=1, arg=t, arg2=1) for t in (1, 2)])
            self.push(c, 0, [3, 9], bucket=1)
            own = 1  # trainer 0, bucket 1
            self.assertEqual([c.host.next() for _ in range(4)], [
                Frame(0x92, 13, own, 1, 0, 1, 1), Frame(0x92, 13, own, 1, 0, 2, 1), Frame(0x92, 13, own, 1, 0, 0, 1),
                Frame(0x91, bucket=1, arg=0, arg2=1)])
            self.assertEqual(c.memory[own].tolist(), [3, 6])
            self.assertEqual([m.name for m in c.service._role.recorder], ["median computation"])
            self.assertEqual(len(list(next(iter(c.service._role.recorder)))), 1)

    def test_rows_are_combined_among_those_who_have_them(self):
        with Companion(Median, buckets=[sparse(10, 1, 4)], trainers=3) as c:
            c.memory = {}
            self.push(c, 0, [[1], [2], [0], [0]], [1, 5])
            self.push(c, 1, [[30], [4], [0], [0]], [5, 7])
            self.push(c, 2, [[3], [8], [9], [0]], [1, 5, 9])
            answers = [c.host.next() for _ in range(6)]
            self.assertEqual([a for a in answers if a.op == 0x92], [Frame(0x92, 13, 0, 0, 4, t, 1) for t in (1, 2, 0)])
            self.assertEqual(c.memory[-1].tolist(), [1, 5, 7, 9])
            self.assertEqual(c.memory[0].tolist(), [[2], [8], [4], [9]])

    def test_a_server_answers_as_it_likes(self):
        with Companion(Echo, buckets=[sparse(10, 2, 2)]) as c:
            c.memory = {}
            self.push(c, 0, [[1, 2], [3, 4]], [4, 6])
            self.assertEqual([c.host.next(), c.host.next()], [Frame(0x92, 13, 0, 0, 2, 0, 1), Frame(0x91, arg2=1)])
            self.assertEqual(c.memory[0].tolist(), [[2, 3], [4, 5]])
            self.push(c, 0, [[1, 2], [3, 4]], [4], batch=1)
            self.assertEqual([c.host.next(), c.host.next()], [Frame(0x92, 13, 0, 0, 1, 0, 1), Frame(0x91, arg2=1)])
            self.assertEqual(c.memory[0].tolist(), [[7, 7], [3, 4]])
            server = c.service._role.part
            self.push(c, 0, [[1, 2], [3, 4]], [4], batch=2, number=3)
            self.assertEqual([c.host.next(), c.host.next()], [Frame(0x92, 15, 0, 0, 2, 0, 3), Frame(0x91, arg2=3)])
            self.assertEqual((c.host.announced(15)[:4].tolist(), server.own.in_use), ([9] * 4, 1))
            self.assertEqual(c.host.announced(16, 0, "int32").tolist(), [0, 0])
            c.host.send(0x93, arg2=3)
            self.push(c, 0, [[1, 2], [3, 4]], [4], batch=3, number=4)
            self.assertEqual(c.host.next(), Frame(0x91, arg2=4))
            self.assertEqual(server.own.in_use, 0)
            self.push(c, 1, [[1, 2], [3, 4]], [4, 5], batch=3, number=1)
            self.assertEqual([c.host.next() for _ in range(3)], [
                Frame(0x92, 13, 0, 0, 1, 1, 1), Frame(0x92, 13, 0, 0, 1, 0, 4), Frame(0x91, arg=1, arg2=1)])

    def test_what_is_wrong_ends_the_run(self):
        def fails(answer):
            return type("Bad", (Echo,), {"receive": lambda self, push: answer(push)})

        the = "server echo, receive: {}: the push of batch 0, bucket 0 of trainer 0 "
        for part, kind, want in (
            (fails(lambda p: p.answer(np.float32([1]))), "ValueError", "is answered with [1]: it must be [2]"),
            (fails(lambda p: p.answer(3)), "TypeError", "is answered with a int: it must be another push, or an array of float32"),
            (fails(lambda p: p.answer(np.int64([1, 2]))), "TypeError", "is answered with a ndarray of int64: it must be another push, or an array of float32"),
            (fails(lambda p: p.answer(p.values, rows=[1])), "ValueError", "is dense: its answer has no rows"),
            (fails(lambda p: p.answer(psbench.Gradient(p.values))), "TypeError", "is answered with a Gradient: it must be another push, or an array of float32"),
            (fails(lambda p: (p.answer(), p.answer())), "ValueError", "was answered before: each push is answered once"),
        ):
            with self.subTest(want), contextlib.redirect_stderr(io.StringIO()), Companion(part, buckets=[dense(2)]) as c:
                c.memory = {}
                self.push(c, 0, [1, 2])
                answer = c.host.next()
                while answer.op != 0x63:
                    answer = c.host.next()
                self.assertEqual(answer.payload.decode(), the.format(kind) + want)

    def test_a_combination_has_the_shape_of_a_gradient(self):
        for combine, want in (
            (lambda self, gradients: np.median(gradients), "ValueError: combine returns []: it must return an array of [2], as each gradient has"),
            (lambda self, gradients: 3, "ValueError: combine returns a int: it must return an array of [2], as each gradient has"),
            (lambda self, gradients: np.fft.fft(gradients[0]), "TypeError: combine returns complex128: it must return an array of float32"),
            (lambda self, gradients: np.int64([1, 2]), "TypeError: combine returns int64: it must return an array of float32"),
        ):
            bad = type("Bad", (Median,), {"combine": combine})
            with self.subTest(want), contextlib.redirect_stderr(io.StringIO()), Companion(bad, buckets=[dense(2)], trainers=1) as c:
                c.memory = {}
                self.push(c, 0, [1, 2])
                self.assertEqual(c.host.next().payload.decode(), "server median, receive: " + want)

    def test_the_memory_of_an_answered_push_is_not_to_be_had(self):
        class Late(Median):
            def receive(self, push):
                self.kept = getattr(self, "kept", push)
                push.answer(self.kept)

        with contextlib.redirect_stderr(io.StringIO()), Companion(Late, buckets=[dense(2)]) as c:
            c.memory = {}
            self.push(c, 0, [1, 2])
            self.assertEqual([c.host.next().op for _ in range(2)], [0x92, 0x91])
            self.push(c, 1, [1, 2])
            self.assertEqual(c.host.next().payload.decode(),
                             "server median, receive: ValueError: the push of batch 0, bucket 0 of trainer 1 is answered with the push of batch 0, bucket 0 of trainer 0, "
                             "which was answered before and may hold the next push: answer it last")

    def test_a_reset_forgets_pushes(self):
        with Companion(Median, buckets=[dense(1)], trainers=2) as c:
            c.memory = {}
            self.push(c, 0, [1])
            c.host.next()
            c.reset()
            self.push(c, 0, [3], number=2)
            self.assertEqual(c.host.next(), Frame(0x91, arg2=2))
            self.push(c, 1, [5])
            self.assertEqual([c.host.next().op for _ in range(3)], [0x92, 0x92, 0x91])
            self.assertEqual(c.memory[0].tolist(), [4])
