#!/bin/bash
# test_preload.sh BUILD_DIR
#
# libmpit.so without mpit-run: one for all MPIs, disabled, with nowhere to write, without its recorder, and in processes
# without MPI. Whatever it is, the program prints what it prints without it, and what is wrong is said: once by the
# job. And programs that mpit-run cannot look into.
. "$(dirname "$0")/../common/verdict.sh"
mpit=$build/lib/libmpit.so
small="--rows 64 --columns 64 --steps 100"
mpis=()
for mpi in openmpi mpich; do
    [ ! -e "$build/lib/libmpit-$mpi.so" ] || mpis+=("$mpi")
done

# same NAME MPI STATEMENT...: heat with these variables in its environment computes the same
same() {
    local name=$1 mpi=$2
    shift 2
    if env "$@" timeout 120 "mpirun.$mpi" -n 2 "$build/tests/heat-$mpi" $small >"$work/out" 2>"$work/err" </dev/null &&
        diff "$work/native-$mpi" "$work/out" >"$work/diff"; then
        ok "$mpi: $name: the same output"
    else
        cat "$work/diff" >>"$work/err"
        not_ok "$mpi: $name: the same output" "$work/err"
    fi
}

# says COUNT PATTERN: standard error of the last program has so many lines like it
says() {
    if [ "$(grep -c -- "$2" "$work/err")" = "$1" ]; then ok "  says $1 times: $2"; else
        not_ok "  says $1 times: $2" "$work/err"
    fi
}

silent() {
    if [ -s "$work/err" ]; then not_ok "  says nothing" "$work/err"; else ok "  says nothing"; fi
}

# recorded DIRECTORY
recorded() {
    if ls "$1"/*.mpit >/dev/null 2>&1; then ok "  is recorded"; else not_ok "  is recorded" "$work/err"; fi
}

# gives NAME STATUS OUTPUT COMMAND...: of the command, whose standard error goes to $work/err
gives() {
    local name=$1 status=$2 output=$3 came
    shift 3
    timeout --kill-after=10 120 "$@" >"$work/out" 2>"$work/err" </dev/null
    came=$?
    if [ $came = "$status" ] && [ "$(sort -u "$work/out")" = "$output" ]; then ok "$name"; else
        cat "$work/out" >>"$work/err"
        not_ok "$name: status $came" "$work/err"
    fi
}

echo "# what it needs of the system"
newest=$(objdump -p "$mpit" | grep -oE 'GLIBC_[0-9.]+' | sort -V | tail -n 1)
check "libmpit.so loads with glibc 2.17, and needs $newest" \
    test -n "$newest" -a "$(printf '%s\n' "$newest" GLIBC_2.17 | sort -V | tail -n 1)" = GLIBC_2.17
readelf -lW "$mpit" >"$work/segments" && readelf -d "$mpit" >"$work/needs" && nm -D --defined-only "$mpit" >"$work/names" ||
    not_ok "it can be looked into"
size=$(($(awk '$1 == "TLS" {print $6}' "$work/segments")))
check "it has at most 256 bytes of thread-local storage, $size" test $size -gt 0 -a $size -le 256
check "it needs libc alone, of which libdl was a part" bash -c \
    "grep -q 'NEEDED.*libc\.so\.6' '$work/needs' && ! grep NEEDED '$work/needs' | grep -vE 'libc\.so\.6|libdl\.so\.2'"
check "it stands in front of no function of the C library but dlclose" bash -c "grep -q ' MPI_Init$' '$work/names' &&
    ! awk '{print \$3}' '$work/names' | grep -xE 'read|write|poll|sigaction|pthread_create|nanosleep|dlopen|dlsym' &&
    grep -q ' dlclose$' '$work/names'"
for mpi in "${mpis[@]}"; do
    # what the loader keeps for libraries that come late is left to others
    check "the recorder for $mpi has none" bash -c "readelf -lW '$build/lib/libmpit-$mpi.so' | grep -w LOAD >&2 && ! readelf -lW '$build/lib/libmpit-$mpi.so' | grep -w TLS"
done

echo "# one line for all MPIs"
for mpi in "${mpis[@]}"; do
    launch $mpi 2 "$build/tests/heat-$mpi" $small >"$work/native-$mpi" 2>&1
    same "libmpit.so" $mpi LD_PRELOAD="$mpit"
    silent
    same "libmpit.so with a directory" $mpi LD_PRELOAD="$mpit" MPIT_OUTPUT="$work/run-$mpi"
    silent
    recorded "$work/run-$mpi"
    same "its path is relative" $mpi -C "$build" LD_PRELOAD="./lib/libmpit.so" MPIT_OUTPUT="$work/relative-$mpi"
    recorded "$work/relative-$mpi"
    same "MPIT_DISABLE" $mpi LD_PRELOAD="$mpit" MPIT_DISABLE=1 MPIT_OUTPUT="$work/disabled"
    silent
    check "  writes nothing" test ! -e "$work/disabled"
    same "a directory that cannot be made" $mpi LD_PRELOAD="$mpit" MPIT_OUTPUT=/proc/no/such MPIT_SPOOL="$work" MPIT_TRACE=1
    says 1 "/proc/no/such cannot be written"
    same "settings that cannot be used" $mpi LD_PRELOAD="$mpit" MPIT_FLIGHT_EVENTS=-1 MPIT_TRACE=yes
    says 1 "MPIT_FLIGHT_EVENTS=-1 cannot be used: allowed are whole numbers from 0 to"
    says 1 "MPIT_TRACE=yes cannot be used"
    same "a trace without a directory" $mpi LD_PRELOAD="$mpit" MPIT_TRACE=1
    says 1 "MPIT_TRACE needs MPIT_OUTPUT"
    same "no event buffer" $mpi LD_PRELOAD="$mpit" MPIT_FLIGHT_EVENTS=0
    same "the least memory" $mpi LD_PRELOAD="$mpit" MPIT_BUFFER_LIMIT_BYTES=1048576
    same "a trace that may not be" $mpi LD_PRELOAD="$mpit" MPIT_OUTPUT="$work/limit-$mpi" MPIT_TRACE=1 \
        MPIT_TRACE_LIMIT_BYTES=1
    same "samples without the guards" $mpi LD_PRELOAD="$mpit" MPIT_OUTPUT="$work/unguarded-$mpi" MPIT_SAMPLE_HZ=100
    says 1 "MPIT_SAMPLE_HZ needs libmpit-sampler.so in LD_PRELOAD"
done
mkdir "$work/alone" "$work/unfit"
cp "$mpit" "$work/alone"
cp "$mpit" "$work/unfit"
echo 'int mpit_of_a_later_system(void); int mpit_needs(void); int mpit_needs(void) { return mpit_of_a_later_system(); }' |
    cc -shared -fPIC -x c - -o "$work/unfit/unfit.so"
for mpi in "${mpis[@]}"; do
    cp "$work/unfit/unfit.so" "$work/unfit/libmpit-$mpi.so"
    same "no recorder beside it" $mpi LD_PRELOAD="$work/alone/libmpit.so" MPIT_OUTPUT="$work/none"
    says 1 "nothing is recorded of this program, which uses .*: .*libmpit-$mpi.so: cannot open shared object file"
    same "a recorder that does not fit the system" $mpi LD_PRELOAD="$work/unfit/libmpit.so" MPIT_OUTPUT="$work/none"
    says 1 "nothing is recorded of this program, which uses .*: .*mpit_of_a_later_system"
    same "the recorder in its place" $mpi LD_PRELOAD="$build/lib/libmpit-$mpi.so" MPIT_OUTPUT="$work/none"
    says 1 "preload libmpit.so of the same version"
    check "  writes nothing" test ! -e "$work/none"
done
if [ ${#mpis[@]} = 2 ]; then
    for mpi in "${mpis[@]}"; do
        for both in openmpi:mpich mpich:openmpi; do
            same "both recorders in its place, $both" $mpi MPIT_OUTPUT="$work/none" \
                LD_PRELOAD="$build/lib/libmpit-${both%:*}.so:$build/lib/libmpit-${both#*:}.so"
            says 1 "preload libmpit.so of the same version"
            check "  writes nothing" test ! -e "$work/none"
        done
    done
    LD_PRELOAD="$build/lib/libmpit-openmpi.so:$build/lib/libmpit-mpich.so" true 2>"$work/err" || not_ok "true"
    silent
fi

echo "# an MPI library that mpit does not know"
mkdir "$work/unknown"
echo 'int MPI_Init(int *, char ***); int PMPI_Init(int *, char ***);
int PMPI_Init(int *argc, char ***argv) { return argc && argv ? 5 : 1; }
int MPI_Init(int *argc, char ***argv) { return PMPI_Init(argc, argv); }' |
    cc -shared -fPIC -x c - -Wl,-soname,libmpi.so.77 -o "$work/unknown/libmpi.so.77"
echo 'int MPI_Init(int *, char ***);
int main(int argc, char **argv) { return MPI_Init(&argc, &argv); }' |
    cc -x c - -x none "$work/unknown/libmpi.so.77" -Wl,-rpath,"$work/unknown" -o "$work/unknown/app"
gives "the call gets there" 5 "" env LD_PRELOAD="$mpit" MPIT_OUTPUT="$work/none" "$work/unknown/app"
says 1 "nothing is recorded: mpit does not support the MPI library of this program"
check "  writes nothing" test ! -e "$work/none"
gives "under mpit-run" 5 "" "$build/bin/mpit-run" --output "$work/none" "$work/unknown/app"
says 1 "^mpit: nothing is recorded: mpit does not support the MPI library of this program"
says 1 "no MPI process recorded: .*unknown/app loads libmpi.so.77, but no process on this host"

echo "# processes without MPI"
for command in "ls /" "sh -c true" "true"; do
    LD_PRELOAD="$mpit" $command >"$work/out" 2>"$work/err" || not_ok "$command"
    if [ -s "$work/err" ]; then not_ok "$command: silent" "$work/err"; else ok "$command: silent"; fi
done
gives "a program asks by a weak symbol" 0 "initialized 0" env LD_PRELOAD="$mpit" "$build/tests/asking" weak
silent
gives "a call that needs MPI fails" 0 "an error" env LD_PRELOAD="$mpit" "$build/tests/asking" other
says 1 "the program calls MPI_Comm_free, which no library in the process defines"
gives "Python asks" 0 "0 0 3" env LD_PRELOAD="$mpit" python3 -c 'import ctypes
mpi, flag, version = ctypes.CDLL(None), ctypes.c_int(1), ctypes.c_int(0)
print(mpi.MPI_Initialized(ctypes.byref(flag)), flag.value, end=" ")
mpi.MPI_Get_version(ctypes.byref(version), ctypes.byref(flag)), print(version.value)'
silent
printf '#!/bin/sh\n%s weak\n' "$build/tests/asking" >"$work/job.sh"
chmod +x "$work/job.sh"
gives "a serial step of a job's script" 0 "initialized 0" "$build/bin/mpit-run" --output "$work/serial" "$work/job.sh"
for mpi in "${mpis[@]}"; do
    gives "$mpi: the program takes MPI for loaded" 0 initialized "mpirun.$mpi" -n 1 env LD_PRELOAD="$mpit" \
        MPIT_OUTPUT="$work/asked-$mpi" "$build/tests/asking" init
    recorded "$work/asked-$mpi"
    gives "$mpi: and mpit-run --mpi says which" 0 initialized "$build/bin/mpit-run" --quiet --mpi $mpi \
        --output "$work/named-$mpi" "$build/tests/asking" init
    recorded "$work/named-$mpi"
done

echo "# launchers that mpit-run does not see"
for mpi in "${mpis[@]}"; do
    printf 'run:\n\t@mpirun.%s -n 2 %s %s\n' $mpi "$build/tests/heat-$mpi" "$small" >"$work/Makefile"
    if command -v make >/dev/null; then
        gives "$mpi: make" 0 "$(sort -u "$work/native-$mpi")" "$build/bin/mpit-run" --quiet --output "$work/make-$mpi" \
            make -s -C "$work" run
        recorded "$work/make-$mpi"
    else
        skip "$mpi: make" "it is not installed"
    fi
    gives "$mpi: Python" 0 "$(sort -u "$work/native-$mpi")" "$build/bin/mpit-run" --quiet --output "$work/python-$mpi" \
        python3 -c 'import subprocess, sys; sys.exit(subprocess.call(["mpirun." + sys.argv[1], "-n", "2"] + sys.argv[2:]))' \
        $mpi "$build/tests/heat-$mpi" $small
    recorded "$work/python-$mpi"
    gives "$mpi: the launcher in a variable" 0 "$(sort -u "$work/native-$mpi")" "$build/bin/mpit-run" --quiet \
        --output "$work/variable-$mpi" sh -c "L=mpirun; \$L.$mpi -n 2 $build/tests/heat-$mpi $small"
    recorded "$work/variable-$mpi"
done

echo "# the address sanitizer"
for mpi in "${mpis[@]}"; do
    for compiler in gcc clang; do
        program=$work/sanitized-$compiler-$mpi
        export OMPI_CC=$compiler MPICH_CC=$compiler
        command -v $compiler >/dev/null && "mpicc.$mpi" -g -fsanitize=address -o "$program" \
            "$(dirname "$0")/../../apps/heat.c" -lm 2>"$work/err" ||
            { skip "$mpi: a program of $compiler's" "there is no sanitizer of it" && continue; }
        ASAN_OPTIONS=detect_leaks=0 timeout 60 "mpirun.$mpi" -n 2 "$program" $small >"$work/out" 2>"$work/err" </dev/null ||
            { skip "$mpi: a program of $compiler's" "it crashes without mpit, too" && continue; } # Open MPI 6.0.0rc2
        ASAN_OPTIONS=detect_leaks=0 gives "$mpi: a program of $compiler's" 0 "$(sort -u "$work/native-$mpi")" \
            "$build/bin/mpit-run" --quiet --output "$work/sanitized-run-$compiler-$mpi" "mpirun.$mpi" -n 2 "$program" $small
        recorded "$work/sanitized-run-$compiler-$mpi"
    done
done
unset OMPI_CC MPICH_CC

echo "# programs with the rights of another user"
# in a mount namespace of its own: /etc/ld.so.preload, and a place where such programs work
private() {
    unshare --mount bash -c 'set -e
        mount --make-rprivate / && mkdir "$1/etc" "$1/place" && cp -a /etc/. "$1/etc"
        mount -t tmpfs -o mode=0755 none "$1/place" && cp "$2" "$1/place/plain" && cp "$2" "$1/place/setuid"
        chmod 4755 "$1/place/setuid" && mkdir -m 1777 "$1/place/results"
        echo "$3" >"$1/etc/ld.so.preload" && mount --bind "$1/etc" /etc
        chmod 755 "$1"
        for kind in plain setuid; do
            setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$1/place/results" \
                MPIT_OUTPUT="$1/place/results/$kind" "$1/place/$kind" --rows 8 --columns 8 --steps 5 || exit 3
        done
        ls "$1/place/results"' private "$work" "$1" "$2"
}
if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null && command -v setpriv >/dev/null; then
    open=$work/open
    mkdir -m 755 "$open"
    mkdir -m 755 "$open/lib" "$open/bin"
    cp "$build"/lib/libmpit*.so "$open/lib"
    cp "$build/bin/mpit-collect" "$open/bin"
    for mpi in "${mpis[@]}"; do
        chmod 755 "$work"
        rm -rf "$work/etc" "$work/place"
        if private "$build/tests/heat-$mpi" "$open/lib/libmpit.so" >"$work/out" 2>"$work/err" &&
            [ "$(grep -cx plain "$work/out")" = 1 ]; then
            ok "$mpi: without such rights it is recorded"
        else
            cat "$work/out" >>"$work/err"
            not_ok "$mpi: without such rights it is recorded" "$work/err"
        fi
        check "$mpi: with such rights it runs, and is not" bash -c "! grep -qx setuid '$work/out' && [ \$(grep -c checksum '$work/out') = 2 ]"
    done
else
    skip "programs with the rights of another user" "it takes root, mount namespaces and setpriv"
fi
verdict
