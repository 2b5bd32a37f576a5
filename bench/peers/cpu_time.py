#!/usr/bin/env python3
"""Runs a command and then prints one JSON line: the user and system CPU time in seconds, of the command and
of all processes that it started and waited for.

The exit status is the command's.
"""
import json
import resource
import subprocess
import sys


def main(command):
    if not command:
        sys.exit("cpu_time.py: no command: name it and its arguments")
    try:
        status = subprocess.call(command)
    except OSError as e:
        sys.exit(f"cpu_time.py: cannot start {command[0]}: {e.strerror}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"cpu_s": round(used.ru_utime + used.ru_stime, 6)}))
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
