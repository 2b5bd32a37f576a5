import contextlib
import io
import threading
import time
import unittest

import numpy as np

import psbench
from psbench.companion import roles
from psbench.companion.messages import message

from .double import Companion, Frame, dense, sparse


class Half(psbench.Hook):
    key = "half"
    links = ("group", "default", "server")

    def reduce(self, state, bucket):
        bucket.values *= 0.5
        return self.group.average(bucket)


class Rounds(Half):
    """Two operations with work after each, and a final one."""

    key = "rounds"

    def reduce(self, state, bucket):
        bucket.values[0] += state.batch
        yield self.default.all_reduce(bucket)
        bucket.values[0] *= 2
        yield self.server.push_pull(bucket)
        bucket.values[0] -= 1


class Local(Half):
    key = "local"

    def reduce(self, state, bucket):
        if bucket.sparse:
            bucket.set_rows(1)
            bucket.rows[0] = 4
            bucket.values[:] = 9


class Planned(Half):
    """Two rounds: a bfloat16 average beside a byte, then 64-bit integers. Bucket 1 has no rounds."""

    key = "planned"

    @classmethod
    def plan(cls, settings, env):
        first = [psbench.Transfer("average", "bfloat16", env.buckets[0].elements), psbench.Transfer("allgather", "uint8", 5)]
        return [[first, [psbench.Transfer("broadcast", "int64", env.trainers, root=1)]], None]

    def reduce(self, state, bucket):
        if not bucket.payloads:
            return self.group.average(bucket)
        return self.rounds(bucket)

    def rounds(self, bucket):
        (values, numbers), (last,) = bucket.payloads
        values[:] = psbench.to_bfloat16(bucket.values)
        numbers[:] = range(5)
        yield self.round(bucket, 0)
        last[:] = 2**40
        yield self.round(bucket, 1)
        bucket.values[:] = psbench.from_bfloat16(values) + last[1]


class HookTest(unittest.TestCase):
    def test_a_plan_and_its_rounds(self):
        with Companion(Planned, buckets=[dense(3), dense(1)], trainers=2, connect=False) as c:
            plan = c.service.Plan(message("PlanRequest")(buckets=c.buckets), None).traffic
            self.assertEqual([[[(o.kind, o.type, o.elements, o.root) for o in r.operations] for r in bucket.rounds] for bucket in plan],
                             [[[("average", "bfloat16", 3, 0), ("allgather", "uint8", 5, 0)], [("broadcast", "int64", 2, 1)]], []])
            c.connect()
            gradient, other = c.host.tensor(4, 0, np.float32([1, -2, 3])), c.host.tensor(4, 1, np.float32([1]))
            payloads = [c.host.tensor(28, i, np.zeros(n, np.uint8)) for i, n in enumerate((8, 8, 16))]
            for batch in range(2):
                gradient[:] = [1, -2, 3]
                self.assertEqual(c.host.call(0x68, batch=batch, bucket=0), Frame(0x72, batch=batch, bucket=0))
                self.assertEqual(payloads[0].view(np.uint16).tolist(), [0x3F80, 0xC000, 0x4040, 0])
                self.assertEqual(payloads[1].tolist(), [0, 1, 2, 3, 4, 0, 0, 0])
                self.assertEqual(c.host.call(0x68, batch=batch, bucket=1), Frame(0x6B, flags=0x80, batch=batch, bucket=1))
                self.assertEqual(c.host.call(0x70, batch=batch, bucket=0, arg=0x72), Frame(0x72, batch=batch, bucket=0, arg=1))
                self.assertEqual(payloads[2].view(np.int64).tolist(), [2**40, 2**40])
                payloads[2].view(np.int64)[1] = 7
                self.assertEqual(c.host.call(0x70, batch=batch, bucket=0, arg=0x72), Frame(0x71, batch=batch, bucket=0))
                self.assertEqual(gradient.tolist(), [8, 5, 10])

    def test_wrong_plans(self):
        for given, want in (
            (7, "a plan must be a list with the rounds of each bucket, not of type int"),
            ([7], "the rounds of bucket 0 must be a list of rounds, not of type int"),
            ([None, [7]], "a round of bucket 1 must be a list of psbench.Transfer, not of type int"),
            ([[[psbench.Transfer("average", "float32", 2.5)]]], "elements of Transfer.kind='average', dtype='float32', elements=2.5, root=0. in bucket 0 must be of type int"),
            ([[[7]]], "a round of bucket 0 must be a list of psbench.Transfer, but one element is of type int"),
        ):
            class Wrong(Planned):
                plan = classmethod(lambda cls, settings, env: given)

            with self.subTest(want), Companion(Wrong, buckets=[dense(1)], connect=False) as c:
                with self.assertRaisesRegex(Exception, f"^hook planned, plan: TypeError: {want}$"):
                    c.service.Plan(message("PlanRequest")(buckets=c.buckets), None)
        with Companion(Planned, buckets=[dense(1)], connect=False) as c, self.assertRaisesRegex(Exception, "^hook planned plans its traffic, but this psbench lays no plans: update it$"):
            c.connect()

        class Own(Half):
            def plan(self):
                """A method of the author, as in a hook of an older version."""

        self.assertEqual([roles.plans(part) for part in (Half, Own, Planned)], [False, False, True])
        with Companion(Half, buckets=[dense(1)], connect=False) as c, self.assertRaisesRegex(Exception, "has no class method plan"):
            c.service.Plan(message("PlanRequest")(buckets=c.buckets), None)

    def test_bfloat16(self):
        every = np.arange(2**16, dtype=np.uint16)
        wide = psbench.from_bfloat16(every)
        back = psbench.to_bfloat16(wide)
        numbers = ~np.isnan(wide)
        self.assertTrue(np.array_equal(back[numbers], every[numbers]))
        self.assertTrue(np.isnan(psbench.from_bfloat16(back[~numbers])).all())
        for value, want in ((1 + 2**-8, 1), (1 + 3 * 2**-8, 1 + 2**-6), (1 + 2**-8 + 2**-20, 1 + 2**-7), (-1e39, -np.inf), (1e-40, 2**-133)):
            with self.subTest(value):
                got = psbench.from_bfloat16(psbench.to_bfloat16(np.float32([value])))[0]
                self.assertTrue(got == np.float32(want), got)

    def test_an_operation_is_the_last_one(self):
        with Companion(Half, buckets=[dense(3)]) as c:
            values = c.host.tensor(4, 0, np.float32([2, 4, 6]))
            asked = c.host.call(0x68, batch=5, bucket=0)
            self.assertEqual(asked, Frame(0x6B, flags=0x80, batch=5, bucket=0))
            self.assertEqual(values.tolist(), [1, 2, 3])

    def test_a_generator_goes_on_as_operations_end(self):
        with Companion(Rounds, buckets=[dense(1), dense(1)]) as c:
            first, second = (c.host.tensor(4, i, np.float32([10])) for i in (0, 1))
            self.assertEqual(c.host.call(0x68, batch=3, bucket=0), Frame(0x6A, flags=1, batch=3, bucket=0))
            self.assertEqual(c.host.call(0x68, batch=3, bucket=1), Frame(0x6A, flags=1, batch=3, bucket=1))
            self.assertEqual(c.host.call(0x70, batch=3, bucket=1, arg=0x6A), Frame(0x69, batch=3, bucket=1))
            self.assertEqual(second[0], 26)
            self.assertEqual(first[0], 13)
            self.assertEqual(c.host.call(0x70, batch=3, bucket=1, arg=0x69), Frame(0x71, batch=3, bucket=1))
            self.assertEqual(second[0], 25)
            self.assertEqual(c.host.call(0x70, batch=3, bucket=0, arg=0x6A), Frame(0x69, batch=3, bucket=0))

    def test_an_operation_may_be_kept(self):
        class Kept(Half):
            """Creates one operation once and requests it in every batch; also creates two operations before
            it yields them."""

            def setup(self):
                self.made = {}

            def reduce(self, state, bucket):
                if bucket.index == 0:
                    return self.made.setdefault(0, self.made.get(0) or self.group.average(bucket))
                return self.both(self.group.all_reduce(bucket), self.group.average(bucket))

            def both(self, first, second):
                yield first
                return second

        with Companion(Kept, buckets=[dense(1), dense(1)]) as c:
            c.host.tensor(4, 0, np.float32([1])), c.host.tensor(4, 1, np.float32([1]))
            for batch in range(2):
                self.assertEqual(c.host.call(0x68, batch=batch, bucket=0), Frame(0x6B, flags=0x80, batch=batch, bucket=0))
                self.assertEqual(c.host.call(0x68, batch=batch, bucket=1), Frame(0x6A, batch=batch, bucket=1))
                self.assertEqual(c.host.call(0x70, batch=batch, bucket=1, arg=0x6A), Frame(0x6B, flags=0x80, batch=batch, bucket=1))

    def test_a_sparse_bucket_has_rows(self):
        seen = []

        class Looking(Half):
            def reduce(self, state, bucket):
                seen.append((bucket.rows.tolist(), bucket.values.shape))
                yield self.group.average(bucket)
                seen.append((bucket.rows.tolist(), bucket.values.tolist()))
                bucket.set_rows(1)

        with Companion(Looking, buckets=[sparse(10, 2, 3)]) as c:
            c.host.tensor(4, 0, np.float32(range(6)))
            c.host.tensor(5, 0, np.int32([1, 2, 8]))
            self.assertEqual(c.host.call(0x68, bucket=0, rows=2), Frame(0x6B, bucket=0, rows=2))
            self.assertEqual(c.host.call(0x70, bucket=0, rows=3, arg=0x6B), Frame(0x71, bucket=0, rows=1))
            self.assertEqual(seen, [([1, 2], (2, 2)), ([1, 2, 8], [[0, 1], [2, 3], [4, 5]])])

    def test_a_hook_need_not_communicate(self):
        with Companion(Local, buckets=[dense(1), sparse(5, 1, 2)]) as c:
            c.host.tensor(4, 0, np.float32([1]))
            values, rows = c.host.tensor(4, 1, np.float32([1, 2])), c.host.tensor(5, 1, np.int32([0, 1]))
            self.assertEqual(c.host.call(0x68, bucket=0), Frame(0x71, bucket=0))
            self.assertEqual(c.host.call(0x68, bucket=1, rows=2), Frame(0x71, bucket=1, rows=1))
            self.assertEqual((values[0], rows[0]), (9, 4))

    def test_what_is_assigned_is_copied(self):
        class Assigning(Half):
            def reduce(self, state, bucket):
                bucket.values = bucket.values * 0.5
                bucket.values += 1
                if bucket.sparse:
                    bucket.rows = [3, 4]

        with Companion(Assigning, buckets=[dense(2), sparse(5, 1, 2)]) as c:
            values = c.host.tensor(4, 0, np.float32([2, 4]))
            table, rows = c.host.tensor(4, 1, np.float32([2, 4])), c.host.tensor(5, 1, np.int32([0, 1]))
            c.host.call(0x68, bucket=0), c.host.call(0x68, bucket=1, rows=2)
            self.assertEqual((values.tolist(), table.tolist(), rows.tolist()), ([2, 3], [2, 3], [3, 4]))

    def test_a_host_that_is_gone_is_no_fault_of_the_part(self):
        class Slow(Half):
            def reduce(self, state, bucket):
                begun.set()
                time.sleep(0.2)

        begun = threading.Event()
        with contextlib.redirect_stderr(io.StringIO()) as log, Companion(Slow, buckets=[dense(1)]) as c:
            c.host.tensor(4, 0, np.float32([2]))
            c.host.send(0x68)
            begun.wait(5)
            c.host.close()
            self.assertIsNone(c.process.next_failure(0.5))
        self.assertEqual(log.getvalue(), "")

    def test_what_a_hook_knows(self):
        with Companion(Half, buckets=[dense(3), sparse(10, 2, 3)], trainers=4, seed=9, rank=1) as c:
            env = c.service._role.part.env
            self.assertEqual((env.rank, env.name, env.trainers, env.seed), (1, "trainer0.hook", 4, 9))
            self.assertEqual(env.buckets[0].parameters, (psbench.Span(0, 0, 3),))
            self.assertEqual(env.buckets[1], psbench.BucketSpec(1, 20, True, 10, 2, 3))

    def test_a_bucket_that_moves_is_found(self):
        with Companion(Half, buckets=[dense(1)]) as c:
            c.host.tensor(4, 0, np.float32([2]))
            c.host.call(0x68, bucket=0)
            moved = c.host.tensor(4, 0, np.float32([8]))
            c.host.call(0x68, bucket=0)
            self.assertEqual(moved[0], 4)

    def test_what_is_wrong_ends_the_run(self):
        def raises(self, state, bucket):
            raise ValueError("it is\nwrong")

        def raises_no_unicode(self, state, bucket):
            raise ValueError("no \udc80")

        def raises_later(self, state, bucket):
            yield self.group.average(bucket)
            raise OSError("late")

        def forgets(self, state, bucket):
            self.group.average(bucket)

        def forgets_one_of_two(self, state, bucket):
            self.server.push_pull(bucket)
            return self.group.average(bucket)

        def forgets_to_yield(self, state, bucket):
            yield self.group.average(bucket)
            self.default.broadcast(bucket)

        cases = [
            (raises, "hook half, reduce: ValueError: it is wrong"),
            (raises_no_unicode, "hook half, reduce: ValueError: no \\udc80"),
            (raises_later, "hook half, reduce: OSError: late"),
            (forgets, 'hook half, reduce: RuntimeError: it made self.group.average(bucket) of bucket 0 and neither returned nor yielded it, so psbench never ran it: write "return self.group.average(bucket)"'),
            (forgets_one_of_two, 'hook half, reduce: RuntimeError: it made self.server.push_pull(bucket) of bucket 0 and neither returned nor yielded it, so psbench never ran it: write "return self.server.push_pull(bucket)"'),
            (forgets_to_yield, 'hook half, reduce: RuntimeError: it made self.default.broadcast(bucket) of bucket 0 and neither returned nor yielded it, so psbench never ran it: write "yield self.default.broadcast(bucket)"'),
            (lambda self, state, bucket: 3, "hook half, reduce: TypeError: it returns 3: it must return None, or an operation such as self.group.average(bucket), or be a generator of operations"),
            (lambda self, state, bucket: (yield bucket.values), "hook half, reduce: TypeError: it yields a ndarray: it must yield operations, such as self.group.average(bucket)"),
            (lambda self, state, bucket: self.group.average(bucket.values), "hook half, reduce: TypeError: an operation is on a bucket, not on float32 [1]: give it the one that reduce was given"),
            (lambda self, state, bucket: psbench.Operation(psbench.Bucket(psbench.BucketSpec(3), bucket.values), 0x6B),
             "hook half, reduce: ValueError: it was given <bucket 0: 1 elements> and asks for an operation on <bucket 3: 0 elements>: each reduction is of its own bucket"),
            (lambda self, state, bucket: bucket.set_rows(1), "hook half, reduce: ValueError: a dense gradient has no rows to set"),
            (lambda self, state, bucket: exit(3), "hook half, reduce: SystemExit: 3"),
        ]
        for reduce, want in cases:
            with self.subTest(want), contextlib.redirect_stderr(io.StringIO()) as log:
                with Companion(type("Bad", (Half,), {"reduce": reduce}), buckets=[dense(1)]) as c:
                    c.host.tensor(4, 0, np.float32([1]))
                    answer = c.host.call(0x68, bucket=0)
                    if answer.op != 0x63:
                        answer = c.host.call(0x70, bucket=0, arg=answer.op)
                    self.assertEqual((answer.op, answer.payload.decode()), (0x63, want))
                self.assertIn("Traceback", log.getvalue())
                if "it is" in want:
                    self.assertNotIn("process.py", log.getvalue())

    def test_a_link_that_was_not_named(self):
        class Unlinked(psbench.Hook):
            key = "unlinked"

        with self.assertRaisesRegex(AttributeError, 'hook unlinked has no link "group": name it in links'):
            Unlinked().group  # noqa: B018
