#!/bin/bash
# What cmake --install promises: the tools find mpit's files wherever the installation stands, pkg-config and
# find_package() find the installation, and both say the same. Usage: test_install.sh BUILD_DIRECTORY
# shellcheck disable=SC2317 # functions that check() calls
. "$(dirname "$0")/../common/verdict.sh"
set -eo pipefail

export LC_ALL=C.UTF-8
unset LD_PRELOAD CMAKE_PREFIX_PATH PKG_CONFIG_PATH DESTDIR "${!MPIT_@}"
cd "$work"
exec </dev/null
same() {
    [ "$1" = "$2" ] || { printf "'%s' is not '%s'\n" "$1" "$2" && false; }
}
cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}
version=$(cached CMAKE_PROJECT_VERSION)
libdir=$(cached CMAKE_INSTALL_LIBDIR)
mpis=()
for mpi in openmpi mpich; do
    [ ! -e "$build/lib/libmpit-$mpi.so" ] || mpis+=("$mpi")
done
[[ $libdir != /* ]] || {
    skip "the installation" "CMAKE_INSTALL_LIBDIR is absolute: an installation elsewhere would write there"
    verdict
    exit
}

echo "# the installation"
check "cmake --install into a prefix" cmake --install "$build" --prefix "$work/first"
files=(bin/mpit-run bin/mpit-collect bin/mpit-dump bin/mpit-list bin/mpit-top bin/mpit-exporter bin/mpit-jobs bin/mpit-clean libexec/mpit/mpit-fork-agent
    include/mpit/mpi_t.h include/mpit/version.h "$libdir/pkgconfig/mpit.pc"
    "$libdir/cmake/mpit/mpitConfig.cmake" "$libdir/cmake/mpit/mpitConfigVersion.cmake"
    share/doc/mpit/README.md share/doc/mpit/ARCHITECTURE.md share/doc/mpit/CONTRIBUTING.md share/doc/mpit/CHANGELOG.md share/doc/mpit/packaging.md share/doc/mpit/site.md share/doc/mpit/jobs.md share/doc/mpit/scale.md share/doc/mpit/platforms.md share/doc/mpit/LICENSE
    share/doc/mpit/summary-json.md share/doc/mpit/analyze.md share/doc/mpit/openmp.md share/doc/mpit/outputs.md share/doc/mpit/otf2.md share/doc/mpit/phases.md
    share/doc/mpit/events.md share/doc/mpit/variables.md share/doc/mpit/instrument.md share/doc/mpit/conformance.md share/doc/mpit/profile.md
    share/doc/mpit/below.md share/doc/mpit/counters.md share/doc/mpit/tutorial.md share/doc/mpit/report.md share/doc/mpit/top.md share/doc/mpit/exporter.md
    share/doc/mpit/index.md share/doc/mpit/summary.md share/doc/mpit/launchers.md share/doc/mpit/cost.md share/doc/mpit/limits.md share/doc/mpit/scaling.md share/doc/mpit/sqlite.md
    share/doc/mpit/environment.md share/doc/mpit/callpaths.md share/doc/mpit/diff.md share/doc/mpit/pictures/top.svg share/doc/mpit/pictures/report.png
    share/man/man1/mpit-{run,collect,dump,dump-openmpi,dump-mpich,list,top,exporter,jobs,clean}.1 share/man/man7/mpit.7 share/man/man8/mpit-fork-agent.8
    share/man/man3/mpit-{instrument,monitor,collector,mpi_t,version}.3 share/man/man3/MPIX_{Start,End}_monitor.3
    share/bash-completion/completions/mpit-{run,collect,dump,dump-openmpi,dump-mpich,list,top,exporter,jobs,clean} share/zsh/site-functions/_mpit
    include/mpit/collector.h include/mpit/instrument.h include/mpit/instrument_declare.h include/mpit/instrument_interface.h
    include/mpit/monitor.h include/mpit/monitor_interface.h include/mpit/monitor_report.h
    include/mpit/mpitf.inc include/mpit/mpix_monitor.f90 "$libdir/libmpit.so" "$libdir/libmpit-sampler.so" "$libdir/libmpit-monitor.so.0.1" "$libdir/libmpit-monitor.a"
    share/doc/mpit/monitor.md share/mpit/examples/phases.c
    share/mpit/examples/workqueue.h share/mpit/examples/workqueue.c share/mpit/examples/taskfarm.c
    share/mpit/examples/solver.cc share/mpit/examples/halo.c share/mpit/examples/jacobi.c share/mpit/examples/particles.f90 share/mpit/prometheus/prometheus.yml share/mpit/prometheus/rules.yml
    share/mpit/grafana/mpi-jobs.json share/mpit/grafana/mpi-history.json share/mpit/python/mpit.py share/mpit/fortran/mpit_phases.f90 share/mpit/fortran/mpit_regions.f90 share/mpit/site/mpit.conf share/mpit/site/slurm/task-prolog share/mpit/site/slurm/epilog share/mpit/site/systemd/mpit-exporter.service share/mpit/site/pbs/mpit-hook.py share/mpit/site/lsf/job-starter
    "share/mpit/site/modulefiles/mpit/$(sed -n 's/^project(mpit VERSION \([0-9.]*\).*/\1/p' "$(dirname "$0")/../../../CMakeLists.txt")")
for mpi in "${mpis[@]}"; do
    files+=("$libdir/libmpit-$mpi.so" "libexec/mpit/mpit-list-walk-$mpi" "bin/mpit-dump-$mpi")
done
[ ! -e "$build/lib/libmpit-abi.so" ] ||
    files+=("$libdir/libmpit-abi.so" libexec/mpit/mpit-list-walk-abi bin/mpit-dump-abi share/man/man1/mpit-dump-abi.1
        share/bash-completion/completions/mpit-dump-abi)
for file in "${files[@]}"; do
    check "  has $file" test -s "first/$file"
done
wanted=$(printf '%s\n' "${files[@]}" | sort)
check "  and nothing else" same "$(cd first && find . -type f -printf '%P\n' | sort)" "$wanted"
if [[ $(cached CMAKE_BUILD_TYPE) =~ ^(RelWithDebInfo|Release)$ ]]; then
    for place in "$build" "$(cached CMAKE_HOME_DIRECTORY)"; do
        check "  no file in it names $place" bash -c "! grep -rlF '$place/' first"
    done
else
    check "  no text file in it names the build directory" bash -c "! grep -rIlF '$build' first"
fi
check "  programs that link the monitor library ask for its version 0" \
    bash -c "readelf -d 'first/$libdir/libmpit-monitor.so' | grep -qF 'soname: [libmpit-monitor.so.0]'"
check "  and all that it shows has a version" bash -c "nm -D --defined-only 'first/$libdir/libmpit-monitor.so' |
    awk '/ T / { total++ } / T .*@@MPIT_MONITOR_0\$/ { versions++ } END { exit !(total == 7 && versions == 7) }'"
for file in "${files[@]}"; do
    [[ $file == *.so || $file == bin/* || $file == libexec/* ]] || continue
    check "  $file looks for no library there" bash -c "readelf -d 'first/$file' >dynamic && ! grep -E 'R(UN)?PATH.*$build' dynamic"
done
# named_here PAGE: the documents that it names are there, seen from where it stands
named_here() {
    local name missing=0
    while read -r name; do # of a link the target alone
        [ -e "$(dirname "$1")/$name" ] || { echo "$1 names $name" && missing=1; }
    done < <(sed -E 's/\[[^]]*\]\(/](/g' "$1" | grep -oE '[A-Za-z0-9_/.-]+\.md|\]\([^)#:]+\)' | sed -E 's/^\]\((.*)\)$/\1/' | sort -u)
    [ -s "$1" ] && return $missing
}
for page in README ARCHITECTURE CONTRIBUTING CHANGELOG; do
    check "  the documents that $page.md names are beside it" named_here "first/share/doc/mpit/$page.md"
    check "  and so they are in the source tree" named_here "$(cached CMAKE_HOME_DIRECTORY)/$page.md"
done
check "  version.h is the project's" grep -qx "#define MPIT_VERSION_STRING \"$version\"" first/include/mpit/version.h
check "  mpit-run says the same version" same "$(first/bin/mpit-run --version)" "mpit-run $version"

# Everything from here on runs in an installation that was moved after it was made.
mv first moved
prefix=$work/moved

echo "# the tools, installed"
echo '#include <stdio.h>
__attribute__((constructor)) static void talk(void) { puts("[talker] here"); fflush(stdout); }' >talker.c
cc -shared -fPIC talker.c -o talker.so
for mpi in "${mpis[@]}"; do
    check "mpit-run on a program of $mpi" \
        moved/bin/mpit-run --otf2 --output "run-$mpi" --summary "$mpi.txt" \
        "mpirun.$mpi" -n 2 "$build/tests/heat-$mpi" --rows 32 --columns 32 --steps 10
    check "  preloads the installed library" same \
        "$(moved/bin/mpit-run --output "env-$mpi" --quiet --mpi "$mpi" printenv LD_PRELOAD 2>/dev/null)" \
        "$prefix/$libdir/libmpit.so"
    check "  with a summary" grep -q 'MPI_Waitall' "$mpi.txt"
    check "  and an archive" test -s "run-$mpi/otf2/traces.otf2"
    check "  mpit-dump verifies it" moved/bin/mpit-dump --verify "run-$mpi"
    check "  mpit-list lists mpit's variables" \
        bash -c "moved/bin/mpit-list --mpi $mpi --pvars mpit_send_count | grep -q '^mpit_send_count '"
    check "  also with a library that prints" \
        bash -c "moved/bin/mpit-list --mpi $mpi --load ./talker.so --pvars mpit_send_count | grep -q '^mpit_send_count '"
done

echo "# pkg-config"
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
pc() {
    realpath -m "$(pkg-config "$@")"
}
check "the .pc file is valid" pkg-config --validate mpit
check "the version" same "$(pkg-config --modversion mpit)" "$version"
check "the version as a variable" same "$(pkg-config --variable=version mpit)" "$version"
check "bindir" same "$(pc --variable=bindir mpit)" "$prefix/bin"
for mpi in "${mpis[@]}"; do
    check "preload_$mpi" same "$(pc --variable="preload_$mpi" mpit)" "$prefix/$libdir/libmpit.so"
done
check "preload" same "$(pc --variable=preload mpit)" "$prefix/$libdir/libmpit.so"
check "the library of Fortran programs" test -e "$(pc --variable=libdir mpit)/libmpit-monitor.so"
check "  is what monitor_libs names" bash -c 'pkg-config --variable=monitor_libs mpit | grep -q -- -lmpit-monitor'
cat >version.c <<'C'
#include <mpit/version.h>
#include <stdio.h>
int main(void)
{
    printf("%d.%d.%d %s\n", MPIT_VERSION_MAJOR, MPIT_VERSION_MINOR, MPIT_VERSION_PATCH, MPIT_VERSION_STRING);
}
C
read -ra flags < <(pkg-config --cflags mpit)
check "a program with --cflags compiles" cc version.c -o version "${flags[@]}"
check "  and prints the version" same "$(./version)" "$version $version"

examples=$prefix/share/mpit/examples
for mpi in "${mpis[@]}"; do
    check "an example with --cflags compiles on $mpi" "mpicc.$mpi" -I"$examples" "${flags[@]}" "$examples/taskfarm.c" \
        "$examples/workqueue.c" -o "taskfarm-$mpi"
    check "  and runs recorded" moved/bin/mpit-run --quiet --output "farm-$mpi" "mpirun.$mpi" -n 2 "./taskfarm-$mpi"
    check "  in the summary" bash -c "moved/bin/mpit-dump --full farm-$mpi | grep -q '^  workqueue_puts '"
done

echo "# find_package"
mkdir client
cp version.c client/
cat >client/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(client LANGUAGES C)
find_package(mpit ${WANTED} REQUIRED COMPONENTS ${MPIS})
add_executable(version version.c)
target_link_libraries(version PRIVATE mpit::headers mpit::monitor)
message(STATUS "version ${mpit_VERSION}")
message(STATUS "run ${mpit_RUN}")
foreach(mpi ${mpit_MPIS})
  message(STATUS "preload ${mpi} ${mpit_PRELOAD_${mpi}}")
endforeach()
CMAKE
# client DIRECTORY [OPTION...]: configures the outside project with what is installed
client() {
    local dir=$1
    shift
    cmake -S client -B "$dir" -DCMAKE_PREFIX_PATH="$prefix" "$@"
}
# refused DIRECTORY TEXT OPTION...: it does not configure, and says TEXT
refused() {
    if client "$1" "${@:3}" >refusal 2>&1; then
        echo "configured nevertheless"
        return 1
    fi
    grep -F -- "$2" refusal || { cat refusal && return 1; }
}
list=$(IFS=';' && echo "${mpis[*]}")
check "a project that asks for the installed version and its MPIs" client with -DWANTED="$version" -DMPIS="$list"
cp checked configured
check "  mpit_VERSION" grep -qx -- "-- version $version" configured
check "  mpit_RUN" grep -qx -- "-- run $prefix/bin/mpit-run" configured
for mpi in "${mpis[@]}"; do
    check "  mpit_PRELOAD_$mpi" grep -qx -- "-- preload $mpi $prefix/$libdir/libmpit.so" configured
done
check "  mpit::headers" cmake --build with
check "  the version in it" same "$(with/version)" "$version $version"
check "a version that is not there is refused" refused later 'requested version "99.0"' -DWANTED=99.0
check "an MPI that is not there is refused" refused other 'not for lam' -DMPIS=lam

echo "# removal"
check "cmake --install elsewhere" cmake --install "$build" --prefix "$work/gone"
check "  the target uninstall" cmake --build "$build" --target uninstall
check "  leaves no file" same "$(find gone ! -type d)" ""
check "  and no folder of its own" same "$(find gone -name mpit)" ""
check "  and has nothing to remove after that" bash -c "! cmake --build '$build' --target uninstall"

verdict
