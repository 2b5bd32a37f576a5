"""Run with: python3 -m unittest discover bench"""
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import harness  # noqa: E402

BUSY = "import time\nwhile time.process_time() < 0.3: pass"
PARENT = f"import subprocess, sys; subprocess.call([sys.executable, '-c', {BUSY!r}]); sys.exit(5)"


class Launching(harness.Compare):
    """The work that launches many ranks."""

    def test_a_process_is_compared_with_one_of_eight_trainers(self):
        status, out, err = self.measured("launch", "--processes", "2", "--trainers", "2,8,128")
        self.assertEqual(status, 0, err)
        lines = self.lines(out)
        self.assertEqual([line[:3] for line in lines], [
            [str(n), hook, str(n + 2 + (hook == "rpc"))] for hook in ("noop", "rpc", "allreduce") for n in (2, 8, 128)])
        self.assertEqual(lines[0][4:], ["30.0 (30.0..30.0)", "-", "-"])
        self.assertEqual(lines[2][4:], ["30.0 (30.0..30.0)", "1.00 (1.00..1.00)", "yes (2/2)"])
        # 158 ms of 38 ms; a group has no target.
        self.assertEqual(lines[8][4:], ["158 (158..158)", "4.16 (4.16..4.16)", "-"])
        for command in ("--ntrainer 2 --nserver 0 --ddp-hook noop --model BatchUpdateModel --data dense",
                        "--nserver 1 --server average --ddp-hook rpc", "--nserver 0 --ddp-hook allreduce"):
            self.assertIn(command, out)

    def test_a_turn_has_all_counts(self):
        status, _, err = self.measured("launch", "--processes", "2", "--trainers", "2,8")
        self.assertEqual(status, 0, err)
        with open(os.path.join(self.out, "launch.jsonl")) as f:
            ran = [(r["turn"], r["trainers"], r["program"]) for r in map(json.loads, f)]
        hooks = ["noop", "rpc", "allreduce"]
        self.assertEqual(ran, [(turn, n, hook) for turn in (0, 1) for n in (2, 8)
                               for hook in hooks[turn:] + hooks[:turn]])

    def test_a_run_without_its_cpu_time_is_refused(self):
        status, out, err = self.measured("launch", "--processes", "1", "--trainers", "2", broken="cpu")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("cpu_time.py left 0 lines instead of 1", err)


class CPUTime(unittest.TestCase):
    """Runs the real script that measures CPU time."""

    def run_script(self, *argv):
        done = subprocess.run([sys.executable, os.path.join(HERE, "peers", "cpu_time.py"), *argv],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    def test_counts_the_grandchildren(self):
        status, (line,), err = self.run_script(sys.executable, "-c", PARENT)
        self.assertEqual((status, err), (5, ""))
        self.assertGreaterEqual(line["cpu_s"], 0.3)

    def test_a_command_that_does_not_start(self):
        status, lines, err = self.run_script("nowhere/psbench")
        self.assertEqual((status, lines), (1, []))
        self.assertIn("cannot start nowhere/psbench", err)


if __name__ == "__main__":
    unittest.main()
