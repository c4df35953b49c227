#!/bin/bash
# The site's file (MPIT_CONF): where results go, who may read them, which programs are left alone, what is hidden.
# Usage: test_site.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/tooltest.sh"

umask 022
day=$(date +%Y/%m/%d)
jobs_in() { find "$1" -name '*.mpit' | sort; }
access_is() { check "  $2 has $1" [ "$(stat -c %a "$2")" = "$1" ]; }
member() { # FILE EXPRESSION: of the JSON of its first job
    check "  $2" python3 -c "import json, subprocess, sys
job = json.loads(subprocess.run(['mpit-dump', '--json', sys.argv[1]], stdout=subprocess.PIPE).stdout)['jobs'][0]
assert $2, job['origin']" "$1"
}
mkdir -m 1777 logs
cat >site.conf <<END
# all jobs of the site
output = $work/logs/%Y/%m/%d/%u-%p-%j
  mode=0640

exclude = fall-*, */there-is-none
END
export LD_PRELOAD=$build/lib/libmpit.so MPIT_CONF=$work/site.conf USER=alice LSB_JOBID=4711
# told VARIABLE=VALUE PATTERN: the job runs, and the collector's message is seen. A busy machine may make the program go on
# without it, so there are three tries.
told() {
    for _ in 1 2 3; do
        rm -rf logs/*
        env "$1" "mpirun.$mpi" -n 1 ./ring-$mpi >out 2>err </dev/null
        ended=$?
        if grep -Eq -- "$2" err; then break; fi
    done
    check "$mpi: $1" [ $ended = 0 ]
    says err "$2"
}

for mpi in openmpi mpich; do
    has $mpi || continue
    LD_PRELOAD='' built $mpi ring fall
    gives "$mpi: a program that knows nothing of mpit" 0 "mpirun.$mpi" -n 2 ./ring-$mpi
    check "  says nothing" [ ! -s err ]
    place=logs/$day/alice-ring-$mpi-4711
    check "  leaves one file" [ "$(find logs -type f | wc -l)" = 1 ]
    file=$(jobs_in "$place")
    access_is 640 "$file"
    access_is 750 "$place"
    access_is 1777 "logs/$day"
    member "$file" 'job["ranks"] == 2 and job["calls"]["MPI_Sendrecv"]["count"] == 2'
    member "$file" 'job["origin"]["user"] == "alice" and job["origin"]["scheduler_job"] == "lsf 4711"'
    gives "$mpi: an excluded program" 3 "mpirun.$mpi" -n 1 ./fall-$mpi 3
    check "  is not recorded" [ "$(jobs_in logs)" = "$file" ]
    gives "$mpi: the environment comes first" 0 env MPIT_OUTPUT="$work/own-$mpi" "mpirun.$mpi" -n 2 ./ring-$mpi
    check "  its file is there" [ "$(jobs_in "own-$mpi" | wc -l)" = 1 ]
    mkdir -m 1777 open
    gives "  in a folder of the user's own" 0 env MPIT_OUTPUT="$work/open/mine/run" "mpirun.$mpi" -n 2 ./ring-$mpi
    access_is 755 open/mine
    rm -r open
    gives "  also to switch it off" 0 env MPIT_DISABLE=1 "mpirun.$mpi" -n 2 ./ring-$mpi
    check "  without a file" [ "$(jobs_in logs)" = "$file" ]
    gives "  and without a site's file" 0 env MPIT_CONF= "mpirun.$mpi" -n 2 ./ring-$mpi
    check "  there is no output" [ "$(jobs_in logs)" = "$file" ]
    rm -r logs/*

    printf '%s\n' "output = $work/logs/%j" 'hide = user, arguments directory' 'hide_key = k' 'nonsense = 1' 'timing = 7x' 'what' \
        'Tracee = 0' 'MPIT_OUTPUT = /x' 'call-depth = 7' 'exclude = "none"' 'spool = tmp' >wrong.conf
    gives "$mpi: a file with faults" 0 env MPIT_CONF="$work/wrong.conf" "mpirun.$mpi" -n 2 ./ring-$mpi 0
    one_says 1 'wrong.conf:4: mpit has no setting nonsense; see man mpit'
    one_says 1 'wrong.conf:5: MPIT_TIMING=7x cannot be used: allowed are whole numbers'
    one_says 1 'wrong.conf:6: the line has no effect; allowed are lines'
    one_says 1 'wrong.conf:7: mpit has no setting Tracee; did you mean trace\?'
    one_says 1 'wrong.conf:8: mpit has no setting MPIT_OUTPUT; did you mean output\?'
    one_says 1 'wrong.conf:9: the line has no effect; .* name has letters, digits and _'
    one_says 1 'wrong.conf:10: MPIT_EXCLUDE="none": quotes and # are parts of its patterns'
    one_says 1 'wrong.conf:11: MPIT_SPOOL=tmp cannot be used: allowed is an absolute path'
    printf '%s\n' "output = $work/commented" 'exclude = none  # for the vendor' >comment.conf
    gives "  a comment behind the programs" 0 env MPIT_CONF="$work/comment.conf" "mpirun.$mpi" -n 1 ./ring-$mpi 0
    one_says 1 'comment.conf:2: MPIT_EXCLUDE=none  # for the vendor: quotes and # are parts of its patterns'
    file=$(jobs_in logs/4711)
    member "$file" 'len(job["origin"]["user"]) == len(job["origin"]["directory"]) == 17 and job["origin"]["user"][0] == "#"'
    member "$file" 'job["origin"]["command"] == "./ring-'$mpi'"'
    rm -r logs/*

    mkdir started && cd started || exit 1
    for value in logs/%j '~/logs' "\"$work/logs\"" "$work/logs # all jobs"; do
        printf '%s\n' 'mode = 0640' "output = $value" >../place.conf
        gives "$mpi: output = $value" 0 env MPIT_CONF="$work/place.conf" "mpirun.$mpi" -n 2 ../ring-$mpi 0
        one_says 1 "place.conf:2: MPIT_OUTPUT=$value cannot be used: allowed is an absolute path, without quotes or a comment; nothing is written"
        check "  has no results" [ -z "$(find . ../logs -mindepth 1 ! -name out ! -name err)" ]
    done
    gives "$mpi: a user's relative MPIT_OUTPUT" 0 env MPIT_OUTPUT=own "mpirun.$mpi" -n 2 ../ring-$mpi
    check "  is in the directory of the start" [ "$(jobs_in own | wc -l)" = 1 ]
    cd .. && rm -r started

    gives "$mpi: no such file" 0 env MPIT_CONF="$work/none.conf" MPIT_OUTPUT="$work/noconf" "mpirun.$mpi" -n 2 ./ring-$mpi 0
    one_says 1 'none.conf cannot be read: No such file or directory'
    printf '%s\n' "output = $work/logs/%u-%p" 'hide = user, programs' >hide.conf
    gives "$mpi: a text to hide that mpit does not know" 0 env MPIT_CONF="$work/hide.conf" "mpirun.$mpi" -n 2 ./ring-$mpi 0
    one_says 1 "hide.conf:2: MPIT_HIDE=user, programs cannot be used: 'programs' is not known; allowed are user, arguments, directory, program, .*mpit hides all of them"
    check "  names of folders have hashes, too" [ "$(find logs -mindepth 1 -type d | grep -Ec '^logs/_[0-9a-f]{16}-_[0-9a-f]{16}$')" = 1 ]
    member "$(jobs_in logs)" 'job["program"][0] == "#" and job["origin"]["uid"] is None and " " not in job["origin"]["command"]'
    rm -r logs/*

    gives "$mpi: a value with a folder in it" 0 env MPIT_OUTPUT="$work/logs/%u%%" USER=../../eve "mpirun.$mpi" -n 1 ./ring-$mpi
    check "  adds none" [ "$(jobs_in logs/_._.._eve% | wc -l)" = 1 ]
    gives "$mpi: a pattern that is none" 0 env MPIT_OUTPUT="$work/logs/%x" "mpirun.$mpi" -n 2 ./ring-$mpi
    one_says 1 "MPIT_OUTPUT=$work/logs/%x cannot be used: '%x' is not known; allowed are %Y %m %d %u %p %j %h %%; nothing is written"
    rm -r logs/*

    gives "$mpi: mpit-run keeps its own directory" 0 env LD_PRELOAD= mpit-run "mpirun.$mpi" -n 2 ./ring-$mpi
    one_says 1 'recorded in mpit-run-20'
    gives "  and takes % as it is" 0 env LD_PRELOAD= mpit-run --output "100%p-$mpi" "mpirun.$mpi" -n 2 ./ring-$mpi
    check "  there" [ "$(jobs_in "100%p-$mpi" | wc -l)" = 1 ]
    check "  nothing went to the site's logs" [ -z "$(ls logs)" ]
    told MPIT_GROUP=there-is-none 'results do not get the group there-is-none: there is none of this name'
    rm -r logs/*
    for mode in 0999 0666; do
        told MPIT_MODE=$mode "MPIT_MODE=$mode cannot be used: allowed are octal numbers such as 0640, and no write access for all; only the user"
    done
    access_is 600 "$(jobs_in logs)"
    rm -r logs/*
    printf 'disable = 0\noutput = %s/logs/%%j\n' "$work" >zero.conf
    for _ in {1..130}; do echo 'timing = 1'; done >>zero.conf
    gives "$mpi: a long file, and disable = 0" 0 env MPIT_CONF="$work/zero.conf" "mpirun.$mpi" -n 2 ./ring-$mpi
    one_says 1 'zero.conf:129: this line and those after it have no effect: the file is too long'
    check "  records" [ "$(jobs_in logs | wc -l)" = 1 ]
    rm -r logs/*
    for value in 1 yes nothing; do
        echo "disable = $value" >one.conf
        gives "  disable = $value" 0 env MPIT_CONF="$work/one.conf" MPIT_OUTPUT="$work/off" "mpirun.$mpi" -n 2 ./ring-$mpi
        check "  does not" [ ! -e off ]
    done
    for value in no Off 'false # since Monday'; do
        echo "disable = $value" >one.conf
        gives "  disable = $value" 0 env MPIT_CONF="$work/one.conf" MPIT_OUTPUT="$work/on" "mpirun.$mpi" -n 1 ./ring-$mpi
        check "  does" [ "$(jobs_in on | wc -l)" = 1 ]
        rm -r on
    done
    printf 'timing = 1\0\ncall_depth = 7x\n\0\noutput = %s/logs/%%j\n' "$work" >nul.conf
    gives "$mpi: a file with NUL bytes" 0 env MPIT_CONF="$work/nul.conf" "mpirun.$mpi" -n 1 ./ring-$mpi
    one_says 1 'nul.conf:1: the line has no effect'
    one_says 1 'nul.conf:2: MPIT_CALL_DEPTH=7x cannot be used'
    one_says 1 'nul.conf:3: the line has no effect'
    check "  the lines behind them count" [ "$(jobs_in logs | wc -l)" = 1 ]
    rm -r logs/*
    if [ "$(id -u)" != 0 ]; then skip "$mpi: results for a group" "only root can give files away"; continue; fi
    gives "$mpi: results for a group" 0 env MPIT_GROUP=adm "mpirun.$mpi" -n 1 ./ring-$mpi
    check "  have it" [ "$(stat -c %G "$(jobs_in logs)")" = adm ]
    check "  and so has their folder" [ "$(stat -c %G:%a "$(dirname "$(jobs_in logs)")")" = adm:750 ]
    rm -r logs/*
    chmod g+s logs
    chgrp adm logs
    gives "$mpi: a folder that passes its group on" 0 "mpirun.$mpi" -n 1 ./ring-$mpi
    check "  does so down to the results" [ "$(stat -c %G "$(jobs_in logs)" "$(dirname "$(jobs_in logs)")" | sort -u)" = adm ]
    access_is 3777 "logs/$day"
    chmod g-s logs
    chgrp root logs
    rm -r logs/*
    mkdir -p "logs/$day/alice-ring-$mpi-4711"
    chown 65534 "logs/$day/alice-ring-$mpi-4711"
    for mode in 755 1777; do
        chmod $mode "logs/$day/alice-ring-$mpi-4711"
        gives "$mpi: a folder that another user has made, mode $mode" 0 "mpirun.$mpi" -n 1 ./ring-$mpi
        check "  gets no results" [ -z "$(jobs_in logs)" ]
        says err 'Operation not permitted'
    done
    mpit-collect --all >/dev/null 2>&1
    rm -r logs/*
done

verdict
