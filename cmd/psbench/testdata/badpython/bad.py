"""A plugin whose parts do harm, as their setting says: in the batch that follows batch 3, unless it is
about another time."""

import dataclasses
import os
import sys
import threading
import time

import numpy as np
import psbench

if "printing" in sys.argv:
    print("loading the library", flush=True)
    os.system("echo the banner of a child")
    print("no end of line", end="")
    sys.stdout = open(os.devnull, "w")
if "leaving" in sys.argv:
    sys.exit("no more")


@dataclasses.dataclass
class Settings:
    harm: str = psbench.setting("", "what harm is done")


class Hook(psbench.Hook):
    key = "bad"
    links = ("group",)
    Settings = Settings

    def setup(self):
        self.kept = None
        self.does("setup")

    def reset(self):
        self.does("reset")

    def reduce(self, state, bucket):
        if state.batch == 3:
            if self.does("reduce") is not None:
                return bucket.values
        elif self.kept is not None:
            self.kept[:] = 7
        self.kept = bucket.values if self.settings.harm == "keeps" else None
        return self.group.average(bucket)

    def close(self):
        self.does("close")

    def does(self, method):
        harm = self.settings.harm
        if harm == method:
            raise RuntimeError(f"no more of {method}")
        if method != "reduce":
            return
        if harm == "exits":
            os._exit(3)
        elif harm == "hangs":
            time.sleep(1000)
        elif harm == "threads":
            for _ in range(3):
                threading.Thread(target=time.sleep, args=(1000,)).start()
        elif harm == "forks":
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)
        elif harm == "forked":
            os.fork()  # both go on
        elif harm == "prints":
            for _ in range(10_000):
                print("0|0|unix|/nowhere|grpc")
        elif harm == "grows":
            self.memory = np.ones(1 << 30)
        elif harm == "answers":
            return harm


class Server(psbench.SynchronousServer):
    key = "bad"
    Settings = Settings

    def combine(self, gradients):
        harm = self.settings.harm
        if harm == "shape":
            return gradients[0][:-1]
        if harm == "dtype":
            return ["a"] * len(gradients[0])
        return gradients[0]


class Model(psbench.Model):
    key = "bad"
    Settings = Settings

    def parameters(self):
        return [psbench.Parameter("w", (1,))]

    def inputs(self):
        return psbench.Inputs(rows=300, classes=300)

    def initialize(self, seed):
        self.values[0][:] = 1

    def forward(self, batch):
        shape = (batch.size - 1, 300) if self.settings.harm == "shape" else (batch.size, 300)
        return np.zeros(shape, complex if self.settings.harm == "dtype" else np.float32)

    def backward(self, output_gradient, emit):
        self.gradients[0].values[:] = 0
        emit(0)
        if self.settings.harm == "twice":
            emit(0)


psbench.serve(Hook, Server, Model)
