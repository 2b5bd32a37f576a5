#!/usr/bin/env bash
# up.sh: a throw-away Slurm cluster on one machine, for tests and CI (Debian 12, no systemd).
#   up.sh [NODES=2] [CPUS_PER_NODE=8]
# Every node is a network, UTS, PID and mount namespace with its own IP, hostname and /etc/hosts. slurmctld and
# the login node share one more. $D/login CMD... runs a command on the login node, $D/on NODE CMD... on a node.
#   D=FOLDER     folder of the cluster's state, /tmp/psbench-slurm by default; each cluster needs its own
#   P=PREFIX     prefix of its namespaces
#   RATE=, WIRE= configure its links, see 5
#   OWNER=FD     a pipe: once no process has its write end open, because the owner was killed, the cluster is removed
set -euo pipefail
# proctrack/cgroup (cgroup v1 freezer, as hybrid VMs have) also ends daemonised orphans; linuxproc does not
if [ -z "${PROCTRACK:-}" ]; then
  if [ -w /sys/fs/cgroup/freezer ]; then PROCTRACK=proctrack/cgroup; else PROCTRACK=proctrack/linuxproc; fi; fi
NODES=${1:-2}; CPUS=${2:-8}; D=${D:-/tmp/psbench-slurm}; NET=${NET:-10.77.0}
P=${P:-psb}
[ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)

# 1. requirements ------------------------------------------------------------------------------------------
for tool in slurmctld slurmd srun munged ip tc nsenter unshare; do
  command -v $tool >/dev/null || { echo "$tool is missing: apt-get install slurmctld slurmd slurm-client munge iproute2 util-linux" >&2; exit 1; }
done

# 2. start from a clean state -----------------------------------------------------------------------------------
D=$D P=$P "$here/down.sh" >/dev/null 2>&1 || true
mkdir -p "$D"/{state,spool,log,run}; chmod 755 "$D"
if [ -n "${OWNER:-}" ]; then
  D=$D P=$P setsid bash -c 'cat; exec "$1"' bash "$here/down.sh" <&"$OWNER" >/dev/null 2>&1 & echo $! >"$D/run/owner.pid"
  eval "exec $OWNER<&-"
fi

# 3. munge: own key, own socket (a munged already running on the machine is left alone) --------------------
dd if=/dev/urandom of="$D/munge.key" bs=128 count=1 status=none; chmod 600 "$D/munge.key"
munged --key-file="$D/munge.key" --socket="$D/run/munge.socket" --pid-file="$D/run/munged.pid" \
       --log-file="$D/log/munged.log" --seed-file="$D/run/munged.seed" --force 2>>"$D/log/munged.start"

# 4. config -----------------------------------------------------------------------------------------------
cat >"$D/slurm.conf" <<CONF
ClusterName=psb
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$D/run/munge.socket
CredType=cred/munge
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool/%n
SlurmctldPidFile=$D/run/slurmctld.pid
SlurmdPidFile=$D/run/slurmd.%n.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd.%n.log
SlurmctldPort=16817
ProctrackType=$PROCTRACK
TaskPlugin=${TASKPLUGIN:-task/none}
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,defer
SlurmdParameters=config_overrides
JobCompType=jobcomp/filetxt
JobCompLoc=$D/log/jobcomp.txt
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=${SLURMD_TIMEOUT:-10}
MessageTimeout=5
InactiveLimit=0
KillWait=${KILL_WAIT:-5}
OverTimeLimit=0
MinJobAge=300
MaxArraySize=10001
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONF
echo "CgroupPlugin=cgroup/v1" >"$D/cgroup.conf"     # read only if a cgroup plugin is configured
{ echo "127.0.0.1 localhost"; } >"$D/hosts"
echo "SlurmctldHost=login($NET.254)" >>"$D/slurm.conf"
echo "SlurmdPort=16818" >>"$D/slurm.conf"
echo "$NET.254 login" >>"$D/hosts"
for i in $(seq $NODES); do
  echo "NodeName=node$i NodeAddr=$NET.$i CPUs=$CPUS RealMemory=2000 State=UNKNOWN" >>"$D/slurm.conf"
  echo "$NET.$i node$i" >>"$D/hosts"
done

# 5. network ----------------------------------------------------------------------------------------------
# RATE=1gbit          tbf on the port of every node and of the switch (in the kernel; no delay)
# WIRE="-delay 1ms -rate 1e9 -mtu 9000 -loss 0.001"   userspace router instead of bridge and veth (without sch_netem);
#                     PSB_WIRE is its binary, built from ./wire
ip netns add $P-login; ip -n $P-login link set lo up
for i in $(seq $NODES); do ip netns add $P-node$i; ip -n $P-node$i link set lo up; done
if [ -n "${WIRE:-}" ]; then
  args=("$P-login=$NET.254"); for i in $(seq $NODES); do args+=("$P-node$i=$NET.$i"); done
  mkfifo "$D/wire"
  PSB_D=$D setsid "$PSB_WIRE" -control "$D/wire" $WIRE "${args[@]}" >"$D/log/wire.out" 2>&1 </dev/null & echo $! >"$D/run/wire.pid"
  for _ in $(seq 100); do grep -q ready "$D/log/wire.out" && break; sleep 0.05; done
else
  ip -n $P-login link add br0 type bridge
  ip -n $P-login addr add $NET.254/24 dev br0
  ip -n $P-login link set br0 up
  for i in $(seq $NODES); do
    ip -n $P-login link add p$i type veth peer name eth0 netns $P-node$i
    ip -n $P-login link set p$i master br0 up
    ip -n $P-node$i addr add $NET.$i/24 dev eth0
    ip -n $P-node$i link set eth0 up
    if [ -n "${RATE:-}" ]; then
      tc -n $P-node$i qdisc add dev eth0 root tbf rate $RATE burst 256kb latency 50ms
      tc -n $P-login  qdisc add dev p$i  root tbf rate $RATE burst 256kb latency 50ms
    fi
  done
fi

# 6. helpers: $D/login CMD..., $D/on NODE CMD... ----------------------------------------------------------
export SLURM_CONF=$D/slurm.conf
cat >"$D/login" <<L
#!/bin/sh
# runs CMD as on the login node
export SLURM_CONF=$D/slurm.conf
exec nsenter --net=/run/netns/$P-login unshare --uts --mount --propagation private \
  sh -c 'hostname login; mount --bind $D/hosts /etc/hosts; exec "\$@"' sh "\$@"
L
cat >"$D/on" <<L
#!/bin/sh
# runs CMD inside node \$1, in all its namespaces
n=\$1; shift; export SLURM_CONF=$D/slurm.conf
exec nsenter --target \$(cat $D/run/\$n.init) --net --uts --mount --pid -- "\$@"
L
chmod +x "$D/login" "$D/on"

# 7. daemons ----------------------------------------------------------------------------------------------
setsid "$D/login" slurmctld -D -c >>"$D/log/slurmctld.out" 2>&1 </dev/null & echo $! >"$D/run/slurmctld.wrap"
for i in $(seq $NODES); do "$here/node.sh" "$D" "$P" node$i; done

# 8. wait until every node is idle ------------------------------------------------------------------------
for _ in $(seq 150); do
  n=$("$D/login" sinfo -h -N -o %T 2>/dev/null | grep -cx idle || true)
  [ "$n" = "$NODES" ] && { echo "slurm up: $NODES nodes; SLURM_CONF=$D/slurm.conf; run: $D/login srun -N$NODES hostname"; exit 0; }
  sleep 0.2
done
echo "slurm did not come up" >&2; "$D/login" sinfo -N -l >&2 || true; tail -n 20 "$D"/log/* >&2; exit 1
