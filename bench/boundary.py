#!/usr/bin/env python3
"""Measures the cost of running a part in a separate process beside its trainer, and whether a foreign
trainer is as fast as ddp. Prints Markdown tables.

The cases run in turn, in random order. Each run gives the median (p50) of its iterations; the tables show
the median and the quartiles over all runs. A foreign trainer is a trainer that a registry file names:

    bench/boundary.py --runs 7
    bench/boundary.py --runs 11 --registry copy/registry.json --trainer mine
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MLP = ["--data", "dense", "--model", "mlp", "--set", "model.sizes=[100,32,4]", "--iterations", "3000"]
PARTS = ["none", "criterion", "model", "criterion,model", "hook"]
WORLDS = {"0, 2": ["--nserver", "0", "--ntrainer", "2"], "1, 1": ["--nserver", "1", "--ntrainer", "1"]}
MODELS = {"default": ["--iterations", "20", "--warmup", "5"], "mlp": [*MLP, "--warmup", "500"]}


def run(psbench, flags):
    """(p50 of an iteration, p50 of a no-op call by companion), in us"""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "run.json")
        subprocess.run([psbench, "--quiet", *flags, "--json", file], check=True, stdout=subprocess.DEVNULL)
        with open(file, encoding="utf-8") as f:
            result = json.load(f)
    whole = [ns for s in result["series"] if s["type"] == "batch_level_metric" for ns in s["duration_ns"]]
    calls = [p["boundary_ns"] / 1e3 for p in result["processes"] if p.get("boundary_ns")]
    return statistics.median(whole) / 1e3, statistics.median(calls) if calls else None


def short(x):
    """three digits: 5.71, 68.5, 88300"""
    return f"{float(f'{x:.3g}'):g}"


def spread(values):
    """'5.7 (4.0..6.6)': median and quartiles"""
    if len(values) < 2:
        return short(values[0]) if values else ""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{short(middle)} ({short(low)}..{short(high)})"


def in_turn(psbench, cases, runs):
    """by case: the result of run for each of its runs"""
    found = {case: [] for case in cases}
    for _ in range(runs):
        for case in random.sample(sorted(cases), len(cases)):
            found[case].append(run(psbench, cases[case]))
    return found


def boundary(psbench, runs):
    flags = [*MLP, "--warmup", "500", "--nserver", "0", "--ntrainer", "1"]
    found = in_turn(psbench, {p: flags + ([] if p == "none" else ["--isolate", p]) for p in PARTS}, runs)
    base = statistics.median(whole for whole, _ in found["none"])
    print("| isolated | no-op call, us | iteration, us | added, us |\n| --- | --- | --- | --- |")
    for part in PARTS:
        whole, calls = [w for w, _ in found[part]], [c for _, c in found[part] if c is not None]
        added = "" if part == "none" else short(statistics.median(whole) - base)
        print(f"| {part.replace(',', ' and ')} | {spread(calls)} | {spread(whole)} | {added} |")


def trainers(psbench, runs, registry, key):
    chosen = {"ddp": [], key: ["--registry", registry, "--trainer", key]}
    cases = {(m, w, t): MODELS[m] + WORLDS[w] + chosen[t] for m in MODELS for w in WORLDS for t in chosen}
    found = in_turn(psbench, cases, runs)
    print(f"| model | servers, trainers | ddp, us | {key}, us |\n| --- | --- | --- | --- |")
    for model in MODELS:
        for world in WORLDS:
            columns = " | ".join(spread([w for w, _ in found[model, world, t]]) for t in chosen)
            print(f"| {model} | {world} | {columns} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--psbench", default=os.path.join(HERE, "..", "bin", "psbench"))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--registry", help="of a foreign trainer, which is measured instead")
    parser.add_argument("--trainer", help="its key")
    args = parser.parse_args()
    if bool(args.registry) != bool(args.trainer):
        parser.error("--registry and --trainer go together")
    if args.registry:
        trainers(args.psbench, args.runs, args.registry, args.trainer)
    else:
        boundary(args.psbench, args.runs)


if __name__ == "__main__":
    sys.exit(main())
