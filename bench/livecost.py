#!/usr/bin/env python3
"""Measures whether --live makes a run slower. It runs pairs of the same run with and without --live, in
turn and in random order. Each live page has a reader. Finally, psbench compare compares the two sides.

    bench/livecost.py --out livecost                # 20 pairs
    bench/livecost.py --out livecost --budget 150   # no pair begins after 150 s; the same again goes on

Other arguments are flags of psbench run, for all runs.
"""
import argparse
import os
import random
import subprocess
import sys
import threading
import time
import urllib.request

ARMS = ("without", "with")


def read(url, got):
    """reads a live page and its events until the end"""
    with urllib.request.urlopen(url, timeout=30) as page:
        page.read()
    with urllib.request.urlopen(url + "events", timeout=30) as events:
        for line in events:
            got.append(line)


def run(psbench, flags, file, live):
    """writes the result of a run to a file atomically"""
    part = f"{file}.part.json"
    process = subprocess.Popen([psbench, "run", *flags, "--json", part] + ["--live"] * live, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    first, got, reader = process.stderr.readline(), [], None
    if live:
        reader = threading.Thread(target=read, args=(first.removeprefix("live page: ").strip(), got))
        reader.start()
    rest = process.stderr.read()
    if process.wait() != 0:
        sys.exit(f"livecost: a run ended with {process.returncode}: {first}{rest}")
    if live:
        reader.join()
        if not any(line == b"event: document\n" for line in got) or b'"ended":"it has ended"' not in got[-2]:
            sys.exit(f"livecost: the reader of a live page got {len(got)} lines and no end")
    os.rename(part, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--psbench", default="bin/psbench")
    parser.add_argument("--out", required=True, help="folder of the results")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds after which no pair begins")
    args, flags = parser.parse_known_args()
    flags = flags or ["--seconds", "3", "--warmup", "10"]
    start = time.monotonic()
    for arm in ARMS:
        os.makedirs(os.path.join(args.out, arm), exist_ok=True)
    files = {arm: [os.path.join(args.out, arm, f"{pair:02}.json") for pair in range(args.pairs)] for arm in ARMS}
    for pair in range(args.pairs):
        if all(os.path.exists(files[arm][pair]) for arm in ARMS):
            continue
        if time.monotonic() - start > args.budget:
            print(f"{pair} of {args.pairs} pairs are there; the same again goes on")
            return
        for arm in random.sample(ARMS, 2):
            run(args.psbench, flags, files[arm][pair], arm == "with")
    # All pairs are measured in one session, so differences between sessions do not matter.
    subprocess.run([args.psbench, "compare", "--session-noise", "0%", *files["without"], "--", *files["with"]], check=True)


if __name__ == "__main__":
    main()
