"""Run with: python3 -m unittest discover bench"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402


class Modules(harness.Compare):
    """Torch modules under psbench, compared with torch itself."""

    def test_data_parallel_beside_ddp(self):
        status, out, err = self.measured("module", "--processes", "2", "--epochs", "2")
        self.assertEqual(status, 0, err)
        lines = self.lines(out)
        # ours: 11, 12 ms; theirs: 30, 31 and 20, 21 ms.
        self.assertEqual(lines[0][1:], ["reference, batch 10", "871 (833..909)", "PyTorch reference", "328 (323..333)",
                                        "2.66 (2.58..2.73)", "1.5", "yes (2/2)"])
        self.assertEqual([line[1] for line in lines],
                         ["reference, batch 10", "wide mlp, batch 50", "convnet, batch 50", "wide mlp", "convnet"])
        self.assertEqual(lines[3][2:], ["2.00 (2.00..2.00)", "1.50 (1.50..1.50)"])
        for command in ("--nserver 1 --server average --ddp-hook rpc --model wide_mlp --data idx --set data.held_out=0 --batch-size 50",
                        "peers/wide_mlp.py --lr 0.01 --hook rpc --trainers 2 --batch 50 --samples 2000 --epochs 2 --threads 1",
                        "torch_ps.py --hook rpc --server average --trainers 2 --batch 10"):
            self.assertIn(command, out)

    def test_one_trainer_beside_a_step_of_torch(self):
        status, out, err = self.measured("modulestep", "--processes", "1")
        self.assertEqual(status, 0, err)
        lines = self.lines(out)
        # ours: 10 ms; theirs: 12 ms, 10.5 ms.
        self.assertEqual([line[3] for line in lines[:3]], ["PyTorch reference", "PyTorch wide mlp", "PyTorch convnet"])
        self.assertEqual([line[5] for line in lines[:3]], ["1.20 (1.20..1.20)", "1.05 (1.05..1.05)", "1.05 (1.05..1.05)"])
        for command in ("--ntrainer 1 --nserver 0 --ddp-hook noop --model reference_model", "torch_step.py --batch 10",
                        "convnet.py --lr 0.01 --hook none --trainers 1"):
            self.assertIn(command, out)

    def test_what_is_no_comparison_is_refused(self):
        for broken, message in (("losses", "wide mlp has a last loss from 1.5 to 1.6 on the two sides"),
                                ("threads", "psbench's models computed with [('1.13', '2')] of torch and threads")):
            with self.subTest(broken):
                self.out = os.path.join(self.folder, broken)
                status, out, err = self.measured("module", "--processes", "1", broken=broken)
                self.assertEqual((status, out), (1, ""))
                self.assertIn(message, err)


if __name__ == "__main__":
    unittest.main()
