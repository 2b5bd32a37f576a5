#!/usr/bin/env python3
"""Hooks and servers that declare to average, or say themselves what they answer, and spoil it as
their setting says."""

import dataclasses
import time

import numpy as np
import psbench


@dataclasses.dataclass
class Settings:
    fault: str = psbench.setting("", "what is wrong")


def spoil(fault, g, trainers):
    v = g.values.reshape(-1)
    if fault == "last" and len(v):
        v[-1] += 1
    elif fault == "huge" and len(v) > 1000000:
        v[-1] += 1
    elif fault == "divide":
        v *= trainers / (trainers + 1)
    elif fault == "nan":
        with np.errstate(all="ignore"):
            v *= v / v
    elif fault == "row" and g.rows is not None and len(g.rows):
        g.set_rows(len(g.rows) - 1)
    elif fault == "slow":
        time.sleep(0.05)


class Hook(psbench.Hook):
    key = "spoilt"
    links = ("group",)
    answers = "mean"
    Settings = Settings

    def reduce(self, state, bucket):
        yield self.group.average(bucket)
        spoil(self.settings.fault, bucket, self.env.trainers)


class Asked(Hook):
    """Averages half of each gradient, and says so."""

    key = "asked"
    answers = "own"

    def reduce(self, state, bucket):
        bucket.values *= 0.5
        return super().reduce(state, bucket)

    def answer(self, exchange):
        for g in exchange.gradients:
            g.values *= 0.5
        return exchange.average()


class Pushing(psbench.Hook):
    """Gets what its server makes of twice the gradient, and says so."""

    key = "pushing"
    links = ("server",)
    answers = "own"

    def reduce(self, state, bucket):
        bucket.values *= 2
        return self.server.push_pull(bucket)

    def answer(self, exchange):
        for g in exchange.gradients:
            g.values *= 2
        return exchange.push_pull()


class Server(psbench.Server):
    key = "spoilt_server"
    answers = "mean"
    Settings = Settings

    def setup(self):
        self.pushed = {}

    def reset(self):
        self.pushed.clear()

    def receive(self, push):
        pushes = self.pushed.setdefault(push.key, [])
        pushes.append(push)
        if len(pushes) < self.env.trainers:
            return
        del self.pushed[push.key]
        first = pushes[0]
        if push.sparse:
            rows = np.unique(np.concatenate([p.rows for p in pushes]))
            total = np.zeros((len(rows), push.values.shape[1]), np.float32)
            for p in pushes:
                total[np.searchsorted(rows, p.rows)] += p.values
            first.set_rows(len(rows))
            first.rows[:], first.values[...] = rows, total
        else:
            for p in pushes[1:]:
                first.values += p.values
        first.values /= self.env.trainers
        spoil(self.settings.fault, first, self.env.trainers)
        for p in pushes[1:]:
            p.answer(first)
        first.answer()


class AskedServer(Server):
    """Averages, and says so by arrays."""

    key = "asked_server"
    answers = "own"

    def answer(self, exchange):
        gradients = exchange.gradients
        if not exchange.bucket.sparse:
            return np.mean([g.values for g in gradients], axis=0)
        rows = np.unique(np.concatenate([g.rows for g in gradients]))
        values = np.zeros((len(rows), exchange.bucket.width), np.float32)
        for g in gradients:
            values[np.searchsorted(rows, g.rows)] += g.values / len(gradients)
        return values, rows


if __name__ == "__main__":
    psbench.serve(Hook, Asked, Pushing, Server, AskedServer)
