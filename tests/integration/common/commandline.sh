# What the tests of the command line share: a directory of their own with the programs of tools/ in it, and how they say
# what a command gives. Sourced by them, which are called as: test_NAME.sh BUILD_DIRECTORY
#
#   gives NAME STATUS COMMAND...   runs it, with what it prints in the files out and err
#   says FILE PATTERN              the last command's out or err has a line like it; says_not: it has none
#   one_says COUNT PATTERN         so many lines of err are like it
#   check NAME COMMAND...          it succeeds
#   has MPI                        it is here
#   built MPI PROGRAM...           from PROGRAM.c here: PROGRAM-MPI
#   script FILE LINE...            a shell script
#   summed_up                      the closing line; fails if anything did

set -u

build=$(cd "${1:?the build directory is missing}" && pwd) || exit 2
PATH=$build/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LC_ALL=C.UTF-8
export OMPI_MCA_rmaps_base_oversubscribe=1
unset LD_PRELOAD "${!MPIT_@}"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cp "$(dirname "${BASH_SOURCE[0]}")"/tools/* "$work" && cd "$work" || exit 2
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
built() {
    local mpi=$1 program
    shift
    for program; do
        check "$program.c for $mpi is built" "mpicc.$mpi" "$program.c" -o "$program-$mpi"
    done
}
summed_up() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
