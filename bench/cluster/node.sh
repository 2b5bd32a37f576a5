#!/usr/bin/env bash
# node.sh D PREFIX NODE: (re)starts one namespaced slurmd.  Its init is bash, which reaps orphans;
# kill -9 of the pid in D/run/NODE.init takes every process of the node with it (a crash).
set -euo pipefail
D=$1 P=$2 n=$3
mkdir -p "$D/spool/$n"
setsid nsenter --net=/run/netns/$P-$n unshare --uts --mount --propagation private --pid --fork --kill-child --mount-proc \
  env SLURM_CONF="$D/slurm.conf" bash -c '
    hostname "$1"; mount --bind "$2/hosts" /etc/hosts
    [ -z "${PRIVATE_TMP:-}" ] || mount -t tmpfs tmpfs /var/tmp
    slurmd -D -N "$1" & wait $!' bash "$n" "$D" >>"$D/log/slurmd.$n.out" 2>&1 </dev/null &
w=$!
for _ in $(seq 50); do   # the pid of the namespace init = the only child of the unshare
  c=$(pgrep -P $w || true); [ -n "$c" ] && { echo $c >"$D/run/$n.init"; exit 0; }; sleep 0.02; done
exit 1
