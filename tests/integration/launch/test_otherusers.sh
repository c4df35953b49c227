#!/bin/bash
# Several users on one machine: root looks at all jobs, others at their own, and no user gets at the figures or the
# tools of another one. Needs root, which becomes the users daemon and nobody.
# Usage: test_otherusers.sh BUILD_DIRECTORY
samples=$(cd "$(dirname "$0")/../../samples" && pwd)
. "$(dirname "$0")/../common/tooltest.sh"

if [ "$(id -u)" != 0 ] || ! setpriv --reuid daemon --clear-groups true 2>/dev/null; then
    skip "several users" "only root can become other users"
    verdict
    exit
fi
chmod 755 "$work"
mkdir place && cp -r "$build/bin" "$build/lib" place # where all users can read it
mkdir home && chown daemon home
PATH=$work/place/bin:$PATH
daemon=(setpriv --reuid daemon --regid daemon --clear-groups env HOME="$work/home")
nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
for mpi in mpich openmpi; do
    has $mpi && break
done
built $mpi waits ring

# ended PROCESS: ends it, one that was started here
ended() {
    kill "$1"
    wait "$1"
}
# waits_for PATTERN COMMAND...: until its output has a line like that
waits_for() {
    local pattern=$1
    shift
    for _ in $(seq 100); do
        "$@" >out 2>err </dev/null
        grep -Eq "$pattern" out && return
        sleep 0.1
    done
    return 1
}

echo "# a job of daemon's, and root's tools"
"${daemon[@]}" SLURM_JOB_ID=4711 mpit-run --quiet --output home/run "./waits-$mpi" >job.out 2>&1 </dev/null &
job=$!
info="^mpit_job_info\{.*program=\"[^\"]*waits-$mpi\".*user=\"daemon\",scheduler=\"slurm\",scheduler_job=\"4711\""
check "the metrics of a named run say whose it is" waits_for "$info" mpit-exporter --once home/run

check "root's exporter finds it" waits_for "$info" mpit-exporter --once --by job --variables ''
gives "  with --own it does not" 0 mpit-exporter --once --own --by job --variables ''
says_not out "waits-$mpi"
gives "  nor does that of another user" 0 "${nobody[@]}" mpit-exporter --once --all-users --by job --variables ''
says_not out "waits-$mpi"
tells "  that of the job's user does" 0 out "$info" "${daemon[@]}" mpit-exporter --once --by job --variables ''
unit=$build/share/site/systemd/mpit-exporter.service
if setpriv --bounding-set -all true 2>/dev/null; then # as the service has it
    capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr ' ' '\n' | sed 's/CAP_/,+/' | tr -d '\n' | tr '[:upper:]' '[:lower:]')
    gives "  root's with the capabilities of the service does" 0 setpriv --bounding-set "-all$capabilities" \
        mpit-exporter --once --by job --variables ''
    says out "$info"
fi
if command -v systemd-analyze >/dev/null; then
    sed "s|^ExecStart=[^ ]*|ExecStart=$work/place/bin/mpit-exporter|" "$unit" >mpit-exporter.service
    gives "systemd knows all that the service says" 0 systemd-analyze verify --man=no "$work/mpit-exporter.service"
    check "  and has no remark" [ ! -s err ]
else
    skip "the service of systemd" "there is no systemd-analyze"
fi
live=$(find /dev/shm -name '*.mpit' -user daemon -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2)
mkdir copied && cp "$live" copied/host.1.mpit && chown nobody copied/host.1.mpit
gives "jobs of two users that have one number are two jobs" 0 mpit-exporter --once --by job "$live" copied/host.1.mpit
says out '^mpit_job_info\{job="[0-9a-f]{16}",'
says out '^mpit_job_info\{job="[0-9a-f]{16}-[0-9]+",'
check "mpit-top --all-users finds it" waits_for "waits-$mpi  of daemon  1 of 1 ranks running" \
    mpit-top --all-users --once --interval 0.1
gives "  and says the user in JSON" 0 mpit-top --all-users --once --json --interval 0.1
check "  of the one job" python3 -c "import json
assert 'daemon' in [job['user'] for job in json.load(open('out'))['jobs'] if job['program'].endswith('waits-$mpi')]"
timeout 20 mpit-top --once --interval 0.1 >out 2>err </dev/null
status=$?
check "  without the option root sees its own jobs, if it has any (status $status)" \
    sh -c '[ "$1" -le 1 ] && cat out err | grep . && ! grep "waits-$0" out' $mpi $status

echo "# files that may not be read"
mkdir closed
for number in 1 2; do
    xzcat "$samples/run/plain.mpit.xz" >closed/host.$number.mpit
done
chmod 600 closed/*
tells "mpit-exporter" 1 out '^mpit_exporter_processes_unreadable 2$' "${nobody[@]}" mpit-exporter --once closed
one_says 1 'closed/host\.[12]\.mpit cannot be opened: Permission denied \(and the same for 1 others\)'
gives "mpit-top" 1 "${nobody[@]}" mpit-top --once --interval 0.1 closed
one_says 1 'closed/host\.[12]\.mpit cannot be opened: Permission denied \(and the same for 1 others\)'
gives "mpit-top --json" 1 "${nobody[@]}" mpit-top --once --json --interval 0.1 closed
one_says 1 'closed/host\.[12]\.mpit cannot be opened: Permission denied \(and the same for 1 others\)'
chmod 644 closed/*
tells "  and when they may" 0 out '^mpit_exporter_processes_unreadable 0$' "${nobody[@]}" mpit-exporter --once closed

echo "# directories that others can change"
"${daemon[@]}" mkdir -m 755 home/mine && mkdir -m 1777 sticky && mkdir -m 777 everybody
"${daemon[@]}" mkdir -m 777 sticky/open && "${daemon[@]}" mkdir -m 1777 sticky/keeps && "${daemon[@]}" ln -s "$work/everybody" sticky/link
gives "one of another user" 0 "${nobody[@]}" mpit-run --output "$work/sticky/open" sh -c 'echo ran'
one_says 1 "note: the output directory .*/sticky/open belongs to another user, so this run is written to .*/sticky/open.1"
says out '^ran$'
gives "  with --strict" 2 "${nobody[@]}" mpit-run --strict --output "$work/sticky/open" sh -c 'echo ran'
one_says 1 "the output directory .*/sticky/open belongs to another user; name a new one"
says_not out ran
for folder in sticky/open sticky/keeps sticky/link everybody; do # without mpit-run
    "${nobody[@]}" env LD_PRELOAD="$work/place/lib/libmpit.so" MPIT_OUTPUT="$work/$folder" "./ring-$mpi" >out 2>err </dev/null
    if [ $folder = everybody ]; then
        check "one of root's gets results" [ "$(find everybody -name '*.mpit' | wc -l)" = 1 ]
        while pgrep -f "mpit-collect --handover .*everybody" >/dev/null; do sleep 0.1; done # flushes it, and removes the spool
        rm everybody/*
    else
        check "$folder gets no results" [ -z "$(find everybody sticky -name '*.mpit')" ]
        one_says 1 "$folder.*Operation not permitted"
    fi
done
gives "one of root's for root" 0 mpit-run --output everybody true
one_says 1 "note: the output directory everybody can be written by every user"
gives "one of daemon's for root" 0 mpit-run --output home/mine true
one_says 1 "note: the output directory home/mine belongs to user daemon"
gives "  for daemon it is fine" 0 "${daemon[@]}" mpit-run --strict --output home/mine true
says_not err "can replace"
gives "a new one in a directory like /tmp is fine" 0 "${nobody[@]}" mpit-run --strict --output "$work/sticky/run" true
says_not err "can replace"

echo "# files that another user has put there"
mkdir mixed
xzcat "$samples/run/plain.mpit.xz" >mixed/host.1.mpit
xzcat "$samples/run/counters.mpit.xz" >mixed/host.2.mpit
xzcat "$samples/run/summary.mpit.xz" >mixed/forged.mpit 2>/dev/null
jobs() { python3 -c 'import json, sys; print(len(json.load(open("out"))["jobs"]))'; }
gives "all of one user" 0 mpit-dump --json mixed
all=$(jobs)
chown nobody mixed/host.2.mpit mixed/forged.mpit
gives "some of another one" 1 mpit-dump --json mixed
one_says 1 "mixed/(host.2.mpit|forged.mpit) is left out: it belongs to user nobody, not to the owner of the directory"
one_says 1 "mixed: 1 more files of other users are left out"
check "  the others are shown" [ "$(jobs)" = 1 ]
gives "  also of a directory of theirs" 1 "${daemon[@]}" mpit-dump --json "$work/mixed"
check "  the owner's" [ "$(jobs)" = 1 ]
gives "  but for the one whose files they are" 0 "${nobody[@]}" mpit-dump --json "$work/mixed"
gives "  and with --any-owner" 0 mpit-dump --json --any-owner mixed
check "  all $all" [ "$(jobs)" = "$all" ]
gives "  and one that is named" 0 mpit-dump mixed/host.2.mpit

ended $job
verdict
