#!/bin/bash
# slurmhosts.sh SCRIPT BUILD ARGUMENT...
#
# Runs a Python script that makes a Slurm of two nodes (slurmcluster.py). As root, and where namespaces are permitted, the
# nodes are hosts of their own (hosts.sh): the script runs in the network of the first, with their names and processes in
# SLURM_TEST_HOSTS, and there are users user1 to user5. Else it runs as it is, and has two nodes on this host.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/hosts.sh"

if [ "$1" != inside ]; then
    build=$(cd "${2:?usage: slurmhosts.sh SCRIPT BUILD ARGUMENT...}" && pwd) || exit 2
    hosts_possible || exec python3 "$@"
    shared=$(mktemp -d "$build/mpit-slurm.XXXXXX") || exit 2
    chmod 755 "$shared" # for all users
    trap 'hosts_end; rm -rf "$shared"' EXIT
    trap 'exit 130' INT TERM HUP
    hosts_alone bash "$0" inside "$shared" "$build" "$@"
    exit $?
fi
shared=$2 build=$3
shift 3
mount --make-rprivate / || exit 2
# users of the test alone
(cat /etc/passwd && for number in 1 2 3 4 5; do echo "user$number:x:6420$number:65534::/tmp:/bin/sh"; done) >"$shared/passwd" &&
    mount --bind "$shared/passwd" /etc/passwd || exit 2
hosts_open "$shared" "$build" || exit 2
a=$(cat "$shared/mpit-a.pid") b=$(cat "$shared/mpit-b.pid")
for host in $hosts_names; do
    hosts_on "$host" mkdir "$shared/private/spool" "$shared/private/tmp" || exit 2
done
exec nsenter -t "$a" -n -u env SLURM_TEST_PRIVATE="$shared/private" SLURM_TEST_HOSTS="mpit-a=$a=10.77.0.1 mpit-b=$b=10.77.0.2" \
    python3 "$@"
