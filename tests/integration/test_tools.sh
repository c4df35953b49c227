#!/bin/bash
# What mpit-run, mpit-dump and mpit-list promise on the command line: messages, exit statuses, which MPI is chosen,
# what reaches the program. Usage: test_tools.sh BUILD_DIRECTORY
set -u

build=$(cd "${1:?the build directory is missing}" && pwd) || exit 2
PATH=$build/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LC_ALL=C.UTF-8
export OMPI_MCA_rmaps_base_oversubscribe=1
unset LD_PRELOAD "${!MPIT_@}"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
passed=0 failed=0

ok() {
    passed=$((passed + 1))
    echo "ok - $1"
}
not_ok() {
    failed=$((failed + 1))
    echo "not ok - $1"
    sed 's/^/#   /' out err 2>/dev/null | head -20
}
# gives NAME STATUS COMMAND...: runs it, with what it prints in the files out and err
gives() {
    local name=$1 wanted=$2 status
    shift 2
    timeout 120 "$@" >out 2>err </dev/null
    status=$?
    if [ "$status" = "$wanted" ]; then ok "$name (status $wanted)"; else
        echo "status $status, wanted $wanted" >>err
        not_ok "$name"
    fi
}
# says FILE PATTERN: the last command's out or err has a line like it
one_says() { check "  $1 line(s) of err: $2" [ "$(grep -Ec -- "$2" err)" = "$1" ]; }
says() {
    if grep -Eq -- "$2" "$1"; then ok "  $1 says: $2"; else not_ok "  $1 says: $2"; fi
}
says_not() {
    if grep -Eq -- "$2" "$1"; then not_ok "  $1 does not say: $2"; else ok "  $1 does not say: $2"; fi
}
check() {
    local name=$1
    shift
    if "$@" >check.log 2>&1; then ok "$name"; else
        sed 's/^/#   /' check.log | head -20
        not_ok "$name"
    fi
}
has() { [ -e "$build/lib/libmpit-$1.so" ] && command -v "mpicc.$1" >/dev/null && command -v "mpirun.$1" >/dev/null; }
script() {
    printf '%s\n' "#!/bin/sh" "${@:2}" >"$1"
    chmod +x "$1"
}

cat >ring.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char *argv[])
{
    int rank, size, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1)
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &token, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d of %d\n", rank, size);
    fflush(stdout);
    if (argc > 2)
        abort();
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
END

cat >names.c <<'END'
#include <mpi.h>
int main(int argc, char *argv[])
{
    int token = 0, other;
    MPI_Comm comms[6] = {MPI_COMM_WORLD};
    MPI_Init(&argc, &argv);
    for (int i = 1; i < 6; i++)
        MPI_Comm_split(comms[i - 1], 0, 0, &comms[i]);
    for (int i = 0; i < 6; i++) {
        MPI_Sendrecv(&token, 1, MPI_INT, 0, 30000, &other, 1, MPI_INT, 0, 30000, comms[i], MPI_STATUS_IGNORE);
        MPI_Reduce_scatter_block(MPI_IN_PLACE, &token, 1, MPI_INT, MPI_SUM, comms[i]);
    }
    MPI_Finalize();
    return 0;
}
END
cat >waits.c <<'END'
#include <mpi.h>
int main(int argc, char *argv[])
{
    char byte;
    MPI_Init(&argc, &argv);
    MPI_Recv(&byte, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return 0;
}
END
cat >late.c <<'END'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char *argv[])
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (rank == 1 && access(argv[1], F_OK) != 0)
        usleep(10000);
    MPI_Finalize();
    return 0;
}
END
cat >fall.c <<'END'
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char *argv[])
{
    int rank, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        atoi(argv[1]) < 0 ? abort() : _exit(atoi(argv[1]));
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* for what never comes */
    MPI_Finalize();
    return 0;
}
END
cat >hang.c <<'END'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char *argv[])
{
    int rank, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) { /* for what never comes */
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sleep(1); /* the other one is in its call by then */
    _exit(3);
}
END
cat >aligned.py <<'END'
# The columns of an event list stand where its head says: each of the words below ends, or begins, in one column.
import sys
head, *lines = open(sys.argv[1]).read().splitlines()
assert lines, "no events"
comm, peer, size = head.index("communicator"), head.index("peer") + 4, head.index("bytes") + 5
deepest = 0
for line in lines:
    if not line[:5].strip():
        continue  # what belongs to a call
    name = line[comm:].split()[0]
    deepest = max(deepest, len(name))
    assert line[comm - 1] == " " and line[comm + len(name)] == " ", line
    assert line[peer - 1] != " " and line[peer] == " ", line
    assert line[size - 1] != " " and line[size:size + 1] in ("", " "), line
assert deepest >= len(sys.argv[2]), "no name is as long as " + sys.argv[2]
END
# fortran MPI: its programs are recorded as those in C are (test_languages.sh has more)
fortran() {
    command -v gfortran >/dev/null && command -v "mpif90.$1" >/dev/null || return
    local module
    for module in mpi mpi_f08; do
        printf '%s\n' "use $module" "integer :: error" "call MPI_Init(error)" "call MPI_Finalize(error)" end >fortran.f90
        check "Fortran, $module, for $1 is built" "mpif90.$1" fortran.f90 -o "$module-$1"
        gives "Fortran, $module, $1" 0 mpit-run "mpirun.$1" -n 1 "./$module-$1"
        says err "^  ranks +1;"
        says_not err "no MPI process recorded"
    done
}

echo "# mpit-run: the command line"
gives "help fits a screen" 0 mpit-run --help
check "  at most 24 lines" test "$(wc -l <out)" -le 24
gives "help has an example" 0 mpit-run --help
says out "^Example: "
gives "version" 0 mpit-run --version
says out '^mpit-run [0-9]+\.[0-9]+'
gives "no command" 2 mpit-run --quiet
says err "which command"
gives "an unknown option" 2 mpit-run --frobnicate ls
says err "unknown option '--frobnicate'"
says err "mpit-run --help"
gives "an option without its value" 2 mpit-run --output
says err "'--output' needs a value"
gives "an option with a value that it does not take" 2 mpit-run --trace=yes ls
says err "takes no value"
gives "an MPI that is none" 2 mpit-run --mpi lam ls
says err "not 'lam'"
gives "a command that is not there" 127 mpit-run no-such-command
says err "no-such-command"
echo data >plain && chmod 644 plain
gives "a command that cannot be run" 126 mpit-run ./plain
says err "plain"
check "  and no directory is left behind" test -z "$(find . -name 'mpit-run-*')"

echo "# mpit-run: where it writes"
gives "an output directory that cannot be made" 2 mpit-run --output /proc/mpit/run touch ran
says err "output directory /proc/mpit/run cannot be used"
gives "an output directory that is a file" 2 mpit-run --output plain touch ran
says err "output directory plain"
mkdir taken && touch taken/host.1.mpit
gives "an output directory with a run in it" 2 mpit-run --output taken touch ran
says err "taken holds a recorded run already"
gives "a summary that cannot be written" 2 mpit-run --summary no/such/dir/x.json touch ran
says err "summary cannot be written to no/such/dir/x.json"
gives "a summary that cannot be written, into a directory that is not there" 2 \
    mpit-run --output made/for/nothing --summary no/such/dir/x.json touch ran
check "  nothing was made" test ! -e made
gives "a summary that is a directory" 2 mpit-run --output made --summary . touch ran
says err "summary cannot be written to .: Is a directory"
check "  nothing was made" test ! -e made
check "  the command was run in none of these cases" test ! -e ran
gives "a summary in the output directory that is to be made" 0 mpit-run --output made/run --summary made/run/x.json true
check "  which was not needed" test ! -e made
mkdir -p used/otf2
gives "an archive that is there already" 2 mpit-run --otf2 --output used true
says err "used/otf2 exists already"

echo "# mpit-run: programs that are no MPI programs"
gives "ls" 0 mpit-run ls ring.c
check "  prints what it prints" test "$(cat out)" = ring.c
gives "ls" 0 mpit-run ls ring.c
says err "no MPI process recorded"
check "  one line of it" test "$(wc -l <err)" -eq 1
says err "ls is linked to no MPI library, and nothing that ran here called MPI_Init"
says_not err "libmpit"
if [ -e "$build/lib/libmpit-openmpi.so" ] && [ -e "$build/lib/libmpit-mpich.so" ]; then
    says err "nothing in the command says which MPI, so mpit was ready for .*; for programs of another, --mpi "
    gives "ls, and the user says which MPI" 0 mpit-run --mpi mpich ls ring.c
    says_not err "which MPI"
fi
says_not err "exit status"
gives "exit status 7" 7 mpit-run sh -c 'exit 7'
says err "no MPI process recorded: the command ended with exit status 7;"
gives "a program that a signal kills" 137 mpit-run sh -c 'kill -9 $$'
says err "the command ended with exit status 137;"
echo 'int main(void) { return 0; }' >alone.c
if cc -static alone.c -o alone 2>/dev/null; then
    gives "a program that is linked statically" 0 mpit-run ./alone
    says err "\./alone is linked statically"
fi
gives "options behind the command are the command's" 0 mpit-run echo --quiet --help
says out "^--quiet --help$"
check "standard input reaches the command" test "$(echo through | mpit-run cat 2>/dev/null)" = through
gives "what was preloaded before stays" 0 env LD_PRELOAD=libm.so.6 mpit-run sh -c 'echo "$LD_PRELOAD"'
says out '/libmpit-[a-z]+\.so:libm\.so\.6$'
gives "the run directory is absolute" 0 mpit-run --output some/where --trace sh -c 'echo "$MPIT_OUTPUT $MPIT_TRACE"'
says out "^$(pwd)/some/where 1$"
gives "the policy ring without a limit" 0 mpit-run --trace-policy ring true
says err "note: --trace-policy ring: there is no limit"
gives "  with one" 0 mpit-run --trace-limit 100000 --trace-policy ring true
says_not err "there is no limit"
script catch 'trap "echo caught; exit 5" TERM' 'echo ready' 'while :; do sleep 0.05; done'
mpit-run ./catch >out 2>err &
runner=$!
until grep -q ready out; do sleep 0.05; done
kill -TERM $runner
wait $runner
status=$?
check "SIGTERM is passed on, and the command's answer to it is the status" test "$status" = 5

echo "# mpit-run: which MPI"
for mpi in openmpi mpich; do
    if ! has $mpi; then
        echo "# $mpi is not here: skipped"
        continue
    fi
    gives "launcher of $mpi" 0 mpit-run mpirun.$mpi -n 1 sh -c 'echo "$LD_PRELOAD"'
    says out "/libmpit-$mpi\.so$"
    gives "launcher of $mpi behind env and timeout" 0 mpit-run timeout 60 env A=b mpirun.$mpi -n 1 sh -c 'echo "$LD_PRELOAD"'
    says out "/libmpit-$mpi\.so$"
    # a process that ends at once meets its launcher while that is still starting it, and Hydra may end by SIGPIPE
    script run-$mpi 'echo "$LD_PRELOAD"' "exec mpirun.$mpi -n 1 sleep 0.3"
    gives "script with a launcher of $mpi" 0 mpit-run ./run-$mpi
    says out "/libmpit-$mpi\.so$"
    gives "shell with a script of $mpi" 0 mpit-run sh ./run-$mpi
    says out "/libmpit-$mpi\.so$"
    gives "shell command with a launcher of $mpi" 0 mpit-run sh -c "echo \$LD_PRELOAD; mpirun.$mpi -n 1 true"
    says out "/libmpit-$mpi\.so$"
    gives "launcher of $mpi, --version" 0 mpit-run mpirun.$mpi --version
    check "ring for $mpi is built" mpicc.$mpi ring.c -o ring-$mpi
    gives "program of $mpi" 3 mpit-run --output one-$mpi mpirun.$mpi -n 2 ./ring-$mpi 3
    says out "^rank 1 of 2$"
    says err "MPI_Sendrecv +2 "
    says err "mpit-dump one-$mpi"
    check "  prints what it prints without mpit" test "$(sort out)" = "$(mpirun.$mpi -n 2 ./ring-$mpi | sort)"
    gives "program of $mpi, quietly" 0 mpit-run --quiet --output quiet-$mpi mpirun.$mpi -n 2 ./ring-$mpi
    check "  standard error is empty" test ! -s err
    gives "program of $mpi without a launcher" 0 mpit-run --output single-$mpi ./ring-$mpi
    says err "ranks +1;"
    script hidden-$mpi "# neither mpirun.openmpi nor mpirun.mpich" "./ring-$mpi"
    gives "script with a program of $mpi" 0 mpit-run --output hidden-run-$mpi ./hidden-$mpi
    says err "ranks +1;"
    gives "program of $mpi with MPIT_DISABLE" 0 env MPIT_DISABLE=1 mpit-run mpirun.$mpi -n 2 ./ring-$mpi
    says err "no MPI process recorded: MPIT_DISABLE is set"
    if [ $mpi = mpich ]; then disable=(-genv MPIT_DISABLE 1); else disable=(-x MPIT_DISABLE=1); fi
    gives "  nor by the launcher's word" 0 mpit-run mpirun.$mpi "${disable[@]}" -n 2 ./ring-$mpi
    says err "no MPI process recorded: MPIT_DISABLE is set"
    gives "launcher of $mpi with a program that is none of MPI" 0 mpit-run mpirun.$mpi -n 1 /bin/true
    says err "/bin/true is linked to no MPI library"
    timeout 120 mpit-run mpirun.$mpi -n 1 ./no-such-program >out 2>err
    status=$?
    says err "no MPI process recorded: the command ended with exit status $status;"
    fortran "$mpi"
    gives "settings that cannot be used are said once" 0 env MPIT_FLIGHT_EVENTS=many MPIT_TRACE=yes \
        mpit-run --quiet --output settings-$mpi mpirun.$mpi -n 3 ./ring-$mpi
    check "  two lines" test "$(wc -l <err)" -eq 2
    says err "MPIT_FLIGHT_EVENTS=many cannot be used: allowed are whole numbers from 0 to"
    gives "  --trace counts" 0 env MPIT_TRACE=yes mpit-run --trace --quiet --output settings-trace-$mpi \
        mpirun.$mpi -n 1 ./ring-$mpi
    check "  without a word" test ! -s err
    gives "a variable that is none" 0 env MPIT_TRASE=1 MPIT_REDUCE=no MPIT_SDE=0 MPIT_TIMING=1 MPIT_OUTPUT=named-$mpi \
        mpit-run --quiet mpirun.$mpi -n 1 ./ring-$mpi
    one_says 1 "MPIT_TRASE in the environment is no variable of mpit's"
    one_says 1 "MPIT_REDUCE is 'no': allowed are 0 and 1"
    one_says 2 "MPIT_"
    check "  MPIT_OUTPUT names the directory" test -d named-$mpi
    gives "  --output goes before it" 0 env MPIT_OUTPUT=named-$mpi mpit-run --quiet --output other-$mpi mpirun.$mpi -n 1 ./ring-$mpi
    gives "  of an mpit-run above it is that one's" 0 mpit-run --quiet --output above-$mpi \
        sh -c "mpit-run mpirun.$mpi -n 1 ./ring-$mpi"
    one_says 1 "recorded in mpit-run-20[-0-9]+;"
    gives "ranks to be sampled that are not in the job" 0 mpit-run --sample 50 --sample-ranks 9 --output beside-$mpi \
        mpirun.$mpi -n 2 ./ring-$mpi
    says err "no samples were taken: --sample-ranks 9 names none of the job's ranks, 0 to 1"
    gives "  --profile" 1 mpit-dump --profile beside-$mpi
    says err "has no samples: .*--sample-ranks"
    gives "  ranks that are" 0 mpit-run --sample 50 --sample-ranks 1 --quiet mpirun.$mpi -n 2 ./ring-$mpi
    says_not err "no samples were taken"
    gives "summary as JSON" 0 mpit-run --summary $mpi.json --output json-$mpi mpirun.$mpi -n 2 ./ring-$mpi
    check "  is JSON with the messages in it" python3 -c "
import json; job = json.load(open('$mpi.json'))['jobs'][0]
assert job['calls']['MPI_Sendrecv']['count'] == 2 and job['ranks'] == 2
assert sum(c['send_count'] for c in job['communicators']) == 2
assert sum(c['send_bytes'] for c in job['communicators']) == 8"
    gives "summary to standard output" 0 mpit-run --summary - --output text-$mpi mpirun.$mpi -n 2 ./ring-$mpi
    says out "Sent messages by size"
    gives "two jobs in one run" 0 mpit-run --output two-$mpi sh -c "mpirun.$mpi -n 2 ./ring-$mpi; mpirun.$mpi -n 1 ./ring-$mpi"
    says err "job 2 of 2"
    timeout 120 mpit-run --output crash-$mpi mpirun.$mpi -n 2 ./ring-$mpi 0 crash >out 2>err
    status=$?
    check "a crash is the command's failure" test $status -ne 0
    gives "  what it left is shown" 0 mpit-dump crash-$mpi
    says out "did not reach MPI_Finalize"
done
if has openmpi && has mpich; then
    gives "the program counts, not the launcher" 0 mpit-run --output mixed mpirun.openmpi -n 1 ./ring-mpich
    says err "MPI +MPICH"
    gives "processes that are alone, whatever the launcher started" 0 mpit-run --output alone-1 mpirun.openmpi -n 2 ./ring-mpich
    says err "Open MPI's launcher started 2 processes, but the program is linked to MPICH"
    gives "  the other way round" 0 mpit-run --output alone-2 mpirun.mpich -n 2 ./ring-openmpi
    says err "MPICH's launcher started 2 processes, but the program is linked to Open MPI"
    script both "mpirun.openmpi -n 1 true" "mpirun.mpich -n 1 true"
    gives "a script with both" 2 mpit-run ./both
    says err "cannot tell which MPI './both' runs"
    says err "--mpi"
    gives "  --mpi decides" 0 mpit-run --mpi mpich ./both
fi
printf 'int MPI_Init(void) { return 0; }\n' >strange.c
printf 'int MPI_Init(void);\nint main(void) { return MPI_Init(); }\n' >caller.c
cc -shared -fPIC -Wl,-soname,libmpi.so.77 strange.c -o libmpi.so.77
cc caller.c ./libmpi.so.77 -Wl,-rpath,"$work" -o odd
gives "an MPI of an unknown kind" 2 mpit-run ./odd
says err "\./odd loads .*libmpi\.so\.77, an MPI of an unknown kind"
cc caller.c strange.c -o inside
gives "a program with MPI linked in" 0 mpit-run ./inside
says err "no MPI process recorded: ./inside has MPI linked in"

echo "# mpit-run: what launchers are asked to forward"
mkdir fake && for kind in "Open MPI" HYDRA slurm; do
    script "fake/mpirun-${kind%% *}" "[ \"\$1\" = --version ] && { echo '$kind 1.0'; exit; }" \
        'for word; do printf "[%s]" "$word"; done; echo'
done
mv fake/mpirun-slurm fake/srun
gives "Open MPI: each application context" 0 env PATH="$work/fake:$PATH" MPIT_FLIGHT_EVENTS=9 \
    mpit-run mpirun-Open -n 1 a : -n 2 b
x='(\[-x\]\[(LD_PRELOAD|MPIT_OUTPUT|MPIT_FLIGHT_EVENTS|MPIT_REDUCE)\]){3,4}'
says out "^$x\[-n\]\[1\]\[a\]\[:\]$x\[-n\]\[2\]\[b\]$"
gives "Open MPI: the user's own LD_PRELOAD" 0 env PATH="$work/fake:$PATH" mpit-run mpirun-Open -x LD_PRELOAD=own.so a
says out '\[-x\]\[LD_PRELOAD=[^]]*/libmpit-openmpi\.so:own\.so\]\[a\]$'
gives "Open MPI: the user's mca_base_env_list" 0 env PATH="$work/fake:$PATH" \
    mpit-run mpirun-Open --mca mca_base_env_list 'A;B=1' a
says out '^\[--mca\]\[mca_base_env_list\]\[A;B=1;[^]]*LD_PRELOAD[^]]*\]\[a\]$'
gives "hydra: nothing where everything is forwarded" 0 env PATH="$work/fake:$PATH" mpit-run mpirun-HYDRA -n 1 a
says out '^\[-n\]\[1\]\[a\]$'
gives "hydra: -genvnone" 0 env PATH="$work/fake:$PATH" mpit-run mpirun-HYDRA -genvnone -n 1 a
says out '^(\[-genv\]\[[A-Z_]+\]\[[^]]+\])+\[-genvnone\]\[-n\]\[1\]\[a\]$'
gives "srun: --export is spoken of" 0 env PATH="$work/fake:$PATH" mpit-run srun --export=NONE a
says err "--export"
if has openmpi; then
    gives "Open MPI's own: -x of the user" 0 env MINE=2 mpit-run mpirun.openmpi -x MINE -x YOURS=3 -n 1 \
        sh -c 'echo "$MINE $YOURS $LD_PRELOAD"' : -n 1 -x LD_PRELOAD=libm.so.6 sh -c 'echo "$LD_PRELOAD"'
    says out '^2 3 .*/libmpit-openmpi\.so$'
    says out 'libmpit-openmpi\.so:libm\.so\.6$'
    gives "Open MPI's own: mca_base_env_list" 0 env OMPI_MCA_mca_base_env_list='MINE=2' \
        mpit-run mpirun.openmpi -n 1 sh -c 'echo "$MINE $LD_PRELOAD"'
    says out '^2 .*/libmpit-openmpi\.so$'
fi

echo "# mpit-run: behind the launcher"
mkdir behind && cd behind || exit 2
# one_says COUNT PATTERN: so many lines of the last command's err
run_of() { sed -n 's/^mpit-run: recorded in \([^ ;]*\).*/\1/p' err; }
json_has() { check "  $1: $2" python3 -c "import json, sys; job = json.load(open('$1'))['jobs'][0]; sys.exit(not ($2))"; }
for mpi in openmpi mpich; do
    has $mpi || continue
    check "fall.c for $mpi is built" "mpicc.$mpi" ../fall.c -o ../fall-$mpi
    gives "$mpi: three, each with its mpit-run" 0 "mpirun.$mpi" -n 3 mpit-run --summary $mpi.json ../ring-$mpi
    one_says 1 'mpit-run: recorded in mpit-run-[-.0-9]+; '
    one_says 1 'mpit-run: '
    json_has $mpi.json 'job["world_size"] == 3 and job["calls"]["MPI_Sendrecv"]["count"] == 3'
    gives "$mpi: a bad setting is named once" 0 env MPIT_FLIGHT_EVENTS=x "mpirun.$mpi" -n 3 \
        mpit-run --output "$mpi-1" --otf2 ../ring-$mpi
    one_says 1 'MPIT_FLIGHT_EVENTS'
    one_says 1 "recorded in $mpi-1 .OTF2 archive"
    gives "  the trace is whole" 0 mpit-dump --verify "$mpi-1"
    gives "$mpi: the directory of another run" 2 "mpirun.$mpi" -n 3 mpit-run --output "$mpi-1" ../ring-$mpi
    says err "holds a recorded run already"
    gives "$mpi: the launcher above tells which MPI" 3 "mpirun.$mpi" -n 2 mpit-run sh -c "../ring-$mpi 3"
    one_says 1 'ranks      2; '
    check "  the directory is there" [ -d "$(run_of)" ]
    gives "$mpi: only one of three is recorded" 0 "mpirun.$mpi" -n 1 mpit-run --trace ../ring-$mpi : -n 2 ../ring-$mpi
    one_says 1 'run files of 1 of the 3 processes of a job: ranks 1-2 are missing'
    for how in -1 3 0; do # MPICH waits for the others where one ends with 0, with mpit and without
        [ $mpi$how = mpich0 ] && continue
        timeout 60 "mpirun.$mpi" -n 2 mpit-run ../fall-$mpi $how >out 2>err </dev/null
        status=$? # of whichever process the launcher hears of first
        check "$mpi: the first ends with $how, and the launcher learns of it (status $status)" \
            test $status -ne 0 -a $status -ne 124
    done
    gives "$mpi: a directory for what records nothing" 0 "mpirun.$mpi" -n 2 mpit-run --output "none-$mpi" true
    one_says 1 "no MPI process recorded"
    gives "  which is not for another job" 2 env PMI_RANK=0 PMI_SIZE=2 mpit-run --output "none-$mpi" true
    says err "belongs to another job"
done
for mpi in openmpi mpich; do
    has $mpi || continue
    step=(env SLURM_JOB_ID=7 SLURM_STEP_ID=1 SLURM_STEP_NUM_TASKS=2) # as srun's steps have it
    gives "$mpi: srun, the second" 5 "${step[@]}" SLURM_PROCID=1 mpit-run ../ring-$mpi 5
    check "  says nothing" [ ! -s err ]
    gives "  the first" 0 "${step[@]}" SLURM_PROCID=0 mpit-run ../ring-$mpi
    one_says 1 "recorded in mpit-run-slurm-7.1"
    check "  for both" [ "$(find mpit-run-slurm-7.1 -name '*.mpit' | wc -l)" = 2 ]
    gives "  a later step" 2 "${step[@]}" SLURM_PROCID=0 SLURM_STEP_ID=2 mpit-run --output mpit-run-slurm-7.1 ../ring-$mpi
    gives "  a program that is not there" 127 "${step[@]}" SLURM_PROCID=1 mpit-run ./there-is-none
    gives "  a job of one process below it" 0 "${step[@]}" SLURM_PROCID=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 \
        mpit-run sh -c "unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE; exec ../ring-$mpi"
    one_says 1 "recorded in mpit-run-20[-0-9]+;"
    gives "  a script of the job, in no step" 0 env SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=2 mpit-run ../ring-$mpi
    one_says 1 "recorded in mpit-run-20[-0-9]+;"
    rm -r mpit-run-slurm-7.1
done
gives "a directory that takes no claim" 2 bash -o pipefail -c \
    "(trap '' XFSZ; ulimit -f 0; PMI_RANK=0 PMI_SIZE=2 exec mpit-run --output unclaimed true) 2>&1 | cat"
says out "output directory unclaimed cannot be written: File too large"
check "  is not left behind" test ! -e unclaimed
gives "a launcher that tells no job" 2 env PMI_RANK=1 PMI_SIZE=2 mpit-run true
says err "one of 2 processes that a launcher started.*--output names"
cd .. || exit 2

echo "# mpit-dump"
gives "help" 0 mpit-dump --help
says out "^Example: "
gives "no run" 2 mpit-dump
says err "which run"
gives "an unknown option" 2 mpit-dump --frobnicate x
says err "unknown option '--frobnicate'"
gives "two outputs" 2 mpit-dump --json --events x
says err "only one of"
gives "a directory that is not there" 1 mpit-dump no-such-run
says err "there is no no-such-run"
mkdir empty
gives "a directory that is no run directory" 1 mpit-dump empty
says err "empty is no run directory"
gives "a file that is none" 1 mpit-dump ring.c
says err "ring.c is no mpit run file"
gives "an archive that is there already" 1 mpit-dump --otf2 empty no-such-run
says err "empty exists already"
for mpi in openmpi mpich; do
    has $mpi || continue
    gives "a traced run of $mpi" 0 mpit-run --trace --quiet --output trace-$mpi mpirun.$mpi -n 2 ./ring-$mpi
    gives "  summary" 0 mpit-dump trace-$mpi
    says out "MPI_Sendrecv +2 "
    check "  at most 100 columns" test "$(wc -L <out)" -le 100
    mpit-dump trace-$mpi >out
    check "  and in a terminal without UTF-8, ASCII" sh -c "LC_ALL=C mpit-dump trace-$mpi | grep -q '##' && ! LC_ALL=C mpit-dump trace-$mpi | grep -q '█'"
    gives "  events" 0 mpit-dump --events trace-$mpi
    says out "MPI_Sendrecv +MPI_COMM_WORLD +[01] +0 +4"
    says out "\+ received"
    gives "  JSON" 0 mpit-dump --json trace-$mpi
    check "  is JSON" sh -c "mpit-dump --json trace-$mpi | python3 -m json.tool >/dev/null"
    gives "  verify" 0 mpit-dump --verify trace-$mpi
    says out "rank 1: the replayed trace equals the tallies"
    gives "  archive" 0 mpit-dump --otf2 archive-$mpi trace-$mpi
    check "  with an anchor file" test -s archive-$mpi/traces.otf2
    check "  names.c for $mpi is built" mpicc.$mpi names.c -o names-$mpi
    gives "  communicators with long names" 0 mpit-run --trace --quiet --output names-run-$mpi mpirun.$mpi -n 1 ./names-$mpi
    mpit-dump --events names-run-$mpi >out
    check "    events stand in columns" python3 aligned.py out MPI_COMM_WORLD/split#1:0/split#1:0/split#1:0/split#1:0/split#1:0
    check "    the full name is in the JSON" sh -c "mpit-dump --json names-run-$mpi |
        grep -q 'MPI_COMM_WORLD/split#1:0/split#1:0/split#1:0/split#1:0/split#1:0\"'"
    gives "  an archive where no directory is" 1 mpit-dump --otf2 no/where/archive trace-$mpi
    says err "the archive no/where/archive cannot be made: no/where: No such file or directory"
    # of a rank that ends with a status, Open MPI's launcher kills those that are still in MPI_Finalize
    gives "a run of $mpi without a trace" 0 mpit-run --output plain-$mpi mpirun.$mpi -n 2 ./ring-$mpi
    gives "  events of a run without a trace" 1 mpit-dump --events plain-$mpi
    says err "plain-$mpi was recorded without --trace: no events are left; mpit-run --trace keeps every event"
    check "    nothing is listed" test ! -s out
    gives "  events of a crash without a trace" 1 mpit-dump --events crash-$mpi
    says err "crash-$mpi was recorded without --trace: only what the buffers of its threads still held is here"
    says out "MPI_Sendrecv +MPI_COMM_WORLD"
    check "hang.c for $mpi is built" mpicc.$mpi hang.c -o hang-$mpi
    timeout 120 mpit-run --trace --quiet --output hang-run-$mpi mpirun.$mpi -n 2 ./hang-$mpi >out 2>err
    gives "  a call that did not return" 0 mpit-dump --events hang-run-$mpi
    says out "^ +0 +0 +[0-9.]+ +- +MPI_Recv +MPI_COMM_WORLD +1 +- +- has not returned"
    check "    and one only" test "$(grep -c 'has not returned' out)" -eq 1
    gives "  verify of a run without a trace" 1 mpit-dump --verify plain-$mpi
    says out "nothing to replay \(mpit-run --trace"
    gives "  its summary says what it is without" 0 mpit-dump plain-$mpi
    says out "without MPI_Finalize, which is recorded with --trace"
    gives "  and that of a trace does not" 0 mpit-dump trace-$mpi
    says out "MPI_Finalize +2 "
    says_not out "without MPI_Finalize"
    gives "  an archive of a run without a trace" 1 mpit-dump --otf2 nothing-$mpi plain-$mpi
    says err "no events to convert"
    check "  leaves nothing behind" test ! -e nothing-$mpi
    gives "  one file of it" 0 mpit-dump "$(find trace-$mpi -name '*.mpit' | head -1)"
    says out "1 of them recorded"
    damaged=$(find trace-$mpi -name '*.mpit' | sort | head -1)
    cp -r trace-$mpi cut-$mpi
    truncate -s 5000 "cut-$mpi/${damaged##*/}"
    gives "  a truncated file is named, the rest shown" 1 mpit-dump cut-$mpi
    says err "cut-$mpi/${damaged##*/} is truncated"
    says out "MPI_Sendrecv"
    for file in cut-$mpi/*.mpit; do # names that move the cursor: of the host and of the program
        python3 -c '
import os, sys
data = bytearray(open(sys.argv[1], "rb").read())
for name in (os.uname().nodename, "ring-" + sys.argv[2]):
    at = data.index(name.encode())
    data[at:at + 2] = b"\33]"
open(sys.argv[1], "wb").write(data)' "$file" $mpi
    done
    for how in "" --analyze --events --crash --json "--ranks 0" --csv --verify; do
        # shellcheck disable=SC2086
        mpit-dump $how cut-$mpi >out 2>err
        check "  mpit-dump $how: no terminal is told what stands in a file" sh -c "! cat out err | grep -q '$(printf '\033')'"
        check "    but it is spoken of" test -s err
    done
    gives "  a window behind the end" 2 mpit-dump --csv --window 1000: trace-$mpi
    says err "there is nothing from 1000.000 s on; the job lasted [0-9.]+ s"
    "mpicc.$mpi" late.c -o "late-$mpi"
    mpit-run --quiet --trace --output "late.$mpi" "mpirun.$mpi" -n 2 "./late-$mpi" "go.$mpi" >out 2>err &
    late=$!
    for _ in $(seq 300); do
        mpit-dump --crash "late.$mpi" >out 2>err && grep -q 'rank 0: in MPI_Finalize, for .* runs still' out && break
        sleep 0.1
    done
    says out "rank 0: in MPI_Finalize, for .* runs still"
    says out "rank 1: outside MPI"
    sleep 3 # in which rank 0 waits, and no call is under way
    touch "go.$mpi"
    wait $late
    gives "$mpi: what goes before MPI_Finalize is no call" 0 mpit-dump --json "late.$mpi"
    check "  of which there are two" python3 -c 'import json
calls = json.load(open("out"))["jobs"][0]["calls"]
assert calls["MPI_Finalize"]["count"] == 2 and calls["MPI_Finalize"]["time_ns"] < 3e9, calls'
    "mpicc.$mpi" waits.c -o "waits-$mpi"
    (env LD_PRELOAD="$build/lib/libmpit-$mpi.so" MPIT_OUTPUT="waits.$mpi" timeout -s KILL 2 "./waits-$mpi" &) >out 2>err
    sleep 3
    gives "$mpi: killed, and nobody saw it" 0 mpit-dump --crash "waits.$mpi"
    says out "rank 0: in MPI_Recv on MPI_COMM_SELF, from rank 0, (for [0-9.]+ [mun]?s at least, )?until it died, which nobody saw; crashed, was killed"
    gives "  what each process counted, from its file" 0 mpit-list --run trace-$mpi 'mpit_call_count'
    says out "^ +0 +mpit_call_count +COUNTER .*MPI_Finalize 1"
    says out "^ +1 +mpit_call_count +COUNTER .*MPI_Finalize 1"
    gives "    as JSON" 0 mpit-list --run trace-$mpi --json 'mpit_send_count'
    check "    of both ranks" sh -c "mpit-list --run trace-$mpi --json 'mpit_send_count' | python3 -c '
import json, sys; found = json.load(sys.stdin)[\"variables\"]
assert {v[\"rank\"] for v in found} == {0, 1} and any(v[\"communicator\"] == \"MPI_COMM_WORLD\" for v in found)'"
    gives "    no variable of that name" 1 mpit-list --run trace-$mpi 'no_such_*'
    gives "    a run that kept none" 1 mpit-list --run plain-$mpi
    says err "the summary of its job alone"
    gives "  a full disk is told" 1 sh -c "mpit-dump --events trace-$mpi >/dev/full"
    says err "standard output cannot be written"
done

echo "# mpit-exporter"
gives "a run that is not there" 1 mpit-exporter --once nosuch
says err "there is no nosuch"
says out "^mpit_exporter_errors_total 1$"

echo "# mpit-list"
gives "help" 0 mpit-list --help
says out "^Example: "
gives "an unknown option" 2 mpit-list --frobnicate
says err "unknown option '--frobnicate'"
gives "an MPI that is none" 2 mpit-list --mpi lam
says err "not 'lam'"
for mpi in openmpi mpich; do
    has $mpi || continue
    gives "pvars of $mpi" 0 mpit-list --mpi $mpi --pvars
    says out "^mpit_send_count +COUNTER +unsigned long long +comm +1 --. mpit"
    check "  at most 100 columns" sh -c "grep -q '^mpit_' out && ! grep -E '^(mpit| )' out | grep -qE '.{101}'"
    gives "cvars of $mpi" 0 mpit-list --mpi $mpi --cvars 'mpit_*'
    says out "^mpit_large_message_bytes .* mpit = 8192"
    gives "native variables of $mpi" 0 mpit-list --mpi $mpi --native
    says_not out "mpit_"
    gives "a pattern that matches nothing" 1 mpit-list --mpi $mpi 'no_such_*'
    says err "no variable matches 'no_such_\*'"
    gives "JSON of $mpi" 0 mpit-list --mpi $mpi --json
    check "  is JSON with native and own variables" sh -c "mpit-list --mpi $mpi --json | python3 -c '
import json, sys; mpi = json.load(sys.stdin)[\"mpis\"][0]
assert any(v[\"mpit\"] for v in mpi[\"pvars\"]) and any(not v[\"mpit\"] for v in mpi[\"cvars\"])'"
done
gives "--run with an option of an MPI" 2 mpit-list --run . --pvars
gives "--run of what is no run" 1 mpit-list --run "$PWD/there-is-none"
cp "$build/bin/mpit-list" "$build/bin/mpit-run" .
gives "mpit-list without an MPI" 1 ./mpit-list
says err "no MPI found"
gives "mpit-run without its libraries" 2 ./mpit-run ls
says err "was built for no MPI: there is no .*libmpit-"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
