# Completion of mpit's tools in bash (bash-completion loads it by the names of the tools).

_mpit_dump_options='--summary --full --json --callpaths --diff --fail --scaling --weak --html --sqlite --events --csv --crash --analyze --what-if --otf2 -j --otf2-callpaths --export --perfetto --profile
    --pprof --internal --verify --ranks --window --comm
    --functions --any-owner --help --version'
_mpit_run_options='--output --spool --trace --no-trace --otf2 --trace-limit --trace-seconds --trace-policy --clock-sync --filter --timing --call-depth
    --start-paused --sample --sample-ranks --fabric --os --papi --summary --full --quiet --strict --mpi --help --version'
_mpit_collect_options='--all --join --to --handover --drain --help --version'
_mpit_clean_options='--older --dry-run --help --version'
_mpit_jobs_options='--user --program --host --ranks --since --until --finding --died --where --sort --limit --usual --open --index --html --sql --json
    --help --version'
_mpit_list_options='--mpi --pvars --cvars --load --native --run --json --help --version'
_mpit_top_options='--all-users --once --json --interval --ranks --help --version'
_mpit_exporter_options='--listen --host --token-file --by --communicators --variables --all-sizes --max-series --linger
    --own --all-users --once --help --version'

_mpit_classes='p2p completion coll comm rma io process other'

_mpit_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_mpit_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

_mpit_directories() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
}

# A list of classes and functions, of which the last word is completed.
_mpit_filter() {
    local done=
    [[ $cur == *,* ]] && done=${cur%,*},
    local rest=${cur#"$done"} minus=
    [[ $rest == -* ]] && minus=-
    mapfile -t COMPREPLY < <(compgen -P "$done$minus" -W "$_mpit_classes" -- "${rest#-}")
    compopt -o nospace 2>/dev/null || true
}

# Directories of runs, and what is in them.
_mpit_runs() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -f -X '!*.mpit' -- "$cur")
}

# The value of option $1; false: that one has none, or nothing is known of it.
_mpit_value() {
    case $1 in
    --output | --spool) _mpit_directories ;;
    --otf2) [[ $tool == mpit-dump* ]] || return 1; _mpit_directories ;;
    --summary) [[ $tool == mpit-run ]] || return 1; _mpit_files ;;
    --html | --sqlite | --perfetto | --pprof | --load) _mpit_files ;;
    --run) _mpit_runs ;;
    --mpi) _mpit_words 'openmpi mpich' ;;
    --export) _mpit_words 'goal simgrid placement' ;;
    --trace-policy) _mpit_words 'stop ring' ;;
    --clock-sync) _mpit_words 'tcp none' ;;
    --filter | --functions) _mpit_filter ;;
    --by) _mpit_words 'job rank comm' ;;
    --trace-limit | --trace-seconds | --timing | --call-depth | --sample | --sample-ranks | --papi | --ranks | --window | --comm | --interval | \
        --listen | --communicators | --max-series | --variables | --linger | -j) ;;
    *) return 1 ;;
    esac
    return 0
}

# Where the command begins that mpit-run starts: the first word that is no option and no option's value.
_mpit_command_at() {
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --) printf '%d' $((i + 1)); return ;;
        --output | --spool | --trace-limit | --trace-seconds | --trace-policy | --clock-sync | --filter | --timing | --call-depth | --sample | --sample-ranks | \
            --papi | --summary | --mpi) ((i++)) ;;
        -*) ;;
        *) printf '%d' "$i"; return ;;
        esac
    done
    printf '%d' "$COMP_CWORD"
}

_mpit() {
    local tool=${1##*/} cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} at options
    COMPREPLY=()
    if [[ $tool == mpit-run ]]; then
        at=$(_mpit_command_at)
        if ((at < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
            _command_offset "$at"
            return
        fi
    fi
    _mpit_value "$before" && return
    case $tool in
    mpit-run) options=$_mpit_run_options ;;
    mpit-collect) options=$_mpit_collect_options ;;
    mpit-jobs) options=$_mpit_jobs_options ;;
    mpit-clean) options=$_mpit_clean_options ;;
    mpit-dump*) options=$_mpit_dump_options ;;
    mpit-list) options=$_mpit_list_options ;;
    mpit-top) options=$_mpit_top_options ;;
    mpit-exporter) options=$_mpit_exporter_options ;;
    esac
    if [[ $cur == -* ]]; then
        _mpit_words "$options"
    elif [[ $tool == mpit-run ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
    elif [[ $tool == mpit-collect ]]; then
        _mpit_directories
    elif [[ $tool != mpit-list && $tool != mpit-exporter ]]; then
        _mpit_runs
    fi
}

complete -F _mpit mpit-run mpit-collect mpit-dump mpit-dump-openmpi mpit-dump-mpich mpit-dump-abi mpit-list mpit-top mpit-exporter mpit-jobs mpit-clean
