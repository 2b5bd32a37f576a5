#!/usr/bin/env bash
# node.sh D PREFIX NODE: (re)starts one slurmd in its own namespaces. Its init is bash, which reaps orphans.
# kill -9 of the pid in D/run/NODE.init ends every process of the node (a crash).
set -euo pipefail
D=$1 P=$2 n=$3
mkdir -p "$D/spool/$n"
setsid nsenter --net=/run/netns/$P-$n unshare --uts --mount --propagation private --pid --fork --kill-child --mount-proc \
  env SLURM_CONF="$D/slurm.conf" bash -c '
    hostname "$1"; mount --bind "$2/hosts" /etc/hosts
    [ -z "${PRIVATE_TMP:-}" ] || mount -t tmpfs tmpfs /var/tmp
    slurmd -D -N "$1" & wait $!' bash "$n" "$D" >>"$D/log/slurmd.$n.out" 2>&1 </dev/null &
w=$!
for _ in $(seq 50); do   # the init of the namespace is the only child of unshare
  c=$(pgrep -P $w || true); [ -n "$c" ] && { echo $c >"$D/run/$n.init"; exit 0; }; sleep 0.02; done
exit 1
