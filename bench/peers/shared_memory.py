#!/usr/bin/env python3
"""Runs a command and then prints one JSON line: the peak resident shared memory of each process of this
session, in KiB by process id.

The shared memory consists of psbench's segments (memfd). The kernel does not record its peak, so this
program reads it every 5 ms. The exit status is the command's.
"""
import contextlib
import json
import os
import subprocess
import sys

INTERVAL = 0.005    # seconds


def members(session):
    """The process ids of a session."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.getsid(int(pid)) == session:
                yield pid


def shared_kib(pid):
    """The current resident shared memory of a process; 0 if it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8") as f:
        for line in f:
            if line.startswith("RssShmem:"):
                return int(line.split()[1])
    return 0


def main(command):
    if not command:
        sys.exit("shared_memory.py: no command: name it and its arguments")
    session, peaks = os.getsid(0), {}
    try:
        process = subprocess.Popen(command)
    except OSError as e:
        sys.exit(f"shared_memory.py: cannot start {command[0]}: {e.strerror}")
    while True:
        try:
            status = process.wait(INTERVAL)
            break
        except subprocess.TimeoutExpired:
            for pid in members(session):
                peaks[pid] = max(peaks.get(pid, 0), shared_kib(pid))
    print(json.dumps({"shared_kib": {pid: kib for pid, kib in peaks.items() if kib}}))
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
