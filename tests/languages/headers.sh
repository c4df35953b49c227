#!/bin/bash
# headers.sh BUILD_DIR INCLUDE_DIR...
#
# Each public header alone, and each example, as C and as C++, by each compiler that is here: no warning. The INCLUDE_DIRs
# have mpi.h.
. "$(dirname "$0")/../integration/common/verdict.sh"
source=$(cd "$(dirname "$0")/../.." && pwd)
flags=(-Wall -Wextra -pedantic -Werror -fsyntax-only -I"$source/include" -I"$build/include" -I"$source/share/examples")
for place in "${@:2}"; do flags+=(-isystem "$place"); done

mkdir "$work/alone"
for header in "$source"/include/mpit/*.h "$build"/include/mpit/version.h; do
    printf '#include <mpit/%s>\nextern int alone;\n' "${header##*/}" >"$work/alone/${header##*/}.c"
done

# taken COMPILER LANGUAGE STANDARD FILE...: the compiler has nothing to say of any
taken() {
    local compiler=$1 language=$2 standard=$3 file
    shift 3
    command -v "$compiler" >/dev/null || { skip "$compiler -std=$standard" "there is no $compiler" && return; }
    for file in "$@"; do
        check "$compiler -std=$standard takes ${file##*/}" "$compiler" -x "$language" "-std=$standard" "${flags[@]}" "$file"
    done
}

for compiler in gcc clang; do taken $compiler c c11 "$work"/alone/*.c "$source"/share/examples/*.c; done
for standard in c++11 c++20; do
    for compiler in g++ clang++; do
        taken $compiler c++ $standard "$work"/alone/*.c "$source"/share/examples/*.c "$source"/share/examples/*.cc
    done
done
verdict
