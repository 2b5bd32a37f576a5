#!/usr/bin/env bash
# down.sh: removes the cluster of up.sh. It touches only processes that up.sh recorded, and its namespaces.
set -uo pipefail
D=${D:-/tmp/psbench-slurm}; P=${P:-psb}
# the process must still be ours: its environment or command line names D
ours() { [ -n "${1:-}" ] && [ -d /proc/$1 ] && { tr '\0' '\n' </proc/$1/environ; tr '\0' ' ' </proc/$1/cmdline; } 2>/dev/null | grep -F "$D" >/dev/null; }  # not -q: with pipefail, an early exit counts as a failure
stop() { ours "$1" || return 0; kill -${2:-TERM} "$1" 2>/dev/null; for _ in $(seq 20); do [ -d /proc/$1 ] || return 0; sleep 0.1; done; kill -KILL "$1" 2>/dev/null; }
owner=$(cat "$D/run/owner.pid" 2>/dev/null || true)   # watches for the owner's death; may be this script itself
[ "$owner" = $$ ] || stop "$owner" KILL
for f in "$D"/run/*.init; do [ -e "$f" ] && stop "$(cat "$f")" KILL; done
[ -e "$D/run/slurmctld.wrap" ] && stop "$(cat "$D/run/slurmctld.wrap")" TERM
[ -e "$D/run/wire.pid" ] && stop "$(cat "$D/run/wire.pid")" TERM
[ -e "$D/run/munged.pid" ] && stop "$(cat "$D/run/munged.pid")" TERM
for ns in $(ip netns list 2>/dev/null | awk '{print $1}' | grep "^$P-"); do
  kill -KILL $(ip netns pids "$ns") 2>/dev/null   # srun processes of a killed owner
  ip netns del $ns; done
for n in $(sed -n 's/^NodeName=\([^ ]*\).*/\1/p' "$D/slurm.conf" 2>/dev/null); do   # empty cgroups that slurmd leaves
  find /sys/fs/cgroup/*/slurm_$n -depth -type d -exec rmdir {} + 2>/dev/null; done
rm -rf "$D"
echo "slurm down"
