#!/bin/sh
# tools/fuzz.sh: what `make fuzz` does around building.
#
#   tools/fuzz.sh choose CC ONLY KIND...         the kinds that ONLY names (none: all), where CC can build fuzzers
#   tools/fuzz.sh run SECONDS CORPUS PROGRAM...  looks for new inputs with each; what it finds grows in CORPUS/KIND, and
#                                                what breaks a reader comes to tests/fuzz/crashes/KIND, where make test
#                                                replays it
set -u

choose() {
    cc=$1 only=$2
    shift 2
    program=$(mktemp) || exit 2
    echo 'int LLVMFuzzerTestOneInput(const unsigned char *bytes, unsigned long size) { return bytes == 0 && size; }' |
        $cc -fsanitize=fuzzer,address,undefined -x c -o "$program" - >/dev/null 2>&1
    status=$?
    rm -f "$program"
    if [ $status -ne 0 ]; then
        echo "make fuzz: '$cc' is not there, or not with libFuzzer and its sanitizers; make deps for=develop installs clang and both" >&2
        exit 1
    fi
    for word in ${only:-"$@"}; do
        word=${word#fuzz/}
        case " $* " in
        *" $word "*) echo "$word" ;;
        *) echo "make fuzz: there is no harness '$word'; there are: $*" >&2; exit 2 ;;
        esac
    done
}

# Inputs of some kilobytes reach everything; whatever takes seconds or hundreds of megabytes for them is an error, too.
LIMITS='-max_len=4096 -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256'

run() {
    seconds=$1 corpus=$2
    shift 2
    broken=
    for program in "$@"; do
        kind=${program##*/}
        seeds=tests/fuzz/seeds/$kind crashes=tests/fuzz/crashes/$kind
        mkdir -p "$corpus/$kind" "$crashes" || exit 2
        # shellcheck disable=SC2086
        if "$program" $LIMITS -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$crashes/" \
            "$corpus/$kind" "$seeds" "$crashes" >"$corpus/$kind.log" 2>&1; then
            echo "$kind: $(sed -n 's/^stat::number_of_executed_units: *//p' "$corpus/$kind.log") inputs in $seconds s"
        else
            broken="$broken $kind"
            echo "$kind: broken; from $corpus/$kind.log:"
            grep -E '^tests/fuzz/|ERROR|SUMMARY|runtime error|Test unit written' "$corpus/$kind.log" | sed 's/^/  /'
        fi
        rmdir "$crashes" tests/fuzz/crashes 2>/dev/null # where nothing was found
    done
    [ -z "$broken" ] && echo "make fuzz: found nothing" && return
    echo "make fuzz: inputs in tests/fuzz/crashes/ break:$broken" >&2
    return 1
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in choose | run) "$verb" "$@" ;; *) echo "usage: tools/fuzz.sh choose|run ..." >&2; exit 2 ;; esac
