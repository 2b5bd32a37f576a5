import contextlib
import io
import unittest

import numpy as np

import psbench

from .double import Companion, Frame, dense, sparse

ASKED, ROWS, COUNTS = 25, 26, 27


class Answering(psbench.Hook):
    key = "answering"
    answers = "own"
    says = staticmethod(lambda exchange: None)

    def answer(self, exchange):
        return self.says(exchange)


class AnsweringServer(psbench.Server):
    key = "answering"
    answers = "own"

    def answer(self, exchange):
        return exchange.gradients[exchange.rank]


class AnswerTest(unittest.TestCase):
    def ask(self, c, says, values, rows=None, counts=(0, 0, 0), bucket=0, rank=1):
        """Queries the answer for two trainers. Returns the part's answer and the memory."""
        c.service._role.part.says = says
        values = c.host.tensor(ASKED, 0, np.float32(values))
        rows = rows if rows is None else c.host.tensor(ROWS, 0, np.int32(rows))
        counts = c.host.tensor(COUNTS, 0, np.int64(counts))
        return c.host.call(0x65, batch=5, bucket=bucket, arg=rank, arg2=2), values, rows, counts

    def test_operations_on_what_was_changed(self):
        def half(exchange):
            for g in exchange.gradients:
                g.values *= 0.5
            return exchange.average()

        with Companion(Answering, buckets=[dense(2)]) as c:
            said, values, _, _ = self.ask(c, half, [2, 4, 6, 8, 0, 0, 77])
            self.assertEqual(said, Frame(0x65, batch=5, bucket=0, arg=0x6B))
            self.assertEqual(values.tolist(), [1, 2, 3, 4, 0, 0, 77])
            for says, op in ((lambda x: x.sum(), 0x6A), (lambda x: x.push_pull(), 0x69)):
                self.assertEqual(self.ask(c, says, [2, 4, 6, 8, 0, 0])[0].arg, op)

    def test_an_array(self):
        with Companion(Answering, buckets=[dense(2)]) as c:
            said, values, _, _ = self.ask(c, lambda x: np.mean([g.values for g in x.gradients], axis=0, dtype=float), [2, 4, 6, 8, 0, 0])
            self.assertEqual((said.arg, values[4:].tolist()), (0, [4, 6]))

    def test_rows(self):
        seen = []

        def says(exchange):
            seen.extend((g.rows.tolist(), g.values.tolist()) for g in exchange.gradients)
            exchange.gradients[0].set_rows(0)
            return np.float32([[7, 8]]), [3]

        with Companion(Answering, buckets=[sparse(10, 2, 2)]) as c:
            said, values, rows, counts = self.ask(c, says, range(12), [1, 4, 6, 0, 0, 0], [2, 1, 0])
            self.assertEqual(seen, [([1, 4], [[0, 1], [2, 3]]), ([6], [[4, 5]])])
            self.assertEqual((said.arg, values[8:10].tolist(), rows[4], counts.tolist()), (0, [7, 8], 3, [0, 1, 1]))

    def test_a_server_gives_a_gradient(self):
        with Companion(AnsweringServer, buckets=[sparse(10, 2, 2)]) as c:
            said, values, rows, counts = self.ask(c, None, range(12), [1, 4, 6, 0, 0, 0], [2, 1, 0])
            self.assertEqual((said.arg, values[8:10].tolist(), rows[4], counts.tolist()), (0, [4, 5], 6, [2, 1, 1]))

    def test_what_is_no_answer_ends_the_run(self):
        for says, want in (
            (lambda x: None, "TypeError: batch 5, bucket 0 is answered with a NoneType: it must be exchange.average(), another operation of it, "
             "one of its gradients, an array of float32, or of a sparse bucket a pair (values, rows)"),
            (lambda x: np.zeros(3, np.float32), "ValueError: batch 5, bucket 0 is answered with [3]: it must be [2]"),
            (lambda x: (np.zeros(2, np.float32), [1]), "ValueError: batch 5, bucket 0 is dense: its answer has no rows"),
        ):
            with self.subTest(want), contextlib.redirect_stderr(io.StringIO()), Companion(Answering, buckets=[dense(2)]) as c:
                said = self.ask(c, says, [2, 4, 6, 8, 0, 0])[0]
                self.assertEqual((said.op, said.payload.decode()), (0x63, f"hook answering, answer: {want}"))


if __name__ == "__main__":
    unittest.main()
