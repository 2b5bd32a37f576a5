"""The section of a work: the machine, the programs and their commands, then its tables."""
import json
import shlex

from programs import Failure
from tables import LOUD, counts, loud_turns


def load(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def only(facts, what, pick):
    """The common value of all facts, which must be the same."""
    values = {pick(f) for f in facts}
    if len(values) != 1:
        raise Failure(f"the results are of more than one {what}: {', '.join(map(str, sorted(values)))}")
    return values.pop()


def machine(records):
    ours = [r["about"]["environment"] for r in records if "environment" in r["about"]]
    return only(ours, "machine or build", lambda env: (
        f"{env['cpu']}, {env['cores']} cores, {env['memory_mib']} MiB, {env['os']}/{env['arch']}, "
        f"kernel {env['kernel']}; psbench {env['psbench']}, commit {env['commit']}, {env['go']}"))


def libraries(records):
    return ", ".join(dict.fromkeys(r["about"]["library"] for r in records if "library" in r["about"]))


def loud(records):
    """The turns marked because other processes used much of the CPU, e.g. '2 trainers: 3, 5'."""
    by_trainers = {t: sorted(turn + 1 for turn in loud_turns(records, t)) for t in counts(records)}
    return "; ".join(f"{t} trainers: {', '.join(map(str, turns))}" for t, turns in by_trainers.items() if turns)


def caption(records):
    count = max(r["turn"] for r in records) + 1
    foreign = sum(r["foreign_share"] * r["wall_s"] for r in records) / sum(r["wall_s"] for r in records)
    facts = [machine(records), libraries(records),
             f"from {min(r['started'] for r in records)}, in turn, {count} of each for every count of trainers; others "
             f"used {foreign:.1%} of the CPU time, {max(r['foreign_share'] for r in records):.1%} at most"]
    if loud(records):
        facts.append(f"**loud turns**, in which others used more than {LOUD:.0%} of the CPU time during a process: "
                     f"{loud(records)}")
    if count < 5:
        facts.append("**fewer than five processes: a trial, not a comparison**")
    return "".join(f"- {fact}\n" for fact in facts if fact)


def commands(records):
    """One command of each program, with its variables, for the first number of trainers."""
    first = {}
    for r in records:
        first.setdefault(r["program"], (r["env"], r["command"]))
    common = dict(set.intersection(*(set(env.items()) for env, _ in first.values())))
    lines = [f"export {' '.join(f'{k}={v}' for k, v in sorted(common.items()))}"]
    for env, command in first.values():
        own = [f"{k}={v}" for k, v in sorted(env.items()) if k not in common]
        lines.append(" ".join([*own, shlex.join(command)]))
    return "```sh\n" + "\n".join(lines) + "\n```\n"


def section(work, records):
    """The section; it leaves out tables of programs that did not run."""
    tables = [t.markdown(records) for t in work.tables]
    return "\n".join([f"### {work.title}\n", caption(records), commands(records), *filter(None, tables)])
