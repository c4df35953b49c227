#!/bin/bash
# What packages of mpit rest on: one version in all their files, a release archive, recipes that can be read, and the
# oldest C library that the build runs with. Usage: test_packaging.sh BUILD_DIRECTORY
#
# tests/platforms/packages builds and installs the packages themselves.
# shellcheck disable=SC2317 # functions that check() calls
. "$(dirname "$0")/../common/verdict.sh"
set -eo pipefail

source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:[A-Z]*=//p' "$build/CMakeCache.txt")
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:[A-Z]*=//p' "$build/CMakeCache.txt")
packaging=$source/share/packaging
cd "$work"
exec </dev/null

echo "# the version, which CMakeLists.txt has"
# names FILE PATTERN: its first line like the pattern has the version
names() {
    local found
    found=$(grep -m 1 -E -- "$2" "$1") && echo "$found" && grep -qE "(^|[^0-9.])${version//./\\.}($|[^0-9.])" <<<"$found"
}
check "CHANGELOG.md begins with it" names "$source/CHANGELOG.md" '^## '
check "debian/changelog" names "$packaging/debian/changelog" '^mpit '
check "mpit.spec" names "$packaging/mpit.spec" '^Version:'
check "mpit.spec, its changelog" names "$packaging/mpit.spec" '^\* '
check "the recipe of Spack" names "$packaging/spack/package.py" '^ *version\('
check "the recipe of conda" names "$packaging/conda/recipe.yaml" '^ *version:'

echo "# the release archive"
if git -C "$source" rev-parse HEAD >/dev/null 2>&1; then
    check "share/packaging/release" "$packaging/release" one debian
    check "  the same commit gives the same bytes" bash -c "'$packaging/release' two && cmp {one,two}/mpit-$version.tar.gz"
    check "  it has one folder, without git" bash -c "tar -tzf one/mpit-$version.tar.gz >list &&
        ! grep -v '^mpit-$version/' list && ! grep -F /.git/ list && grep -qx 'mpit-$version/CMakeLists.txt' list"
    check "  debian/ is at the top" test -x "one/mpit-$version/debian/rules" -a -s "one/mpit_$version.orig.tar.gz"
    sum=$(sha256sum one/mpit-*.tar.gz | cut -d' ' -f1)
    check "  the recipe of Spack has its checksum" grep -qF "sha256=\"$sum\"" one/package.py
else
    skip "the release archive" "this tree is not from git"
fi

echo "# recipes"
check "Spack's is Python" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$packaging/spack/package.py"
if python3 -c 'import yaml' 2>/dev/null; then
    for file in recipe variants; do
        check "conda's $file.yaml is YAML" python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' "$packaging/conda/$file.yaml"
    done
else
    skip "conda's" "Python has no module yaml"
fi
# knows FILE NAME...: each of the names is in it
knows() {
    local name missing=0
    for name in "${@:2}"; do
        grep -qiE "(^|[^a-z])(MPIT_)?$name([^a-z]|$)" "$1" || { echo "$1 says nothing of $name" && missing=1; }
    done
    return $missing
}
mapfile -t parts < <(sed -n 's/^mpit_option(\([A-Z0-9]*\) .*/\1/p' "$source/cmake/Options.cmake" | grep -vx TESTS)
mapfile -t backends < <(sed -n 's/^mpit_backend(\([a-z]*\)$/\1/p' "$source/cmake/Backends.cmake")
check "there are parts and MPIs" test ${#parts[@]} -ge 9 -a ${#backends[@]} -ge 2
check "debian/rules knows each part" knows "$packaging/debian/rules" "${parts[@]}"
for file in mpit.spec spack/package.py conda/recipe.yaml; do
    check "$file knows each part and MPI" knows "$packaging/$file" "${parts[@]}" "${backends[@]}"
done

echo "# the C library"
# newest FILE: the newest version of it that the file needs
newest() {
    readelf -VW "$1" | sed '/Version needs/,$!d' | grep -oE 'GLIBC_2[0-9.]+' | sort -V | tail -n 1
}
# floor FILE VERSION: it needs nothing newer
floor() {
    local needs
    needs=$(newest "$1") && [ -n "$needs" ] && echo "$needs" &&
        [ "$(printf '%s\n' "$needs" "GLIBC_$2" | sort -V | tail -n 1)" = "GLIBC_$2" ]
}
readonly least=2.17 usual=2.34 # share/doc/packaging.md
here=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)
cmake --install "$build" --prefix "$work/installed" >installing
check "libmpit.so loads with glibc $least" floor "$(find installed -name libmpit.so)" $least
if [ "$(printf '%s\n' "$here" 2.36 | sort -V | tail -n 1)" = 2.36 ] && ! grep -q '^MPIT_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    while read -r file; do
        check "$file loads with glibc $usual" floor "$file" $usual
    done < <(find installed/bin installed/lib* -type f \( -name 'mpit-*' -o -name 'libmpit*.so*' \) | sort)
else
    skip "the other libraries and the tools" "built with glibc $here; their floor is promised for a build with 2.36 or older"
fi

verdict
