# shellcheck shell=bash
# Hosts for the tests: some of them on this machine. Sourced by a script that runs as root in a PID and a mount namespace
# of its own (hosts_alone); what happens in there ends with it.
#
#   mpit-a, mpit-b   each with its own host name, network (10.77.0.1, 10.77.0.2; the first one has the switch), /dev/shm,
#                    /tmp and IPC namespace. The rest of the file system is shared. hosts_names has others, if wanted.
#
#   hosts_possible            whether namespaces are permitted here; else a reason in $hosts_refused
#   hosts_open DIRECTORY KEPT makes the hosts, with what they need in DIRECTORY, which is below the directory KEPT; that
#                             is shared also where it is below /tmp. DIRECTORY/private is each host's own.
#   hosts_on HOST COMMAND...  runs it there
#   hosts_die HOST            kills all that runs there
#   mpirun_on MPI HOST:SLOTS,... sets $mpirun: the launcher of processes on these hosts
#   $hosts_agent              a launch agent in place of ssh: HOST WORDS...; like sshd, with an environment that has PATH
#                             and HOME alone

: "${hosts_names:=mpit-a mpit-b}"

hosts_possible() {
    if [ "$(id -u)" != 0 ]; then
        hosts_refused="needs root"
    elif ! command -v unshare >/dev/null || ! command -v nsenter >/dev/null || ! command -v setpriv >/dev/null ||
        ! command -v ip >/dev/null; then
        hosts_refused="needs unshare, nsenter, setpriv and ip (util-linux, iproute2)"
    elif ! hosts_refused=$(timeout 20 unshare --pid --fork --kill-child=KILL --mount --mount-proc unshare --net --uts \
        --ipc --mount sh -c 'mount -t tmpfs none /dev/shm && hostname mpit-try && ip link add mpit0 type veth peer name mpit1 && ip link add mpit2 type bridge' \
        2>&1 >/dev/null); then
        hosts_refused="namespaces are not permitted here: $hosts_refused"
    else
        hosts_refused=
        return 0
    fi
    return 1
}

# Runs a command in the namespaces that hold the hosts. All processes in there end when this shell ends, or the command.
hosts_alone() {
    setpriv --pdeathsig KILL unshare --pid --fork --kill-child=KILL --mount --mount-proc "$@" &
    hosts_namespace=$!
    wait $hosts_namespace
}
# Ends everything in there, and returns when it has ended.
hosts_end() {
    local first
    [ -n "${hosts_namespace:-}" ] || return
    for first in $(cat "/proc/$hosts_namespace/task/$hosts_namespace/children" 2>/dev/null); do
        kill -KILL "$first"
    done
    wait "$hosts_namespace" 2>/dev/null
}

hosts_open() {
    hosts_directory=$1 hosts_agent=$1/agent
    local host number=0
    mkdir "$1/private"
    echo '127.0.0.1 localhost' >"$1/hosts"
    for host in $hosts_names; do
        number=$((number + 1))
        echo "10.77.0.$number $host" >>"$1/hosts"
    done
    cat >"$1/host" <<'END_OF_HOST'
#!/bin/bash
# DIRECTORY KEPT NAME
set -e
mount --make-rprivate /
hostname "$3"
mount -t tmpfs tmpfs /dev/shm
exec 9<"$2"
mount -t tmpfs tmpfs /tmp
mkdir -p "$2"
mount --no-canonicalize --bind /proc/self/fd/9 "$2"
exec 9<&-
mount --bind "$1/hosts" /etc/hosts
mount -t tmpfs tmpfs "$1/private"
ip link set lo up
touch "$1/$3.ready"
sleep infinity &
wait
END_OF_HOST
    cat >"$hosts_agent" <<'END_OF_AGENT'
#!/bin/bash
here=$(dirname "$0")
while [[ $1 == -* ]]; do shift; done
host=$1
shift
exec nsenter -t "$(cat "$here/$host.pid")" -n -m -u -i env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root \
    bash -c "cd; echo \"$host \$\$ \$(env | wc -l)\" >>'$here/agent.log'; $*"
END_OF_AGENT
    chmod +x "$1/host" "$hosts_agent"
    for host in $hosts_names; do
        unshare --net --mount --uts --ipc "$1/host" "$1" "$2" "$host" &
        echo $! >"$1/$host.pid"
        disown # its end is not told
    done
    for host in $hosts_names; do
        hosts_wait test -e "$1/$host.ready" || return
    done
    hosts_network || return
    for host in $hosts_names; do # the ends learn of each other a little later
        hosts_wait hosts_on "$host" sh -c "ip -o link show eth0 | grep -Eq 'LOWER_UP.* state (UP|UNKNOWN)'" || return
    done
}

# The first host has a switch, and a cable to each of the others.
hosts_network() {
    local host number=1 first=${hosts_names%% *}
    hosts_on "$first" ip link add eth0 type bridge && hosts_on "$first" ip addr add 10.77.0.1/24 dev eth0 &&
        hosts_on "$first" ip link set eth0 up || return
    for host in ${hosts_names#* }; do
        number=$((number + 1))
        hosts_on "$first" ip link add "cable$number" type veth peer name eth0 netns "$(cat "$hosts_directory/$host.pid")" &&
            hosts_on "$first" ip link set "cable$number" master eth0 up &&
            hosts_on "$host" ip addr add "10.77.0.$number/24" dev eth0 && hosts_on "$host" ip link set eth0 up || return
    done
}

hosts_wait() {
    for _ in $(seq 200); do
        "$@" && return
        sleep 0.05
    done
    return 1
}

hosts_die() {
    local place process
    place=$(readlink "/proc/$(cat "$hosts_directory/$1.pid")/ns/uts")
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/ns/uts" 2>/dev/null)" != "$place" ] || kill -KILL "${process#/proc/}" 2>/dev/null
    done
}

hosts_on() {
    local host=$1
    shift
    nsenter -t "$(cat "$hosts_directory/$host.pid")" -n -m -u -i --wd="$PWD" "$@"
}

# The launcher's words.
mpirun_on() {
    case $1 in
    openmpi)
        mpirun=(mpirun.openmpi --mca btl_tcp_if_include eth0)
        if [ "$openmpi_version" = 4 ]; then
            mpirun+=(--mca plm_rsh_agent "$hosts_agent" --mca oob_tcp_if_include eth0)
        else
            export PRTE_MCA_plm_ssh_agent=$hosts_agent PRTE_MCA_prte_if_include=eth0
        fi
        mpirun+=(--host "$2")
        ;;
    mpich) mpirun=(mpirun.mpich -launcher ssh -launcher-exec "$hosts_agent" -hosts "$2") ;;
    esac
}
