"""Runs the programs of a work in turn and keeps one JSON line per process."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from peers.quietrun import busy_and_total, own_seconds, settle
from programs import Failure

AVX512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl"}


def common_environment(cpuinfo="/proc/cpuinfo"):
    """The environment of every program: one compute thread and the same kernels.

    Older versions of OpenBLAS do not know newer CPUs. psbench itself requests the AVX-512 kernels, so
    PyTorch must get them too.
    """
    env = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with open(cpuinfo, encoding="utf-8") as f:
        flags = next((line.split(":")[1].split() for line in f if line.startswith("flags")), [])
    if AVX512 <= set(flags):
        env["OPENBLAS_CORETYPE"] = "SkylakeX"
    return env


def inherited_environment():
    """The caller's environment without variables that would change only psbench."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PSBENCH_")}


def execute(command, env, timeout):
    """(exit status, stdout, stderr). No process of the command outlives the call."""
    try:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
    except OSError as e:
        raise Failure(f"cannot start {command[0]}: {e.strerror}") from e
    try:
        out, err = process.communicate(timeout=timeout)
    except BaseException as e:
        # mpirun ends its ranks on SIGTERM, but not on SIGKILL.
        for sig in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, sig)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=5)
                break
        if isinstance(e, subprocess.TimeoutExpired):
            raise Failure(f"{' '.join(command)} took longer than {timeout:g} s") from e
        raise
    return process.returncode, out, err


def run_process(program, settings, trainers):
    """Runs one process of a program and returns its record, without work and turn."""
    leftover = settings.psbench_json()
    with contextlib.suppress(FileNotFoundError):
        os.remove(leftover)
    command = program.command(settings, trainers)
    env = common_environment() | program.environment()
    if settings.settle > 0:
        settle(0.05, settings.settle)
    began, own, (busy, total) = time.time(), own_seconds(), busy_and_total()
    status, out, err = execute(command, inherited_environment() | env, settings.timeout)
    own_after, (busy_after, total_after) = own_seconds(), busy_and_total()
    reason = ""
    try:
        rows, about = program.read(out, settings, trainers)
    except Failure as e:
        reason = str(e)
    except (OSError, LookupError, TypeError, ValueError) as e:
        reason = f"{program.name} left nothing that can be read ({e!r})"
    if reason or status:
        raise Failure(f"{reason or program.name + ' failed'}; exit status {status} of: {' '.join(command)}\n"
                      f"{err[-2000:]}".rstrip())
    with contextlib.suppress(FileNotFoundError):
        os.remove(leftover)
    foreign = (busy_after - busy) - (own_after - own)
    return {"program": program.name, "trainers": trainers, "command": command, "env": env,
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)),
            "wall_s": round(time.time() - began, 3),
            "foreign_share": round(max(0.0, foreign / max(total_after - total, 1e-9)), 4),
            "about": about, "rows": rows}


def run_quietly(program, settings, trainers):
    """Runs processes until other programs used little of the CPU during one, and returns that one. After so
    many tries, it returns the quietest. The choice does not depend on the measured values."""
    quietest = None
    for _ in range(settings.tries):
        record = run_process(program, settings, trainers)
        if quietest is None or record["foreign_share"] < quietest["foreign_share"]:
            quietest = record
        if record["foreign_share"] <= settings.max_foreign:
            break
    return quietest


def whole_records(path):
    """The records of an interrupted measurement. An incomplete last line is removed from the file."""
    with open(path, "r+", encoding="utf-8") as f:
        text = f.read()
        whole = text[:text.rfind("\n") + 1]
        f.truncate(len(whole.encode()))
    return [json.loads(line) for line in whole.splitlines()]


def measured_before(work, settings, path):
    """The (trainers, turn, program) of a resumed measurement. Its earlier processes must have had the same
    commands."""
    programs, before = {p.name: p for p in work.programs}, set()
    for record in whole_records(path):
        name, trainers = record["program"], record["trainers"]
        if name in programs and record["command"] != programs[name].command(settings, trainers):
            raise Failure(f"{path} has results of another command, {' '.join(record['command'])}: repeat its options "
                          "to resume, or choose another --out")
        before.add((trainers, record["turn"], name))
    return before


def turns(work, settings):
    """(trainers, turn, program) of all processes of a work, in their order.

    Each turn runs every program once. The first program of a turn is the second one of the next turn, so
    that no program profits from its position. The numbers of trainers run one after the other, unless the
    work mixes them; then each turn contains all of them.
    """
    rounds = [(n, t) for n in settings.trainers for t in range(settings.processes)]
    if work.mixed:
        rounds.sort(key=lambda r: r[1])
    for trainers, turn in rounds:
        programs = [p for p in work.programs if p.runs_with(trainers)]
        first = turn % len(programs)
        for program in programs[first:] + programs[:first]:
            yield trainers, turn, program


def measure(work, settings):
    """Runs all processes of a work; returns the path of its records."""
    path = os.path.join(settings.out, f"{work.name}.jsonl")
    before = set()
    if os.path.exists(path):
        if not settings.resume:
            raise Failure(f"{path} has results already: choose another --out, go on with --resume, or show them with "
                          "'table'")
        before = measured_before(work, settings, path)
    os.makedirs(settings.out, exist_ok=True)
    for program in work.programs:
        build = program.build(settings)
        if build:
            status, _, err = execute(build, inherited_environment(), settings.timeout)
            if status:
                raise Failure(f"{' '.join(build)} failed:\n{err.strip()}")
    with open(path, "a" if settings.resume else "x", encoding="utf-8") as f:
        for trainers, turn, program in turns(work, settings):
            if (trainers, turn, program.name) in before:
                continue
            record = run_quietly(program, settings, trainers)
            f.write(json.dumps({"work": work.name, "turn": turn} | record) + "\n")
            f.flush()
            print(f"{work.name}, trainers {trainers}, turn {turn + 1} of {settings.processes}: "
                  f"{program.name}, {record['wall_s']:.1f} s, {record['foreign_share']:.1%} used by others",
                  file=sys.stderr)
    return path
