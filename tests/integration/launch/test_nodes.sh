#!/bin/bash
# test_nodes.sh BUILD_DIR
#
# Jobs that span two hosts (hosts.sh), on both MPIs, started by their own launchers over a launch agent that gives the
# remote daemons an empty environment: one job, recorded whole, with a sound archive; from launchers that mpit-run starts
# and from scripts; and what is said where a host's part is missing.
# Where namespaces are not permitted it is skipped (exit status 77), and says so.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common/verdict.sh"
. "$here/hosts.sh"

if [ "${2:-}" != inside ]; then
    if ! hosts_possible; then
        skip "jobs on several hosts" "$hosts_refused"
        verdict
        exit
    fi
    shared=$(mktemp -d "$build/mpit-nodes.XXXXXX") || exit 2
    trap 'hosts_end; rm -rf "$work" "$shared"' EXIT
    trap 'exit 130' INT TERM HUP
    hosts_alone bash "$0" "$build" inside "$shared"
    exit $?
fi
rm -rf "$work"
trap - EXIT
work=$3 # the hosts share it
cd "$work" || exit 2
unset LD_PRELOAD "${!MPIT_@}" PRTE_MCA_rmaps_default_mapping_policy PRTE_MCA_mapby # each host gets its two processes
export UCX_NET_DEVICES=eth0 UCX_TLS=tcp,self # the kernel is one, and UCX would copy from process to process

# gives NAME STATUS COMMAND...: on mpit-a, with what it prints in the files out and err
gives() {
    local name=$1 wanted=$2 status
    shift 2
    hosts_on mpit-a env ${preload:+LD_PRELOAD="$preload"} timeout --kill-after=5 60 "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    if [ "$status" = "$wanted" ]; then ok "$name"; else
        (echo "status $status, wanted $wanted" && cat "$work/err" "$work/out") >"$work/check.log"
        not_ok "$name" "$work/check.log"
    fi
}
says() {
    if grep -Eq -- "$2" "$work/$1"; then ok "  $1 says: $2"; else not_ok "  $1 says: $2" "$work/$1"; fi
}
script() {
    printf '%s\n' "#!/bin/bash" "${@:2}" >"$1"
    chmod +x "$1"
}

# files COUNT: so many run files of each host are in the run directory
files() {
    local host
    unpacked "$run"
    for host in $hosts_names; do
        if [ "$(find "$work/unpacked" -name "$host.*.mpit" | wc -l)" != "$1" ]; then
            ls "$run" "$work/unpacked"
            return 1
        fi
    done
}

# whole COUNT: the run is so many jobs, each with all its four ranks
whole() {
    "$build/bin/mpit-dump" --json "$run" >"$work/summary.json" 2>"$work/dump.err" || return 1
    cat "$work/dump.err"
    [ ! -s "$work/dump.err" ] && python3 -c '
import json, sys
jobs = json.load(open(sys.argv[1]))["jobs"]
found = [(job["ranks"], job["world_size"]) for job in jobs]
assert found == [(4, 4)] * int(sys.argv[2]), found' "$work/summary.json" "$1"
}

archive() { "$build/tests/otf2judge" --json "$run/otf2" >"$work/check.json"; }

# programs COUNT: so many processes of the archive began and ended, on both hosts
programs() {
    otf2-print "$run/otf2/traces.otf2" >"$work/events" || return 1
    otf2-print -G "$run/otf2/traces.otf2" >"$work/definitions" || return 1
    grep -cE '^PROGRAM_(BEGIN|END) ' "$work/events" | grep -qx $((2 * $1)) &&
        grep -q mpit-a "$work/definitions" && grep -q mpit-b "$work/definitions"
}

# traced NAME: the run, made with --otf2, is whole, and so is its archive
traced() {
    check "  $1: two run files of each host" files 2
    check "  $1: one job with four ranks" whole 1
    check "  $1: replay equals the counters" "$build/bin/mpit-dump" --verify "$run"
    check "  $1: archive is sound" archive
    check "  $1: archive equals the counters" python3 "$here/../common/trace_compare.py" "$work/summary.json" "$work/check.json"
    check "  $1: archive has four programs, on both hosts" programs 4
    rm -rf "$run"
}

# What a process has where it runs: HOST:[MINE]:[LD_PRELOAD], and how often mpit is mapped into the daemon above it.
# shellcheck disable=SC2016
seen='echo "$(hostname):[${MINE:-}]:[${LD_PRELOAD:-}]:$(grep -c libmpit /proc/$PPID/maps)"'
everywhere() {
    local host
    for host in $hosts_names; do says out "^$host:$1"; done
}

programs_started() {
    local mpi=$1
    gives "$mpi: heat without mpit" 0 "${mpirun[@]}" -n 4 "${heat[@]}"
    mv "$work/out" "$work/native"
    gives "$mpi: heat with --otf2" 0 "${record[@]}" --otf2 "${mpirun[@]}" -n 4 "${heat[@]}"
    check "  prints the same" diff "$work/native" "$work/out"
    check "  without a word" test ! -s "$work/err"
    traced heat
    gives "$mpi: traffic, which counts for itself, with --otf2" 0 "${record[@]}" --otf2 "${mpirun[@]}" -n 4 \
        "$build/tests/traffic-$mpi" 7 40
    traced traffic
    gives "$mpi: heat without a trace" 0 "${record[@]}" "${mpirun[@]}" -n 4 "${heat[@]}"
    check "  no run files are left" files 0
    check "  but one summary" test "$(find "$run" -name '*.mpit' | wc -l)" = 1
    check "  of one job with four ranks" whole 1
    rm -rf "$run"
    if several_contexts $mpi; then
        gives "$mpi: two programs in one job" 0 "${record[@]}" "${mpirun[@]}" -n 2 "${heat[@]}" : -n 2 "${heat[@]}"
        check "  are one job with four ranks" whole 1
        rm -rf "$run"
    else
        skip "$mpi: two programs in one job" "its launcher crashes, without mpit, too"
    fi
    gives "$mpi: what daemons and programs have" 0 "${record[@]}" "${mpirun[@]}" -n 4 bash -c "$seen"
    everywhere "\[\]:\[[^:]*/libmpit\.so${preload:+:$preload}\]:"
    says out "^mpit-b:.*:0$"
}

scripts_started() {
    local mpi=$1
    script job "${mpirun[*]} -n 4 ${heat[*]}"
    gives "$mpi: a script, with --otf2" 0 "${record[@]}" --otf2 ./job
    check "  prints the same" diff "$work/native" "$work/out"
    traced script
    local second="-n 4 ${heat[*]}"
    if several_contexts $mpi; then second="-n 2 ${heat[*]} : -n 2 ${heat[*]}"; fi
    script job "${mpirun[*]} -n 4 ${heat[*]}" "MPIT_REDUCE=0 ${mpirun[*]} $second"
    gives "$mpi: a script with two jobs" 0 "${record[@]}" ./job
    check "  are two jobs of four ranks" whole 2
    rm -rf "$run"
    script job "export MPIT_DISABLE=1" "${mpirun[*]} -n 4 ${heat[*]}"
    gives "$mpi: a script that turns recording off" 0 "${record[@]}" ./job
    check "  prints the same" diff "$work/native" "$work/out"
    says err "no MPI process recorded"
    script job "export MPIT_TRACE=1" "${mpirun[*]} -n 4 ${heat[*]}"
    gives "$mpi: a script that asks for a trace" 0 "${record[@]}" ./job
    check "  two run files of each host" files 2
    check "  replay equals the counters" "$build/bin/mpit-dump" --verify "$run"
    rm -rf "$run"
    script job "${mpirun[*]} -n 4 bash -c '$seen'"
    gives "$mpi: what daemons and programs of a script have" 0 "${record[@]}" ./job
    everywhere "\[\]:\[[^:]*/libmpit\.so${preload:+:$preload}\]:"
    says out "^mpit-b:.*:0$"
}

# Each process has an mpit-run of its own, on both hosts.
behind() {
    local mpi=$1 run=$work/behind
    gives "$mpi: mpit-run behind the launcher, and a variable that reaches some" 0 env MPIT_REDUCE=1 "${mpirun[@]}" -n 4 \
        "$build/bin/mpit-run" --quiet --output "$run" --otf2 "${heat[@]}"
    check "  prints the same" diff "$work/native" "$work/out"
    traced behind
    if [ $mpi = mpich ]; then
        gives "$mpi: behind the launcher, without --output" 0 "${mpirun[@]}" -n 4 "$build/bin/mpit-run" "${heat[@]}"
        says err "a launcher started 4 processes like this one.*: name the directory for all of them with --output"
        return
    fi
    gives "$mpi: behind the launcher, without --output" 0 "${mpirun[@]}" -n 4 "$build/bin/mpit-run" "${heat[@]}"
    run=$work/$(sed -n 's/^mpit-run: recorded in \([^ ;]*\);.*/\1/p' "$work/err")
    check "  one job with four ranks" whole 1
    rm -rf "$run"
}

# The run directory is on a file system that each host has for itself.
apart() {
    local mpi=$1 run=$work/private/$1
    gives "$mpi: a run directory that the hosts do not share" 0 "$build/bin/mpit-run" --quiet --trace --output "$run" \
        "${mpirun[@]}" -n 4 "${heat[@]}"
    check "  prints the same" diff "$work/native" "$work/out"
    says err "has files of only 2 of the 4 processes of a job: ranks 2-3 are missing \(the files are from mpit-a\)"
    gives "  said by mpit-dump, too" 0 "$build/bin/mpit-dump" "$run"
    says err "ranks 2-3 are missing"
    says out "ranks +4, 2 of them recorded on "
    gives "$mpi: the same without a trace" 0 "$build/bin/mpit-run" --output "$run-2" "${mpirun[@]}" -n 4 "${heat[@]}"
    says err "ranks +4(,| on )"
    mpirun_on "$mpi" mpit-b:2
    gives "$mpi: the same, all processes elsewhere" 0 "$build/bin/mpit-run" --output "$run-3" "${mpirun[@]}" -n 2 \
        "${heat[@]}"
    says err "no MPI process recorded: .*other hosts"
    mpirun_on "$mpi" mpit-a:2,mpit-b:2
}

# Each rank in a PID namespace of its own (containers.py).
contained() {
    local line
    mpirun_on "$1" mpit-a:2
    cp "$here/containers.py" "$here/../common/livefiles.py" "$work" # the hosts see the build and no other part of the tree
    hosts_on mpit-a env ${preload:+LD_PRELOAD="$preload"} timeout --kill-after=5 240 python3 "$work/containers.py" "$build" \
        "$1" "$work" "${mpirun[@]}" -n 2 >"$work/said" 2>&1 || echo "not ok containers.py ended with status $?" >>"$work/said"
    while read -r line; do
        case $line in
        "ok "*) ok "$1: ${line#ok }" ;;
        "not ok "*) not_ok "$1: ${line#not ok }" ;;
        *) echo "    $line" ;;
        esac
    done <"$work/said"
    mpirun_on "$1" mpit-a:2,mpit-b:2
}

# Open MPI forwards nothing by itself; what users do about that must go on working in a script.
openmpi_ways() {
    local way ours="\[[^:]*/libmpit\.so\]" before="\[[^:]*/libmpit\.so:"
    printf -- '-x MINE=tuned\n' >tuned
    for way in "-x MINE=word" "--mca mca_base_env_list MINE=word" "--tune $work/tuned"; do
        script job "${mpirun[*]} $way -n 4 bash -c '$seen'"
        gives "a script with ${way%% /*}" 0 "${record[@]}" ./job
        everywhere "\[(word|tuned)\]:$ours"
    done
    script job "${mpirun[*]} -x LD_PRELOAD=libm.so.6 -n 4 bash -c '$seen'"
    gives "a script that preloads a library of its own" 0 "${record[@]}" ./job
    everywhere "\[\]:${before}libm\.so\.6\]"
    script job "${mpirun[*]} -x MPIT_TRACE=1 -n 4 ${heat[*]}"
    gives "a script with -x MPIT_TRACE=1" 0 "${record[@]}" ./job
    check "  two run files of each host" files 2
    rm -rf "$run"
    [ "$openmpi_version" = 4 ] || return
    script own 'export MINE=agent' 'exec "$@"'
    script job "${mpirun[*]} -n 4 bash -c '$seen'"
    for way in "" env_list; do # with a list of the user mpit's own agent is above it
        gives "a fork agent of the user's ${way:+and a list}" 0 env ${way:+OMPI_MCA_mca_base_$way=A=1} \
            OMPI_MCA_orte_fork_agent="$work/own" "${record[@]}" ./job
        everywhere "\[agent\]:\[[^:]*/libmpit\.so\]"
    done
    script job "${mpirun[*]} --mca orte_fork_agent $work/own -n 4 ${heat[*]}"
    gives "a fork agent on the line" 0 "${record[@]}" ./job
    check "  prints the same" diff "$work/native" "$work/out"
    check "  one job with four ranks" whole 1
    rm -rf "$run"
    script job "${mpirun[*]} -n 4 ${heat[*]}"
    run="$work/a \$b\"c;d"
    for way in "" env_list; do
        gives "a run directory with a name that shells would take apart ${way:+and a list}" 0 \
            env ${way:+OMPI_MCA_mca_base_$way=A=1} "$build/bin/mpit-run" --quiet --output "$run" --trace ./job
        check "  two run files of each host" files 2
        rm -rf "$run"
    done
    run=$work/run
    script job "${mpirun[*]} -n 4 $work/no-such-program"
    hosts_on mpit-a ./job >"$work/native-err" 2>&1
    gives "a program that is not there" $? "${record[@]}" ./job
    says err "Executable: .*no-such-program"
}

# mpit is on one of the hosts alone. There is no way without the fork agent beside a list of the user: it ends the job.
openmpi_without_library() {
    script job "${mpirun[*]} -n 4 ${heat[*]}; echo \"ended with \$?\""
    hosts_on mpit-b mount -t tmpfs tmpfs "$build/lib"
    gives "a script, and a host without mpit" 0 "${record[@]}" ./job
    says out "^ended with 0$"
    says err "ranks 2-3 are missing"
    rm -rf "$run"
    if [ "$openmpi_version" = 4 ]; then
        gives "  with variables of its own in a list" 0 env OMPI_MCA_mca_base_env_list=MINE=1 "${record[@]}" ./job
        says out "^ended with ([1-9]|[1-9][0-9]|12[0-35-9])$"
        says err "libmpit.so on mpit-b: No such file or directory; mpit must be at the same path on every node"
    fi
    hosts_on mpit-b umount "$build/lib"
    rm -rf "$run"
}

if ! hosts_open "$work" "$build"; then
    not_ok "two hosts can be made"
    verdict
    exit 1
fi
check "the hosts have names of their own" test "$(hosts_on mpit-b hostname)" = mpit-b
check "  a network" hosts_on mpit-a bash -c 'ip -o -4 addr | grep -q 10.77.0.1/ && ! ip -o -4 addr | grep -q 10.77.0.2/'
hosts_on mpit-a touch /dev/shm/seen /tmp/seen "$work/private/seen"
check "  and memory and files" hosts_on mpit-b test ! -e /dev/shm/seen -a ! -e /tmp/seen -a ! -e "$work/private/seen"
run=$work/run record=("$build/bin/mpit-run" --quiet --output "$work/run")
for mpi in openmpi mpich; do
    there_is heat || continue
    heat=("$build/tests/heat-$mpi" --rows 64 --columns 64 --steps 200)
    mpirun_on $mpi mpit-a:2,mpit-b:2
    # LD_PRELOAD of everything that is run: a repair of MPICH's (lateprogress.c), and a library that must stay preloaded
    preload=$([ $mpi = openmpi ] || echo "$build/tests/lateprogress.so")
    programs_started $mpi
    scripts_started $mpi
    behind $mpi
    apart $mpi
    contained $mpi
    if [ $mpi = openmpi ]; then
        openmpi_ways
        openmpi_without_library
    fi
done
check "daemons on the other host were given an environment of a few words" \
    sh -c "[ -s agent.log ] && ! cut -d' ' -f3 agent.log | grep -vx '[1-6]'"
verdict
