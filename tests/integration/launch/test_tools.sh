#!/bin/bash
# What mpit-run promises on the command line: messages, exit statuses, which MPI is chosen, what reaches the program.
# Usage: test_tools.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/tooltest.sh"

# fortran MPI: its programs are recorded as those in C are (test_languages.sh has more)
fortran() {
    command -v gfortran >/dev/null && command -v "mpif90.$1" >/dev/null || { skip "Fortran, $1" "there is no compiler of it" && return; }
    local module
    for module in mpi mpi_f08; do
        printf '%s\n' "use $module" "integer :: error" "call MPI_Init(error)" "call MPI_Finalize(error)" end >fortran.f90
        check "Fortran, $module, for $1 is built" "mpif90.$1" fortran.f90 -o "$module-$1"
        tells "Fortran, $module, $1" 0 err "^  ranks +1 on " mpit-run "mpirun.$1" -n 1 "./$module-$1"
        says_not err "no MPI process recorded"
    done
}

echo "# mpit-run: the command line"
gives "help fits a screen" 0 mpit-run --help
check "  at most 24 lines" test "$(wc -l <out)" -le 24
tells "help has an example" 0 out "^Example: " mpit-run --help
tells "version" 0 out '^mpit-run [0-9]+\.[0-9]+' mpit-run --version
tells "no command" 2 err "no command follows" mpit-run --quiet
tells "an unknown option" 2 err "unknown option '--frobnicate'" mpit-run --frobnicate ls
for option in "-n 2" "-np 2" "--quiet -np 2" "--oversubscribe" "-ppn 2"; do
    gives "an option of the launcher, $option" 2 mpit-run $option ./app --steps 5
    says err "^The launcher comes after mpit-run: mpit-run mpirun ${option#--quiet } ./app --steps 5$"
done
says err "mpit-run --help"
tells "the begin of an option" 2 err "unknown option '--quie'; did you mean --quiet" mpit-run --quie ls
tells "  with its value in the next word" 2 err "unknown option '--json-fil'" mpit-dump --json-fil x .
tells "an option without its value" 2 err "'--output' needs a value" mpit-run --output
tells "an option with a value that it does not take" 2 err "takes no value" mpit-run --trace=yes ls
tells "an MPI that is none" 2 err "not 'lam'" mpit-run --mpi lam ls
tells "a command that is not there" 127 err "no-such-command" mpit-run no-such-command
echo data >plain && chmod 644 plain
tells "a command that cannot be run" 126 err "plain" mpit-run ./plain
check "  and no directory is left behind" test -z "$(find . -name 'mpit-run-*')"

echo "# mpit-run: pipes"
mkfifo pipe
seq 1 20000 >pipe &
writer=$!
tells "a pipe among the arguments is read by the command alone" 0 out '^20000 ' timeout 20 mpit-run --quiet wc -l pipe
check "  and its writer has noticed nothing" wait $writer
for mpi in openmpi mpich; do
    there_is sampled || continue
    mpit-run --otf2 --output "cut-$mpi" "mpirun.$mpi" -n 1 "$build/tests/sampled-$mpi" rate 2>&1 </dev/null | head -n 1 >out
    status=${PIPESTATUS[0]}
    check "$mpi: a reader that goes leaves the status as it was ($status)" test "$status" = 0
    check "  and the archive is made" test -e "cut-$mpi/otf2/traces.otf2"
done

echo "# mpit-run: Ctrl-C"
for command in "" "timeout 100"; do # which leaves the foreground of the terminal
    # shellcheck disable=SC2086
    python3 terminal.py begun mpit-run --quiet --output "typed$command" $command sh -c 'echo begun; sleep 60; echo over' >out 2>&1
    status=$?
    check "${command:-the command itself} ends (status $status)" test $status -gt 0 -a $status != 99
    check "  before it is over" sh -c 'grep begun out && ! grep over out'
done

echo "# mpit-run: programs of one's own that are called like launchers"
mkdir own
for mpi in openmpi mpich; do
    there_is sampled || continue
    printf '#!/bin/sh\necho "run with: $*" >>own/log\nexec mpirun.%s -n 2 "$@"\n' "$mpi" >own/mpirun.sh && chmod 755 own/mpirun.sh
    cp "$build/tests/sampled-$mpi" own/mpiexec-bench
    rm -f own/log
    gives "$mpi: a script mpirun.sh starts a program mpiexec-bench" 0 mpit-run --output "own/$mpi" own/mpirun.sh own/mpiexec-bench rate
    says err "^  ranks +2 on "
    check "  and each was started once" test "$(cat own/log)$(grep -c mpit_sample_hz out)" = "run with: own/mpiexec-bench rate2"
    gives "  also under a shell" 0 mpit-run --output "own/$mpi-shell" sh -c 'own/mpirun.sh own/mpiexec-bench rate'
    check "  it is started once more" test "$(wc -l <own/log)" = 2
    PATH=$work/own:$PATH gives "  also by PATH" 0 mpit-run --output "own/$mpi-path" mpirun.sh own/mpiexec-bench rate
    check "  it is started once more" test "$(wc -l <own/log)" = 3
    # MPICH's launcher dies of SIGPIPE now and then if its processes end at once.
    printf '#!/bin/sh\nexec mpirun.%s -n 2 sh -c '\''sleep 0.3; echo "with: $*"'\'' "$0" "$@"\n' "$mpi" >own/mpirun-echo.sh && chmod 755 own/mpirun-echo.sh
    gives "  a script's program gets the words that it is given" 0 mpit-run --output "own/$mpi-echo" own/mpirun-echo.sh data
    check "  and no others" test "$(grep -c '^with: data$' out)" = 2
    printf '#!/bin/sh\nexec mpirun.%s "$@"\n' "$mpi" >own/mpirun-site && chmod 755 own/mpirun-site
    words=$([ "$mpi" = openmpi ] && echo "-x LD_PRELOAD=libm.so.6" || echo "-genv LD_PRELOAD libm.so.6")
    # shellcheck disable=SC2086
    gives "  a wrapper of the launcher gets its words" 0 mpit-run --output "own/$mpi-site" own/mpirun-site $words -n 2 own/mpiexec-bench rate
    says err "^  ranks +2 on "
    mkdir -p "own/site-$mpi"
    printf '#!/bin/sh\nif [ -n "$NEVER" ]; then\n    exec mpirun.%s "$@"\nfi\nexec mpirun.%s "$@"\nexec mpirun.%s "$@"\n' \
        openmpi "$mpi" openmpi >"own/site-$mpi/mpirun" && chmod 755 "own/site-$mpi/mpirun"
    gives "  a site's mpirun chooses one" 0 mpit-run --output "own/$mpi-chosen" "own/site-$mpi/mpirun" -n 2 own/mpiexec-bench rate
    says err "^  ranks +2 on "
done

echo "# mpit-run: where it writes"
# runs_or_not NAME PATTERN OPTION...: the command runs and one line says what is wrong; with --strict it does not run
runs_or_not() {
    local name=$1 pattern=$2
    shift 2
    rm -f ran
    gives "$name: it is not recorded" 0 mpit-run "$@" touch ran
    one_says 1 "$pattern"
    check "  and it ran" test -e ran
    rm -f ran
    tells "  with --strict it does not run" 2 err "$pattern" mpit-run --strict "$@" touch ran
    check "  it did not" test ! -e ran
}
runs_or_not "an output directory that cannot be made" "output directory /proc/mpit/run cannot be used: .*" \
    --output /proc/mpit/run
one_says 1 "cannot be used"
runs_or_not "an output directory that is a file" "output directory plain cannot be used: Not a directory" --output plain
tells "a name that is none" 2 err "is not a name for an output directory" mpit-run --output "" touch ran
mkdir taken && touch taken/host.1.mpit
runs_or_not "an output directory with a run in it" "taken/? already has a recorded run" --output taken/
check "  the other one was not needed" test ! -e taken.1
mkdir taken.1
tells "  the next free number is taken" 0 out "^$work/taken\.2$" mpit-run --output taken sh -c 'echo "$MPIT_OUTPUT"'
(cd taken && mpit-run --output . sh -c 'echo "$MPIT_OUTPUT"') >out 2>err </dev/null
says out "^$work/taken\.2$"
runs_or_not "a summary that cannot be written" "summary cannot be written to no/such/dir/x.json" --summary no/such/dir/x.json
runs_or_not "a summary that cannot be written, into a directory that is not there" "summary cannot be written" \
    --output made/for/nothing --summary no/such/dir/x.json
check "  nothing was made" test ! -e made
runs_or_not "a summary that is a directory" "summary cannot be written to .: Is a directory" --output made --summary .
check "  nothing was made" test ! -e made
gives "a summary in the output directory that is to be made" 0 mpit-run --output made/run --summary made/run/x.json true
check "  which was not needed" test ! -e made
mkdir -p used/otf2
gives "an archive that is there already" 0 mpit-run --otf2 --output used sh -c 'echo "$MPIT_OUTPUT"'
says err "used already has an archive, so this run is written to used\.1"
says out "^$work/used\.1$"
gives "  with --strict" 2 mpit-run --strict --otf2 --output used true
if unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016
    gives "a file system without a free inode" 0 unshare -m sh -c 'mkdir full && mount -t tmpfs -o size=4k,nr_inodes=2 none full &&
        touch full/last && mpit-run --output full/run echo ran'
    says out "^ran$"
    one_says 1 "full/run cannot be used: No space left on device; the program runs without recording"
    # shellcheck disable=SC2016
    gives "a working directory that is read only" 0 unshare -m sh -c 'mkdir -p fixed && mount -t tmpfs -o ro none fixed &&
        cd fixed && mpit-run echo ran'
    says out "^ran$"
    one_says 1 "cannot be used: Read-only file system; name another one with --output; the program runs without recording"
else
    skip "file systems that are full" "it takes a mount namespace"
fi
for named in "$work/a place" "$work/a:place"; do # as if mpit was installed there
    mkdir -p "$named/bin" "$named/lib" && cp "$build/bin/mpit-run" "$named/bin" && cp "$build"/lib/libmpit*.so "$named/lib"
    gives "libraries at $named" 0 "$named/bin/mpit-run" echo ran
    one_says 1 "cannot be preloaded: its path has a space or a colon; the program runs without recording"
    says out "^ran$"
    rm "$named"/lib/*
    gives "  and when they are missing" 7 "$named/bin/mpit-run" sh -c 'exit 7'
    one_says 1 "this installation of mpit is not complete: .* does not exist; the program runs without recording"
done

echo "# mpit-run: programs that are no MPI programs"
gives "ls" 0 mpit-run ls ring.c
check "  prints what it prints" test "$(cat out)" = ring.c
tells "ls" 0 err "no MPI process recorded" mpit-run ls ring.c
check "  one line of it" test "$(wc -l <err)" -eq 1
says err "ls itself is linked to no MPI library, and no process on this host called MPI_Init"
says_not err "libmpit"
says_not err "exit status"
tells "exit status 7" 7 err "no MPI process recorded: the command ended with exit status 7;" mpit-run sh -c 'exit 7'
tells "a program that a signal kills" 137 err "the command ended with exit status 137;" mpit-run sh -c 'kill -9 $$'
echo 'int main(void) { return 0; }' >alone.c
if cc -static alone.c -o alone 2>/dev/null; then
    tells "a program that is linked statically" 0 err "\./alone is linked statically" mpit-run ./alone
fi
echo 'void _start(void) { __asm__("mov $1, %eax; xor %ebx, %ebx; int $0x80"); }' >narrow.c
if cc -m32 -nostdlib -static narrow.c -o narrow 2>/dev/null && ./narrow; then
    tells "a program of 32 bits" 0 err "recorded: \./narrow is not a 64-bit program of this kind of machine" mpit-run ./narrow
fi
if [ "$(id -u)" = 0 ]; then
    cc alone.c -o rights && chown 65534 rights && chmod 4755 rights
    gives "a program with the rights of another user" 0 mpit-run ./rights
    says err "recorded: \./rights runs with the rights of another user"
    chown 0 rights && chmod 4755 rights
    tells "  that are the user's own" 0 err "recorded: \./rights itself is linked to no MPI library" mpit-run ./rights
fi
tells "options behind the command are the command's" 0 out "^--quiet --help$" mpit-run echo --quiet --help
check "standard input reaches the command" test "$(echo through | mpit-run cat 2>/dev/null)" = through
gives "what was preloaded before stays" 0 env LD_PRELOAD=libm.so.6 mpit-run sh -c 'echo "$LD_PRELOAD"'
says out '/libmpit\.so:libm\.so\.6$'
gives "the run directory is absolute" 0 mpit-run --output some/where --trace sh -c 'echo "$MPIT_OUTPUT $MPIT_TRACE"'
says out "^$(pwd)/some/where 1$"
gives "the policy ring without a limit" 0 mpit-run --trace-policy ring true
says err "note: --trace-policy ring has no effect without a limit"
gives "  with one" 0 mpit-run --trace-limit 100000 --trace-policy ring true
says_not err "without a limit"
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
    has $mpi || continue
    # a process that ends at once meets its launcher while that is still starting it, and Hydra may end by SIGPIPE
    tells "launcher of $mpi" 0 out "/libmpit\.so$" mpit-run mpirun.$mpi -n 1 sh -c 'echo "$LD_PRELOAD"; sleep 0.3'
    gives "launcher of $mpi behind env and timeout" 0 mpit-run timeout 60 env A=b mpirun.$mpi -n 1 sh -c 'echo "$LD_PRELOAD"; sleep 0.3'
    says out "/libmpit\.so$"
    script run-$mpi 'echo "$LD_PRELOAD"' "exec mpirun.$mpi -n 1 sleep 0.3"
    tells "script with a launcher of $mpi" 0 out "/libmpit\.so$" mpit-run ./run-$mpi
    tells "shell with a script of $mpi" 0 out "/libmpit\.so$" mpit-run sh ./run-$mpi
    gives "shell command with a launcher of $mpi" 0 mpit-run sh -c "echo \$LD_PRELOAD; mpirun.$mpi -n 1 sleep 0.3"
    says out "/libmpit\.so$"
    gives "launcher of $mpi, --version" 0 mpit-run mpirun.$mpi --version
    built $mpi ring
    tells "program of $mpi" 3 out "^rank 1 of 2$" mpit-run --output one-$mpi mpirun.$mpi -n 2 ./ring-$mpi 3
    says err "MPI_Sendrecv "
    says err "mpit-dump --full one-$mpi"
    check "  prints what it prints without mpit" test "$(sort out)" = "$(mpirun.$mpi -n 2 ./ring-$mpi | sort)"
    gives "program of $mpi, quietly" 0 mpit-run --quiet --output quiet-$mpi mpirun.$mpi -n 2 ./ring-$mpi
    check "  standard error is empty" test ! -s err
    tells "program of $mpi without a launcher" 0 err "ranks +1 on " mpit-run --output single-$mpi ./ring-$mpi
    script hidden-$mpi "# neither mpirun.openmpi nor mpirun.mpich" "./ring-$mpi"
    tells "script with a program of $mpi" 0 err "ranks +1 on " mpit-run --output hidden-run-$mpi ./hidden-$mpi
    gives "program of $mpi with MPIT_DISABLE" 0 env MPIT_DISABLE=1 mpit-run mpirun.$mpi -n 2 ./ring-$mpi
    says err "no MPI process recorded: MPIT_DISABLE is set"
    if [ $mpi = mpich ]; then disable=(-genv MPIT_DISABLE 1); else disable=(-x MPIT_DISABLE=1); fi
    gives "  nor by the launcher's word" 0 mpit-run mpirun.$mpi "${disable[@]}" -n 2 ./ring-$mpi
    says err "no MPI process recorded: MPIT_DISABLE is set"
    gives "launcher of $mpi with a program that is none of MPI" 0 mpit-run mpirun.$mpi -n 1 /bin/true
    says err "/bin/true itself is linked to no MPI library"
    timeout 120 mpit-run mpirun.$mpi -n 1 ./no-such-program >out 2>err
    status=$?
    says err "no MPI process recorded: the command ended with exit status $status; ./no-such-program does not exist on this host$"
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
    one_says 1 "MPIT_TRASE in the environment has no effect: .*; did you mean MPIT_TRACE\?"
    one_says 1 "MPIT_REDUCE is 'no'; allowed are 0 and 1"
    one_says 2 "MPIT_"
    check "  MPIT_OUTPUT names the directory" test -d named-$mpi
    gives "  --output goes before it" 0 env MPIT_OUTPUT=named-$mpi mpit-run --quiet --output other-$mpi mpirun.$mpi -n 1 ./ring-$mpi
    gives "  of an mpit-run above it is that one's" 0 mpit-run --quiet --output above-$mpi \
        sh -c "mpit-run mpirun.$mpi -n 1 ./ring-$mpi"
    one_says 1 "recorded in mpit-run-20[-0-9]+;"
    gives "ranks to be sampled that are not in the job" 0 mpit-run --sample 50 --sample-ranks 9 --output beside-$mpi \
        mpirun.$mpi -n 2 ./ring-$mpi
    says err "no samples were taken: --sample-ranks 9 selects no rank of the job .0 to 1.$"
    tells "  --profile" 1 err "has no samples; .*--sample-ranks" mpit-dump --profile beside-$mpi
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
    gives "summary to a file that cannot be written" 0 mpit-run --quiet --summary no/dir/x.json --output lost-$mpi \
        mpirun.$mpi -n 2 ./ring-$mpi
    says err "summary cannot be written to no/dir/x.json: No such file or directory. It follows here"
    says err "Sent messages by size"
    gives "the same directory once more, as in a job that is queued again" 0 mpit-run --output text-$mpi mpirun.$mpi -n 2 ./ring-$mpi
    one_says 1 "note: the output directory text-$mpi already has a recorded run, so this run is written to text-$mpi.1"
    one_says 1 "recorded in text-$mpi.1;"
    gives "  each is there" 0 mpit-dump text-$mpi.1
    gives "a place for live files that is not there" 0 mpit-run --full --spool /nowhere --output else-$mpi \
        mpirun.$mpi -n 2 ./ring-$mpi
    one_says 1 "no directory for live files"
    one_says 1 "in /nowhere: No such file or directory; recording goes on, with live files in /(dev/shm|tmp)$"
    one_says 1 "recorded in else-$mpi; next: mpit-dump --html else-$mpi$"
    gives "a rate that is none" 2 mpit-run --sample many mpirun.$mpi -n 2 ./ring-$mpi
    says err "'many' is neither a rate nor a command; a rate is a whole number of samples a second"
    tells "a command that is not there" 127 err "no-such-command: command not found" mpit-run --sample no-such-command
    if unshare -m true 2>/dev/null; then # no file of a process fits there, with a reserve for the program
        tight="mkdir -p tight && mount -t tmpfs -o size=100k none tight &&
            mpit-run --spool $PWD/tight --output tight-$mpi mpirun.$mpi -n 3 ./ring-$mpi"
        gives "with a spool of 100 KB" 0 unshare -m sh -c "$tight"
        one_says 1 "in $PWD/tight: No space left on device; recording goes on, with live files in /(dev/shm|tmp)$"
        check "  nothing is lost" test "$(grep -c 'not recorded' err)" = 0
    fi
    gives "two jobs in one run" 0 mpit-run --output two-$mpi sh -c "mpirun.$mpi -n 2 ./ring-$mpi; mpirun.$mpi -n 1 ./ring-$mpi"
    says err "job 2 of 2"
    timeout 120 mpit-run --output crash-$mpi mpirun.$mpi -n 2 ./ring-$mpi 0 crash >out 2>err
    status=$?
    check "a crash is the command's failure" test $status -ne 0
    tells "  what it left is shown" 0 out "ranks? (has|have) not finished MPI_Finalize: times end" mpit-dump crash-$mpi
done
if has openmpi && has mpich; then
    if timeout 60 mpirun.openmpi -n 1 ./ring-mpich >out 2>err </dev/null; then
        gives "the program counts, not the launcher" 0 mpit-run --output mixed mpirun.openmpi -n 1 ./ring-mpich
        says err "; MPICH Version"
        gives "processes that are alone, whatever the launcher started" 0 mpit-run --output alone-1 mpirun.openmpi -n 2 ./ring-mpich
        says err "the launcher of Open MPI started 2 processes, but the program is linked to MPICH"
    else # MPICH 5: Runtime environment uses unsupported PMI version PMIx
        skip "a program of MPICH below Open MPI's launcher" "MPI_Init fails, without mpit, too"
    fi
    gives "  the other way round" 0 mpit-run --output alone-2 mpirun.mpich -n 2 ./ring-openmpi
    says err "the launcher of MPICH started 2 processes, but the program is linked to Open MPI"
    script both "mpirun.openmpi -n 1 ./ring-openmpi" "mpirun.mpich -n 1 ./ring-mpich"
    tells "a script with both" 0 err "job 2 of 2" mpit-run --output both-run ./both
    says err "; MPICH Version"
    says err "; Open MPI v"
fi
printf 'int MPI_Init(void) { return 0; }\n' >strange.c
printf 'int MPI_Init(void);\nint main(void) { return MPI_Init(); }\n' >caller.c
cc -shared -fPIC -Wl,-soname,libmpi.so.77 strange.c -o libmpi.so.77
cc caller.c ./libmpi.so.77 -Wl,-rpath,"$work" -o odd
tells "an MPI of an unknown kind" 0 err "no MPI process recorded: .*\./odd loads .*libmpi\.so\.77" mpit-run ./odd
rm libmpi.so.77
tells "  that is not on this machine" 127 err "no MPI process recorded: .*\./odd loads .*libmpi\.so\.77" mpit-run ./odd
cc caller.c strange.c -o inside
tells "a program with MPI linked in" 0 err "no MPI process recorded: ./inside is linked to a static MPI library" mpit-run ./inside

echo "# mpit-run: what launchers are asked to forward, by a line or a script"
mkdir -p fake
printf '%s\n' '#include <stdio.h>' 'int main(int count, char *words[])' '{' '    for (int i = 1; i < count; i++)' \
    '        printf("[%s]", words[i]);' '    return puts("") < 0;' '}' >fake.c
for name in orterun prterun mpiexec.hydra srun; do cc fake.c -o fake/$name; done
script own-line 'fake/"$@"'
for how in fake/ "./own-line "; do
    x='(\[-x\]\[(LD_PRELOAD|MPIT_OUTPUT|MPIT_FLIGHT_EVENTS|MPIT_BRIEF|ASAN_OPTIONS)\]){5}'
    for name in orterun prterun; do
        gives "$how$name: each application context" 0 env MPIT_FLIGHT_EVENTS=9 mpit-run $how$name -n 1 a : -n 2 b
        says out "^$x\[-n\]\[1\]\[a\]\[:\]$x\[-n\]\[2\]\[b\]$"
        gives "$how$name: the user's own LD_PRELOAD" 0 mpit-run $how$name -x LD_PRELOAD=own.so a
        says out '\[-x\]\[LD_PRELOAD=[^]]*/libmpit\.so:own\.so\]\[a\]$'
        gives "$how$name: the user's own ASAN_OPTIONS" 0 mpit-run $how$name -x ASAN_OPTIONS=a=1 b
        says out '^(\[-x\]\[(LD_PRELOAD|MPIT_OUTPUT|MPIT_BRIEF)\]){3}\[-x\]\[ASAN_OPTIONS=a=1:verify_asan_link_order=0\]\[b\]$'
    done
    gives "${how}prterun: the user's mca_base_env_list" 0 mpit-run ${how}prterun --mca mca_base_env_list 'A;B=1' a
    says out '^\[--mca\]\[mca_base_env_list\]\[A;B=1;[^]]*LD_PRELOAD[^]]*\]\[a\]$'
    gives "${how}orterun: the same is for the fork agent" 0 mpit-run ${how}orterun --mca mca_base_env_list 'A;B=1' a
    says out '^\[--mca\]\[mca_base_env_list\]\[A;B=1\]\[a\]$'
    tells "hydra: nothing where everything is forwarded" 0 out '^\[-n\]\[1\]\[a\]$' mpit-run ${how}mpiexec.hydra -n 1 a
    gives "hydra: -genvnone" 0 mpit-run ${how}mpiexec.hydra -genvnone -n 1 a
    says out '^(\[-genv\]\[[A-Z_]+\]\[[^]]+\])+\[-genvnone\]\[-n\]\[1\]\[a\]$'
    gives "hydra: the user's own LD_PRELOAD" 0 mpit-run ${how}mpiexec.hydra -genv LD_PRELOAD own.so a
    says out '^\[-genv\]\[LD_PRELOAD\]\[[^]]*/libmpit\.so:own\.so\]\[a\]$'
    gives "srun: --export is spoken of" 0 mpit-run ${how}srun --export=NONE a
    one_says 1 "mpit: note: srun .*--export"
    gives "  not for the daemons of another launcher" 0 mpit-run ${how}srun --export=NONE /usr/bin/orted
    one_says 0 "mpit: note"
    tells "without mpit-run the words stay" 0 out '^\[-n\]\[1\]\[a\]$' env LD_PRELOAD="$build/lib/libmpit.so" ${how}orterun -n 1 a
done
if has openmpi; then
    if several_contexts openmpi; then
        gives "Open MPI's own: -x of the user" 0 env MINE=2 mpit-run mpirun.openmpi -x MINE -x YOURS=3 -n 1 \
            sh -c 'echo "$MINE $YOURS $LD_PRELOAD"' : -n 1 -x LD_PRELOAD=libm.so.6 sh -c 'echo "$LD_PRELOAD"'
        says out '^2 3 .*/libmpit\.so$'
        says out 'libmpit\.so:libm\.so\.6$'
    else
        skip "Open MPI's own: -x of the user" "its launcher crashes on lines with two programs, without mpit, too"
    fi
    gives "Open MPI's own: mca_base_env_list" 0 env OMPI_MCA_mca_base_env_list='MINE=2' \
        mpit-run mpirun.openmpi -n 1 sh -c 'echo "$MINE $LD_PRELOAD"'
    says out '^2 .*/libmpit\.so$'
    if [ "$openmpi_version" = 4 ]; then
        mkdir -p home/.openmpi
        printf '# mine\nmca_base_env_list_delimiter = ;\n mca_base_env_list = MINE=4;B\n' >home/.openmpi/mca-params.conf
        gives "Open MPI's own: mca_base_env_list in a file" 0 env HOME="$work/home" B=5 \
            mpit-run mpirun.openmpi -n 1 sh -c 'echo "$MINE $B $LD_PRELOAD"'
        says out '^4 5 .*/libmpit\.so$'
        for way in "--tune" "--mca mca_base_param_files" "--mca mca_param_files"; do
            # shellcheck disable=SC2086
            gives "  in a file that is named by $way" 0 env B=5 mpit-run mpirun.openmpi $way home/.openmpi/mca-params.conf -n 1 \
                sh -c 'echo "$MINE $LD_PRELOAD"'
            says out '^4 .*/libmpit\.so$'
        done
        printf 'mca_base_env_list_delimiter = ,\nmca_base_env_list = MINE=4,B\n' >home/.openmpi/mca-params.conf
        gives "  with a delimiter of its own" 0 env HOME="$work/home" B=5 mpit-run mpirun.openmpi -n 1 sh -c 'echo "$MINE $B $LD_PRELOAD"'
        says out '^4 5 .*/libmpit\.so$'
        mkdir -p beside && cp "$(command -v env)" beside/own-env
        gives "  and a program without a slash, which Open MPI finds in the working directory" 0 env -C beside HOME="$work/home" \
            mpit-run mpirun.openmpi -n 1 own-env
        says out '^LD_PRELOAD=.*/libmpit\.so$'
        gives "  or by --path" 0 env HOME="$work/home" mpit-run mpirun.openmpi --path "$work/beside" -n 1 own-env
        says out '^LD_PRELOAD=.*/libmpit\.so$'
        gives "  that is in the environment" 0 env OMPI_MCA_mca_base_env_list_delimiter=, OMPI_MCA_mca_base_env_list=MINE=4,B B=5 \
            mpit-run mpirun.openmpi -n 1 sh -c 'echo "$MINE $B $LD_PRELOAD"'
        says out '^4 5 .*/libmpit\.so$'
    else
        skip "parameter files of the user, and a delimiter" "Open MPI $openmpi_version takes no variables from files, and knows no other delimiter"
    fi
fi

verdict
