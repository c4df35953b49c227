#!/bin/bash
# mpit-exporter on each MPI, with a program that counts for itself (reported.c): over HTTP, read by the strict parser of
# OpenMetrics, and by Prometheus, which scrapes it and answers queries. exporter.py is the judge.
# Usage: test_exporter.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/verdict.sh"

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?the build directory is missing}" && pwd) || exit 2
unset LD_PRELOAD "${!MPIT_@}"
PATH=$build/prometheus/usr/bin:$PATH
if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then
    skip "the exporter" "there is no Prometheus (CONTRIBUTING.md)"
    verdict
    exit
fi
cd "$work" || exit 2

any=
for mpi in openmpi mpich; do
    there_is reported || continue
    parts="figures lives"
    [ "$any" ] || parts="figures lives limits server peers rules"
    mkdir "$mpi"
    # shellcheck disable=SC2086
    timeout --kill-after=20 300 /usr/bin/python3 "$here/exporter.py" "$build" "$mpi" "$work/$mpi" $parts >said 2>&1
    status=$?
    while IFS= read -r line; do
        case $line in
        "ok "*) ok "$mpi: ${line#ok }" ;;
        "not ok "*) not_ok "$mpi: ${line#not ok }" ;;
        *) echo "    $line" ;;
        esac
    done <said
    check "$mpi: the judge came to its end" test $status -eq 0
    any=yes
done
verdict
