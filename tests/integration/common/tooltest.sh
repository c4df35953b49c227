# For tests that run the tools: a directory of their own with the programs of tools/, and words to judge a command.
# They source this file, and are called as: test_NAME.sh BUILD_DIRECTORY
#
#   gives NAME STATUS COMMAND...   runs it, with what it prints in the files out and err
#   tells NAME STATUS FILE PATTERN COMMAND...   the same, and FILE, out or err, has a line like the pattern
#   says FILE PATTERN              the last command's out or err has a line like it; says_not: it has none
#   one_says COUNT PATTERN         so many lines of err are like it
#   has MPI                        it is here; if not, that is a skip
#   built MPI PROGRAM...           from PROGRAM.c here: PROGRAM-MPI
#   script FILE LINE...            a shell script
# ok, not_ok, check, skip and verdict are those of verdict.sh; where no file is named, not_ok shows what the last command gave

. "$(dirname "${BASH_SOURCE[0]}")/verdict.sh"

PATH=$build/bin:$PATH
export LC_ALL=C.UTF-8
unset OMPI_MCA_mpi_yield_when_idle LD_PRELOAD "${!MPIT_@}"
cp "$(dirname "${BASH_SOURCE[0]}")"/tools/* "$work" && cd "$work" || exit 2

not_ok() { # NAME [FILE]
    failed=$((failed + 1))
    echo "not ok $1"
    if [ $# -gt 1 ]; then set -- "$2"; else set -- out err; fi
    cat "$@" 2>/dev/null | head -n 40 | sed 's/^/    /'
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
tells() {
    gives "$1" "$2" "${@:5}"
    says "$3" "$4"
}
says_not() {
    if grep -Eq -- "$2" "$1"; then not_ok "  $1 does not say: $2"; else ok "  $1 does not say: $2"; fi
}
has() {
    ! left_out "$1" || return 1
    [ -e "$build/lib/libmpit-$1.so" ] && command -v "mpicc.$1" >/dev/null && command -v "mpirun.$1" >/dev/null && return
    skip "$1" "this build is not for it, or its compiler or launcher is not here"
    return 1
}
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
