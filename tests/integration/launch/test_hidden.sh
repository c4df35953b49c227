#!/bin/bash
# MPIT_HIDE: a text that the site hides is in no file of the results, and no tool shows it. All others are there.
# Usage: test_hidden.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/tooltest.sh"

# What each word hides. Names with less hidden than this are shown, so the test would see a search that finds nothing.
declare -A texts=(
    [user]=secret_user
    [arguments]=secret_argument
    [directory]=secret_directory
    [program]='secret_program libsecret_library secret_binaries'
    [functions]='secret_function secret_library_function secret_source'
    [communicators]='secret_communicator secret_window'
    [files]=secret_file
    [regions]=secret_phase
)
words=(user arguments directory program functions communicators files regions)
mkdir secret_binaries secret_directory
mv secrets.c secret_binaries/secret_source.c

# All that is in the results, also what is compressed, and what tools say of them. The names of the files, too.
content() { # DIRECTORY KIND
    rm -rf unpacked
    (cd "$1" && find .) >all
    find "$1" -type f -exec cat {} + >>all
    if "$build/tests/jobsplit" --plain "$1" unpacked >>all 2>&1; then find unpacked -type f -exec cat {} + >>all; fi
    mpit-dump --json "$1" >json 2>>all
    cat json >>all
    mpit-jobs --json "$1" >>all 2>&1
    if [ "$2" = traced ]; then
        for view in --events --callpaths --profile; do mpit-dump $view "$1" >>all 2>&1; done
    fi
}
is_in() { grep -aq "$1" all; }
is_in_not() { ! is_in "$1"; }

# The names of functions need the path of the program.
hidden_by() { # LIST OF WORDS
    for word in $1; do
        echo "$word"
        if [ "$word" = program ]; then echo functions; fi
    done
}
judged() { # NAME, LIST OF WORDS, KIND
    local hidden word text
    hidden=" $(hidden_by "$2" | tr '\n' ' ')"
    for word in "${words[@]}"; do
        for text in ${texts[$word]}; do
            # a summary has the names of communicators, but none of other objects
            if [ "$3" = summary ] && [[ $text =~ ^secret_(window|file)$ ]]; then
                check "$1: a summary has no $text" is_in_not "$text"
            elif [[ $hidden == *" $word "* ]]; then
                check "$1: $text is hidden" is_in_not "$text"
            else
                check "$1: $text is there" is_in "$text"
            fi
        done
    done
}

# recorded KIND WORDS COMMAND...: the results are in the directory results
recorded() {
    rm -rf results secret_directory/secret_file
    (cd secret_directory && MPIT_HIDE=$2 MPIT_OUTPUT=$work/results timeout 120 "${@:3}") >out 2>err </dev/null
    check "$mpi, $1, hidden: ${2:-nothing}" [ $? = 0 ]
    mpit-collect "$work/results" >/dev/null 2>&1 # the job may not have waited for it
    content results "$1"
    judged "$mpi, $1, without $2" "$2" "$1"
}

export USER=secret_user LOGNAME=secret_user
for mpi in openmpi mpich; do
    has $mpi || continue
    source=secret_binaries/secret_source.c library=secret_binaries/libsecret_library-$mpi.so
    if echo 'int four[MPI_VERSION >= 4 ? 1 : -1];' | "mpicc.$mpi" -include mpi.h -x c -c -o four.o - 2>/dev/null; then
        texts[communicators]='secret_communicator secret_window secret_tag'
    fi
    program=../secret_binaries/secret_program-$mpi
    check "the library of the program is built" "mpicc.$mpi" -g -fPIC -shared -DLIBRARY $source -o $library
    check "the program is built" "mpicc.$mpi" -g $source -o "secret_binaries/secret_program-$mpi" "$PWD/$library"
    preloaded=(env LD_PRELOAD="$build/lib/libmpit.so" "mpirun.$mpi" -n 2 "$program" secret_argument)
    traced=(env MPIT_TRACE=1 MPIT_SAMPLE_HZ=500 LD_PRELOAD="$build/lib/libmpit-sampler.so $build/lib/libmpit.so" "${preloaded[@]:2}")
    for word in "" "${words[@]}" "${words[*]}"; do
        recorded summary "$word" "${preloaded[@]}"
        recorded traced "$word" "${traced[@]}"
    done
    recorded traced "${words[*]}" mpit-run --trace --sample 500 "mpirun.$mpi" -n 2 "$program" secret_argument
    for word in MPI_Allreduce MPI_COMM_WORLD; do check "  $word is there" is_in "$word"; done
    check "  and the system's libraries" is_in 'libmpi[a-z]*\.so'

    (cd secret_directory && MPIT_HIDE="${words[*]}" MPIT_OUTPUT=$work/live "${preloaded[@]}" 60) >/dev/null 2>&1 </dev/null &
    job=$!
    for _ in {1..50}; do
        mpit-exporter --once --own --by comm >all 2>/dev/null
        if is_in 'mpit_job_info.*program="#'; then break; fi
        sleep 0.2
    done
    check "$mpi: the exporter shows hashes of a running job" is_in 'program="#[0-9a-f]*/#.*user="#'
    check "  and no name" is_in_not secret_
    mpit-top --once >all 2>err
    check "$mpi: mpit-top finds it" is_in '2 of 2 ranks running'
    check "  and no name either" is_in_not secret_
    kill $job
    wait $job

    for key in one one other; do
        MPIT_HIDE_KEY=$key recorded summary program "${preloaded[@]}"
        cp json "json-$key"
        python3 -c "import json; print(json.load(open('json'))['jobs'][0]['program'])" >>programs
    done
    check "equal texts have equal hashes, with another key others" [ "$(uniq programs | wc -l)" = 2 ]
    rm programs

    rm -rf tree
    for i in 1 2 3 4; do
        if [ $i = 4 ]; then cp "secret_binaries/secret_program-$mpi" secret_directory && program=./secret_program-$mpi; fi
        (cd secret_directory && env MPIT_HIDE="${words[*]}" MPIT_OUTPUT="$work/tree/$i" "${preloaded[@]:1:4}" "$program") >/dev/null 2>&1 </dev/null
        mpit-collect "$work/tree/$i" >/dev/null 2>&1
    done
    gives "$mpi: jobs of a hidden program" 0 mpit-jobs --json tree
    job=$(python3 -c 'import json; print(json.load(open("out"))["jobs"][0]["job"])')
    gives "  are compared by its hash, also from another folder" 0 mpit-jobs --usual "$job" tree
    says out 'compared with 3 other jobs of this program and size'
done

verdict
