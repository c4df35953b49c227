#!/bin/bash
# A program that spends its time where it says (phases.c), sampled on each MPI: the profile has its functions, lines and
# states, in shares that agree with the program's own clock and with the recorder's timers; pprof has the
# same samples; what cannot be shown is told.
# Usage: test_profile.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/verdict.sh"

here=$(cd "$(dirname "$0")" && pwd)
unset LD_PRELOAD "${!MPIT_@}"
dump=$build/bin/mpit-dump judge=$here/profile.py python=/usr/bin/python3
cd "$work" || exit 2

# refused NAME STATUS PATTERN OPTION...: mpit-dump ends with this status, and says a line like that
refused() {
    local name=$1 status=$2 pattern=$3
    shift 3
    "$dump" "$@" >said.out 2>said
    if [ $? -eq "$status" ] && grep -Eq -- "$pattern" said; then ok "$name"; else not_ok "$name" said; fi
}

# stacks OPTION... RUN: the stacks of pprof as text, a line each
stacks() { "$dump" --pprof stacks.gz "$@" && $python "$here/../common/pprof.py" stacks.gz >text; }

# stacks_have PATTERN OPTION... RUN: so has one of them
stacks_have() { stacks "${@:2}" && grep -q -- "$1" text; }

# stacks_lack PATTERN OPTION... RUN: and none of them
stacks_lack() { stacks "${@:2}" && test -s text && ! grep -q -- "$1" text; }

# samples RUN MPI PROGRAM ...: a run with samples in RUN, what the program said in RUN.said
samples() {
    local run=$1 mpi=$2
    shift 2
    timeout --kill-after=10 200 "$build/bin/mpit-run" --quiet --sample 500 --output "$run" "mpirun.$mpi" -n 2 "$@" >"$run.said" 2>&1 </dev/null
}

# A busy machine needs a longer program for as many samples. The last one is taken as it is: fewer make errors larger.
sampled_enough() {
    local mpi=$1 rounds
    for rounds in 25 75 150; do
        rm -rf "run-$mpi"
        samples "run-$mpi" "$mpi" "$build/tests/phases-$mpi" $rounds && "$dump" --profile --json "run-$mpi" >all.json || return
        $python "$judge" enough all.json && break
    done
}

profiles() {
    local mpi=$1
    check "$mpi: the program is sampled" sampled_enough "$mpi"
    check "$mpi: functions, lines, states, timers" $python "$judge" judge all.json "run-$mpi.said" "$here/phases.c"
    check "$mpi: ranks and threads are the whole" $python "$judge" parts all.json
    for rank in 0 1; do
        check "$mpi: rank $rank alone" sh -c "'$dump' --profile --json --ranks $rank run-$mpi >rank.json"
        check "$mpi: shares of rank $rank are those of its clock" $python "$judge" rank $rank rank.json "run-$mpi.said"
    done
    check "$mpi: --profile as text" sh -c "'$dump' --profile run-$mpi >text && grep -q 'receive_late (phases.c:' text &&
        grep -q 'samples of ' text && grep -q '^ranks ' text && grep -Eq 'samples and timers (agree|differ)' text"
    check "$mpi: --pprof" "$dump" --pprof pprof.pb.gz "run-$mpi"
    check "$mpi: its samples are the same" $python "$judge" pprof pprof.pb.gz all.json
    check "$mpi: --internal has what is inside" stacks_have 'receive_late;MPI_Recv;P*MPI_Recv;.*stall recv' --internal "run-$mpi"
}

# Names as compilers leave them: lambdas of one unit, functions of one unit inlined into another's when they are linked, and
# a library of the program's own with a name like MPI's.
compilers() {
    local mpi=$1
    cat >spin.h <<'EOF'
#include <time.h>
static inline double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }
EOF
    cat >lambdas.cc <<'EOF'
#include <mpi.h>
#include "spin.h"
volatile double sum;
template <class F> __attribute__((noinline)) void run(F f) { f(); sum = sum + 1; }
int main(int argc, char *argv[])
{
    MPI_Init(&argc, &argv);
    run([]() __attribute__((noinline)) { double end = now() + 0.5; while (now() < end) sum = sum + 1; });
    run([]() __attribute__((noinline)) { double end = now() + 0.5; while (now() < end) sum = sum + 2; });
    run([](){ double end = now() + 0.5; while (now() < end) sum = sum + 3; }); run([](){ double end = now() + 0.5; while (now() < end) sum = sum + 4; });
    MPI_Finalize();
}
EOF
    check "$mpi: lambdas are compiled" "mpicxx.$mpi" -g -O2 lambdas.cc -o lambdas
    check "$mpi: lambdas are sampled" samples run-lambdas "$mpi" ./lambdas
    check "$mpi: lambdas are in the stacks" stacks_have ';{lambda' run-lambdas
    check "$mpi: each lambda is a function of its own" sh -c "[ \$(grep -o ';{lambda lambdas.cc:[0-9]*:[0-9]*}' text | sort -u | wc -l) = 4 ]"

    cat >outer.c <<'EOF'
#include <mpi.h>
extern void inner(double);
volatile double sum;
__attribute__((noinline)) void outer(double seconds) { inner(seconds); sum = sum + 1; }
int main(int argc, char *argv[]) { MPI_Init(&argc, &argv); outer(1); MPI_Finalize(); }
EOF
    cat >inner.c <<'EOF'
#include "spin.h"
extern volatile double sum;
void inner(double seconds) { double end = now() + seconds; while (now() < end) sum = sum + 1; }
EOF
    check "$mpi: with -flto, and a gap between segments" "mpicc.$mpi" -g -O2 -flto -no-pie -Wl,-Tdata=0x20000000 outer.c inner.c -o linked
    check "$mpi: it is sampled" samples run-linked "$mpi" ./linked
    check "$mpi: what was inlined when it was linked has its name" stacks_have ';outer[^;]*;inner' run-linked

    printf '#include "spin.h"\nstatic void work(void) { double end = now() + 0.5; while (now() < end) ; }\nvoid %s(void) { work(); }\n' one >one.c
    sed 's/one/two/' one.c >two.c
    printf '#include <mpi.h>\nvoid one(void), two(void);\nint main(void) { MPI_Init(0, 0); one(); two(); MPI_Finalize(); }\n' >main.c
    check "$mpi: static functions of one name" "mpicc.$mpi" -g -O1 -fno-inline -fno-optimize-sibling-calls main.c one.c two.c -o alike
    check "$mpi: they are sampled" samples run-alike "$mpi" ./alike
    check "$mpi: --pprof" "$dump" --pprof alike.gz run-alike
    check "$mpi: each is in its file" $python "$judge" files alike.gz work one.c two.c

    cat >region.cc <<'EOF'
#include <mpi.h>
#include "spin.h"
volatile double sum;
static inline __attribute__((always_inline)) void kernel(double seconds) { double end = now() + seconds; while (now() < end) sum = sum + 1; }
namespace {
struct One { void work() __attribute__((noinline)) { kernel(0.5); } };
struct Two { void work() __attribute__((noinline)) { kernel(0.4); } };
}
__attribute__((noinline)) void solve(double seconds)
{
#pragma omp parallel num_threads(1)
    kernel(seconds);
}
int main(int argc, char *argv[]) { MPI_Init(&argc, &argv); One one; Two two; one.work(); two.work(); solve(1); MPI_Finalize(); }
EOF
    check "$mpi: an OpenMP region, and classes without a namespace" "mpicxx.$mpi" -g -O2 -fopenmp region.cc -o region
    check "$mpi: they are sampled" samples run-region "$mpi" ./region
    check "$mpi: what is inlined into the region has its name" stacks_have '_omp_fn[^;]*;kernel' run-region
    check "$mpi: members have their classes" grep -q ';One::work;kernel' text
    check "$mpi: and the other" grep -q ';Two::work;kernel' text

    check "$mpi: a library libmpiutil" "mpicc.$mpi" -g -O2 -fPIC -shared inner.c -o libmpiutil.so
    check "$mpi: a program with it" "mpicc.$mpi" -g -O2 outer.c -L. -lmpiutil -Wl,-rpath,"$PWD" -o user
    check "$mpi: it is sampled" samples run-user "$mpi" ./user
    check "$mpi: the clock of the kernel is one function" stacks_lack 'vdso[^;]*+0x' run-user
    check "$mpi: that library is no MPI" stacks_have ';outer;inner[; ]' run-user
}

# Two jobs, one of which has no rank 1.
several() {
    local mpi=$1
    check "$mpi: two jobs" timeout 100 "$build/bin/mpit-run" --quiet --sample 500 --output "two-$mpi" \
        sh -c "mpirun.$mpi -n 2 $build/tests/phases-$mpi 3; mpirun.$mpi -n 1 $build/tests/sampled-$mpi rate"
    check "$mpi: the profile of a rank that one of them has" sh -c "'$dump' --profile --ranks 1 two-$mpi >text && [ \$(grep -c '^job [12] of 2' text) = 1 ]"
    refused "$mpi: of a function that none has" 1 'has no samples' --profile --functions MPI_Alltoallw "two-$mpi"
    refused "$mpi: pprof has one job" 1 "of 2 jobs, .* name the file of a job, like two-$mpi/.*[.]mpit" --pprof none.gz "two-$mpi"
    for job in "two-$mpi"/*.mpit; do
        check "$mpi: the file of a job has its stacks" stacks_have 'rank 0;.*;main;' "$job"
    done
}

# What is there is another program than the one that ran, or none.
changes() {
    local mpi=$1
    cp "$build/tests/phases-$mpi" program
    check "$mpi: a copy is sampled" samples run-copy "$mpi" ./program 3
    check "$mpi: a copy without the stored names" "$build/tests/jobsplit" --nameless run-copy run-apart
    rm -r run-copy && mv run-apart run-copy
    cp "$build/tests/heat-$mpi" program
    check "$mpi: another program gives no names, and is told once" sh -c "'$dump' --profile run-copy >text 2>&1 &&
        [ \$(grep -c 'program is not the file that ran' text) = 1 ] && grep -q '\[program+0x' text && ! grep -q compute_ text"
    strip -s -o program "$build/tests/phases-$mpi"
    check "$mpi: a stripped copy is sampled" samples run-stripped "$mpi" ./program 3
    check "$mpi: its functions are told by where they begin" sh -c "'$dump' --profile --json run-stripped >stripped.json &&
        nm '$build/tests/phases-$mpi' | $python '$judge' stripped stripped.json"
    head -c 20000 "$build/tests/phases-$mpi" >program
    check "$mpi: half a program is no reason to fall" sh -c "'$dump' --profile run-copy >text 2>&1 && ! grep -q compute_ text"
    rm program
    check "$mpi: no program is told" sh -c "'$dump' --pprof copy.gz run-copy 2>&1 | grep -q 'program cannot be read'"
}

wrong_calls() {
    local mpi=$1
    check "$mpi: a run without samples" timeout 100 "$build/bin/mpit-run" --quiet --trace --output plain "mpirun.$mpi" -n 1 "$build/tests/heat-$mpi" --steps 2
    refused "no samples" 1 'has no samples; mpit-run --sample' --profile plain
    refused "no place for it" 1 'cannot be written' --pprof /nowhere/file "run-$mpi"
    refused "nothing of that for pprof" 1 'has no samples' --pprof none.gz --functions MPI_Alltoallw "run-$mpi"
    refused "nothing of that as text" 1 'has no samples' --profile --functions MPI_Alltoallw "run-$mpi"
    refused "nothing of that as JSON" 1 'has no samples' --profile --json --functions MPI_Alltoallw "run-$mpi"
    check "nothing is said instead" test ! -s said.out
    for option in --pprof --otf2 --perfetto; do
        refused "$option without its file" 2 "'$option' needs a file" $option --json "run-$mpi"
    done
    refused "two that write" 2 "'--perfetto' needs a file" --perfetto --pprof x.gz "run-$mpi"
    check "a file of such a name" sh -c "'$dump' --pprof=--strange 'run-$mpi' && test -s ./--strange"
    refused "--internal without stacks" 2 '--internal needs' --summary --internal "run-$mpi"
    refused "two at a time" 2 'only one of' --profile --pprof - "run-$mpi"
    refused "no file" 2 'needs a value' --pprof
    check "nothing half is left" sh -c '! ls none.gz* ./--json* 2>/dev/null'
}

any=
for mpi in openmpi mpich; do
    there_is phases || continue
    profiles $mpi
    [ "$any" ] || changes $mpi
    [ "$any" ] || wrong_calls $mpi
    [ "$any" ] || compilers $mpi
    several $mpi
    any=yes
done
verdict
