"""A plugin whose hook does something forbidden, selected by MODE. test_plugin runs it."""

import os
import sys
import threading
import time

import psbench

if os.environ.get("MODE") == "closed":
    os.close(1)


class Bad(psbench.Hook):
    key = "bad"

    def setup(self):
        mode = os.environ["MODE"]
        if mode == "setup":
            raise ValueError("not today")
        if mode in ("print", "closed"):
            print("printed by setup")
            os.write(1, b"written to 1\n")
        if mode == "left":
            threading.Thread(target=time.sleep, args=(60,), name="lingerer").start()
        if mode == "exit in setup":
            sys.exit("usage")
        if mode == "exit of a thread":
            thread = threading.Thread(target=sys.exit)
            thread.start(), thread.join()
        if mode == "thread":
            threading.Thread(target=lambda: 1 / 0, name="divider").start()

    def reduce(self, state, bucket):
        mode = os.environ["MODE"]
        if mode == "fork":
            os.fork()  # parent and child both return
        if mode == "print and exit":
            print("the last words")
            os._exit(7)
        if mode == "exit":
            os._exit(7)
        if mode == "lost":
            self._role.process._dispatch = None  # simulates an error in psbench
        if mode == "hang":
            time.sleep(60)

    def close(self):
        if os.environ["MODE"] == "close":
            time.sleep(60)


class Twin(Bad):
    pass


class Keyless(psbench.Hook):
    pass


class Unset(Bad):
    class Settings:
        share: float = 1


class Averge(Bad):
    answers = "averge"


class Wordless(Bad):
    answers = "own"


if __name__ == "__main__":
    psbench.serve(*[globals()[name] for name in sys.argv[1:]])
